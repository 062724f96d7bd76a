package base_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

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

// accessFaults returns the faults of a verification that say who may act, and fails for others.
func accessFaults(t *testing.T, f *fixture.Fixture) (faults []string) {
	t.Helper()
	found, err := proof.Verify(t.Context(), f.DB, fixture.Replay())
	kit.Must(t, err)
	for _, fault := range found.Faults {
		faults = append(faults, fault.Error())
	}
	return faults
}

func wantFaults(t *testing.T, f *fixture.Fixture, parts ...string) {
	t.Helper()
	faults := accessFaults(t, f)
	for _, part := range parts {
		if !slices.ContainsFunc(faults, func(fault string) bool { return strings.Contains(fault, part) }) {
			t.Errorf("nothing names %q in %q", part, faults)
		}
	}
	if len(parts) == 0 && len(faults) > 0 {
		t.Errorf("faults %q", faults)
	}
}

// keepingAll runs a function and restores all rows of the database.
func keepingAll(t *testing.T, f *fixture.Fixture, a fixture.Attacker, do func()) {
	t.Helper()
	var names []string
	for _, tab := range fixture.Tables(t) {
		names = append(names, tab.Name)
		a.Exec(t, `create table every_`+tab.Name+` as select * from `+tab.Name)
	}
	do()
	for _, name := range names {
		a.Exec(t, `delete from `+name)
		a.Exec(t, `insert into `+name+` select * from every_`+name)
		a.Exec(t, `drop table every_`+name)
	}
}

// logIn makes a token of the fixture's user.
func logIn(t *testing.T, f *fixture.Fixture, n byte) [32]byte {
	t.Helper()
	user, err := f.UserByEmail(t.Context(), f.User.Email)
	kit.Must(t, err)
	kit.Must(t, fixture.Second(identity.CreateToken(t.Context(), f.DB, user, identity.NewToken{Digest: distinct(n),
		ExpiresAt: f.Clock.Now().Add(24 * time.Hour), Client: identity.ClientConsole, Means: identity.LoginByPassword})))
	return distinct(n)
}

// distinct returns a digest whose session has an identifier of its own.
func distinct(n byte) [32]byte { return [32]byte{0: n, 31: n} }

