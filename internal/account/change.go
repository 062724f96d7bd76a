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

// ChangePassword replaces the password of a session's user and revokes the user's other tokens. A wrong current
// password counts as a failed login, so that a stolen token is no way to guess it. The caller has checked the length of
// the new one. It returns the limit in any case, and [*LimitedError], [ErrWrongPassword], [ErrCommonPassword] or
// [ErrSamePassword].
func (s *Service) ChangePassword(ctx context.Context, session store.Session, source, current, chosen string) (Limit, error) {
	user, err := s.DB.User(ctx, session)
	if err != nil {
		return Limit{}, err
	}
	limit, err := s.stand(ctx, source, user.Email)
	if err != nil {
		return limit, err
	}
	right, err := s.Hasher.Matches(ctx, user.PasswordHash, current)
	if err != nil {
		return limit, err
	}
	if !right {
		limit, err := s.spend(ctx, source, user.Email)
		if _, limited := errors.AsType[*LimitedError](err); err != nil && !limited {
			return limit, err
		}
		return limit, errors.Join(ErrWrongPassword, s.failed(ctx, user.Email))
	}
	if chosen == current {
		return limit, ErrSamePassword
	}
	if Common(chosen) {
		return limit, ErrCommonPassword
	}
	hash, err := s.Hasher.Hash(ctx, chosen)
	if err != nil {
		return limit, err
	}
	return limit, s.DB.SetPassword(ctx, session.Account.ID, user.ID, hash, &session.Digest)
}

// stand tells how a source stands with the logins for an e-mail address, without counting one: a right password is no
// failed login.
func (s *Service) stand(ctx context.Context, source, email string) (Limit, error) {
	if s.LoginRate == 0 {
		return Limit{}, nil
	}
	used, end, err := s.DB.Spent(ctx, limitKey("login", source, email))
	if err != nil || used == 0 {
		return Limit{}, err
	}
	limit := Limit{Max: s.LoginRate, Remaining: max(0, s.LoginRate-used), Reset: max(0, end.Sub(s.Now()))}
	if used >= s.LoginRate {
		return limit, &LimitedError{Limit: limit}
	}
	return limit, nil
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
