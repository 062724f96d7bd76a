// Package account is who may use the service: login, bearer tokens, sessions, passwords and their limits.
//
// Its invariants: every limit is spent before a password is hashed, atomically and shared by all replicas, and what a right
// password needs not count is given back; hashes are computed by turns; an unknown e-mail address and a wrong password
// differ in nothing, time included; a token is kept only as its digest; a suspended account gets no token (specification,
// part 5; contract, section 3).
//
// Start reading at [Service.Login].
package account

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
)

// ErrInvalidCredentials says that there is no such user or that the password is wrong; which of both is not told.
var ErrInvalidCredentials = errors.New("invalid credentials")

// LimitedError says that a limit is exceeded.
type LimitedError struct{ Limit Limit }

func (e *LimitedError) Error() string { return "too many calls" }

// limitOf is the limit that an error names, the zero Limit when it names none.
func limitOf(err error) Limit {
	if limited, ok := errors.AsType[*LimitedError](err); ok {
		return limited.Limit
	}
	return Limit{}
}

// Limit is how a caller stands with the limit that is nearest to its end.
type Limit struct {
	// Max is how many are allowed in a window, Remaining how many of them are left, from 0.
	Max, Remaining int64
	// Reset is how long until the window ends.
	Reset time.Duration
}

// Service logs users in. It is safe for concurrent use.
type Service struct {
	DB     *store.DB
	Random io.Reader
	Now    func() time.Time
	// TokenTTL is how long a token lives.
	TokenTTL time.Duration
	// LoginRate is how many logins a minute one source may try for one e-mail address; 0 switches every login limit off.
	LoginRate int64
	// Hasher hashes passwords.
	Hasher *Hasher
}

// Login is a successful login.
type Login struct {
	Token   secret.Text
	Expires time.Time
	User    store.User
	Account store.Account
}

// NormalizeEmail is the form in which e-mail addresses are stored and compared: without surrounding white space, in
// lower case.
func NormalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Login checks a password and makes a bearer token. from is the caller's address. It returns the limit in any case, and
// [*LimitedError], [ErrInvalidCredentials], [ErrBusy] or [store.ErrSuspended] (with the right password only).
func (s *Service) Login(ctx context.Context, from, email, password string) (Login, Limit, error) {
	return s.login(ctx, from, email, password, secret.NewToken, secret.Digest)
}

// StartSession is [Service.Login] for a browser: under the same limits, with the same answers, and what it makes is the
// secret of a session, which is no bearer token. It ends when tokens do: at logout, a change of the password, a
// suspension, a reset, or after TokenTTL.
func (s *Service) StartSession(ctx context.Context, from, email, password string) (Login, Limit, error) {
	return s.login(ctx, from, email, password, secret.NewSession, secret.SessionDigest)
}

func (s *Service) login(ctx context.Context, from, email, password string, draw func(io.Reader) (secret.Text, error), digest func(secret.Text) [32]byte) (Login, Limit, error) {
	email = NormalizeEmail(email)
	a, err := s.begin(ctx, from, email)
	if err != nil {
		return Login{}, limitOf(err), err
	}
	token, err := draw(s.Random)
	if err != nil {
		return Login{}, a.limit, errors.Join(fmt.Errorf("make a token: %w", err), a.cancel(ctx))
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	user, account, err := a.enter(ctx, password, digest(token), expires)
	switch {
	case errors.Is(err, ErrInvalidCredentials):
		return Login{}, a.limit, err
	case errors.Is(err, store.ErrSuspended): // only the right password learns this
		return Login{}, a.limit, errors.Join(err, a.notFailed(ctx))
	case err != nil:
		return Login{}, a.limit, errors.Join(err, a.cancel(ctx))
	}
	if err := a.strengthen(ctx, user, password); err != nil {
		return Login{}, a.limit, err
	}
	return Login{Token: token, Expires: expires, User: user, Account: account}, a.limit, a.notFailed(ctx, a.trust())
}

// looks is how often a password is compared at one attempt: a second time only where the hash was made anew, or changed,
// between the comparison and its use.
const looks = 2

// enter compares the password and makes the token. It returns [ErrInvalidCredentials], [store.ErrSuspended], or why the
// password could not be compared.
func (a *attempt) enter(ctx context.Context, password string, digest [32]byte, expires time.Time) (store.User, store.Account, error) {
	for range looks {
		user, err := a.DB.UserByEmail(ctx, a.email)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return store.User{}, store.Account{}, err
		}
		// Without a user the same work is done on a hash that no password has, so that time tells nothing.
		right, err := a.Hasher.Matches(ctx, a.turn, user.PasswordHash, password)
		if err != nil {
			return store.User{}, store.Account{}, err
		}
		if !right || user.DisabledAt != nil { // who is disabled is told nothing, and takes no longer than anybody else
			break
		}
		account, err := a.DB.CreateToken(ctx, user, digest, expires)
		if !errors.Is(err, store.ErrNotFound) {
			return user, account, err
		}
	}
	return store.User{}, store.Account{}, ErrInvalidCredentials
}

// strengthen makes the hash of a right password anew where it costs less than is configured. When there is no turn for
// that, the next login does it.
func (a *attempt) strengthen(ctx context.Context, user store.User, password string) error {
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
	if err := a.DB.Rehash(ctx, user, hash); !errors.Is(err, store.ErrPasswordChanged) {
		return err
	}
	return nil // it has another password, or another login was quicker
}
