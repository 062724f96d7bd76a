package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/ledger/identity"
	"quittance/test/kit"
)

// counted makes the hasher count the passwords that it gets, and makes them cheap: every comparison fails.
func counted(h *Hasher) *atomic.Int64 {
	var hashes atomic.Int64
	h.derive = func(_ Cost, _ string, _ []byte, length uint32) []byte {
		hashes.Add(1)
		return make([]byte, length)
	}
	return &hashes
}

// TestBurstOfLogins checks that of any number of concurrent logins for one address from different sources, at most as
// many passwords as the limit allows are compared.
func TestBurstOfLogins(t *testing.T) {
	s, _, _ := newService(t)
	hashes := counted(s.Hasher)
	var wrong, refused atomic.Int64
	var all sync.WaitGroup
	for n := range 200 {
		all.Go(func() {
			_, _, err := s.Login(t.Context(), fmt.Sprintf("192.0.2.%d", n), Credentials{Email: email, Password: "wrong"})
			switch {
			case limited(err):
				refused.Add(1)
			case errors.Is(err, ErrInvalidCredentials):
				wrong.Add(1)
			case !errors.Is(err, ErrBusy):
				t.Error(err)
			}
		})
	}
	all.Wait()
	if hashes.Load() > failureRate || wrong.Load() != hashes.Load() || refused.Load() == 0 {
		t.Errorf("%d passwords were compared, %d answered, %d refused: want at most %d", hashes.Load(), wrong.Load(),
			refused.Load(), failureRate)
	}
}

