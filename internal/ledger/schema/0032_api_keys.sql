-- The credentials of machines. A key belongs to an account, as users do, and stays when the account gets another tenant. digest is
-- the SHA-256 of the key, which is stored nowhere; prefix and last_four are what people recognize it by. scopes and networks are
-- separated by blanks; no network means any. created_by is null for a key that an administrator created.

-- +goose Up
create table api_keys (
    account_id     bytea  not null references accounts (id),
    id             bytea  not null,
    digest         bytea  not null,
    prefix         text   not null,
    last_four      text   not null,
    name           text   not null,
    scopes         text   not null,
    networks       text   not null,
    created_by     bytea,
    created_at     bigint not null,
    expires_at     bigint,
    last_used_at   bigint,
    last_used_from text,
    revoked_at     bigint,
    primary key (account_id, id),
    foreign key (account_id, created_by) references users (account_id, id)
);
create unique index api_keys_digest on api_keys (digest);
