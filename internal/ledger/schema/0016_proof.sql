-- What an answer was read as, in the words of the service; null in the rows of before, and empty for what was no report.
-- events holds the digests of the events that an answer, or a revision, gave rise to, 32 bytes each, in their order. Both are
-- covered by the digest of the row. earlier_events holds, 40 bytes each, time and digest of the events of before.
-- begun_at is when a submission was first begun; null in the rows of before.

-- +goose Up
alter table evidence add column report text;
alter table evidence add column events bytea;
alter table revisions add column events bytea;
alter table submissions add column begun_at bigint;
alter table submissions add column earlier_events bytea;
alter table incoming add column earlier_events bytea;
alter table tenants add column events_seal bytea;

-- What is true of the whole database and nobody may change who has no keys.
create table sealed_settings (
    id    bytea not null primary key,
    value bytea not null
);
