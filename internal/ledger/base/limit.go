package base

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
	err := db.Write(ctx, "spend limits", func(ctx context.Context, t *Tx) error {
		out = out[:0]
		now := t.Now()
		for n, use := range uses {
			spent, err := t.AcquireLimit(ctx, use, now)
			if errors.Is(err, sql.ErrNoRows) {
				return t.LimitExceeded(ctx, n, use)
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

// AcquireLimit counts a use. It returns [sql.ErrNoRows] when none is left.
func (t *Tx) AcquireLimit(ctx context.Context, use LimitUse, now time.Time) (LimitUsage, error) {
	spent, until := LimitUsage{Key: use.Key}, int64(0)
	err := t.QueryRowContext(ctx, `
		insert into limits (key, window_end, used) values ($1, $2, 1)
		on conflict (key) do update set
			used = case when limits.window_end > $3 then limits.used + 1 else 1 end,
			window_end = case when limits.window_end > $3 then limits.window_end else excluded.window_end end
		where limits.window_end <= $3 or limits.used < $4
		returning used, window_end`, use.Key[:], Micros(now.Add(use.Window)), Micros(now), use.Max).Scan(&spent.Used, &until)
	spent.WindowEnd = Instant(until)
	return spent, err
}

// LimitExceeded returns the error for the limit use with the index n, which has no use left. The error rolls back the
// uses counted before it.
func (t *Tx) LimitExceeded(ctx context.Context, n int, use LimitUse) error {
	spent, until := LimitUsage{Key: use.Key}, int64(0)
	if err := t.QueryRowContext(ctx, `select used, window_end from limits where key = $1`, use.Key[:]).Scan(&spent.Used,
		&until); err != nil {
		return err
	}
	spent.WindowEnd = Instant(until)
	return &LimitExceededError{Index: n, Usage: spent}
}

// ReleaseLimits gives uses back whose windows have not ended. It also counts a use of each limit in renew and starts
// the window of that limit anew.
func (db *DB) ReleaseLimits(ctx context.Context, release []LimitUsage, renew ...LimitUse) error {
	return db.Write(ctx, "settle limits", func(ctx context.Context, t *Tx) error {
		if err := t.ReleaseLimits(ctx, release); err != nil {
			return err
		}
		now := t.Now()
		for _, use := range renew {
			if _, err := t.Exec(ctx, `
				insert into limits (key, window_end, used) values ($1, $2, 1)
				on conflict (key) do update set
					used = case when limits.window_end > $3 then limits.used + 1 else 1 end, window_end = excluded.window_end`,
				use.Key[:], Micros(now.Add(use.Window)), Micros(now)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ReleaseLimits gives uses back whose windows have not ended.
func (t *Tx) ReleaseLimits(ctx context.Context, uses []LimitUsage) error {
	for _, spent := range uses {
		if _, err := t.Exec(ctx, `update limits set used = used - 1 where key = $1 and window_end = $2 and used > 0`,
			spent.Key[:], Micros(spent.WindowEnd)); err != nil {
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
		key[:], Micros(db.Now())).Scan(&used, &until)
	return used, Instant(until), db.Classify(err)
}

// CountLimitedMail counts a mail that is not sent because of the limits of its recipient.
func (db *DB) CountLimitedMail() { db.limitedMails.Add(1) }

// LimitedMails returns how many mails this process has not caused because of the limits of their recipients.
func (db *DB) LimitedMails() int64 { return db.limitedMails.Load() }

// SweepBatch is how many responses to idempotency keys one transaction removes.
const SweepBatch = 1000
