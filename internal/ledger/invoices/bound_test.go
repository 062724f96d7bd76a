package invoices_test

import (
	"errors"
	"strconv"
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

// boundSetting is the key of the setting that exists once the keys of a database are recorded. A test removes it.
const boundSetting = `delete from settings where key = 'sealing_keys'`

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

// unbind converts a database to the form of a version without bound secrets: every secret is sealed for its row only,
// and no key is recorded.
func unbind(t *testing.T, f *fixture.Fixture, c fixture.Company,
	subscription base.ID) (credentialSealed, secretSealed []byte) {
	t.Helper()
	account, connection, tenant := c.Account.ID, c.Connection.ID, c.Tenant.ID()
	var err error
	credentialSealed, err = f.Options.Keys.Seal([]byte(fixture.Credential),
		secret.Binding{Tenant: account[:], Table: "connections", Column: "credential", Row: connection[:]})
	kit.Must(t, err)
	secretSealed, err = f.Options.Keys.Seal([]byte(fixture.SigningSecret),
		secret.Binding{Tenant: tenant[:], Table: "subscriptions", Column: "secret", Row: subscription[:]})
	kit.Must(t, err)
	f.Exec(t, `update connections set credential = $2 where id = $1`, connection, credentialSealed)
	f.Exec(t, `update subscriptions set secret = $2 where id = $1`, subscription, secretSealed)
	f.Disarm(t) // that version had no audit log
	for _, later := range []string{"audit", "audit_heads", "sealed_settings", "sealed_sets", "sealing_keys"} {
		_, err := f.Raw.ExecContext(t.Context(), `delete from `+later)
		kit.Must(t, err)
	}
	f.Exec(t, boundSetting)
	return credentialSealed, secretSealed
}

// TestUpgradeBindsSecrets checks that opening a database of the previous version reseals everything once. Secrets in
// the old form do not open from then on, and the records that say so cannot be removed.
func TestUpgradeBindsSecrets(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		oldCredential, oldSecret := unbind(t, f, f.Company, s.ID)
		db := f.Again(t)
		c, err := invoices.FindConnection(ctx, db, f.Connection.ID)
		kit.Must(t, err)
		if text, err := invoices.Credential(db, c); err != nil || text.Reveal() != fixture.Credential {
			t.Fatalf("after the upgrade: %v", err)
		}
		if n := f.Number(t, `select count(*) from connections where credential = $1`, oldCredential) + f.Number(t,
			`select count(*) from subscriptions where secret = $1`, oldSecret); n != 0 {
			t.Fatalf("%d secrets are not bound", n)
		}
		f.Exec(t, `update connections set credential = $2, base_url = 'http://127.0.0.1:9' where id = $1`, f.Connection.ID,
			oldCredential)
		for _, db := range []*base.DB{db, f.Again(t)} {
			c, err = invoices.FindConnection(ctx, db, f.Connection.ID)
			kit.Must(t, err)
			_, err = invoices.Credential(db, c)
			fixture.WantErr(t, err, base.ErrChangedRow)
		}
		// Without the records of the keys, the database would look as it did before the upgrade.
		f.Exec(t, `delete from sealing_keys`)
		if _, err := ledger.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a database without its records of keys opens")
		}
		f.Exec(t, boundSetting)
		if _, err := ledger.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a database opens with bound secrets and without the records of its keys")
		}
	})
}

// TestUpgradeWaitsForOlderServers checks that while a server of the previous version runs, all secrets, including new
// ones, stay in the form that it can open, and that the first process that opens the database later binds them.
func TestUpgradeWaitsForOlderServers(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		first := f.Subscribe(t, api.EventSubmissionUpdated)
		older := f.OlderServer(t)
		oldCredential, oldSecret := unbind(t, f, f.Company, first.ID)
		db := f.Again(t)
		tenant, err := db.Tenant(ctx, f.Account.ID)
		kit.Must(t, err)
		second, err := events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: fixture.HookURL,
			Events: api.EventKinds[:], Secret: secret.New(fixture.SigningSecret)})
		kit.Must(t, err)
		var sealed []byte
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select secret from subscriptions where id = $1`, second.ID).Scan(&sealed))
		key, id := tenant.ID(), second.ID
		if _, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: key[:], Table: "subscriptions", Column: "secret",
			Row: id[:]}); err != nil {
			t.Errorf("the older server does not open a new secret: %v", err)
		}
		if n := f.Number(t, `select count(*) from connections where credential = $1`, oldCredential) + f.Number(t,
			`select count(*) from subscriptions where secret = $1`, oldSecret); n != 2 {
			t.Errorf("%d of 2 secrets are as the older server opens them", n)
		}
		older()
		f.Again(t)
		if n := f.Number(t, `select count(*) from subscriptions where secret = $1 or secret = $2`, oldSecret,
			sealed); n != 0 {
			t.Errorf("%d secrets are not bound after the older server has ended", n)
		}
		// The earlier process learns this when it seals the next value.
		third, err := events.CreateSubscription(ctx, tenant, events.NewSubscription{URL: fixture.HookURL,
			Events: api.EventKinds[:], Secret: secret.New(fixture.SigningSecret)})
		kit.Must(t, err)
		id = third.ID
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select secret from subscriptions where id = $1`, third.ID).Scan(&sealed))
		if _, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: key[:], Table: "subscriptions", Column: "secret",
			Row: id[:]}); err == nil {
			t.Error("a secret was sealed in the old form after the upgrade")
		}
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
		// In an old database without records of its keys, the sealed values name them.
		unbind(t, f, f.Company, f.Subscribe(t, api.EventSubmissionUpdated).ID)
		refused()
		if n := f.Number(t, `select count(*) from sealing_keys`); n != 0 {
			t.Error("a wrong key was recorded")
		}
		f.Again(t)
		if n := f.Number(t, `select count(*) from sealing_keys where id = `+strconv.FormatUint(uint64(right), 10)); n != 1 {
			t.Errorf("%d records of the key", n)
		}
	})
}
