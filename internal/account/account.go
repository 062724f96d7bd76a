// Package account authenticates users: login, bearer tokens, sessions, passwords and their limits. It also creates API
// keys.
//
// Its invariants: every limit is charged atomically, for all replicas, before a password is hashed, and a correct
// password is refunded what it need not pay; holders take turns to have passwords hashed; an unknown e-mail address and
// a wrong password are indistinguishable, also by their time; a token is stored only as its digest; a suspended account
// gets no token.
//
// Start reading at [Service.Login].
package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// ErrInvalidCredentials means that there is no such user or that the password is wrong. It does not say which.
var ErrInvalidCredentials = problem.New(api.CodeInvalidCredentials, "invalid credentials")

// LimitedError means that a limit is exceeded.
type LimitedError struct{ Limit Limit }

func (e *LimitedError) Error() string { return "too many calls" }

// Describe returns the problem, which passes when the window ends.
func (e *LimitedError) Describe() *problem.Problem {
	p := problem.For(api.CodeRateLimited).Describe()
	p.RetryAfter = e.Limit.Reset
	return p
}

// limitOf returns the limit of a LimitedError, or the zero Limit for any other error.
func limitOf(err error) Limit {
	if limited, ok := errors.AsType[*LimitedError](err); ok {
		return limited.Limit
	}
	return Limit{}
}

// Limit is the state of a limit for a caller.
type Limit struct {
	// Max is the number of calls in a window; Remaining is how many of them are left, from 0.
	Max, Remaining int64
	// Reset is how long until the window ends.
	Reset time.Duration
}

// Service logs users in. It is safe for concurrent use.
type Service struct {
	DB     *base.DB
	Random io.Reader
	Now    func() time.Time
	// Environment is the environment that is served: local, sandbox or production.
	Environment string
	// TokenTTL is how long a token lives.
	TokenTTL time.Duration
	// LoginRate is how many logins a minute one source may try for one e-mail address; 0 disables every login limit.
	LoginRate int64
	// Hasher hashes passwords.
	Hasher *Hasher
}

// Login is a successful login.
type Login struct {
	Token   secret.Text
	Expires time.Time
	// Pending is the secret of a login in a browser that only lacks the second factor; Expires is when it ends. The other
	// fields are zero.
	Pending secret.Text
	User    base.User
	Account base.Account
}

// Credentials is what a user logs in with.
type Credentials struct {
	Email, Password string
	// Account is the account to log in to; the zero ID for any. It is needed only if several users have the address and
	// the same password: without it, the one who has proved the address is meant, or else the one who was added first.
	Account base.ID
	// Means is how the user has got the password: typed in, which is the default, or from a login link.
	Means base.LoginMeans
	// OTP is a code of an authenticator app or a recovery code, for a user with a second factor. A user who has only
	// passkeys has only recovery codes here.
	OTP string
	// UserAgent is the User-Agent of the request, by which people recognize the session.
	UserAgent string
}

// NormalizeEmail returns the form in which e-mail addresses are stored and compared: without surrounding white space
// and in lower case.
func NormalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Login checks a password and creates a bearer token. from is the address of the client. It returns the limit in any
// case. The error is [*LimitedError], [ErrInvalidCredentials], [ErrBusy], or if the password is correct,
// [identity.ErrSuspended], [identity.ErrSignOnRequired], [identity.ErrFactorRequired] or [ErrOTPRequired].
func (s *Service) Login(ctx context.Context, from string, given Credentials) (Login, Limit, error) {
	return s.login(ctx, from, given, identity.ClientAPI, secret.NewToken, secret.Digest)
}

// StartSession is [Service.Login] for a browser, with the same limits and errors. It creates the secret of a session,
// which is not a bearer token. A session ends when tokens do: at logout, a change of the password, a suspension, a
// reset, or after TokenTTL. With [ErrOTPRequired] it returns a login to be completed by [Service.CompleteSession].
func (s *Service) StartSession(ctx context.Context, from string, given Credentials) (Login, Limit, error) {
	return s.login(ctx, from, given, identity.ClientConsole, secret.NewSession, secret.SessionDigest)
}

