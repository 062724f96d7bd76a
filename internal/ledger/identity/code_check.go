package identity

import (
	"context"
	"database/sql"
	"errors"
	"strconv"
	"time"

	"quittance/internal/ledger/base"
)

// CodeCheck is the comparison of a code, or of an assertion of a passkey, with a second factor.
type CodeCheck struct {
	// User is whose second factor it is; nil for an operator.
	User *base.User
	// Right says what the comparison has found.
	Right bool
	// Limits are those of wrong codes, the one with the shortest window first.
	Limits []base.LimitUse
	// Mail is the limit of mails that tell the user of wrong codes.
	Mail base.LimitUse
}

// CountCode counts a wrong code. If a limit has no use left it returns a [*base.LimitExceededError], for a right code
// too. Both take the limits in one transaction, in the order in which they come, and a right code gives them back in
// it: codes that are compared at the same time are as many attempts as they are one after the other, and a right one
// never uses up the attempts of another.
//
// The first wrong code of a window and the one that uses a limit up leave an entry in the audit log, and with the
// latter the user gets a mail.
func CountCode(ctx context.Context, db *base.DB, check CodeCheck) error {
	return db.Write(ctx, "count code", func(ctx context.Context, t *base.Tx) error {
		var spent []base.LimitUsage
		for n, use := range check.Limits {
			one, err := t.AcquireLimit(ctx, use, t.Now())
			if errors.Is(err, sql.ErrNoRows) {
				return t.LimitExceeded(ctx, n, use)
			}
			if err != nil {
				return err
			}
			spent = append(spent, one)
		}
		if check.Right {
			return t.ReleaseLimits(ctx, spent)
		}
		if check.User == nil {
			return nil
		}
		return recordWrongCode(ctx, t, check, spent)
	})
}

// recordWrongCode records a wrong code of a user, if it is the first one of a window or uses a limit up.
func recordWrongCode(ctx context.Context, t *base.Tx, check CodeCheck, spent []base.LimitUsage) error {
	var until time.Time
	for n, one := range spent {
		if one.Used >= check.Limits[n].Max && one.WindowEnd.After(until) {
			until = one.WindowEnd
		}
	}
	if spent[0].Used > 1 && until.IsZero() {
		return nil
	}
	user := check.User
	actor := t.Actor
	actor.Kind, actor.Name = base.ActorUser, user.Email // at a login, nobody else is known who gave the password
	act := base.UserAct("user.wrong-code", user.Account, user.ID, user.Email)
	act.Details["wrong_codes"] = strconv.FormatInt(spent[0].Used, 10)
	if !until.IsZero() {
		act.Details["refused_until"] = until.Format(time.RFC3339)
	}
	if _, err := t.AuditAs(actor, act); err != nil || until.IsZero() {
		return err
	}
	if _, err := t.AcquireLimit(ctx, check.Mail, t.Now()); err != nil {
		if errors.Is(err, sql.ErrNoRows) {
			err = nil // the user was told
		}
		return err
	}
	_, err := enqueueMail(ctx, t, NewMail{Kind: MailWrongCodes, Account: user.Account, To: user.Email, User: &user.ID})
	return err
}
