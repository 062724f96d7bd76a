package base

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	"quittance/client/api"
	"quittance/internal/platform/problem"
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
	// ones. [events.MaxSubscriptions] bounds the active ones.
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

// Usage is a change of the resources that a company uses; it may be negative.
type Usage struct{ Bytes, Drafts int64 }

// Use counts a change of the usage of a company. It is written with the events of the transaction, which change the
// same row, or at the end of the transaction.
func (t *Tx) Use(tenant ID, add Usage) {
	if t.unwrittenUsage == nil {
		t.unwrittenUsage = map[ID]Usage{}
	}
	now := t.unwrittenUsage[tenant]
	t.unwrittenUsage[tenant] = Usage{now.Bytes + add.Bytes, now.Drafts + add.Drafts}
}

// TakeUsage returns the usage that was counted for a company and resets it; the caller writes it.
func (t *Tx) TakeUsage(tenant ID) Usage {
	counted := t.unwrittenUsage[tenant]
	delete(t.unwrittenUsage, tenant)
	return counted
}

// writeUsage writes the counted usage. Rows of tenants are locked last, and in the order of their identifiers; see
// docs/decisions/018-order-of-locks.md.
func (t *Tx) writeUsage(ctx context.Context) error {
	for _, tenant := range slices.SortedFunc(maps.Keys(t.unwrittenUsage),
		func(a, b ID) int { return bytes.Compare(a[:], b[:]) }) {
		counted := t.TakeUsage(tenant)
		if counted == (Usage{}) {
			continue
		}
		if err := t.ExecDeferred(ctx,
			`update tenants set stored_bytes = stored_bytes + $2, drafts = drafts + $3 where id = $1`, tenant, counted.Bytes,
			counted.Drafts); err != nil {
			return err
		}
	}
	return nil
}

// LimitOf returns the largest allowed value of a quota.
func LimitOf(quota int64) int64 {
	if quota == 0 {
		return 1<<63 - 1
	}
	return quota
}

// WithinQuotas returns a [*QuotaError] if the company has used up its bytes, or may not have the given number of
// further drafts.
func (t *Tenant) WithinQuotas(ctx context.Context, q Querier, drafts int64) error {
	if t.DB() == nil {
		return ErrNoTenant
	}
	var used Usage
	if err := q.QueryRowContext(ctx, `select stored_bytes, drafts from tenants where id = $1 and frozen_at is null`,
		t.id).Scan(&used.Bytes, &used.Drafts); err != nil {
		return err
	}
	quotas := t.db.quotas
	switch {
	case used.Bytes >= LimitOf(quotas.StoredBytes):
		return &QuotaError{QuotaStoredBytes, quotas.StoredBytes}
	case drafts > 0 && used.Drafts+drafts > LimitOf(quotas.Drafts):
		return &QuotaError{QuotaDrafts, quotas.Drafts}
	}
	return nil
}
