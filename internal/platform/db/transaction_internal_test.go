package db

import (
	"database/sql"
	"errors"
	"testing"

	"github.com/jackc/pgx/v5"
)

const insertNumber = "insert into numbers (n) values ($1)"

// countAndSum returns the count and the sum of the committed numbers.
func (g grouped) countAndSum(t *testing.T) (count, sum int) {
	t.Helper()
	if err := g.Reader().QueryRowContext(t.Context(),
		"select count(*), cast(coalesce(sum(n), 0) as bigint) from numbers").Scan(&count, &sum); err != nil {
		t.Fatal(err)
	}
	return count, sum
}

func (g grouped) begun(t *testing.T) transaction {
	t.Helper()
	begun, err := g.engine.begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return begun
}

// TestDeferredStatements checks that deferred statements run in their order, before the next query of the transaction
// and before its commit, and that they are part of the transaction.
func TestDeferredStatements(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx := t.Context()
		begun := g.begun(t)
		for n := 1; n <= 3; n++ {
			if err := begun.ExecDeferred(ctx, insertNumber, n); err != nil {
				t.Fatal(err)
			}
		}
		if err := begun.ExecDeferred(ctx, "update numbers set n = n + $1 where n = $2", 10, 3); err != nil {
			t.Fatal(err)
		}
		var sum int
		if err := begun.QueryRowContext(ctx, "select cast(sum(n) as bigint) from numbers").Scan(&sum); err != nil ||
			sum != 16 {
			t.Errorf("within the transaction the sum is %d, %v", sum, err)
		}
		if count, _ := g.countAndSum(t); count != 0 {
			t.Errorf("%d numbers are visible before the commit", count)
		}
		if err := begun.ExecDeferred(ctx, insertNumber, 4); err != nil {
			t.Fatal(err)
		}
		if err := begun.Commit(); err != nil {
			t.Fatal(err)
		}
		if count, sum := g.countAndSum(t); count != 4 || sum != 20 {
			t.Errorf("%d numbers, their sum %d", count, sum)
		}
		if err := begun.Rollback(); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("a rollback after the commit: %v", err)
		}
		if err := begun.Commit(); !errors.Is(err, sql.ErrTxDone) {
			t.Errorf("a second commit: %v", err)
		}

		undone := g.begun(t)
		if err := undone.ExecDeferred(ctx, insertNumber, 5); err != nil {
			t.Fatal(err)
		}
		if err := undone.Rollback(); err != nil {
			t.Fatal(err)
		}
		if count, _ := g.countAndSum(t); count != 4 {
			t.Errorf("%d numbers after a rollback", count)
		}
	})
}

// TestDeferredStatementFails checks that a deferred statement that fails makes the transaction fail with its error, no
// matter what follows it: the commit, a row, rows or another statement. The connection can then be used again.
func TestDeferredStatementFails(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx := t.Context()
		after := map[string]func(begun transaction) error{
			"nothing": func(transaction) error { return nil },
			"a row": func(begun transaction) error {
				var n int
				return begun.QueryRowContext(ctx, "select count(*) from numbers").Scan(&n)
			},
			"rows": func(begun transaction) (err error) {
				rows, err := begun.QueryContext(ctx, "select n from numbers")
				if err != nil {
					return err
				}
				defer func() { err = errors.Join(err, rows.Close()) }()
				return rows.Err()
			},
			"a statement": func(begun transaction) error {
				_, err := begun.Exec(ctx, insertNumber, 99)
				return err
			},
		}
		if err := g.exec(ctx, insertNumber, 1); err != nil {
			t.Fatal(err)
		}
		for name, query := range after {
			begun := g.begun(t)
			failure := errors.Join(begun.ExecDeferred(ctx, insertNumber, 2), begun.ExecDeferred(ctx, insertNumber, 1))
			if failure == nil {
				failure = begun.ExecDeferred(ctx, insertNumber, 3)
			}
			if failure == nil {
				failure = query(begun)
			}
			if failure == nil {
				failure = begun.Commit()
			} else if err := begun.Rollback(); err != nil {
				t.Errorf("%s: rollback: %v", name, err)
			}
			if failure = begun.RootError(failure); g.ViolatedConstraint(failure) != g.repeats() {
				t.Errorf("%s: the error is %v", name, failure)
			}
			if count, sum := g.countAndSum(t); count != 1 || sum != 1 {
				t.Errorf("%s: %d numbers, their sum %d", name, count, sum)
			}
		}
	})
}

// TestCommitRolledBack checks that a commit that PostgreSQL answers with a rollback fails: it does so after a failed
// statement. SQLite commits the rest, which is why a [Tx] fails after a failed statement.
func TestCommitRolledBack(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		begun := g.begun(t)
		for range 2 {
			_, _ = begun.Exec(t.Context(), insertNumber, 1) // the second one fails
		}
		err := begun.Commit()
		count, _ := g.countAndSum(t)
		if rolledBack := errors.Is(err, pgx.ErrTxCommitRollback); rolledBack != (g.Engine() == "postgres") ||
			rolledBack != (count == 0) {
			t.Errorf("the commit returns %v, with %d numbers in the table", err, count)
		}
		if err := g.begun(t).Commit(); err != nil {
			t.Errorf("the next commit: %v", err)
		}
	})
}

// TestBrokenConnection checks that a transaction whose connection is lost fails, and that the next one gets another
// connection.
func TestBrokenConnection(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx := t.Context()
		begun := g.begun(t)
		if err := begun.ExecDeferred(ctx, insertNumber, 1); err != nil {
			t.Fatal(err)
		}
		if g.Engine() != "postgres" {
			// A file has no connection that can be lost; losing the transaction has the same effect.
			if _, err := begun.Exec(ctx, rollback); err != nil {
				t.Fatal(err)
			}
		} else {
			var pid int
			if err := begun.QueryRowContext(ctx, "select pg_backend_pid()").Scan(&pid); err != nil {
				t.Fatal(err)
			}
			var ended bool
			if err := g.Reader().QueryRowContext(ctx, "select pg_terminate_backend($1)", pid).Scan(&ended); err != nil {
				t.Fatal(err)
			}
		}
		if err := begun.Commit(); err == nil {
			t.Error("the commit has not failed")
		}
		next := g.begun(t)
		if err := next.ExecDeferred(ctx, insertNumber, 2); err != nil {
			t.Fatal(err)
		}
		if err := next.Commit(); err != nil {
			t.Fatal(err)
		}
		if count, sum := g.countAndSum(t); count != 1 || sum != 2 {
			t.Errorf("%d numbers, their sum %d", count, sum)
		}
	})
}