// TestOldRowsAreNamed checks that a verification names a row that somebody has put back as it was once, with the seal
// that was right then, although a later act has changed or ended it.
func TestOldRowsAreNamed(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, user, account := t.Context(), f.User.ID, f.Account.ID
		colleague, err := identity.AddUser(ctx, f.DB, account, identity.NewUser{Email: "colleague@example.com",
			Role: access.Owner, PasswordHash: "$"})
		kit.Must(t, err)
		o := f.Enrolled(t, 1)
		key, err := identity.CreateAPIKey(ctx, f.Tenant, identity.NewAPIKey{Key: secret.New("qk_sandbox_" +
			strings.Repeat("0", 49)), Name: "old", Scopes: []access.Scope{access.ScopeRead}})
		kit.Must(t, err)
		kit.Must(t, identity.BeginOperatorSession(ctx, f.DB, o, identity.OperatorProof{Step: 2}, fixture.Digest(95),
			f.Clock.Now().Add(24*time.Hour)))
		operating, err := identity.AuthenticateOperator(ctx, f.DB, fixture.Digest(95))
		kit.Must(t, err)
		logIn(t, f, 60)
		f.Clock.Advance(time.Second)
		logIn(t, f, 1)
		f.Enroll(t, f, f.StartSession(ctx, t, f.User, 2, ""), fixture.Digest(7))
		wantFaults(t, f)
		a := f.Attacker(t)
		for _, old := range []struct {
			table string
			act   func() error
			named string
		}{
			{"users", func() error { return identity.SetRole(ctx, f.DB, account, colleague, access.Viewer) },
				`the audit log says "viewer"`},
			{"users", func() error { return identity.DisableUser(ctx, f.DB, account, colleague, false) },
				"it was disabled"},
			{"users", func() error { return identity.RemoveUserOf(ctx, f.DB, account, colleague) }, "it was disabled"},
			{"users", func() error { return identity.ResetPassword(ctx, f.DB, account, colleague, "$new") },
				"the password was changed later"},
			{"api_keys", func() error { return fixture.Second(identity.RevokeAPIKey(ctx, f.Tenant, key.ID)) },
				"it was disabled, revoked"},
			{"tokens", func() error { return identity.RevokeToken(ctx, f.DB, distinct(1)) }, "the session was ended"},
			{"tokens", func() error { return identity.ResetPassword(ctx, f.DB, account, user, "$new") },
				"the session was ended"},
			{"operator_sessions", func() error { return identity.EndOperatorSession(ctx, f.DB, operating) },
				"the session was ended"},
			{"operator_sessions", func() error {
				return fixture.Second(identity.DisableOperator(ctx, f.DB, fixture.OperatorEmail))
			},
				"the session was ended"},
			{"operators", func() error {
				return fixture.Second(identity.DisableOperator(ctx, f.DB, fixture.OperatorEmail))
			}, "it was disabled"},
			{"operators", func() error {
				return fixture.Second(identity.ResetOperator(ctx, f.DB, fixture.OperatorEmail,
					identity.Enrolment{Digest: fixture.Digest(81), ExpiresAt: f.Clock.Now()}))
			}, "it did not enrol then"},
			{"accounts", func() error { return identity.SetLoginPolicyOf(ctx, f.DB, account, base.LoginSecondFactor) },
				`the audit log says "second_factor"`},
			{"accounts", func() error { return identity.SuspendAccount(ctx, f.DB, account) }, "suspended"},
			{"tenants", func() error { return fixture.Second(invoices.ResetTenant(ctx, f.DB, account)) },
				"a company was removed"},
		} {
			keepingAll(t, f, a, func() {
				f.Clock.Advance(time.Minute)
				a.Exec(t, `create table kept as select * from `+old.table)
				kit.Must(t, old.act())
				wantFaults(t, f)
				a.Exec(t, `delete from `+old.table)
				a.Do(t, `insert into `+old.table+` select * from kept`)
				a.Exec(t, `drop table kept`)
				wantFaults(t, f, old.named)
			})
		}
		keepingAll(t, f, a, func() {
			a.Do(t, `delete from second_factors`)
			wantFaults(t, f, "second_factors "+user.String()+": it is gone")
		})
		wantFaults(t, f)
	})
}

// TestExchangedCompanies checks that companies whose tenants were exchanged get nothing of each other, with submissions
// and without, and that a verification names them; likewise if one is emptied.
func TestExchangedCompanies(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		other := f.NewCompany(t, "other@example.com")
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("one", false))
		token := logIn(t, f, 60)
		a := f.Attacker(t)
		exchange := func() {
			a.Do(t, `update tenants set account_id = $2 where id = $1`, f.Tenant.ID(), base.ID{1})
			a.Do(t, `update tenants set account_id = $2 where id = $1`, other.Tenant.ID(), f.Account.ID)
			a.Do(t, `update tenants set account_id = $2 where id = $1`, f.Tenant.ID(), other.Account.ID)
		}
		refused := func() {
			t.Helper()
			fixture.WantErr(t, fixture.Second(f.Authenticate(t.Context(), token)), base.ErrNotFound)
			for _, account := range []base.ID{f.Account.ID, other.Account.ID} {
				fixture.WantErr(t, fixture.Second(f.DB.Tenant(t.Context(), account)), base.ErrNotFound)
			}
			wantFaults(t, f, "who may act, tenants "+f.Tenant.ID().String(), "who may act, tenants "+other.Tenant.ID().String())
		}
		keepingAll(t, f, a, func() {
			exchange()
			refused()
		})
		keepingAll(t, f, a, func() {
			exchange()
			a.Do(t, `update submissions set account_id = $2 where tenant_id = $1`, f.Tenant.ID(), other.Account.ID)
			refused()
		})
		keepingAll(t, f, a, func() {
			for _, statement := range []string{`delete from states where tenant_id = $1`,
				`delete from evidence where tenant_id = $1`, `delete from submissions where tenant_id = $1`,
				`update tenants set events = 0, events_seal = null where id = $1`} {
				a.Do(t, statement, f.Tenant.ID())
			}
			wantFaults(t, f, "the number of its events is not what was sealed")
		})
		wantFaults(t, f)
	})
}

