package invoices_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// someDrafts returns drafts with numbers of their own.
func someDrafts(prefix string, count int) []*api.Draft {
	out := make([]*api.Draft, count)
	for n := range out {
		out[n] = fixture.Draft(fmt.Sprintf("%s-%d", prefix, n+1))
	}
	return out
}

// TestImportDrafts checks that all drafts of a file are stored in order, counted and recorded, and that the stored file
// is imported once.
func TestImportDrafts(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const count = 600 // more than two batches
		ctx := t.Context()
		upload, err := invoices.StoreUpload(ctx, f.Tenant, invoices.Upload{Name: "march.csv", Body: []byte("file")},
			f.User.ID, time.Hour)
		kit.Must(t, err)
		source := invoices.ImportSource{SHA256: [32]byte{7}, Rows: 900, Upload: upload}
		imported, err := invoices.Import(ctx, f.Tenant, someDrafts("INV", count), source)
		kit.Must(t, err)
		listed, err := view.Of(f.Tenant).Invoices(ctx, view.InvoiceFilter{Tab: view.TabDrafts}, 1, 100)
		kit.Must(t, err)
		if listed.Total != count || len(imported) != count {
			t.Fatalf("%d drafts are listed and %d returned, want %d", listed.Total, len(imported), count)
		}
		newest := listed.Entries[0]
		if *newest.Draft.InvoiceNumber != "INV-600" ||
			imported[count-1] != (invoices.Imported{ID: newest.ID, Number: "INV-600"}) {
			t.Errorf("the last draft is %s, and %+v is returned", *newest.Draft.InvoiceNumber, imported[count-1])
		}
		if used := f.Used(t, base.QuotaStoredBytes); used != f.Stored(t) {
			t.Errorf("%d bytes are counted, and there are %d", used, f.Stored(t))
		}
		if used := f.Used(t, base.QuotaDrafts); used != count {
			t.Errorf("%d drafts are counted", used)
		}
		entries, err := f.Audit(ctx, base.AuditFilter{Account: &f.Account.ID, Act: "draft", Limit: count + 10})
		kit.Must(t, err)
		last := entries[len(entries)-1]
		if len(entries) != count+1 || last.Act != "draft.import" ||
			last.Details != `{"drafts":"600","rows":"900","sha256":"07`+strings.Repeat("0", 62)+`"}` {
			t.Errorf("%d entries, the last one %s %s", len(entries), last.Act, last.Details)
		}
		_, err = invoices.Import(ctx, f.Tenant, someDrafts("INV", count), source)
		fixture.WantErr(t, err, base.ErrNotFound)
		if used := f.Used(t, base.QuotaDrafts); used != count {
			t.Errorf("%d drafts after the second import of the same file", used)
		}
	})
}

// TestConcurrentImports checks that of several imports of the same stored file one succeeds.
func TestConcurrentImports(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		upload, err := invoices.StoreUpload(t.Context(), f.Tenant, invoices.Upload{Name: "a.csv", Body: []byte("a")},
			f.User.ID, time.Hour)
		kit.Must(t, err)
		results := make(chan error)
		for range 4 {
			go func() {
				_, err := invoices.Import(t.Context(), f.Tenant, someDrafts("INV", 20), invoices.ImportSource{Upload: upload})
				results <- err
			}()
		}
		succeeded := 0
		for range 4 {
			if err := <-results; err == nil {
				succeeded++
			} else {
				fixture.WantErr(t, err, base.ErrNotFound)
			}
		}
		if used := f.Used(t, base.QuotaDrafts); succeeded != 1 || used != 20 {
			t.Errorf("%d imports succeeded and %d drafts are counted", succeeded, used)
		}
	})
}

// TestRefusedImportLeavesNothing checks that an import beyond a quota changes nothing, and that the stored file is
// still there.
func TestRefusedImportLeavesNothing(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Limited(t, base.Quotas{Drafts: 299})
		ctx := t.Context()
		upload, err := invoices.StoreUpload(ctx, f.Tenant, invoices.Upload{Name: "a.csv", Body: []byte("a")}, f.User.ID,
			time.Hour)
		kit.Must(t, err)
		_, err = invoices.Import(ctx, f.Tenant, someDrafts("INV", 300), invoices.ImportSource{Upload: upload})
		fixture.WantQuota(t, err, base.QuotaDrafts, 299)
		if left := f.Number(t,
			`select (select count(*) from invoices where tenant_id = $1) + (select count(*) from audit where chain = $2 and act like 'draft.%')`, f.Tenant.ID(), f.Account.ID); left != 0 {
			t.Errorf("%d rows are left", left)
		}
		_, err = invoices.FindUpload(ctx, f.Tenant, upload)
		kit.Must(t, err)
	})
}

