package account

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

// EnrolPath is the path of the page on which an operator enrols.
const EnrolPath = "/enrol"

// EnrolmentTTL is how long the link to that page can be used.
const EnrolmentTTL = 72 * time.Hour

// OperatorSessionTTL is how long a session of an operator lasts at most; see also [identity.OperatorIdle].
const OperatorSessionTTL = 8 * time.Hour

// The errors of the enrolment of an operator.
var (
	// ErrEnrolment says that an enrolment link cannot be used. It does not say why.
	ErrEnrolment = errors.New("the enrolment link cannot be used")
	// ErrCode says that a code is not the one that the authenticator shows now.
	ErrCode = errors.New("the code of the authenticator is wrong")
)

// Enrolment is an operator with a new enrolment link, whose secret is not stored.
type Enrolment struct {
	identity.Operator
	secret secret.Text
}

// Link returns the address that the operator opens: base, such as https://operators.example, and the page with the
// secret in the fragment, which browsers do not send. An empty base gives a path.
func (e Enrolment) Link(base string) string {
	return strings.TrimSuffix(base, "/") + EnrolPath + "#" + e.secret.Reveal()
}

// AddOperator adds an operator and makes the enrolment link. The error is [ErrEmail], or [base.ErrExists] if there is
// an operator with the address.
func (s *Service) AddOperator(ctx context.Context, email string) (Enrolment, error) {
	return s.makeLink(ctx, email, identity.AddOperator)
}

// ResetOperator removes what an operator logs in with and makes a new enrolment link. The error is [ErrEmail], or
// [base.ErrNotFound] if there is no operator with the address.
func (s *Service) ResetOperator(ctx context.Context, email string) (Enrolment, error) {
	return s.makeLink(ctx, email, identity.ResetOperator)
}

func (s *Service) makeLink(ctx context.Context, email string,
	save func(context.Context, *base.DB, string, identity.Enrolment) (identity.Operator, error)) (Enrolment, error) {
	email, err := ParseEmail(email)
	if err != nil {
		return Enrolment{}, err
	}
	code, err := secret.NewEnrolment(s.Random)
	if err != nil {
		return Enrolment{}, err
	}
	operator, err := save(ctx, s.DB, email, identity.Enrolment{Digest: secret.EnrolmentDigest(code),
		ExpiresAt: s.Now().Add(EnrolmentTTL).UTC().Truncate(time.Microsecond)})
	return Enrolment{Operator: operator, secret: code}, err
}

// EnrollingOperator returns the operator with the secret of an enrolment link. The error is [*LimitedError] or
// [ErrEnrolment]; an unknown secret counts towards the login limits of its source.
func (s *Service) EnrollingOperator(ctx context.Context, from, code string) (identity.Operator, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return identity.Operator{}, err
	}
	found, err := identity.EnrollingOperator(ctx, s.DB, secret.EnrolmentDigest(secret.New(code)))
	if errors.Is(err, base.ErrNotFound) {
		return identity.Operator{}, ErrEnrolment
	}
	return found, errors.Join(err, a.cancel(ctx))
}

// Enrol uses up an enrolment link: its operator gets a password and an authenticator with the given secret, which has
// shown a code. Enrol returns the recovery codes, which are not stored. The error is [*LimitedError], [ErrEnrolment],
// [ErrCode], [ErrPasswordLength], [ErrCommonPassword] or [ErrBusy].
func (s *Service) Enrol(ctx context.Context, from, code, password string, shared secret.Text,
	shown string) ([]secret.Text, error) {
	a, err := s.beginInvitation(ctx, from)
	if err != nil {
		return nil, err
	}
	digest := secret.EnrolmentDigest(secret.New(code))
	operator, err := identity.EnrollingOperator(ctx, s.DB, digest) // before any work for the password
	if errors.Is(err, base.ErrNotFound) {
		return nil, ErrEnrolment
	}
	if err != nil {
		return nil, errors.Join(err, a.cancel(ctx))
	}
	codes, err := a.enrol(ctx, digest, operator, password, shared, shown)
	if errors.Is(err, base.ErrNotFound) {
		return nil, ErrEnrolment
	}
	return codes, errors.Join(err, a.cancel(ctx))
}

