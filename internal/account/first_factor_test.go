package account

import (
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
)

// TestFirstFactorOfSignOn checks that a session of single sign-on, whose user may have no password, sets up the first
// second factor soon after the login, and not later.
func TestFirstFactorOfSignOn(t *testing.T) {
	s, db, _ := newService(t)
	ctx := t.Context()
	enroll := func(n byte, age time.Duration) error {
		token := secret.New("a session " + string('a'+rune(n)))
		_, _, err := identity.CreateSignOnToken(ctx, db.DB, identity.SignOn{Issuer: "https://login.example",
			Subject: "ann", Email: email}, identity.NewToken{Digest: secret.SessionDigest(token),
			ExpiresAt: s.Now().Add(time.Hour), Client: identity.ClientConsole, Means: identity.LoginBySingleSignOn})
		kit.Must(t, err)
		session, err := db.Authenticate(ctx, secret.SessionDigest(token))
		kit.Must(t, err)
		db.Clock.Advance(age)
		begun, err := s.BeginEnrollment(ctx, session)
		kit.Must(t, err)
		code, err := hotp.GenerateCode(begun.Secret.Reveal(), uint64(s.Now().Unix()/30))
		kit.Must(t, err)
		_, err = s.ConfirmEnrollment(ctx, session, home, code, Factor{})
		return err
	}
	wantErr(t, enroll(1, FreshSignOn+time.Second), ErrStaleSignOn)
	kit.Must(t, enroll(2, FreshSignOn))
}
