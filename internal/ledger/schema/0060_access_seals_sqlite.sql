-- The seals of rows that decide who may act: each covers the primary key of its row and the columns that decide. A row without a right seal does
-- not act. Rows that end for good (a revoked token, a used code) lose their seal. Rows of before, and of an earlier release, have none.
--
-- sealed_sets has what must not lose a member: the sealed number and digest of all rows of a table.

-- +goose Up
alter table accounts add column seal bytea;
alter table tenants add column seal bytea;
alter table users add column seal bytea;
alter table tokens add column seal bytea;
alter table api_keys add column seal bytea;
alter table invitations add column seal bytea;
alter table password_resets add column seal bytea;
alter table pending_logins add column seal bytea;
alter table sign_on_subjects add column seal bytea;
alter table recovery_codes add column seal bytea;
alter table operators add column seal bytea;
alter table operator_sessions add column seal bytea;
alter table operator_recovery_codes add column seal bytea;
alter table sealing_keys add column seal bytea;
create table sealed_sets (
    name  text  not null primary key,
    value bytea not null
);
