-- Credit notes, incoming e-invoices, purchase sync and idempotency keys.

-- +goose Up
alter table tenants add column credit_notes bigint not null default 0;
alter table tenants add column incoming bigint not null default 0;

-- What is true of the whole database, such as the environment it is served in.
create table settings (
    key   text not null primary key,
    value text not null
);

-- Only a 2xx answer is kept, in the transaction of its effect. status is 0 while that transaction runs.
create table idempotency (
    tenant_id   bytea  not null references tenants (id),
    key         text   not null,
    fingerprint bytea  not null,
    status      bigint not null,
    entity_tag  text   not null,
    body        bytea  not null,
    expires_at  bigint not null,
    primary key (tenant_id, key)
);
create index idempotency_expiry on idempotency (expires_at);

create table credit_notes (
    tenant_id  bytea  not null,
    id         bytea  not null,
    position   bigint not null,
    invoice_id bytea  not null,
    number     text   not null,
    issue_date text   not null,
    reason     text   not null,
    kind       text   not null check (kind in ('full', 'partial')),
    currency   text   not null,
    total      text   not null,
    items      text   not null,
    created_at bigint not null,
    voided_at  bigint,
    primary key (tenant_id, id),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id)
);
create unique index credit_notes_position on credit_notes (tenant_id, position);
create index credit_notes_invoice on credit_notes (tenant_id, invoice_id, position);

-- Where the purchase sync of a connection stands. It is the connection's work, so it has a due time and a lease. The
-- cursor is the provider's text, whatever bytes it has. failures counts the turns in a row in which a document of the
-- page behind the cursor could not be fetched and none was gained; wait is the last wait after trouble.
create table purchase_syncs (
    account_id    bytea  not null,
    connection_id bytea  not null,
    cursor        bytea  not null,
    failures      bigint not null default 0,
    wait          bigint not null default 0,
    synced_at     bigint,
    due_at        bigint,
    lease         bigint not null default 0,
    primary key (account_id, connection_id),
    foreign key (account_id, connection_id) references connections (account_id, id)
);
create index purchase_syncs_due on purchase_syncs (due_at) where due_at is not null;

-- revision, sha256 and head are those of the latest revision: the head of the chain stands outside of the chain.
create table incoming (
    tenant_id            bytea  not null references tenants (id),
    id                   bytea  not null,
    position             bigint not null,
    provider_document_id text   not null,
    revision             bigint not null,
    sha256               bytea  not null,
    head                 bytea  not null,
    created_at           bigint not null,
    updated_at           bigint not null,
    primary key (tenant_id, id),
    unique (tenant_id, provider_document_id)
);
create unique index incoming_position on incoming (tenant_id, position);

-- One row a revision. Its digest covers everything here but the two bodies, which their own digests cover, and the
-- revision before it. body and metadata are sealed when withheld.
create table revisions (
    tenant_id           bytea  not null,
    incoming_id         bytea  not null,
    revision            bigint not null,
    document_type       text,
    invoice_number      text,
    supplier_name       text,
    supplier_network_id text,
    issue_date          text,
    due_date            text,
    currency            text,
    total_amount        text,
    received_at         bigint,
    media_type          text   not null,
    size                bigint,
    sha256              bytea  not null,
    claimed_sha256      text,
    retained            bigint not null,
    withheld            bigint not null,
    body                bytea  not null,
    metadata            bytea  not null,
    metadata_sha256     bytea  not null,
    retained_at         bigint not null,
    previous            bytea  not null,
    digest              bytea  not null,
    primary key (tenant_id, incoming_id, revision),
    foreign key (tenant_id, incoming_id) references incoming (tenant_id, id)
);
