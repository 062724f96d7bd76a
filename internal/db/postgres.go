package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// postgresConns is the size of a replica's pool: enough to keep the server's commits overlapping, few enough for many
// replicas on one server.
const postgresConns = 24

// postgresLists is the maximum number of these connections that lists and searches use.
const postgresLists = 8

var errNotPostgresURL = errors.New("open database: not a valid postgres:// URL")

// postgresEngine is a PostgreSQL database. channel is the one of its notifications.
type postgresEngine struct {
	postgresDialect
	pool    *pgxpool.Pool
	config  *pgx.ConnConfig
	channel string
}

// openPostgres opens the database of a postgres:// URL.
func openPostgres(ctx context.Context, address string, options Options) (engine, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The text of the error can contain the password of the URL.
		return nil, errNotPostgresURL
	}
	config.MaxConns = postgresConns
	config.ConnConfig.RuntimeParams["application_name"] = options.Application
	config.ConnConfig.RuntimeParams["timezone"] = "UTC"
	if config.ConnConfig.ConnectTimeout == 0 {
		config.ConnConfig.ConnectTimeout = 5 * time.Second
	}
	config.ConnConfig.Tracer = queryDeadline{}
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		// Every statement is short. But the planner estimates such a cost for tables without statistics that it would compile the
		// statement first, which takes 50 ms. And nearly everything is in memory or on a solid-state disk, where an index is cheap.
		// These settings are not parameters of the connection, because a connection pooler may refuse parameters that it does not know.
		_, err := conn.Exec(ctx, "set jit = off; set random_page_cost = 1.1")
		return err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	return &postgresEngine{pool: pool, config: config.ConnConfig, channel: options.Channel}, nil
}

func (*postgresEngine) traits() traits {
	return traits{name: "postgres", lists: postgresLists, writers: postgresConns - 4}
}

func (e *postgresEngine) reader() Querier { return pgQuerier{e.pool} }

func (e *postgresEngine) begin(ctx context.Context) (transaction, error) {
	return beginPostgres(ctx, e.pool)
}

func (e *postgresEngine) replicas() *replicas {
	return &replicas{time: e.serverTime, notify: e.notify, listen: e.listen}
}

func (*postgresEngine) lockForServing() (release func() error, err error) {
	return func() error { return nil }, nil
}

func (e *postgresEngine) close() error {
	e.pool.Close()
	return nil
}

func (e *postgresEngine) servedBy(ctx context.Context, application string) (served bool, err error) {
	err = e.pool.QueryRow(ctx, "select count(*) > 0 from pg_stat_activity where datname = current_database() and application_name = $1", application).Scan(&served)
	return served, err
}

func (e *postgresEngine) hasTable(ctx context.Context, name string) (found bool, err error) {
	err = e.pool.QueryRow(ctx, "select to_regclass($1) is not null", name).Scan(&found)
	return found, err
}

// serverTime reads the clock of the database.
func (e *postgresEngine) serverTime(ctx context.Context) (time.Time, error) {
	var us int64
	err := e.pool.QueryRow(ctx, "select (extract(epoch from clock_timestamp()) * 1000000)::bigint").Scan(&us)
	return time.UnixMicro(us).UTC(), err
}

// notify notifies all processes with a kind.
func (e *postgresEngine) notify(ctx context.Context, kind string) error {
	_, err := e.pool.Exec(ctx, "select pg_notify($1, $2)", e.channel, kind)
	return err
}

// The time-outs of a migration while servers are running. A statement that waits for the lock of a table makes all later
// statements wait too. So it soon times out, and the migration runs again after a pause that lets the others run. Each time-out is
// twice as long as the one before, up to a bound above PostgreSQL's deadlock_timeout of 1 s.
const (
	migrateFirstWait = 500 * time.Millisecond
	migrateMostWait  = 5 * time.Second
	migratePause     = 2 * time.Second
	migrateTries     = 100
)

// lockNotAvailable is the error code of a statement that timed out while it waited for a lock.
const lockNotAvailable = "55P03"

func (e *postgresEngine) migrate(ctx context.Context, source fs.FS) error {
	wait := migrateFirstWait
	for try := 1; ; try++ {
		err := e.migrateOnce(ctx, wait, source)
		if try == migrateTries || postgresCode(err) != lockNotAvailable && !e.isRetryable(err) {
			return err
		}
		wait = min(2*wait, migrateMostWait)
		select {
		case <-ctx.Done():
			return errors.Join(ctx.Err(), err)
		case <-time.After(migratePause):
		}
	}
}

// migrateOnce migrates over connections of its own. Their statements wait for a lock for the time wait at most; once they have
// it, they may take as long as they need.
func (e *postgresEngine) migrateOnce(ctx context.Context, wait time.Duration, source fs.FS) (err error) {
	own := e.config.Copy()
	own.Tracer = nil
	own.RuntimeParams["lock_timeout"] = strconv.FormatInt(wait.Milliseconds(), 10)
	db := stdlib.OpenDB(*own)
	defer func() { err = errors.Join(err, db.Close()) }()
	// Another replica may be migrating: try to get its lock every second, for ten minutes.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	return migrate(ctx, goose.DialectPostgres, db, source, "_sqlite.sql", goose.WithSessionLocker(locker))
}

// listen calls notified with the kind of each notification. It listens on a connection of its own until ctx ends or the connection is
// lost.
func (e *postgresEngine) listen(ctx context.Context, notified func(kind string)) error {
	conn, err := pgx.ConnectConfig(ctx, e.config)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is given up either way
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{e.channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	for {
		notification, err := conn.WaitForNotification(ctx)
		if err != nil {
			return fmt.Errorf("listen: %w", err)
		}
		notified(notification.Payload)
	}
}

func postgresCode(err error) string {
	if failure, ok := errors.AsType[*pgconn.PgError](err); ok {
		return failure.Code
	}
	return ""
}

func (*postgresEngine) violatedConstraint(err error) string {
	var failure *pgconn.PgError
	if errors.As(err, &failure) && failure.Code == "23505" {
		return failure.ConstraintName
	}
	return ""
}

// isRetryable reports whether err is a serialization_failure or deadlock_detected: the transaction had no effect.
func (*postgresEngine) isRetryable(err error) bool {
	code := postgresCode(err)
	return code == "40001" || code == "40P01"
}

func (*postgresEngine) isUnavailable(err error) bool {
	if _, ok := errors.AsType[*pgconn.ConnectError](err); ok {
		return true // for whatever reason: it may not accept connections, or not this user
	}
	if code := postgresCode(err); code != "" {
		// connection exceptions, insufficient resources, operator intervention, system errors, read-only server
		for _, class := range []string{"08", "53", "57", "58", "25006", "F0", "XX"} {
			if strings.HasPrefix(code, class) {
				return true
			}
		}
		return false
	}
	var network net.Error
	return errors.As(err, &network) || errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) ||
		errors.Is(err, net.ErrClosed) || errors.Is(err, context.DeadlineExceeded) ||
		pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed") || strings.Contains(err.Error(), "closed pool")
}
