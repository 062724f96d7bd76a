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

// The fixed limits of attempts beside Service.LoginRate (contract, section 3).
const (
	sourceRate    = 100 // attempts a minute from one source
	wideRate      = 500 // attempts a minute from one /48 of IPv6
	failureRate   = 100 // failures an hour for one e-mail address
	failureWindow = time.Hour
	loginWindow   = time.Minute
	trusted       = 30 * 24 * time.Hour // a source that succeeded for an e-mail address is exempt from its failure limit
)

// attempt is one use of a password, at a login or a change, whose limits are spent. Everything that compares a password
// begins with one, asks for every limit, and ends it: what is not given back counts.
type attempt struct {
	*Service
	from  source.Source
	email string
	// limit is how the caller stands with the limit of its source and e-mail address.
	limit Limit
	spent []store.LimitUsage
	// failure is the place of the failure limit in spent; from len(spent) for a source that is exempt.
	failure int
	turn    Turn
}

// begin spends every limit of an attempt before anything else is done for it, or none of them: [*LimitedError].
func (s *Service) begin(ctx context.Context, from, email string) (*attempt, error) {
	a := &attempt{Service: s, from: source.Parse(from), email: email}
	if s.LoginRate == 0 {
		a.turn = Turn{Holder: "source " + a.from.Wide().String()}
		return a, nil
	}
	known, _, err := s.DB.LimitUsage(ctx, a.trust().Key)
	if err != nil {
		return nil, err
	}
	a.turn = Turn{Holder: "source " + a.from.Wide().String(), Known: known > 0}
	uses := []store.LimitUse{
		{Key: limitKey("login", a.from.String(), email), Max: s.LoginRate, Window: loginWindow},
		{Key: limitKey("source", a.from.String()), Max: sourceRate, Window: loginWindow},
	}
	if a.from.HasWide() {
		uses = append(uses, store.LimitUse{Key: limitKey("wide", a.from.Wide().String()), Max: wideRate, Window: loginWindow})
	}
	a.failure = len(uses)
	if known == 0 {
		uses = append(uses, store.LimitUse{Key: limitKey("failures", email), Max: failureRate, Window: failureWindow})
	}
	a.spent, err = s.DB.AcquireLimits(ctx, uses...)
	if exhausted, ok := errors.AsType[*store.LimitExceededError](err); ok {
		limit := s.standing(uses[exhausted.Index].Max, exhausted.Usage)
		limit.Remaining = 0 // also where a replica with a higher limit has counted
		return nil, &LimitedError{Limit: limit}
	}
	if err != nil {
		return nil, err
	}
	a.limit = s.standing(s.LoginRate, a.spent[0])
	return a, nil
}

func (s *Service) standing(most int64, spent store.LimitUsage) Limit {
	return Limit{Max: most, Remaining: most - spent.Used, Reset: max(0, spent.WindowEnd.Sub(s.Now()))}
}

// trust is the limit that remembers where somebody has logged in from.
func (a *attempt) trust() store.LimitUse {
	return store.LimitUse{Key: limitKey("trusted", a.from.String(), a.email), Window: trusted}
}

// cancel gives everything back: no password was compared, or a right one was and it was no login.
func (a *attempt) cancel(ctx context.Context) error {
	if len(a.spent) == 0 {
		return nil
	}
	a.limit.Remaining++
	return a.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent)
}

// notFailed gives the failure back: the password was right. A login counts as one all the same.
func (a *attempt) notFailed(ctx context.Context, remember ...store.LimitUse) error {
	if a.LoginRate == 0 || a.failure == len(a.spent) && len(remember) == 0 {
		return nil
	}
	return a.DB.ReleaseLimits(context.WithoutCancel(ctx), a.spent[a.failure:], remember...)
}

// limitKey names a limit by a digest, so that no address stands in the database in clear.
func limitKey(parts ...string) [32]byte {
	hash := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	return [32]byte(hash.Sum(nil))
}
