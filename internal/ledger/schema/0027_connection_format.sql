-- The document format that a connection submits invoices in, such as pint-ae, and the values of its adapter's own options as a JSON
-- object. Both are null in connections that have none. The credential is bound to them.

-- +goose Up
alter table connections add column format text;
alter table connections add column options text;
