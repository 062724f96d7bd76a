package proof_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// administrate performs every act of an administrator that this package has, and returns their names in order, first
// those of no account.
func administrate(t *testing.T, f *fixture.Fixture) []string {
	t.Helper()
	ctx := base.WithActor(t.Context(), base.Actor{Kind: base.ActorAdministrator, Name: "ada@desk",
		Means: base.MeansCommandLine, Reason: "ticket 7"})
	made, err := identity.CreateAccount(ctx, f.DB, "Audited LLC", identity.NewUser{Email: "first@example.com",
		PasswordHash: "$hash", Proved: true})
	kit.Must(t, err)
	user, err := identity.AddUser(ctx, f.DB, made.ID, identity.NewUser{Role: access.Owner,
		Email: "second@example.com", PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, identity.ResetPassword(ctx, f.DB, made.ID, user, "$other"))
	kit.Must(t, identity.SetProfile(ctx, f.DB, made.ID, api.Profile{}))
	c, err := invoices.AddConnection(ctx, f.DB, made.ID, invoices.NewConnection{Kind: "http",
		Environment: "production", BaseURL: fixture.ProviderURL, Credential: secret.New(fixture.Credential)})
	kit.Must(t, err)
	for _, change := range []func() error{
		func() error {
			_, err := invoices.ApproveConnection(ctx, f.DB, c.ID, "Ada", "C-1", "1.0.0")
			return err
		},
		func() error {
			_, err := invoices.ApproveConnection(ctx, f.DB, c.ID, "Bob", "C-2", "2.0.0")
			return err
		},
		func() error { _, err := invoices.ActivateConnection(ctx, f.DB, c.ID); return err },
		func() error {
			_, err := invoices.ReplaceCredential(ctx, f.DB, c.ID, secret.New(fixture.Credential+"2"))
			return err
		},
		func() error { _, err := invoices.DisableConnection(ctx, f.DB, c.ID); return err },
		func() error { return identity.SuspendAccount(ctx, f.DB, made.ID) },
		func() error { return identity.ReactivateAccount(ctx, f.DB, made.ID) },
		func() error { _, err := ledger.MarkRestored(ctx, f.DB); return err },
		func() error { return f.RecordAudit(ctx, base.Act{Name: "evidence.export", Account: made.ID}) },
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
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		began := f.Clock.Advance(time.Minute)
		want := administrate(t, f)
		if _, err := identity.CreateAccount(t.Context(), f.DB, "Twice", identity.NewUser{Email: "first@example.com",
			Proved: true}); err == nil {
			t.Error("an e-mail address was used twice")
		}
		entries, err := f.Audit(t.Context(), base.AuditFilter{Since: began, Limit: 100})
		kit.Must(t, err)
		var got []string
		for _, e := range entries {
			got = append(got, e.Act)
			fixture.WantEqual(t, "the actor of "+e.Act, e.Actor, base.Actor{Kind: base.ActorAdministrator, Name: "ada@desk",
				Means: base.MeansCommandLine, Reason: "ticket 7"})
			if !e.At.Equal(began) {
				t.Errorf("%s at %v, want %v", e.Act, e.At, began)
			}
			if !json.Valid([]byte(e.Details)) || strings.Contains(e.Details, fixture.Credential) ||
				strings.Contains(e.Details, "$other") {
				t.Errorf("details of %s: %s", e.Act, e.Details)
			}
		}
		fixture.WantEqual(t, "audited acts", got, want)
		if approved := f.Audited(t, "connection.approve"); !strings.Contains(approved[1].Details,
			`"before_release":"1.0.0"`) || !strings.Contains(approved[1].Details, `"before_by":"Ada"`) {
			t.Errorf("the earlier approval is lost: %s", approved[1].Details)
		}
		account := entries[1].Account
		own, err := f.Audit(t.Context(), base.AuditFilter{Account: account, Act: "connection", Limit: 2})
		kit.Must(t, err)
		if len(own) != 2 || own[0].Act != "connection.replace-credential" || own[1].Act != "connection.disable" {
			t.Errorf("last two entries about connections: %+v", own)
		}
	})
}

