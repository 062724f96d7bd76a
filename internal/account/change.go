package account

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"quittance/internal/store"
)

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

// ChangePassword replaces the password of a session's user and revokes the user's other tokens. The limits of logins apply, and a
// wrong current password counts as a failed login, so that a stolen token does not help to guess the password. The caller has
// checked the length of the new password. ChangePassword returns the limit in any case. The error is [*LimitedError],
// [ErrWrongPassword], [ErrCommonPassword], [ErrSamePassword], [ErrBusy], or [store.ErrSessionEnded] if the session was revoked
// meanwhile, for instance by an operator's reset, which a change never undoes.
func (s *Service) ChangePassword(ctx context.Context, session store.Session, from, current, chosen string) (Limit, error) {
	user, err := s.DB.User(ctx, session)
	if err != nil {
		return Limit{}, err
	}
	a, err := s.begin(ctx, from, user.Email)
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
func (a *attempt) change(ctx context.Context, session store.Session, user store.User, current, chosen string) error {
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
		hash, err := a.Hasher.Hash(ctx, a.turn, chosen)
		if err != nil {
			return err
		}
		if err := a.DB.ChangePassword(ctx, session, user.PasswordHash, hash, a.spent...); !errors.Is(err, store.ErrPasswordChanged) {
			return err
		}
		if user, err = a.DB.User(ctx, session); err != nil {
			return err
		}
	}
	return ErrWrongPassword
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