// TestChangesSealNothingForged checks that no act on a row that somebody else has changed makes it valid.
func TestChangesSealNothingForged(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, account, user := t.Context(), f.Account.ID, f.User.ID
		o := f.Enrolled(t, 1)
		token := logIn(t, f, 60)
		session, err := f.Authenticate(ctx, token)
		kit.Must(t, err)
		a := f.Attacker(t)
		for _, forged := range []struct {
			statement string
			acts      []func() error
		}{
			{`update users set disabled_at = disabled_at, role = 'viewer'`, []func() error{
				func() error { return identity.SetRole(ctx, f.DB, account, user, access.Accountant) },
				func() error { return identity.DisableUser(ctx, f.DB, account, user, true) },
				func() error { return identity.ResetPassword(ctx, f.DB, account, user, "$new") },
				func() error { return identity.ChangePassword(ctx, f.DB, session, f.User.PasswordHash, "$new") },
				func() error { return identity.Rehash(ctx, f.DB, f.User, "$new") },
				func() error {
					return fixture.Second(identity.CreateToken(ctx, f.DB, f.User,
						identity.NewToken{Digest: fixture.Digest(70), ExpiresAt: f.Clock.Now().Add(time.Hour),
							Means: identity.LoginByPassword}))
				},
			}},
			{`update accounts set status = 'active', login_policy = 'second_factor'`, []func() error{
				func() error { return identity.RenameAccount(ctx, f.DB, account, "Forged") },
				func() error { return identity.SuspendAccount(ctx, f.DB, account) },
				func() error { return identity.SetLoginPolicyOf(ctx, f.DB, account, base.LoginAny) },
				func() error {
					return fixture.Second(identity.AddUser(ctx, f.DB, account, identity.NewUser{Email: "x@example.com",
						Role: access.Owner, PasswordHash: "$"}))
				},
			}},
			{`update operators set password_hash = '$forged'`, []func() error{
				func() error { return fixture.Second(identity.DisableOperator(ctx, f.DB, o.Email)) },
				func() error {
					return fixture.Second(identity.ResetOperator(ctx, f.DB, o.Email, identity.Enrolment{}))
				},
				func() error {
					o.PasswordHash = "$forged"
					return identity.BeginOperatorSession(ctx, f.DB, o, identity.OperatorProof{Step: 9}, fixture.Digest(96),
						f.Clock.Now().Add(time.Hour))
				},
			}},
			{`update tenants set created_at = created_at - 1`, []func() error{
				func() error { return fixture.Second(invoices.ResetTenant(ctx, f.DB, account)) },
			}},
		} {
			keepingAll(t, f, a, func() {
				a.Do(t, forged.statement)
				for n, act := range forged.acts {
					if err := act(); err == nil {
						t.Errorf("%s: act %d succeeds", forged.statement, n)
					}
				}
				wantFaults(t, f, "it was changed outside of the service")
			})
		}
		wantFaults(t, f)
	})
}

// TestAcceptedRowsAct checks that an administrator with the keys can accept rows that an earlier release has written,
// and that this is audited.
func TestAcceptedRowsAct(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		token := logIn(t, f, 60)
		f.Exec(t, `update users set role = 'accountant'`)
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, token)), base.ErrNotFound)
		accepted, err := ledger.AcceptAccess(ctx, f.DB)
		kit.Must(t, err)
		fixture.WantEqual(t, "accepted", accepted, map[string]int64{"users": 1})
		kit.Must(t, fixture.Second(f.Authenticate(ctx, token)))
		entries, err := f.Audit(ctx, base.AuditFilter{Act: "access.seal", Limit: 10})
		kit.Must(t, err)
		if len(entries) != 1 || entries[0].Details != `{"users":"1"}` {
			t.Errorf("audited %+v", entries)
		}
		wantFaults(t, f)
	})
}

