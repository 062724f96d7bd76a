-- What needs a person because of a word that its publisher calls negative, newest first.

-- +goose Up
create index states_negative on states (tenant_id, submission_id) where meaning = 'negative';
