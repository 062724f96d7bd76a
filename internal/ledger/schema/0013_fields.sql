-- What the provider, or its adapter's published table, says a word means; null where neither says. Credit notes can be
-- corrected, so that they have a version and a coded reason. A company's logo is large, and is read where it is shown alone.

-- +goose Up
alter table states add column meaning text check (meaning = 'positive' or meaning = 'negative' or meaning = 'waiting');
alter table accounts add column logo text;
alter table credit_notes add column reason_code text;
alter table credit_notes add column version bigint not null default 1;
alter table credit_notes add column updated_at bigint;
