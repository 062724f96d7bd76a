package invoices_test

import (
	"encoding/binary"
	"errors"
	"testing"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// changes are statements with which somebody who can write to the database could redirect a credential or use a
// connection without approval.
var changes = map[string]string{
	"address":     `update connections set base_url = 'http://127.0.0.1:9' where id = $1`,
	"kind":        `update connections set kind = 'simulator' where id = $1`,
	"environment": `update connections set environment = 'sandbox' where id = $1`,
	"state":       `update connections set state = 'pending' where id = $1`,
	"fingerprint": `update connections set fingerprint = '000000000000' where id = $1`,
	"format":      `update connections set format = 'bis3' where id = $1`,
	"no format":   `update connections set format = null where id = $1`,
	"options":     `update connections set options = '{"entity":"8"}' where id = $1`,
	"approver":    `update connections set approved_by = 'Mallory' where id = $1`,
	"approved at": `update connections set approved_at = approved_at + 1 where id = $1`,
	"contract":    `update connections set approved_contract = 'C-9' where id = $1`,
	"release":     `update connections set approved_release = '9' where id = $1`,
	"no approval": `update connections set approved_at = null, approved_by = null, approved_contract = null, approved_release = null where id = $1`,
}

// TestChangedConnectionDoesNotOpen checks that a credential does not open after any change of its connection outside of
// the store, that no operation seals such a change, and that the connection can still be disabled.
func TestChangedConnectionDoesNotOpen(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		_, err := invoices.DisableConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		for name, statement := range changes {
			add := fixture.SandboxConnection()
			add.Environment, add.Format, add.Options = "production", "pint-ae", map[string]string{"entity": "7"}
			c, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, add)
			kit.Must(t, err)
			_, err = invoices.ApproveConnection(ctx, f.DB, c.ID, "Ann", "C-1", "1.0.0")
			kit.Must(t, err)
			_, err = invoices.ActivateConnection(ctx, f.DB, c.ID)
			kit.Must(t, err)
			_, err = invoices.ReplaceCredential(ctx, f.DB, c.ID, secret.New("another-canary-11d0"))
			kit.Must(t, err)
			c, err = invoices.FindConnection(ctx, f.DB, c.ID)
			kit.Must(t, err)
			if text, err := invoices.Credential(f.DB, c); err != nil || text.Reveal() != "another-canary-11d0" {
				t.Fatalf("%s: before the change: %v", name, err)
			}
			f.Exec(t, statement, c.ID)
			c, err = invoices.FindConnection(ctx, f.DB, c.ID)
			kit.Must(t, err)
			_, err = invoices.Credential(f.DB, c)
			fixture.WantErr(t, err, base.ErrChangedRow)
			_, err = invoices.ActivateConnection(ctx, f.DB, c.ID)
			fixture.WantErr(t, err, base.ErrChangedRow)
			_, err = invoices.ReplaceCredential(ctx, f.DB, c.ID, secret.New(fixture.Credential))
			fixture.WantErr(t, err, base.ErrChangedRow)
			if c.Environment == "production" {
				_, err = invoices.ApproveConnection(ctx, f.DB, c.ID, "Ann", "C-1", "1.0.0")
				fixture.WantErr(t, err, base.ErrChangedRow)
			}
			c, err = invoices.DisableConnection(ctx, f.DB, c.ID)
			kit.Must(t, err)
			_, err = invoices.Credential(f.DB, c)
			fixture.WantErr(t, err, base.ErrChangedRow)
		}
	})
}

// TestApprovalCannotBeWritten checks that an approval that was written outside of the store allows no submission.
func TestApprovalCannotBeWritten(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		add := fixture.SandboxConnection()
		add.Environment = "production"
		c, err := invoices.AddConnection(t.Context(), f.DB, f.Account.ID, add)
		kit.Must(t, err)
		f.Exec(t,
			`update connections set approved_at = 1, approved_by = 'Mallory', approved_contract = 'C', approved_release = '1' where id = $1`, c.ID)
		c, err = invoices.FindConnection(t.Context(), f.DB, c.ID)
		kit.Must(t, err)
		_, err = invoices.Credential(f.DB, c)
		fixture.WantErr(t, err, base.ErrChangedRow)
	})
}

// TestChangedDestinationGetsNothing checks that the deliveries of a subscription whose URL was changed outside of the
// store fail with that reason, and can be redelivered once the URL is restored.
func TestChangedDestinationGetsNothing(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("accepted", true), api.EventSubmissionUpdated)
		f.Exec(t, `update subscriptions set url = 'https://elsewhere.example.com/' where id = $1`, s.ID)
		if claimed := f.ClaimDeliveries(t, s.ID, 10); len(claimed) != 0 {
			t.Fatalf("%d deliveries go to %s", len(claimed), claimed[0].URL)
		}
		if f.ChangedRows() == 0 {
			t.Error("the changed row was not counted")
		}
		page, err := view.Of(f.Tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1, 10)
		kit.Must(t, err)
		if len(page.Entries) != 1 || page.Entries[0].State != events.DeliveryFailed ||
			*page.Entries[0].Reason != "subscription_changed" {
			t.Fatalf("deliveries %+v", page.Entries)
		}
		f.Exec(t, `update subscriptions set url = $2 where id = $1`, s.ID, s.URL)
		_, err = events.Redeliver(t.Context(), f.Tenant, page.Entries[0].ID)
		kit.Must(t, err)
		if claimed := f.ClaimDeliveries(t, s.ID, 10); len(claimed) != 1 || claimed[0].URL != s.URL {
			t.Errorf("%d deliveries once the address is right again", len(claimed))
		}
	})
}

