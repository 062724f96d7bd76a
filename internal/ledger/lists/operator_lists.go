package lists

import (
	"context"
	"database/sql"
	"errors"
	"math"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	sqldb "quittance/internal/platform/db"
)

// ListDepth is how many of the newest rows a filtered list of operators examines.
const ListDepth = 20_000

// ListPosition is the position of a row in a list of operators: lists continue after it. The zero value is before the
// first row.
type ListPosition struct {
	At time.Time
	ID base.ID
}

// descending returns a position as the arguments of a list that begins with the latest row.
func (p ListPosition) descending() (at int64, id []byte) {
	if p == (ListPosition{}) {
		return math.MaxInt64, []byte(strings.Repeat("\xff", len(p.ID)))
	}
	return base.Micros(p.At), p.ID[:]
}

// ascending returns a position as the arguments of a list that begins with the earliest row.
func (p ListPosition) ascending() (at int64, id []byte) {
	if p == (ListPosition{}) {
		return math.MinInt64, []byte{}
	}
	return base.Micros(p.At), p.ID[:]
}

// AccountRow is an account in the list of operators, with what the counters say about it.
type AccountRow struct {
	base.Account
	// Attention is the number of invoices that need a person: those with bad news, and those whose outcome has been
	// unknown for longer than ten minutes.
	Attention int64
	// LastSubmitted is the day of the latest submission whose outcome is known, in UTC; nil if there is none.
	LastSubmitted *time.Time
	// Active is the active connection; nil if there is none.
	Active *invoices.Connection
	// Failing is the number of webhook subscriptions for which [events.Subscription.IsFailing] is true.
	Failing int64
}

// Position returns the position of the row in [AccountList].
func (a AccountRow) Position() ListPosition { return ListPosition{a.CreatedAt, a.ID} }

// attentionAfter is how long an outcome may be unknown before the invoice needs a person.
const attentionAfter = 10 * time.Minute

// AccountList returns the accounts after a position, newest first and at most limit. search selects by a part of the
// company's name among the newest [ListDepth] accounts, or by the identifier of the account or the e-mail address of a
// user; "" selects all.
func AccountList(ctx context.Context, db *base.DB, search string, after ListPosition, limit int) ([]AccountRow, error) {
	at, id := after.descending()
	args := []any{at, id, limit}
	among := `accounts`
	where := `(created_at, id) < ($1, $2)`
	exact, err := base.ParseID(search)
	switch {
	case search == "":
	case err == nil:
		where += ` and id = $4`
		args = append(args, exact)
	case strings.Contains(search, "@"):
		where += ` and id in (select account_id from users where email = $4)`
		args = append(args, strings.ToLower(search))
	default:
		among = `(select * from accounts order by created_at desc, id desc limit $5) newest`
		where += ` and (lower(company) like $4 escape '\' or company like $6 escape '\')`
		args = append(args, containing(strings.ToLower(search)), ListDepth, containing(search))
	}
	found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (AccountRow, error) {
		account, err := base.ScanAccount(row)
		return AccountRow{Account: account}, err
	}, `select `+base.AccountColumns+` from `+among+` where `+where+` order by created_at desc, id desc limit $3`, args...)
	if err != nil || len(found) == 0 {
		return nil, db.Classify(err)
	}
	return found, errors.Join(addCounts(ctx, db, found), addConnections(ctx, db, found))
}

