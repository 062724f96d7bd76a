-- The events that a provider has handed out from its queue. An event is retained before it is deleted there, so provider_event_id recognizes one that
-- is handed out again. released_at is since when it may be deleted; until then another reader of the queue may take it. What an event says is
-- evidence of a submission or a revision of an incoming e-invoice, and then body is null. Otherwise the event was about nothing of this
-- connection, perhaps about another company: then body is the provider's response, sealed.

-- +goose Up
create table provider_events (
    account_id    bytea  not null,
    id            bytea  not null,
    connection_id bytea  not null,
    provider_event_id      text   not null,
    body          bytea,
    seen_at       bigint not null,
    released_at   bigint,
    primary key (account_id, id),
    foreign key (account_id, connection_id) references connections (account_id, id)
);
create unique index provider_events_event on provider_events (account_id, connection_id, provider_event_id);
create index provider_events_unrouted on provider_events (account_id, id) where body is not null;

-- Finds the submission that an event names by the provider's identifier of the document.
create index submissions_provider_reference on submissions (tenant_id, provider_reference) where provider_reference is not null;
