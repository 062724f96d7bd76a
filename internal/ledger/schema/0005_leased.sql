-- A claim of a delivery moves due_at to the end of its lease; leased tells that from the time of the next attempt.

-- +goose Up
alter table deliveries add column leased bigint not null default 0;
