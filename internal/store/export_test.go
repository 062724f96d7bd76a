package store

import (
	"context"
	"database/sql"
	"io/fs"

	base "quittance/internal/db"
)

// Document returns the stored document of a submission.
func Document(ctx context.Context, t *Tenant, submission ID) ([]byte, error) {
	return t.document(ctx, t.db.reader, submission)
}

// MigrateTo migrates to the schema of another version, which is in the directory schema of source.
func (db *DB) MigrateTo(ctx context.Context, source fs.FS) error {
	files, err := fs.Sub(source, "schema")
	if err != nil {
		return err
	}
	return db.database.Migrate(ctx, files)
}

// WithBrokenWrites returns options of a store whose writes fail with the error of begin, if it returns one.
func WithBrokenWrites(options Options, begin func() error) Options {
	options.beforeBegin = begin
	return options
}

// WithTrace returns options of a store that calls trace with each of its statements before it runs.
func WithTrace(options Options, trace func(statement string, args []any)) Options {
	options.trace = trace
	return options
}

// Evidence returns the chain of a submission, oldest first, without the bodies.
func (t *Tenant) Evidence(ctx context.Context, submission ID) (out []Evidence, err error) {
	if _, err := t.Submission(ctx, submission); err != nil {
		return nil, err
	}
	err = t.ReadRows(func(r Reader) error {
		out, err = r.Evidence(ctx, `submission_id = $2`, `order by ordinal`, submission)
		return err
	})
	return out, err
}

// SealRow seals a row of a sealed table that a test has written.
func (db *DB) SealRow(ctx context.Context, table string, key ...any) error {
	for _, sealed := range sealedTables {
		if sealed.name == table {
			return db.write(ctx, "seal row", func(ctx context.Context,
				t *tx) error {
				return t.sealRow(ctx, sealed.row(key...), nil)
			})
		}
	}
	return ErrNotFound
}

// SealedColumns returns the columns that decide who may act, by table, and the tables whose rows lose their seal when
// they end.
func SealedColumns() (decide map[string][]string, end map[string]bool) {
	decide, end = map[string][]string{}, map[string]bool{}
	for _, sealed := range sealedTables {
		decide[sealed.name], end[sealed.name] = append(append([]string{}, sealed.keys...), sealed.decides...),
			sealed.live != ""
	}
	return decide, end
}

// EventDigests returns the digests of the events that a response caused.
func EventDigests(e Evidence) []byte { return e.events }

// rawTx makes a querier of a transaction past the store.
type rawTx struct{ *sql.Tx }

func (t rawTx) QueryContext(ctx context.Context, query string, args ...any) (base.Rows, error) {
	return t.Tx.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller checks it
}

func (t rawTx) QueryRowContext(ctx context.Context, query string, args ...any) base.Row {
	return t.Tx.QueryRowContext(ctx, query, args...)
}

// VerifyThrough is VerifyEvidence within a transaction.
func (db *DB) VerifyThrough(ctx context.Context, tx *sql.Tx, replay Replay) (Verified, error) {
	return db.verifyThrough(base.WithoutQueryDeadline(ctx), rawTx{tx}, replay)
}

// VerifyAnchorThrough is VerifyAnchor within a transaction.
func (db *DB) VerifyAnchorThrough(ctx context.Context, tx *sql.Tx, file []byte) ([]EvidenceError, error) {
	anchors, err := db.ReadAnchors(ctx, file)
	if err != nil {
		return nil, err
	}
	return db.verifyAnchor(ctx, rawTx{tx}, anchors)
}

// Downgrade converts a tenant's evidence to that of a version without interpretations, digests of events and seals of
// rows: chains of the first form without seals.
func Downgrade(ctx context.Context, t *Tenant, q interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
},
) error {
	exec := func(query string, args ...any) error {
		_, err := q.ExecContext(ctx, query, args...)
		return err
	}
	all, err := collect(ctx, t.db.reader, func(row scanner) (Evidence, error) { return scanEvidence(row) },
		`select `+evidenceColumns+` from evidence where tenant_id = $1 order by submission_id, ordinal`, t.id)
	if err != nil {
		return err
	}
	var head [32]byte
	for _, e := range all {
		if e.Ordinal == 1 {
			head = [32]byte{}
		}
		e.early, e.Previous = true, head
		head = e.computeDigest()
		if err := exec(
			`update evidence set report = null, events = null, previous = $3, digest = $4 where tenant_id = $1 and id = $2`,
			t.id, e.ID, e.Previous[:], head[:]); err != nil {
			return err
		}
		if err := exec(`update submissions set evidence_head = $3 where tenant_id = $1 and id = $2`, t.id, e.Submission,
			head[:]); err != nil {
			return err
		}
	}
	revisions, err := collect(ctx, t.db.reader, func(row scanner) (Revision, error) { return scanRevision(row) },
		`select `+revisionColumns+fromRevisions+`1 = 1 order by r.incoming_id, r.revision`, t.id)
	if err != nil {
		return err
	}
	for _, r := range revisions {
		if r.Revision == 1 {
			head = [32]byte{}
		}
		r.events, r.Previous = nil, head
		head = r.chain()
		if err := exec(
			`update revisions set events = null, previous = $4, digest = $5 where tenant_id = $1 and incoming_id = $2 and revision = $3`,
			t.id, r.Incoming, r.Revision, r.Previous[:], head[:]); err != nil {
			return err
		}
		if err := exec(`update incoming set head = $3 where tenant_id = $1 and id = $2`, t.id, r.Incoming,
			head[:]); err != nil {
			return err
		}
	}
	for _, statement := range []string{`update submissions set evidence_seal = null, begun_at = null where tenant_id = $1`,
		`update states set meaning = null where tenant_id = $1`,
		`update incoming set seal = null where tenant_id = $1`, `update tenants set events_seal = null where id = $1`} {
		if err := exec(statement, t.id); err != nil {
			return err
		}
	}
	return ForgetSealed(ctx, t.db)
}

// ForgetSealed converts a database to one whose evidence was never sealed: without the record, and without the note of
// it in the records of the keys.
func ForgetSealed(ctx context.Context, db *DB) error {
	keys, err := db.keys.current()
	if err != nil {
		return err
	}
	return db.write(ctx, "forget", func(ctx context.Context, t *tx) error {
		records, err := t.lockedKeyRecords(ctx)
		if err != nil {
			return err
		}
		for _, record := range records {
			check, err := checkValue(keys, record.id, formBound)
			if err != nil {
				return err
			}
			if _, err := t.Exec(ctx, `update sealing_keys set check_value = $2 where id = $1`, int64(record.id),
				check); err != nil {
				return err
			}
		}
		if _, err := t.Exec(ctx, `delete from sealed_sets`); err != nil {
			return err
		}
		_, err = t.Exec(ctx, `delete from sealed_settings where id = $1`, settingEvidence())
		return err
	})
}

// RecordKeys records the keys of the store in a database with an older schema.
func (db *DB) RecordKeys(ctx context.Context) error {
	keys, err := db.keys.current()
	if err != nil {
		return err
	}
	check, err := checkValue(keys, keys.PrimaryID(), formBound)
	if err != nil {
		return err
	}
	return db.write(ctx, "record keys", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx, `insert into sealing_keys (id, check_value, recorded_at) values ($1, $2, $3)`,
			int64(keys.PrimaryID()), check, micros(t.Now()))
		return err
	})
}

// SchemaVersion returns the version of the schema.
func (db *DB) SchemaVersion(ctx context.Context) (int64, error) { return db.schemaVersion(ctx) }
