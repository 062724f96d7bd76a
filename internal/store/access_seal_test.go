package store_test

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

// accessFaults returns the faults of a verification that say who may act, and fails for others.
func (f *fixture) accessFaults(t *testing.T) (faults []string) {
	t.Helper()
	found, err := f.VerifyEvidence(t.Context(), replay())
	kit.Must(t, err)
	for _, fault := range found.Faults {
		faults = append(faults, fault.Error())
	}
	return faults
}

func (f *fixture) wantFaults(t *testing.T, parts ...string) {
	t.Helper()
	faults := f.accessFaults(t)
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
func (f *fixture) keepingAll(t *testing.T, a attacker, do func()) {
	t.Helper()
	var names []string
	for _, tab := range tables(t) {
		names = append(names, tab.name)
		a.exec(t, `create table every_`+tab.name+` as select * from `+tab.name)
	}
	do()
	for _, name := range names {
		a.exec(t, `delete from `+name)
		a.exec(t, `insert into `+name+` select * from every_`+name)
		a.exec(t, `drop table every_`+name)
	}
}

// logIn makes a token of the fixture's user.
func (f *fixture) logIn(t *testing.T, n byte) [32]byte {
	t.Helper()
	user, err := f.UserByEmail(t.Context(), f.user.Email)
	kit.Must(t, err)
	kit.Must(t, second(f.CreateToken(t.Context(), user, store.NewToken{Digest: distinct(n),
		ExpiresAt: f.Clock.Now().Add(24 * time.Hour), Client: store.ClientConsole, Means: store.LoginByPassword})))
	return distinct(n)
}

// distinct returns a digest whose session has an identifier of its own.
func distinct(n byte) [32]byte { return [32]byte{0: n, 31: n} }

// TestOldRowsAreNamed checks that a verification names a row that somebody has put back as it was once, with the seal
// that was right then, although a later act has changed or ended it.
func TestOldRowsAreNamed(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx, user, account := t.Context(), f.user.ID, f.account.ID
		colleague, err := f.AddUser(ctx, account, store.NewUser{Email: "colleague@example.com", Role: access.Owner,
			PasswordHash: "$"})
		kit.Must(t, err)
		o := f.enrolled(t, 1)
		key, err := f.tenant.CreateAPIKey(ctx, store.NewAPIKey{Key: secret.New("qk_sandbox_" + strings.Repeat("0", 49)),
			Name: "old", Scopes: []access.Scope{access.ScopeRead}})
		kit.Must(t, err)
		kit.Must(t, f.BeginOperatorSession(ctx, o, store.OperatorProof{Step: 2}, digest(95), f.Clock.Now().Add(24*time.Hour)))
		operating, err := f.AuthenticateOperator(ctx, digest(95))
		kit.Must(t, err)
		f.logIn(t, 60)
		f.Clock.Advance(time.Second)
		f.logIn(t, 1)
		f.enroll(t, f, f.startSession(ctx, t, f.user, 2, ""), digest(7))
		f.wantFaults(t)
		a := f.attacker(t)
		for _, old := range []struct {
			table string
			act   func() error
			named string
		}{
			{"users", func() error { return f.SetRole(ctx, account, colleague, access.Viewer) }, `the audit log says "viewer"`},
			{"users", func() error { return f.DisableUser(ctx, account, colleague, false) }, "it was disabled"},
			{"users", func() error { return f.RemoveUser(ctx, account, colleague) }, "it was disabled"},
			{"users", func() error { return f.ResetPassword(ctx, account, colleague, "$new") },
				"the password was changed later"},
			{"api_keys", func() error { return second(f.tenant.RevokeAPIKey(ctx, key.ID)) }, "it was disabled, revoked"},
			{"tokens", func() error { return f.RevokeToken(ctx, distinct(1)) }, "the session was ended"},
			{"tokens", func() error { return f.ResetPassword(ctx, account, user, "$new") }, "the session was ended"},
			{"operator_sessions", func() error { return f.EndOperatorSession(ctx, operating) }, "the session was ended"},
			{"operator_sessions", func() error { return second(f.DisableOperator(ctx, operatorEmail)) },
				"the session was ended"},
			{"operators", func() error { return second(f.DisableOperator(ctx, operatorEmail)) }, "it was disabled"},
			{"operators", func() error {
				return second(f.ResetOperator(ctx, operatorEmail, store.Enrolment{Digest: digest(81), ExpiresAt: f.Clock.Now()}))
			}, "it did not enrol then"},
			{"accounts", func() error { return f.SetLoginPolicy(ctx, account, store.LoginSecondFactor) },
				`the audit log says "second_factor"`},
			{"accounts", func() error { return f.SuspendAccount(ctx, account) }, "suspended"},
			{"tenants", func() error { return second(f.ResetTenant(ctx, account)) }, "a company was removed"},
		} {
			f.keepingAll(t, a, func() {
				f.Clock.Advance(time.Minute)
				a.exec(t, `create table kept as select * from `+old.table)
				kit.Must(t, old.act())
				f.wantFaults(t)
				a.exec(t, `delete from `+old.table)
				a.do(t, `insert into `+old.table+` select * from kept`)
				a.exec(t, `drop table kept`)
				f.wantFaults(t, old.named)
			})
		}
		f.keepingAll(t, a, func() {
			a.do(t, `delete from second_factors`)
			f.wantFaults(t, "second_factors "+user.String()+": it is gone")
		})
		f.wantFaults(t)
	})
}

