-- Links with which users who have forgotten their password choose a new one. Only the digest of the secret in a link is stored. A user has one
-- link at most, and it ends with everything that ends the sessions of the user. password_changed_at is that of the user when the link was made:
-- a link is void after any change of the password, also one by a server of an earlier release, which does not know this table.
--
-- A request for a link waits here until a worker answers it. Whoever asks is not logged in, and email is what they have typed: whether a user
-- has that address is found out by the worker alone, so that the response to the request cannot depend on it.

-- +goose Up
create table password_resets (
    account_id          bytea  not null,
    user_id             bytea  not null,
    digest              bytea  not null unique,
    password_changed_at bigint not null,
    created_at          bigint not null,
    expires_at          bigint not null,
    primary key (account_id, user_id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create index password_resets_expiry on password_resets (expires_at);
create table password_reset_requests (
    email        text   not null primary key,
    language     text   not null,
    source       text   not null,
    request_id   text   not null,
    requested_at bigint not null
);
create index password_reset_requests_age on password_reset_requests (requested_at);
