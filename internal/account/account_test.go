package account

import (
	"crypto/rand"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/kit/leaks"
	"quittance/test/ledgertest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(m.Run)) }

const (
	email    = "owner@example.com"
	password = "correct horse battery staple"
	home     = "192.0.2.1"
)

// newService returns a service with one account. Each hash takes its real time, so tests make few.
func newService(t *testing.T) (*Service, *ledgertest.Store, base.Account) {
	t.Helper()
	s := ledgertest.Open(t, ledgertest.SQLite)
	service := &Service{DB: s.DB, Random: rand.Reader, Now: s.Clock.Now, TokenTTL: 12 * time.Hour, LoginRate: 10,
		Hasher: NewHasher(2, DefaultCost())}
	hash, err := DefaultCost().Hash(password)
	kit.Must(t, err)
	account, err := identity.CreateAccount(t.Context(), s.DB, "Palm Trading LLC", identity.NewUser{Email: email,
		Name: "Owner", PasswordHash: hash, Proved: true})
	kit.Must(t, err)
	return service, s, account
}

func wantErr(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Fatalf("error %v, want %v", err, want)
	}
}

func limited(err error) bool {
	var limit *LimitedError
	return errors.As(err, &limit)
}

// TestLogin: the correct password returns a token that authenticates the account until it expires. Only its digest is
// stored.
func TestLogin(t *testing.T) {
	s, db, account := newService(t)
	login, limit, err := s.Login(t.Context(), home, Credentials{Email: "  OWNER@example.com ", Password: password})
	kit.Must(t, err)
	if login.User.Email != email || login.Account.ID != account.ID || login.Account.Company != account.Company ||
		!login.Expires.Equal(db.Clock.Now().Add(12*time.Hour)) {
		t.Errorf("login %+v", login)
	}
	if limit != (Limit{Max: 10, Remaining: 9, Reset: time.Minute}) {
		t.Errorf("limit %+v", limit)
	}
	if token := login.Token.Reveal(); !strings.HasPrefix(token, secret.TokenPrefix) ||
		len(token) != len(secret.TokenPrefix)+43 {
		t.Error("the token has the wrong form")
	}
	session, err := db.Authenticate(t.Context(), secret.Digest(login.Token))
	kit.Must(t, err)
	if session.Account.ID != account.ID || session.User != login.User.ID {
		t.Errorf("session %+v", session)
	}
	db.Clock.Advance(12 * time.Hour)
	_, err = db.Authenticate(t.Context(), secret.Digest(login.Token))
	wantErr(t, err, base.ErrNotFound)
	second, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	if second.Token.Equal(login.Token) {
		t.Error("two logins got the same token")
	}
}

// TestEqualResponses checks that the results for an unknown address and a wrong password are equal: the same error, the
// same limit, and the time of a hash.
func TestEqualResponses(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	_, wrong, wrongErr := s.Login(ctx, home, Credentials{Email: email, Password: "wrong"})
	_, unknown, unknownErr := s.Login(ctx, home, Credentials{Email: "nobody@example.com", Password: password})
	wantErr(t, wrongErr, ErrInvalidCredentials)
	if wrongErr.Error() != unknownErr.Error() || wrong != unknown {
		t.Errorf("wrong: %v %+v, unknown: %v %+v", wrongErr, wrong, unknownErr, unknown)
	}
	for _, address := range []string{email, "nobody@example.com"} {
		wantUsed(t, db, 1, "failures", address)
	}
	// An unreadable hash gives an error only if it is used, which shows that an unknown address uses the decoy.
	s.Hasher.decoy = "unreadable"
	_, _, err := s.Login(ctx, home, Credentials{Email: "nobody@example.com", Password: password})
	wantErr(t, err, errHashFormat)
}

// TestSuspended checks that only a caller with the correct password learns that the account is suspended.
func TestSuspended(t *testing.T) {
	s, db, account := newService(t)
	kit.Must(t, identity.SuspendAccount(t.Context(), db.DB, account.ID))
	_, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: "wrong"})
	wantErr(t, err, ErrInvalidCredentials)
	if errors.Is(err, identity.ErrSuspended) {
		t.Error("a wrong password learns that the account is suspended")
	}
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	wantErr(t, err, identity.ErrSuspended)
}

