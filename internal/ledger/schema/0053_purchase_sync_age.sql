-- +goose Up
-- The connection whose last complete purchase sync is the oldest, for a metric, without reading the row of every connection.
create index purchase_syncs_synced on purchase_syncs (synced_at) where due_at is not null;
