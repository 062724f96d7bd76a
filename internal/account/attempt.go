package account

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	"quittance/internal/source"
	"quittance/internal/store"
)

// The fixed limits of attempts beside Service.LoginRate.
const (
	sourceRate    = 100 // attempts a minute from one source
	wideRate      = 500 // attempts a minute from one /48 of IPv6
	failureRate   = 100 // failures an hour for one e-mail address
	failureWindow = time.Hour
	loginWindow   = time.Minute
	trustDuration = 30 * 24 * time.Hour // a source of a successful login is exempt from the failure limit of its e-mail address
)

// attempt is one use of a password, at a login or a change of the password. Every comparison of a password begins with an attempt,
// which charges all limits. A charge counts unless it is refunded.
type attempt struct {
	*Service
	from  source.Source
	email string
	// limit is the state of the limit for the source and the e-mail address.
	limit Limit
	spent []store.LimitUsage
	// failure is the index of the failure limit in spent; it is len(spent) for an exempt source.
	failure int
	turn    Turn
	// proved says that the second factor was right.
	proved bool
}

// begin charges every limit of an attempt before any other work. If one is exceeded, it charges none and returns a
// [*LimitedError].
func (s *Service) begin(ctx context.Context, from, email string) (*attempt, error) {
	a := &attempt{Service: s, from: source.Parse(from), email: email}
	if s.LoginRate == 0 {
		a.turn = Turn{Holder: "source " + a.from.Wide().String()}
		return a, nil
	}
	known, err := a.known(ctx)
	if err != nil {
		return nil, err
	}
	a.turn = Turn{Holder: "source " + a.from.Wide().String(), Known: known}
	uses := a.sourceUses("login", email)
	a.failure = len(uses)
	if !known {
		uses = append(uses, store.LimitUse{Key: limitKey("failures", email), Max: failureRate, Window: failureWindow})
	}
	if err := a.charge(ctx, uses); err != nil {
		return nil, err
	}
	return a, nil
}

// sourceUses returns the uses of the limits of the attempt's source. The first one is Service.LoginRate for the source and what name
// says, such as an e-mail address.
func (a *attempt) sourceUses(kind string, name ...string) []store.LimitUse {
	uses := []store.LimitUse{
		{Key: limitKey(append([]string{kind, a.from.String()}, name...)...), Max: a.LoginRate, Window: loginWindow},
		{Key: limitKey("source", a.from.String()), Max: sourceRate, Window: loginWindow},
	}
	if a.from.HasWide() {
		uses = append(uses, store.LimitUse{Key: limitKey("wide", a.from.Wide().String()), Max: wideRate, Window: loginWindow})
	}
	return uses
}

// charge acquires all limits, or none: then it returns a [*LimitedError].
func (a *attempt) charge(ctx context.Context, uses []store.LimitUse) (err error) {
	a.spent, err = a.DB.AcquireLimits(ctx, uses...)
	if exhausted, ok := errors.AsType[*store.LimitExceededError](err); ok {
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

func (s *Service) limitStatus(most int64, spent store.LimitUsage) Limit {
	return Limit{Max: most, Remaining: most - spent.Used, Reset: max(0, spent.WindowEnd.Sub(s.Now()))}
}

// trustedSource returns the counter that records that the user has logged in from this source.
func (a *attempt) trustedSource() store.LimitUse {
	return store.LimitUse{Key: limitKey("trusted", a.from.String(), a.email), Window: trustDuration}
}

// resetSource returns the counter that records that the user has chosen a new password from this source with the link from an e-mail. That makes
// the next login possible whatever others have tried, and nothing else: a mailbox is no second factor.
func (a *attempt) resetSource() store.LimitUse {
	return store.LimitUse{Key: limitKey("reset done", a.from.String(), a.email), Window: failureWindow}
}

// known reports whether the source is exempt from the failure limit of its e-mail address.
func (a *attempt) known(ctx context.Context) (bool, error) {
	for _, mark := range []store.LimitUse{a.trustedSource(), a.resetSource()} {
		if used, _, err := a.DB.LimitUsage(ctx, mark.Key); err != nil || used > 0 {
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
func (a *attempt) refundFailure(ctx context.Context, remember ...store.LimitUse) error {
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
