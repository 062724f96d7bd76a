-- The people of the owner of the service, who see the accounts of all companies on pages of their own. They are no users: they belong to no
-- account, and their sessions are rows of another table than those of users. password_hash and totp are null until an operator has enrolled;
-- totp is the sealed secret of the authenticator, and totp_step the last time step whose code was used. enrolment is the digest of the secret
-- in a link that is not used yet.

-- +goose Up
create table operators (
    id                   bytea  not null primary key,
    email                text   not null,
    password_hash        text,
    totp                 bytea,
    totp_step            bigint not null default 0,
    enrolment            bytea,
    enrolment_expires_at bigint,
    created_at           bigint not null,
    enrolled_at          bigint,
    disabled_at          bigint
);
create unique index operators_email on operators (email);
create unique index operators_enrolment on operators (enrolment) where enrolment is not null;

create table operator_recovery_codes (
    operator_id bytea  not null references operators (id),
    digest      bytea  not null,
    used_at     bigint,
    primary key (operator_id, digest)
);

create table operator_sessions (
    digest      bytea  not null primary key,
    operator_id bytea  not null references operators (id),
    created_at  bigint not null,
    used_at     bigint not null,
    expires_at  bigint not null
);

-- The lists of operators, which cover all companies.
create index accounts_newest on accounts (created_at, id);
create index connections_newest on connections (created_at, id);
create index connections_failing on connections (failing_since, id) where failing_since is not null;
create index submissions_unknown_oldest on submissions (attempted_at, id) where outcome = 'unknown';
create index deliveries_undelivered on deliveries (id) where state in ('failed', 'blocked');