// TestAuditIsProven checks that a verification detects every change, removal and addition in the audit log by somebody
// who controls the database but has no key, and that later entries do not hide it.
func TestAuditIsProven(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		administrate(t, f)
		clean := func() []proof.EvidenceError {
			found, err := proof.Verify(t.Context(), f.DB, fixture.Replay())
			kit.Must(t, err)
			return found.Faults
		}
		if faults := clean(); len(faults) > 0 {
			t.Fatalf("faults of an intact audit log: %v", faults)
		}
		a := f.Attacker(t)
		var attacks []string
		for _, column := range fixture.ColumnsOf(t, "audit") {
			attacks = append(attacks, altered("audit", column)...)
		}
		for _, column := range fixture.ColumnsOf(t, "audit_heads") {
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
			undone(t, f, a, func() {
				for statement := range strings.SplitSeq(attack, "; ") {
					a.Do(t, statement)
				}
				if len(clean()) == 0 {
					t.Errorf("not detected: %s", attack)
				}
				if _, err := identity.CreateAccount(t.Context(), f.DB, "After",
					identity.NewUser{Email: "after@example.com"}); err != nil &&
					!strings.Contains(attack, "audit set") {
					t.Errorf("after %s, acts fail: %v", attack, err)
				}
				if _, err := ledger.MarkRestored(t.Context(), f.DB); err == nil && len(clean()) == 0 {
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
func undone(t *testing.T, f *fixture.Fixture, a fixture.Attacker, do func()) {
	t.Helper()
	tables := []string{"audit", "audit_heads", "settings"}
	for _, table := range tables {
		a.Exec(t, fmt.Sprintf(`create table kept_%s as select * from %[1]s`, table))
	}
	do()
	for _, table := range tables {
		a.Exec(t, fmt.Sprintf(`delete from %s`, table))
		a.Exec(t, fmt.Sprintf(`insert into %s select * from kept_%[1]s`, table))
		a.Exec(t, fmt.Sprintf(`drop table kept_%s`, table))
	}
	a.Exec(t, `delete from tokens`)
	a.Exec(t, `delete from users where email = 'after@example.com'`)
}

// TestAuditReseal checks that a rotation reseals the ends of the audit log's chains.
func TestAuditReseal(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		administrate(t, f)
		rotated := f.Rotated(t)
		options := f.Options
		options.Keys = rotated
		after, err := ledger.Open(t.Context(), f.Address, options)
		kit.Must(t, err)
		defer func() { kit.Must(t, after.Close()) }()
		_, err = ledger.Reseal(t.Context(), after)
		kit.Must(t, err)
		rows, err := f.Raw.QueryContext(t.Context(), `select seal from audit_heads`)
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
		found, err := proof.Verify(t.Context(), after, fixture.Replay())
		kit.Must(t, err)
		if len(found.Faults) > 0 {
			t.Errorf("after the rotation: %v", found.Faults)
		}
	})
}

// TestAuditIsAnchored checks that an anchor detects an audit log that was removed completely or restored to an earlier
// state, and that additions do not contradict it.
func TestAuditIsAnchored(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		administrate(t, f)
		f.Clock.Advance(time.Minute)
		anchors := anchored(t, f, nil)
		kit.Must(t, identity.RenameAccount(fixture.AsAdministrator(t.Context()), f.DB, f.Account.ID, "Later"))
		if faults := against(t, f, anchors); len(faults) > 0 {
			t.Fatalf("faults after additions: %v", faults)
		}
		a := f.Attacker(t)
		for name, statements := range map[string][]string{
			"gone":     {`delete from audit`, `delete from audit_heads`, `delete from settings where key = 'audit_begun_at'`},
			"put back": {`delete from audit where ordinal > 3`},
		} {
			undone(t, f, a, func() {
				for _, statement := range statements {
					a.Do(t, statement)
				}
				if faults := against(t, f, anchors); len(faults) == 0 {
					t.Errorf("%s: not noticed", name)
				}
			})
		}
	})
}