// enrol checks what an operator has typed and stores it.
func (a *attempt) enrol(ctx context.Context, digest [32]byte, operator identity.Operator, password string,
	shared secret.Text, shown string) ([]secret.Text, error) {
	if err := checkNewPassword(password); err != nil {
		return nil, err
	}
	step, valid := TOTPStep(shared, shown, a.Now(), 0)
	if !valid {
		return nil, ErrCode
	}
	hash, err := a.Hasher.Hash(ctx, a.turn, password)
	if err != nil {
		return nil, err
	}
	codes, recovery, err := a.newRecoveryCodes(operator.ID)
	if err != nil {
		return nil, err
	}
	with := identity.OperatorFactors{PasswordHash: hash, TOTP: shared, Step: step, Recovery: recovery}
	_, err = identity.EnrolOperator(ctx, a.DB, digest, with)
	return codes, err
}

// operatorLimits begins the name of an operator in the limits of logins. No e-mail address that a user types has this
// form after [NormalizeEmail], so that nobody uses up the limits of an operator at the login of users.
const operatorLimits = " operator "

// StartOperatorSession checks the password of an operator and a code of the authenticator, or a recovery code, and
// creates a session. The limits are those of [Service.Login], for operators apart; further codes are wrong after too
// many wrong ones. The error is [*LimitedError], [ErrInvalidCredentials] or [ErrBusy]. A caller does not learn whether
// the address, the password or the code was wrong.
func (s *Service) StartOperatorSession(ctx context.Context, from, email, password,
	code string) (secret.Text, time.Time, error) {
	email = NormalizeEmail(email)
	a, err := s.begin(ctx, from, operatorLimits+email)
	if err != nil {
		return secret.Text{}, time.Time{}, err
	}
	session, err := secret.NewOperatorSession(s.Random)
	if err != nil {
		return secret.Text{}, time.Time{}, errors.Join(fmt.Errorf("make a session: %w", err), a.cancel(ctx))
	}
	expires := s.Now().Add(OperatorSessionTTL).UTC().Truncate(time.Microsecond)
	switch err := a.startOperator(ctx, email, password, code, secret.OperatorSessionDigest(session), expires); {
	case errors.Is(err, ErrInvalidCredentials):
		return secret.Text{}, time.Time{}, err
	case err != nil:
		return secret.Text{}, time.Time{}, errors.Join(err, a.cancel(ctx))
	}
	return session, expires, a.refundFailure(ctx, a.completed()...)
}

// startOperator compares the password and the code, both in any case, and then uses up the code. A wrong password and a
// wrong code cause the same work and count towards the same limits: neither the time nor what is refused later tells
// which of them was wrong.
func (a *attempt) startOperator(ctx context.Context, email, password, code string, digest [32]byte,
	expires time.Time) error {
	operator, err := identity.FindOperator(ctx, a.DB, email)
	if err != nil && !errors.Is(err, base.ErrNotFound) {
		return err
	}
	right, err := a.Hasher.Matches(ctx, a.turn, operator.PasswordHash, password)
	if err != nil {
		return err
	}
	factor, valid, err := a.factor(ctx, operator, code)
	if err != nil {
		return err
	}
	right = right && valid && operator.DisabledAt == nil
	err = a.countCode(ctx, a.email, a.email, nil, right)
	if _, limited := errors.AsType[*LimitedError](err); limited || err == nil && !right {
		return ErrInvalidCredentials
	}
	if err != nil {
		return err
	}
	a.proved = true
	err = identity.BeginOperatorSession(ctx, a.DB, operator, factor, digest, expires)
	if errors.Is(err, base.ErrNotFound) || errors.Is(err, identity.ErrCodeUsed) {
		return ErrInvalidCredentials
	}
	return err
}

// factor returns what a code proves, and false if it proves nothing. That it was not used meanwhile is known to the
// transaction of the login.
func (a *attempt) factor(ctx context.Context, operator identity.Operator,
	code string) (identity.OperatorProof, bool, error) {
	if recovery, formed := RecoveryDigest(operator.ID[:], code); formed {
		valid, err := identity.HasOperatorRecovery(ctx, a.DB, operator, recovery)
		return identity.OperatorProof{Recovery: &recovery}, valid, err
	}
	shared, err := identity.OperatorTOTP(a.DB, operator)
	if err != nil || shared.IsZero() {
		return identity.OperatorProof{}, false, err
	}
	step, valid := TOTPStep(shared, code, a.Now(), operator.TOTPStep)
	return identity.OperatorProof{Step: step}, valid, nil
}
