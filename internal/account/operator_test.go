package account

import (
	"crypto/rand"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

const (
	operatorEmail    = "op@owner.example"
	operatorPassword = "a quiet harbour at noon"
)

// authenticator is the app of an operator.
type authenticator struct {
	shared secret.Text
	now    func() time.Time
}

// show returns the code that the app shows now, or a number of steps later.
func (a authenticator) show(t *testing.T, later int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(a.shared.Reveal(), uint64(a.now().Unix()/30+later))
	kit.Must(t, err)
	return code
}

// newOperator adds an operator and returns the secret of the enrolment link, with an authenticator that is not
// connected yet.
func newOperator(t *testing.T, s *Service) (code string, app authenticator) {
	t.Helper()
	made, err := s.AddOperator(t.Context(), "  Op@Owner.Example ")
	kit.Must(t, err)
	before, code, found := strings.Cut(made.Link("https://operators.example/"), "#")
	if !found || before != "https://operators.example/enrol" || !strings.HasPrefix(code, secret.EnrolmentPrefix) ||
		len(code) != len(secret.EnrolmentPrefix)+43 || made.Email != operatorEmail {
		t.Fatalf("link of %q to %s", made.Email, before)
	}
	shared, err := NewTOTPSecret(rand.Reader)
	kit.Must(t, err)
	return code, authenticator{shared, s.Now}
}

// TestEnrol checks that a link makes an operator once, with a good password and a code of the connected authenticator.
func TestEnrol(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	code, app := newOperator(t, s)
	_, err := s.AddOperator(ctx, operatorEmail)
	wantErr(t, err, base.ErrExists)
	_, err = s.AddOperator(ctx, "nobody")
	wantErr(t, err, ErrEmail)
	_, err = s.ResetOperator(ctx, "nobody@owner.example")
	wantErr(t, err, base.ErrNotFound)
	found, err := s.EnrollingOperator(ctx, home, code)
	kit.Must(t, err)
	if found.Email != operatorEmail {
		t.Errorf("found %+v", found)
	}
	hashes := counted(s.Hasher)
	for _, c := range []struct {
		code, password, shown string
		want                  error
	}{
		{"qe_wrong", operatorPassword, app.show(t, 0), ErrEnrolment},
		{strings.Replace(code, secret.EnrolmentPrefix, secret.InvitationPrefix, 1), operatorPassword, app.show(t, 0),
			ErrEnrolment},
		{code, "too short", app.show(t, 0), ErrPasswordLength},
		{code, strings.Repeat("a", 20), app.show(t, 0), ErrCommonPassword},
		{code, operatorPassword, app.show(t, 2), ErrCode},
		{code, operatorPassword, "", ErrCode},
	} {
		_, err := s.Enrol(ctx, home, c.code, c.password, app.shared, c.shown)
		wantErr(t, err, c.want)
	}
	if hashes.Load() != 0 {
		t.Errorf("%d passwords were hashed", hashes.Load())
	}
	recovery, err := s.Enrol(ctx, home, code, operatorPassword, app.shared, app.show(t, 0))
	kit.Must(t, err)
	if len(recovery) != RecoveryCodes {
		t.Errorf("%d recovery codes", len(recovery))
	}
	_, err = s.Enrol(ctx, home, code, operatorPassword, app.shared, app.show(t, 1))
	wantErr(t, err, ErrEnrolment)
	if _, err := s.EnrollingOperator(ctx, home, code); err == nil {
		t.Error("a used link can be used")
	}
	if _, _, err := s.Login(ctx, home, Credentials{Email: operatorEmail, Password: operatorPassword}); err == nil {
		t.Error("an operator logs in as a user")
	}
	wantUsed(t, db, 4, "invitation", home) // wrong links are charged
}

// TestOperatorLimits checks that nobody uses up the limits of an operator at the login of users, and that somebody who
// knows the password of an operator can try few codes, from however many addresses, without learning that the password
// is right.
func TestOperatorLimits(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	code, app := newOperator(t, s)
	_, err := s.Enrol(ctx, home, code, operatorPassword, app.shared, app.show(t, 0))
	kit.Must(t, err)
	for n := range failureRate {
		_, _, err := s.Login(ctx, fmt.Sprintf("192.0.2.%d", n),
			Credentials{Email: operatorLimits + operatorEmail, Password: "wrong"})
		wantErr(t, err, ErrInvalidCredentials)
	}
	db.Clock.Advance(time.Minute)
	_, _, err = s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, app.show(t, 0))
	kit.Must(t, err)

	db.Clock.Advance(time.Minute)
	for n := range strangerCodes {
		_, _, err := s.StartOperatorSession(ctx, fmt.Sprintf("198.51.100.%d", n), operatorEmail, operatorPassword,
			app.show(t, 5))
		wantErr(t, err, ErrInvalidCredentials)
	}
	_, _, err = s.StartOperatorSession(ctx, "203.0.113.1", operatorEmail, operatorPassword, app.show(t, 0))
	wantErr(t, err, ErrInvalidCredentials)
	// from where the operator works
	_, _, err = s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, app.show(t, 0))
	kit.Must(t, err)
	db.Clock.Advance(failureWindow)
	_, _, err = s.StartOperatorSession(ctx, "203.0.113.1", operatorEmail, operatorPassword, app.show(t, 0))
	kit.Must(t, err)
}

