package store_test

import (
	"errors"
	"strconv"
	"testing"

	"quittance/client/api"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.DisableConnection(ctx, f.connection.ID)
		kit.Must(t, err)
		for name, statement := range changes {
			add := sandboxConnection()
			add.Environment, add.Format, add.Options = "production", "pint-ae", map[string]string{"entity": "7"}
			c, err := f.AddConnection(ctx, f.account.ID, add)
			kit.Must(t, err)
			_, err = f.ApproveConnection(ctx, c.ID, "Ann", "C-1", "1.0.0")
			kit.Must(t, err)
			_, err = f.ActivateConnection(ctx, c.ID)
			kit.Must(t, err)
			_, err = f.ReplaceCredential(ctx, c.ID, secret.New("another-canary-11d0"))
			kit.Must(t, err)
			c, err = f.Connection(ctx, c.ID)
			kit.Must(t, err)
			if text, err := f.Credential(c); err != nil || text.Reveal() != "another-canary-11d0" {
				t.Fatalf("%s: before the change: %v", name, err)
			}
			f.exec(t, statement, c.ID)
			c, err = f.Connection(ctx, c.ID)
			kit.Must(t, err)
			_, err = f.Credential(c)
			wantErr(t, err, store.ErrChangedRow)
			_, err = f.ActivateConnection(ctx, c.ID)
			wantErr(t, err, store.ErrChangedRow)
			_, err = f.ReplaceCredential(ctx, c.ID, secret.New(credential))
			wantErr(t, err, store.ErrChangedRow)
			if c.Environment == "production" {
				_, err = f.ApproveConnection(ctx, c.ID, "Ann", "C-1", "1.0.0")
				wantErr(t, err, store.ErrChangedRow)
			}
			c, err = f.DisableConnection(ctx, c.ID)
			kit.Must(t, err)
			_, err = f.Credential(c)
			wantErr(t, err, store.ErrChangedRow)
		}
	})
}

// TestApprovalCannotBeWritten checks that an approval that was written outside of the store allows no submission.
func TestApprovalCannotBeWritten(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		add := sandboxConnection()
		add.Environment = "production"
		c, err := f.AddConnection(t.Context(), f.account.ID, add)
		kit.Must(t, err)
		f.exec(t,
			`update connections set approved_at = 1, approved_by = 'Mallory', approved_contract = 'C', approved_release = '1' where id = $1`, c.ID)
		c, err = f.Connection(t.Context(), c.ID)
		kit.Must(t, err)
		_, err = f.Credential(c)
		wantErr(t, err, store.ErrChangedRow)
	})
}

// TestChangedDestinationGetsNothing checks that the deliveries of a subscription whose URL was changed outside of the
// store fail with that reason, and can be redelivered once the URL is restored.
func TestChangedDestinationGetsNothing(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		record(t, f.submit(t, "INV-1"), allFour("accepted", true), api.EventSubmissionUpdated)
		f.exec(t, `update subscriptions set url = 'https://elsewhere.example.com/' where id = $1`, s.ID)
		if claimed := f.claimDeliveries(t, s.ID, 10); len(claimed) != 0 {
			t.Fatalf("%d deliveries go to %s", len(claimed), claimed[0].URL)
		}
		if f.ChangedRows() == 0 {
			t.Error("the changed row was not counted")
		}
		page, err := view.Of(f.tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1, 10)
		kit.Must(t, err)
		if len(page.Entries) != 1 || page.Entries[0].State != store.DeliveryFailed ||
			*page.Entries[0].Reason != "subscription_changed" {
			t.Fatalf("deliveries %+v", page.Entries)
		}
		f.exec(t, `update subscriptions set url = $2 where id = $1`, s.ID, s.URL)
		_, err = f.tenant.Redeliver(t.Context(), page.Entries[0].ID)
		kit.Must(t, err)
		if claimed := f.claimDeliveries(t, s.ID, 10); len(claimed) != 1 || claimed[0].URL != s.URL {
			t.Errorf("%d deliveries once the address is right again", len(claimed))
		}
	})
}