// TestAccessFollowsTheKeys checks that rows act before, during and after a rotation of the keys, and that the old key
// can be retired.
func TestAccessFollowsTheKeys(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, old := t.Context(), f.Options.Keys.PrimaryID()
		token := logIn(t, f, 60)
		again := *f.Store
		again.Options.Keys = f.Rotated(t)
		fresh := again.Again(t)
		kit.Must(t, fixture.Second(fresh.Authenticate(ctx, token)))
		var used *ledger.KeyInUseError
		if _, err := ledger.RetireKey(ctx, fresh, old); !errors.As(err, &used) || !slices.Contains(used.Values,
			"seal of tokens") ||
			!slices.Contains(used.Values, "set of companies") {
			t.Errorf("retired: %v", err)
		}
		kit.Must(t, fixture.Second(ledger.Reseal(ctx, fresh)))
		kit.Must(t, fixture.Second(ledger.RetireKey(ctx, fresh, old)))
		kit.Must(t, fixture.Second(fresh.Authenticate(ctx, token)))
		kit.Must(t, fixture.Second(identity.CreateAccount(ctx, fresh, "After",
			identity.NewUser{Email: "after@example.com", PasswordHash: "$"})))
		wantFaultsOf(t, f, fresh)
	})
}

// TestVerifyBesideAccess checks that a verification finds no fault while people log in and out and change.
func TestVerifyBesideAccess(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		var acting sync.WaitGroup
		defer acting.Wait()
		defer cancel()
		acting.Go(func() {
			for n := uint32(1); ctx.Err() == nil; n++ {
				f.Clock.Advance(time.Millisecond)
				token := fixture.Digest(1)
				binary.BigEndian.PutUint32(token[:], n)
				err := errors.Join(
					fixture.Second(identity.CreateToken(t.Context(), f.DB, f.User, identity.NewToken{Digest: token,
						ExpiresAt: f.Clock.Now().Add(time.Hour), Means: identity.LoginByPassword})),
					identity.RevokeToken(t.Context(), f.DB, token), identity.DisableUser(t.Context(), f.DB,
						f.Account.ID, f.User.ID, true),
					identity.EnableUser(t.Context(), f.DB, f.Account.ID, f.User.ID),
					identity.SetLoginPolicyOf(t.Context(), f.DB, f.Account.ID, base.LoginSecondFactor),
					identity.SetLoginPolicyOf(t.Context(), f.DB, f.Account.ID, base.LoginAny),
					fixture.Second(invoices.ResetTenant(t.Context(), f.DB, f.Account.ID)),
				)
				if err != nil {
					t.Error(err)
					return
				}
				f.Exec(t, `delete from tokens`)
			}
		})
		for range 10 {
			wantFaults(t, f)
		}
		cancel()
		acting.Wait()
		wantFaults(t, f)
	})
}

// TestKeysOfForgedNetworks checks that the networks of a key are those that were sealed, whatever the address of the
// caller.
func TestKeysOfForgedNetworks(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		text := secret.New("qk_sandbox_" + strings.Repeat("0", 49))
		_, err := identity.CreateAPIKey(t.Context(), f.Tenant, identity.NewAPIKey{Key: text, Name: "key",
			Scopes: []access.Scope{access.ScopeRead}, Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
		kit.Must(t, err)
		from := netip.MustParseAddr("192.0.2.1")
		kit.Must(t, fixture.Second(f.AuthenticateAPIKey(t.Context(), secret.Digest(text), from)))
		f.Exec(t, `update api_keys set networks = ''`)
		fixture.WantErr(t, fixture.Second(f.AuthenticateAPIKey(t.Context(), secret.Digest(text), from)), base.ErrNotFound)
	})
}

