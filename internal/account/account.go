// Package account authenticates users: login, bearer tokens, sessions, passwords and their limits.
//
// Its invariants: every limit is charged atomically, for all replicas, before a password is hashed, and a correct password is
// refunded what it need not pay; holders take turns to have passwords hashed; an unknown e-mail address and a wrong password are
// indistinguishable, also by their time; a token is stored only as its digest; a suspended account gets no token.
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

// ErrInvalidCredentials means that there is no such user or that the password is wrong. It does not say which.
var ErrInvalidCredentials = errors.New("invalid credentials")

// LimitedError means that a limit is exceeded.
type LimitedError struct{ Limit Limit }

func (e *LimitedError) Error() string { return "too many calls" }

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
	DB     *store.DB
	Random io.Reader
	Now    func() time.Time
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
	User    store.User
	Account store.Account
}

// NormalizeEmail returns the form in which e-mail addresses are stored and compared: without surrounding white space and in
// lower case.
func NormalizeEmail(email string) string { return strings.ToLower(strings.TrimSpace(email)) }

// Login checks a password and creates a bearer token. from is the address of the client. It returns the limit in any case. The
// error is [*LimitedError], [ErrInvalidCredentials], [ErrBusy], or [store.ErrSuspended] if the password is correct.
func (s *Service) Login(ctx context.Context, from, email, password string) (Login, Limit, error) {
	return s.login(ctx, from, email, password, secret.NewToken, secret.Digest)
}

// StartSession is [Service.Login] for a browser, with the same limits and errors. It creates the secret of a session, which is not
// a bearer token. A session ends when tokens do: at logout, a change of the password, a suspension, a reset, or after TokenTTL.
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
	user, account, err := a.authenticate(ctx, password, digest(token), expires)
	switch {
	case errors.Is(err, ErrInvalidCredentials):
		return Login{}, a.limit, err
	case errors.Is(err, store.ErrSuspended): // only a caller with the correct password gets this error
		return Login{}, a.limit, errors.Join(err, a.refundFailure(ctx))
	case err != nil:
		return Login{}, a.limit, errors.Join(err, a.cancel(ctx))
	}
	if err := a.rehash(ctx, user, password); err != nil {
		return Login{}, a.limit, err
	}
	return Login{Token: token, Expires: expires, User: user, Account: account}, a.limit, a.refundFailure(ctx, a.trustedSource())
}

// maxComparisons is how often an attempt compares a password: a second time only if the hash has changed between the comparison
// and its use.
const maxComparisons = 2

// authenticate compares the password and creates the token. The error is [ErrInvalidCredentials], [store.ErrSuspended], or the
// reason why the password could not be compared.
func (a *attempt) authenticate(ctx context.Context, password string, digest [32]byte, expires time.Time) (store.User, store.Account, error) {
	for range maxComparisons {
		user, err := a.DB.UserByEmail(ctx, a.email)
		if err != nil && !errors.Is(err, store.ErrNotFound) {
			return store.User{}, store.Account{}, err
		}
		// Without a user the hasher does the same work for a decoy, so that the time reveals nothing.
		right, err := a.Hasher.Matches(ctx, a.turn, user.PasswordHash, password)
		if err != nil {
			return store.User{}, store.Account{}, err
		}
		if !right || user.DisabledAt != nil { // a disabled user gets the same error in the same time
			break
		}
		account, err := a.DB.CreateToken(ctx, user, digest, expires)
		if !errors.Is(err, store.ErrNotFound) {
			return user, account, err
		}
	}
	return store.User{}, store.Account{}, ErrInvalidCredentials
}

// rehash replaces the hash of a correct password if it has a lower cost than is configured. If the hasher is busy, a later login
// does it.
func (a *attempt) rehash(ctx context.Context, user store.User, password string) error {
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
	return nil // the password was changed, or another login has replaced the hash
}
