package store

import (
	"context"
	"time"
)

// Spend counts one use of key in its current window and returns how often it has been used in it, this use included,
// and when the window ends. A window begins with the first use after the last one ended. All replicas count together.
func (db *DB) Spend(ctx context.Context, key [32]byte, window time.Duration) (used int64, end time.Time, err error) {
	err = db.write(ctx, "spend limit", func(ctx context.Context, t *tx) error {
		now := db.now()
		var until int64
		if err := t.QueryRowContext(ctx, `
			insert into limits (key, window_end, used) values ($1, $2, 1)
			on conflict (key) do update set
				used = case when limits.window_end > $3 then limits.used + 1 else 1 end,
				window_end = case when limits.window_end > $3 then limits.window_end else excluded.window_end end
			returning used, window_end`, key[:], micros(now.Add(window)), micros(now)).Scan(&used, &until); err != nil {
			return err
		}
		end = instant(until)
		return nil
	})
	return used, end, err
}

// Renew counts one use of key like [DB.Spend], and lets its window last from now in any case.
func (db *DB) Renew(ctx context.Context, key [32]byte, window time.Duration) error {
	return db.write(ctx, "renew limit", func(ctx context.Context, t *tx) error {
		now := db.now()
		_, err := t.exec(ctx, `
			insert into limits (key, window_end, used) values ($1, $2, 1)
			on conflict (key) do update set
				used = case when limits.window_end > $3 then limits.used + 1 else 1 end, window_end = excluded.window_end`,
			key[:], micros(now.Add(window)), micros(now))
		return err
	})
}

// Spent returns how often key has been used in its current window, and when that ends; zero when there is none.
func (db *DB) Spent(ctx context.Context, key [32]byte) (used int64, end time.Time, err error) {
	var until int64
	err = db.reader.QueryRowContext(ctx, `select coalesce(max(used), 0), coalesce(max(window_end), 0) from limits where key = $1 and window_end > $2`,
		key[:], micros(db.now())).Scan(&used, &until)
	return used, instant(until), db.fail(err)
}

// Sweep removes what has no further use by its own nature: ended limit windows, expired idempotency keys, and tokens a
// week after they expired.
func (db *DB) Sweep(ctx context.Context) error {
	return db.write(ctx, "sweep", func(ctx context.Context, t *tx) error {
		if _, err := t.exec(ctx, `delete from limits where window_end < $1`, micros(db.now())); err != nil {
			return err
		}
		if _, err := t.exec(ctx, `delete from idempotency where expires_at < $1`, micros(db.now())); err != nil {
			return err
		}
		_, err := t.exec(ctx, `delete from tokens where expires_at < $1`, micros(db.now().Add(-7*24*time.Hour)))
		return err
	})
}
