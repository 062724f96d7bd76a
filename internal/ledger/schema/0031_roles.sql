-- What a user may do in the company. Users who existed before are owners, and so are those whom an earlier release adds.
--
-- An invitation is a row until it is used, replaced or revoked. Only the digest of its secret is stored. invited_by is null for an
-- invitation by an administrator.

-- +goose Up
alter table users add column role text not null default 'owner' check (role in ('owner', 'accountant', 'developer', 'viewer'));
create table invitations (
    account_id bytea  not null references accounts (id),
    id         bytea  not null,
    email      text   not null,
    role       text   not null check (role in ('owner', 'accountant', 'developer', 'viewer')),
    digest     bytea  not null unique,
    invited_by bytea,
    created_at bigint not null,
    expires_at bigint not null,
    primary key (account_id, id),
    unique (account_id, email),
    foreign key (account_id, invited_by) references users (account_id, id)
);
