package store

import (
	"context"
	"fmt"
	"strings"
	"time"

	base "quittance/internal/db"
)

// auditHead is a row of audit_heads: the end of a chain, and its seal.
type auditHead struct {
	chain ID
	auditEnd
	seal     []byte
	readable bool
}

const auditHeadColumns = `h.chain, h.count, h.head, h.chains, h.seal`

func (h *auditHead) fields() []any {
	return []any{&h.chain, &h.count, (*digestColumn)(&h.head), &h.chains, &h.seal}
}

// scanAuditHead reads auditHeadColumns. A row that cannot be read is a fault of its chain only, so it sets readable to
// false instead of failing.
func scanAuditHead(row scanner) (h auditHead, err error) {
	h.readable = row.Scan(h.fields()...) == nil
	return h, nil
}

// digestColumn reads a digest from its column.
type digestColumn [32]byte

// Scan implements [sql.Scanner].
func (d *digestColumn) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a stored digest is a %T", value)
	}
	return parseDigest((*[32]byte)(d), raw)
}

// settingAuditBegun is the key of the time at which the audit log began, in microseconds since 1970.
const settingAuditBegun = "audit_begun_at"

const auditColumns = `chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest`

func scanAudit(row scanner) (e AuditEntry, err error) {
	err = e.scan(row)
	return e, err
}

// scan reads auditColumns, which follow the columns that before receives.
func (e *AuditEntry) scan(row scanner, before ...any) error {
	var at int64
	var account []byte
	if err := row.Scan(append(before, &e.chain, &e.ordinal, &e.ID, &at, &e.Kind, &e.Name, &e.Means, &e.Source,
		&e.RequestID, &e.Act, &account, &e.SubjectType, &e.Subject, &e.Reason, &e.Details, (*digestColumn)(&e.previous),
		(*digestColumn)(&e.digest))...); err != nil {
		return err
	}
	e.At = instant(at)
	if account == nil {
		return nil
	}
	e.Account = new(ID)
	return e.Account.Scan(account)
}

// RecordAudit appends an act to the audit log that does not write to the database, such as an export. Acts that do are
// recorded in their own transactions.
func (db *DB) RecordAudit(ctx context.Context, act Act) error {
	return db.write(ctx, "record audit", func(ctx context.Context, t *tx) error { return t.audit(act) })
}

// AuditFilter selects entries of the audit log.
type AuditFilter struct {
	// Account selects one account; nil selects all entries, including those of no account.
	Account *ID
	// Since is the earliest time, and entries are from before Until; zero for any.
	Since, Until time.Time
	// Actor is the name of an actor; empty for any.
	Actor string
	// Act is the name of an act, or a prefix that ends before a dot, such as account; empty for any.
	Act string
	// Limit is the maximum number of entries, from 1; the latest ones are returned.
	Limit int
}

// Audit returns the selected entries of the audit log, oldest first.
func (db *DB) Audit(ctx context.Context, filter AuditFilter) ([]AuditEntry, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return base.Parameter(len(args))
	}
	var since int64
	if !filter.Since.IsZero() {
		since = micros(filter.Since)
	}
	where := `at >= ` + next(since)
	if filter.Account != nil {
		where += ` and chain = ` + next(*filter.Account)
	}
	if !filter.Until.IsZero() {
		where += ` and at < ` + next(micros(filter.Until))
	}
	if rest := filter.rest(next); rest != "" {
		where += ` and ` + rest
	}
	entries, err := collect(ctx, db.reader, scanAudit, `select `+auditColumns+` from (select * from audit where `+where+
		` order by at desc, chain desc, ordinal desc limit `+next(filter.Limit)+`) latest order by at, chain, ordinal`,
		args...)
	return entries, db.classify(err)
}

// rest returns the condition for the actor and the act, which no index answers; "" for none. next adds an argument to
// the statement and returns the name of its parameter.
func (f AuditFilter) rest(next func(value any) string) string {
	var where []string
	if f.Actor != "" {
		where = append(where, `actor = `+next(f.Actor))
	}
	if f.Act != "" {
		act := next(f.Act)
		where = append(where, `(act = `+act+` or substr(act, 1, length(`+act+`) + 1) = `+act+` || '.')`)
	}
	return strings.Join(where, ` and `)
}
