package db

import (
	"context"
	"database/sql"
	"errors"
)

// Querier runs queries: [DB.Reader], a snapshot and every transaction are one.
type Querier interface {
	// QueryContext runs a query. The caller closes the rows.
	QueryContext(ctx context.Context, query string, args ...any) (Rows, error)
	// QueryRowContext runs a query that returns at most one row. Its error is that of the row.
	QueryRowContext(ctx context.Context, query string, args ...any) Row
}

// Row is a row of a result.
type Row interface {
	// Scan copies the columns into dest, as [sql.Row.Scan] does. Without a row it returns [sql.ErrNoRows].
	Scan(dest ...any) error
}

// Rows are the rows of a result; see [sql.Rows].
type Rows interface {
	Row
	// Next goes to the next row. It returns false at the end and after an error, which Err returns.
	Next() bool
	// Err returns the error that ended the rows early, if any.
	Err() error
	// Close releases the rows. It may be called more than once.
	Close() error
}

// Collect runs a query, calls scan for every row, and returns the results, never nil.
func Collect[T any](ctx context.Context, q Querier, scan func(Row) (T, error), query string,
	args ...any) (_ []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	out := []T{}
	for rows.Next() {
		value, err := scan(rows)
		if err != nil {
			return nil, err
		}
		out = append(out, value)
	}
	return out, rows.Err()
}

// sqlQuerier makes a [Querier] of an [sql.DB], an [sql.Conn] or an [sql.Tx].
type sqlQuerier struct {
	from interface {
		QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
		QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
	}
}

// QueryContext implements [Querier].
func (q sqlQuerier) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	rows, err := q.from.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller checks it
	if err != nil {
		return nil, err // not rows, which is a nil pointer and would be an interface that is not nil
	}
	return rows, nil
}

// QueryRowContext implements [Querier].
func (q sqlQuerier) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	return q.from.QueryRowContext(ctx, query, args...)
}

// failedRow is the result of a query that could not run.
type failedRow struct{ err error }

// Scan implements [Row].
func (r failedRow) Scan(...any) error { return r.err }
