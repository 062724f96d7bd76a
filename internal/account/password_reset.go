package account

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// ResetPath is the path of the page on which a user who has forgotten the password chooses a new one, with the link
// from an e-mail.
const ResetPath = "/reset"

// MaxResets is how many links for a new password are sent to one e-mail address in an hour, whoever asks for them.
const MaxResets = 5

// ErrReset says that a link for a new password cannot be used. It does not say why.
var ErrReset = errors.New("the link for a new password cannot be used")

// RequestPasswordReset queues an e-mail with a link to choose a new password, for the user with this address, in a
// language such as en. Neither the result nor the work depends on whether there is such a user:
// [Service.AnswerResetRequests] finds out later. After [MaxResets] requests for an address in an hour, others have no
// effect. The limits of logins that depend on the source apply. The error is [ErrEmail] or [*LimitedError].
func (s *Service) RequestPasswordReset(ctx context.Context, from, email, language string) error {
	email, err := ParseEmail(email)
	if err != nil {
		return err
	}
	a := &attempt{Service: s, from: source.Parse(from), email: email}
	if s.LoginRate > 0 {
		if err := a.charge(ctx, a.sourceUses("reset", email)); err != nil {
			return err
		}
	}
	_, err = s.DB.AcquireLimits(ctx, base.LimitUse{Key: limitKey("resets", email), Max: MaxResets, Window: time.Hour})
	if _, exceeded := errors.AsType[*base.LimitExceededError](err); exceeded {
		return nil // whoever has the mailbox has enough links, the last of which works
	}
	if err != nil {
		return err
	}
	return identity.RequestPasswordReset(ctx, s.DB, identity.ResetRequest{Email: email, Language: language})
}

// AnswerResetRequests answers the requests that wait; see [identity.AnswerResetRequest].
func (s *Service) AnswerResetRequests(ctx context.Context) error {
	for ctx.Err() == nil {
		if found, err := identity.AnswerResetRequest(ctx, s.DB, s.newReset); err != nil || !found {
			return err
		}
	}
	return ctx.Err()
}

func (s *Service) newReset() (identity.NewReset, error) {
	code, err := secret.NewReset(s.Random)
	return identity.NewReset{Secret: code, Digest: secret.ResetDigest(code)}, err
}

// SendPasswordReset sends a user a link, for an administrator. The error is one of [identity.SendPasswordReset].
func (s *Service) SendPasswordReset(ctx context.Context, user base.User) error {
	add, err := s.newReset()
	if err != nil {
		return err
	}
	return identity.SendPasswordReset(ctx, s.DB, user, add)
}

// FindPasswordReset returns the user of the link with a secret. The error is [*LimitedError] or [ErrReset]; an unknown
// secret counts towards the login limits of its source.
func (s *Service) FindPasswordReset(ctx context.Context, from, code string) (base.User, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return base.User{}, err
	}
	user, err := identity.UsablePasswordReset(ctx, s.DB, secret.ResetDigest(secret.New(code)))
	if errors.Is(err, base.ErrNotFound) {
		return base.User{}, ErrReset
	}
	return user, errors.Join(err, a.cancel(ctx))
}

// CompletePasswordReset uses up the link with a secret: its user gets the chosen password and has to log in with it,
// with a second factor if the user has one. All sessions and tokens of the user end. Whoever uses the link has proved
// the address. The error is [*LimitedError], [ErrReset], [ErrPasswordLength], [ErrCommonPassword], [ErrSamePassword] or
// [ErrBusy]; after the last four the link still works. [ErrSamePassword] counts towards the limits like an unknown
// secret, so that a link does not help to guess the present password.
func (s *Service) CompletePasswordReset(ctx context.Context, from, code, chosen string) error {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return err
	}
	user, err := a.completeReset(ctx, secret.ResetDigest(secret.New(code)), chosen)
	switch {
	case errors.Is(err, base.ErrNotFound):
		return ErrReset
	case errors.Is(err, ErrSamePassword):
		return err
	case err != nil:
		return errors.Join(err, a.cancel(ctx))
	case s.LoginRate == 0:
		return nil
	}
	// The next login from this source is not refused because of the failures of others: who has the mailbox is the user.
	a.email, a.trust = user.Email, trustOf(user)
	return s.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent, a.resetSource())
}

// completeReset checks the chosen password, stores it, and returns the user.
func (a *attempt) completeReset(ctx context.Context, digest [32]byte, chosen string) (base.User, error) {
	user, err := identity.UsablePasswordReset(ctx, a.DB, digest) // before any work for the password
	if err == nil {
		err = checkNewPassword(chosen)
	}
	if err == nil && user.ProvedAt != nil { // otherwise the present password may be that of somebody else
		var same bool
		if same, err = a.Hasher.Matches(ctx, a.turn, user.PasswordHash, chosen); err == nil && same {
			err = ErrSamePassword
		}
	}
	if err != nil {
		return base.User{}, err
	}
	hash, err := a.Hasher.Hash(ctx, a.turn, chosen)
	if err != nil {
		return base.User{}, err
	}
	return identity.CompletePasswordReset(ctx, a.DB, digest, hash)
}
