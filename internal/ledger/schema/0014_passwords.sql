-- Who has to change a password at its first use in the console: those whom an administrator gave it. A session that began
-- with such a password may do nothing there but change it.

-- +goose Up
alter table users add column password_change_required bigint not null default 0;
alter table tokens add column password_change_required bigint not null default 0;
