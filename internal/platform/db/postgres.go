package db

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"sync"
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

// postgresEngine is a PostgreSQL database. channel is the one of its notifications. direct leads to the server itself,
// like pool unless pooled; see pooled.go.
type postgresEngine struct {
	postgresDialect
	pool    *pgxpool.Pool
	direct  *pgx.ConnConfig
	pooled  bool
	channel string
	closing <-chan struct{} // closed by stop
	stop    func()
}

// openPostgres opens the database of a postgres:// URL.
func openPostgres(ctx context.Context, address string, options Options) (*postgresEngine, error) {
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		// The text of the error can contain the password of the URL.
		return nil, errNotPostgresURL
	}
	config.MaxConns = postgresConns
	configureConn(config.ConnConfig, options)
	config.ConnConfig.Tracer = queryDeadline{}
	config.BeforeConnect = guardCommits
	direct, err := configureSessions(config, address, options)
	if err != nil {
		return nil, err
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open database: %w", err)
	}
	closing := make(chan struct{})
	return &postgresEngine{pool: pool, direct: direct, pooled: options.Direct != "", channel: options.Channel,
		closing: closing, stop: sync.OnceFunc(func() { close(closing) })}, nil
}

// configureConn sets what is the same for every connection.
func configureConn(config *pgx.ConnConfig, options Options) {
	config.RuntimeParams["application_name"] = options.Application
	config.RuntimeParams["timezone"] = "UTC"
	if config.ConnectTimeout == 0 {
		config.ConnectTimeout = 5 * time.Second
	}
}

func (*postgresEngine) traits() traits {
	return traits{name: "postgres", lists: postgresLists, writers: postgresConns - 4}
}

func (e *postgresEngine) reader() Querier { return pgQuerier{e.pool} }

func (e *postgresEngine) begin(ctx context.Context) (transaction, error) {
	return beginPostgres(ctx, e)
}

func (e *postgresEngine) replicas() *replicas {
	return &replicas{time: e.serverTime, notify: e.notify, listen: e.listen}
}

func (*postgresEngine) file() string { return "" }

func (e *postgresEngine) server() *pgx.ConnConfig {
	server := e.direct.Copy()
	server.Tracer = nil // it would limit the time of every statement
	return server
}

func (*postgresEngine) lockForServing() (release func() error, err error) {
	return func() error { return nil }, nil
}

func (e *postgresEngine) close() error {
	e.stop()
	e.pool.Close()
	return nil
}

func (e *postgresEngine) servedBy(ctx context.Context, application string) (served bool, err error) {
	err = e.pool.QueryRow(ctx,
		"select count(*) > 0 from pg_stat_activity where datname = current_database() and application_name = $1",
		application).Scan(&served)
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

// The time-outs of a migration while servers are running. A statement that waits for the lock of a table makes all
// later statements wait too. So it soon times out, and the migration runs again after a pause that lets the others run.
// Each time-out is twice as long as the one before, up to a bound above PostgreSQL's deadlock_timeout of 1 s.
const (
	migrateFirstWait = 500 * time.Millisecond
	migrateMostWait  = 5 * time.Second
	migratePause     = 2 * time.Second
	migrateTries     = 100
)

// lockNotAvailable is the error code of a statement that timed out while it waited for a lock.
const lockNotAvailable = "55P03"

func (e *postgresEngine) migrate(ctx context.Context, source fs.FS, version int64) error {
	wait := migrateFirstWait
	for try := 1; ; try++ {
		err := e.migrateOnce(ctx, wait, source, version)
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

// migrateOnce migrates over connections of its own. Their statements wait for a lock for the time wait at most; once
// they have it, they may take as long as they need.
func (e *postgresEngine) migrateOnce(ctx context.Context, wait time.Duration, source fs.FS, version int64) (err error) {
	own := e.direct.Copy()
	own.Tracer = nil
	// Not as a parameter of the connection, which a connection pool in session mode would refuse.
	db := stdlib.OpenDB(*own, stdlib.OptionAfterConnect(func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, fmt.Sprintf("set lock_timeout = %d", wait.Milliseconds()))
		return err
	}))
	defer func() { err = errors.Join(err, db.Close()) }()
	// Another replica may be migrating: try to get its lock every second, for ten minutes.
	locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 600))
	if err != nil {
		return fmt.Errorf("migration lock: %w", err)
	}
	return migrate(ctx, goose.DialectPostgres, db, source, version, "_sqlite.sql", goose.WithSessionLocker(locker))
}

// listen calls notified with the kind of each notification. It listens on a connection of its own until ctx ends or the
// connection is lost.
func (e *postgresEngine) listen(ctx context.Context, listening func(), notified func(kind string)) error {
	conn, err := pgx.ConnectConfig(ctx, e.direct)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // the connection is given up either way
	if _, err := conn.Exec(ctx, "listen "+pgx.Identifier{e.channel}.Sanitize()); err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	listening()
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
		pgconn.SafeToRetry(err) || strings.Contains(err.Error(), "conn closed") ||
		strings.Contains(err.Error(), "closed pool")
}
