package invoices

import (
	"context"
	"errors"
	"time"

	"quittance/internal/ledger/base"
)

// DueSubmissionQueues makes one step of a scan for connections with submissions that are due to be polled, in the same
// way as [events.DueDeliveryQueues]. A connection whose circuit breaker is open is due when its next probe is.
func DueSubmissionQueues(ctx context.Context, db *base.DB, from base.ScanCursor) (base.DueScan, error) {
	return db.ScanQueues(ctx, func(row base.Row) (base.DueQueue, error) {
		var account, id base.ID
		var r base.DueQueue
		err := row.Scan(&account, &id, &r.Due)
		r.Queue, r.Cursor.Company = db.AccountQueue(account, id), account
		return r, err
	}, `with recursive company(id, n) as (
			select (select account_id from submissions where due_at is not null and account_id > $1 order by account_id limit 1), 1
			union all
			select (select s.account_id from submissions s where s.due_at is not null and s.account_id > company.id order by s.account_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), queue(account_id, id) as (
			select company.id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = company.id
				order by s.connection_id limit 1) from company where company.id is not null
			union all
			select account_id, (select s.connection_id from submissions s where s.due_at is not null and s.account_id = queue.account_id and s.connection_id > queue.id
				order by s.connection_id limit 1) from queue where queue.id is not null
		), first(account_id, id, due) as materialized (
			select account_id, id, (select s.due_at from submissions s where s.due_at is not null and s.account_id = queue.account_id and s.connection_id = queue.id
				order by s.due_at limit 1) from queue where id is not null
		)
		select first.account_id, first.id, (select case when c.retry_at > first.due then c.retry_at else first.due end
			from connections c where c.account_id = first.account_id and c.id = first.id) from first`, from.Company[:], base.MaxCompaniesPerScan)
}

// errProbeTaken rolls a claim back because another worker has taken the probe of an open circuit.
var errProbeTaken = errors.New("another worker probes the connection")

// ClaimSubmissions claims up to limit due submissions of a connection for the duration. While the circuit breaker of
// the connection is open, it claims one at most, as the probe.
func ClaimSubmissions(ctx context.Context, q base.Queue, limit int, duration time.Duration) ([]SubmissionLease, error) {
	if q.DB() == nil {
		return nil, base.ErrNoTenant
	}
	var leases []SubmissionLease
	err := q.DB().Write(ctx, "claim submissions", func(ctx context.Context, tx *base.Tx) error {
		leases = nil
		now := tx.Now()
		connection, err := ScanConnection(tx.QueryRowContext(ctx,
			`select `+ConnectionColumns+` from connections where account_id = $1 and id = $2`, q.Account(), q.Key()))
		if err != nil {
			return err
		}
		probe, limit := connection.RetryAt != nil, limit
		if probe {
			if limit = 1; connection.RetryAt.After(now) {
				return nil
			}
		}
		// Identifiers of submissions are unique across tenants, so the two conditions of the update select the rows of due
		// alone.
		leases, err = base.Collect(ctx, tx, func(row base.Row) (SubmissionLease, error) {
			s, err := ScanSubmission(row)
			return SubmissionLease{Tenant: q.DB().TenantOf(s.tenant, q.Account()), Submission: s,
				Connection: connection, isProbe: probe}, err
		}, `with due as materialized (select tenant_id, id from submissions
				where account_id = $1 and connection_id = $2 and due_at <= $3 order by due_at limit $4`+q.DB().Dialect().ForUpdateSkipLocked()+`)
			update submissions set lease = lease + 1, due_at = $5
				where tenant_id `+q.DB().Dialect().InSubquery(`select tenant_id from due`)+` and id `+q.DB().Dialect().InSubquery(`select id from due`)+`
			returning `+SubmissionColumns(q.DB()), q.Account(), q.Key(), base.Micros(now), limit, base.Micros(now.Add(duration)))
		if err != nil || len(leases) == 0 {
			return err
		}
		if probe {
			acquired, err := acquireProbe(ctx, q, tx, &connection, now.Add(duration))
			if err != nil {
				return err
			}
			if !acquired {
				return errProbeTaken
			}
		}
		return nil
	})
	switch {
	case errors.Is(err, errProbeTaken):
		return nil, nil
	case err != nil:
		return nil, err // the claims may have been rolled back
	}
	return leases, nil
}