// TestExchangedCompanies checks that companies whose tenants were exchanged get nothing of each other, with submissions
// and without, and that a verification names them; likewise if one is emptied.
func TestExchangedCompanies(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		other := f.newCompany(t, "other@example.com")
		record(t, f.submit(t, "INV-1"), allFour("one", false))
		token := f.logIn(t, 60)
		a := f.attacker(t)
		exchange := func() {
			a.do(t, `update tenants set account_id = $2 where id = $1`, f.tenant.Key(), store.ID{1})
			a.do(t, `update tenants set account_id = $2 where id = $1`, other.tenant.Key(), f.account.ID)
			a.do(t, `update tenants set account_id = $2 where id = $1`, f.tenant.Key(), other.account.ID)
		}
		refused := func() {
			t.Helper()
			wantErr(t, second(f.Authenticate(t.Context(), token)), store.ErrNotFound)
			for _, account := range []store.ID{f.account.ID, other.account.ID} {
				wantErr(t, second(f.DB.Tenant(t.Context(), account)), store.ErrNotFound)
			}
			f.wantFaults(t, "who may act, tenants "+f.tenant.Key().String(), "who may act, tenants "+other.tenant.Key().String())
		}
		f.keepingAll(t, a, func() {
			exchange()
			refused()
		})
		f.keepingAll(t, a, func() {
			exchange()
			a.do(t, `update submissions set account_id = $2 where tenant_id = $1`, f.tenant.Key(), other.account.ID)
			refused()
		})
		f.keepingAll(t, a, func() {
			for _, statement := range []string{`delete from states where tenant_id = $1`,
				`delete from evidence where tenant_id = $1`, `delete from submissions where tenant_id = $1`,
				`update tenants set events = 0, events_seal = null where id = $1`} {
				a.do(t, statement, f.tenant.Key())
			}
			f.wantFaults(t, "the number of its events is not what was sealed")
		})
		f.wantFaults(t)
	})
}

// TestChangesSealNothingForged checks that no act on a row that somebody else has changed makes it valid.
func TestChangesSealNothingForged(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx, account, user := t.Context(), f.account.ID, f.user.ID
		o := f.enrolled(t, 1)
		token := f.logIn(t, 60)
		session, err := f.Authenticate(ctx, token)
		kit.Must(t, err)
		a := f.attacker(t)
		for _, forged := range []struct {
			statement string
			acts      []func() error
		}{
			{`update users set disabled_at = disabled_at, role = 'viewer'`, []func() error{
				func() error { return f.SetRole(ctx, account, user, access.Accountant) },
				func() error { return f.DisableUser(ctx, account, user, true) },
				func() error { return f.ResetPassword(ctx, account, user, "$new") },
				func() error { return f.ChangePassword(ctx, session, f.user.PasswordHash, "$new") },
				func() error { return f.Rehash(ctx, f.user, "$new") },
				func() error {
					return second(f.CreateToken(ctx, f.user,
						store.NewToken{Digest: digest(70), ExpiresAt: f.Clock.Now().Add(time.Hour), Means: store.LoginByPassword}))
				},
			}},
			{`update accounts set status = 'active', login_policy = 'second_factor'`, []func() error{
				func() error { return f.RenameAccount(ctx, account, "Forged") },
				func() error { return f.SuspendAccount(ctx, account) },
				func() error { return f.SetLoginPolicy(ctx, account, store.LoginAny) },
				func() error {
					return second(f.AddUser(ctx, account, store.NewUser{Email: "x@example.com", Role: access.Owner,
						PasswordHash: "$"}))
				},
			}},
			{`update operators set password_hash = '$forged'`, []func() error{
				func() error { return second(f.DisableOperator(ctx, o.Email)) },
				func() error { return second(f.ResetOperator(ctx, o.Email, store.Enrolment{})) },
				func() error {
					o.PasswordHash = "$forged"
					return f.BeginOperatorSession(ctx, o, store.OperatorProof{Step: 9}, digest(96), f.Clock.Now().Add(time.Hour))
				},
			}},
			{`update tenants set created_at = created_at - 1`, []func() error{
				func() error { return second(f.ResetTenant(ctx, account)) },
			}},
		} {
			f.keepingAll(t, a, func() {
				a.do(t, forged.statement)
				for n, act := range forged.acts {
					if err := act(); err == nil {
						t.Errorf("%s: act %d succeeds", forged.statement, n)
					}
				}
				f.wantFaults(t, "it was changed outside of the service")
			})
		}
		f.wantFaults(t)
	})
}