// TestUploads checks who finds a stored file, and until when.
func TestUploads(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first, err := invoices.StoreUpload(ctx, f.Tenant, invoices.Upload{Name: "first.csv", Body: []byte("first")},
			f.User.ID, time.Hour)
		kit.Must(t, err)
		second, err := invoices.StoreUpload(ctx, f.Tenant, invoices.Upload{Name: "second.csv",
			Body: []byte("second file")}, f.User.ID, time.Hour)
		kit.Must(t, err)
		found, err := invoices.FindUpload(ctx, f.Tenant, second)
		kit.Must(t, err)
		fixture.WantEqual(t, "file", found.Name+" "+string(found.Body), "second.csv second file")
		other, err := f.NewID()
		kit.Must(t, err)
		colleague := invoices.UploadKey{User: other, ID: second.ID}
		for name, find := range map[string]func() error{
			"a replaced file":          func() error { _, err := invoices.FindUpload(ctx, f.Tenant, first); return err },
			"the file of another user": func() error { _, err := invoices.FindUpload(ctx, f.Tenant, colleague); return err },
			"the file of another company": func() error {
				_, err := invoices.FindUpload(ctx, f.Decoy.Tenant,
					second)
				return err
			},
			"the import of a colleague": func() error {
				_, err := invoices.Import(ctx, f.Tenant, someDrafts("INV", 1), invoices.ImportSource{Upload: colleague})
				return err
			},
			"the import of another company": func() error {
				_, err := invoices.Import(ctx, f.Decoy.Tenant, someDrafts("INV", 1), invoices.ImportSource{Upload: second})
				return err
			},
		} {
			t.Run(name, func(t *testing.T) { fixture.WantErr(t, find(), base.ErrNotFound) })
		}
		third, err := invoices.StoreUpload(ctx, f.Tenant, invoices.Upload{Name: "third.csv", Body: []byte("third")},
			f.User.ID, time.Hour)
		kit.Must(t, err)
		f.Clock.Advance(time.Hour)
		_, err = invoices.FindUpload(ctx, f.Tenant, third)
		fixture.WantErr(t, err, base.ErrNotFound)
		f.Clock.Advance(time.Second)
		kit.Must(t, ledger.DeleteExpired(ctx, f.DB))
		if left := f.Number(t, `select count(*) from uploads where tenant_id = $1`, f.Tenant.ID()); left != 0 {
			t.Errorf("%d uploads are left", left)
		}
		if used := f.Used(t, base.QuotaStoredBytes); used != f.Stored(t) {
			t.Errorf("%d bytes are counted, and there are %d", used, f.Stored(t))
		}
	})
}

func TestUsedNumbers(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		f.Create(t, "INV-1")
		f.Submit(t, "INV-2")
		numbers := []string{"INV-1", "INV-2"}
		for n := range 300 {
			numbers = append(numbers, fmt.Sprintf("FREE-%d", n))
		}
		used, err := invoices.UsedNumbers(t.Context(), f.Tenant, numbers)
		kit.Must(t, err)
		if len(used) != 2 || !used["INV-1"] || !used["INV-2"] {
			t.Errorf("used are %v", used)
		}
	})
}

// BenchmarkImport imports 10,000 drafts in one transaction.
func BenchmarkImport(b *testing.B) {
	for _, engine := range ledgertest.Engines() {
		b.Run(engine, func(b *testing.B) {
			tenant := tenantWithDrafts(b, ledgertest.Open(b, engine), 0)
			b.ReportAllocs()
			for n := 0; b.Loop(); n++ {
				_, err := invoices.Import(b.Context(), tenant, someDrafts(fmt.Sprintf("INV-%d", n), 10_000),
					invoices.ImportSource{})
				kit.Must(b, err)
			}
		})
	}
}