func (s *Service) login(ctx context.Context, from string, given Credentials, client identity.SessionClient,
	draw func(io.Reader) (secret.Text, error), digest func(secret.Text) [32]byte) (Login, Limit, error) {
	email := NormalizeEmail(given.Email)
	known, err := s.DB.UsersToLogIn(ctx, email, given.Account)
	if err != nil {
		return Login{}, Limit{}, err
	}
	a, err := s.begin(ctx, from, email, known...)
	if err != nil {
		return Login{}, limitOf(err), err
	}
	token, err := draw(s.Random)
	if err != nil {
		return Login{}, a.limit, errors.Join(fmt.Errorf("make a token: %w", err), a.cancel(ctx))
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	user, account, err := a.authenticate(ctx, given,
		identity.NewToken{Digest: digest(token), ExpiresAt: expires, Client: client,
			Means: cmp.Or(given.Means, identity.LoginByPassword), UserAgent: given.UserAgent})
	switch {
	case errors.Is(err, ErrInvalidCredentials):
		return Login{}, a.limit, err
	// only a caller with the correct password gets this error
	case errors.Is(err, identity.ErrSuspended), errors.Is(err, identity.ErrSignOnRequired),
		errors.Is(err, identity.ErrFactorRequired):
		return Login{}, a.limit, errors.Join(err, a.refundFailure(ctx))
	case errors.Is(err, ErrOTPRequired): // as above
		return a.requireOTP(ctx, user, given, client)
	case err != nil:
		return Login{}, a.limit, errors.Join(err, a.cancel(ctx))
	}
	if err := a.rehash(ctx, user, given.Password); err != nil {
		return Login{}, a.limit, err
	}
	return Login{Token: token, Expires: expires, User: user, Account: account}, a.limit,
		a.refundFailure(ctx, a.completed()...)
}

// requireOTP ends a login with the correct password that lacks the second factor. One in a browser can be completed.
func (a *attempt) requireOTP(ctx context.Context, user base.User, given Credentials,
	client identity.SessionClient) (Login, Limit, error) {
	var pending Login
	var err error
	if client == identity.ClientConsole {
		pending, err = a.beginLogin(ctx, user, cmp.Or(given.Means, identity.LoginByPassword), nil)
	}
	return pending, a.limit, errors.Join(ErrOTPRequired, err, a.refundFailure(ctx))
}

// maxComparisons is how often an attempt compares a password: a second time only if the hash has changed between the
// comparison and its use.
const maxComparisons = 2

// authenticate compares the password, then the code of the second factor, and creates the token. The error is
// [ErrInvalidCredentials], [identity.ErrSuspended], [ErrOTPRequired], which comes with the user, or the reason why the
// password could not be compared.
func (a *attempt) authenticate(ctx context.Context, given Credentials,
	add identity.NewToken) (base.User, base.Account, error) {
	for range maxComparisons {
		user, err := a.matchingUser(ctx, given)
		if err != nil {
			return base.User{}, base.Account{}, err
		}
		a.trust = trustOf(user)
		// Only who knows the password causes a look-up of the second factor, so that the time reveals nothing about it to
		// others.
		if add.Proof, err = a.proveFactor(ctx, user, Factor{Code: given.OTP}, ceremony{}); err != nil {
			return user, base.Account{}, err
		}
		account, err := identity.CreateToken(ctx, a.DB, user, add)
		if errors.Is(err, identity.ErrSecondFactor) {
			err = ErrOTPRequired
		}
		if !errors.Is(err, base.ErrNotFound) {
			return user, account, err
		}
	}
	return base.User{}, base.Account{}, ErrInvalidCredentials
}

// charged returns 0 for a user for whom the source is exempt from the failure limit of the address, and otherwise 1.
func (a *attempt) charged(user base.User) int {
	if a.exempt[trustOf(user)] {
		return 0
	}
	return 1
}

// matchingUser returns the user with the address and the password. The error is [ErrInvalidCredentials] or the reason
// why the password could not be compared.
func (a *attempt) matchingUser(ctx context.Context, given Credentials) (base.User, error) {
	users, err := a.DB.UsersToLogIn(ctx, a.email, given.Account)
	if err != nil {
		return base.User{}, err
	}
	if len(users) == 0 {
		users = []base.User{{}} // the hasher does the same work for a decoy, so that the time reveals nothing
	}
	slices.SortStableFunc(users, func(x, y base.User) int { return cmp.Compare(a.charged(x), a.charged(y)) })
	for _, user := range users {
		if a.charged(user) > 0 {
			if err := a.chargeFailure(ctx); err != nil {
				return base.User{}, err
			}
		}
		right, err := a.Hasher.Matches(ctx, a.turn, user.PasswordHash, given.Password)
		if err != nil || right {
			return user, err
		}
	}
	return base.User{}, ErrInvalidCredentials
}

// rehash replaces the hash of a correct password if it has a lower cost than is configured. If the hasher is busy, a
// later login does it.
func (a *attempt) rehash(ctx context.Context, user base.User, password string) error {
	if !a.Hasher.Outdated(user.PasswordHash) {
		return nil
	}
	hash, err := a.Hasher.Hash(ctx, a.turn, password)
	if errors.Is(err, ErrBusy) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := identity.Rehash(ctx, a.DB, user, hash); !errors.Is(err, identity.ErrPasswordChanged) {
		return err
	}
	return nil // the password was changed, or another login has replaced the hash
}