// execAny runs a statement that changes any number of rows.
func (f *fixture) execAny(t *testing.T, statement string) {
	t.Helper()
	_, err := f.raw.ExecContext(t.Context(), statement)
	kit.Must(t, err)
}

// unseal converts a database to the form of a release without seals of who may act.
func (f *fixture) unseal(t *testing.T) {
	t.Helper()
	decide, _ := store.SealedColumns()
	for table := range decide {
		f.execAny(t, `update `+table+` set seal = null`)
	}
	f.execAny(t, `delete from sealed_sets`)
	f.execAny(t, `update tenants set events_seal = null where events = 0`)
	id := f.Options.Keys.PrimaryID()
	check, err := f.Options.Keys.Seal([]byte{3}, secret.Binding{Table: "sealing_keys", Column: "check_value",
		Row: binary.BigEndian.AppendUint32(nil, id)})
	kit.Must(t, err)
	f.exec(t, `update sealing_keys set check_value = $1`, check)
}

// TestUpgradeSealsAccess checks that the rows of an older database get their seals once, when no older server runs any
// more, and that nobody without the keys can make it look like an older database again.
func TestUpgradeSealsAccess(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		token := f.logIn(t, 60)
		f.exec(t,
			`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens`, bytesOf(distinct(61)))
		const more = 1100
		for n := range more { // more than two batches
			of := digest(200)
			binary.BigEndian.PutUint16(of[:], uint16(n))
			f.exec(t,
				`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens where digest = $2`, of[:], token[:])
		}
		f.unseal(t)
		older := f.olderServer(t)
		beside := f.Again(t)
		if beside.AccessSealed() {
			t.Fatal("rows need seals while an older server writes them without")
		}
		for _, d := range [][32]byte{token, distinct(61)} {
			kit.Must(t, second(beside.Authenticate(ctx, d)))
		}
		kit.Must(t, second(beside.CreateAccount(ctx, "Meanwhile", store.NewUser{Email: "meanwhile@example.com",
			PasswordHash: "$"})))
		older()
		after := f.Again(t)
		if !after.AccessSealed() {
			t.Fatal("the rows are not sealed")
		}
		kit.Must(t, second(after.Authenticate(ctx, distinct(61))))
		if n := f.number(t, `select count(*) from tokens where seal is null`); n != 0 {
			t.Errorf("%d tokens have no seal", n)
		}
		entries, err := after.Audit(ctx, store.AuditFilter{Act: "access.seal", Limit: 10})
		kit.Must(t, err)
		if len(entries) != 1 || !strings.Contains(entries[0].Details, fmt.Sprintf(`"tokens":"%d"`, more+2)) {
			t.Errorf("audited %+v", entries)
		}
		f.Again(t)
		kit.Must(t, second(after.CreateAccount(ctx, "After", store.NewUser{Email: "after@example.com", PasswordHash: "$"})))
		kit.Must(t, beside.RefreshKeys(ctx))
		if !beside.AccessSealed() {
			t.Error("the other process does not know that the rows are sealed")
		}
		// The raw copies of the token have no login of their own, and share the instant of the first.
		f.wantFaultsOf(t, after)
		f.exec(t,
			`insert into tokens (digest, account_id, tenant_id, user_id, created_at, expires_at) select $1, account_id, tenant_id, user_id, created_at, expires_at from tokens where digest = $2`, bytesOf(distinct(62)), token[:])
		for _, db := range []*store.DB{after, beside} {
			wantErr(t, second(db.Authenticate(ctx, distinct(62))), store.ErrNotFound)
		}
		f.unseal(t)
		if db, err := store.Open(ctx, f.Address, f.Options); err == nil {
			kit.Must(t, db.Close())
			t.Error("a database whose seals were removed opens, as if it had never had any")
		}
		wantErr(t, second(after.Authenticate(ctx, distinct(61))), store.ErrNotFound)
	})
}

