package store

import (
	"context"
	"database/sql"
	"time"

	"quittance/sdk/go/api"
)

// AccountSubmission is a submission, and whose it is.
type AccountSubmission struct {
	Submission
	Account ID
}

// AllSubmissions returns the latest submissions of every account, newest first, for an administrator; of one account and of
// one outcome where they are given. At most limit.
func (db *DB) AllSubmissions(ctx context.Context, account *ID, outcome api.Outcome, limit int) ([]AccountSubmission, error) {
	accounts, err := db.accountsByTenant(ctx)
	if err != nil {
		return nil, err
	}
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return parameter(len(args))
	}
	where := `outcome <> 'not_sent'`
	if account != nil {
		where += ` and account_id = ` + next(*account)
	}
	switch outcome {
	case "":
	case api.OutcomeUnknown:
		where += ` and outcome = 'unknown'` // a literal, for the index of these
	default:
		where += ` and ` + OutcomeCondition(outcome, next)
	}
	found, err := collect(ctx, db.reader, scanSubmission, `select `+db.submissionColumns()+` from submissions where `+where+
		` order by attempted_at desc, id desc limit `+next(limit), args...)
	if err != nil {
		return nil, db.classify(err)
	}
	out := make([]AccountSubmission, len(found))
	for n, s := range found {
		out[n] = AccountSubmission{s, accounts[s.tenant]}
	}
	return out, nil
}

func (db *DB) accountsByTenant(ctx context.Context) (map[ID]ID, error) {
	tenants, err := db.tenants(ctx)
	if err != nil {
		return nil, err
	}
	out := make(map[ID]ID, len(tenants))
	for _, t := range tenants {
		out[t.id] = t.account
	}
	return out, nil
}

// AccountDelivery is a delivery, whose it is and where it goes.
type AccountDelivery struct {
	DeliveryRecord
	Account ID
	URL     string
}

// AllDeliveries returns the latest deliveries of every account, newest first, for an administrator; of one account and in one
// state where they are given. At most limit.
func (db *DB) AllDeliveries(ctx context.Context, account *ID, state api.DeliveryState, limit int) ([]AccountDelivery, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return parameter(len(args))
	}
	where := `true`
	if account != nil {
		where += ` and t.account_id = ` + next(*account)
	}
	switch state { // literals, for the indexes of pending ones and of those that are lost
	case api.DeliveryPending:
		where += ` and d.state = 'pending'`
	case api.DeliveryFailed:
		where += ` and d.state = 'failed'`
	case api.DeliveryBlocked:
		where += ` and d.state = 'blocked'`
	case "":
	default:
		where += ` and d.state = ` + next(string(state))
	}
	found, err := collect(ctx, db.reader, func(row scanner) (AccountDelivery, error) {
		var d AccountDelivery
		var err error
		d.DeliveryRecord, err = scanDelivery(after{row, []any{&d.Account, &d.URL}})
		return d, err
	}, `select t.account_id, s.url, d.id, d.event_id, d.kind, d.subscription_id, d.state, d.reason, d.attempts, d.due_at, d.created_at, d.updated_at, s.deactivated_at
		from deliveries d join tenants t on t.id = d.tenant_id join subscriptions s on s.tenant_id = d.tenant_id and s.id = d.subscription_id
		where `+where+` order by d.created_at desc, d.id desc limit `+next(limit), args...)
	return found, db.classify(err)
}

// after is a row of which the first columns are scanned into before.
type after struct {
	row    scanner
	before []any
}

// Scan scans the row.
func (a after) Scan(dest ...any) error { return a.row.Scan(append(a.before, dest...)...) }

// Backlog is how much work of a kind there is.
type Backlog struct {
	// Pending is how much of it there is, done or not begun, and Overdue how much of that should have been begun by now. Neither
	// is counted beyond [MaxBacklog].
	Pending, Overdue int64
	// Oldest is for how long the first of it should have been begun; zero when none is overdue.
	Oldest time.Duration
}

// MaxBacklog is how far a backlog is counted, so that counting it costs the same however long it is.
const MaxBacklog = 100_000

// Backlogs measures what waits to be delivered, and which submissions wait for an answer of their provider. It reads the
// indexes of what is due alone.
func (db *DB) Backlogs(ctx context.Context) (deliveries, submissions Backlog, err error) {
	now := db.now()
	read := func(query string) (b Backlog, err error) {
		var oldest sql.Null[int64]
		if err := db.reader.QueryRowContext(ctx, query, micros(now), MaxBacklog).Scan(&b.Pending, &b.Overdue, &oldest); err != nil {
			return b, db.classify(err)
		}
		if oldest.Valid && b.Overdue > 0 {
			b.Oldest = now.Sub(instant(oldest.V))
		}
		return b, nil
	}
	const measure = `select count(*), coalesce(sum(case when due_at <= $1 then 1 else 0 end), 0), min(due_at) from (`
	if deliveries, err = read(measure + `select due_at from deliveries where due_at is not null order by tenant_id, subscription_id, due_at limit $2) d`); err != nil {
		return deliveries, submissions, err
	}
	submissions, err = read(measure + `select due_at from submissions where due_at is not null order by account_id, connection_id, due_at limit $2) s`)
	return deliveries, submissions, err
}
