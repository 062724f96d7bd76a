-- What the overview and the tabs of the list count. Each invoice says what it is counted as: its category; in counted the period, the
-- amount in millionths and the currency; and in counted_version the version that was counted. Every writer that knows the counters sets
-- counted_version with version, so that they differ where the version before this one has written: the invoice is then to be counted anew.

-- +goose Up
alter table invoices add column category text not null default '';
alter table invoices add column counted text not null default '';
alter table invoices add column counted_version bigint not null default 0;
create index invoices_category on invoices (tenant_id, category, position);
create index invoices_uncounted on invoices (tenant_id, id) where counted_version <> version;

-- How many invoices are counted as the same, and their sum: amount_high times 10^18, amount_middle times 10^9 and amount_low millionths.
-- period is 0 for all of a category, or the day since 1970 (UTC) of the submission; in the category unknown alone it is the minute.
create table invoice_counters (
    tenant_id     bytea  not null references tenants (id),
    category      text   not null,
    period        bigint not null,
    currency      text   not null,
    invoices      bigint not null,
    amount_high   bigint not null,
    amount_middle bigint not null,
    amount_low    bigint not null,
    primary key (tenant_id, category, period, currency)
);

-- Submissions whose call is under way: few, and their invoices are counted as drafts until the outcome is known. Submissions of credit
-- notes that need a person, newest first.
create index submissions_calling on submissions (tenant_id, id) where outcome = 'in_progress';
create index submissions_credit_attention on submissions (tenant_id, id) where current = 2 and outcome in ('rejected', 'unknown');
