package store

import (
	"context"
	"database/sql"
	"errors"
	"time"
)

// Use is one use of a limit that is about to be counted.
type Use struct {
	// Key names the limit.
	Key [32]byte
	// Most is how many uses a window has, from 1.
	Most int64
	// Window is how long a window lasts that begins with this use.
	Window time.Duration
}

// Spent is a use of a limit that was counted, or the limit as it stands when it has none left.
type Spent struct {
	Key [32]byte
	// Used is how many uses are counted in the window, this one included.
	Used int64
	// End is when the window ends.
	End time.Time
}

// ExhaustedError says that a limit has no use left.
type ExhaustedError struct {
	// Limit is its place among the uses that were to be counted.
	Limit int
	// Spent is how it stands.
	Spent Spent
}

func (e *ExhaustedError) Error() string { return "a limit has no use left" }

// Spend counts one use of each limit in its current window, or of none of them: [*ExhaustedError] names the first that has
// no use left. A window begins with the first use after the last one ended. All replicas count together, and uses at the
// same time cannot exceed a limit. Callers name limits in one order of kinds, so that none waits for another in a circle.
func (db *DB) Spend(ctx context.Context, uses ...Use) ([]Spent, error) {
	var out []Spent
	err := db.write(ctx, "spend limits", func(ctx context.Context, t *tx) error {
		out = out[:0]
		now := t.now()
		for n, use := range uses {
			spent, err := t.spend(ctx, use, now)
			if errors.Is(err, sql.ErrNoRows) {
				return t.exhausted(ctx, n, use)
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

// spend counts a use; [sql.ErrNoRows] says that none is left.
func (t *tx) spend(ctx context.Context, use Use, now time.Time) (Spent, error) {
	spent, until := Spent{Key: use.Key}, int64(0)
	err := t.QueryRowContext(ctx, `
		insert into limits (key, window_end, used) values ($1, $2, 1)
		on conflict (key) do update set
			used = case when limits.window_end > $3 then limits.used + 1 else 1 end,
			window_end = case when limits.window_end > $3 then limits.window_end else excluded.window_end end
		where limits.window_end <= $3 or limits.used < $4
		returning used, window_end`, use.Key[:], micros(now.Add(use.Window)), micros(now), use.Most).Scan(&spent.Used, &until)
	spent.End = instant(until)
	return spent, err
}

// exhausted returns how a limit stands that has no use left, as the error that undoes the uses counted before it.
func (t *tx) exhausted(ctx context.Context, n int, use Use) error {
	spent, until := Spent{Key: use.Key}, int64(0)
	if err := t.QueryRowContext(ctx, `select used, window_end from limits where key = $1`, use.Key[:]).Scan(&spent.Used, &until); err != nil {
		return err
	}
	spent.End = instant(until)
	return &ExhaustedError{Limit: n, Spent: spent}
}

// Settle ends an attempt that spent limits: it takes the given uses back, as far as their windows still last, and lets
// the windows of the renewed ones last from now, counting a use of each.
func (db *DB) Settle(ctx context.Context, back []Spent, renew ...Use) error {
	return db.write(ctx, "settle limits", func(ctx context.Context, t *tx) error {
		if err := t.giveBack(ctx, back); err != nil {
			return err
		}
		now := t.now()
		for _, use := range renew {
			if _, err := t.exec(ctx, `
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

func (t *tx) giveBack(ctx context.Context, uses []Spent) error {
	for _, spent := range uses {
		if _, err := t.exec(ctx, `update limits set used = used - 1 where key = $1 and window_end = $2 and used > 0`,
			spent.Key[:], micros(spent.End)); err != nil {
			return err
		}
	}
	return nil
}

// Spent returns how often key has been used in its current window, and when that ends; zero when there is none.
func (db *DB) Spent(ctx context.Context, key [32]byte) (used int64, end time.Time, err error) {
	var until int64
	err = db.reader.QueryRowContext(ctx, `select coalesce(max(used), 0), coalesce(max(window_end), 0) from limits where key = $1 and window_end > $2`,
		key[:], micros(db.now())).Scan(&used, &until)
	return used, instant(until), db.fail(err)
}

// sweepBatch is how many answers to idempotency keys one transaction removes.
const sweepBatch = 1000

// Sweep removes what has no further use by its own nature: ended limit windows, expired idempotency keys, and tokens a
// week after they expired.
func (db *DB) Sweep(ctx context.Context) error {
	for expired := sweepBatch; expired == sweepBatch && ctx.Err() == nil; {
		if err := db.write(ctx, "sweep", func(ctx context.Context, t *tx) (err error) {
			if _, err := t.exec(ctx, `delete from limits where window_end < $1`, micros(t.now())); err != nil {
				return err
			}
			if _, err := t.exec(ctx, `delete from tokens where expires_at < $1`, micros(t.now().Add(-7*24*time.Hour))); err != nil {
				return err
			}
			expired, err = t.sweepAnswers(ctx)
			return err
		}); err != nil {
			return err
		}
	}
	return ctx.Err()
}

// sweepAnswers removes a batch of the expired answers to idempotency keys, and returns how many they were.
func (t *tx) sweepAnswers(ctx context.Context) (int, error) {
	type answer struct {
		tenant ID
		size   int64
	}
	removed, err := collect(ctx, t, func(row scanner) (a answer, err error) { return a, row.Scan(&a.tenant, &a.size) },
		`delete from idempotency where (tenant_id, key) in (select tenant_id, key from idempotency where expires_at < $1 order by expires_at limit $2)
		returning tenant_id, octet_length(body)`, micros(t.now()), sweepBatch)
	for _, a := range removed {
		t.use(a.tenant, usage{bytes: -a.size})
	}
	return len(removed), err
}