// TestChangedDestinationEndsInBatches checks that the pending deliveries of a subscription whose URL was changed
// outside of the store end in batches of 500, that the claims of an ended batch are undone, and that another
// subscription keeps its deliveries.
func TestChangedDestinationEndsInBatches(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const waiting, batch = 520, 500
		s, other := f.subscribe(t, api.EventStatusChanged), f.subscribe(t, api.EventStatusChanged)
		f.backlog(t, waiting)
		f.exec(t, `update subscriptions set url = 'https://elsewhere.example.com/' where id = $1`, s.ID)
		for _, left := range []int64{waiting - batch, 0} {
			if claimed := f.claimDeliveries(t, s.ID, 64); len(claimed) != 0 {
				t.Fatalf("%d deliveries go to %s", len(claimed), claimed[0].URL)
			}
			pending := f.number(t, `select count(*) from deliveries where subscription_id = $1 and state = 'pending'`, s.ID)
			ended := f.number(t,
				`select count(*) from deliveries where subscription_id = $1 and state = 'failed' and reason = 'subscription_changed' and due_at is null`, s.ID)
			claimed := f.number(t, `select count(*) from deliveries where subscription_id = $1 and leased > 0`, s.ID)
			if pending != left || ended != waiting-left || claimed != 0 {
				t.Errorf("%d pending, %d ended, %d claimed; want %d, %d, 0", pending, ended, claimed, left, waiting-left)
			}
		}
		if n := len(f.claimDeliveries(t, other.ID, waiting+1)); n != waiting {
			t.Errorf("the other subscription has %d deliveries due, want %d", n, waiting)
		}
	})
}

// unbind converts a database to the form of a version without bound secrets: every secret is sealed for its row only,
// and no key is recorded.
func (f *fixture) unbind(t *testing.T, c company, subscription store.ID) (credentialSealed, secretSealed []byte) {
	t.Helper()
	account, connection, tenant := c.account.ID, c.connection.ID, c.tenant.Key()
	var err error
	credentialSealed, err = f.Options.Keys.Seal([]byte(credential),
		secret.Binding{Tenant: account[:], Table: "connections", Column: "credential", Row: connection[:]})
	kit.Must(t, err)
	secretSealed, err = f.Options.Keys.Seal([]byte(signingSecret),
		secret.Binding{Tenant: tenant[:], Table: "subscriptions", Column: "secret", Row: subscription[:]})
	kit.Must(t, err)
	f.exec(t, `update connections set credential = $2 where id = $1`, connection, credentialSealed)
	f.exec(t, `update subscriptions set secret = $2 where id = $1`, subscription, secretSealed)
	f.disarm(t) // that version had no audit log
	for _, later := range []string{"audit", "audit_heads", "sealed_settings", "sealed_sets", "sealing_keys"} {
		_, err := f.raw.ExecContext(t.Context(), `delete from `+later)
		kit.Must(t, err)
	}
	f.exec(t, boundSetting)
	return credentialSealed, secretSealed
}

// TestUpgradeBindsSecrets checks that opening a database of the previous version reseals everything once. Secrets in
// the old form do not open from then on, and the records that say so cannot be removed.
func TestUpgradeBindsSecrets(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		s := f.subscribe(t, api.EventSubmissionUpdated)
		oldCredential, oldSecret := f.unbind(t, f.company, s.ID)
		db := f.Again(t)
		c, err := db.Connection(ctx, f.connection.ID)
		kit.Must(t, err)
		if text, err := db.Credential(c); err != nil || text.Reveal() != credential {
			t.Fatalf("after the upgrade: %v", err)
		}
		if n := f.number(t, `select count(*) from connections where credential = $1`, oldCredential) + f.number(t,
			`select count(*) from subscriptions where secret = $1`, oldSecret); n != 0 {
			t.Fatalf("%d secrets are not bound", n)
		}
		f.exec(t, `update connections set credential = $2, base_url = 'http://127.0.0.1:9' where id = $1`, f.connection.ID,
			oldCredential)
		for _, db := range []*store.DB{db, f.Again(t)} {
			c, err = db.Connection(ctx, f.connection.ID)
			kit.Must(t, err)
			_, err = db.Credential(c)
			wantErr(t, err, store.ErrChangedRow)
		}
		// Without the records of the keys, the database would look as it did before the upgrade.
		f.exec(t, `delete from sealing_keys`)
		if _, err := store.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a database without its records of keys opens")
		}
		f.exec(t, boundSetting)
		if _, err := store.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a database opens with bound secrets and without the records of its keys")
		}
	})
}