// TestLimitBeforeHash checks that once a limit is exceeded, no password is compared, not even the correct one.
func TestLimitBeforeHash(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	hashes := counted(s.Hasher)
	try := func(from string, want error, hashed int64) Limit {
		t.Helper()
		before := hashes.Load()
		_, limit, err := s.Login(ctx, from, Credentials{Email: email, Password: password})
		if want == nil && !limited(err) || want != nil && !errors.Is(err, want) || hashes.Load()-before != hashed {
			t.Errorf("%v after %d passwords were compared", err, hashes.Load()-before)
		}
		return limit
	}
	for n := range s.LoginRate {
		if limit := try(home, ErrInvalidCredentials, 1); limit.Remaining != s.LoginRate-1-n {
			t.Errorf("after %d logins %d remain", n+1, limit.Remaining)
		}
	}
	db.Clock.Advance(20 * time.Second)
	if limit := try(home, nil, 0); limit != (Limit{Max: 10, Remaining: 0, Reset: 40 * time.Second}) {
		t.Errorf("limit %+v", limit)
	}
	try("192.0.2.2", ErrInvalidCredentials, 1) // another source has its own limit
	db.Clock.Advance(40 * time.Second)
	try(home, ErrInvalidCredentials, 1)
	s.LoginRate = 0 // disabled
	for range 12 {
		try(home, ErrInvalidCredentials, 1)
	}
}

// spendLogins uses up a limit like the given number of logins, without their hashes.
func spendLogins(t *testing.T, db *base.DB, n int, window time.Duration, parts ...string) {
	t.Helper()
	for range n {
		_, err := db.AcquireLimits(t.Context(), base.LimitUse{Key: limitKey(parts...), Max: 1 << 30, Window: window})
		kit.Must(t, err)
	}
}

// wantUsed checks how many uses of a limit are counted.
func wantUsed(t *testing.T, db *ledgertest.Store, want int64, parts ...string) {
	t.Helper()
	used, _, err := db.LimitUsage(t.Context(), limitKey(parts...))
	kit.Must(t, err)
	if used != want {
		t.Errorf("%v: %d uses are counted, want %d", parts, used, want)
	}
}

// TestSourceLimit checks that one source can try at most a hundred logins a minute, for all e-mail addresses together.
func TestSourceLimit(t *testing.T) {
	s, db, _ := newService(t)
	spendLogins(t, db.DB, sourceRate, loginWindow, "source", home)
	_, limit, err := s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	if !limited(err) || limit.Max != sourceRate {
		t.Errorf("error %v with limit %+v", err, limit)
	}
	_, _, err = s.Login(t.Context(), "192.0.2.2", Credentials{Email: email, Password: password})
	kit.Must(t, err)
}

// TestFailureLimit checks that after too many failures for an e-mail address, unknown sources wait an hour. A source
// with a successful login within thirty days does not, so an attacker cannot lock the owner out.
func TestFailureLimit(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	_, _, err := s.Login(ctx, home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	db.Clock.Advance(29 * 24 * time.Hour)
	_, _, err = s.Login(ctx, home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	db.Clock.Advance(29 * 24 * time.Hour) // within thirty days of the last success, not of the first
	spendLogins(t, db.DB, failureRate, failureWindow, "failures", email)
	_, limit, err := s.Login(ctx, "198.51.100.9", Credentials{Email: email, Password: password})
	if !limited(err) || limit != (Limit{Max: failureRate, Reset: failureWindow}) {
		t.Errorf("an unknown source gets error %v with limit %+v", err, limit)
	}
	_, _, err = s.Login(ctx, home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	db.Clock.Advance(failureWindow)
	_, _, err = s.Login(ctx, "198.51.100.9", Credentials{Email: email, Password: password})
	kit.Must(t, err)
}

// TestLimitKeys checks that the parts of a key are separated, so that no address uses up the limit of another.
func TestLimitKeys(t *testing.T) {
	if limitKey("login", "ab", "c") == limitKey("login", "a", "bc") || limitKey("a") == limitKey("a", "") {
		t.Error("two limits have the same key")
	}
}