// addCounts adds what the counters and the webhook subscriptions say to rows of accounts, with one query.
func addCounts(ctx context.Context, db *base.DB, rows []AccountRow) error {
	ids, byID := accountsOf(rows)
	now := db.Now()
	minute := base.Micros(now.Add(-attentionAfter)) / invoices.UnknownPeriod.Microseconds()
	list, args := parametersOf(ids, minute, base.Micros(now.Add(-events.FailingAfter)))
	_, err := base.Collect(ctx, db.Querier(), func(row base.Row) (struct{}, error) {
		var account base.ID
		var rejected, unknown, failing int64
		var day sql.Null[int64]
		if err := row.Scan(&account, &rejected, &unknown, &day, &failing); err != nil {
			return struct{}{}, err
		}
		a := byID[account]
		a.Attention, a.Failing = rejected+unknown, failing
		if day.Valid {
			a.LastSubmitted = new(base.Instant(day.V * invoices.SubmittedPeriod.Microseconds()))
		}
		return struct{}{}, nil
	}, `select n.account_id,
			(select cast(coalesce(sum(c.invoices), 0) as bigint) from invoice_counters c where c.tenant_id = n.id and c.category = 'attention' and c.period = 0),
			(select cast(coalesce(sum(c.invoices), 0) as bigint) from invoice_counters c where c.tenant_id = n.id and c.category = 'unknown' and c.period > 0 and c.period < $1),
			(select max(c.period) from invoice_counters c where c.tenant_id = n.id and c.category in ('waiting', 'attention', 'accepted') and c.period > 0 and c.invoices > 0),
			(select count(*) from subscriptions s where s.tenant_id = n.id and s.active = 1 and s.failing_since <= $2)
		from tenants n where n.account_id in (`+list+`) and n.frozen_at is null`, args...)
	return db.Classify(err)
}

// addConnections adds the active connections to rows of accounts, with one query.
func addConnections(ctx context.Context, db *base.DB, rows []AccountRow) error {
	ids, byID := accountsOf(rows)
	list, args := parametersOf(ids)
	found, err := base.Collect(ctx, db.Querier(), invoices.ScanConnection,
		`select `+invoices.ConnectionColumns+` from connections where state = 'active' and account_id in (`+list+`)`, args...)
	for n := range found {
		byID[found[n].Account].Active = &found[n]
	}
	return db.Classify(err)
}

// accountsOf returns the identifiers of some accounts, and the rows by them.
func accountsOf(rows []AccountRow) (ids []base.ID, byID map[base.ID]*AccountRow) {
	byID = make(map[base.ID]*AccountRow, len(rows))
	for n := range rows {
		ids, byID[rows[n].ID] = append(ids, rows[n].ID), &rows[n]
	}
	return ids, byID
}

