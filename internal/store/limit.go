package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// LimitUse describes one use of a limit, which allows a number of uses in a window of time.
type LimitUse struct {
	// Key names the limit.
	Key [32]byte
	// Max is how many uses a window allows, from 1.
	Max int64
	// Window is the length of a window that begins with this use.
	Window time.Duration
}

// LimitUsage is the state of a limit after a use was counted or refused.
type LimitUsage struct {
	Key [32]byte
	// Used is how many uses were counted in the window, including this one.
	Used int64
	// WindowEnd is when the window ends.
	WindowEnd time.Time
}

// LimitExceededError says that a limit has no use left.
type LimitExceededError struct {
	// Index is its index among the uses that were to be counted.
	Index int
	// Usage is the state of the limit.
	Usage LimitUsage
}

func (e *LimitExceededError) Error() string { return "a limit has no use left" }

// AcquireLimits counts one use of each limit in its current window, or none at all: a [*LimitExceededError] names the
// first limit that has no use left. A window begins with the first use after the previous window ended. The counts are
// shared by all replicas, and concurrent uses cannot exceed a limit. Callers pass the kinds of limits in one fixed
// order, which prevents deadlocks.
func (db *DB) AcquireLimits(ctx context.Context, uses ...LimitUse) ([]LimitUsage, error) {
	var out []LimitUsage
	err := db.write(ctx, "spend limits", func(ctx context.Context, t *tx) error {
		out = out[:0]
		now := t.Now()
		for n, use := range uses {
			spent, err := t.acquireLimit(ctx, use, now)
			if errors.Is(err, sql.ErrNoRows) {
				return t.limitExceeded(ctx, n, use)
			}
			if err != nil {
				return err
			}
			out = append(out, spent)
		}
		return nil
	})
	return out, err
}

// acquireLimit counts a use. It returns [sql.ErrNoRows] when none is left.
func (t *tx) acquireLimit(ctx context.Context, use LimitUse, now time.Time) (LimitUsage, error) {
	spent, until := LimitUsage{Key: use.Key}, int64(0)
	err := t.QueryRowContext(ctx, `
		insert into limits (key, window_end, used) values ($1, $2, 1)
		on conflict (key) do update set
			used = case when limits.window_end > $3 then limits.used + 1 else 1 end,
			window_end = case when limits.window_end > $3 then limits.window_end else excluded.window_end end
		where limits.window_end <= $3 or limits.used < $4
		returning used, window_end`, use.Key[:], micros(now.Add(use.Window)), micros(now), use.Max).Scan(&spent.Used, &until)
	spent.WindowEnd = instant(until)
	return spent, err
}

// limitExceeded returns the error for the limit use with the index n, which has no use left. The error rolls back the
// uses counted before it.
func (t *tx) limitExceeded(ctx context.Context, n int, use LimitUse) error {
	spent, until := LimitUsage{Key: use.Key}, int64(0)
	if err := t.QueryRowContext(ctx, `select used, window_end from limits where key = $1`, use.Key[:]).Scan(&spent.Used,
		&until); err != nil {
		return err
	}
	spent.WindowEnd = instant(until)
	return &LimitExceededError{Index: n, Usage: spent}
}

// ReleaseLimits gives uses back whose windows have not ended. It also counts a use of each limit in renew and starts
// the window of that limit anew.
func (db *DB) ReleaseLimits(ctx context.Context, release []LimitUsage, renew ...LimitUse) error {
	return db.write(ctx, "settle limits", func(ctx context.Context, t *tx) error {
		if err := t.releaseLimits(ctx, release); err != nil {
			return err
		}
		now := t.Now()
		for _, use := range renew {
			if _, err := t.Exec(ctx, `
				insert into limits (key, window_end, used) values ($1, $2, 1)
				on conflict (key) do update set
					used = case when limits.window_end > $3 then limits.used + 1 else 1 end, window_end = excluded.window_end`,
				use.Key[:], micros(now.Add(use.Window)), micros(now)); err != nil {
				return err
			}
		}
		return nil
	})
}

func (t *tx) releaseLimits(ctx context.Context, uses []LimitUsage) error {
	for _, spent := range uses {
		if _, err := t.Exec(ctx, `update limits set used = used - 1 where key = $1 and window_end = $2 and used > 0`,
			spent.Key[:], micros(spent.WindowEnd)); err != nil {
			return err
		}
	}
	return nil
}

// LimitUsage returns how many uses of the limit key its current window has, and when the window ends. It returns 0
// without a window.
func (db *DB) LimitUsage(ctx context.Context, key [32]byte) (used int64, end time.Time, err error) {
	var until int64
	err = db.reader.QueryRowContext(ctx,
		`select coalesce(max(used), 0), coalesce(max(window_end), 0) from limits where key = $1 and window_end > $2`,
		key[:], micros(db.Now())).Scan(&used, &until)
	return used, instant(until), db.classify(err)
}

// sweepBatch is how many responses to idempotency keys one transaction removes.
const sweepBatch = 1000

// DeleteExpired removes ended limit windows, expired idempotency keys, uploads, pending logins, links for new passwords
// and requests for them, links that prove addresses, choices of a company, challenges of passkeys and sessions of
// operators, tokens that expired and mails that ended a week ago, and gives up mails whose time is over.
func (db *DB) DeleteExpired(ctx context.Context) error {
	for expired := sweepBatch; expired == sweepBatch && ctx.Err() == nil; {
		if err := db.write(ctx, "sweep", func(ctx context.Context, t *tx) (err error) {
			if _, err := t.Exec(ctx, `delete from limits where window_end < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from tokens where expires_at < $1`,
				micros(t.Now().Add(-7*24*time.Hour))); err != nil {
				return err
			}
			if err := t.deleteExpiredUploads(ctx); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from pending_logins where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from password_resets where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from password_reset_requests where requested_at < $1`,
				micros(t.Now().Add(-PasswordResetTTL))); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from address_proofs where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from sign_on_choices where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from passkey_challenges where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `delete from operator_sessions where expires_at < $1`, micros(t.Now())); err != nil {
				return err
			}
			if err := t.deleteExpiredMails(ctx); err != nil {
				return err
			}
			expired, err = t.deleteExpiredResponses(ctx)
			return err
		}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// deleteExpiredResponses removes a batch of expired responses to idempotency keys and returns how many it removed.
func (t *tx) deleteExpiredResponses(ctx context.Context) (int, error) {
	type expiredResponse struct {
		tenant ID
		size   int64
	}
	removed, err := collect(ctx, t, func(row scanner) (a expiredResponse, err error) {
		return a,
			row.Scan(&a.tenant, &a.size)
	},
		`delete from idempotency where (tenant_id, key) in (select tenant_id, key from idempotency where expires_at < $1 order by expires_at limit $2)
		returning tenant_id, octet_length(body)`, micros(t.Now()), sweepBatch)
	for _, a := range removed {
		t.use(a.tenant, usage{bytes: -a.size})
	}
	return len(removed), err
}
