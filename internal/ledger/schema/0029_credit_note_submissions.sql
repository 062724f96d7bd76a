-- The submission of a credit note is a row of submissions too: invoice_id is the credited invoice, whose lock covers it, credited_number
-- is the number of that invoice, and credit_note_ordinal counts the submissions of the credit note from 1. All three are null in a
-- submission of an invoice. The indexes and statements for invoices pass over the others: in those, current is 0 or 2, ordinal is negative,
-- and number is the number of the credit note after the character U+0001, which no number contains.

-- +goose Up
alter table submissions add column credit_note_id bytea;
alter table submissions add column credit_note_ordinal bigint;
alter table submissions add column credited_number text;
create index submissions_credit_note on submissions (tenant_id, credit_note_id) where credit_note_id is not null;

-- The record that an administrator has confirmed the contract and the mapping of credit notes for a connection. The credential is bound
-- to it.
alter table connections add column credit_notes_at bigint;
alter table connections add column credit_notes_contract text;
alter table connections add column credit_notes_mapping text;
