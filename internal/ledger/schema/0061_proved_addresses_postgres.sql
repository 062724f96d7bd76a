-- An address is proved by a link that was mailed to it, or by single sign-on with a verified address. proved_at is when; null for an address
-- that nobody has proved. A proved address belongs to one user of all companies. An unproved one reserves nothing: each company may have one
-- user with it. After an upgrade those users count as proved of whom it is known: who is linked to a person at the OpenID provider, and who has
-- completed a reset of the password with a mailed link, as the audit log says. Nobody can tell how the others have joined. They log in as
-- before, get no mails but those that prove an address, and are asked in the console to prove it.
--
-- A server of the release before that runs beside this one finds a user by the address alone. It sees one of several users who have the same
-- unproved address; nobody can make a second one with such a server.
--
-- The link of an invitation that is mailed has another secret than the one that is shown. mail_digest is its digest, and counts for the
-- invitation mail_id only: the release before replaces an invitation without it.
--
-- A user has one link at most with which to prove the address. It ends with the address.
--
-- Somebody whom an OpenID provider has logged in, and whose address only unproved users have, chooses the company first. Only the digest of
-- the secret that binds the choice to a browser is stored.

-- +goose Up
alter table users add column proved_at bigint;
alter table users drop constraint users_email_key;
update users set proved_at = password_changed_at where exists (select 1 from sign_on_subjects s where s.account_id = users.account_id and s.user_id = users.id)
    or exists (select 1 from audit a where a.chain = users.account_id and a.act = 'user.complete-password-reset' and a.subject = cast(encode(users.id, 'hex') as uuid)::text);
create unique index users_email_key on users (email) where proved_at is not null;
create unique index users_account_id_email_key on users (account_id, email);
create index users_email on users (email);

alter table invitations add column mail_digest bytea;
alter table invitations add column mail_id bytea;
create index invitations_mail on invitations (mail_digest) where mail_digest is not null;
create table address_proofs (
    account_id bytea  not null,
    user_id    bytea  not null,
    digest     bytea  not null unique,
    created_at bigint not null,
    expires_at bigint not null,
    seal       bytea,
    primary key (account_id, user_id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create index address_proofs_expiry on address_proofs (expires_at);
create table sign_on_choices (
    digest     bytea  not null primary key,
    issuer     text   not null,
    subject    text   not null,
    email      text   not null,
    expires_at bigint not null,
    seal       bytea
);
create index sign_on_choices_expiry on sign_on_choices (expires_at);
