package account

import (
	"context"
	"errors"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
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

func (s *Service) newProof() (store.NewProof, error) {
	code, err := secret.NewProof(s.Random)
	return store.NewProof{Secret: code, Digest: secret.ProofDigest(code)}, err
}

// RequestAddressProof sends the user of a session a link with which to prove the address. The error is [*LimitedError],
// [store.ErrNoMail] or [store.ErrSessionEnded].
func (s *Service) RequestAddressProof(ctx context.Context, session store.Session) error {
	proof, err := s.newProof()
	if err != nil {
		return err
	}
	err = session.Tenant.RequestAddressProof(ctx, session, proof)
	if errors.Is(err, store.ErrMailLimited) {
		err = &LimitedError{Limit: Limit{Max: store.MaxMailsTo, Reset: 24 * time.Hour}}
	}
	return err
}

// ProveAddress uses up the link with a secret for the user of a session: the address is proved, and whoever else has
// joined with it cannot log in any more. The error is [*LimitedError], [ErrProof], [store.ErrProvedElsewhere] or
// [store.ErrSessionEnded]; the first two count towards the login limits of the source.
func (s *Service) ProveAddress(ctx context.Context, session store.Session, from, code string) (store.User, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return store.User{}, err
	}
	user, err := session.Tenant.ProveAddress(ctx, session, secret.ProofDigest(secret.New(code)))
	if errors.Is(err, store.ErrNotFound) {
		return store.User{}, ErrProof
	}
	return user, errors.Join(err, a.cancel(ctx))
}

// ChangeOwnAddress gives the user of a session another address, to which a link that proves it is sent. Password and
// second factor are needed as for a login, so that a stolen session does not turn into a stolen user. The error is
// [ErrEmail], [ErrWrongPassword], [ErrOTPRequired], [store.ErrExists], [*LimitedError], [ErrBusy] or
// [store.ErrSessionEnded].
func (s *Service) ChangeOwnAddress(ctx context.Context, session store.Session, from, email, password string,
	given Factor) (user store.User, limit Limit, err error) {
	if email, err = ParseEmail(email); err != nil {
		return store.User{}, Limit{}, err
	}
	limit, err = s.withBothFactors(ctx, session, from, password, given,
		func(_ store.User, proof *store.FactorProof) (err error) {
			user, err = s.changeAddress(session.User, email, proof, func(change store.AddressChange) (store.User, error) {
				return session.Tenant.ChangeAddress(ctx, session, session.User, change)
			})
			return err
		})
	return user, limit, err
}

// ChangeAddress gives a colleague another address on behalf of the user of a session. The error is [ErrEmail],
// [ErrOwnAddress], [*LimitedError] or one of [store.Tenant.ChangeAddress].
func (s *Service) ChangeAddress(ctx context.Context, t *store.Tenant, by store.Session, user store.ID,
	email string) (store.User, error) {
	email, err := ParseEmail(email)
	if err == nil && user == by.User {
		err = ErrOwnAddress
	}
	if err != nil {
		return store.User{}, err
	}
	return s.changeAddress(user, email, nil, func(change store.AddressChange) (store.User,
		error) {
		return t.ChangeAddress(ctx, by, user, change)
	})
}

// SetAddress gives a user another address for an administrator. The error is [ErrEmail] or one of
// [store.DB.ChangeAddress].
func (s *Service) SetAddress(ctx context.Context, user store.User, email string) (store.User, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return store.User{}, err
	}
	proof, err := s.newProof()
	if err != nil {
		return store.User{}, err
	}
	return s.DB.ChangeAddress(ctx, user.Account, user.ID, store.AddressChange{Email: email, Proof: proof})
}

// ChangeUser is [store.Tenant.ChangeUser]; change may change the address, too. The error is [ErrEmail],
// [ErrOwnAddress], [*LimitedError] or one of that method.
func (s *Service) ChangeUser(ctx context.Context, t *store.Tenant, by store.Session, user store.ID,
	change func(now store.UserChange) (store.UserChange, error)) (store.User, error) {
	changed, err := t.ChangeUser(ctx, by, user, func(now store.UserChange) (store.UserChange, error) {
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
func (s *Service) changeAddress(user store.ID, email string, factor *store.FactorProof,
	change func(store.AddressChange) (store.User, error)) (store.User, error) {
	to, err := s.addressChange(user, email, factor)
	if err != nil {
		return store.User{}, err
	}
	changed, err := change(to)
	return changed, s.limitedError(addressChanges, err)
}

func (s *Service) addressChange(user store.ID, email string, factor *store.FactorProof) (store.AddressChange, error) {
	proof, err := s.newProof()
	return store.AddressChange{Email: email, Proof: proof, Factor: factor,
			Limit: &store.LimitUse{Key: limitKey("address-changes", user.String()), Max: addressChanges,
				Window: 24 * time.Hour}},
		err
}
