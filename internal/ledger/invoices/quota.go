package invoices

import (
	"context"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
)

// Quotas returns the use of each quota of the company, and of the quota of tokens for one user, by name. The zero user,
// of an API key, has no tokens. Quotas reads counters, and at most as many rows as the quotas allow.
func Quotas(ctx context.Context, t *base.Tenant, user base.ID) (map[string]api.Quota, error) {
	var used base.Usage
	var active, created, tokens, keys, customers, items int64
	var of any
	if !user.IsZero() {
		of = user
	}
	err := t.Read(func(q base.Querier) error {
		return q.QueryRowContext(ctx, `select stored_bytes, drafts,
			(select count(*) from subscriptions where tenant_id = $1 and active = 1), (select count(*) from subscriptions where tenant_id = $1),
			(select count(*) from tokens where account_id = $2 and user_id = $3 and revoked_at is null and expires_at > $4),
			(select count(*) from api_keys where account_id = $2 and revoked_at is null and (expires_at is null or expires_at > $4)), customers, items
			from tenants where id = $1 and ($3 is null or exists (select 1 from users where account_id = $2 and users.id = $3))`, t.ID(), t.Account(), of, base.Micros(t.DB().Now())).Scan(&used.Bytes, &used.Drafts, &active, &created, &tokens, &keys, &customers, &items)
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
	quotas := t.DB().Quotas()
	return map[string]api.Quota{
		base.QuotaStoredBytes: quota(quotas.StoredBytes, used.Bytes), base.QuotaDrafts: quota(quotas.Drafts, used.Drafts),
		base.QuotaTokens: quota(quotas.Tokens, tokens), base.QuotaSubscriptions: quota(events.MaxSubscriptions, active),
		base.QuotaSubscriptionsCreated: quota(quotas.SubscriptionsCreated, created),
		base.QuotaAPIKeys:              quota(identity.MaxAPIKeys, keys),
		base.QuotaCustomers:            quota(MaxBookEntries, customers), base.QuotaItems: quota(MaxBookEntries, items),
	}, nil
}
