-- The seal of a chain stands outside of the chain's table, beside its head: the number of its entries and the digest of
-- the last one, sealed with the key file. It is null for a chain that nothing was appended to since this column is here.

-- +goose Up
alter table submissions add column evidence_seal bytea;
alter table incoming add column seal bytea;
