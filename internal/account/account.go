// Package account is who may use the service: login, bearer tokens, sessions, passwords and their limits.
//
// Its invariants: limits are counted before a password is hashed and shared by all replicas; an unknown e-mail address
// and a wrong password differ in nothing, time included; a token is kept only as its digest; a suspended account gets
// no token (specification, part 5; contract, section 3).
//
// Start reading at [Service.Login].
package account

import (
	"context"
	"crypto/sha256"
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

// The fixed login limits beside Service.LoginRate (contract, section 3).
const (
	sourceRate     = 100 // logins a minute from one source
	failureRate    = 100 // failures an hour for one e-mail address
	failureWindow  = time.Hour
	loginWindow    = time.Minute
	trustedForDays = 30 * 24 * time.Hour // a source that succeeded for an e-mail address is exempt from its failure limit
)

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

// Login checks a password and makes a bearer token. source is the caller's address. It returns the limit in any case, and
// [*LimitedError], [ErrInvalidCredentials] or [store.ErrSuspended] (with the right password only).
func (s *Service) Login(ctx context.Context, source, email, password string) (Login, Limit, error) {
	return s.login(ctx, source, email, password, secret.NewToken, secret.Digest)
}

// StartSession is [Service.Login] for a browser: under the same limits, with the same answers, and what it makes is the
// secret of a session, which is no bearer token. It ends when tokens do: at logout, a change of the password, a
// suspension, a reset, or after TokenTTL.
func (s *Service) StartSession(ctx context.Context, source, email, password string) (Login, Limit, error) {
	return s.login(ctx, source, email, password, secret.NewSession, secret.SessionDigest)
}

func (s *Service) login(ctx context.Context, source, email, password string, draw func(io.Reader) (secret.Text, error), digest func(secret.Text) [32]byte) (Login, Limit, error) {
	email = NormalizeEmail(email)
	limit, err := s.spend(ctx, source, email)
	if err != nil {
		return Login{}, limit, err
	}
	user, err := s.DB.UserByEmail(ctx, email)
	if err != nil && !errors.Is(err, store.ErrNotFound) {
		return Login{}, limit, err
	}
	// Without a user the same work is done on a hash that no password has, so that time tells nothing.
	right, err := s.Hasher.Matches(ctx, user.PasswordHash, password)
	if err != nil {
		return Login{}, limit, err
	}
	if !right {
		return Login{}, limit, errors.Join(ErrInvalidCredentials, s.failed(ctx, email))
	}
	token, err := draw(s.Random)
	if err != nil {
		return Login{}, limit, fmt.Errorf("make a token: %w", err)
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	account, err := s.DB.CreateToken(ctx, user, digest(token), expires)
	if errors.Is(err, store.ErrNotFound) { // the password was changed since it was compared
		return Login{}, limit, ErrInvalidCredentials
	}
	if err != nil {
		return Login{}, limit, err
	}
	return Login{Token: token, Expires: expires, User: user, Account: account}, limit, s.succeeded(ctx, source, email)
}

// spend counts a login against its limits before anything else is done for it.
func (s *Service) spend(ctx context.Context, source, email string) (Limit, error) {
	if s.LoginRate == 0 {
		return Limit{}, nil
	}
	own, err := s.count(ctx, s.LoginRate, loginWindow, "login", source, email)
	if err != nil {
		return own, err
	}
	if all, err := s.count(ctx, sourceRate, loginWindow, "source", source); err != nil {
		return all, err
	}
	trusted, _, err := s.DB.Spent(ctx, limitKey("trusted", source, email))
	if err != nil || trusted > 0 {
		return own, err
	}
	failures, end, err := s.DB.Spent(ctx, limitKey("failures", email))
	if err != nil {
		return own, err
	}
	if failures >= failureRate {
		limit := Limit{Max: failureRate, Reset: max(0, end.Sub(s.Now()))}
		return limit, &LimitedError{Limit: limit}
	}
	return own, nil
}

// count spends one of rate uses in a window of the limit that parts name.
func (s *Service) count(ctx context.Context, rate int64, window time.Duration, parts ...string) (Limit, error) {
	used, end, err := s.DB.Spend(ctx, limitKey(parts...), window)
	if err != nil {
		return Limit{}, err
	}
	limit := Limit{Max: rate, Remaining: max(0, rate-used), Reset: max(0, end.Sub(s.Now()))}
	if used > rate {
		return limit, &LimitedError{Limit: limit}
	}
	return limit, nil
}

func (s *Service) failed(ctx context.Context, email string) error {
	if s.LoginRate == 0 {
		return nil
	}
	_, _, err := s.DB.Spend(ctx, limitKey("failures", email), failureWindow)
	return err
}

func (s *Service) succeeded(ctx context.Context, source, email string) error {
	if s.LoginRate == 0 {
		return nil
	}
	return s.DB.Renew(ctx, limitKey("trusted", source, email), trustedForDays)
}

// limitKey names a limit by a digest, so that no address stands in the database in clear.
func limitKey(parts ...string) [32]byte {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return [32]byte(hash.Sum(nil))
}
