package store_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestConnections checks that an account has at most one active connection: another one can be activated only after
// that is disabled.
func TestConnections(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.Clock.Advance(time.Second)
		second, err := f.AddConnection(ctx, f.account.ID, sandboxConnection())
		kit.Must(t, err)
		if second.State != store.ConnectionPending || second.Fingerprint != secret.Fingerprint(secret.New(credential)) ||
			second.Approval != nil {
			t.Errorf("new connection %+v", second)
		}
		_, err = f.ActivateConnection(ctx, second.ID)
		wantErr(t, err, store.ErrActiveExists)
		_, err = f.ActivateConnection(ctx, f.connection.ID) // again
		kit.Must(t, err)
		disabled, err := f.DisableConnection(ctx, f.connection.ID)
		kit.Must(t, err)
		if disabled.State != store.ConnectionDisabled || !disabled.UpdatedAt.Equal(f.Clock.Now()) {
			t.Errorf("disabled connection %+v", disabled)
		}
		var active atomic.Int32
		race(8, func(i int) {
			id := []store.ID{f.connection.ID, second.ID}[i%2]
			if _, err := f.ActivateConnection(ctx, id); err == nil {
				active.Add(1)
			}
		})
		if n := f.number(t, `select count(*) from connections where account_id = $1 and state = 'active'`,
			f.account.ID); n != 1 || active.Load() < 1 {
			t.Errorf("%d connections are active after %d activations", n, active.Load())
		}
		own, err := f.Connections(ctx, &f.account.ID)
		kit.Must(t, err)
		all, err := f.Connections(ctx, nil)
		kit.Must(t, err)
		if len(own) != 2 || own[0].ID != f.connection.ID || own[1].ID != second.ID || len(all) != 3 {
			t.Errorf("%d own connections of %d", len(own), len(all))
		}
		_, err = f.AddConnection(ctx, store.ID{1}, sandboxConnection())
		wantErr(t, err, store.ErrNotFound)
		_, err = f.Connection(ctx, store.ID{1})
		wantErr(t, err, store.ErrNotFound)
		_, err = f.DisableConnection(ctx, store.ID{1})
		wantErr(t, err, store.ErrNotFound)
	})
}

// TestApproval checks that an approval is recorded with its details, and only for a production connection.
func TestApproval(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		_, err := f.ApproveConnection(ctx, f.connection.ID, "Ann", "C-1", "R-1")
		wantErr(t, err, store.ErrNotProduction)
		production := sandboxConnection()
		production.Environment = "production"
		added, err := f.AddConnection(ctx, f.account.ID, production)
		kit.Must(t, err)
		at := f.Clock.Advance(time.Second)
		_, err = f.ApproveConnection(ctx, added.ID, "Ann", "C-1", "R-1")
		kit.Must(t, err)
		kept, err := f.Connection(ctx, added.ID)
		kit.Must(t, err)
		wantEqual(t, "the approval", kept.Approval, &store.Approval{At: at, By: "Ann", Contract: "C-1", Release: "R-1"})
		if kept.State != store.ConnectionPending {
			t.Errorf("an approval made the connection %s", kept.State)
		}
	})
}

// TestReplaceCredential checks that a connection keeps its state and opens the new credential.
func TestReplaceCredential(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		_, err := f.ReplaceCredential(ctx, f.connection.ID, secret.New("another-canary-11d0"))
		kit.Must(t, err)
		kept, err := f.Connection(ctx, f.connection.ID)
		kit.Must(t, err)
		opened, err := f.Credential(kept)
		kit.Must(t, err)
		if opened.Reveal() != "another-canary-11d0" || kept.Fingerprint != secret.Fingerprint(opened) ||
			kept.State != store.ConnectionActive {
			t.Errorf("connection %+v opens another credential", kept)
		}
		f.Clock.Advance(leaseDuration)
		if claimed := f.claimSubmissions(t, 10); len(claimed) != 1 || claimed[0].Submission.ID != call.Submission.ID {
			t.Errorf("%d open submissions are left", len(claimed))
		}
	})
}

