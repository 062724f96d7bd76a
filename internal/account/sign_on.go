package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"quittance/internal/secret"
	"quittance/internal/source"
	"quittance/internal/sso"
	"quittance/internal/store"
)

// ErrNoUser says that nobody who can log in has the e-mail address of a person whom the OpenID provider has logged in.
var ErrNoUser = errors.New("no user has this e-mail address")

// SignOn creates a session for the person whom an OpenID provider has logged in, which identify finds out. attempt names the attempt to log
// in, which succeeds or fails once, on whichever replica; userAgent is the User-Agent of the request. The limits of logins that depend on the source alone apply. The error is that of
// identify, [*LimitedError], [sso.ErrState] for an attempt that was used, [ErrNoUser], [store.ErrOtherSubject] or [store.ErrSuspended]. If the login
// would link a user who has a second factor, the error is [ErrOTPRequired], and SignOn returns a login to be completed by [Service.CompleteSession].
func (s *Service) SignOn(ctx context.Context, from, userAgent string, attempt [32]byte, identify func(context.Context) (sso.Identity, error)) (Login, error) {
	a, err := s.beginSignOn(ctx, from, attempt)
	if err != nil {
		return Login{}, err
	}
	identity, err := identify(ctx)
	if err != nil {
		return Login{}, err
	}
	email, ok := signOnEmail(identity.Email)
	if !ok {
		return Login{}, ErrNoUser
	}
	token, err := secret.NewSession(s.Random)
	if err != nil {
		return Login{}, err
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	on := store.SignOn{Issuer: identity.Issuer, Subject: identity.Subject, Email: email}
	user, account, err := s.DB.CreateSignOnToken(ctx, on, store.NewToken{
		Digest: secret.SessionDigest(token), ExpiresAt: expires, Client: store.ClientConsole, Means: store.LoginBySingleSignOn, UserAgent: userAgent})
	switch {
	case errors.Is(err, store.ErrNotFound):
		return Login{}, ErrNoUser
	case errors.Is(err, store.ErrSecondFactor):
		pending, err := a.beginLogin(ctx, user, store.LoginBySingleSignOn, &on)
		return pending, errors.Join(ErrOTPRequired, err, a.cancel(ctx))
	case err != nil:
		return Login{}, err
	}
	return Login{Token: token, Expires: expires, User: user, Account: account}, a.cancel(ctx)
}

// beginSignOn charges the limits of logins that depend on the source alone, and uses the attempt up.
func (s *Service) beginSignOn(ctx context.Context, from string, id [32]byte) (*attempt, error) {
	a := &attempt{Service: s, from: source.Parse(from)}
	if s.LoginRate > 0 {
		// Not Service.LoginRate, which is for one e-mail address: a whole company may come from one source.
		if err := a.charge(ctx, a.sourceUses("sign-on")[1:]); err != nil {
			return nil, err
		}
	}
	_, err := s.DB.AcquireLimits(ctx, store.LimitUse{Key: limitKey("sign-on", string(id[:])), Max: 1, Window: 2 * sso.AttemptTTL})
	if _, used := errors.AsType[*store.LimitExceededError](err); used {
		return nil, sso.ErrState
	}
	return a, err
}

// signOnEmail returns an e-mail address in the form in which users' addresses are stored. It returns false for an address that would be
// compared with others than itself: the lower case of U+212A KELVIN SIGN is the letter k, and at the provider such an address may
// belong to somebody else.
func signOnEmail(email string) (string, bool) {
	folded := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, email)
	return folded, folded == NormalizeEmail(email)
}
