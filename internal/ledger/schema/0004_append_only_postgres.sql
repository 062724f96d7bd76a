-- What is retained is never changed or removed: the database itself refuses it. Also where nothing would change, because
-- whoever tries is wrong.

-- +goose Up
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
