-- Deleted drafts leave their positions empty. How many are empty stands here by blocks of positions, on each level as many
-- times as wide as on the level below, so that a page of the list is found without counting.

-- +goose Up
alter table tenants add column invoices_deleted bigint not null default 0;
create table invoice_deletions (
    tenant_id bytea  not null references tenants (id),
    level     bigint not null,
    block     bigint not null,
    deleted   bigint not null,
    primary key (tenant_id, level, block)
);
