package db

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// This file is about commits that PostgreSQL does not answer in time because no synchronous standby confirms them.
//
// When the context of a statement ends, pgx closes its connection and asks the server to cancel the statement. To a
// commit that waits for a standby, PostgreSQL responds by ending the wait: the transaction is then committed on the
// primary alone, everybody sees it, and a repeated call is acknowledged although one lost disk would lose it. So a
// commit is never cancelled. Its caller gets an error when its time is over, as for any commit whose result is unknown,
// and the connection stays busy until the commit is answered. Nobody sees the transaction until then, and a write that
// needs the same rows waits and gets the same error.
//
// Such commits keep their places among the writers ([DB.acquireWriteSlot]): connections for readers remain.

const (
	// standbyInterval is how often the server is asked whether commits still wait for a standby, while one has no answer.
	standbyInterval = 5 * time.Second
	// standbyFailures is how often in a row the server may fail to say so before the commit is given up.
	standbyFailures = 3
)

// errUncancelled is the error of a request to cancel a commit.
var errUncancelled = errors.New("a commit is not cancelled")

// commitGuard refuses the requests to cancel statements while its connection commits.
type commitGuard struct{ committing atomic.Bool }

// ended ends the commit of a connection. On a connection that broke, pgx asks to cancel the commit now, so the guard
// stays.
func (g *commitGuard) ended(conn *pgxpool.Conn) {
	if !conn.Conn().IsClosed() {
		g.committing.Store(false)
	}
}

// guardKey is the key of the guard in [pgconn.PgConn.CustomData].
const guardKey = "commit guard"

// guardCommits gives a connection that is about to be made a guard.
func guardCommits(_ context.Context, config *pgx.ConnConfig) error {
	guard := &commitGuard{}
	dial, connected := config.DialFunc, config.AfterConnect
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		if guard.committing.Load() {
			return nil, errUncancelled
		}
		return dial(ctx, network, address)
	}
	config.AfterConnect = func(ctx context.Context, conn *pgconn.PgConn) error {
		conn.CustomData()[guardKey] = guard
		if connected == nil {
			return nil
		}
		return connected(ctx, conn)
	}
	return nil
}

// guardOf returns the guard of a connection of the pool.
func guardOf(conn *pgxpool.Conn) (*commitGuard, error) {
	guard, ok := conn.Conn().PgConn().CustomData()[guardKey].(*commitGuard)
	if !ok {
		return nil, errors.New("a connection without a commit guard")
	}
	return guard, nil
}

// unansweredCommitError is the error of a commit that was not answered in time. Its connection is busy until answered
// is closed.
type unansweredCommitError struct {
	cause    error
	answered <-chan struct{}
}

// Error implements error.
func (e *unansweredCommitError) Error() string {
	return fmt.Sprintf("the database has not answered the commit: %v", e.cause)
}

// Unwrap returns the error of the context.
func (e *unansweredCommitError) Unwrap() error { return e.cause }

// sendCommit sends the deferred statements with the commit at their end, unless the context of the transaction has
// ended already. It returns an [unansweredCommitError] when the context ends before the answer; then the connection is
// no longer the transaction's.
func (t *postgresTx) sendCommit() error {
	if err := t.ctx.Err(); err != nil {
		return err
	}
	guard, err := guardOf(t.conn)
	if err != nil {
		return err
	}
	guard.committing.Store(true)
	batch, conn, result := t.deferred, t.conn, make(chan error, 1)
	t.deferred = &pgx.Batch{}
	go func() { result <- conn.SendBatch(context.WithoutCancel(t.ctx), batch).Close() }()
	select {
	case err := <-result:
		guard.ended(conn)
		return err
	case <-t.ctx.Done():
		if len(result) > 0 { // the answer came at the same time
			guard.ended(conn)
			return <-result
		}
		answered := make(chan struct{})
		go func() {
			defer close(answered)
			t.engine.awaitCommit(conn, guard, result)
		}()
		return &unansweredCommitError{t.ctx.Err(), answered}
	}
}

// awaitCommit waits until a commit is answered, as long as the server says that commits wait for a standby, and
// releases the connection.
func (e *postgresEngine) awaitCommit(conn *pgxpool.Conn, guard *commitGuard, result <-chan error) {
	defer conn.Release() // the pool removes it if it is closed
	for failures := 0; failures < standbyFailures; {
		select {
		case <-result: //nolint:errcheck // the caller has been told that the result is unknown
			guard.ended(conn)
			return
		case <-time.After(standbyInterval):
			waits, err := e.commitsWait()
			switch {
			case err != nil:
				failures++
				continue
			case waits:
				failures = 0
				continue
			}
		case <-e.closing:
		}
		break
	}
	conn.Conn().PgConn().Conn().Close() //nolint:errcheck,gosec // so that pgx gives up the commit; an error says that the connection is closed already
	<-result                            //nolint:errcheck // the result of the commit stays unknown
}

// commitsWait reports whether any session of this database waits for a synchronous standby. Which session it is cannot
// be said: behind a connection pool, only the pool knows. It asks over a connection of its own, because all others may
// be waiting.
func (e *postgresEngine) commitsWait() (waits bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), standbyInterval)
	defer cancel()
	conn, err := pgx.ConnectConfig(ctx, e.direct)
	if err != nil {
		return false, err
	}
	defer conn.Close(ctx) //nolint:errcheck // it has only read
	err = conn.QueryRow(ctx,
		"select exists (select from pg_stat_activity where datname = current_database() and wait_event = 'SyncRep')").Scan(
		&waits)
	return waits, err
}
