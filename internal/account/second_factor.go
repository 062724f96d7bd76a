package account

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// The errors of second factors.
var (
	// ErrOTPRequired says that the password is right, and that the user has a second factor whose code is missing or
	// wrong.
	ErrOTPRequired = problem.New(api.CodeOTPRequired, "the code of the second factor is missing or wrong")
	// ErrWrongCode says that the code of a new authenticator app is wrong, or that none waits for its confirmation.
	ErrWrongCode = errors.New("the code of the new authenticator app is wrong")
	// ErrPasswordRequired says that the first second factor needs the password.
	ErrPasswordRequired = errors.New("the first second factor needs the password")
	// ErrStaleSignOn says that the first second factor needs a login by single sign-on within [FreshSignOn].
	ErrStaleSignOn = errors.New("the first second factor needs a fresh login by single sign-on")
	// ErrNoPendingLogin says that a login cannot be completed: it was completed before, or has expired.
	ErrNoPendingLogin = errors.New("there is no login to complete")
)

const (
	// LoginTTL is how long the second factor of a login may take.
	LoginTTL = 10 * time.Minute
	// FreshSignOn is how long after a login by single sign-on its session may set up the first second factor. Such a user
	// may have no password.
	FreshSignOn = 10 * time.Minute
)

// Factor is what a person gives as the second factor: a code or the assertion of a passkey.
type Factor struct {
	// Password is that of the user, for a user who has no second factor yet.
	Password string
	// Code is a code of an authenticator app, or a recovery code.
	Code string
	// Assertion is the response of a passkey in JSON (WebAuthn Level 3, section 5.1.8.2), and Site what it has to be made
	// for; nil for a code.
	Assertion []byte
	Site      RelyingParty
}

// proveFactor checks what a user who has given the right password gives as the second factor; by says what a passkey
// has to have signed. It returns nil if the user has none. The error is [ErrOTPRequired], [*LimitedError] after too
// many wrong codes and assertions, or [identity.ErrSuspended], which callers get without a code.
func (a *attempt) proveFactor(ctx context.Context, user base.User, given Factor,
	by ceremony) (*identity.FactorProof, error) {
	factor, err := identity.FindSecondFactor(ctx, a.DB, user)
	if errors.Is(err, base.ErrNotFound) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	switch account, err := identity.FindAccount(ctx, a.DB, user.Account); {
	case err != nil:
		return nil, err
	case account.Status != base.AccountActive:
		return nil, identity.ErrSuspended
	}
	if given.Code == "" && given.Assertion == nil {
		return nil, ErrOTPRequired
	}
	a.trust = trustOf(user)
	var proof *identity.FactorProof
	if given.Assertion != nil {
		proof = by.verify(given, user, factor.Passkeys)
	} else {
		proof = a.compareCode(user, factor, given.Code)
	}
	if err := a.countCode(ctx, user.ID.String(), user.Email, &user, proof != nil); err != nil {
		return nil, err
	}
	if proof == nil {
		return nil, ErrOTPRequired
	}
	a.proved = true
	return proof, nil
}

// compareCode returns the proof of a code; nil for a wrong one. Whether it was used before is known when it is used up:
// who repeats a right code guesses nothing.
func (a *attempt) compareCode(user base.User, factor identity.SecondFactor, code string) *identity.FactorProof {
	if factor.HasApp() {
		if step, right := TOTPStep(factor.Secret, code, a.Now(), 0); right {
			return &identity.FactorProof{EnrolledAt: factor.EnrolledAt, Step: step}
		}
	}
	if digest, formed := RecoveryDigest(user.ID[:], code); formed && slices.Contains(factor.Recovery, digest) {
		return &identity.FactorProof{Recovery: digest}
	}
	return nil
}

// refused converts the errors of the ledger about a proof to [ErrOTPRequired], and records a passkey whose counter did
// not grow. A passkey that is refused counts as a wrong code. The error can be [*LimitedError].
func (a *attempt) refused(ctx context.Context, user base.User, proof *identity.FactorProof, err error) error {
	if !errors.Is(err, identity.ErrSecondFactor) && !errors.Is(err, identity.ErrSignCount) {
		return err
	}
	if proof != nil && proof.Passkey != nil {
		if err := a.countCode(ctx, user.ID.String(), user.Email, &user, false); err != nil {
			return err
		}
	}
	if errors.Is(err, identity.ErrSignCount) {
		if err := identity.RefusePasskey(context.WithoutCancel(ctx), a.DB, user, *proof.Passkey); err != nil &&
			!errors.Is(err, identity.ErrSecondFactor) && !errors.Is(err, base.ErrNotFound) {
			return err // and not because the challenge or the passkey is gone meanwhile
		}
	}
	return ErrOTPRequired
}