// TestForgedFactorsDoNotAct checks that pending logins, recovery codes and links of single sign-on that somebody else
// has written prove nothing.
func TestForgedFactorsDoNotAct(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		code := [32]byte{9}
		on := identity.SignOn{Issuer: "https://login.example", Subject: "person", Email: f.User.Email}
		token := identity.NewToken{Digest: distinct(70), ExpiresAt: f.Clock.Now().Add(time.Hour),
			Means: identity.LoginBySingleSignOn}
		_, _, err := identity.CreateSignOnToken(ctx, f.DB, on, token)
		kit.Must(t, err)
		f.Enroll(t, f, f.StartSession(ctx, t, f.User, 41, ""), [32]byte{8})
		o := f.Enrolled(t, 1)
		f.Exec(t,
			`insert into pending_logins (digest, account_id, user_id, means, expires_at) select $1, account_id, id, 'password', $2 from users`, code[:], f.Clock.Now().Add(time.Hour).UnixMicro())
		fixture.WantErr(t, fixture.Second(identity.FindPendingLogin(ctx, f.DB, code)), base.ErrNotFound)
		f.Exec(t, `insert into recovery_codes (account_id, user_id, digest) select account_id, id, $1 from users`, code[:])
		fixture.WantErr(t, f.WithFactor(t, 42, &identity.FactorProof{Recovery: code}), identity.ErrSecondFactor)
		kit.Must(t, f.WithFactor(t, 42, &identity.FactorProof{Recovery: [32]byte{8}}))
		f.Exec(t, `update recovery_codes set used_at = null where digest = $1`, bytesOf([32]byte{8}))
		fixture.WantErr(t, f.WithFactor(t, 43, &identity.FactorProof{Recovery: [32]byte{8}}), identity.ErrSecondFactor)
		f.Exec(t, `insert into operator_recovery_codes (operator_id, digest) select id, $1 from operators`, code[:])
		fixture.WantErr(t, identity.BeginOperatorSession(ctx, f.DB, o, identity.OperatorProof{Recovery: &code},
			distinct(71), f.Clock.Now().Add(time.Hour)), identity.ErrCodeUsed)
		f.Exec(t, `update sign_on_subjects set subject = 'forger'`)
		on.Subject, token.Digest = "forger", distinct(72)
		_, _, err = identity.CreateSignOnToken(ctx, f.DB, on, token)
		fixture.WantErr(t, err, identity.ErrOtherSubject)
		wantFaults(t, f, "pending_logins", "who may act, recovery_codes", "operator_recovery_codes", "sign_on_subjects")
	})
}

// TestRemovedRecordsAreRefused checks that nobody turns the seals off by making the database look older: without the
// records of the keys it does not open, and without the note in them that who may act is sealed no server opens it, and
// a verification names it.
func TestRemovedRecordsAreRefused(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var set []byte
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select value from sealed_sets`).Scan(&set))
		kit.Must(t, fixture.ForgetSealed(ctx, f.DB))
		f.Exec(t, `insert into sealed_sets (name, value) values ('tenants', $1)`, set)
		if db, err := ledger.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a server opens a database that looks as if nobody had sealed who may act")
			kit.Must(t, db.Close())
		}
		command := f.Options
		command.Schema = base.KeepSchema
		db, err := ledger.Open(ctx, f.Address, command)
		kit.Must(t, err)
		faults, err := proof.AccessFaults(ctx, db)
		kit.Must(t, errors.Join(err, db.Close()))
		if len(faults) != 1 || !strings.Contains(faults[0].Field, "sealing_keys") {
			t.Errorf("the faults are %v", faults)
		}
		f.Exec(t, `delete from sealing_keys`)
		f.Exec(t, `delete from settings where key = 'sealing_keys'`)
		for _, options := range []base.Options{f.Options, command} {
			if db, err := ledger.Open(ctx, f.Address, options); err == nil {
				t.Errorf("a database without the records of its keys opens with %v", options.Schema)
				kit.Must(t, db.Close())
			}
		}
	})
}
