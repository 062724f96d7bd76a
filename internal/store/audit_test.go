package store_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// administrate performs every act of an administrator that this package has, and returns their names in order, first
// those of no account.
func (f *fixture) administrate(t *testing.T) []string {
	t.Helper()
	ctx := store.WithActor(t.Context(), store.Actor{Kind: store.ActorAdministrator, Name: "ada@desk",
		Means: store.MeansCommandLine, Reason: "ticket 7"})
	made, err := f.CreateAccount(ctx, "Audited LLC", store.NewUser{Email: "first@example.com", PasswordHash: "$hash",
		Proved: true})
	kit.Must(t, err)
	user, err := f.AddUser(ctx, made.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
		PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, f.ResetPassword(ctx, made.ID, user, "$other"))
	kit.Must(t, f.SetProfile(ctx, made.ID, api.Profile{}))
	c, err := f.AddConnection(ctx, made.ID, store.NewConnection{Kind: "http", Environment: "production",
		BaseURL: providerURL, Credential: secret.New(credential)})
	kit.Must(t, err)
	for _, change := range []func() error{
		func() error { _, err := f.ApproveConnection(ctx, c.ID, "Ada", "C-1", "1.0.0"); return err },
		func() error { _, err := f.ApproveConnection(ctx, c.ID, "Bob", "C-2", "2.0.0"); return err },
		func() error { _, err := f.ActivateConnection(ctx, c.ID); return err },
		func() error { _, err := f.ReplaceCredential(ctx, c.ID, secret.New(credential+"2")); return err },
		func() error { _, err := f.DisableConnection(ctx, c.ID); return err },
		func() error { return f.SuspendAccount(ctx, made.ID) },
		func() error { return f.ReactivateAccount(ctx, made.ID) },
		func() error { _, err := f.MarkRestored(ctx); return err },
		func() error { return f.RecordAudit(ctx, store.Act{Name: "evidence.export", Account: made.ID}) },
	} {
		kit.Must(t, change())
	}
	return []string{"database.restored", "account.create", "user.add", "user.reset-password", "account.profile",
		"connection.add", "connection.approve", "connection.approve", "connection.activate", "connection.replace-credential",
		"connection.disable", "account.suspend", "account.reactivate", "evidence.export"}
}

// TestAudit checks that the audit log has an entry for every act of an administrator, with the actor, time, object and
// reason and without secrets, and none for an act that failed.
func TestAudit(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		began := f.Clock.Advance(time.Minute)
		want := f.administrate(t)
		if _, err := f.CreateAccount(t.Context(), "Twice", store.NewUser{Email: "first@example.com",
			Proved: true}); err == nil {
			t.Error("an e-mail address was used twice")
		}
		entries, err := f.Audit(t.Context(), store.AuditFilter{Since: began, Limit: 100})
		kit.Must(t, err)
		var got []string
		for _, e := range entries {
			got = append(got, e.Act)
			wantEqual(t, "the actor of "+e.Act, e.Actor, store.Actor{Kind: store.ActorAdministrator, Name: "ada@desk",
				Means: store.MeansCommandLine, Reason: "ticket 7"})
			if !e.At.Equal(began) {
				t.Errorf("%s at %v, want %v", e.Act, e.At, began)
			}
			if !json.Valid([]byte(e.Details)) || strings.Contains(e.Details, credential) ||
				strings.Contains(e.Details, "$other") {
				t.Errorf("details of %s: %s", e.Act, e.Details)
			}
		}
		wantEqual(t, "audited acts", got, want)
		if approved := f.audited(t, "connection.approve"); !strings.Contains(approved[1].Details,
			`"before_release":"1.0.0"`) || !strings.Contains(approved[1].Details, `"before_by":"Ada"`) {
			t.Errorf("the earlier approval is lost: %s", approved[1].Details)
		}
		account := entries[1].Account
		own, err := f.Audit(t.Context(), store.AuditFilter{Account: account, Act: "connection", Limit: 2})
		kit.Must(t, err)
		if len(own) != 2 || own[0].Act != "connection.replace-credential" || own[1].Act != "connection.disable" {
			t.Errorf("last two entries about connections: %+v", own)
		}
	})
}

// TestAuditIsProven checks that a verification detects every change, removal and addition in the audit log by somebody
// who controls the database but has no key, and that later entries do not hide it.
func TestAuditIsProven(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.administrate(t)
		clean := func() []store.EvidenceError {
			found, err := f.VerifyEvidence(t.Context(), replay())
			kit.Must(t, err)
			return found.Faults
		}
		if faults := clean(); len(faults) > 0 {
			t.Fatalf("faults of an intact audit log: %v", faults)
		}
		a := f.attacker(t)
		var attacks []string
		for _, column := range columnsOf(t, "audit") {
			attacks = append(attacks, altered("audit", column)...)
		}
		for _, column := range columnsOf(t, "audit_heads") {
			attacks = append(attacks, altered("audit_heads", column)...)
		}
		attacks = append(attacks,
			`delete from audit where ordinal = 2`, `delete from audit where ordinal = (select max(ordinal) from audit)`,
			`delete from audit`, `delete from audit_heads`,
			`delete from audit_heads where chain = (select chain from audit_heads order by chain desc limit 1)`,
			`delete from audit_heads where chain = (select chain from audit_heads order by chain limit 1)`,
			`update audit_heads set seal = null`,
			`update audit_heads set count = count - 1`,
			// The removal of a whole chain, and a cut with the head restored.
			`delete from audit where chain = (select chain from audit_heads order by chain desc limit 1); delete from audit_heads where chain = (select chain from audit_heads order by chain desc limit 1)`,
			`delete from audit where ordinal > 2; update audit_heads set count = 2, head = (select digest from audit a where a.chain = audit_heads.chain and ordinal = 2) where count > 2`,
			`delete from audit; delete from audit_heads`,
			`update audit_heads set seal = (select seal from audit_heads order by chain desc limit 1)`,
		)
		for _, attack := range attacks {
			f.undone(t, a, func() {
				for statement := range strings.SplitSeq(attack, "; ") {
					a.do(t, statement)
				}
				if len(clean()) == 0 {
					t.Errorf("not detected: %s", attack)
				}
				if _, err := f.CreateAccount(t.Context(), "After", store.NewUser{Email: "after@example.com"}); err != nil &&
					!strings.Contains(attack, "audit set") {
					t.Errorf("after %s, acts fail: %v", attack, err)
				}
				if _, err := f.MarkRestored(t.Context()); err == nil && len(clean()) == 0 {
					t.Errorf("hidden by another act: %s", attack)
				}
			})
		}
	})
}

