-- The second factor of users: an authenticator app (RFC 6238), whose secret is sealed, and recovery codes, of which only digests are
-- stored. pending is the secret of an app that was not confirmed yet; it replaces nothing. last_step is the time step of the last code
-- that was accepted: no code works twice.
--
-- A pending login is a login whose password was right and whose second factor is still missing. Only the digest of the secret that binds
-- it to a browser is stored.

-- +goose Up
create table second_factors (
    account_id  bytea  not null,
    user_id     bytea  not null,
    secret      bytea,
    enrolled_at bigint,
    last_step   bigint not null,
    pending     bytea,
    pending_at  bigint,
    primary key (account_id, user_id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create table recovery_codes (
    account_id bytea  not null,
    user_id    bytea  not null,
    digest     bytea  not null,
    used_at    bigint,
    primary key (account_id, user_id, digest),
    foreign key (account_id, user_id) references second_factors (account_id, user_id)
);
create table pending_logins (
    digest     bytea  not null primary key,
    account_id bytea  not null,
    user_id    bytea  not null,
    means      text   not null,
    expires_at bigint not null,
    foreign key (account_id, user_id) references users (account_id, id)
);
create index pending_logins_user on pending_logins (account_id, user_id);
create index pending_logins_expiry on pending_logins (expires_at);
