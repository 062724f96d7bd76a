-- The kind of a connection is the name of an adapter, which the program knows. Until now the table listed the adapters, so that each
-- new one would have changed it. SQLite cannot drop a check alone, so the column is built anew.

-- +goose Up
alter table connections add column kind_rebuilt text not null default '';
update connections set kind_rebuilt = kind;
alter table connections drop column kind;
alter table connections rename column kind_rebuilt to kind;