// beginLogin stores a pending login for a user who has given the right password, or whom on has logged in, and returns
// its secret, which binds it to a browser.
func (a *attempt) beginLogin(ctx context.Context, user base.User, means base.LoginMeans,
	on *identity.SignOn) (Login, error) {
	pending, err := secret.NewLogin(a.Random)
	if err != nil {
		return Login{}, err
	}
	expires := a.Now().Add(LoginTTL).UTC().Truncate(time.Microsecond)
	err = identity.BeginLogin(ctx, a.DB, identity.PendingLogin{Digest: secret.LoginDigest(pending), User: user,
		Means: means, SignOn: on}, expires)
	return Login{Pending: pending, Expires: expires}, err
}

// CompleteSession starts the session of a pending login with the second factor. The error is [ErrNoPendingLogin],
// [ErrOTPRequired], [*LimitedError], [identity.ErrSuspended] or, by single sign-on, [identity.ErrOtherSubject].
func (s *Service) CompleteSession(ctx context.Context, from string, pending secret.Text, given Factor,
	userAgent string) (Login, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return Login{}, err
	}
	digest := secret.LoginDigest(pending)
	waiting, err := identity.FindPendingLogin(ctx, s.DB, digest)
	if errors.Is(err, base.ErrNotFound) {
		return Login{}, ErrNoPendingLogin
	}
	if err != nil {
		return Login{}, errors.Join(err, a.cancel(ctx))
	}
	a.email = waiting.User.Email
	proof, err := a.proveFactor(ctx, waiting.User, given, loginCeremony(waiting))
	if err != nil {
		return Login{}, err
	}
	token, err := secret.NewSession(s.Random)
	if err != nil {
		return Login{}, err
	}
	expires := s.Now().Add(s.TokenTTL).UTC().Truncate(time.Microsecond)
	account, err := s.createWaiting(ctx, waiting, identity.NewToken{Digest: secret.SessionDigest(token),
		ExpiresAt: expires,
		Client:    identity.ClientConsole, Means: waiting.Means, UserAgent: userAgent, Proof: proof, Pending: &digest})
	switch err := a.refused(ctx, waiting.User, proof, err); {
	case errors.Is(err, identity.ErrSessionEnded) || errors.Is(err, base.ErrNotFound):
		return Login{}, ErrNoPendingLogin
	case err != nil:
		return Login{}, err
	}
	if s.LoginRate > 0 {
		err = s.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent, a.completed()...)
	}
	return Login{Token: token, Expires: expires, User: waiting.User, Account: account}, err
}

// createWaiting creates the token of a pending login, and the link of one by single sign-on.
func (s *Service) createWaiting(ctx context.Context, waiting identity.PendingLogin,
	add identity.NewToken) (base.Account, error) {
	if waiting.SignOn == nil {
		return identity.CreateToken(ctx, s.DB, waiting.User, add)
	}
	_, account, err := identity.CreateSignOnToken(ctx, s.DB, *waiting.SignOn, add)
	return account, err
}

// Enrollment is the secret of an authenticator app that waits for its confirmation.
type Enrollment struct {
	// Secret is in base32; Address is what the app reads from a QR code.
	Secret, Address secret.Text
}

// BeginEnrollment makes the secret of an authenticator app for the user of a session. It replaces nothing until it is
// confirmed.
func (s *Service) BeginEnrollment(ctx context.Context, session base.Session) (Enrollment, error) {
	shared, err := NewTOTPSecret(s.Random)
	if err != nil {
		return Enrollment{}, err
	}
	if err := identity.BeginTOTP(ctx, session.Tenant, session, shared); err != nil {
		return Enrollment{}, err
	}
	return Enrollment{Secret: shared, Address: TOTPAddress(shared, session.Email)}, nil
}

// PendingEnrollment returns what [Service.BeginEnrollment] has returned within the last hour, or [base.ErrNotFound].
func (s *Service) PendingEnrollment(ctx context.Context, session base.Session) (Enrollment, error) {
	shared, err := identity.PendingTOTP(ctx, session.Tenant, session)
	if err != nil {
		return Enrollment{}, err
	}
	return Enrollment{Secret: shared, Address: TOTPAddress(shared, session.Email)}, nil
}

// ConfirmEnrollment makes the pending authenticator app the second factor of the user of a session, and returns the
// recovery codes, which are stored as digests. present is for the present second factor, or the password if there is
// none. The error is [ErrWrongCode], [*LimitedError], [identity.ErrSessionEnded] or one of proveOwner.
func (s *Service) ConfirmEnrollment(ctx context.Context, session base.Session, from, code string,
	present Factor) ([]secret.Text, error) {
	user, err := identity.FindUserOf(ctx, s.DB, session)
	if err != nil {
		return nil, err
	}
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return nil, err
	}
	shared, err := identity.PendingTOTP(ctx, session.Tenant, session)
	if errors.Is(err, base.ErrNotFound) {
		return nil, errors.Join(ErrWrongCode, a.cancel(ctx))
	}
	if err != nil {
		return nil, errors.Join(err, a.cancel(ctx))
	}
	step, right := TOTPStep(shared, code, s.Now(), 0)
	if !right {
		return nil, ErrWrongCode
	}
	proof, err := a.proveOwner(ctx, session, user, from, present)
	if err != nil {
		return nil, err
	}
	codes, digests, err := s.newRecoveryCodes(user.ID)
	if err != nil {
		return nil, err
	}
	switch err := a.refused(ctx, user, proof, identity.ConfirmTOTP(ctx, session.Tenant, session, shared, step, digests,
		proof)); {
	case errors.Is(err, base.ErrNotFound):
		return nil, ErrWrongCode
	case err != nil:
		return nil, err
	}
	return codes, a.cancel(ctx)
}

