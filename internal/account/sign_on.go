package account

import (
	"context"
	"errors"
	"strings"
	"time"

	"quittance/internal/account/sso"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// ErrNoUser says that nobody who can log in has the e-mail address of a person whom the OpenID provider has logged in.
var ErrNoUser = errors.New("no user has this e-mail address")

// SignOn creates a session for the person whom an OpenID provider has logged in, which identify finds out. attempt
// names the attempt to log in, which succeeds or fails once, on whichever replica; userAgent is the User-Agent of the
// request. The limits of logins that depend on the source alone apply. The error is that of identify, [*LimitedError],
// [sso.ErrState] for an attempt that was used, [ErrNoUser], [identity.ErrOtherSubject] or [identity.ErrSuspended]. If
// the login would link a user who has a second factor, the error is [ErrOTPRequired], and SignOn returns a login to be
// completed by [Service.CompleteSession]. If nobody has proved the address, it is [identity.ErrChooseCompany], with a
// login to be completed by [Service.CompleteChoice].
func (s *Service) SignOn(ctx context.Context, from, userAgent string, attempt [32]byte,
	identify func(context.Context) (sso.Identity, error)) (Login, error) {
	a, err := s.beginSignOn(ctx, from, attempt)
	if err != nil {
		return Login{}, err
	}
	person, err := identify(ctx)
	if err != nil {
		return Login{}, err
	}
	email, ok := signOnEmail(person.Email)
	if !ok {
		return Login{}, ErrNoUser
	}
	on := identity.SignOn{Issuer: person.Issuer, Subject: person.Subject, Email: email}
	login, err := s.signOnSession(userAgent, func(token identity.NewToken) (base.User, base.Account, error) {
		return identity.CreateSignOnToken(ctx, s.DB, on, token)
	})
	switch {
	case errors.Is(err, identity.ErrChooseCompany):
		login, err = s.beginChoice(ctx, on)
		return login, errors.Join(identity.ErrChooseCompany, err, a.cancel(ctx))
	case errors.Is(err, identity.ErrSecondFactor):
		login, err = a.beginLogin(ctx, login.User, identity.LoginBySingleSignOn, &on)
		return login, errors.Join(ErrOTPRequired, err, a.cancel(ctx))
	case errors.Is(err, base.ErrNotFound):
		return Login{}, ErrNoUser
	case err != nil:
		return Login{}, err
	}
	return login, a.cancel(ctx)
}

// signOnSession creates a session with a function that stores its token.
func (s *Service) signOnSession(userAgent string,
	create func(identity.NewToken) (base.User, base.Account, error)) (Login, error) {
	token, err := secret.NewSession(s.Random)
	if err != nil {
		return Login{}, err
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	user, account, err := create(identity.NewToken{Digest: secret.SessionDigest(token), ExpiresAt: expires,
		Client: identity.ClientConsole, Means: identity.LoginBySingleSignOn, UserAgent: userAgent})
	return Login{Token: token, Expires: expires, User: user, Account: account}, err
}

// beginChoice stores that a person has to choose the company, and returns the secret that binds the choice to a
// browser.
func (s *Service) beginChoice(ctx context.Context, on identity.SignOn) (Login, error) {
	pending, err := secret.NewChoice(s.Random)
	if err != nil {
		return Login{}, err
	}
	expires := s.Now().Add(identity.SignOnChoiceTTL).UTC().Truncate(time.Microsecond)
	return Login{Pending: pending, Expires: expires}, identity.StoreSignOnChoice(ctx, s.DB,
		secret.ChoiceDigest(pending), on)
}

// FindChoice returns the address of the person of a choice, and the companies to choose from. The error is
// [*LimitedError] or [ErrNoPendingLogin].
func (s *Service) FindChoice(ctx context.Context, from string,
	pending secret.Text) (email string, companies []identity.AddressCompany, err error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return "", nil, err
	}
	email, companies, err = identity.FindSignOnChoice(ctx, s.DB, secret.ChoiceDigest(pending))
	if errors.Is(err, base.ErrNotFound) {
		return "", nil, ErrNoPendingLogin
	}
	return email, companies, errors.Join(err, a.cancel(ctx))
}

// CompleteChoice starts the session of a person who has chosen a company. The user there who has the address has proved
// it now, and what anybody has logged in with as this user until now ends. The error is [*LimitedError],
// [ErrNoPendingLogin], [identity.ErrOtherSubject] or [identity.ErrSuspended].
func (s *Service) CompleteChoice(ctx context.Context, from, userAgent string, pending secret.Text,
	of base.ID) (Login, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return Login{}, err
	}
	login, err := s.signOnSession(userAgent, func(token identity.NewToken) (base.User, base.Account, error) {
		return identity.CompleteSignOnChoice(ctx, s.DB, secret.ChoiceDigest(pending), of, token)
	})
	if errors.Is(err, base.ErrNotFound) {
		return Login{}, ErrNoPendingLogin
	}
	if err != nil {
		return Login{}, errors.Join(err, a.cancel(ctx))
	}
	return login, a.cancel(ctx)
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
	_, err := s.DB.AcquireLimits(ctx, base.LimitUse{Key: limitKey("sign-on", string(id[:])), Max: 1,
		Window: 2 * sso.AttemptTTL})
	if _, used := errors.AsType[*base.LimitExceededError](err); used {
		return nil, sso.ErrState
	}
	return a, err
}

// signOnEmail returns an e-mail address in the form in which users' addresses are stored. It returns false for an
// address that would be compared with others than itself: the lower case of U+212A KELVIN SIGN is the letter k, and at
// the provider such an address may belong to somebody else.
func signOnEmail(email string) (string, bool) {
	folded := strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, email)
	return folded, folded == NormalizeEmail(email)
}
