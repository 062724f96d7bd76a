-- The kind of a connection is the name of an adapter, which the program knows. Until now the table listed the adapters, so that each
-- new one would have changed it.

-- +goose Up
alter table connections drop constraint connections_kind_check;
