-- What the schema of release 0.3.0 has on PostgreSQL alone; see 0047_baseline.sql.

-- +goose Up

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
);

-- A draft of ten items is longer than what PostgreSQL stores as it is, and its own compression takes 40 µs for it, which is a tenth of
-- all that a draft costs; lz4 takes a quarter of that for the same size. A server that was built without lz4 goes on with its own.
-- +goose StatementBegin
do $$
begin
    execute 'alter table invoices alter column document set compression lz4';
    execute 'alter table submissions alter column document set compression lz4';
exception
    when feature_not_supported or syntax_error then null;
end
$$;
-- +goose StatementEnd

-- A release that does not know summaries changes documents without them: the invoice is then to be summarized again.
-- +goose StatementBegin
create function invoice_unsummarized() returns trigger language plpgsql as $$
begin
    new.summarized := 0;
    return new;
end
$$;
-- +goose StatementEnd
create trigger invoices_unsummarized before update of document on invoices
    for each row when (new.summarized = old.summarized) execute function invoice_unsummarized();

-- What is retained, and the audit log, is never changed or removed: the database itself refuses it. Also where nothing would change,
-- because whoever tries is wrong.
-- +goose StatementBegin
create function append_only() returns trigger language plpgsql as $$
begin
    raise exception '% is append-only: % refused', tg_table_name, lower(tg_op);
end
$$;
-- +goose StatementEnd
create trigger evidence_append_only before update or delete or truncate on evidence
    for each statement execute function append_only();
create trigger revisions_append_only before update or delete or truncate on revisions
    for each statement execute function append_only();
create trigger audit_append_only before update or delete or truncate on audit
    for each statement execute function append_only();