// TestBurstOfChanges checks the same for concurrent changes of a password and the limit of their source.
func TestBurstOfChanges(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	wantUsed(t, db, 1, "login", home, email)
	hashes := counted(s.Hasher)
	var wrong atomic.Int64
	var all sync.WaitGroup
	for range 400 {
		all.Go(func() {
			_, err := s.ChangePassword(t.Context(), session, home, "wrong", chosen)
			if errors.Is(err, ErrWrongPassword) {
				wrong.Add(1)
			} else if !limited(err) && !errors.Is(err, ErrBusy) {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if most := s.LoginRate - 1; hashes.Load() > most || wrong.Load() != hashes.Load() {
		t.Errorf("%d passwords were compared, %d answered: want at most %d", hashes.Load(), wrong.Load(), most)
	}
}

// TestEveryLimitOnEveryPath checks that logins and changes of the password are subject to every limit. If one is used
// up, nothing is compared, no other limit counts the attempt, and a correct password gets the same error as a wrong
// one.
func TestEveryLimitOnEveryPath(t *testing.T) {
	const from = "2001:db8:1:2::1"
	for _, exhausted := range []struct {
		most   int64
		window time.Duration
		parts  []string
	}{
		{10, loginWindow, []string{"login", "2001:db8:1:2::/64", email}},
		{sourceRate, loginWindow, []string{"source", "2001:db8:1:2::/64"}},
		{wideRate, loginWindow, []string{"wide", "2001:db8:1::/48"}},
		{failureRate, failureWindow, []string{"failures", email}},
	} {
		t.Run(exhausted.parts[0], func(t *testing.T) {
			s, db, _ := newService(t)
			session := newSession(t, s, db)
			hashes := counted(s.Hasher)
			spendLogins(t, db.DB, int(exhausted.most), exhausted.window, exhausted.parts...)
			for _, given := range []string{password, "wrong"} {
				for path, try := range map[string]func() (Limit, error){
					"login": func() (Limit, error) {
						_, limit, err := s.Login(t.Context(), from, Credentials{Email: email, Password: given})
						return limit, err
					},
					"session": func() (Limit, error) {
						_, limit, err := s.StartSession(t.Context(), from, Credentials{Email: email, Password: given})
						return limit, err
					},
					"change": func() (Limit, error) { return s.ChangePassword(t.Context(), session, from, given, chosen) },
				} {
					limit, err := try()
					if want := (Limit{Max: exhausted.most, Reset: exhausted.window}); !limited(err) || limit != want ||
						errors.Is(err, ErrInvalidCredentials) {
						t.Errorf("%s with %q: %v with limit %+v, want %+v", path, given, err, limit, want)
					}
				}
			}
			if hashes.Load() != 0 {
				t.Errorf("%d passwords were compared", hashes.Load())
			}
			for _, other := range [][]string{{"login", "2001:db8:1:2::/64", email}, {"source", "2001:db8:1:2::/64"},
				{"wide", "2001:db8:1::/48"}, {"failures", email}} {
				if other[0] != exhausted.parts[0] {
					wantUsed(t, db, 0, other...)
				}
			}
		})
	}
}

// TestSources checks that the addresses of one IPv6 network are one source, and are trusted together, and that those of
// another network are not.
func TestSources(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	login, _, err := s.Login(ctx, "2001:db8:1:2::1", Credentials{Email: email, Password: password})
	kit.Must(t, err)
	wantUsed(t, db, 1, "trusted", "2001:db8:1:2::/64", email, login.User.ID.String())
	spendLogins(t, db.DB, failureRate, failureWindow, "failures", email)
	hashes := counted(s.Hasher)
	for n := range s.LoginRate - 1 {
		_, limit, err := s.Login(ctx, fmt.Sprintf("[2001:db8:1:2::%x]:443", 10+n),
			Credentials{Email: email, Password: "wrong"})
		wantErr(t, err, ErrInvalidCredentials)
		if want := s.LoginRate - 2 - n; limit.Remaining != want {
			t.Errorf("%d remain, want %d", limit.Remaining, want)
		}
	}
	// another limit, then an unknown source
	for _, from := range []string{"2001:db8:1:2:ffff::1", "2001:db8:1:3::1", "2001:db8:2::1"} {
		if _, _, err := s.Login(ctx, from, Credentials{Email: email, Password: "wrong"}); !limited(err) {
			t.Errorf("%s: %v", from, err)
		}
	}
	if hashes.Load() != s.LoginRate-1 {
		t.Errorf("%d passwords were compared", hashes.Load())
	}
}

// TestGivenBack checks what is refunded: a login counts as one attempt and not as a failure, and a change of the
// password with the correct one counts as nothing, like an attempt whose password was never compared.
func TestGivenBack(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	want := func(login, failures int64) {
		t.Helper()
		wantUsed(t, db, login, "login", home, email)
		wantUsed(t, db, login, "source", home)
		wantUsed(t, db, failures, "failures", email)
	}
	newSession(t, s, db)
	want(1, 0)
	db.Clock.Advance(trustDuration + time.Minute) // the source is no longer trusted, so failures count again
	_, _, err := s.Login(ctx, home, Credentials{Email: email, Password: "wrong"})
	wantErr(t, err, ErrInvalidCredentials)
	want(1, 1)
	session := newSession(t, s, db)
	want(2, 1)
	db.Clock.Advance(failureWindow)
	limit, err := s.ChangePassword(ctx, session, "192.0.2.9", password, password)
	wantErr(t, err, ErrSamePassword)
	if limit.Remaining != s.LoginRate {
		t.Errorf("%d remain, want %d", limit.Remaining, s.LoginRate)
	}
	_, err = s.ChangePassword(ctx, session, "192.0.2.9", password, strings.Repeat("a", 20))
	wantErr(t, err, ErrCommonPassword)
	limit, err = s.ChangePassword(ctx, session, "192.0.2.9", password, chosen)
	kit.Must(t, err)
	if limit.Remaining != s.LoginRate {
		t.Errorf("%d remain after the change, want %d", limit.Remaining, s.LoginRate)
	}
	wantUsed(t, db, 0, "login", "192.0.2.9", email)
	want(0, 0)

	s.Hasher.turns = newTurns(0, 0, time.Minute) // the queue has no room
	_, _, err = s.Login(ctx, "192.0.2.9", Credentials{Email: email, Password: "wrong"})
	wantErr(t, err, ErrBusy)
	_, err = s.ChangePassword(ctx, session, "192.0.2.9", "wrong", chosen)
	wantErr(t, err, ErrBusy)
	s.Hasher.turns = newTurns(0, 1, time.Minute) // no slot becomes free
	gone, cancel := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() {
		_, _, err := s.Login(gone, "192.0.2.9", Credentials{Email: email, Password: "wrong"})
		ended <- err
	}()
	kit.Until(t, "the login waits", func() bool { return s.Hasher.turns.waitingCount() == 1 })
	cancel()
	wantErr(t, <-ended, context.Canceled)
	wantUsed(t, db, 0, "login", "192.0.2.9", email)
	want(0, 0)
}

// TestSuspendedIsNoFailure checks that the correct password of a suspended account is not a failed login.
func TestSuspendedIsNoFailure(t *testing.T) {
	s, db, account := newService(t)
	kit.Must(t, identity.SuspendAccount(t.Context(), db.DB, account.ID))
	_, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	wantErr(t, err, identity.ErrSuspended)
	wantUsed(t, db, 1, "login", home, email)
	wantUsed(t, db, 0, "failures", email)
	wantUsed(t, db, 0, "trusted", home, email)
}

// TestOneCompanysBurst checks that while changes of one company's passwords wait to be hashed, another company's login
// waits for a few hashes only.
func TestOneCompanysBurst(t *testing.T) {
	s, db, account := newService(t)
	s.LoginRate = 0 // only the turns limit logins
	session := newSession(t, s, db)
	hash, err := DefaultCost().Hash(password)
	kit.Must(t, err)
	_, err = identity.CreateAccount(t.Context(), db.DB, "Other", identity.NewUser{Email: "other@example.com",
		PasswordHash: hash, Proved: true})
	kit.Must(t, err)
	const burst = 400
	var hashes, compared atomic.Int64
	queued, hashed := make(chan struct{}), make(chan struct{})
	waiting, stop := context.WithTimeout(t.Context(), kit.Patience())
	defer stop()
	const few = 5
	s.Hasher.derive = func(c Cost, given string, salt []byte, length uint32) []byte {
		<-queued
		n := hashes.Add(1)
		if given == password {
			compared.Store(n)
			close(hashed)
			return derive(c, given, salt, length)
		}
		if n > few { // by now the other company has its turn, even if its goroutine has not run yet
			select {
			case <-hashed:
			case <-waiting.Done():
			}
		}
		return make([]byte, length)
	}
	var all sync.WaitGroup
	var busy atomic.Int64
	for range burst {
		all.Go(func() {
			if _, err := s.ChangePassword(t.Context(), session, home, "wrong", chosen); errors.Is(err, ErrBusy) {
				busy.Add(1)
			}
		})
	}
	// two are being hashed, the others wait
	kit.Until(t, "a full queue", func() bool { return busy.Load() == burst-maxWaiting-2 })
	all.Go(func() {
		_, _, err := s.Login(t.Context(), "192.0.2.7", Credentials{Email: "other@example.com", Password: password})
		if err != nil {
			t.Error(err)
		}
	})
	kit.Until(t, "the login waits", func() bool { return s.Hasher.turns.waitingCount() == maxWaiting+1 })
	close(queued)
	all.Wait()
	if n := compared.Load(); n < 1 || n > few+2 {
		t.Errorf("the other company's password was hash %d of %d", n, hashes.Load())
	}
	if account.ID != session.Account.ID {
		t.Error("the burst is another company's")
	}
}
