-- What a company's rows take, for its quotas: the bytes of its invoices and credit notes, of the answers and documents that
-- are retained, of its events and of the answers kept for idempotency keys; and how many of its invoices are drafts: those
-- without a submission of which something is known.

-- +goose Up
alter table tenants add column stored_bytes bigint not null default 0;
alter table tenants add column drafts bigint not null default 0;
create index tokens_unrevoked on tokens (account_id, user_id, created_at) where revoked_at is null;
update tenants set
    drafts = (select count(*) from invoices i where i.tenant_id = tenants.id and not exists (select 1 from submissions s
        where s.tenant_id = i.tenant_id and s.invoice_id = i.id and s.current = 1 and s.outcome not in ('in_progress', 'not_sent'))),
    stored_bytes = (select coalesce(sum(octet_length(document)), 0) from invoices where tenant_id = tenants.id)
        + (select coalesce(sum(octet_length(items)), 0) from credit_notes where tenant_id = tenants.id)
        + (select coalesce(sum(octet_length(body)), 0) from evidence where tenant_id = tenants.id)
        + (select coalesce(sum(octet_length(body) + octet_length(metadata)), 0) from revisions where tenant_id = tenants.id)
        + (select coalesce(sum(octet_length(body)), 0) from events where tenant_id = tenants.id)
        + (select coalesce(sum(octet_length(body)), 0) from idempotency where tenant_id = tenants.id);
