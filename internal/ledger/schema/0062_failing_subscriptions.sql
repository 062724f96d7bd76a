-- failing_since is when the first of the attempts began that have failed since one arrived; null for a subscription whose last attempt arrived,
-- and for one that no attempt was made for. After an upgrade it is known with the next attempt.

-- +goose Up
alter table subscriptions add column failing_since bigint;
create index subscriptions_failing on subscriptions (failing_since) where failing_since is not null;