// containing returns a pattern of the operator like for texts that contain a text.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// parametersOf returns the names of the parameters of a list of identifiers, which is not empty, and all arguments:
// those of before, then the identifiers.
func parametersOf(ids []base.ID, before ...any) (list string, args []any) {
	padded := invoices.Padded(ids)
	names := make([]string, len(padded))
	args = before
	for n, id := range padded {
		args = append(args, id)
		names[n] = sqldb.Parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// Companies returns the names of companies by the identifiers of their accounts.
func Companies(ctx context.Context, db *base.DB, accounts []base.ID) (map[base.ID]string, error) {
	names := map[base.ID]string{}
	if len(accounts) == 0 {
		return names, nil
	}
	list, args := parametersOf(accounts)
	_, err := base.Collect(ctx, db.Querier(), func(row base.Row) (struct{}, error) {
		var id base.ID
		var company string
		err := row.Scan(&id, &company)
		names[id] = company
		return struct{}{}, err
	}, `select id, company from accounts where id in (`+list+`)`, args...)
	return names, db.Classify(err)
}

// ConnectionList returns the connections after a position, newest first and at most limit.
func ConnectionList(ctx context.Context, db *base.DB, after ListPosition, limit int) ([]invoices.Connection, error) {
	at, id := after.descending()
	found, err := base.Collect(ctx, db.Querier(), invoices.ScanConnection, `select `+invoices.ConnectionColumns+
		` from connections where (created_at, id) < ($1, $2) order by created_at desc, id desc limit $3`, at, id, limit)
	return found, db.Classify(err)
}

// FailingConnections returns the connections whose last call had no usable response, the longest failing first and at
// most limit.
func FailingConnections(ctx context.Context, db *base.DB, limit int) ([]invoices.Connection, error) {
	found, err := base.Collect(ctx, db.Querier(), invoices.ScanConnection, `select `+invoices.ConnectionColumns+
		` from connections where failing_since is not null order by failing_since, id limit $1`, limit)
	return found, db.Classify(err)
}

// ConnectionPosition returns the position of the connection in [ConnectionList].
func ConnectionPosition(c invoices.Connection) ListPosition { return ListPosition{c.CreatedAt, c.ID} }

// SubmissionPosition returns the position of the submission in [UnknownSubmissions].
func SubmissionPosition(s invoices.Submission) ListPosition { return ListPosition{s.AttemptedAt, s.ID} }

// UnknownSubmissions returns the submissions with an unknown outcome after a position, whose time is that of the
// submission: oldest first and at most limit. Those of before the reset of a sandbox are not among them.
func UnknownSubmissions(ctx context.Context, db *base.DB, after ListPosition,
	limit int) ([]invoices.Submission, error) {
	at, id := after.ascending()
	found, err := base.Collect(ctx, db.Querier(), invoices.ScanSubmission,
		`select `+invoices.SubmissionColumns(db)+` from submissions where outcome = 'unknown' and (attempted_at, id) > ($1, $2)
		and exists (select 1 from tenants n where n.id = submissions.tenant_id and n.frozen_at is null)
		order by attempted_at, id limit $3`, at, id, limit)
	return found, db.Classify(err)
}

// UnknownAges counts the submissions of unknown outcome by how long ago they were attempted.
type UnknownAges struct {
	// Minutes counts those of the last hour, Hours those of the last day and not of the last hour, and Days the older
	// ones.
	Minutes, Hours, Days int64
	// Oldest is how long ago the first of them was attempted; zero if there are none.
	Oldest time.Duration
}

// ReadUnknownAges counts the submissions that UnknownSubmissions returns. None is counted beyond the [MaxBacklog]
// oldest ones.
func ReadUnknownAges(ctx context.Context, db *base.DB) (ages UnknownAges, err error) {
	now := db.Now()
	var oldest sql.Null[int64]
	err = db.Querier().QueryRowContext(ctx, `select coalesce(sum(case when attempted_at > $1 then 1 else 0 end), 0),
			coalesce(sum(case when attempted_at > $2 and attempted_at <= $1 then 1 else 0 end), 0),
			coalesce(sum(case when attempted_at <= $2 then 1 else 0 end), 0), min(attempted_at)
		from (select attempted_at from submissions where outcome = 'unknown'
			and exists (select 1 from tenants n where n.id = submissions.tenant_id and n.frozen_at is null) order by attempted_at, id limit $3) u`,
		base.Micros(now.Add(-time.Hour)), base.Micros(now.Add(-24*time.Hour)), MaxBacklog).Scan(&ages.Minutes,
		&ages.Hours, &ages.Days,
		&oldest)
	if oldest.Valid {
		ages.Oldest = now.Sub(base.Instant(oldest.V))
	}
	return ages, db.Classify(err)
}

// UndeliveredDeliveries returns the deliveries that failed or were blocked and were created before the delivery after,
// or all if after is zero: newest first and at most limit.
func UndeliveredDeliveries(ctx context.Context, db *base.DB, after base.ID, limit int) ([]AccountDelivery, error) {
	_, id := (ListPosition{ID: after}).descending()
	found, err := base.Collect(ctx, db.Querier(), scanAccountDelivery,
		accountDeliveries+
			`d.state in ('failed', 'blocked') and t.frozen_at is null and d.id < $1 order by d.id desc limit $2`, id, limit)
	return found, db.Classify(err)
}

// FailingSubscription is a webhook subscription that fails, or to which deliveries did not arrive.
type FailingSubscription struct {
	Account, ID base.ID
	URL         string
	Active      bool
	// DeactivationReason is why the subscription is not active any more; "" for an active one.
	DeactivationReason string
	// FailingSince is since when attempts fail; nil unless [events.Subscription.IsFailing] is true.
	FailingSince *time.Time
	// Undelivered is the number of its deliveries among the newest [FailingDepth] that failed or were blocked, and Newest
	// the time of the newest of them; nil if there are none.
	Undelivered int64
	Newest      *time.Time
}

// FailingDepth is how many deliveries and how many failing subscriptions [FailingSubscriptions] examines.
const FailingDepth = 1000

// FailingSubscriptions returns the subscriptions for which [events.Subscription.IsFailing] is true, and then those of
// the newest [FailingDepth] deliveries that failed or were blocked, both with those with the most of these deliveries
// first.
func FailingSubscriptions(ctx context.Context, db *base.DB) ([]FailingSubscription, error) {
	found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (FailingSubscription, error) {
		var s FailingSubscription
		var active int64
		var since, newest sql.Null[int64]
		var reason sql.Null[string]
		err := row.Scan(&s.Account, &s.ID, &s.URL, &active, &reason, &since, &s.Undelivered, &newest)
		s.Active, s.DeactivationReason, s.FailingSince, s.Newest = active != 0, reason.V, base.InstantOrNil(since),
			base.InstantOrNil(newest)
		return s, err
	}, `select t.account_id, s.id, s.url, s.active, s.deactivation_reason,
			case when s.active = 1 and s.failing_since <= $2 then s.failing_since end as since, cast(l.undelivered as bigint), l.newest
		from (select tenant_id, subscription_id, sum(undelivered) as undelivered, max(created_at) as newest from (
			select * from (select tenant_id, subscription_id, created_at, 1 as undelivered from deliveries
				where state in ('failed', 'blocked') order by id desc limit $1) newest
			union all select * from (select tenant_id, id, cast(null as bigint), 0 from subscriptions
				where failing_since <= $2 and active = 1 order by failing_since limit $1) failing
			) l group by tenant_id, subscription_id) l
		join tenants t on t.id = l.tenant_id and t.frozen_at is null join subscriptions s on s.tenant_id = l.tenant_id and s.id = l.subscription_id
		order by case when s.active = 1 and s.failing_since <= $2 then 0 else 1 end, l.undelivered desc, l.newest desc, s.id`,
		FailingDepth, base.Micros(db.Now().Add(-events.FailingAfter)))
	return found, db.Classify(err)
}

// AuditPosition is the position of an entry in [AuditPage]. The zero value is before the newest entry.
type AuditPosition struct {
	At      time.Time
	Account base.ID
	Ordinal int64
}

// EntryPosition returns the position of the entry in [AuditPage].
func EntryPosition(e *base.AuditEntry) AuditPosition { return AuditPosition{e.At, e.Chain, e.Ordinal} }

// AuditPage returns the entries of the audit log after a position that filter selects, newest first. A filter by actor
// or act examines the [ListDepth] entries after the position.
func AuditPage(ctx context.Context, db *base.DB, filter base.AuditFilter,
	after AuditPosition) ([]base.AuditEntry, error) {
	var args []any
	next := func(value any) string {
		args = append(args, value)
		return sqldb.Parameter(len(args))
	}
	at, chain := ListPosition{after.At, after.Account}.descending()
	where, order := `(at, chain, ordinal) < (`+next(at)+`, `+next(chain)+`, `+next(after.Ordinal)+`)`,
		`order by at desc, chain desc, ordinal desc`
	if filter.Account != nil {
		args = nil
		account := next(*filter.Account)
		where, order = `chain = `+account+` and (at, ordinal) < (`+next(at)+`, `+next(after.Ordinal)+`)`,
			`order by at desc, ordinal desc`
	}
	if !filter.Since.IsZero() {
		where += ` and at >= ` + next(base.Micros(filter.Since))
	}
	if !filter.Until.IsZero() {
		where += ` and at < ` + next(base.Micros(filter.Until))
	}
	among := `audit where ` + where
	if rest := filter.Rest(next); rest != "" {
		among = `(select * from audit where ` + where + ` ` + order + ` limit ` + next(ListDepth) + `) examined where ` + rest
	}
	entries, err := base.Collect(ctx, db.Querier(), base.ScanAudit,
		`select `+base.AuditColumns+` from `+among+` `+order+` limit `+next(filter.Limit), args...)
	return entries, db.Classify(err)
}
