package account

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
)

// How many wrong codes one person may give, as [identity.CountCode] counts them. A source is known if the person has
// completed a login from it with the second factor within [trustDuration]. All other sources have one limit together,
// so that a thief who knows the password gains nothing by using many of them, and cannot lock the person out of the
// known ones.
//
// Three codes of a million are valid at a time. So a thief from elsewhere, who has 40 attempts a day, guesses one with
// a chance of 1 in 8,300 a day, 4.3 % a year, and the person gets an e-mail each day. All sources together have 100
// attempts: 1 in 3,300 a day.
const (
	strangerCodes      = 10 // an hour, from all sources that are not known
	strangerCodesDaily = 40
	sourceCodes        = 10 // an hour, from one known source
	knownCodes         = 20 // an hour, from all known sources
	knownCodesDaily    = 60
	codeDay            = 24 * time.Hour
)

// factorSource returns the counter that records that the person has logged in from this source with the second factor.
func (a *attempt) factorSource(email string) base.LimitUse {
	return base.LimitUse{Key: a.sourceKey("factor", email, a.trust), Window: trustDuration}
}

// completed returns the counters that record a completed login. What was not part of the login is not trusted: a login
// without a second factor, of somebody who sets one up later, makes no source known.
func (a *attempt) completed() []base.LimitUse {
	if !a.proved {
		return []base.LimitUse{a.trustedSource()}
	}
	return []base.LimitUse{a.trustedSource(), a.factorSource(a.email)}
}

// countCode counts a code, or an assertion of a passkey, that was right or wrong. person names whose it is; email is
// that of the logins; user is nil for an operator. The error is [*LimitedError] if too many were wrong before, and then
// the caller must not tell what it was.
func (a *attempt) countCode(ctx context.Context, person, email string, user *base.User, right bool) error {
	if a.LoginRate == 0 {
		return nil
	}
	known, _, err := a.DB.LimitUsage(ctx, a.factorSource(email).Key)
	if err != nil {
		return err
	}
	uses := []base.LimitUse{
		{Key: limitKey("code", person), Max: strangerCodes, Window: failureWindow},
		{Key: limitKey("codes a day", person), Max: strangerCodesDaily, Window: codeDay},
	}
	if known > 0 {
		uses = []base.LimitUse{
			{Key: limitKey("code", person, a.from.String()), Max: sourceCodes, Window: failureWindow},
			{Key: limitKey("known codes", person), Max: knownCodes, Window: failureWindow},
			{Key: limitKey("known codes a day", person), Max: knownCodesDaily, Window: codeDay},
		}
	}
	err = identity.CountCode(ctx, a.DB, identity.CodeCheck{User: user, Right: right, Limits: uses,
		Mail: base.LimitUse{Key: limitKey("mail of codes", person), Max: 1, Window: codeDay}})
	if exhausted, ok := errors.AsType[*base.LimitExceededError](err); ok {
		limit := a.limitStatus(uses[exhausted.Index].Max, exhausted.Usage)
		limit.Remaining = 0
		return &LimitedError{Limit: limit}
	}
	return err
}
