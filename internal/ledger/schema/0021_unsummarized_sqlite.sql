-- The version before, when it is run once more, changes documents without their summaries: the invoice is then to be
-- summarized again.

-- +goose Up
-- +goose StatementBegin
create trigger invoices_unsummarized after update of document on invoices when new.summarized = old.summarized begin
    update invoices set summarized = 0 where tenant_id = new.tenant_id and id = new.id;
end;
-- +goose StatementEnd
