package invoices_test

import (
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestReferences: the reference of a submission is a function of its invoice and of the number of earlier submissions,
// also in a restored database. It is a UUIDv7 with the time of the invoice, and is unique across invoices and
// companies.
func TestReferences(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		seen := map[base.ID]bool{}
		created := f.Create(t, "INV-1")
		f.Clock.Advance(time.Hour)
		for n := range int64(3) {
			call := f.Begin(t, created.ID)
			id := call.Submission.ID
			if seen[id] || id[6]>>4 != 7 || id[8]>>6 != 2 || !bytes.Equal(id[:6], created.ID[:6]) ||
				call.Submission.Ordinal != n+1 {
				t.Errorf("reference %s of number %d of invoice %s", id, call.Submission.Ordinal, created.ID)
			}
			seen[id] = true
			fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
				return fixture.Outcome(s, api.OutcomeRejected)
			})
			_, err := invoices.Update(t.Context(), f.Tenant, created.ID, func(int64) bool { return true },
				func([]byte) (api.Draft, error) { return *fixture.Draft("INV-1"), nil })
			kit.Must(t, err)
		}
		if other := f.Submit(t, "INV-2"); seen[other.Submission.ID] {
			t.Error("two invoices share a reference")
		}
	})
}

// TestRestored: after a restore every open submission is due, earlier proofs no longer count, tokens are revoked, and
// the documents of existing invoices are looked up before they are sent. Those of new invoices are not.
func TestRestored(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := identity.CreateToken(ctx, f.DB, f.User, identity.NewToken{Digest: [32]byte{7},
			ExpiresAt: f.Clock.Now().Add(time.Hour)})
		kit.Must(t, err)
		open, ended, drafted := f.Submit(t, "INV-1"), f.Submit(t, "INV-2"), f.Create(t, "INV-3")
		fixture.Record(t, ended, fixture.AllFour("accepted", true))
		f.Exec(t, `update submissions set due_at = null, next_check_at = null where id = $1`, ended.Submission.ID)
		fixture.Decide(t, open, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.MissingSince, d.MissingCount, d.DueAt = &now, 2, new(now.Add(time.Hour))
			return d
		})
		_, err = invoices.ResolveAnySubmission(ctx, f.DB, open.Submission.ID, invoices.DecisionResend, fixture.Because)
		kit.Must(t, err)
		at := f.Clock.Advance(time.Minute)
		count, err := ledger.MarkRestored(ctx, f.DB)
		kit.Must(t, err)
		after, err := invoices.FindSubmission(ctx, f.Tenant, open.Submission.ID)
		kit.Must(t, err)
		if count != 1 || after.MissingCount != 0 || after.MissingSince != nil || after.ResendOrdered ||
			!after.DueAt.Equal(at) || !after.NextCheckAt.Equal(at) {
			t.Errorf("%d open: %s", count, fixture.Shown(after))
		}
		_, err = f.Authenticate(ctx, [32]byte{7})
		if err == nil {
			t.Error("a token of before the restore is still good")
		}
		f.Clock.Advance(time.Second)
		older, younger := f.Begin(t, drafted.ID), f.Submit(t, "INV-4")
		if !older.Restored || younger.Restored {
			t.Errorf("looked up first: %v of before, %v of afterwards", older.Restored, younger.Restored)
		}
		if none, err := younger.LostReferences(ctx); err != nil || len(none) != 0 {
			t.Errorf("%v, %v", none, err)
		}
	})
}

// TestRestoredMarksAllOrNothing checks that a restore that is interrupted before its commit leaves no trace, and that
// the repeated command marks everything.
func TestRestoredMarksAllOrNothing(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		first := f.Create(t, "INV-1")
		f.Clock.Advance(time.Second)
		// the last statement of the restore fails
		_, err := f.Raw.ExecContext(t.Context(), `alter table audit rename to audit_elsewhere`)
		kit.Must(t, err)
		if _, err := ledger.MarkRestored(t.Context(), f.DB); err == nil {
			t.Error("a restore without an entry in the audit log was recorded")
		}
		_, err = f.Raw.ExecContext(t.Context(), `alter table audit_elsewhere rename to audit`)
		kit.Must(t, err)
		second := f.Create(t, "INV-2")
		if begun := f.Begin(t, first.ID); begun.Restored {
			t.Error("the interrupted command has marked the company")
		}
		_, err = ledger.MarkRestored(t.Context(), f.DB)
		kit.Must(t, err)
		if begun := f.Begin(t, second.ID); !begun.Restored {
			t.Error("the repeated command has not marked the company")
		}
	})
}

