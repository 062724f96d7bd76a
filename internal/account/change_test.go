package account

import (
	"testing"

	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

const chosen = "three mild walruses sing"

// newSession logs in from home and returns the session.
func newSession(t *testing.T, s *Service, db *storetest.Store) store.Session {
	t.Helper()
	login, _, err := s.Login(t.Context(), home, email, password)
	must(t, err)
	session, err := db.Authenticate(t.Context(), secret.Digest(login.Token))
	must(t, err)
	return session
}

// at calls do when the n-th password from now is hashed, before it is.
func at(h *Hasher, n int, do func()) {
	h.derive = func(c Cost, password string, salt []byte, length uint32) []byte {
		if n--; n == 0 {
			do()
		}
		return derive(c, password, salt, length)
	}
}

// hashOf makes a hash of another cost than the service's own.
func hashOf(t *testing.T, password string) string {
	t.Helper()
	hash, err := Cost{Memory: 47104, Passes: 1, Lanes: 1}.Hash(password)
	must(t, err)
	return hash
}

// TestResetDuringChange: an operator's reset at any moment of a change of the password wins: the change is refused, and
// the operator's password is the one that logs in.
func TestResetDuringChange(t *testing.T) {
	for moment := 1; moment <= 2; moment++ { // while the old one is compared, and while the new one is hashed
		s, db, _ := newService(t)
		session := newSession(t, s, db)
		const reset = "given by the operator"
		at(s.Hasher, moment, func() {
			must(t, db.ResetPassword(t.Context(), session.Account.ID, session.User, hashOf(t, reset)))
		})
		_, err := s.ChangePassword(t.Context(), session, home, password, chosen)
		wantErr(t, err, store.ErrSessionEnded)
		for given, want := range map[string]error{chosen: ErrInvalidCredentials, password: ErrInvalidCredentials} {
			_, _, err := s.Login(t.Context(), home, email, given)
			wantErr(t, err, want)
		}
		login, _, err := s.Login(t.Context(), home, email, reset)
		must(t, err)
		if !login.User.PasswordChangeRequired {
			t.Error("the operator's password need not be changed")
		}
	}
}

// TestRehashDuringChange: a hash that is made anew meanwhile does not stop the change of its password.
func TestRehashDuringChange(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := db.User(t.Context(), session)
	must(t, err)
	at(s.Hasher, 2, func() { must(t, db.Rehash(t.Context(), user, hashOf(t, password))) })
	_, err = s.ChangePassword(t.Context(), session, home, password, chosen)
	must(t, err)
	_, _, err = s.Login(t.Context(), home, email, chosen)
	must(t, err)
}

// TestChangeDuringChange: of two changes at the same time the second finds that its current password is none any more.
func TestChangeDuringChange(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := db.User(t.Context(), session)
	must(t, err)
	at(s.Hasher, 2, func() {
		must(t, db.ChangePassword(t.Context(), session, user.PasswordHash, hashOf(t, "changed by the first")))
	})
	_, err = s.ChangePassword(t.Context(), session, home, password, chosen)
	wantErr(t, err, ErrWrongPassword)
	_, _, err = s.Login(t.Context(), home, email, "changed by the first")
	must(t, err)
}

// TestChangeDuringLogin: a login that compared the old password while it was changed gets no token; one whose hash was
// made anew does.
func TestChangeDuringLogin(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	user, err := db.User(t.Context(), session)
	must(t, err)
	at(s.Hasher, 1, func() { must(t, db.Rehash(t.Context(), user, hashOf(t, password))) })
	_, _, err = s.Login(t.Context(), home, email, password)
	must(t, err)
	at(s.Hasher, 1, func() {
		must(t, db.ResetPassword(t.Context(), user.Account, user.ID, hashOf(t, chosen)))
	})
	_, _, err = s.Login(t.Context(), home, email, password)
	wantErr(t, err, ErrInvalidCredentials)
}

// TestRehashAtLogin: a login makes the hash anew when the configured cost has risen, and only then; sessions go on, and a
// password that is changed at the same moment stays the changed one.
func TestRehashAtLogin(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	hash := func() string {
		t.Helper()
		user, err := db.User(t.Context(), session)
		must(t, err)
		return user.PasswordHash
	}
	before := hash()
	newSession(t, s, db)
	if hash() != before {
		t.Error("a hash of the configured cost was made anew")
	}
	risen := Cost{Memory: 20 * 1024, Passes: 2, Lanes: 1}
	s.Hasher = NewHasher(2, risen)
	_, _, err := s.Login(t.Context(), home, email, "wrong")
	wantErr(t, err, ErrInvalidCredentials)
	if hash() != before {
		t.Error("a wrong password changed the hash")
	}
	newSession(t, s, db)
	read, err := parseHash(hash())
	must(t, err)
	if read.Cost != risen {
		t.Errorf("after the login the hash costs %v, want %v", read.Cost, risen)
	}
	_, err = db.Authenticate(t.Context(), session.Digest)
	must(t, err)
	before = hash()
	s.Hasher = NewHasher(2, DefaultCost()) // lowered again
	newSession(t, s, db)
	if hash() != before {
		t.Error("a hash was made weaker")
	}

	s.Hasher = NewHasher(2, Cost{Memory: 21 * 1024, Passes: 2, Lanes: 1})
	other := hashOf(t, chosen)
	user, err := db.User(t.Context(), session)
	must(t, err)
	at(s.Hasher, 2, func() { must(t, db.ChangePassword(t.Context(), session, user.PasswordHash, other)) })
	_, _, err = s.Login(t.Context(), home, email, password)
	must(t, err)
	if hash() != other {
		t.Error("a hash that was made anew undid a change of the password")
	}
}

// TestRehashWaits: a login does not fail if the hasher is too busy to replace its hash.
func TestRehashWaits(t *testing.T) {
	s, db, _ := newService(t)
	session := newSession(t, s, db)
	s.Hasher = NewHasher(1, Cost{Memory: 20 * 1024, Passes: 2, Lanes: 1})
	at(s.Hasher, 1, func() { s.Hasher.turns.free = -1 }) // after this one nobody gets a turn
	s.Hasher.turns.max = 0
	_, _, err := s.Login(t.Context(), home, email, password)
	must(t, err)
	user, err := db.User(t.Context(), session)
	must(t, err)
	if !s.Hasher.Outdated(user.PasswordHash) {
		t.Error("the hash was made anew without a turn")
	}
}
