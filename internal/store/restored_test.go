package store_test

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// TestReferences: the reference of a submission is a function of its invoice and of the number of earlier submissions,
// also in a restored database. It is a UUIDv7 with the time of the invoice, and is unique across invoices and
// companies.
func TestReferences(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		seen := map[store.ID]bool{}
		created := f.create(t, "INV-1")
		f.Clock.Advance(time.Hour)
		for n := range int64(3) {
			call := f.begin(t, created.ID)
			id := call.Submission.ID
			if seen[id] || id[6]>>4 != 7 || id[8]>>6 != 2 || !bytes.Equal(id[:6], created.ID[:6]) ||
				call.Submission.Ordinal != n+1 {
				t.Errorf("reference %s of number %d of invoice %s", id, call.Submission.Ordinal, created.ID)
			}
			seen[id] = true
			decide(t, call, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeRejected) })
			_, err := f.tenant.UpdateInvoice(t.Context(), created.ID, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *draft("INV-1"), nil })
			kit.Must(t, err)
		}
		if other := f.submit(t, "INV-2"); seen[other.Submission.ID] {
			t.Error("two invoices share a reference")
		}
	})
}

// TestRestored: after a restore every open submission is due, earlier proofs no longer count, tokens are revoked, and
// the documents of existing invoices are looked up before they are sent. Those of new invoices are not.
func TestRestored(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.CreateToken(ctx, f.user, store.NewToken{Digest: [32]byte{7}, ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		open, ended, drafted := f.submit(t, "INV-1"), f.submit(t, "INV-2"), f.create(t, "INV-3")
		record(t, ended, allFour("accepted", true))
		f.exec(t, `update submissions set due_at = null, next_check_at = null where id = $1`, ended.Submission.ID)
		decide(t, open, func(s store.Submission, now time.Time) store.Decision {
			d := outcome(s, api.OutcomeUnknown)
			d.MissingSince, d.MissingCount, d.DueAt = &now, 2, new(now.Add(time.Hour))
			return d
		})
		_, err = f.ResolveSubmission(ctx, open.Submission.ID, store.DecisionResend, because)
		kit.Must(t, err)
		at := f.Clock.Advance(time.Minute)
		count, err := f.MarkRestored(ctx)
		kit.Must(t, err)
		after, err := f.tenant.Submission(ctx, open.Submission.ID)
		kit.Must(t, err)
		if count != 1 || after.MissingCount != 0 || after.MissingSince != nil || after.ResendOrdered ||
			!after.DueAt.Equal(at) || !after.NextCheckAt.Equal(at) {
			t.Errorf("%d open: %s", count, shown(after))
		}
		_, err = f.Authenticate(ctx, [32]byte{7})
		if err == nil {
			t.Error("a token of before the restore is still good")
		}
		f.Clock.Advance(time.Second)
		older, younger := f.begin(t, drafted.ID), f.submit(t, "INV-4")
		if !older.Restored || younger.Restored {
			t.Errorf("looked up first: %v of before, %v of afterwards", older.Restored, younger.Restored)
		}
		if none, err := younger.LostReferences(ctx); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
	})
}

// TestRestoredBeforeUpgrade checks that a restore that an earlier release recorded, as a setting, still holds after the
// migration that adds tenants.restored_at.
func TestRestoredBeforeUpgrade(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		created := f.create(t, "INV-1")
		f.exec(t, `insert into settings (key, value) values ('restored_at', $1)`,
			strconv.FormatInt(f.Clock.Now().UnixMicro(), 10))
		f.Clock.Advance(time.Second)
		migration, err := os.ReadFile("schema/0026_restored.sql")
		kit.Must(t, err)
		f.exec(t, regexp.MustCompile(`(?m)^update .*;$`).FindString(string(migration)))
		if older, younger := f.begin(t, created.ID), f.submit(t, "INV-2"); !older.Restored || younger.Restored {
			t.Errorf("Restored of an invoice from before the restore is %v, of a later invoice %v; want true, false",
				older.Restored, younger.Restored)
		}
	})
}

// TestRestoredMarksAllOrNothing checks that a restore that is interrupted before its commit leaves no trace, and that
// the repeated command marks everything.
func TestRestoredMarksAllOrNothing(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		first := f.create(t, "INV-1")
		f.Clock.Advance(time.Second)
		// the last statement of the restore fails
		_, err := f.raw.ExecContext(t.Context(), `alter table audit rename to audit_elsewhere`)
		kit.Must(t, err)
		if _, err := f.MarkRestored(t.Context()); err == nil {
			t.Error("a restore without an entry in the audit log was recorded")
		}
		_, err = f.raw.ExecContext(t.Context(), `alter table audit_elsewhere rename to audit`)
		kit.Must(t, err)
		second := f.create(t, "INV-2")
		if begun := f.begin(t, first.ID); begun.Restored {
			t.Error("the interrupted command has marked the company")
		}
		_, err = f.MarkRestored(t.Context())
		kit.Must(t, err)
		if begun := f.begin(t, second.ID); !begun.Restored {
			t.Error("the repeated command has not marked the company")
		}
	})
}