func bytesOf(digest [32]byte) []byte { return digest[:] }

func (f *fixture) wantFaultsOf(t *testing.T, db *store.DB) {
	t.Helper()
	found, err := db.VerifyEvidence(t.Context(), replay())
	kit.Must(t, err)
	if len(found.Faults) > 0 {
		t.Errorf("faults %v", found.Faults)
	}
}

// TestAcceptedRowsAct checks that an administrator with the keys can accept rows that an earlier release has written,
// and that this is audited.
func TestAcceptedRowsAct(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		token := f.logIn(t, 60)
		f.exec(t, `update users set role = 'accountant'`)
		wantErr(t, second(f.Authenticate(ctx, token)), store.ErrNotFound)
		accepted, err := f.AcceptAccess(ctx)
		kit.Must(t, err)
		wantEqual(t, "accepted", accepted, map[string]int64{"users": 1})
		kit.Must(t, second(f.Authenticate(ctx, token)))
		entries, err := f.Audit(ctx, store.AuditFilter{Act: "access.seal", Limit: 10})
		kit.Must(t, err)
		if len(entries) != 1 || entries[0].Details != `{"users":"1"}` {
			t.Errorf("audited %+v", entries)
		}
		f.wantFaults(t)
	})
}

// TestAccessFollowsTheKeys checks that rows act before, during and after a rotation of the keys, and that the old key
// can be retired.
func TestAccessFollowsTheKeys(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx, old := t.Context(), f.Options.Keys.PrimaryID()
		token := f.logIn(t, 60)
		again := *f.Store
		again.Options.Keys = f.Rotated(t)
		fresh := again.Again(t)
		kit.Must(t, second(fresh.Authenticate(ctx, token)))
		var used *store.KeyInUseError
		if _, err := fresh.RetireKey(ctx, old); !errors.As(err, &used) || !slices.Contains(used.Values, "seal of tokens") ||
			!slices.Contains(used.Values, "set of companies") {
			t.Errorf("retired: %v", err)
		}
		kit.Must(t, second(fresh.Reseal(ctx)))
		kit.Must(t, second(fresh.RetireKey(ctx, old)))
		kit.Must(t, second(fresh.Authenticate(ctx, token)))
		kit.Must(t, second(fresh.CreateAccount(ctx, "After", store.NewUser{Email: "after@example.com", PasswordHash: "$"})))
		f.wantFaultsOf(t, fresh)
	})
}

// TestVerifyBesideAccess checks that a verification finds no fault while people log in and out and change.
func TestVerifyBesideAccess(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx, cancel := context.WithCancel(t.Context())
		var acting sync.WaitGroup
		defer acting.Wait()
		defer cancel()
		acting.Go(func() {
			for n := uint32(1); ctx.Err() == nil; n++ {
				f.Clock.Advance(time.Millisecond)
				token := digest(1)
				binary.BigEndian.PutUint32(token[:], n)
				err := errors.Join(
					second(f.CreateToken(t.Context(), f.user, store.NewToken{Digest: token, ExpiresAt: f.Clock.Now().Add(time.Hour),
						Means: store.LoginByPassword})),
					f.RevokeToken(t.Context(), token), f.DisableUser(t.Context(), f.account.ID, f.user.ID, true),
					f.EnableUser(t.Context(), f.account.ID, f.user.ID),
					f.SetLoginPolicy(t.Context(), f.account.ID, store.LoginSecondFactor),
					f.SetLoginPolicy(t.Context(), f.account.ID, store.LoginAny),
					second(f.ResetTenant(t.Context(), f.account.ID)),
				)
				if err != nil {
					t.Error(err)
					return
				}
				f.exec(t, `delete from tokens`)
			}
		})
		for range 10 {
			f.wantFaults(t)
		}
		cancel()
		acting.Wait()
		f.wantFaults(t)
	})
}

