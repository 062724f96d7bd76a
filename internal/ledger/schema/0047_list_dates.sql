-- The lists of credit notes and of incoming e-invoices, by issue date and, for incoming e-invoices, by their latest change.

-- +goose Up
create index credit_notes_issue_date on credit_notes (tenant_id, issue_date, id);
create index revisions_issue_date on revisions (tenant_id, issue_date, incoming_id) where issue_date is not null;
create index incoming_updated on incoming (tenant_id, updated_at, id);