// TestAdopt: the submission that the provider knows under a later reference replaces the one that was begun, and
// is looked up. The next submission of the invoice comes after it.
func TestAdopt(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		created := f.create(t, "INV-1")
		_, err := f.MarkRestored(ctx)
		kit.Must(t, err)
		begun := f.begin(t, created.ID)
		all, err := begun.LostReferences(ctx)
		kit.Must(t, err)
		if len(all) != store.MaxLaterReferences || all[1].Ordinal != 3 ||
			slices.ContainsFunc(all, func(s store.LostReference) bool { return s.ID == begun.Submission.ID }) {
			t.Fatalf("%+v", all)
		}
		adopted, err := begun.Adopt(ctx, all[1], time.Minute)
		kit.Must(t, err)
		kept, err := f.tenant.Submission(ctx, all[1].ID)
		kit.Must(t, err)
		document, err := store.Document(ctx, f.tenant, adopted.Submission.ID)
		kit.Must(t, err)
		wantEqual(t, "the stored submission", kept, adopted.Submission)
		if kept.Outcome != api.OutcomeUnknown || !kept.Current || kept.Ordinal != 3 || kept.Number != "INV-1" ||
			!bytes.Equal(document, begun.Document) || !kept.DueAt.Equal(f.Clock.Now().Add(time.Minute)) {
			t.Errorf("adopted as %s", shown(kept))
		}
		if counted, drafts := f.used(t, store.QuotaDrafts), f.drafts(t); counted != drafts {
			t.Errorf("%d drafts are counted, and there are %d", counted, drafts)
		}
		_, err = begun.Adopt(ctx, all[2], time.Minute)
		wantErr(t, err, store.ErrLeaseLost)
		record(t, adopted, allFour("accepted", true))
		invoice, err := f.tenant.Invoice(ctx, created.ID)
		kit.Must(t, err)
		if history, err := view.Of(f.tenant).SubmissionHistory(ctx, view.OfInvoice(created.ID), 1, 10); err != nil ||
			history.Total != 1 || invoice.Submission == nil || invoice.Submission.ID != all[1].ID {
			t.Errorf("history %v, %v", history, err)
		}
	})
}

// TestLostReferences checks that the provider is asked about submissions that it had not received when the backup was
// made, too, although the draft has got another reference since.
func TestLostReferences(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		created := f.create(t, "INV-1")
		first := f.begin(t, created.ID)
		decide(t, first, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, nil)
			d.Outcome, d.DueAt = store.OutcomeNotSent, nil
			return d
		})
		_, err := f.MarkRestored(ctx)
		kit.Must(t, err)
		_, err = f.tenant.UpdateInvoice(ctx, created.ID, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *draft("INV-2"), nil })
		kit.Must(t, err)
		begun := f.begin(t, created.ID)
		lost, err := begun.LostReferences(ctx)
		kit.Must(t, err)
		if begun.Submission.Ordinal != 2 || len(lost) != 1+store.MaxLaterReferences ||
			lost[0] != (store.LostReference{ID: first.Submission.ID, Ordinal: 1, Earlier: true}) || lost[1].Ordinal != 3 {
			t.Fatalf("%+v", lost)
		}
	})
}

// TestBackup: a copy of a database that is being written to opens as a database with every commit of before; an
// existing file is left alone, and only the owner may read it.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := storetest.Open(t, storetest.SQLite)
	f := &fixture{Store: s}
	f.raw = openRaw(t, s)
	f.company = f.newCompany(t, "owner@example.com")
	call := f.submit(t, "INV-1")
	record(t, call, allFour("accepted", false))
	path := filepath.Join(t.TempDir(), "copy.db")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if _, err := f.tenant.CreateInvoice(t.Context(), draft("INV-2")); err != nil {
					t.Error(err)
					return
				}
			}
		}
	}()
	kit.Must(t, f.Backup(t.Context(), path))
	close(stop)
	<-stopped
	info, err := os.Stat(path)
	kit.Must(t, err)
	if info.Mode().Perm() != 0o600 {
		t.Errorf("mode %v", info.Mode())
	}
	if err := f.Backup(t.Context(), path); err == nil {
		t.Error("an existing file was overwritten")
	}
	if again, err := os.Stat(path); err != nil || again.Size() != info.Size() {
		t.Errorf("an existing file was touched: %v", err)
	}
	restored, err := store.Open(t.Context(), "sqlite:"+path, s.Options)
	kit.Must(t, err)
	defer func() { kit.Must(t, restored.Close()) }()
	tenant, err := restored.Tenant(t.Context(), f.account.ID)
	kit.Must(t, err)
	kept, err := tenant.Submission(t.Context(), call.Submission.ID)
	kit.Must(t, err)
	if kept.Outcome != api.OutcomeAcknowledged || kept.Evidence != 1 {
		t.Errorf("in the copy: %s", shown(kept))
	}
}

// TestBackupOfPostgres: PostgreSQL has its own means, and the caller is told which.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	for _, engine := range storetest.Engines() {
		if engine != storetest.Postgres {
			continue
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		wantErr(t, storetest.Open(t, engine).Backup(t.Context(), path), store.ErrBackup)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Error("a file was made")
		}
	}
}