// TestKeysOfForgedNetworks checks that the networks of a key are those that were sealed, whatever the address of the
// caller.
func TestKeysOfForgedNetworks(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		text := secret.New("qk_sandbox_" + strings.Repeat("0", 49))
		_, err := f.tenant.CreateAPIKey(t.Context(), store.NewAPIKey{Key: text, Name: "key",
			Scopes: []access.Scope{access.ScopeRead}, Networks: []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}})
		kit.Must(t, err)
		from := netip.MustParseAddr("192.0.2.1")
		kit.Must(t, second(f.AuthenticateAPIKey(t.Context(), secret.Digest(text), from)))
		f.exec(t, `update api_keys set networks = ''`)
		wantErr(t, second(f.AuthenticateAPIKey(t.Context(), secret.Digest(text), from)), store.ErrNotFound)
	})
}

// TestForgedFactorsDoNotAct checks that pending logins, recovery codes and links of single sign-on that somebody else
// has written prove nothing.
func TestForgedFactorsDoNotAct(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		code := [32]byte{9}
		on := store.SignOn{Issuer: "https://login.example", Subject: "person", Email: f.user.Email}
		token := store.NewToken{Digest: distinct(70), ExpiresAt: f.Clock.Now().Add(time.Hour),
			Means: store.LoginBySingleSignOn}
		_, _, err := f.CreateSignOnToken(ctx, on, token)
		kit.Must(t, err)
		f.enroll(t, f, f.startSession(ctx, t, f.user, 41, ""), [32]byte{8})
		o := f.enrolled(t, 1)
		f.exec(t,
			`insert into pending_logins (digest, account_id, user_id, means, expires_at) select $1, account_id, id, 'password', $2 from users`, code[:], f.Clock.Now().Add(time.Hour).UnixMicro())
		wantErr(t, second(f.PendingLogin(ctx, code)), store.ErrNotFound)
		f.exec(t, `insert into recovery_codes (account_id, user_id, digest) select account_id, id, $1 from users`, code[:])
		wantErr(t, f.withFactor(t, 42, &store.FactorProof{Recovery: code}), store.ErrSecondFactor)
		kit.Must(t, f.withFactor(t, 42, &store.FactorProof{Recovery: [32]byte{8}}))
		f.exec(t, `update recovery_codes set used_at = null where digest = $1`, bytesOf([32]byte{8}))
		wantErr(t, f.withFactor(t, 43, &store.FactorProof{Recovery: [32]byte{8}}), store.ErrSecondFactor)
		f.exec(t, `insert into operator_recovery_codes (operator_id, digest) select id, $1 from operators`, code[:])
		wantErr(t, f.BeginOperatorSession(ctx, o, store.OperatorProof{Recovery: &code}, distinct(71),
			f.Clock.Now().Add(time.Hour)), store.ErrCodeUsed)
		f.exec(t, `update sign_on_subjects set subject = 'forger'`)
		on.Subject, token.Digest = "forger", distinct(72)
		_, _, err = f.CreateSignOnToken(ctx, on, token)
		wantErr(t, err, store.ErrOtherSubject)
		f.wantFaults(t, "pending_logins", "who may act, recovery_codes", "operator_recovery_codes", "sign_on_subjects")
	})
}

// TestRemovedRecordsAreRefused checks that nobody turns the seals off by making the database look older: without the
// records of the keys it does not open, and without the note in them that who may act is sealed no server opens it, and
// a verification names it.
func TestRemovedRecordsAreRefused(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var set []byte
		kit.Must(t, f.raw.QueryRowContext(ctx, `select value from sealed_sets`).Scan(&set))
		kit.Must(t, store.ForgetSealed(ctx, f.DB))
		f.exec(t, `insert into sealed_sets (name, value) values ('tenants', $1)`, set)
		if db, err := store.Open(ctx, f.Address, f.Options); err == nil {
			t.Error("a server opens a database that looks as if nobody had sealed who may act")
			kit.Must(t, db.Close())
		}
		command := f.Options
		command.Schema = store.KeepSchema
		db, err := store.Open(ctx, f.Address, command)
		kit.Must(t, err)
		faults, err := db.AccessFaults(ctx)
		kit.Must(t, errors.Join(err, db.Close()))
		if len(faults) != 1 || !strings.Contains(faults[0].Field, "sealing_keys") {
			t.Errorf("the faults are %v", faults)
		}
		f.exec(t, `delete from sealing_keys`)
		f.exec(t, `delete from settings where key = 'sealing_keys'`)
		for _, options := range []store.Options{f.Options, command} {
			if db, err := store.Open(ctx, f.Address, options); err == nil {
				t.Errorf("a database without the records of its keys opens with %v", options.Schema)
				kit.Must(t, db.Close())
			}
		}
	})
}
