package account

import (
	"context"
	_ "embed"
	"errors"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// passwordChanges is how often a day a user may change the password. Each change sends an e-mail, and gives back what
// it has used of the limits of logins.
const passwordChanges = 10

// common lists passwords that many people choose, of 15 characters or more, in lower case, one per line.
//
//go:embed common.txt
var common string

// The errors of a change of the password.
var (
	ErrWrongPassword  = errors.New("the current password is wrong")
	ErrCommonPassword = errors.New("the new password is a common one")
	ErrSamePassword   = errors.New("the new password is the current one")
)

// ChangePassword replaces the password of a session's user and revokes the user's other tokens. The limits of logins
// apply, and a wrong current password counts as a failed login, so that a stolen token does not help to guess the
// password. The caller has checked the length of the new password. ChangePassword returns the limit in any case. The
// error is [*LimitedError], [ErrWrongPassword], [ErrCommonPassword], [ErrSamePassword], [ErrBusy], or
// [identity.ErrSessionEnded] if the session was revoked meanwhile, for instance by an operator's reset, which a change
// never undoes.
func (s *Service) ChangePassword(ctx context.Context, session base.Session, from, current,
	chosen string) (Limit, error) {
	user, err := identity.FindUserOf(ctx, s.DB, session)
	if err != nil {
		return Limit{}, err
	}
	a, err := s.begin(ctx, from, user.Email, user)
	if err != nil {
		return limitOf(err), err
	}
	a.turn = Turn{Holder: "company " + session.Account.ID.String(), Known: true}
	err = a.change(ctx, session, user, current, chosen)
	switch {
	case err == nil:
		a.limit.Remaining++ // refunded in the transaction of the change
	case !errors.Is(err, ErrWrongPassword):
		err = errors.Join(err, a.cancel(ctx))
	}
	return a.limit, err
}

// change compares the current password and stores the new one.
func (a *attempt) change(ctx context.Context, session base.Session, user base.User, current, chosen string) error {
	for range maxComparisons {
		right, err := a.Hasher.Matches(ctx, a.turn, user.PasswordHash, current)
		if err != nil {
			return err
		}
		if !right {
			break
		}
		if chosen == current {
			return ErrSamePassword
		}
		if Common(chosen) {
			return ErrCommonPassword
		}
		if err := a.replace(ctx, session, user, chosen); !errors.Is(err, identity.ErrPasswordChanged) {
			return err
		}
		if user, err = identity.FindUserOf(ctx, a.DB, session); err != nil {
			return err
		}
	}
	return ErrWrongPassword
}

// replace stores the new password of a user, if the user may change it once more today.
func (a *attempt) replace(ctx context.Context, session base.Session, user base.User, chosen string) error {
	charged, err := a.chargeDaily(ctx, "password-changes", user.ID, passwordChanges)
	if err != nil {
		return err
	}
	hash, err := a.Hasher.Hash(ctx, a.turn, chosen)
	if err == nil {
		err = identity.ChangePassword(ctx, a.DB, session, user.PasswordHash, hash, a.spent...)
	}
	if err != nil {
		return errors.Join(err, a.DB.ReleaseLimits(context.WithoutCancel(ctx), charged))
	}
	return nil
}

// chargeDaily charges a limit of what a user may do in 24 hours. The error is a [*LimitedError].
func (s *Service) chargeDaily(ctx context.Context, kind string, user base.ID, most int64) ([]base.LimitUsage, error) {
	charged, err := s.DB.AcquireLimits(ctx, base.LimitUse{Key: limitKey(kind, user.String()), Max: most,
		Window: 24 * time.Hour})
	return charged, s.limitedError(most, err)
}

// limitedError converts a [*base.LimitExceededError] of a limit to a [*LimitedError].
func (s *Service) limitedError(most int64, err error) error {
	if exhausted, ok := errors.AsType[*base.LimitExceededError](err); ok {
		limit := s.limitStatus(most, exhausted.Usage)
		limit.Remaining = 0
		return &LimitedError{Limit: limit}
	}
	return err
}

// Common reports whether a password, ignoring case, is on the list of common passwords or repeats a single character.
func Common(password string) bool {
	folded := strings.ToLower(password)
	for line := range strings.Lines(common) {
		if strings.TrimSuffix(line, "\n") == folded {
			return true
		}
	}
	return folded != "" && strings.Trim(folded, folded[:1]) == ""
}