// TestMovedSecrets checks that a sealed value opens only in its own row.
func TestMovedSecrets(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		other, err := f.AddConnection(ctx, f.account.ID, sandboxConnection())
		kit.Must(t, err)
		for _, source := range []store.ID{other.ID, f.decoy.connection.ID} {
			f.exec(t, `update connections set credential = (select credential from connections where id = $2) where id = $1`,
				f.connection.ID, source)
			moved, err := f.Connection(ctx, f.connection.ID)
			kit.Must(t, err)
			_, err = f.Credential(moved)
			wantErr(t, err, secret.ErrSealed)
		}
		first, second := f.subscribe(t, api.EventTerminal), f.subscribe(t, api.EventTerminal)
		record(t, f.submit(t, "INV-1"), allFour("accepted", true), api.EventTerminal)
		f.exec(t, `update subscriptions set secret = (select secret from subscriptions where id = $2) where id = $1`,
			first.ID, second.ID)
		if claimed := f.claimDeliveries(t, first.ID, 1); len(claimed) != 0 {
			t.Errorf("%d deliveries with the secret of another subscription", len(claimed))
		}
		if claimed := f.claimDeliveries(t, second.ID, 1); len(claimed) != 1 || claimed[0].Secret.Reveal() != signingSecret {
			t.Errorf("%d deliveries with their own secret", len(claimed))
		}
	})
}

// TestSealedAtRest checks that the database contains no secret in a readable form. The scan also looks for a text that
// is not secret, to show that it works.
func TestSealedAtRest(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const echoed = "withheld-canary-55ae"
		_, err := f.ReplaceCredential(t.Context(), f.connection.ID, secret.New("replaced-canary-20c4"))
		kit.Must(t, err)
		f.subscribe(t, api.EventKinds[:]...)
		decide(t, f.submit(t, "INV-FINDME"), func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("accepted", true), api.EventSubmissionUpdated)
			d.Evidence.Withheld, d.Evidence.Body = true, []byte("you sent "+echoed)
			return d
		})
		for _, canary := range []string{credential, "replaced-canary-20c4", signingSecret, echoed} {
			if where := f.search(t, canary); where != "" {
				t.Errorf("%q is in %s", canary, where)
			}
		}
		if f.search(t, "INV-FINDME") == "" {
			t.Error("the scan finds nothing")
		}
		var id store.ID
		var sealed []byte
		kit.Must(t, f.raw.QueryRowContext(t.Context(), `select id, body from evidence where tenant_id = $1`,
			f.tenant.Key()).Scan(&id, &sealed))
		tenant := f.tenant.Key()
		body, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: tenant[:], Table: "evidence", Column: "body",
			Row: id[:]})
		kit.Must(t, err)
		if string(body) != "you sent "+echoed {
			t.Errorf("the withheld body opens as %q", body)
		}
	})
}

// search looks for a text, also in hexadecimal and base64, in every column of every table, and on SQLite in the files.
func (f *fixture) search(t *testing.T, text string) (where string) {
	t.Helper()
	forms := []string{text, hex.EncodeToString([]byte(text)), base64.StdEncoding.EncodeToString([]byte(text))}
	for _, tab := range tables(t) {
		for _, row := range f.rows(t, "select * from "+tab.name) {
			for _, form := range forms { // dump writes bytes in hexadecimal
				if strings.Contains(row, form) {
					return tab.name
				}
			}
		}
	}
	if f.Path == "" {
		return ""
	}
	files, err := filepath.Glob(f.Path + "*")
	kit.Must(t, err)
	if len(files) < 2 {
		t.Fatalf("the database has only the files %v", files)
	}
	for _, file := range files {
		content, err := os.ReadFile(file)
		kit.Must(t, err)
		for _, form := range forms {
			if bytes.Contains(content, []byte(form)) {
				return filepath.Base(file)
			}
		}
	}
	return ""
}
