package identity_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestEnrolment checks that a link makes one operator able to log in, once and until it expires, is replaced or
// removed.
func TestEnrolment(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		link := func(n byte) identity.Enrolment {
			return identity.Enrolment{Digest: fixture.Digest(n), ExpiresAt: f.Clock.Now().Add(72 * time.Hour)}
		}
		wantUsable := func(n byte, usable bool) {
			t.Helper()
			var want error = base.ErrNotFound
			if usable {
				want = nil
			}
			fixture.WantErr(t, fixture.Second(identity.EnrollingOperator(ctx, f.DB, fixture.Digest(n))), want)
			if !usable {
				fixture.WantErr(t, fixture.Second(identity.EnrolOperator(ctx, f.DB, fixture.Digest(n),
					fixture.Factors(7))), want)
			}
		}
		added, err := identity.AddOperator(ctx, f.DB, fixture.OperatorEmail, link(80))
		kit.Must(t, err)
		fixture.WantErr(t, fixture.Second(identity.AddOperator(ctx, f.DB, fixture.OperatorEmail, link(81))),
			base.ErrExists)
		wantUsable(81, false)
		wantUsable(80, true)
		enrolled, err := identity.EnrolOperator(ctx, f.DB, fixture.Digest(80), fixture.Factors(7))
		kit.Must(t, err)
		if enrolled.ID != added.ID || enrolled.PasswordHash != "$op" || enrolled.TOTPStep != 7 ||
			enrolled.RecoveryCodes != 2 || enrolled.EnrolledAt == nil || enrolled.LinkExpiresAt != nil {
			t.Errorf("enrolled %+v", enrolled)
		}
		if shared, err := identity.OperatorTOTP(f.DB, enrolled); err != nil || shared.Reveal() != "SHARED" {
			t.Errorf("the secret of the authenticator: %v", err)
		}
		wantUsable(80, false)

		reset, err := identity.ResetOperator(ctx, f.DB, fixture.OperatorEmail, link(82))
		kit.Must(t, err)
		if reset.PasswordHash != "" || reset.RecoveryCodes != 0 || reset.EnrolledAt != nil || reset.LinkExpiresAt == nil {
			t.Errorf("reset %+v", reset)
		}
		if shared, err := identity.OperatorTOTP(f.DB, reset); err != nil || !shared.IsZero() {
			t.Errorf("the reset operator has an authenticator, %v", err)
		}
		kit.Must(t, fixture.Second(identity.ResetOperator(ctx, f.DB, fixture.OperatorEmail, link(83))))
		wantUsable(82, false)
		f.Clock.Advance(72*time.Hour - time.Microsecond)
		wantUsable(83, true)
		f.Clock.Advance(time.Microsecond)
		wantUsable(83, false)

		kit.Must(t, fixture.Second(identity.ResetOperator(ctx, f.DB, fixture.OperatorEmail, link(84))))
		for range 2 { // the second one changes nothing
			disabled, err := identity.DisableOperator(ctx, f.DB, fixture.OperatorEmail)
			if err != nil || disabled.DisabledAt == nil {
				t.Errorf("disabled %+v, %v", disabled, err)
			}
		}
		wantUsable(84, false)
		fixture.WantErr(t, fixture.Second(identity.DisableOperator(ctx, f.DB, "nobody@owner.example")),
			base.ErrNotFound)
		fixture.WantErr(t, fixture.Second(identity.ResetOperator(ctx, f.DB, "nobody@owner.example", link(85))),
			base.ErrNotFound)
		all, err := identity.Operators(ctx, f.DB)
		kit.Must(t, err)
		if len(all) != 1 || all[0].ID != added.ID {
			t.Errorf("operators %+v", all)
		}
		wantOperatorActs(t, f, "operator.add", "operator.enrol", "operator.reset", "operator.reset", "operator.reset",
			"operator.disable")
	})
}

// wantOperatorActs checks the acts about operators, and that each belongs to no account.
func wantOperatorActs(t *testing.T, f *fixture.Fixture, want ...string) {
	t.Helper()
	entries, err := f.Audit(t.Context(), base.AuditFilter{Act: "operator", Limit: 100})
	kit.Must(t, err)
	var acts []string
	for _, e := range entries {
		if acts = append(acts, e.Act); e.Account != nil {
			t.Errorf("%s belongs to an account", e.Act)
		}
	}
	fixture.WantEqual(t, "acts", acts, want)
}