// altered returns statements that change a column of every row of a table, if its type allows it.
func altered(table, column string) []string {
	switch column {
	case "ordinal", "at", "count", "chains":
		return []string{fmt.Sprintf(`update %s set %s = %[2]s + 1000`, table, column)}
	case "chain", "id", "account_id", "previous", "digest", "head", "seal":
		length := 16
		if column == "previous" || column == "digest" || column == "head" {
			length = 32
		}
		return []string{fmt.Sprintf(
			`update %s set %s = '\x%s' where %[2]s = (select %[2]s from %[1]s where %[2]s is not null order by %[2]s desc limit 1)`, table, column, strings.Repeat("7f", length)),
			fmt.Sprintf(
				`update %s set %s = '\x7f' where %[2]s = (select %[2]s from %[1]s where %[2]s is not null order by %[2]s desc limit 1)`, table, column)}
	case "actor_kind":
		return []string{`update audit set actor_kind = 'system'`}
	}
	return []string{fmt.Sprintf(`update %s set %s = %[2]s || ' '`, table, column)}
}

// undone runs a function and restores the database.
func (f *fixture) undone(t *testing.T, a attacker, do func()) {
	t.Helper()
	tables := []string{"audit", "audit_heads", "settings"}
	for _, table := range tables {
		a.exec(t, fmt.Sprintf(`create table kept_%s as select * from %[1]s`, table))
	}
	do()
	for _, table := range tables {
		a.exec(t, fmt.Sprintf(`delete from %s`, table))
		a.exec(t, fmt.Sprintf(`insert into %s select * from kept_%[1]s`, table))
		a.exec(t, fmt.Sprintf(`drop table kept_%s`, table))
	}
	a.exec(t, `delete from tokens`)
	a.exec(t, `delete from users where email = 'after@example.com'`)
}

// exec runs a statement that may change nothing.
func (a attacker) exec(t *testing.T, statement string) {
	t.Helper()
	_, err := a.conn.ExecContext(t.Context(), statement)
	kit.Must(t, err)
}

// TestAuditReseal checks that a rotation reseals the ends of the audit log's chains.
func TestAuditReseal(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.administrate(t)
		rotated := f.Rotated(t)
		options := f.Options
		options.Keys = rotated
		after, err := store.Open(t.Context(), f.Address, options)
		kit.Must(t, err)
		defer func() { kit.Must(t, after.Close()) }()
		_, err = after.Reseal(t.Context())
		kit.Must(t, err)
		rows, err := f.raw.QueryContext(t.Context(), `select seal from audit_heads`)
		kit.Must(t, err)
		defer func() { kit.Must(t, rows.Close()) }()
		seals := 0
		for ; rows.Next(); seals++ {
			var seal []byte
			kit.Must(t, rows.Scan(&seal))
			if rotated.NeedsReseal(seal) {
				t.Error("a seal still has the old key")
			}
		}
		kit.Must(t, rows.Err())
		if seals != 3 { // of no account, of the fixture's account and of the audited one
			t.Errorf("%d seals", seals)
		}
		found, err := after.VerifyEvidence(t.Context(), replay())
		kit.Must(t, err)
		if len(found.Faults) > 0 {
			t.Errorf("after the rotation: %v", found.Faults)
		}
	})
}

// TestAuditIsAnchored checks that an anchor detects an audit log that was removed completely or restored to an earlier
// state, and that additions do not contradict it.
func TestAuditIsAnchored(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.administrate(t)
		f.Clock.Advance(time.Minute)
		anchors := f.anchored(t, nil)
		kit.Must(t, f.RenameAccount(asAdministrator(t.Context()), f.account.ID, "Later"))
		if faults := f.against(t, anchors); len(faults) > 0 {
			t.Fatalf("faults after additions: %v", faults)
		}
		a := f.attacker(t)
		for name, statements := range map[string][]string{
			"gone":     {`delete from audit`, `delete from audit_heads`, `delete from settings where key = 'audit_begun_at'`},
			"put back": {`delete from audit where ordinal > 3`},
		} {
			f.undone(t, a, func() {
				for _, statement := range statements {
					a.do(t, statement)
				}
				if faults := f.against(t, anchors); len(faults) == 0 {
					t.Errorf("%s: not noticed", name)
				}
			})
		}
	})
}
