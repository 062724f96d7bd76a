package lists

import (
	"context"
	"database/sql"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	sqldb "quittance/internal/platform/db"
)

// AllSubmissions returns the latest submissions, newest first and at most limit, for an administrator: those of all
// accounts or of account, and with any outcome or with outcome.
func AllSubmissions(ctx context.Context, db *base.DB, account *base.ID, outcome api.Outcome,
	limit int) ([]invoices.Submission, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return sqldb.Parameter(len(args))
	}
	where := `outcome <> 'not_sent'`
	if account != nil {
		where += ` and account_id = ` + next(*account)
	}
	switch outcome {
	case "":
	case api.OutcomeUnknown:
		where += ` and outcome = 'unknown'` // a literal, so that the partial index is used
	default:
		where += ` and ` + invoices.OutcomeCondition(outcome, next)
	}
	found, err := base.Collect(ctx, db.Querier(), invoices.ScanSubmission,
		`select `+invoices.SubmissionColumns(db)+` from submissions where `+where+
			` order by attempted_at desc, id desc limit `+next(limit), args...)
	return found, db.Classify(err)
}

// AccountDelivery is a delivery with its account and its destination.
type AccountDelivery struct {
	events.Delivery
	Account base.ID
	URL     string
	// Active reports that its subscription is active.
	Active bool
}

// AllDeliveries returns the latest deliveries, newest first and at most limit, for an administrator: those of all
// accounts or of account, and in any state or in state.
func AllDeliveries(ctx context.Context, db *base.DB, account *base.ID, state api.DeliveryState,
	limit int) ([]AccountDelivery, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return sqldb.Parameter(len(args))
	}
	where := `true`
	if account != nil {
		where += ` and t.account_id = ` + next(*account)
	}
	switch state { // literals, so that the partial indexes of pending and of undelivered ones are used
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
	found, err := base.Collect(ctx, db.Querier(), scanAccountDelivery,
		accountDeliveries+where+` order by d.created_at desc, d.id desc limit `+next(limit), args...)
	return found, db.Classify(err)
}

// accountDeliveries selects deliveries d with their accounts and destinations; a condition follows.
const accountDeliveries = `select t.account_id, s.url, s.active, d.id, d.event_id, d.kind, d.subscription_id, d.state, d.reason, d.attempts, d.due_at, d.created_at, d.updated_at, s.deactivated_at
	from deliveries d join tenants t on t.id = d.tenant_id join subscriptions s on s.tenant_id = d.tenant_id and s.id = d.subscription_id where `

func scanAccountDelivery(row base.Row) (d AccountDelivery, err error) {
	var active int64
	d.Delivery, err = events.ScanDelivery(base.Behind(row, &d.Account, &d.URL, &active))
	d.Active = active != 0
	return d, err
}

// Backlog measures the outstanding work of one kind.
type Backlog struct {
	// Pending is the number of tasks that are not completed, and Overdue the number of those that should have begun by
	// now. Neither is counted beyond [MaxBacklog].
	Pending, Overdue int64
	// Oldest is the time since the first overdue task should have begun; zero if none is overdue.
	Oldest time.Duration
}

// MaxBacklog bounds the count of a backlog, and so the cost of counting it.
const MaxBacklog = 100_000

// Backlogs measures the pending deliveries, and the submissions that wait for a response of their provider. It reads
// only the indexes of due work.
func Backlogs(ctx context.Context, db *base.DB) (deliveries, submissions Backlog, err error) {
	now := db.Now()
	read := func(query string) (b Backlog, err error) {
		var oldest sql.Null[int64]
		if err := db.Querier().QueryRowContext(ctx, query, base.Micros(now), MaxBacklog).Scan(&b.Pending, &b.Overdue,
			&oldest); err != nil {
			return b, db.Classify(err)
		}
		if oldest.Valid && b.Overdue > 0 {
			b.Oldest = now.Sub(base.Instant(oldest.V))
		}
		return b, nil
	}
	const measure = `select count(*), coalesce(sum(case when due_at <= $1 then 1 else 0 end), 0), min(due_at) from (`
	if deliveries, err = read(measure +
		`select due_at from deliveries where due_at is not null order by tenant_id, subscription_id, due_at limit $2) d`); err != nil {
		return deliveries, submissions, err
	}
	submissions, err = read(measure +
		`select due_at from submissions where due_at is not null order by account_id, connection_id, due_at limit $2) s`)
	return deliveries, submissions, err
}
