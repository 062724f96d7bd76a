package invoices_test

import (
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestConnections checks that an account has at most one active connection: another one can be activated only after
// that is disabled.
func TestConnections(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Clock.Advance(time.Second)
		second, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, fixture.SandboxConnection())
		kit.Must(t, err)
		if second.State != invoices.ConnectionPending ||
			second.Fingerprint != secret.Fingerprint(secret.New(fixture.Credential)) ||
			second.Approval != nil {
			t.Errorf("new connection %+v", second)
		}
		_, err = invoices.ActivateConnection(ctx, f.DB, second.ID)
		fixture.WantErr(t, err, invoices.ErrActiveExists)
		_, err = invoices.ActivateConnection(ctx, f.DB, f.Connection.ID) // again
		kit.Must(t, err)
		disabled, err := invoices.DisableConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		if disabled.State != invoices.ConnectionDisabled || !disabled.UpdatedAt.Equal(f.Clock.Now()) {
			t.Errorf("disabled connection %+v", disabled)
		}
		var active atomic.Int32
		fixture.Race(8, func(i int) {
			id := []base.ID{f.Connection.ID, second.ID}[i%2]
			if _, err := invoices.ActivateConnection(ctx, f.DB, id); err == nil {
				active.Add(1)
			}
		})
		if n := f.Number(t, `select count(*) from connections where account_id = $1 and state = 'active'`,
			f.Account.ID); n != 1 || active.Load() < 1 {
			t.Errorf("%d connections are active after %d activations", n, active.Load())
		}
		own, err := invoices.Connections(ctx, f.DB, &f.Account.ID)
		kit.Must(t, err)
		all, err := invoices.Connections(ctx, f.DB, nil)
		kit.Must(t, err)
		if len(own) != 2 || own[0].ID != f.Connection.ID || own[1].ID != second.ID || len(all) != 3 {
			t.Errorf("%d own connections of %d", len(own), len(all))
		}
		_, err = invoices.AddConnection(ctx, f.DB, base.ID{1}, fixture.SandboxConnection())
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.FindConnection(ctx, f.DB, base.ID{1})
		fixture.WantErr(t, err, base.ErrNotFound)
		_, err = invoices.DisableConnection(ctx, f.DB, base.ID{1})
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

// TestApproval checks that an approval is recorded with its details, and only for a production connection.
func TestApproval(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.ApproveConnection(ctx, f.DB, f.Connection.ID, "Ann", "C-1", "R-1")
		fixture.WantErr(t, err, invoices.ErrNotProduction)
		production := fixture.SandboxConnection()
		production.Environment = "production"
		added, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, production)
		kit.Must(t, err)
		at := f.Clock.Advance(time.Second)
		_, err = invoices.ApproveConnection(ctx, f.DB, added.ID, "Ann", "C-1", "R-1")
		kit.Must(t, err)
		kept, err := invoices.FindConnection(ctx, f.DB, added.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the approval", kept.Approval, &invoices.Approval{At: at, By: "Ann", Contract: "C-1",
			Release: "R-1"})
		if kept.State != invoices.ConnectionPending {
			t.Errorf("an approval made the connection %s", kept.State)
		}
	})
}

// TestReplaceCredential checks that a connection keeps its state and opens the new credential.
func TestReplaceCredential(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		_, err := invoices.ReplaceCredential(ctx, f.DB, f.Connection.ID, secret.New("another-canary-11d0"))
		kit.Must(t, err)
		kept, err := invoices.FindConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		opened, err := invoices.Credential(f.DB, kept)
		kit.Must(t, err)
		if opened.Reveal() != "another-canary-11d0" || kept.Fingerprint != secret.Fingerprint(opened) ||
			kept.State != invoices.ConnectionActive {
			t.Errorf("connection %+v opens another credential", kept)
		}
		f.Clock.Advance(fixture.LeaseDuration)
		if claimed := f.ClaimSubmissions(t, 10); len(claimed) != 1 || claimed[0].Submission.ID != call.Submission.ID {
			t.Errorf("%d open submissions are left", len(claimed))
		}
	})
}

// TestMovedSecrets checks that a sealed value opens only in its own row.
func TestMovedSecrets(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		other, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, fixture.SandboxConnection())
		kit.Must(t, err)
		for _, source := range []base.ID{other.ID, f.Decoy.Connection.ID} {
			f.Exec(t, `update connections set credential = (select credential from connections where id = $2) where id = $1`,
				f.Connection.ID, source)
			moved, err := invoices.FindConnection(ctx, f.DB, f.Connection.ID)
			kit.Must(t, err)
			_, err = invoices.Credential(f.DB, moved)
			fixture.WantErr(t, err, secret.ErrSealed)
		}
		first, second := f.Subscribe(t, api.EventTerminal), f.Subscribe(t, api.EventTerminal)
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("accepted", true), api.EventTerminal)
		f.Exec(t, `update subscriptions set secret = (select secret from subscriptions where id = $2) where id = $1`,
			first.ID, second.ID)
		if claimed := f.ClaimDeliveries(t, first.ID, 1); len(claimed) != 0 {
			t.Errorf("%d deliveries with the secret of another subscription", len(claimed))
		}
		if claimed := f.ClaimDeliveries(t, second.ID, 1); len(claimed) != 1 ||
			claimed[0].Secret.Reveal() != fixture.SigningSecret {
			t.Errorf("%d deliveries with their own secret", len(claimed))
		}
	})
}

// TestSealedAtRest checks that the database contains no secret in a readable form. The scan also looks for a text that
// is not secret, to show that it works.
func TestSealedAtRest(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const echoed = "withheld-canary-55ae"
		_, err := invoices.ReplaceCredential(t.Context(), f.DB, f.Connection.ID, secret.New("replaced-canary-20c4"))
		kit.Must(t, err)
		f.Subscribe(t, api.EventKinds[:]...)
		fixture.Decide(t, f.Submit(t, "INV-FINDME"), func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventSubmissionUpdated)
			d.Evidence.Withheld, d.Evidence.Body = true, []byte("you sent "+echoed)
			return d
		})
		for _, canary := range []string{fixture.Credential, "replaced-canary-20c4", fixture.SigningSecret, echoed} {
			if where := fixture.Search(t, f, canary); where != "" {
				t.Errorf("%q is in %s", canary, where)
			}
		}
		if fixture.Search(t, f, "INV-FINDME") == "" {
			t.Error("the scan finds nothing")
		}
		var id base.ID
		var sealed []byte
		kit.Must(t, f.Raw.QueryRowContext(t.Context(), `select id, body from evidence where tenant_id = $1`,
			f.Tenant.ID()).Scan(&id, &sealed))
		tenant := f.Tenant.ID()
		body, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: tenant[:], Table: "evidence", Column: "body",
			Row: id[:]})
		kit.Must(t, err)
		if string(body) != "you sent "+echoed {
			t.Errorf("the withheld body opens as %q", body)
		}
	})
}