// TestChangedDestinationEndsInBatches checks that the pending deliveries of a subscription whose URL was changed
// outside of the store end in batches of 500, that the claims of an ended batch are undone, and that another
// subscription keeps its deliveries.
func TestChangedDestinationEndsInBatches(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const waiting, batch = 520, 500
		s, other := f.Subscribe(t, api.EventStatusChanged), f.Subscribe(t, api.EventStatusChanged)
		fixture.Backlog(t, f, waiting)
		f.Exec(t, `update subscriptions set url = 'https://elsewhere.example.com/' where id = $1`, s.ID)
		for _, left := range []int64{waiting - batch, 0} {
			if claimed := f.ClaimDeliveries(t, s.ID, 64); len(claimed) != 0 {
				t.Fatalf("%d deliveries go to %s", len(claimed), claimed[0].URL)
			}
			pending := f.Number(t, `select count(*) from deliveries where subscription_id = $1 and state = 'pending'`, s.ID)
			ended := f.Number(t,
				`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_changed' and due_at is null`, s.ID)
			claimed := f.Number(t, `select count(*) from deliveries where subscription_id = $1 and leased > 0`, s.ID)
			if pending != left || ended != waiting-left || claimed != 0 {
				t.Errorf("%d pending, %d ended, %d claimed; want %d, %d, 0", pending, ended, claimed, left, waiting-left)
			}
		}
		if n := len(f.ClaimDeliveries(t, other.ID, waiting+1)); n != waiting {
			t.Errorf("the other subscription has %d deliveries due, want %d", n, waiting)
		}
	})
}

// TestUnboundSecretsDoNotOpen checks that a secret that is sealed for its row alone, as before release 0.3.0, does not
// open, and that nothing in the database makes it open: neither removing the records of the keys nor an old copy of
// them.
func TestUnboundSecretsDoNotOpen(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		account, id := f.Account.ID, f.Connection.ID
		sealed, err := f.Options.Keys.Seal([]byte(fixture.Credential),
			secret.Binding{Tenant: account[:], Table: "connections", Column: "credential", Row: id[:]})
		kit.Must(t, err)
		f.Exec(t, `update connections set credential = $2 where id = $1`, id, sealed)
		for _, db := range []*base.DB{f.DB, f.Again(t)} {
			c, err := invoices.FindConnection(ctx, db, id)
			kit.Must(t, err)
			_, err = invoices.Credential(db, c)
			fixture.WantErr(t, err, base.ErrChangedRow)
		}
		key := f.Options.Keys.PrimaryID()
		old, err := f.Options.Keys.Seal([]byte{base.FormBound - 1}, secret.Binding{Table: "sealing_keys",
			Column: "check_value", Row: binary.BigEndian.AppendUint32(nil, key)})
		kit.Must(t, err)
		f.Exec(t, `update sealing_keys set check_value = $2 where id = $1`, int64(key), old)
		_, err = ledger.Open(ctx, f.Address, f.Options)
		if fault, ok := errors.AsType[*base.KeyError](err); !ok || fault.ID != key {
			t.Errorf("with the record of an earlier release: %v", err)
		}
		f.Exec(t, `delete from sealing_keys`)
		_, err = ledger.Open(ctx, f.Address, f.Options)
		fixture.WantErr(t, err, base.ErrNoRecords)
		f.Exec(t, `delete from settings where key = 'sealing_keys'`)
		_, err = ledger.Open(ctx, f.Address, f.Options)
		fixture.WantErr(t, err, base.ErrNoRecords)
	})
}

// TestWrongKeysDoNotOpen checks that a database opens only with its own keys, and that the error names the key and the
// file.
func TestWrongKeysDoNotOpen(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		right := f.Options.Keys.PrimaryID()
		wrong, err := secret.Generate()
		kit.Must(t, err)
		file := t.TempDir() + "/wrong.json"
		kit.Must(t, wrong.WriteKeyFile(file))
		wrong, err = secret.ReadKeyFile(file)
		kit.Must(t, err)
		refused := func() {
			t.Helper()
			options := f.Options
			options.Keys = wrong
			db, err := ledger.Open(ctx, f.Address, options)
			if err == nil {
				kit.Must(t, db.Close())
				t.Fatal("it opens")
			}
			var fault *base.KeyError
			if !errors.As(err, &fault) || fault.ID != right || fault.File != file {
				t.Fatalf("error %v", err)
			}
		}
		refused()
	})
}
