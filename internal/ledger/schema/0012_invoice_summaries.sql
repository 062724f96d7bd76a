-- What a list shows of an invoice and what it is searched and sorted by, in a row of its own: a list reads no document. The
-- narrow columns come first and the summary last, so that a search reads no long row to its end. total is an order-preserving
-- form of the amount; recipient and terms (number and network identifier) are in lower case.

-- +goose Up
create table invoice_summaries (
    tenant_id   bytea  not null,
    invoice_id  bytea  not null,
    created_at  bigint not null,
    external_id text,
    issue_date  text   not null,
    total       bytea  not null,
    recipient   text   not null,
    terms       text   not null,
    item_count  bigint not null,
    summary     text   not null,
    primary key (tenant_id, invoice_id),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id) on delete cascade
);
create index invoice_summaries_issue_date on invoice_summaries (tenant_id, issue_date, invoice_id);
create index invoice_summaries_external_id on invoice_summaries (tenant_id, external_id, invoice_id) where external_id is not null;
create index invoices_updated on invoices (tenant_id, updated_at, id);

-- summarized is 0 while the invoice has no summary, or one of another document: those of the version before this one. Every
-- change of the document changes it.
alter table invoices add column summarized bigint not null default 0;
create index invoices_unsummarized on invoices (tenant_id, id) where summarized = 0;

-- Filters by a word, and what needs a person, newest first: the identifier of a submission begins with its invoice's time.
create index states_word_newest on states (tenant_id, dimension, word, submission_id);
create index submissions_attention on submissions (tenant_id, id)
    where current = 1 and outcome in ('rejected', 'unknown');

-- Null in the rows of the version before this one: the items are counted then.
alter table credit_notes add column item_count bigint;
