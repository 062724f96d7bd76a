-- What the schema of release 0.3.0 has on SQLite alone; see 0047_baseline.sql.

-- +goose Up

-- Attempts are found by their key alone, so the rows are kept in its order, without a second tree that repeats it: a tenth of what the
-- history of a delivery takes on the disk, and one page less to write for each attempt.
create table attempts (
    tenant_id   bytea  not null,
    delivery_id bytea  not null,
    ordinal     bigint not null,
    started_at  bigint not null,
    duration    bigint not null,
    http_status bigint not null,
    error_class text   not null,
    answer      bytea  not null,
    primary key (tenant_id, delivery_id, ordinal),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
) without rowid;

-- A release that does not know summaries changes documents without them: the invoice is then to be summarized again.
-- +goose StatementBegin
create trigger invoices_unsummarized after update of document on invoices when new.summarized = old.summarized begin
    update invoices set summarized = 0 where tenant_id = new.tenant_id and id = new.id;
end;
-- +goose StatementEnd

-- What is retained, and the audit log, is never changed or removed: the database itself refuses it. "insert or replace" removes a row
-- without its delete trigger, so that a row in the place of another is refused before it comes to that.
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
