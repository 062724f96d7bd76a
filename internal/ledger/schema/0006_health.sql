-- How a provider connection fares. failures counts its calls in a row without a usable answer, failing_since is when the
-- first of them ended and trouble what the last one met. retry_at is set while the connection is in trouble: until then
-- its submissions are not asked about, then one of them is, and while that call runs retry_at is the end of its lease.
-- retry_wait is the last wait in microseconds.

-- +goose Up
alter table connections add column failures bigint not null default 0;
alter table connections add column failing_since bigint;
alter table connections add column trouble text;
alter table connections add column retry_at bigint;
alter table connections add column retry_wait bigint not null default 0;
