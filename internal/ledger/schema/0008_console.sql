-- What the pages read: the events about one submission, and through them whom was told. Sessions of browsers are rows of
-- tokens like bearer tokens; their digests are made another way.

-- +goose Up
create index events_resource on events (tenant_id, resource_id, position);
-- The newest deliveries of one subscription, and how many of them stand how, without reading the rows themselves.
create index deliveries_subscription on deliveries (tenant_id, subscription_id, id, state);
