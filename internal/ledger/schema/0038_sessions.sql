-- What people recognize a session by: what began it, how, from where and with which program, and when it was used last. All columns
-- are null for a session that an earlier release began.

-- +goose Up
alter table tokens add column client text;
alter table tokens add column means text;
alter table tokens add column source text;
alter table tokens add column user_agent text;
alter table tokens add column last_used_at bigint;
