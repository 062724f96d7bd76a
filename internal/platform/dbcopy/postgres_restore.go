package dbcopy

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"slices"

	"github.com/jackc/pgx/v5"

	"quittance/internal/platform/db"
)

// restorePostgres restores a copy. Its connection holds a lock, so that a second restore does not begin while one runs.
func restorePostgres(ctx context.Context, address, direct string, source fs.FS, copied Copied,
	read func(stream string) (io.Reader, error), finish func(address string) error) (err error) {
	d, err := db.Open(ctx, address, db.Options{Application: "quittance-restore", Channel: "quittance_restore",
		Direct: direct, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, d.Close()) }()
	conn, err := connectForRestore(ctx, d.Server())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx)) //nolint:errcheck // everything was committed or is to be given up
	if err := claimEmpty(ctx, conn); err != nil {
		return err
	}
	if err := d.MigrateTo(ctx, source, copied.SchemaVersion); err != nil {
		return err
	}
	if err := load(ctx, conn, copied, read); err != nil {
		return err
	}
	for _, table := range copied.Tables { // the planner knows nothing about the new rows
		if _, err := conn.Exec(ctx, `analyze `+quoted(table.Name)); err != nil {
			return err
		}
	}
	if err := finish(address); err != nil {
		return err
	}
	_, err = conn.Exec(ctx, `drop table `+quoted(db.RestoreMarker))
	return err
}

// connectForRestore opens a connection that holds the lock of a restore. It returns [ErrCopying] if another one holds
// it.
func connectForRestore(ctx context.Context, server *pgx.ConnConfig) (*pgx.Conn, error) {
	conn, err := connect(ctx, server)
	if err != nil {
		return nil, err
	}
	var locked bool
	err = conn.QueryRow(ctx, `select pg_try_advisory_lock($1)`, int64(copyLock)).Scan(&locked)
	if err == nil && !locked {
		err = ErrCopying
	}
	if err != nil {
		return nil, errors.Join(err, conn.Close(context.WithoutCancel(ctx)))
	}
	return conn, nil
}

// claimEmpty claims an empty database: it creates the marker of a restore, and gives it a row once it knows that
// nothing else is there. It empties a database that an interrupted restore has claimed. Everything in that comes from
// the restore, because no server starts on a database with the marker. A marker without a row proves nothing of that
// kind: an interruption can leave one beside the data of a server.
//
// A server that starts meanwhile creates its tables and then looks for the marker, and claimEmpty creates the marker
// and then looks for tables. So at least one of the two sees the other and gives up.
func claimEmpty(ctx context.Context, conn *pgx.Conn) error {
	claimed, err := isClaimed(ctx, conn)
	if err != nil {
		return err
	}
	if claimed {
		return empty(ctx, conn)
	}
	err = checkEmpty(ctx, conn) // before anything is changed
	if err == nil {
		_, err = conn.Exec(ctx, `create table if not exists `+quoted(db.RestoreMarker)+` (claimed_at timestamptz not null)`)
	}
	if err == nil {
		err = checkEmpty(ctx, conn)
	}
	if err != nil {
		return errors.Join(err, removeUnclaimed(ctx, conn))
	}
	_, err = conn.Exec(ctx, `insert into `+quoted(db.RestoreMarker)+` values (now())`)
	return err
}

// isClaimed reports whether a restore has claimed the database.
func isClaimed(ctx context.Context, conn *pgx.Conn) (claimed bool, err error) {
	err = conn.QueryRow(ctx, `select to_regclass($1) is not null`, db.RestoreMarker).Scan(&claimed)
	if err != nil || !claimed {
		return false, err
	}
	err = conn.QueryRow(ctx, `select exists (select from `+quoted(db.RestoreMarker)+`)`).Scan(&claimed)
	return claimed, err
}

// checkEmpty returns [ErrNotEmpty] if the database has content.
func checkEmpty(ctx context.Context, conn *pgx.Conn) error {
	relations, functions, err := content(ctx, conn)
	if err == nil && len(relations)+len(functions) > 0 {
		err = ErrNotEmpty
	}
	return err
}

