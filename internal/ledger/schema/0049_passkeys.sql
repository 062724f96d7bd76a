-- Passkeys of users: public key credentials (WebAuthn Level 3) that are second factors. credential is sealed and bound to its row: the
-- identifier of the credential, its public key, its user and what the authenticator said of itself at the registration. sign_count is the
-- counter of the last assertion that was accepted. A user with a passkey has a row in second_factors, whose secret is null without an
-- authenticator app.
--
-- A challenge is what one assertion or registration has to sign. Only a digest of it is stored, with the user and the purpose that it is
-- good for. The transaction that uses a challenge deletes it.

-- +goose Up
create table passkeys (
    account_id bytea  not null,
    id         bytea  not null,
    user_id    bytea  not null,
    name       text   not null,
    credential bytea  not null,
    sign_count bigint not null,
    created_at bigint not null,
    used_at    bigint,
    primary key (account_id, id),
    foreign key (account_id, user_id) references second_factors (account_id, user_id)
);
create index passkeys_user on passkeys (account_id, user_id);
create table passkey_challenges (
    digest     bytea  not null primary key,
    account_id bytea  not null,
    user_id    bytea  not null,
    purpose    text   not null check (purpose in ('registration', 'login', 'confirmation')),
    expires_at bigint not null,
    foreign key (account_id, user_id) references users (account_id, id)
);
create index passkey_challenges_expiry on passkey_challenges (expires_at);
