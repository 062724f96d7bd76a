-- The audit log: an entry for every act that changes something, written in the transaction of the act. Each account has a
-- chain; what belongs to no account is in the chain of sixteen zero bytes. The row of audit_heads says where a chain ends;
-- its seal covers that, and in the chain of zeros how many other chains there are, so that none can be removed.

-- +goose Up
create table audit (
    chain        bytea  not null,
    ordinal      bigint not null,
    id           bytea  not null unique,
    at           bigint not null,
    actor_kind   text   not null check (actor_kind in ('administrator', 'user', 'key', 'system')),
    actor        text   not null,
    means        text   not null,
    source       text   not null,
    request_id   text   not null,
    act          text   not null,
    account_id   bytea,
    subject_type text   not null,
    subject      text   not null,
    reason       text   not null,
    details      text   not null,
    previous     bytea  not null,
    digest       bytea  not null,
    primary key (chain, ordinal)
);
create index audit_at on audit (at, chain, ordinal);

create table audit_heads (
    chain  bytea  not null primary key,
    count  bigint not null,
    head   bytea  not null,
    chains bigint not null,
    seal   bytea
);

-- What an administrator has decided about a submission of unknown outcome. A submission that was resolved by rejecting it
-- stands with the outcome rejected and the decision reject: the version before knows no other word. contradicted_at is when
-- the provider reported such a document after all.
alter table submissions add column resolved_at bigint;
alter table submissions add column resolved_by text;
alter table submissions add column resolved_decision text;
alter table submissions add column resolved_reason text;
alter table submissions add column contradicted_at bigint;
create index submissions_unknown on submissions (tenant_id, attempted_at) where outcome = 'unknown';
create index submissions_contradicted on submissions (tenant_id) where contradicted_at is not null;

-- A disabled user cannot log in.
alter table users add column disabled_at bigint;
