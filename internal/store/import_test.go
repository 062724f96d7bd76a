package store_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// someDrafts returns drafts with numbers of their own.
func someDrafts(prefix string, count int) []*api.Draft {
	out := make([]*api.Draft, count)
	for n := range out {
		out[n] = draft(fmt.Sprintf("%s-%d", prefix, n+1))
	}
	return out
}

// TestImportDrafts checks that all drafts of a file are stored in order, counted and recorded, and that the stored file
// is imported once.
func TestImportDrafts(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const count = 600 // more than two batches
		ctx := t.Context()
		upload, err := f.tenant.StoreUpload(ctx, store.Upload{Name: "march.csv", Body: []byte("file")}, f.user.ID, time.Hour)
		kit.Must(t, err)
		source := store.ImportSource{SHA256: [32]byte{7}, Rows: 900, Upload: upload}
		imported, err := f.tenant.ImportDrafts(ctx, someDrafts("INV", count), source)
		kit.Must(t, err)
		listed, err := view.Of(f.tenant).Invoices(ctx, view.InvoiceFilter{Tab: view.TabDrafts}, 1, 100)
		kit.Must(t, err)
		if listed.Total != count || len(imported) != count {
			t.Fatalf("%d drafts are listed and %d returned, want %d", listed.Total, len(imported), count)
		}
		newest := listed.Entries[0]
		if *newest.Draft.InvoiceNumber != "INV-600" ||
			imported[count-1] != (store.Imported{ID: newest.ID, Number: "INV-600"}) {
			t.Errorf("the last draft is %s, and %+v is returned", *newest.Draft.InvoiceNumber, imported[count-1])
		}
		if used := f.used(t, store.QuotaStoredBytes); used != f.stored(t) {
			t.Errorf("%d bytes are counted, and there are %d", used, f.stored(t))
		}
		if used := f.used(t, store.QuotaDrafts); used != count {
			t.Errorf("%d drafts are counted", used)
		}
		entries, err := f.Audit(ctx, store.AuditFilter{Account: &f.account.ID, Act: "draft", Limit: count + 10})
		kit.Must(t, err)
		last := entries[len(entries)-1]
		if len(entries) != count+1 || last.Act != "draft.import" ||
			last.Details != `{"drafts":"600","rows":"900","sha256":"07`+strings.Repeat("0", 62)+`"}` {
			t.Errorf("%d entries, the last one %s %s", len(entries), last.Act, last.Details)
		}
		_, err = f.tenant.ImportDrafts(ctx, someDrafts("INV", count), source)
		wantErr(t, err, store.ErrNotFound)
		if used := f.used(t, store.QuotaDrafts); used != count {
			t.Errorf("%d drafts after the second import of the same file", used)
		}
	})
}

// TestConcurrentImports checks that of several imports of the same stored file one succeeds.
func TestConcurrentImports(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		upload, err := f.tenant.StoreUpload(t.Context(), store.Upload{Name: "a.csv", Body: []byte("a")}, f.user.ID, time.Hour)
		kit.Must(t, err)
		results := make(chan error)
		for range 4 {
			go func() {
				_, err := f.tenant.ImportDrafts(t.Context(), someDrafts("INV", 20), store.ImportSource{Upload: upload})
				results <- err
			}()
		}
		succeeded := 0
		for range 4 {
			if err := <-results; err == nil {
				succeeded++
			} else {
				wantErr(t, err, store.ErrNotFound)
			}
		}
		if used := f.used(t, store.QuotaDrafts); succeeded != 1 || used != 20 {
			t.Errorf("%d imports succeeded and %d drafts are counted", succeeded, used)
		}
	})
}

