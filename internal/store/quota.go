package store

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"quittance/client/api"
	"quittance/internal/problem"
)

// Quotas bound what one company may store; zero means no bound. A company over a quota cannot create drafts, credit
// notes and subscriptions. Nothing that is stored is lost, and reads, submissions, evidence, incoming documents and
// webhooks continue.
type Quotas struct {
	// StoredBytes bounds the total size, in bytes, of invoices, credit notes, retained responses and documents, events,
	// stored idempotent responses, and the audit entries of acts on these. Writes are refused when it is reached.
	StoredBytes int64
	// Drafts bounds the number of invoices that were not submitted.
	Drafts int64
	// Tokens bounds the number of valid tokens and sessions of one user. A further login revokes the oldest one.
	Tokens int64
	// SubscriptionsCreated bounds the number of webhook subscriptions that were ever created, including deactivated
	// ones. [MaxSubscriptions] bounds the active ones.
	SubscriptionsCreated int64
}

// The names of the quotas, as users see them.
const (
	QuotaStoredBytes          = "stored_bytes"
	QuotaDrafts               = "drafts"
	QuotaTokens               = "tokens"
	QuotaSubscriptions        = "subscriptions"
	QuotaSubscriptionsCreated = "subscriptions_created"
	QuotaAPIKeys              = "api_keys"
	QuotaUsers                = "users"
	QuotaCustomers            = "customers"
	QuotaItems                = "items"
)

// ErrLimit says that a company has reached a quota. The error is always a [*QuotaError].
var ErrLimit = problem.New(api.CodeLimitReached, "limit reached")

// QuotaError names the quota that is used up.
type QuotaError struct {
	Quota string
	Limit int64
}

func (e *QuotaError) Error() string {
	return fmt.Sprintf("quota %s of %d is used up", e.Quota, e.Limit)
}

// Unwrap returns [ErrLimit].
func (*QuotaError) Unwrap() error { return ErrLimit }

// Describe returns the problem. Each quota has texts of its own on pages.
func (e *QuotaError) Describe() *problem.Problem {
	return problem.Named("quota_"+e.Quota, api.CodeLimitReached, ErrLimit.Error()).
		With(map[string]any{"quota": e.Quota, "limit": e.Limit})
}

// usage is a change of the resources that a company uses; it may be negative.
type usage struct{ bytes, drafts int64 }

// use counts a change of the usage of a company. It is written with the events of the transaction, which change the
// same row, or at the end of the transaction.
func (t *tx) use(tenant ID, add usage) {
	if t.unwrittenUsage == nil {
		t.unwrittenUsage = map[ID]usage{}
	}
	now := t.unwrittenUsage[tenant]
	t.unwrittenUsage[tenant] = usage{now.bytes + add.bytes, now.drafts + add.drafts}
}

// takeUsage returns the usage that was counted for a company and resets it; the caller writes it.
func (t *tx) takeUsage(tenant ID) usage {
	counted := t.unwrittenUsage[tenant]
	delete(t.unwrittenUsage, tenant)
	return counted
}

// writeUsage writes the counted usage. Rows of tenants are locked last, and in the order of their identifiers; see
// docs/decisions/018-order-of-locks.md.
func (t *tx) writeUsage(ctx context.Context) error {
	for _, tenant := range slices.SortedFunc(maps.Keys(t.unwrittenUsage),
		func(a, b ID) int { return bytes.Compare(a[:], b[:]) }) {
		counted := t.takeUsage(tenant)
		if counted == (usage{}) {
			continue
		}
		if err := t.ExecDeferred(ctx,
			`update tenants set stored_bytes = stored_bytes + $2, drafts = drafts + $3 where id = $1`, tenant, counted.bytes,
			counted.drafts); err != nil {
			return err
		}
	}
	return nil
}

// limitOf returns the largest allowed value of a quota.
func limitOf(quota int64) int64 {
	if quota == 0 {
		return 1<<63 - 1
	}
	return quota
}

// withinQuotas returns a [*QuotaError] if the company has used up its bytes, or may not have the given number of
// further drafts.
func (t *Tenant) withinQuotas(ctx context.Context, q querier, drafts int64) error {
	var used usage
	if err := q.QueryRowContext(ctx, `select stored_bytes, drafts from tenants where id = $1 and frozen_at is null`,
		t.id).Scan(&used.bytes, &used.drafts); err != nil {
		return err
	}
	quotas := t.db.quotas
	switch {
	case used.bytes >= limitOf(quotas.StoredBytes):
		return &QuotaError{QuotaStoredBytes, quotas.StoredBytes}
	case drafts > 0 && used.drafts+drafts > limitOf(quotas.Drafts):
		return &QuotaError{QuotaDrafts, quotas.Drafts}
	}
	return nil
}

// Quotas returns the use of each quota of the company, and of the quota of tokens for one user, by name. The zero user,
// of an API key, has no tokens. Quotas reads counters, and at most as many rows as the quotas allow.
func (t *Tenant) Quotas(ctx context.Context, user ID) (map[string]api.Quota, error) {
	var used usage
	var active, created, tokens, keys, customers, items int64
	var of any
	if !user.IsZero() {
		of = user
	}
	err := t.read(func(q querier) error {
		return q.QueryRowContext(ctx, `select stored_bytes, drafts,
			(select count(*) from subscriptions where tenant_id = $1 and active = 1), (select count(*) from subscriptions where tenant_id = $1),
			(select count(*) from tokens where account_id = $2 and user_id = $3 and revoked_at is null and expires_at > $4),
			(select count(*) from api_keys where account_id = $2 and revoked_at is null and (expires_at is null or expires_at > $4)), customers, items
			from tenants where id = $1 and ($3 is null or exists (select 1 from users where account_id = $2 and users.id = $3))`, t.id, t.account, of, micros(t.db.Now())).Scan(&used.bytes, &used.drafts, &active, &created, &tokens, &keys, &customers, &items)
	})
	if err != nil {
		return nil, err
	}
	quota := func(limit, used int64) api.Quota {
		out := api.Quota{Used: max(used, 0)}
		if limit > 0 {
			out.Limit = &limit
		}
		return out
	}
	quotas := t.db.quotas
	return map[string]api.Quota{
		QuotaStoredBytes: quota(quotas.StoredBytes, used.bytes), QuotaDrafts: quota(quotas.Drafts, used.drafts),
		QuotaTokens: quota(quotas.Tokens, tokens), QuotaSubscriptions: quota(MaxSubscriptions, active),
		QuotaSubscriptionsCreated: quota(quotas.SubscriptionsCreated, created),
		QuotaAPIKeys:              quota(MaxAPIKeys, keys), QuotaCustomers: quota(MaxBookEntries, customers),
		QuotaItems: quota(MaxBookEntries, items),
	}, nil
}
