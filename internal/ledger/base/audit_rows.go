package base

import (
	"context"
	"fmt"
	"strings"
	"time"

	sqldb "quittance/internal/platform/db"
)

// AuditHead is a row of audit_heads: the end of a chain, and its seal.
type AuditHead struct {
	Chain ID
	AuditEnd
	Seal     []byte
	Readable bool
}

// AuditHeadColumns are the columns of a row h of audit_heads, for [AuditHead.Fields].
const AuditHeadColumns = `h.chain, h.count, h.head, h.chains, h.seal`

// Fields returns where AuditHeadColumns are scanned.
func (h *AuditHead) Fields() []any {
	return []any{&h.Chain, &h.Count, (*DigestColumn)(&h.Head), &h.chains, &h.Seal}
}

// ScanAuditHead reads auditHeadColumns. A row that cannot be read is a fault of its chain only, so it sets readable to
// false instead of failing.
func ScanAuditHead(row Row) (h AuditHead, err error) {
	h.Readable = row.Scan(h.Fields()...) == nil
	return h, nil
}

// DigestColumn reads a digest from its column.
type DigestColumn [32]byte

// Scan implements [sql.Scanner].
func (d *DigestColumn) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok {
		return fmt.Errorf("a stored digest is a %T", value)
	}
	return ParseDigest((*[32]byte)(d), raw)
}

// SettingAuditBegun is the key of the time at which the audit log began, in microseconds since 1970.
const SettingAuditBegun = "audit_begun_at"

// AuditColumns are what [ScanAudit] reads.
const AuditColumns = `chain, ordinal, id, at, actor_kind, actor, means, source, request_id, act, account_id, subject_type, subject, reason, details, previous, digest`

// ScanAudit reads an entry of the audit log.
func ScanAudit(row Row) (e AuditEntry, err error) {
	err = e.Scan(row)
	return e, err
}

// Scan reads auditColumns, which follow the columns that before receives.
func (e *AuditEntry) Scan(row Row, before ...any) error {
	var at int64
	var account []byte
	if err := row.Scan(append(before, &e.Chain, &e.Ordinal, &e.ID, &at, &e.Kind, &e.Name, &e.Means, &e.Source,
		&e.RequestID, &e.Act, &account, &e.SubjectType, &e.Subject, &e.Reason, &e.Details, (*DigestColumn)(&e.Previous),
		(*DigestColumn)(&e.Digest))...); err != nil {
		return err
	}
	e.At = Instant(at)
	if account == nil {
		return nil
	}
	e.Account = new(ID)
	return e.Account.Scan(account)
}

// RecordAudit appends an act to the audit log that does not write to the database, such as an export. Acts that do are
// recorded in their own transactions.
func (db *DB) RecordAudit(ctx context.Context, act Act) error {
	return db.Write(ctx, "record audit", func(ctx context.Context, t *Tx) error { return t.Audit(act) })
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
		return sqldb.Parameter(len(args))
	}
	var since int64
	if !filter.Since.IsZero() {
		since = Micros(filter.Since)
	}
	where := `at >= ` + next(since)
	if filter.Account != nil {
		where += ` and chain = ` + next(*filter.Account)
	}
	if !filter.Until.IsZero() {
		where += ` and at < ` + next(Micros(filter.Until))
	}
	if rest := filter.Rest(next); rest != "" {
		where += ` and ` + rest
	}
	entries, err := Collect(ctx, db.reader, ScanAudit, `select `+AuditColumns+` from (select * from audit where `+where+
		` order by at desc, chain desc, ordinal desc limit `+next(filter.Limit)+`) latest order by at, chain, ordinal`,
		args...)
	return entries, db.Classify(err)
}

// Rest returns the condition for the actor and the act, which no index answers; "" for none. next adds an argument to
// the statement and returns the name of its parameter.
func (f AuditFilter) Rest(next func(value any) string) string {
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