// TestAdopt: the submission that the provider knows under a later reference replaces the one that was begun, and
// is looked up. The next submission of the invoice comes after it.
func TestAdopt(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		created := f.Create(t, "INV-1")
		_, err := ledger.MarkRestored(ctx, f.DB)
		kit.Must(t, err)
		begun := f.Begin(t, created.ID)
		all, err := begun.LostReferences(ctx)
		kit.Must(t, err)
		if len(all) != invoices.MaxLaterReferences || all[1].Ordinal != 3 ||
			slices.ContainsFunc(all, func(s invoices.LostReference) bool { return s.ID == begun.Submission.ID }) {
			t.Fatalf("%+v", all)
		}
		adopted, err := begun.Adopt(ctx, all[1], time.Minute)
		kit.Must(t, err)
		kept, err := invoices.FindSubmission(ctx, f.Tenant, all[1].ID)
		kit.Must(t, err)
		document, err := invoices.SubmittedDocument(ctx, f.Tenant, adopted.Submission.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the stored submission", kept, adopted.Submission)
		if kept.Outcome != api.OutcomeUnknown || !kept.Current || kept.Ordinal != 3 || kept.Number != "INV-1" ||
			!bytes.Equal(document, begun.Document) || !kept.DueAt.Equal(f.Clock.Now().Add(time.Minute)) {
			t.Errorf("adopted as %s", fixture.Shown(kept))
		}
		if counted, drafts := f.Used(t, base.QuotaDrafts), f.Drafts(t); counted != drafts {
			t.Errorf("%d drafts are counted, and there are %d", counted, drafts)
		}
		_, err = begun.Adopt(ctx, all[2], time.Minute)
		fixture.WantErr(t, err, base.ErrLeaseLost)
		fixture.Record(t, adopted, fixture.AllFour("accepted", true))
		invoice, err := invoices.Find(ctx, f.Tenant, created.ID)
		kit.Must(t, err)
		if history, err := view.Of(f.Tenant).SubmissionHistory(ctx, view.OfInvoice(created.ID), 1, 10); err != nil ||
			history.Total != 1 || invoice.Submission == nil || invoice.Submission.ID != all[1].ID {
			t.Errorf("history %v, %v", history, err)
		}
	})
}

// TestLostReferences checks that the provider is asked about submissions that it had not received when the backup was
// made, too, although the draft has got another reference since.
func TestLostReferences(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		created := f.Create(t, "INV-1")
		first := f.Begin(t, created.ID)
		fixture.Decide(t, first, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, nil)
			d.Outcome, d.DueAt = invoices.OutcomeNotSent, nil
			return d
		})
		_, err := ledger.MarkRestored(ctx, f.DB)
		kit.Must(t, err)
		_, err = invoices.Update(ctx, f.Tenant, created.ID, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *fixture.Draft("INV-2"), nil })
		kit.Must(t, err)
		begun := f.Begin(t, created.ID)
		lost, err := begun.LostReferences(ctx)
		kit.Must(t, err)
		if begun.Submission.Ordinal != 2 || len(lost) != 1+invoices.MaxLaterReferences ||
			lost[0] != (invoices.LostReference{ID: first.Submission.ID, Ordinal: 1, Earlier: true}) || lost[1].Ordinal != 3 {
			t.Fatalf("%+v", lost)
		}
	})
}

// TestBackup: a copy of a database that is being written to opens as a database with every commit of before; an
// existing file is left alone, and only the owner may read it.
func TestBackup(t *testing.T) {
	t.Parallel()
	s := ledgertest.Open(t, ledgertest.SQLite)
	f := &fixture.Fixture{Store: s}
	f.Raw = fixture.OpenRaw(t, s)
	f.Company = f.NewCompany(t, "owner@example.com")
	call := f.Submit(t, "INV-1")
	fixture.Record(t, call, fixture.AllFour("accepted", false))
	path := filepath.Join(t.TempDir(), "copy.db")
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			default:
				if _, err := invoices.Create(t.Context(), f.Tenant, fixture.Draft("INV-2")); err != nil {
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
	restored, err := ledger.Open(t.Context(), "sqlite:"+path, s.Options)
	kit.Must(t, err)
	defer func() { kit.Must(t, restored.Close()) }()
	tenant, err := restored.Tenant(t.Context(), f.Account.ID)
	kit.Must(t, err)
	kept, err := invoices.FindSubmission(t.Context(), tenant, call.Submission.ID)
	kit.Must(t, err)
	if kept.Outcome != api.OutcomeAcknowledged || kept.Evidence != 1 {
		t.Errorf("in the copy: %s", fixture.Shown(kept))
	}
}

// TestBackupOfPostgres: PostgreSQL has its own means, and the caller is told which.
func TestBackupOfPostgres(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		if engine != ledgertest.Postgres {
			continue
		}
		path := filepath.Join(t.TempDir(), "copy.db")
		fixture.WantErr(t, ledgertest.Open(t, engine).Backup(t.Context(), path), base.ErrBackup)
		if _, err := os.Stat(path); !os.IsNotExist(err) {
			t.Error("a file was made")
		}
	}
}