// TestOperatorSession checks when a session of an operator begins and ends, and that no code works twice.
func TestOperatorSession(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		o := f.Enrolled(t, 7)
		begin := func(n byte, factor identity.OperatorProof) error {
			return identity.BeginOperatorSession(ctx, f.DB, o, factor, fixture.Digest(n), f.Clock.Now().Add(8*time.Hour))
		}
		live := func(n byte) bool {
			t.Helper()
			s, err := identity.AuthenticateOperator(ctx, f.DB, fixture.Digest(n))
			if err == nil && (s.Operator != o.ID || s.Email != fixture.OperatorEmail || s.Digest != fixture.Digest(n)) {
				t.Errorf("session %+v", s)
			}
			if err != nil {
				fixture.WantErr(t, err, base.ErrNotFound)
			}
			return err == nil
		}
		recovery := fixture.Digest(90)
		fixture.WantErr(t, begin(1, identity.OperatorProof{Step: 7}), identity.ErrCodeUsed)
		kit.Must(t, begin(1, identity.OperatorProof{Step: 8}))
		fixture.WantErr(t, begin(2, identity.OperatorProof{Step: 8}), identity.ErrCodeUsed)
		kit.Must(t, begin(2, identity.OperatorProof{Recovery: &recovery}))
		fixture.WantErr(t, begin(3, identity.OperatorProof{Recovery: &recovery}), identity.ErrCodeUsed)
		if !live(1) || !live(2) || live(3) {
			t.Error("the sessions are not those of the codes")
		}
		fixture.WantErr(t, fixture.Second(f.Authenticate(ctx, fixture.Digest(1))),
			base.ErrNotFound) // it is no token of a user

		f.Clock.Advance(29 * time.Minute)
		if !live(1) { // it is used
			t.Error("a session ended early")
		}
		f.Clock.Advance(2 * time.Minute)
		if !live(1) || live(2) {
			t.Error("only the session that was not used for half an hour ends")
		}
		for range 16 * 8 { // half an hour at most between two uses
			f.Clock.Advance(225 * time.Second)
			if !live(1) {
				break
			}
		}
		if live(1) {
			t.Error("a session is alive after eight hours")
		}

		kit.Must(t, begin(4, identity.OperatorProof{Step: 9}))
		s, err := identity.AuthenticateOperator(ctx, f.DB, fixture.Digest(4))
		kit.Must(t, err)
		for range 2 {
			kit.Must(t, identity.EndOperatorSession(ctx, f.DB, s))
		}
		kit.Must(t, begin(5, identity.OperatorProof{Step: 10}))
		stale := o
		stale.PasswordHash = "$older"
		fixture.WantErr(t, identity.BeginOperatorSession(ctx, f.DB, stale, identity.OperatorProof{Step: 11},
			fixture.Digest(6), f.Clock.Now().Add(time.Hour)), base.ErrNotFound)
		kit.Must(t, fixture.Second(identity.DisableOperator(ctx, f.DB, fixture.OperatorEmail)))
		fixture.WantErr(t, begin(6, identity.OperatorProof{Step: 11}), base.ErrNotFound)
		if live(4) || live(5) || live(6) {
			t.Error("a session is alive after it was ended, or its operator disabled")
		}
		wantOperatorActs(t, f, "operator.add", "operator.enrol", "operator.log-in", "operator.log-in", "operator.log-in",
			"operator.log-out", "operator.log-in", "operator.disable")
	})
}

// TestCodeWorksOnce checks that of many logins with one code, on several replicas, one succeeds.
func TestCodeWorksOnce(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		o := f.Enrolled(t, 7)
		stores := []*base.DB{f.DB}
		if !f.SingleServer() {
			stores = append(stores, f.Again(t))
		}
		recovery := fixture.Digest(91)
		for name, factor := range map[string]identity.OperatorProof{"authenticator": {Step: 8},
			"recovery": {Recovery: &recovery}} {
			var running sync.WaitGroup
			var logins atomic.Int64
			for n := range byte(8) {
				running.Go(func() {
					of := fixture.Digest(100 + n)
					of[31] = byte(len(name))
					if identity.BeginOperatorSession(context.Background(), stores[int(n)%len(stores)], o, factor,
						of, f.Clock.Now().Add(time.Hour)) == nil {
						logins.Add(1)
					}
				})
			}
			if running.Wait(); logins.Load() != 1 {
				t.Errorf("%s: %d logins with one code", name, logins.Load())
			}
		}
	})
}
