package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"quittance/internal/platform/db"
)

// copyLock is the key of the advisory lock that one restore into a database holds.
const copyLock = 0x71756974746e63 // arbitrary

// The statements below concern the relations of the current schema that belong to no extension.
const (
	relationsQuery = `select c.relname::text from pg_class c where c.relnamespace = current_schema()::regnamespace and c.relkind = any($1)
		and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid and d.deptype = 'e') order by 1`
	functionsQuery = `select p.oid::regprocedure::text from pg_proc p where p.pronamespace = current_schema()::regnamespace
		and not exists (select from pg_depend d where d.classid = 'pg_proc'::regclass and d.objid = p.oid and d.deptype = 'e') order by 1`
	columnsQuery = `select attname::text from pg_attribute where attrelid = $1::regclass and attnum > 0 and not attisdropped and attgenerated = '' order by attnum`
)

// unbounded removes the limits that a role or a database may have: the statements of a copy take as long as it is
// large, and its connection is idle in the meantime.
const unbounded = `set statement_timeout = 0; set idle_in_transaction_session_timeout = 0; set idle_session_timeout = 0; set client_encoding = 'UTF8'; set datestyle = 'ISO'`

// copyTries bounds how often a copy begins anew because a migration ran between its look at the tables and their locks.
const copyTries = 5

// errChangedTables says that the tables changed while they were being locked.
var errChangedTables = errors.New("the schema is being migrated")

// connect opens a connection to the server itself, which has no limits of time.
func connect(ctx context.Context, server *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := pgx.ConnectConfig(ctx, server)
	if err != nil {
		return nil, err
	}
	if _, err := conn.Exec(ctx, unbounded); err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// outPostgres reads all tables in one transaction, whose snapshot begins when the tables are locked against migrations.
// Reads and writes of servers do not wait for these locks.
func outPostgres(ctx context.Context, server *pgx.ConnConfig,
	open func(stream string) (io.WriteCloser, error)) (Copied, error) {
	conn, err := connect(ctx, server)
	if err != nil {
		return Copied{}, err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	for try := 1; ; try++ {
		copied, err := copySnapshot(ctx, conn, open)
		if try == copyTries || !errors.Is(err, errChangedTables) {
			return copied, err
		}
	}
}

func copySnapshot(ctx context.Context, conn *pgx.Conn,
	open func(stream string) (io.WriteCloser, error)) (copied Copied, err error) {
	before, err := names(ctx, conn, relationsQuery, []string{"r"})
	if err != nil {
		return Copied{}, err
	}
	if slices.Contains(before, db.RestoreMarker) {
		return Copied{}, db.ErrRestoring
	}
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly})
	if err != nil {
		return Copied{}, err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // nothing was written
	// The snapshot begins with the first query. A table that a migration rewrites after that would appear empty, so lock
	// first.
	for _, table := range before {
		if _, err := tx.Exec(ctx, `lock table `+quoted(table)+` in access share mode`); err != nil {
			if isUndefinedTable(err) {
				return Copied{}, fmt.Errorf("%w: %w", errChangedTables, err)
			}
			return Copied{}, err
		}
	}
	after, err := names(ctx, tx, relationsQuery, []string{"r"})
	if err != nil {
		return Copied{}, err
	}
	if !slices.Equal(before, after) {
		return Copied{}, errChangedTables
	}
	copied = Copied{Engine: "postgres"}
	if err := tx.QueryRow(ctx,
		`select coalesce(max(version_id), 0) from goose_db_version`).Scan(&copied.SchemaVersion); err != nil {
		return Copied{}, err
	}
	for _, name := range after {
		table, err := copyTable(ctx, tx, name, open)
		if err != nil {
			return Copied{}, fmt.Errorf("table %s: %w", name, err)
		}
		copied.Tables = append(copied.Tables, table)
	}
	copied.Sequences, err = sequences(ctx, tx)
	return copied, err
}

// isUndefinedTable reports whether a table does not exist (PostgreSQL, appendix A, undefined_table).
func isUndefinedTable(err error) bool {
	reported, ok := errors.AsType[*pgconn.PgError](err)
	return ok && reported.Code == "42P01"
}

// copyTable writes one table to its stream.
func copyTable(ctx context.Context, tx pgx.Tx, name string,
	open func(stream string) (io.WriteCloser, error)) (CopiedTable, error) {
	columns, err := names(ctx, tx, columnsQuery, quoted(name))
	if err != nil {
		return CopiedTable{}, err
	}
	to, err := open(name)
	if err != nil {
		return CopiedTable{}, err
	}
	tag, err := tx.Conn().PgConn().CopyTo(ctx, to, `copy `+quoted(name)+` (`+quotedList(columns)+`) to stdout`)
	if err != nil {
		return CopiedTable{}, err
	}
	return CopiedTable{Name: name, Columns: columns, Rows: tag.RowsAffected()}, to.Close()
}

func sequences(ctx context.Context, tx pgx.Tx) ([]CopiedSequence, error) {
	found, err := names(ctx, tx, relationsQuery, []string{"S"})
	if err != nil {
		return nil, err
	}
	all := make([]CopiedSequence, len(found))
	for n, name := range found {
		all[n].Name = name
		if err := tx.QueryRow(ctx, `select last_value, is_called from `+quoted(name)).Scan(&all[n].Last,
			&all[n].Called); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// queries is a connection or a transaction.
type queries interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// names returns the rows of a query with one column of text.
func names(ctx context.Context, q queries, query string, args ...any) ([]string, error) {
	rows, err := q.Query(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}

func quoted(name string) string { return pgx.Identifier{name}.Sanitize() }

func quotedList(all []string) string {
	var text []byte
	for n, name := range all {
		if n > 0 {
			text = append(text, ',')
		}
		text = append(text, quoted(name)...)
	}
	return string(text)
}
