-- Mails that the installation sends, from the transaction that causes one until a week after it was sent or given up. secret is the sealed
-- secret of the link in a mail, which is bound to the recipient and removed when the mail ends. due_at is null once it has ended.
--
-- A notice counts what happened in an account until its owners are told; then due_at is null, and count is 0.
--
-- mail_settings has what users have chosen: the language of their mails ('' for none), and the kinds of notices that they do not want,
-- separated by commas.

-- +goose Up
create table mails (
    account_id bytea  not null references accounts (id),
    id         bytea  not null,
    kind       text   not null,
    recipient  text   not null,
    user_id    bytea,
    subject_id bytea,
    language   text   not null,
    secret     bytea,
    count      bigint not null,
    state      text   not null,
    reason     text   not null default '',
    attempts   bigint not null default 0,
    lease      bigint not null default 0,
    leased     bigint not null default 0,
    created_at bigint not null,
    due_at     bigint,
    expires_at bigint not null,
    ended_at   bigint,
    primary key (account_id, id)
);
create index mails_due on mails (account_id, due_at) where due_at is not null;
create index mails_expiry on mails (expires_at) where due_at is not null;
create index mails_ended on mails (ended_at) where ended_at is not null;
create index mails_subject on mails (account_id, subject_id);
create table notices (
    account_id bytea  not null references accounts (id),
    kind       text   not null,
    count      bigint not null,
    due_at     bigint,
    told_at    bigint,
    primary key (account_id, kind)
);
create index notices_due on notices (due_at) where due_at is not null;
create table mail_settings (
    account_id  bytea not null,
    user_id     bytea not null,
    language    text  not null,
    notices_off text  not null,
    primary key (account_id, user_id),
    foreign key (account_id, user_id) references users (account_id, id)
);
