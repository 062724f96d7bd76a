package account

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// ProvePath is the path of the page on which a user proves the e-mail address, with the link from an e-mail.
const ProvePath = "/prove"

// addressChanges is how often a day the address of a user may be changed: each change causes e-mails.
const addressChanges = 5

var (
	// ErrProof says that a link that proves an address cannot be used by the user who is logged in. It does not say why.
	ErrProof = errors.New("the link that proves the address cannot be used")
	// ErrOwnAddress says that users change their own address with their password.
	ErrOwnAddress = errors.New("the own address is changed with the password")
)

func (s *Service) newProof() (identity.NewProof, error) {
	code, err := secret.NewProof(s.Random)
	return identity.NewProof{Secret: code, Digest: secret.ProofDigest(code)}, err
}

// RequestAddressProof sends the user of a session a link with which to prove the address. The error is [*LimitedError],
// [identity.ErrNoMail] or [identity.ErrSessionEnded].
func (s *Service) RequestAddressProof(ctx context.Context, session base.Session) error {
	proof, err := s.newProof()
	if err != nil {
		return err
	}
	err = identity.RequestAddressProof(ctx, session.Tenant, session, proof)
	if errors.Is(err, identity.ErrMailLimited) {
		err = &LimitedError{Limit: Limit{Max: identity.MaxMailsTo, Reset: 24 * time.Hour}}
	}
	return err
}

// ProveAddress uses up the link with a secret for the user of a session: the address is proved, and whoever else has
// joined with it cannot log in any more. The error is [*LimitedError], [ErrProof], [identity.ErrProvedElsewhere] or
// [identity.ErrSessionEnded]; the first two count towards the login limits of the source.
func (s *Service) ProveAddress(ctx context.Context, session base.Session, from, code string) (base.User, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return base.User{}, err
	}
	user, err := identity.ProveAddress(ctx, session.Tenant, session, secret.ProofDigest(secret.New(code)))
	if errors.Is(err, base.ErrNotFound) {
		return base.User{}, ErrProof
	}
	return user, errors.Join(err, a.cancel(ctx))
}

// ChangeOwnAddress gives the user of a session another address, to which a link that proves it is sent. Password and
// second factor are needed as for a login, so that a stolen session does not turn into a stolen user. The error is
// [ErrEmail], [ErrWrongPassword], [ErrOTPRequired], [base.ErrExists], [*LimitedError], [ErrBusy] or
// [identity.ErrSessionEnded].
func (s *Service) ChangeOwnAddress(ctx context.Context, session base.Session, from, email, password string,
	given Factor) (user base.User, limit Limit, err error) {
	if email, err = ParseEmail(email); err != nil {
		return base.User{}, Limit{}, err
	}
	limit, err = s.withBothFactors(ctx, session, from, password, given,
		func(_ base.User, proof *identity.FactorProof) (err error) {
			user, err = s.changeAddress(session.User, email, proof, func(change identity.AddressChange) (base.User, error) {
				return identity.ChangeAddress(ctx, session.Tenant, session, session.User, change)
			})
			return err
		})
	return user, limit, err
}

// ChangeAddress gives a colleague another address on behalf of the user of a session. The error is [ErrEmail],
// [ErrOwnAddress], [*LimitedError] or one of [identity.ChangeAddress].
func (s *Service) ChangeAddress(ctx context.Context, t *base.Tenant, by base.Session, user base.ID,
	email string) (base.User, error) {
	email, err := ParseEmail(email)
	if err == nil && user == by.User {
		err = ErrOwnAddress
	}
	if err != nil {
		return base.User{}, err
	}
	return s.changeAddress(user, email, nil, func(change identity.AddressChange) (base.User,
		error) {
		return identity.ChangeAddress(ctx, t, by, user, change)
	})
}

// SetAddress gives a user another address for an administrator. The error is [ErrEmail] or one of
// [identity.ChangeAddressOf].
func (s *Service) SetAddress(ctx context.Context, user base.User, email string) (base.User, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return base.User{}, err
	}
	proof, err := s.newProof()
	if err != nil {
		return base.User{}, err
	}
	return identity.ChangeAddressOf(ctx, s.DB, user.Account, user.ID, identity.AddressChange{Email: email, Proof: proof})
}

// ChangeUser is [identity.ChangeUser]; change may change the address, too. The error is [ErrEmail],
// [ErrOwnAddress], [*LimitedError] or one of that method.
func (s *Service) ChangeUser(ctx context.Context, t *base.Tenant, by base.Session, user base.ID,
	change func(now identity.UserChange) (identity.UserChange, error)) (base.User, error) {
	changed, err := identity.ChangeUser(ctx, t, by, user, func(now identity.UserChange) (identity.UserChange, error) {
		wanted, err := change(now)
		if err != nil || wanted.Email == now.Email {
			return wanted, err
		}
		if user == by.User {
			return wanted, ErrOwnAddress
		}
		if wanted.Email, err = ParseEmail(wanted.Email); err != nil {
			return wanted, err
		}
		address, err := s.addressChange(user, wanted.Email, nil)
		wanted.Address = &address
		return wanted, err
	})
	return changed, s.limitedError(addressChanges, err)
}

// changeAddress changes the address of a user with a function, if it may be changed once more today.
func (s *Service) changeAddress(user base.ID, email string, factor *identity.FactorProof,
	change func(identity.AddressChange) (base.User, error)) (base.User, error) {
	to, err := s.addressChange(user, email, factor)
	if err != nil {
		return base.User{}, err
	}
	changed, err := change(to)
	return changed, s.limitedError(addressChanges, err)
}

func (s *Service) addressChange(user base.ID, email string,
	factor *identity.FactorProof) (identity.AddressChange, error) {
	proof, err := s.newProof()
	return identity.AddressChange{Email: email, Proof: proof, Factor: factor,
			Limit: &base.LimitUse{Key: limitKey("address-changes", user.String()), Max: addressChanges,
				Window: 24 * time.Hour}},
		err
}
