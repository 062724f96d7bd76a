-- The customer book and the item catalogue of a company. fields is the entry as JSON. Lists are in the order of name, and search
-- name and terms, which are in lower case: the name by which people choose the entry, and its other names and its code.

-- +goose Up
create table book_entries (
    tenant_id  bytea  not null references tenants (id),
    id         bytea  not null,
    kind       text   not null check (kind in ('customer', 'item')),
    name       text not null,
    terms      text not null,
    fields     text   not null,
    version    bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (tenant_id, id)
);
create index book_entries_name on book_entries (tenant_id, kind, name, terms, id);

alter table tenants add column customers bigint not null default 0;
alter table tenants add column items bigint not null default 0;
