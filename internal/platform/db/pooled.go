package db

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"quittance/internal/platform/problem"
)

// This file is about a connection pool such as PgBouncer between this program and PostgreSQL. In transaction mode it
// gives each transaction any of its sessions, and what belongs to a session is lost: LISTEN, the advisory lock of a
// migration, named prepared statements, and settings. None of these fails at once: LISTEN succeeds and hears nothing,
// and a lock stays with a session that nobody has any more. So [Open] refuses such an address unless [Options.Direct]
// has that of the server itself, for notifications and migrations. The statements that then go through the pool have no
// names, and the pool is responsible for the settings of its sessions.

// ErrPooled says that the address leads to a connection pool in transaction mode, and that [Options.Direct] is missing.
var ErrPooled = problem.Setting(
	"the address leads to a connection pool in transaction mode, which loses notifications and the locks of migrations: " +
		"add the address of the PostgreSQL server itself (--database-direct)")

// ErrOtherServer says that [Options.Direct] is the address of another database than the one behind the pool.
var ErrOtherServer = problem.Setting(
	"the direct address (--database-direct) is that of another database than the one behind the pool")

// ErrDirect says that [Options.Direct] is malformed. It does not quote it, because it can contain a password.
var ErrDirect = errors.New(
	"open database: the direct address (--database-direct) must be a postgres:// URL, and go with one")

// sessionSettings are the settings of every session. Every statement is short. But the planner estimates such a cost
// for tables without statistics that it would compile the statement first, which takes 50 ms. And nearly everything is
// in memory or on a solid-state disk, where an index is cheap. They are not parameters of the connection, because a
// connection pool may refuse those that it does not know.
const sessionSettings = "set jit = off; set random_page_cost = 1.1"

// configureSessions makes a pool of connections suit what is at the other end, and returns the configuration of
// connections to the server itself.
func configureSessions(config *pgxpool.Config, address string, options Options) (*pgx.ConnConfig, error) {
	if options.Direct == "" {
		config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
			_, err := conn.Exec(ctx, sessionSettings)
			return err
		}
		return config.ConnConfig, nil
	}
	direct, err := pgx.ParseConfig(options.Direct)
	if err != nil || !IsPostgres(options.Direct) {
		return nil, ErrDirect
	}
	configureConn(direct, options)
	// Unless the address says that the pool keeps prepared statements, such as PgBouncer 1.21 with
	// max_prepared_statements.
	if parsed, err := url.Parse(address); err != nil || !parsed.Query().Has("default_query_exec_mode") {
		config.ConnConfig.DefaultQueryExecMode = pgx.QueryExecModeCacheDescribe
	}
	return direct, nil
}

// checkSessions returns [ErrPooled] or [ErrOtherServer], and logs what is wrong with the sessions of a pool.
func (e *postgresEngine) checkSessions(ctx context.Context, log *slog.Logger) error {
	ctx, cancel := context.WithTimeout(ctx, QueryTimeout)
	defer cancel()
	if e.pooled {
		return e.checkDirect(ctx, log)
	}
	conn, err := e.pool.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	defer conn.Release()
	// A pool makes up the identifiers that it tells clients, because its clients have no sessions of their own.
	session, err := sessionID(ctx, conn)
	if err != nil || session == conn.Conn().PgConn().PID() {
		return err
	}
	shared, err := e.sharesSessions(ctx, conn, session)
	if err != nil {
		return err
	}
	if shared {
		return fmt.Errorf("open database: %w", ErrPooled)
	}
	log.InfoContext(ctx, "the database is behind a connection pool in session mode")
	return nil
}

// sessionTries is how often two connections to a pool are compared: its other clients may have taken the session
// meanwhile.
const sessionTries = 10

// sharesSessions reports whether a connection to a pool loses its session, which was first, between two statements.
func (e *postgresEngine) sharesSessions(ctx context.Context, conn *pgxpool.Conn, first uint32) (bool, error) {
	other, err := e.pool.Acquire(ctx)
	if err != nil {
		return false, err
	}
	defer other.Release()
	for range sessionTries {
		second, err := sessionID(ctx, other)
		if err != nil || second == first {
			return err == nil, err
		}
		again, err := sessionID(ctx, conn)
		if err != nil || again != first {
			return err == nil, err
		}
	}
	return false, nil
}

// sessionID returns the identifier of the session of the server that runs a statement.
func sessionID(ctx context.Context, conn *pgxpool.Conn) (id uint32, err error) {
	// Without a name: the statement may run before it is known that names are lost.
	err = conn.QueryRow(ctx, "select pg_backend_pid()", pgx.QueryExecModeExec).Scan(&id)
	return id, err
}

// identity identifies a database of a running server, without any privilege.
const identity = "select pg_postmaster_start_time()::text || ' ' || oid from pg_database where datname = current_database()"

// checkDirect compares the database behind the pool with that at the direct address, and checks the settings of the
// pool's sessions.
func (e *postgresEngine) checkDirect(ctx context.Context, log *slog.Logger) (err error) {
	conn, err := pgx.ConnectConfig(ctx, e.direct)
	if err != nil {
		return fmt.Errorf("connect to the direct address (--database-direct): %w", err)
	}
	defer func() { err = errors.Join(err, conn.Close(ctx)) }()
	var behind, direct, jit, cost string
	if err := conn.QueryRow(ctx, identity).Scan(&direct); err != nil {
		return err
	}
	if err := e.pool.QueryRow(ctx, identity).Scan(&behind); err != nil {
		return fmt.Errorf("connect to the database: %w", err)
	}
	if behind != direct {
		return fmt.Errorf("open database: %w", ErrOtherServer)
	}
	if err := e.pool.QueryRow(ctx, "select current_setting('jit'), current_setting('random_page_cost')").Scan(&jit,
		&cost); err != nil {
		return err
	}
	if jit != "off" || cost != "1.1" {
		log.WarnContext(ctx, "the sessions of the connection pool lack settings, and statements may be slow",
			"want", sessionSettings, "jit", jit, "random_page_cost", cost)
	}
	return nil
}
