-- Files with drafts between their preview and their import, which another replica may serve. Each user has at most one: a new one
-- replaces it. The import of its drafts removes it.

-- +goose Up
create table uploads (
    tenant_id  bytea  not null references tenants (id),
    id         bytea  not null,
    user_id    bytea  not null,
    name       text   not null,
    body       bytea  not null,
    expires_at bigint not null,
    primary key (tenant_id, id)
);
create unique index uploads_user on uploads (tenant_id, user_id);
create index uploads_expiry on uploads (expires_at);
