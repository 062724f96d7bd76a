package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/source"
)

// The fixed limits of attempts beside Service.LoginRate.
const (
	sourceRate    = 100 // attempts a minute from one source
	wideRate      = 500 // attempts a minute from one /48 of IPv6
	failureRate   = 100 // failures an hour for one e-mail address
	failureWindow = time.Hour
	loginWindow   = time.Minute
	// a source of a successful login is exempt from the failure limit of its e-mail address
	trustDuration = 30 * 24 * time.Hour
)

// attempt is one use of a password, at a login or a change of the password. Every comparison of a password begins with
// an attempt, which charges all limits. A charge counts unless it is refunded.
type attempt struct {
	*Service
	from  source.Source
	email string
	// trust is that of trustOf for the user, which tells trusted sources apart; exempt are those for which the source is
	// exempt from the failure limit of the address.
	trust  string
	exempt map[string]bool
	// limit is the state of the limit for the source and the e-mail address.
	limit Limit
	spent []base.LimitUsage
	// failure is the index of the failure limit in spent; it is len(spent) as long as only users for whom the source is
	// exempt are considered.
	failure int
	turn    Turn
	// proved says that the second factor was right.
	proved bool
}

// begin charges every limit of an attempt before any other work. If one is exceeded, it charges none and returns a
// [*LimitedError]. users are those whose passwords may be compared; without any, there is nobody whom a source could be
// trusted for but the address.
func (s *Service) begin(ctx context.Context, from, email string, users ...base.User) (*attempt, error) {
	a := &attempt{Service: s, from: source.Parse(from), email: email, exempt: map[string]bool{}}
	if len(users) == 0 {
		users = []base.User{{}}
	}
	a.trust = trustOf(users[0])
	if s.LoginRate == 0 {
		a.turn = Turn{Holder: "source " + a.from.Wide().String()}
		return a, nil
	}
	for _, user := range users {
		known, err := a.known(ctx, trustOf(user))
		if err != nil {
			return nil, err
		}
		if known {
			a.exempt[trustOf(user)] = true
		}
	}
	a.turn = Turn{Holder: "source " + a.from.Wide().String(), Known: len(a.exempt) > 0}
	uses := a.sourceUses("login", email)
	a.failure = len(uses)
	if len(a.exempt) == 0 {
		uses = append(uses, a.failureUse())
	}
	if err := a.charge(ctx, uses); err != nil {
		return nil, err
	}
	return a, nil
}

// failureUse is a use of the failure limit of the address.
func (a *attempt) failureUse() base.LimitUse {
	return base.LimitUse{Key: limitKey("failures", a.email), Max: failureRate, Window: failureWindow}
}

// chargeFailure charges the failure limit of the address, unless it is charged: users are to be compared for whom the
// source is not exempt. Of several users with an unproved address, one who has logged in from the source must not help
// to guess the password of another.
func (a *attempt) chargeFailure(ctx context.Context) error {
	if a.LoginRate == 0 || a.failure < len(a.spent) {
		return nil
	}
	spent, err := a.DB.AcquireLimits(ctx, a.failureUse())
	if _, exceeded := errors.AsType[*base.LimitExceededError](err); exceeded {
		return ErrInvalidCredentials // the passwords of those for whom the source is exempt were compared
	}
	a.spent = append(a.spent, spent...)
	return err
}

// sourceUses returns the uses of the limits of the attempt's source. The first one is Service.LoginRate for the source
// and what name says, such as an e-mail address.
func (a *attempt) sourceUses(kind string, name ...string) []base.LimitUse {
	uses := []base.LimitUse{
		{Key: limitKey(append([]string{kind, a.from.String()}, name...)...), Max: a.LoginRate, Window: loginWindow},
		{Key: limitKey("source", a.from.String()), Max: sourceRate, Window: loginWindow},
	}
	if a.from.HasWide() {
		uses = append(uses, base.LimitUse{Key: limitKey("wide", a.from.Wide().String()), Max: wideRate, Window: loginWindow})
	}
	return uses
}

// charge acquires all limits, or none: then it returns a [*LimitedError].
func (a *attempt) charge(ctx context.Context, uses []base.LimitUse) (err error) {
	a.spent, err = a.DB.AcquireLimits(ctx, uses...)
	if exhausted, ok := errors.AsType[*base.LimitExceededError](err); ok {
		limit := a.limitStatus(uses[exhausted.Index].Max, exhausted.Usage)
		limit.Remaining = 0 // even if a replica with a higher limit has counted more
		return &LimitedError{Limit: limit}
	}
	if err != nil {
		return err
	}
	a.limit = a.limitStatus(a.LoginRate, a.spent[0])
	return nil
}

func (s *Service) limitStatus(most int64, spent base.LimitUsage) Limit {
	return Limit{Max: most, Remaining: most - spent.Used, Reset: max(0, spent.WindowEnd.Sub(s.Now()))}
}

// trustedSource returns the counter that records that the user has logged in from this source.
func (a *attempt) trustedSource() base.LimitUse {
	return base.LimitUse{Key: a.sourceKey("trusted", a.email, a.trust), Window: trustDuration}
}

// sourceKey is the key of a counter about the source and the user, whom the address alone may not tell from others; see
// trustOf.
func (a *attempt) sourceKey(kind, email, trust string) [32]byte {
	parts := []string{kind, a.from.String(), email}
	if trust != "" {
		parts = append(parts, trust)
	}
	return limitKey(parts...)
}

// trustOf returns what tells the trusted sources of a user from those of others who have the same address, or had it
// before: "" for nobody.
func trustOf(user base.User) string {
	if user.ID.IsZero() {
		return ""
	}
	return user.ID.String()
}

// resetSource returns the counter that records that the user has chosen a new password from this source with the link
// from an e-mail. That makes the next login possible whatever others have tried, and nothing else: a mailbox is no
// second factor.
func (a *attempt) resetSource() base.LimitUse {
	return base.LimitUse{Key: a.sourceKey("reset done", a.email, a.trust), Window: failureWindow}
}

// known reports whether the source is exempt from the failure limit of its e-mail address for the users of trustOf.
func (a *attempt) known(ctx context.Context, trust string) (bool, error) {
	for _, mark := range [...][32]byte{a.sourceKey("trusted", a.email, trust), a.sourceKey("reset done", a.email, trust)} {
		if used, _, err := a.DB.LimitUsage(ctx, mark); err != nil || used > 0 {
			return used > 0, err
		}
	}
	return false, nil
}

// cancel refunds all charges: no password was compared, or a correct password was not used for a login.
func (a *attempt) cancel(ctx context.Context) error {
	if len(a.spent) == 0 {
		return nil
	}
	a.limit.Remaining++
	return a.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent)
}

// refundFailure refunds the charge for a failure, because the password was correct. The charge for a login remains.
func (a *attempt) refundFailure(ctx context.Context, remember ...base.LimitUse) error {
	if a.LoginRate == 0 || a.failure == len(a.spent) && len(remember) == 0 {
		return nil
	}
	return a.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent[a.failure:], remember...)
}

// limitKey returns a digest that names a limit, so that the database contains no addresses in clear text.
func limitKey(parts ...string) [32]byte {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return [32]byte(hash.Sum(nil))
}