// TestRefusedImportLeavesNothing checks that an import beyond a quota changes nothing, and that the stored file is
// still there.
func TestRefusedImportLeavesNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.limited(t, store.Quotas{Drafts: 299})
		ctx := t.Context()
		upload, err := f.tenant.StoreUpload(ctx, store.Upload{Name: "a.csv", Body: []byte("a")}, f.user.ID, time.Hour)
		kit.Must(t, err)
		_, err = f.tenant.ImportDrafts(ctx, someDrafts("INV", 300), store.ImportSource{Upload: upload})
		wantQuota(t, err, store.QuotaDrafts, 299)
		if left := f.number(t,
			`select (select count(*) from invoices where tenant_id = $1) + (select count(*) from audit where chain = $2 and act like 'draft.%')`, f.tenant.Key(), f.account.ID); left != 0 {
			t.Errorf("%d rows are left", left)
		}
		_, err = f.tenant.Upload(ctx, upload)
		kit.Must(t, err)
	})
}

// TestUploads checks who finds a stored file, and until when.
func TestUploads(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first, err := f.tenant.StoreUpload(ctx, store.Upload{Name: "first.csv", Body: []byte("first")}, f.user.ID, time.Hour)
		kit.Must(t, err)
		second, err := f.tenant.StoreUpload(ctx, store.Upload{Name: "second.csv", Body: []byte("second file")}, f.user.ID,
			time.Hour)
		kit.Must(t, err)
		found, err := f.tenant.Upload(ctx, second)
		kit.Must(t, err)
		wantEqual(t, "file", found.Name+" "+string(found.Body), "second.csv second file")
		other, err := f.NewID()
		kit.Must(t, err)
		colleague := store.UploadKey{User: other, ID: second.ID}
		for name, find := range map[string]func() error{
			"a replaced file":             func() error { _, err := f.tenant.Upload(ctx, first); return err },
			"the file of another user":    func() error { _, err := f.tenant.Upload(ctx, colleague); return err },
			"the file of another company": func() error { _, err := f.decoy.tenant.Upload(ctx, second); return err },
			"the import of a colleague": func() error {
				_, err := f.tenant.ImportDrafts(ctx, someDrafts("INV", 1), store.ImportSource{Upload: colleague})
				return err
			},
			"the import of another company": func() error {
				_, err := f.decoy.tenant.ImportDrafts(ctx, someDrafts("INV", 1), store.ImportSource{Upload: second})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { wantErr(t, find(), store.ErrNotFound) })
		}
		third, err := f.tenant.StoreUpload(ctx, store.Upload{Name: "third.csv", Body: []byte("third")}, f.user.ID, time.Hour)
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		_, err = f.tenant.Upload(ctx, third)
		wantErr(t, err, store.ErrNotFound)
		f.Clock.Advance(time.Second)
		kit.Must(t, f.DeleteExpired(ctx))
		if left := f.number(t, `select count(*) from uploads where tenant_id = $1`, f.tenant.Key()); left != 0 {
			t.Errorf("%d uploads are left", left)
		}
		if used := f.used(t, store.QuotaStoredBytes); used != f.stored(t) {
			t.Errorf("%d bytes are counted, and there are %d", used, f.stored(t))
		}
	})
}

func TestUsedNumbers(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.create(t, "INV-1")
		f.submit(t, "INV-2")
		numbers := []string{"INV-1", "INV-2"}
		for n := range 300 {
			numbers = append(numbers, fmt.Sprintf("FREE-%d", n))
		}
		used, err := f.tenant.UsedNumbers(t.Context(), numbers)
		kit.Must(t, err)
		if len(used) != 2 || !used["INV-1"] || !used["INV-2"] {
			t.Errorf("used are %v", used)
		}
	})
}

// BenchmarkImport imports 10,000 drafts in one transaction.
func BenchmarkImport(b *testing.B) {
	for _, engine := range storetest.Engines() {
		b.Run(engine, func(b *testing.B) {
			tenant := tenantWithDrafts(b, storetest.Open(b, engine), 0)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				_, err := tenant.ImportDrafts(b.Context(), someDrafts(fmt.Sprintf("INV-%d", n), 10_000), store.ImportSource{})
				kit.Must(b, err)
			}
		})
	}
}
