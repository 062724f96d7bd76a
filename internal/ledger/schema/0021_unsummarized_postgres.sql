-- A replica of the version before changes documents without their summaries: the invoice is then to be summarized again.

-- +goose Up
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