// proveOwner checks that a session is in the hands of its user, before another second factor is set up: by the present
// one, or, without one, by the password or a fresh login by single sign-on. So a stolen session locks nobody out. The
// error is [ErrOTPRequired], [ErrPasswordRequired], [ErrWrongPassword], [ErrStaleSignOn], [ErrBusy], [*LimitedError],
// or [identity.ErrSessionEnded].
func (a *attempt) proveOwner(ctx context.Context, session base.Session, user base.User, from string,
	given Factor) (*identity.FactorProof, error) {
	proof, err := a.proveFactor(ctx, user, given, confirmation(session))
	if err != nil || proof != nil {
		return proof, err
	}
	if session.Means == identity.LoginBySingleSignOn {
		age, err := identity.SessionAge(ctx, session.Tenant, session)
		if err == nil && age > FreshSignOn {
			err = ErrStaleSignOn
		}
		return nil, err
	}
	if given.Password == "" {
		return nil, ErrPasswordRequired
	}
	b, err := a.begin(ctx, from, user.Email, user)
	if err != nil {
		return nil, err
	}
	b.turn = Turn{Holder: "company " + session.Account.ID.String(), Known: true}
	right, err := b.Hasher.Matches(ctx, b.turn, user.PasswordHash, given.Password)
	if err == nil && !right {
		return nil, ErrWrongPassword
	}
	return nil, errors.Join(err, b.cancel(ctx))
}

// newRecoveryCodes returns new recovery codes of a person, and their digests.
func (s *Service) newRecoveryCodes(person base.ID) (codes []secret.Text, digests [][32]byte, err error) {
	if codes, err = NewRecoveryCodes(s.Random); err != nil {
		return nil, nil, err
	}
	for _, code := range codes {
		digest, valid := RecoveryDigest(person[:], code.Reveal())
		if !valid {
			return nil, nil, fmt.Errorf("a new recovery code has another form than one")
		}
		digests = append(digests, digest)
	}
	return codes, digests, nil
}

// DisableSecondFactor removes the second factor of the user of a session with all passkeys, and ends the user's other
// sessions. Password and code count towards the limits of a login. The error is [ErrWrongPassword], [ErrOTPRequired],
// [base.ErrNotFound] if there is no second factor, [identity.ErrFactorRequired] if the company requires one,
// [*LimitedError], [ErrBusy] or [identity.ErrSessionEnded].
func (s *Service) DisableSecondFactor(ctx context.Context, session base.Session, from, password string,
	given Factor) (Limit, error) {
	return s.withBothFactors(ctx, session, from, password, given, func(_ base.User, proof *identity.FactorProof) error {
		if proof == nil {
			return base.ErrNotFound
		}
		return identity.DisableSecondFactor(ctx, session.Tenant, session, proof)
	})
}

// ReplaceRecoveryCodes returns new recovery codes, which replace the old ones. Its errors are those of
// [Service.DisableSecondFactor].
func (s *Service) ReplaceRecoveryCodes(ctx context.Context, session base.Session, from, password string,
	given Factor) (codes []secret.Text, limit Limit, err error) {
	limit, err = s.withBothFactors(ctx, session, from, password, given,
		func(user base.User, proof *identity.FactorProof) error {
			if proof == nil {
				return base.ErrNotFound
			}
			made, digests, err := s.newRecoveryCodes(user.ID)
			if err != nil {
				return err
			}
			codes = made
			return identity.ReplaceRecoveryCodes(ctx, session.Tenant, session, digests, proof)
		})
	return codes, limit, err
}

// withBothFactors does something that needs the password of the user of a session, and the second factor if the user
// has one; otherwise proof is nil.
func (s *Service) withBothFactors(ctx context.Context, session base.Session, from, password string, given Factor,
	do func(user base.User, proof *identity.FactorProof) error) (Limit, error) {
	user, err := identity.FindUserOf(ctx, s.DB, session)
	if err != nil {
		return Limit{}, err
	}
	a, err := s.begin(ctx, from, user.Email, user)
	if err != nil {
		return limitOf(err), err
	}
	a.turn = Turn{Holder: "company " + session.Account.ID.String(), Known: true}
	right, err := a.Hasher.Matches(ctx, a.turn, user.PasswordHash, password)
	if err != nil {
		return a.limit, errors.Join(err, a.cancel(ctx))
	}
	if !right {
		return a.limit, ErrWrongPassword
	}
	proof, err := a.proveFactor(ctx, user, given, confirmation(session))
	if err == nil {
		err = a.refused(ctx, user, proof, do(user, proof))
	}
	return a.limit, errors.Join(err, a.cancel(ctx))
}
