package account

import (
	"testing"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

const chosen = "three mild walruses sing"

// newSession logs in from home and returns the session.
func newSession(t *testing.T, s *Service, db *ledgertest.Store) base.Session {
	t.Helper()
	login, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	session, err := db.Authenticate(t.Context(), secret.Digest(login.Token))
	kit.Must(t, err)
	return session
}

// at calls do before the n-th password from now is hashed.
func at(h *Hasher, n int, do func()) {
	h.derive = func(c Cost, password string, salt []byte, length uint32) []byte {
		if n--; n == 0 {
			do()
		}
		return derive(c, password, salt, length)
	}
}

// hashOf returns a hash of another cost than that of the service.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := Cost{Memory: 47104, Passes: 1, Lanes: 1}.Hash(password)
	kit.Must(t, err)
	return hash
}

// TestResetDuringChange checks that an administrator's reset at any time during a change of the password prevails: the
// change is refused, and the administrator's password is valid.
func TestResetDuringChange(t *testing.T) {
	for moment := 1; moment <= 2; moment++ { // while the old one is compared, and while the new one is hashed
		s, db, _ := newService(t)
		session := newSession(t, s, db)
		const reset = "given by the operator"
		at(s.Hasher, moment, func() {
			kit.Must(t, identity.ResetPassword(t.Context(), db.DB, session.Account.ID, session.User, hashOf(t, reset)))
		})
		_, err := s.ChangePassword(t.Context(), session, home, password, chosen)
		wantErr(t, err, identity.ErrSessionEnded)
		for given, want := range map[string]error{chosen: ErrInvalidCredentials, password: ErrInvalidCredentials} {
			_, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: given})
			wantErr(t, err, want)
		}
		login, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: reset})
		kit.Must(t, err)
		if !login.User.PasswordChangeRequired {
			t.Error("the operator's password need not be changed")
		}
	}
}

// TestRehashDuringChange checks that a concurrent rehash does not prevent the change of a password.
func TestRehashDuringChange(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := identity.FindUserOf(t.Context(), db.DB, session)
	kit.Must(t, err)
	at(s.Hasher, 2, func() { kit.Must(t, identity.Rehash(t.Context(), db.DB, user, hashOf(t, password))) })
	_, err = s.ChangePassword(t.Context(), session, home, password, chosen)
	kit.Must(t, err)
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: chosen})
	kit.Must(t, err)
}

// TestChangeDuringChange checks that of two concurrent changes, the second one fails because its current password is no
// longer valid.
func TestChangeDuringChange(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := identity.FindUserOf(t.Context(), db.DB, session)
	kit.Must(t, err)
	at(s.Hasher, 2, func() {
		kit.Must(t, identity.ChangePassword(t.Context(), db.DB, session, user.PasswordHash,
			hashOf(t, "changed by the first")))
	})
	_, err = s.ChangePassword(t.Context(), session, home, password, chosen)
	wantErr(t, err, ErrWrongPassword)
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: "changed by the first"})
	kit.Must(t, err)
}

// TestChangeDuringLogin checks that a login that compared the old password during its change gets no token, and that a
// login during a rehash does.
func TestChangeDuringLogin(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := identity.FindUserOf(t.Context(), db.DB, session)
	kit.Must(t, err)
	at(s.Hasher, 1, func() { kit.Must(t, identity.Rehash(t.Context(), db.DB, user, hashOf(t, password))) })
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	at(s.Hasher, 1, func() {
		kit.Must(t, identity.ResetPassword(t.Context(), db.DB, user.Account, user.ID, hashOf(t, chosen)))
	})
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	wantErr(t, err, ErrInvalidCredentials)
}

// TestRehashAtLogin checks that a login replaces the hash if and only if the configured cost has risen, that sessions
// continue, and that a concurrent change of the password prevails.
func TestRehashAtLogin(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	hash := func() string {
		t.Helper()
		user, err := identity.FindUserOf(t.Context(), db.DB, session)
		kit.Must(t, err)
		return user.PasswordHash
	}
	before := hash()
	newSession(t, s, db)
	if hash() != before {
		t.Error("a hash of the configured cost was replaced")
	}
	risen := Cost{Memory: 20 * 1024, Passes: 2, Lanes: 1}
	s.Hasher = NewHasher(2, risen)
	_, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: "wrong"})
	wantErr(t, err, ErrInvalidCredentials)
	if hash() != before {
		t.Error("a wrong password changed the hash")
	}
	newSession(t, s, db)
	read, err := parseHash(hash())
	kit.Must(t, err)
	if read.Cost != risen {
		t.Errorf("after the login the hash costs %v, want %v", read.Cost, risen)
	}
	_, err = db.Authenticate(t.Context(), session.Digest)
	kit.Must(t, err)
	before = hash()
	s.Hasher = NewHasher(2, DefaultCost()) // lowered again
	newSession(t, s, db)
	if hash() != before {
		t.Error("a hash was replaced by a weaker one")
	}

	s.Hasher = NewHasher(2, Cost{Memory: 21 * 1024, Passes: 2, Lanes: 1})
	other := hashOf(t, chosen)
	user, err := identity.FindUserOf(t.Context(), db.DB, session)
	kit.Must(t, err)
	at(s.Hasher, 2, func() { kit.Must(t, identity.ChangePassword(t.Context(), db.DB, session, user.PasswordHash, other)) })
	_, _, err = s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	if hash() != other {
		t.Error("a rehash undid a change of the password")
	}
}

// TestRehashWaits: a login does not fail if the hasher is too busy to replace its hash.
func TestRehashWaits(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	s.Hasher = NewHasher(1, Cost{Memory: 20 * 1024, Passes: 2, Lanes: 1})
	at(s.Hasher, 1, func() { s.Hasher.turns.free = -1 }) // no slot becomes free after this one
	s.Hasher.turns.max = 0
	_, _, err := s.Login(t.Context(), home, Credentials{Email: email, Password: password})
	kit.Must(t, err)
	user, err := identity.FindUserOf(t.Context(), db.DB, session)
	kit.Must(t, err)
	if !s.Hasher.Outdated(user.PasswordHash) {
		t.Error("the hash was replaced without a turn")
	}
}
