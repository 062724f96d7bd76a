-- An entry of the audit log is never changed or removed: the database itself refuses it.

-- +goose Up
-- +goose StatementBegin
create trigger audit_no_update before update on audit begin
    select raise(abort, 'audit is append-only: update refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger audit_no_delete before delete on audit begin
    select raise(abort, 'audit is append-only: delete refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger audit_no_replace before insert on audit
when exists (select 1 from audit where rowid = new.rowid)
    or exists (select 1 from audit where id = new.id)
    or exists (select 1 from audit where chain = new.chain and ordinal = new.ordinal)
begin
    select raise(abort, 'audit is append-only: replace refused');
end;
-- +goose StatementEnd
