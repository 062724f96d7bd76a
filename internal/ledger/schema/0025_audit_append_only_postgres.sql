-- An entry of the audit log is never changed or removed: the database itself refuses it.

-- +goose Up
create trigger audit_append_only before update or delete or truncate on audit
    for each statement execute function append_only();
