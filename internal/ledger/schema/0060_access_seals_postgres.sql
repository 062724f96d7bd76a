-- +goose NO TRANSACTION
-- The seals of rows that decide who may act: each covers the primary key of its row and the columns that decide. A row without a right seal does
-- not act. Rows that end for good (a revoked token, a used code) lose their seal. Rows of before, and of an earlier release, have none.
--
-- sealed_sets has what must not lose a member: the sealed number and digest of all rows of a table.
--
-- Each statement commits by itself and locks one table, because requests use all of these tables: a transaction that collected the locks of all would
-- end in a deadlock with them. After an interruption the migration runs again.

-- +goose Up
alter table accounts add column if not exists seal bytea;
alter table tenants add column if not exists seal bytea;
alter table users add column if not exists seal bytea;
alter table tokens add column if not exists seal bytea;
alter table api_keys add column if not exists seal bytea;
alter table invitations add column if not exists seal bytea;
alter table password_resets add column if not exists seal bytea;
alter table pending_logins add column if not exists seal bytea;
alter table sign_on_subjects add column if not exists seal bytea;
alter table recovery_codes add column if not exists seal bytea;
alter table operators add column if not exists seal bytea;
alter table operator_sessions add column if not exists seal bytea;
alter table operator_recovery_codes add column if not exists seal bytea;
alter table sealing_keys add column if not exists seal bytea;
create table if not exists sealed_sets (
    name  text  not null primary key,
    value bytea not null
);
