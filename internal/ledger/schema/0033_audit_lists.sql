-- The lists of the audit log of one account: by time, and of one subject.

-- +goose Up
create index audit_chain_at on audit (chain, at, ordinal);
create index audit_subject on audit (chain, subject, at, ordinal);
