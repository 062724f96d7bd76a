-- When the database was restored from a backup, in microseconds since 1970, in the row of every tenant that it had then. A
-- submission reads it there and nowhere else. Servers of an earlier release still read the setting restored_at.

-- +goose Up
alter table tenants add column restored_at bigint;
update tenants set restored_at = (select cast(value as bigint) from settings where key = 'restored_at');