// TestUpgradeWaitsForOlderServers checks that while a server of the previous version runs, all secrets, including new
// ones, stay in the form that it can open, and that the first process that opens the database later binds them.
func TestUpgradeWaitsForOlderServers(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		first := f.subscribe(t, api.EventSubmissionUpdated)
		older := f.olderServer(t)
		oldCredential, oldSecret := f.unbind(t, f.company, first.ID)
		db := f.Again(t)
		tenant, err := db.Tenant(ctx, f.account.ID)
		kit.Must(t, err)
		second, err := tenant.CreateSubscription(ctx, store.NewSubscription{URL: hookURL, Events: api.EventKinds[:],
			Secret: secret.New(signingSecret)})
		kit.Must(t, err)
		var sealed []byte
		kit.Must(t, f.raw.QueryRowContext(ctx, `select secret from subscriptions where id = $1`, second.ID).Scan(&sealed))
		key, id := tenant.Key(), second.ID
		if _, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: key[:], Table: "subscriptions", Column: "secret",
			Row: id[:]}); err != nil {
			t.Errorf("the older server does not open a new secret: %v", err)
		}
		if n := f.number(t, `select count(*) from connections where credential = $1`, oldCredential) + f.number(t,
			`select count(*) from subscriptions where secret = $1`, oldSecret); n != 2 {
			t.Errorf("%d of 2 secrets are as the older server opens them", n)
		}
		older()
		f.Again(t)
		if n := f.number(t, `select count(*) from subscriptions where secret = $1 or secret = $2`, oldSecret,
			sealed); n != 0 {
			t.Errorf("%d secrets are not bound after the older server has ended", n)
		}
		// The earlier process learns this when it seals the next value.
		third, err := tenant.CreateSubscription(ctx, store.NewSubscription{URL: hookURL, Events: api.EventKinds[:],
			Secret: secret.New(signingSecret)})
		kit.Must(t, err)
		id = third.ID
		kit.Must(t, f.raw.QueryRowContext(ctx, `select secret from subscriptions where id = $1`, third.ID).Scan(&sealed))
		if _, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: key[:], Table: "subscriptions", Column: "secret",
			Row: id[:]}); err == nil {
			t.Error("a secret was sealed in the old form after the upgrade")
		}
	})
}

// olderServer simulates a running server of the previous version: the lock of a file, or a session with the old name.
func (f *fixture) olderServer(t *testing.T) (end func()) {
	t.Helper()
	if f.SingleServer() {
		release, err := f.LockForServing()
		kit.Must(t, err)
		return func() { kit.Must(t, release()) }
	}
	conn, err := f.raw.Conn(t.Context())
	kit.Must(t, err)
	_, err = conn.ExecContext(t.Context(), `set application_name = 'quittance'`)
	kit.Must(t, err)
	return func() {
		_, err := conn.ExecContext(t.Context(), `set application_name = 'ended'`)
		kit.Must(t, err)
		kit.Must(t, conn.Close())
	}
}

// TestWrongKeysDoNotOpen checks that a database opens only with its own keys, and that the error names the key and the
// file.
func TestWrongKeysDoNotOpen(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
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
			db, err := store.Open(ctx, f.Address, options)
			if err == nil {
				kit.Must(t, db.Close())
				t.Fatal("it opens")
			}
			var fault *store.KeyError
			if !errors.As(err, &fault) || fault.ID != right || fault.File != file {
				t.Fatalf("error %v", err)
			}
		}
		refused()
		// In an old database without records of its keys, the sealed values name them.
		f.unbind(t, f.company, f.subscribe(t, api.EventSubmissionUpdated).ID)
		refused()
		if n := f.number(t, `select count(*) from sealing_keys`); n != 0 {
			t.Error("a wrong key was recorded")
		}
		f.Again(t)
		if n := f.number(t, `select count(*) from sealing_keys where id = `+strconv.FormatUint(uint64(right), 10)); n != 1 {
			t.Errorf("%d records of the key", n)
		}
	})
}
