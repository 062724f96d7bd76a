-- What is retained is never changed or removed: the database itself refuses it. "insert or replace" removes a row without
-- its delete trigger, so that a row in the place of another is refused before it comes to that.

-- +goose Up
-- +goose StatementBegin
create trigger evidence_no_update before update on evidence begin
    select raise(abort, 'evidence is append-only: update refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger evidence_no_delete before delete on evidence begin
    select raise(abort, 'evidence is append-only: delete refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger evidence_no_replace before insert on evidence
when exists (select 1 from evidence where rowid = new.rowid)
    or exists (select 1 from evidence where tenant_id = new.tenant_id and id = new.id)
    or exists (select 1 from evidence where tenant_id = new.tenant_id and submission_id = new.submission_id and ordinal = new.ordinal)
begin
    select raise(abort, 'evidence is append-only: replace refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger revisions_no_update before update on revisions begin
    select raise(abort, 'revisions is append-only: update refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger revisions_no_delete before delete on revisions begin
    select raise(abort, 'revisions is append-only: delete refused');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger revisions_no_replace before insert on revisions
when exists (select 1 from revisions where rowid = new.rowid)
    or exists (select 1 from revisions where tenant_id = new.tenant_id and incoming_id = new.incoming_id and revision = new.revision)
begin
    select raise(abort, 'revisions is append-only: replace refused');
end;
-- +goose StatementEnd