// TestOperatorLoginTellsNothing checks that a wrong password, a wrong code and an unknown address count in the same
// places, so that neither the work nor what is refused later tells which of them was wrong.
func TestOperatorLoginTellsNothing(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	code, app := newOperator(t, s)
	recovery, err := s.Enrol(ctx, home, code, operatorPassword, app.shared, app.show(t, 0))
	kit.Must(t, err)
	const unknown = "nobody@owner.example"
	derive := s.Hasher.derive
	hashes := atomic.Int64{}
	s.Hasher.derive = func(c Cost, password string, salt []byte, length uint32) []byte {
		hashes.Add(1)
		return derive(c, password, salt, length)
	}
	attempts := []struct{ email, password, code string }{
		{operatorEmail, "wrong", app.show(t, 5)}, {operatorEmail, operatorPassword, app.show(t, 5)},
		{operatorEmail, "wrong", app.show(t, 1)}, {operatorEmail, "wrong", recovery[0].Reveal()},
		{operatorEmail, operatorPassword, "ab2d-ef3h-ij4l-mn5p"}, {unknown, operatorPassword, app.show(t, 1)},
	}
	for n, given := range attempts {
		_, _, err := s.StartOperatorSession(ctx, fmt.Sprintf("198.51.100.%d", n), given.email, given.password, given.code)
		wantErr(t, err, ErrInvalidCredentials)
	}
	for _, limit := range []string{"code", "codes a day"} {
		wantUsed(t, db, 5, limit, operatorLimits+operatorEmail)
		wantUsed(t, db, 1, limit, operatorLimits+unknown)
	}
	if got := hashes.Load(); got != int64(len(attempts)) {
		t.Errorf("%d hashes for %d attempts", got, len(attempts))
	}
	_, _, err = s.StartOperatorSession(ctx, "203.0.113.1", operatorEmail, operatorPassword, recovery[0].Reveal())
	kit.Must(t, err)
}

// TestStartOperatorSession checks that only the password together with a fresh code begins a session, that callers do
// not learn what was wrong, and that wrong codes are limited like wrong passwords.
func TestStartOperatorSession(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	code, app := newOperator(t, s)
	if _, _, err := s.StartOperatorSession(ctx, home, operatorEmail, "", ""); err == nil {
		t.Error("an operator without a password logs in")
	}
	recovery, err := s.Enrol(ctx, home, code, operatorPassword, app.shared, app.show(t, 0))
	kit.Must(t, err)
	// the enrolment has used it
	_, _, err = s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, app.show(t, 0))
	wantErr(t, err, ErrInvalidCredentials)
	db.Clock.Advance(time.Minute)
	session, expires, err := s.StartOperatorSession(ctx, home, " OP@owner.example ", operatorPassword, app.show(t, 0))
	kit.Must(t, err)
	if !expires.Equal(s.Now().Add(8*time.Hour)) || !strings.HasPrefix(session.Reveal(), secret.OperatorSessionPrefix) {
		t.Errorf("a session until %s", expires)
	}
	found, err := identity.AuthenticateOperator(ctx, db.DB, secret.OperatorSessionDigest(session))
	kit.Must(t, err)
	if found.Email != operatorEmail {
		t.Errorf("session %+v", found)
	}
	for _, digest := range [][32]byte{secret.Digest(session), secret.SessionDigest(session)} {
		if _, err := db.Authenticate(ctx, digest); err == nil {
			t.Error("the session of an operator is one of a user")
		}
	}
	db.Clock.Advance(time.Hour)
	for _, c := range [][3]string{
		{operatorEmail, operatorPassword, ""},
		{operatorEmail, operatorPassword, app.show(t, 3)},
		{operatorEmail, operatorPassword + "x", app.show(t, 0)},
		{"nobody@owner.example", operatorPassword, app.show(t, 0)},
		{email, password, app.show(t, 0)}, // of a user
		{operatorEmail, operatorPassword, "aaaa-aaaa-aaaa-aaaa"},
	} {
		_, _, err := s.StartOperatorSession(ctx, home, c[0], c[1], c[2])
		if wantErr(t, err, ErrInvalidCredentials); err.Error() != ErrInvalidCredentials.Error() {
			t.Errorf("the error tells more: %v", err)
		}
	}
	_, _, err = s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, strings.ToUpper(recovery[3].Reveal()))
	kit.Must(t, err)
	_, _, err = s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, recovery[3].Reveal())
	wantErr(t, err, ErrInvalidCredentials)

	db.Clock.Advance(time.Hour)
	for range s.LoginRate {
		_, _, err := s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, app.show(t, 5))
		wantErr(t, err, ErrInvalidCredentials)
	}
	if _, _, err := s.StartOperatorSession(ctx, home, operatorEmail, operatorPassword, app.show(t, 0)); !limited(err) {
		t.Errorf("%v after too many wrong codes", err)
	}
	_, err = identity.DisableOperator(ctx, db.DB, operatorEmail)
	kit.Must(t, err)
	_, _, err = s.StartOperatorSession(ctx, "192.0.2.9", operatorEmail, operatorPassword, app.show(t, 0))
	wantErr(t, err, ErrInvalidCredentials)

	reset, err := s.ResetOperator(ctx, operatorEmail)
	kit.Must(t, err)
	_, code, _ = strings.Cut(reset.Link(""), "#")
	_, _, err = s.StartOperatorSession(ctx, "192.0.2.9", operatorEmail, operatorPassword, recovery[4].Reveal())
	wantErr(t, err, ErrInvalidCredentials)
	_, err = s.Enrol(ctx, "192.0.2.9", code, operatorPassword+"!", app.shared, app.show(t, 0))
	kit.Must(t, err)
	_, _, err = s.StartOperatorSession(ctx, "192.0.2.9", operatorEmail, operatorPassword+"!", app.show(t, 1))
	kit.Must(t, err)
}
