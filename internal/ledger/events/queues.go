package events

import (
	"context"

	"quittance/internal/ledger/base"
)

// DueDeliveryQueues makes one step of a scan for subscriptions with due deliveries. A deactivated subscription is due
// while it has pending deliveries, so that they are ended.
//
// The statement jumps from company to company and from queue to queue in the index deliveries_due, which holds pending
// deliveries only, and reads the first entry of each queue. So the cost does not grow with a million deliveries that
// wait for one destination, nor with a hundred thousand idle subscriptions. "group by" and "distinct" would read every
// entry on both engines, and a join of the queues with their tenants made PostgreSQL read all tenants.
func DueDeliveryQueues(ctx context.Context, db *base.DB, from base.ScanCursor) (base.DueScan, error) {
	return db.ScanQueues(ctx, func(row base.Row) (base.DueQueue, error) {
		var tenant, account, id base.ID
		var r base.DueQueue
		err := row.Scan(&tenant, &account, &id, &r.Due)
		r.Queue, r.Cursor.Company = db.TenantOf(tenant, account).Queue(id), tenant
		return r, err
	}, `with recursive company(id, n) as (
			select (select tenant_id from deliveries where due_at is not null and tenant_id > $1 order by tenant_id limit 1), 1
			union all
			select (select d.tenant_id from deliveries d where d.due_at is not null and d.tenant_id > company.id order by d.tenant_id limit 1), n + 1
				from company where company.id is not null and n < $2
		), queue(tenant_id, id) as (
			select company.id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = company.id
				order by d.subscription_id limit 1) from company where company.id is not null
			union all
			select tenant_id, (select d.subscription_id from deliveries d where d.due_at is not null and d.tenant_id = queue.tenant_id and d.subscription_id > queue.id
				order by d.subscription_id limit 1) from queue where queue.id is not null
		)
		select queue.tenant_id, (select t.account_id from tenants t where t.id = queue.tenant_id), queue.id,
			case when (select t.frozen_at from tenants t where t.id = queue.tenant_id) is not null then null
				when (select s.active from subscriptions s where s.tenant_id = queue.tenant_id and s.id = queue.id) = 0 then 0
				else (select d.due_at from deliveries d
					where d.due_at is not null and d.tenant_id = queue.tenant_id and d.subscription_id = queue.id order by d.due_at limit 1) end
			from queue where queue.id is not null`, from.Company[:], base.MaxCompaniesPerScan)
}
