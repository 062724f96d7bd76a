-- The keys under which values in this database are sealed: by check_value, which each key has sealed, a process finds out
-- whether the keys it was given are the right ones. It also says in which form credentials and signing secrets are sealed. A
-- retired key opens nothing any more.
--
-- servers are the running servers as they announce themselves, with the keys that they have loaded; one that was not seen for a
-- while has ended.
--
-- resealed holds withheld evidence that was sealed anew: a row of evidence or revisions is never changed, so the newer
-- sealed value stands here and is read instead of the column's.

-- +goose Up
create table sealing_keys (
    id          bigint not null primary key,
    check_value bytea  not null,
    recorded_at bigint not null,
    retired_at  bigint
);

create table servers (
    id          bytea  not null primary key,
    name        text   not null,
    version     text   not null,
    role        text   not null,
    keys        text   not null,
    primary_key bigint not null,
    started_at  bigint not null,
    seen_at     bigint not null
);

create table resealed (
    tenant_id   bytea  not null references tenants (id),
    table_name  text   not null,
    column_name text   not null,
    row_id      bytea  not null,
    ordinal     bigint not null,
    value       bytea  not null,
    primary key (tenant_id, table_name, column_name, row_id, ordinal)
);
