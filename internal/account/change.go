package account

import (
	"context"
	_ "embed"
	"errors"
	"strings"

	"quittance/internal/store"
)

// common are passwords that many people choose, 15 characters and more, in lower case, one a line.
//
//go:embed common.txt
var common string

// The refusals of a new password.
var (
	ErrWrongPassword  = errors.New("the current password is wrong")
	ErrCommonPassword = errors.New("the password is a common one")
	ErrSamePassword   = errors.New("the password is the old one")
)

// ChangePassword replaces the password of a session's user and revokes the user's other tokens. It is an attempt under
// every limit of a login, and a wrong current password counts as a failed one, so that a stolen token is no way to guess
// it. The caller has checked the length of the new one. It returns the limit in any case, and [*LimitedError],
// [ErrWrongPassword], [ErrCommonPassword], [ErrSamePassword], [ErrBusy], or [store.ErrSessionEnded] when the session was
// revoked meanwhile, for instance by an operator's reset, which a change never undoes.
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
		a.limit.Remaining++ // given back with the change
	case !errors.Is(err, ErrWrongPassword):
		err = errors.Join(err, a.cancel(ctx))
	}
	return a.limit, err
}

// change compares the current password and stores the new one.
func (a *attempt) change(ctx context.Context, session store.Session, user store.User, current, chosen string) error {
	for range looks {
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

// Common tells whether a password is on the list of common ones, whatever its case, or one character over and over.
func Common(password string) bool {
	folded := strings.ToLower(password)
	for line := range strings.Lines(common) {
		if strings.TrimSuffix(line, "\n") == folded {
			return true
		}
	}
	return folded != "" && strings.Trim(folded, folded[:1]) == ""
}