// removeUnclaimed removes a marker without a row, so that servers start again. The context of the restore may have
// ended, and with it the connection and its lock.
func removeUnclaimed(ctx context.Context, conn *pgx.Conn) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), db.QueryTimeout)
	defer cancel()
	if conn.IsClosed() {
		again, err := connect(ctx, conn.Config())
		if err != nil {
			return err
		}
		defer again.Close(ctx) //nolint:errcheck // the marker is removed or not
		// The server releases the lock a moment after the connection has ended.
		if _, err := again.Exec(ctx, `select pg_advisory_lock($1)`, int64(copyLock)); err != nil {
			return err
		}
		conn = again
	}
	if claimed, err := isClaimed(ctx, conn); err != nil || claimed {
		return err
	}
	_, err := conn.Exec(ctx, `drop table if exists `+quoted(db.RestoreMarker))
	return err
}

// content returns the relations and functions of the database, without the marker of a restore.
func content(ctx context.Context, q queries) (relations, functions []string, err error) {
	if relations, err = names(ctx, q, relationsQuery, []string{"r", "p", "v", "m", "f", "S"}); err != nil {
		return nil, nil, err
	}
	relations = slices.DeleteFunc(relations, func(name string) bool { return name == db.RestoreMarker })
	functions, err = names(ctx, q, functionsQuery)
	return relations, functions, err
}

// empty removes what an interrupted restore has created.
func empty(ctx context.Context, conn *pgx.Conn) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it was committed or is to be given up
	tables, err := names(ctx, tx, relationsQuery, []string{"r"})
	if err != nil {
		return err
	}
	for _, table := range tables {
		if table == db.RestoreMarker {
			continue
		}
		if _, err := tx.Exec(ctx, `drop table `+quoted(table)+` cascade`); err != nil {
			return err
		}
	}
	_, functions, err := content(ctx, tx)
	if err != nil {
		return err
	}
	for _, function := range functions {
		if _, err := tx.Exec(ctx, `drop function `+function); err != nil { // the query has quoted it
			return err
		}
	}
	return tx.Commit(ctx)
}

// load loads the streams of a copy into the empty tables of its schema, in one transaction.
func load(ctx context.Context, conn *pgx.Conn, copied Copied, read func(stream string) (io.Reader, error)) error {
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer tx.Rollback(context.WithoutCancel(ctx)) //nolint:errcheck // it was committed or is to be given up
	if err := checkSchema(ctx, tx, copied); err != nil {
		return err
	}
	attach, err := detach(ctx, tx, copied.Tables)
	if err != nil {
		return err
	}
	for _, table := range copied.Tables {
		if err := loadTable(ctx, tx, table, read); err != nil {
			return fmt.Errorf("table %s: %w", table.Name, err)
		}
	}
	for _, statement := range attach {
		if _, err := tx.Exec(ctx, statement); err != nil {
			return err
		}
	}
	for _, sequence := range copied.Sequences {
		if _, err := tx.Exec(ctx, `select setval($1::regclass, $2, $3)`, quoted(sequence.Name), sequence.Last,
			sequence.Called); err != nil {
			return err
		}
	}
	return tx.Commit(ctx)
}

// checkSchema returns [ErrCopy] unless the tables, columns and sequences of the database are those of the copy.
func checkSchema(ctx context.Context, tx pgx.Tx, copied Copied) error {
	tables, err := names(ctx, tx, relationsQuery, []string{"r"})
	if err != nil {
		return err
	}
	tables = slices.DeleteFunc(tables, func(name string) bool { return name == db.RestoreMarker })
	var version int64
	if err := tx.QueryRow(ctx, `select coalesce(max(version_id), 0) from goose_db_version`).Scan(&version); err != nil {
		return err
	}
	if version != copied.SchemaVersion {
		return fmt.Errorf(
			"%w: this program knows the schema up to version %d, and the backup has version %d: use the release that made it",
			ErrCopy, version, copied.SchemaVersion)
	}
	var want []string
	for _, table := range copied.Tables {
		want = append(want, table.Name)
		if !slices.Contains(tables, table.Name) {
			continue // reported below
		}
		columns, err := names(ctx, tx, columnsQuery, quoted(table.Name))
		if err != nil {
			return err
		}
		if !sameSet(columns, table.Columns) {
			return fmt.Errorf("%w: table %s of schema version %d has other columns", ErrCopy, table.Name, version)
		}
	}
	if !sameSet(tables, want) {
		return fmt.Errorf("%w: schema version %d has other tables", ErrCopy, version)
	}
	sequences, err := names(ctx, tx, relationsQuery, []string{"S"})
	if err != nil {
		return err
	}
	var numbered []string
	for _, sequence := range copied.Sequences {
		numbered = append(numbered, sequence.Name)
	}
	if !sameSet(sequences, numbered) {
		return fmt.Errorf("%w: schema version %d has other sequences", ErrCopy, version)
	}
	return nil
}

