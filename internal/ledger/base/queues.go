package base

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"slices"
	"time"
)

// Queue is the due work of one destination or one provider connection: the deliveries of a subscription, the
// submissions of a connection or its purchase sync, or the mails of a company. Workers take turns over queues, so that
// the backlog of one company does not delay others.
type Queue struct {
	tenant  *Tenant
	account ID
	id      ID
	db      *DB
}

// Queue returns the queue of a tenant's work for a destination.
func (t *Tenant) Queue(id ID) Queue {
	return Queue{tenant: t, account: t.account, id: id, db: t.db}
}

// AccountQueue returns the queue of an account's work.
func (db *DB) AccountQueue(account, id ID) Queue {
	return Queue{account: account, id: id, db: db}
}

// Tenant returns the tenant whose work the queue is; nil for work of an account.
func (q Queue) Tenant() *Tenant { return q.tenant }

// Account returns the account whose work the queue is.
func (q Queue) Account() ID { return q.account }

// DB returns the database of the queue; nil for the zero value.
func (q Queue) DB() *DB { return q.db }

// Key identifies the queue within its kind of work.
func (q Queue) Key() ID { return q.id }

// Company identifies the company that the work belongs to, for limits that all its queues share.
func (q Queue) Company() ID {
	if q.tenant != nil {
		return q.tenant.ID()
	}
	return q.account
}

// ScanCursor says where a step of a scan begins. The zero value is the beginning.
type ScanCursor struct {
	DueAt   int64 // microseconds; 0 where the scan is not ordered by time
	Company ID
}

// IsZero reports whether c is the beginning.
func (c ScanCursor) IsZero() bool { return c == ScanCursor{} }

// DueScan is the result of one step of a scan for due work. A step covers a bounded number of companies or syncs, so
// its cost does not depend on the amount of work.
type DueScan struct {
	// Queues are those with work due now, the longest waiting first.
	Queues []Queue
	// NextDue is when the next work that this step has seen becomes due; the zero time when there is none.
	NextDue time.Time
	// Next is where the next step begins; the zero cursor when this step was the last.
	Next ScanCursor
}

// MaxCompaniesPerScan bounds a step of a scan. A step takes some milliseconds when all of them have work.
const MaxCompaniesPerScan = 256

// DueQueue is a queue that a scan has read: its position in the order of the scan, and when its first task is due, null
// when the work must not be done.
type DueQueue struct {
	Queue
	Cursor ScanCursor
	Due    sql.Null[int64]
}

// ScanQueues reads one step of a scan; readRow reads a row of it. A step with [MaxCompaniesPerScan] different cursors
// is not the last.
func (db *DB) ScanQueues(ctx context.Context, readRow func(Row) (DueQueue, error), query string,
	args ...any) (DueScan, error) {
	rows, err := Collect(ctx, db.reader, readRow, query, args...)
	if err != nil {
		return DueScan{}, db.Classify(err)
	}
	var found DueScan
	cursors, last := map[ScanCursor]bool{}, ScanCursor{}
	for _, row := range rows {
		cursors[row.Cursor] = true
		if last.Before(row.Cursor) {
			last = row.Cursor
		}
	}
	now := Micros(db.Now())
	if len(cursors) >= MaxCompaniesPerScan && last.DueAt <= now {
		found.Next = last
	}
	rows = slices.DeleteFunc(rows, func(row DueQueue) bool { return !row.Due.Valid })
	slices.SortStableFunc(rows, func(a, b DueQueue) int { return cmp.Compare(a.Due.V, b.Due.V) })
	for _, row := range rows {
		if row.Due.V > now {
			found.NextDue = Instant(row.Due.V)
			break
		}
		found.Queues = append(found.Queues, row.Queue)
	}
	return found, nil
}

// Before reports whether a scan reaches c before d.
func (c ScanCursor) Before(d ScanCursor) bool {
	return c.DueAt < d.DueAt || c.DueAt == d.DueAt && bytes.Compare(c.Company[:], d.Company[:]) < 0
}
