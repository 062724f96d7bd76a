-- One text for both engines. Instants are microseconds since 1970 (UTC), flags are 0 or 1, identifiers are the
-- sixteen bytes of a UUID. Keys of a tenant's rows lead with tenant_id, so that a reference to another tenant's row
-- is refused by the engine.

-- +goose Up
create table accounts (
    id           bytea  not null primary key,
    company      text   not null,
    status       text   not null check (status in ('active', 'suspended')),
    profile      text   not null,
    created_at   bigint not null,
    suspended_at bigint
);

-- A reset gives an account a fresh tenant and freezes the old one; the two counters number a tenant's rows without gaps.
create table tenants (
    id         bytea  not null primary key,
    account_id bytea  not null references accounts (id),
    created_at bigint not null,
    frozen_at  bigint,
    invoices   bigint not null default 0,
    events     bigint not null default 0,
    unique (account_id, id)
);
create unique index tenants_current on tenants (account_id) where frozen_at is null;

create table users (
    account_id          bytea  not null references accounts (id),
    id                  bytea  not null,
    email               text   not null unique,
    name                text   not null,
    password_hash       text   not null,
    created_at          bigint not null,
    password_changed_at bigint not null,
    primary key (account_id, id)
);

create table tokens (
    digest     bytea  not null primary key,
    account_id bytea  not null,
    tenant_id  bytea  not null,
    user_id    bytea  not null,
    created_at bigint not null,
    expires_at bigint not null,
    revoked_at bigint,
    foreign key (account_id, tenant_id) references tenants (account_id, id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create index tokens_user on tokens (account_id, user_id);
create index tokens_expiry on tokens (expires_at);

-- Login limits, shared by all replicas. The keys are digests, so that no address or e-mail stands here in clear.
create table limits (
    key        bytea  not null primary key,
    window_end bigint not null,
    used       bigint not null
);
create index limits_end on limits (window_end);

create table connections (
    account_id      bytea  not null references accounts (id),
    id              bytea  not null,
    kind            text   not null check (kind in ('http', 'simulator')),
    environment     text   not null check (environment in ('sandbox', 'production')),
    base_url        text   not null,
    state           text   not null check (state in ('pending', 'active', 'disabled')),
    credential      bytea  not null,
    fingerprint     text   not null,
    created_at      bigint not null,
    updated_at      bigint not null,
    approved_at     bigint,
    approved_by     text,
    approved_contract text,
    approved_release  text,
    primary key (account_id, id)
);
create unique index connections_active on connections (account_id) where state = 'active';

create table invoices (
    tenant_id  bytea  not null references tenants (id),
    id         bytea  not null,
    position   bigint not null,
    number     text   not null,
    document   text   not null,
    version    bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (tenant_id, id)
);
create unique index invoices_position on invoices (tenant_id, position);
create index invoices_number on invoices (tenant_id, number, position);

-- due_at is the work's: a claim moves it to the end of its lease. next_check_at is what people are told.
-- outcome not_sent: the provider certainly did not take the document; the invoice is a draft again and this row keeps
-- the permanent reference for the next try.
create table submissions (
    tenant_id          bytea  not null,
    id                 bytea  not null,
    account_id         bytea  not null,
    connection_id      bytea  not null,
    invoice_id         bytea  not null,
    ordinal            bigint not null,
    current            bigint not null,
    number             text   not null,
    document           text   not null,
    outcome            text   not null check (outcome in ('in_progress', 'acknowledged', 'rejected', 'unknown', 'not_sent')),
    attempted_at       bigint not null,
    sent_at            bigint not null,
    resend             bigint not null default 0,
    provider_reference text,
    sequence           bigint,
    last_checked_at    bigint,
    last_status        bigint,
    last_sha256        bytea,
    poll_wait          bigint not null,
    missing_since      bigint,
    missing_count      bigint not null default 0,
    terminal_at        bigint,
    evidence_count     bigint not null default 0,
    evidence_head      bytea,
    due_at             bigint,
    next_check_at      bigint,
    lease              bigint not null default 0,
    primary key (tenant_id, id),
    unique (tenant_id, invoice_id, ordinal),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id),
    foreign key (account_id, tenant_id) references tenants (account_id, id),
    foreign key (account_id, connection_id) references connections (account_id, id)
);
create unique index submissions_current on submissions (tenant_id, invoice_id) where current = 1;
create unique index submissions_number on submissions (tenant_id, number)
    where outcome in ('in_progress', 'acknowledged', 'unknown');
create index submissions_due on submissions (account_id, connection_id, due_at) where due_at is not null;

create table evidence (
    tenant_id     bytea  not null,
    id            bytea  not null,
    submission_id bytea  not null,
    ordinal       bigint not null,
    call          text   not null,
    received_at   bigint not null,
    http_status   bigint not null,
    media_type    text   not null,
    sha256        bytea  not null,
    body          bytea  not null,
    truncated     bigint not null,
    withheld      bigint not null,
    words         text   not null,
    previous      bytea  not null,
    digest        bytea  not null,
    primary key (tenant_id, id),
    unique (tenant_id, submission_id, ordinal),
    foreign key (tenant_id, submission_id) references submissions (tenant_id, id)
);

-- One row a dimension: none can be computed from another, and each names the evidence it was read from.
create table states (
    tenant_id     bytea  not null,
    submission_id bytea  not null,
    dimension     text   not null check (dimension in
        ('submission_state', 'provider_invoice_state', 'tax_authority_state', 'receiver_state')),
    word          text   not null,
    terminal      bigint not null,
    evidence_id   bytea  not null,
    changed_at    bigint not null,
    primary key (tenant_id, submission_id, dimension),
    foreign key (tenant_id, submission_id) references submissions (tenant_id, id),
    foreign key (tenant_id, evidence_id) references evidence (tenant_id, id)
);
create index states_word on states (tenant_id, dimension, word);

create table events (
    tenant_id     bytea  not null references tenants (id),
    id            bytea  not null,
    position      bigint not null,
    kind          text   not null,
    resource_type text   not null,
    resource_id   bytea  not null,
    occurred_at   bigint not null,
    body          bytea  not null,
    primary key (tenant_id, id)
);
create unique index events_position on events (tenant_id, position);

create table subscriptions (
    tenant_id           bytea  not null references tenants (id),
    id                  bytea  not null,
    url                 text   not null,
    events              text   not null,
    description         text,
    secret              bytea  not null,
    active              bigint not null,
    created_at          bigint not null,
    deactivated_at      bigint,
    deactivation_reason text,
    primary key (tenant_id, id)
);

create table deliveries (
    tenant_id       bytea  not null,
    id              bytea  not null,
    event_id        bytea  not null,
    subscription_id bytea  not null,
    kind            text   not null,
    state           text   not null check (state in ('pending', 'delivered', 'failed', 'blocked')),
    reason          text,
    attempts        bigint not null default 0,
    round           bigint not null default 0,
    created_at      bigint not null,
    updated_at      bigint not null,
    due_at          bigint,
    lease           bigint not null default 0,
    primary key (tenant_id, id),
    unique (tenant_id, event_id, subscription_id),
    foreign key (tenant_id, event_id) references events (tenant_id, id),
    foreign key (tenant_id, subscription_id) references subscriptions (tenant_id, id)
);
create index deliveries_due on deliveries (tenant_id, subscription_id, due_at) where due_at is not null;

create table attempts (
    tenant_id   bytea  not null,
    delivery_id bytea  not null,
    ordinal     bigint not null,
    started_at  bigint not null,
    duration    bigint not null,
    http_status bigint not null,
    error_class text   not null,
    answer      bytea  not null,
    primary key (tenant_id, delivery_id, ordinal),
    foreign key (tenant_id, delivery_id) references deliveries (tenant_id, id)
);
