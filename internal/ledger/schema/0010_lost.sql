-- What was not delivered, across the subscriptions of a company, newest first: the page that leads to delivering it again.

-- +goose Up
create index deliveries_lost on deliveries (tenant_id, id, state) where state in ('failed', 'blocked');
