package account

import (
	"context"
	"crypto/rand"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	email    = "owner@example.com"
	password = "correct horse battery staple"
	source   = "192.0.2.1"
)

// newService makes a service with one account. Each hash takes its real time, so tests make few.
func newService(t *testing.T) (*Service, *storetest.Store, store.Account) {
	t.Helper()
	s := storetest.Open(t, storetest.SQLite)
	service := &Service{DB: s.DB, Random: rand.Reader, Now: s.Clock.Now, TokenTTL: 12 * time.Hour, LoginRate: 10, Hasher: NewHasher(2)}
	hash, err := service.Hasher.Hash(t.Context(), password)
	must(t, err)
	account, err := s.CreateAccount(t.Context(), "Palm Trading LLC", store.NewUser{Email: email, Name: "Owner", PasswordHash: hash})
	must(t, err)
	return service, s, account
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
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

// TestLogin: the right password brings a token that speaks for the account until it expires, and is kept as its digest.
func TestLogin(t *testing.T) {
	s, db, account := newService(t)
	login, limit, err := s.Login(t.Context(), source, "  OWNER@example.com ", password)
	must(t, err)
	if login.User.Email != email || login.Account.ID != account.ID || login.Account.Company != account.Company || !login.Expires.Equal(db.Clock.Now().Add(12*time.Hour)) {
		t.Errorf("login %+v", login)
	}
	if limit != (Limit{Max: 10, Remaining: 9, Reset: time.Minute}) {
		t.Errorf("limit %+v", limit)
	}
	if token := login.Token.Reveal(); !strings.HasPrefix(token, secret.TokenPrefix) || len(token) != len(secret.TokenPrefix)+43 {
		t.Error("the token has another form")
	}
	session, err := db.Authenticate(t.Context(), secret.Digest(login.Token))
	must(t, err)
	if session.Account.ID != account.ID || session.User != login.User.ID {
		t.Errorf("session %+v", session)
	}
	db.Clock.Advance(12 * time.Hour)
	_, err = db.Authenticate(t.Context(), secret.Digest(login.Token))
	wantErr(t, err, store.ErrNotFound)
	second, _, err := s.Login(t.Context(), source, email, password)
	must(t, err)
	if second.Token.Equal(login.Token) {
		t.Error("two logins have one token")
	}
}

// TestEqualAnswers: an unknown address and a wrong password differ in nothing: the same error, the same limit, and both
// cost a hash.
func TestEqualAnswers(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	_, wrong, wrongErr := s.Login(ctx, source, email, "wrong")
	_, unknown, unknownErr := s.Login(ctx, source, "nobody@example.com", password)
	wantErr(t, wrongErr, ErrInvalidCredentials)
	if wrongErr.Error() != unknownErr.Error() || wrong != unknown {
		t.Errorf("wrong: %v %+v, unknown: %v %+v", wrongErr, wrong, unknownErr, unknown)
	}
	for _, address := range []string{email, "nobody@example.com"} {
		failures, _, err := db.Spent(ctx, limitKey("failures", address))
		must(t, err)
		if failures != 1 {
			t.Errorf("%d failures of %s are counted, want 1", failures, address)
		}
	}
	// A hash that cannot be read shows that it is looked at: for an unknown address that is the decoy.
	s.Hasher.decoy = "unreadable"
	_, _, err := s.Login(ctx, source, "nobody@example.com", password)
	wantErr(t, err, errForm)
}

// TestSuspended: only who knows the password learns that the account is suspended.
func TestSuspended(t *testing.T) {
	s, db, account := newService(t)
	must(t, db.SuspendAccount(t.Context(), account.ID))
	_, _, err := s.Login(t.Context(), source, email, "wrong")
	wantErr(t, err, ErrInvalidCredentials)
	if errors.Is(err, store.ErrSuspended) {
		t.Error("a wrong password learns that the account is suspended")
	}
	_, _, err = s.Login(t.Context(), source, email, password)
	wantErr(t, err, store.ErrSuspended)
}

// TestLimitBeforeHash: once a limit is exceeded, no password is compared any more, the right one included.
func TestLimitBeforeHash(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	_, err := db.CreateAccount(ctx, "Other", store.NewUser{Email: "other@example.com", PasswordHash: "unreadable"})
	must(t, err)
	for n := range s.LoginRate {
		_, limit, err := s.Login(ctx, source, "other@example.com", password)
		wantErr(t, err, errForm) // the hash is looked at
		if limit.Remaining != s.LoginRate-1-n {
			t.Errorf("after %d logins %d remain", n+1, limit.Remaining)
		}
	}
	db.Clock.Advance(20 * time.Second)
	_, limit, err := s.Login(ctx, source, "other@example.com", password)
	if !limited(err) || limit != (Limit{Max: 10, Remaining: 0, Reset: 40 * time.Second}) {
		t.Errorf("error %v with limit %+v", err, limit)
	}
	_, _, err = s.Login(ctx, "192.0.2.2", "other@example.com", password) // another source has its own limit
	wantErr(t, err, errForm)
	db.Clock.Advance(40 * time.Second)
	_, _, err = s.Login(ctx, source, "other@example.com", password)
	wantErr(t, err, errForm)

	s.LoginRate = 0 // switched off
	for range 12 {
		_, _, err = s.Login(ctx, source, "other@example.com", password)
		wantErr(t, err, errForm)
	}
}

// spendLogins uses a limit up as so many logins do, without their hashes.
func spendLogins(t *testing.T, db *store.DB, n int, window time.Duration, parts ...string) {
	t.Helper()
	for range n {
		_, _, err := db.Spend(t.Context(), limitKey(parts...), window)
		must(t, err)
	}
}

// TestSourceLimit: one source tries at most a hundred logins a minute, whatever the addresses.
func TestSourceLimit(t *testing.T) {
	s, db, _ := newService(t)
	spendLogins(t, db.DB, sourceRate, loginWindow, "source", source)
	_, limit, err := s.Login(t.Context(), source, email, password)
	if !limited(err) || limit.Max != sourceRate {
		t.Errorf("error %v with limit %+v", err, limit)
	}
	_, _, err = s.Login(t.Context(), "192.0.2.2", email, password)
	must(t, err)
}

// TestFailureLimit: after too many failures for an address strangers wait an hour. A source that has succeeded for it
// within thirty days does not, so that nobody can lock the owner out.
func TestFailureLimit(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	_, _, err := s.Login(ctx, source, email, password)
	must(t, err)
	db.Clock.Advance(29 * 24 * time.Hour)
	_, _, err = s.Login(ctx, source, email, password)
	must(t, err)
	db.Clock.Advance(29 * 24 * time.Hour) // within thirty days of the last success, not of the first
	spendLogins(t, db.DB, failureRate, failureWindow, "failures", email)
	_, limit, err := s.Login(ctx, "198.51.100.9", email, password)
	if !limited(err) || limit != (Limit{Max: failureRate, Reset: failureWindow}) {
		t.Errorf("a stranger gets error %v with limit %+v", err, limit)
	}
	_, _, err = s.Login(ctx, source, email, password)
	must(t, err)
	db.Clock.Advance(failureWindow)
	_, _, err = s.Login(ctx, "198.51.100.9", email, password)
	must(t, err)
}

// TestLimitKeys: parts do not run together, so that no address uses up the limit of another.
func TestLimitKeys(t *testing.T) {
	if limitKey("login", "ab", "c") == limitKey("login", "a", "bc") || limitKey("a") == limitKey("a", "") {
		t.Error("two limits have one key")
	}
}

// TestChangedPassword: a login that compared the old password while it was being changed gets no token.
func TestChangedPassword(t *testing.T) {
	s, db, account := newService(t)
	users, err := db.Users(t.Context(), account.ID)
	must(t, err)
	s.Random = readFunc(func(p []byte) (int, error) { // between the comparison and the token
		must(t, db.SetPassword(t.Context(), account.ID, users[0].ID, "$changed", nil))
		return rand.Read(p)
	})
	_, _, err = s.Login(t.Context(), source, email, password)
	wantErr(t, err, ErrInvalidCredentials)
}

type readFunc func(p []byte) (int, error)

func (f readFunc) Read(p []byte) (int, error) { return f(p) }

// TestHasher: a hash is a PHC string with a salt of its own that matches its password and no other.
func TestHasher(t *testing.T) {
	h, ctx := NewHasher(2), t.Context()
	hash, err := h.Hash(ctx, password)
	must(t, err)
	if again, err := h.Hash(ctx, password); err != nil || again == hash {
		t.Errorf("two hashes of one password are %q and %q, error %v", hash, again, err)
	}
	for given, want := range map[string]bool{password: true, password + " ": false, "": false} {
		if right, err := h.Matches(ctx, hash, given); err != nil || right != want {
			t.Errorf("%q matches: %v, error %v", given, right, err)
		}
	}
	salt, key, err := decodeHash(hash)
	must(t, err)
	if len(salt) != argonSalt || len(key) != argonKey || encodeHash(salt, key) != hash || !strings.HasPrefix(hash, "$argon2id$v=19$m=19456,t=2,p=1$") {
		t.Errorf("hash %q of a salt of %d and a key of %d bytes", hash, len(salt), len(key))
	}
	// Computed with Argon2id of the Python package cryptography 48.0.0, for a salt of sixteen times 's'.
	const known = hashPrefix + "c3Nzc3Nzc3Nzc3Nzc3Nzcw$seQ2T+K2WQIrX5WXyZmfiU3zDNMX5R9noIQQbEs8mzE"
	if right, err := h.Matches(ctx, known, password); err != nil || !right {
		t.Errorf("the known hash matches: %v, error %v", right, err)
	}
	for _, hash := range []string{"plain", "$argon2i$v=19$m=19456,t=2,p=1$c2FsdA$aGFzaA", hashPrefix, hashPrefix + "c2FsdA", hashPrefix + "!$!", hashPrefix + "c2FsdA$!", hashPrefix + "c2FsdA$aGFzaA"} {
		if right, err := h.Matches(ctx, hash, password); err == nil || right {
			t.Errorf("%q: matches %v, error %v", hash, right, err)
		}
	}
	if right, err := h.Matches(ctx, "", ""); err != nil || right {
		t.Errorf("nobody's hash matches: %v, error %v", right, err)
	}
}

// TestHasherSlots: who cannot wait for a turn is told so, and takes none.
func TestHasherSlots(t *testing.T) {
	h := NewHasher(1)
	must(t, h.slots.Acquire(t.Context(), 1))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err := h.Hash(ctx, password)
	wantErr(t, err, context.Canceled)
	h.slots.Release(1)
	_, err = h.Hash(t.Context(), password)
	must(t, err)
}