// sameSet reports whether two lists have the same elements, in any order.
func sameSet(a, b []string) bool {
	return slices.Equal(slices.Sorted(slices.Values(a)), slices.Sorted(slices.Values(b)))
}

// detach removes what would check, change or index single rows while they are loaded: foreign keys, indexes that belong
// to no constraint, triggers, and the rows of the migrations. It returns the statements that put all but the rows back,
// for all rows at once.
func detach(ctx context.Context, tx pgx.Tx, tables []CopiedTable) (attach []string, err error) {
	// A foreign key can need an index, so it goes first and comes back last.
	foreignKeys, err := replaced(ctx, tx, `select format('alter table %s drop constraint %I', conrelid::regclass, conname),
		format('alter table %s add constraint %I %s', conrelid::regclass, conname, pg_get_constraintdef(oid)) from pg_constraint
		where contype = 'f' and conparentid = 0 and connamespace = current_schema()::regnamespace order by 1`)
	if err != nil {
		return nil, err
	}
	indexes, err := replaced(ctx, tx,
		`select format('drop index %s', indexrelid::regclass), pg_get_indexdef(indexrelid) from pg_index join pg_class c on c.oid = indrelid
		where c.relkind = 'r' and c.relnamespace = current_schema()::regnamespace and not exists (select from pg_constraint where conindid = indexrelid) order by 1`)
	if err != nil {
		return nil, err
	}
	attach = slices.Concat(indexes, foreignKeys)
	for _, table := range tables {
		if _, err := tx.Exec(ctx, `alter table `+quoted(table.Name)+` disable trigger user`); err != nil {
			return nil, err
		}
		attach = append(attach, `alter table `+quoted(table.Name)+` enable trigger user`)
	}
	for _, table := range tables {
		if _, err := tx.Exec(ctx, `truncate `+quoted(table.Name)); err != nil {
			return nil, err
		}
	}
	return attach, nil
}

// replaced runs the statements in the first column of a query, and returns those in the second, which undo them.
func replaced(ctx context.Context, tx pgx.Tx, query string) (undo []string, err error) {
	rows, err := tx.Query(ctx, query)
	if err != nil {
		return nil, err
	}
	type change struct{ Do, Undo string }
	changes, err := pgx.CollectRows(rows, pgx.RowToStructByPos[change])
	if err != nil {
		return nil, err
	}
	for _, change := range changes {
		if _, err := tx.Exec(ctx, change.Do); err != nil {
			return nil, err
		}
		undo = append(undo, change.Undo)
	}
	return undo, nil
}

// loadTable loads the stream of one table, and returns [ErrCopy] if that is not the number of rows that it should have.
func loadTable(ctx context.Context, tx pgx.Tx, table CopiedTable, read func(stream string) (io.Reader, error)) error {
	from, err := read(table.Name)
	if err != nil {
		return err
	}
	source := &failureReader{from: from}
	tag, err := tx.Conn().PgConn().CopyFrom(ctx, source,
		`copy `+quoted(table.Name)+` (`+quotedList(table.Columns)+`) from stdin`)
	if source.failure != nil {
		return source.failure // the server knows only its text
	}
	if err != nil {
		return err
	}
	if tag.RowsAffected() != table.Rows {
		return fmt.Errorf("%w: %d rows instead of %d", ErrCopy, tag.RowsAffected(), table.Rows)
	}
	return nil
}

// failureReader keeps the error of a reader.
type failureReader struct {
	from    io.Reader
	failure error
}

// Read implements [io.Reader].
func (r *failureReader) Read(into []byte) (int, error) {
	n, err := r.from.Read(into)
	if err != nil && !errors.Is(err, io.EOF) {
		r.failure = err
	}
	return n, err
}
