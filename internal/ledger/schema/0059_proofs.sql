-- pending_session is the digest of the session that asked for the secret of an authenticator app, which no other session sees or confirms.
--
-- A pending login by single sign-on has the person at the provider to whom its user is linked when it is completed. A server of an earlier
-- release begins a session for it without the link, which the next login makes.

-- +goose Up
alter table second_factors add column pending_session bytea;
alter table pending_logins add column issuer text;
alter table pending_logins add column subject text;
