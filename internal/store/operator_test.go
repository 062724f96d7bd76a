package store_test

import (
	"context"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/test/kit"
)

const operatorEmail = "op@owner.example"

func factors(step int64) store.OperatorFactors {
	return store.OperatorFactors{PasswordHash: "$op", TOTP: secret.New("SHARED"), Step: step,
		Recovery: [][32]byte{digest(90), digest(91)}}
}

// enrolled adds an operator, who has enrolled with a code of the given step.
func (f *fixture) enrolled(t *testing.T, step int64) store.Operator {
	t.Helper()
	kit.Must(t, second(f.AddOperator(t.Context(), operatorEmail,
		store.Enrolment{Digest: digest(80), ExpiresAt: f.Clock.Now().Add(time.Hour)})))
	o, err := f.EnrolOperator(t.Context(), digest(80), factors(step))
	kit.Must(t, err)
	return o
}

// TestEnrolment checks that a link makes one operator able to log in, once and until it expires, is replaced or
// removed.
func TestEnrolment(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		link := func(n byte) store.Enrolment {
			return store.Enrolment{Digest: digest(n), ExpiresAt: f.Clock.Now().Add(72 * time.Hour)}
		}
		wantUsable := func(n byte, usable bool) {
			t.Helper()
			var want error = store.ErrNotFound
			if usable {
				want = nil
			}
			wantErr(t, second(f.EnrollingOperator(ctx, digest(n))), want)
			if !usable {
				wantErr(t, second(f.EnrolOperator(ctx, digest(n), factors(7))), want)
			}
		}
		added, err := f.AddOperator(ctx, operatorEmail, link(80))
		kit.Must(t, err)
		wantErr(t, second(f.AddOperator(ctx, operatorEmail, link(81))), store.ErrExists)
		wantUsable(81, false)
		wantUsable(80, true)
		enrolled, err := f.EnrolOperator(ctx, digest(80), factors(7))
		kit.Must(t, err)
		if enrolled.ID != added.ID || enrolled.PasswordHash != "$op" || enrolled.TOTPStep != 7 ||
			enrolled.RecoveryCodes != 2 || enrolled.EnrolledAt == nil || enrolled.LinkExpiresAt != nil {
			t.Errorf("enrolled %+v", enrolled)
		}
		if shared, err := f.OperatorTOTP(enrolled); err != nil || shared.Reveal() != "SHARED" {
			t.Errorf("the secret of the authenticator: %v", err)
		}
		wantUsable(80, false)

		reset, err := f.ResetOperator(ctx, operatorEmail, link(82))
		kit.Must(t, err)
		if reset.PasswordHash != "" || reset.RecoveryCodes != 0 || reset.EnrolledAt != nil || reset.LinkExpiresAt == nil {
			t.Errorf("reset %+v", reset)
		}
		if shared, err := f.OperatorTOTP(reset); err != nil || !shared.IsZero() {
			t.Errorf("the reset operator has an authenticator, %v", err)
		}
		kit.Must(t, second(f.ResetOperator(ctx, operatorEmail, link(83))))
		wantUsable(82, false)
		f.Clock.Advance(72*time.Hour - time.Microsecond)
		wantUsable(83, true)
		f.Clock.Advance(time.Microsecond)
		wantUsable(83, false)

		kit.Must(t, second(f.ResetOperator(ctx, operatorEmail, link(84))))
		for range 2 { // the second one changes nothing
			disabled, err := f.DisableOperator(ctx, operatorEmail)
			if err != nil || disabled.DisabledAt == nil {
				t.Errorf("disabled %+v, %v", disabled, err)
			}
		}
		wantUsable(84, false)
		wantErr(t, second(f.DisableOperator(ctx, "nobody@owner.example")), store.ErrNotFound)
		wantErr(t, second(f.ResetOperator(ctx, "nobody@owner.example", link(85))), store.ErrNotFound)
		all, err := f.Operators(ctx)
		kit.Must(t, err)
		if len(all) != 1 || all[0].ID != added.ID {
			t.Errorf("operators %+v", all)
		}
		wantOperatorActs(t, f, "operator.add", "operator.enrol", "operator.reset", "operator.reset", "operator.reset",
			"operator.disable")
	})
}

// wantOperatorActs checks the acts about operators, and that each belongs to no account.
func wantOperatorActs(t *testing.T, f *fixture, want ...string) {
	t.Helper()
	entries, err := f.Audit(t.Context(), store.AuditFilter{Act: "operator", Limit: 100})
	kit.Must(t, err)
	var acts []string
	for _, e := range entries {
		if acts = append(acts, e.Act); e.Account != nil {
			t.Errorf("%s belongs to an account", e.Act)
		}
	}
	wantEqual(t, "acts", acts, want)
}

// TestOperatorSession checks when a session of an operator begins and ends, and that no code works twice.
func TestOperatorSession(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		o := f.enrolled(t, 7)
		begin := func(n byte, factor store.OperatorProof) error {
			return f.BeginOperatorSession(ctx, o, factor, digest(n), f.Clock.Now().Add(8*time.Hour))
		}
		live := func(n byte) bool {
			t.Helper()
			s, err := f.AuthenticateOperator(ctx, digest(n))
			if err == nil && (s.Operator != o.ID || s.Email != operatorEmail || s.Digest != digest(n)) {
				t.Errorf("session %+v", s)
			}
			if err != nil {
				wantErr(t, err, store.ErrNotFound)
			}
			return err == nil
		}
		recovery := digest(90)
		wantErr(t, begin(1, store.OperatorProof{Step: 7}), store.ErrCodeUsed)
		kit.Must(t, begin(1, store.OperatorProof{Step: 8}))
		wantErr(t, begin(2, store.OperatorProof{Step: 8}), store.ErrCodeUsed)
		kit.Must(t, begin(2, store.OperatorProof{Recovery: &recovery}))
		wantErr(t, begin(3, store.OperatorProof{Recovery: &recovery}), store.ErrCodeUsed)
		if !live(1) || !live(2) || live(3) {
			t.Error("the sessions are not those of the codes")
		}
		wantErr(t, second(f.Authenticate(ctx, digest(1))), store.ErrNotFound) // it is no token of a user

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

		kit.Must(t, begin(4, store.OperatorProof{Step: 9}))
		s, err := f.AuthenticateOperator(ctx, digest(4))
		kit.Must(t, err)
		for range 2 {
			kit.Must(t, f.EndOperatorSession(ctx, s))
		}
		kit.Must(t, begin(5, store.OperatorProof{Step: 10}))
		stale := o
		stale.PasswordHash = "$older"
		wantErr(t, f.BeginOperatorSession(ctx, stale, store.OperatorProof{Step: 11}, digest(6), f.Clock.Now().Add(time.Hour)),
			store.ErrNotFound)
		kit.Must(t, second(f.DisableOperator(ctx, operatorEmail)))
		wantErr(t, begin(6, store.OperatorProof{Step: 11}), store.ErrNotFound)
		if live(4) || live(5) || live(6) {
			t.Error("a session is alive after it was ended, or its operator disabled")
		}
		wantOperatorActs(t, f, "operator.add", "operator.enrol", "operator.log-in", "operator.log-in", "operator.log-in",
			"operator.log-out", "operator.log-in", "operator.disable")
	})
}

// TestCodeWorksOnce checks that of many logins with one code, on several replicas, one succeeds.
func TestCodeWorksOnce(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		o := f.enrolled(t, 7)
		stores := []*store.DB{f.DB}
		if !f.SingleServer() {
			stores = append(stores, f.Again(t))
		}
		recovery := digest(91)
		for name, factor := range map[string]store.OperatorProof{"authenticator": {Step: 8},
			"recovery": {Recovery: &recovery}} {
			var running sync.WaitGroup
			var logins atomic.Int64
			for n := range byte(8) {
				running.Go(func() {
					of := digest(100 + n)
					of[31] = byte(len(name))
					if stores[int(n)%len(stores)].BeginOperatorSession(context.Background(), o, factor,
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
