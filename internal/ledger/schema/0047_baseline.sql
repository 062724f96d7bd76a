-- The schema of release 0.3.0, but for what differs between the engines: that is in 0049_baseline_ENGINE.sql. A database that
-- 0.3.0 has served has both already, and begins with what comes after them. One of an earlier release has to be served by 0.3.0
-- first.
--
-- One text for both engines. Instants are microseconds since 1970 (UTC), flags are 0 or 1, identifiers are the sixteen bytes of a
-- UUID. Keys of a tenant's rows begin with tenant_id, so that the engine refuses a reference to the row of another tenant.

-- +goose Up

-- The migrations of 0.3.0 that these files replace, so that 0.3.0 starts on this schema, too.
insert into goose_db_version (version_id, is_applied) values (1, true), (2, true), (3, true), (4, true), (5, true), (6, true), (7, true),
    (8, true), (9, true), (10, true), (11, true), (12, true), (13, true), (14, true), (15, true), (16, true), (19, true), (21, true),
    (22, true), (23, true), (25, true), (26, true), (27, true), (28, true), (29, true), (30, true), (31, true), (32, true), (33, true),
    (35, true), (36, true), (37, true), (38, true), (40, true), (42, true), (44, true), (46, true);

-- What is true of the whole database, such as the environment it is served in. sealed_settings is what nobody may change who has
-- no keys.
create table settings (
    key   text not null primary key,
    value text not null
);
create table sealed_settings (
    id    bytea not null primary key,
    value bytea not null
);

-- The keys under which values in this database are sealed: by check_value, which each key has sealed, a process finds out whether
-- the keys it was given are the right ones. It also says in which form credentials and signing secrets are sealed. A retired key
-- opens nothing any more.
create table sealing_keys (
    id          bigint not null primary key,
    check_value bytea  not null,
    recorded_at bigint not null,
    retired_at  bigint
);

-- The running servers as they announce themselves, with the keys that they have loaded; one that was not seen for a while has
-- ended.
create table servers (
    id          bytea  not null primary key,
    name        text   not null,
    version     text   not null,
    role        text   not null,
    keys        text   not null,
    primary_key bigint not null,
    started_at  bigint not null,
    seen_at     bigint not null
);

-- A company's logo is large, and is read where it is shown alone. login_policy says how the users of the company have to log in: any
-- way, with a second factor, or by single sign-on, where the second factor is the provider's.
create table accounts (
    id           bytea  not null primary key,
    company      text   not null,
    status       text   not null check (status in ('active', 'suspended')),
    profile      text   not null,
    created_at   bigint not null,
    suspended_at bigint,
    logo         text,
    login_policy text   not null default 'any' check (login_policy in ('any', 'second_factor', 'single_sign_on'))
);
create index accounts_newest on accounts (created_at, id);

-- A reset gives an account a fresh tenant and freezes the old one. invoices, events, credit_notes and incoming number the rows of a
-- tenant without gaps. stored_bytes is what its rows take, for its quotas: the bytes of invoices and credit notes, of retained
-- responses and documents, of events, and of responses kept for idempotency keys. drafts counts the invoices without a submission of
-- which something is known. restored_at is when the database was restored from a backup, in the row of every tenant that it had then;
-- a submission reads it there and nowhere else.
create table tenants (
    id               bytea  not null primary key,
    account_id       bytea  not null references accounts (id),
    created_at       bigint not null,
    frozen_at        bigint,
    invoices         bigint not null default 0,
    events           bigint not null default 0,
    credit_notes     bigint not null default 0,
    incoming         bigint not null default 0,
    stored_bytes     bigint not null default 0,
    drafts           bigint not null default 0,
    events_seal      bytea,
    invoices_deleted bigint not null default 0,
    restored_at      bigint,
    customers        bigint not null default 0,
    items            bigint not null default 0,
    unique (account_id, id)
);
create unique index tenants_current on tenants (account_id) where frozen_at is null;

-- A user with password_change_required was given the password by an administrator, and a session that began with it may do nothing
-- but change it. A disabled user cannot log in. role is what the user may do in the company.
create table users (
    account_id               bytea  not null references accounts (id),
    id                       bytea  not null,
    email                    text   not null unique,
    name                     text   not null,
    password_hash            text   not null,
    created_at               bigint not null,
    password_changed_at      bigint not null,
    password_change_required bigint not null default 0,
    disabled_at              bigint,
    role                     text   not null default 'owner' check (role in ('owner', 'accountant', 'developer', 'viewer')),
    primary key (account_id, id)
);

-- Bearer tokens, and the sessions of browsers, whose digests are made in another way. People recognize a session by what began it,
-- how, from where and with which program, and by its last use: client, means, source, user_agent and last_used_at, which are null for
-- a session of an earlier release.
create table tokens (
    digest                   bytea  not null primary key,
    account_id               bytea  not null,
    tenant_id                bytea  not null,
    user_id                  bytea  not null,
    created_at               bigint not null,
    expires_at               bigint not null,
    revoked_at               bigint,
    password_change_required bigint not null default 0,
    client                   text,
    means                    text,
    source                   text,
    user_agent               text,
    last_used_at             bigint,
    foreign key (account_id, tenant_id) references tenants (account_id, id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create index tokens_user on tokens (account_id, user_id);
create index tokens_expiry on tokens (expires_at);
create index tokens_unrevoked on tokens (account_id, user_id, created_at) where revoked_at is null;

-- Login limits, shared by all replicas. The keys are digests, so that no address or e-mail is here in clear.
create table limits (
    key        bytea  not null primary key,
    window_end bigint not null,
    used       bigint not null
);
create index limits_end on limits (window_end);

-- An invitation is a row until it is used, replaced or revoked. Only the digest of its secret is stored. invited_by is null for an
-- invitation by an administrator.
create table invitations (
    account_id bytea  not null references accounts (id),
    id         bytea  not null,
    email      text   not null,
    role       text   not null check (role in ('owner', 'accountant', 'developer', 'viewer')),
    digest     bytea  not null unique,
    invited_by bytea,
    created_at bigint not null,
    expires_at bigint not null,
    primary key (account_id, id),
    unique (account_id, email),
    foreign key (account_id, invited_by) references users (account_id, id)
);

-- The credentials of machines. A key belongs to an account, as users do, and stays when the account gets another tenant. digest is the
-- SHA-256 of the key, which is stored nowhere; prefix and last_four are what people recognize it by. scopes and networks are separated
-- by blanks; no network means any. created_by is null for a key that an administrator created.
create table api_keys (
    account_id     bytea  not null references accounts (id),
    id             bytea  not null,
    digest         bytea  not null,
    prefix         text   not null,
    last_four      text   not null,
    name           text   not null,
    scopes         text   not null,
    networks       text   not null,
    created_by     bytea,
    created_at     bigint not null,
    expires_at     bigint,
    last_used_at   bigint,
    last_used_from text,
    revoked_at     bigint,
    primary key (account_id, id),
    foreign key (account_id, created_by) references users (account_id, id)
);
create unique index api_keys_digest on api_keys (digest);

-- The second factor of users: an authenticator app (RFC 6238), whose secret is sealed, and recovery codes, of which only digests are
-- stored. pending is the secret of an app that was not confirmed yet; it replaces nothing. last_step is the time step of the last code
-- that was accepted: no code works twice.
create table second_factors (
    account_id  bytea  not null,
    user_id     bytea  not null,
    secret      bytea,
    enrolled_at bigint,
    last_step   bigint not null,
    pending     bytea,
    pending_at  bigint,
    primary key (account_id, user_id),
    foreign key (account_id, user_id) references users (account_id, id)
);
create table recovery_codes (
    account_id bytea  not null,
    user_id    bytea  not null,
    digest     bytea  not null,
    used_at    bigint,
    primary key (account_id, user_id, digest),
    foreign key (account_id, user_id) references second_factors (account_id, user_id)
);

-- A login whose password was right and whose second factor is still missing. Only the digest of the secret that binds it to a browser
-- is stored.
create table pending_logins (
    digest     bytea  not null primary key,
    account_id bytea  not null,
    user_id    bytea  not null,
    means      text   not null,
    expires_at bigint not null,
    foreign key (account_id, user_id) references users (account_id, id)
);
create index pending_logins_user on pending_logins (account_id, user_id);
create index pending_logins_expiry on pending_logins (expires_at);

-- Passkeys of users: public key credentials (WebAuthn Level 3) that are second factors. credential is sealed and bound to its row: the
-- identifier of the credential, its public key, its user and what the authenticator said of itself at the registration. sign_count is
-- the counter of the last assertion that was accepted. A user with a passkey has a row in second_factors, whose secret is null without
-- an authenticator app.
--
-- A challenge is what one assertion or registration has to sign. Only a digest of it is stored, with the user and the purpose that it
-- is good for. The transaction that uses a challenge deletes it.
create table passkeys (
    account_id bytea  not null,
    id         bytea  not null,
    user_id    bytea  not null,
    name       text   not null,
    credential bytea  not null,
    sign_count bigint not null,
    created_at bigint not null,
    used_at    bigint,
    primary key (account_id, id),
    foreign key (account_id, user_id) references second_factors (account_id, user_id)
);
create index passkeys_user on passkeys (account_id, user_id);
create table passkey_challenges (
    digest     bytea  not null primary key,
    account_id bytea  not null,
    user_id    bytea  not null,
    purpose    text   not null check (purpose in ('registration', 'login', 'confirmation')),
    expires_at bigint not null,
    foreign key (account_id, user_id) references users (account_id, id)
);
create index passkey_challenges_expiry on passkey_challenges (expires_at);

-- Who a user is at the OpenID provider: the issuer and subject of the first login by single sign-on. A later login has to have the
-- same, because an e-mail address can be given to somebody else at the provider.
create table sign_on_subjects (
    account_id bytea  not null references accounts (id),
    user_id    bytea  not null,
    issuer     text   not null,
    subject    text   not null,
    linked_at  bigint not null,
    primary key (account_id, user_id),
    unique (issuer, subject),
    foreign key (account_id, user_id) references users (account_id, id)
);

-- The people of the owner of the service, who see the accounts of all companies on pages of their own. They are no users: they belong
-- to no account, and their sessions are rows of another table. password_hash and totp are null until an operator has enrolled; totp is
-- the sealed secret of the authenticator, and totp_step the last time step whose code was used. enrolment is the digest of the secret
-- in a link that is not used yet.
create table operators (
    id                   bytea  not null primary key,
    email                text   not null,
    password_hash        text,
    totp                 bytea,
    totp_step            bigint not null default 0,
    enrolment            bytea,
    enrolment_expires_at bigint,
    created_at           bigint not null,
    enrolled_at          bigint,
    disabled_at          bigint
);
create unique index operators_email on operators (email);
create unique index operators_enrolment on operators (enrolment) where enrolment is not null;

create table operator_recovery_codes (
    operator_id bytea  not null references operators (id),
    digest      bytea  not null,
    used_at     bigint,
    primary key (operator_id, digest)
);

create table operator_sessions (
    digest      bytea  not null primary key,
    operator_id bytea  not null references operators (id),
    created_at  bigint not null,
    used_at     bigint not null,
    expires_at  bigint not null
);

-- The audit log: an entry for every act that changes something, written in the transaction of the act. Each account has a chain; what
-- belongs to no account is in the chain of sixteen zero bytes. The row of audit_heads says where a chain ends; its seal covers that,
-- and in the chain of zeros how many other chains there are, so that none can be removed.
create table audit (
    chain        bytea  not null,
    ordinal      bigint not null,
    id           bytea  not null unique,
    at           bigint not null,
    actor_kind   text   not null check (actor_kind in ('administrator', 'user', 'key', 'system')),
    actor        text   not null,
    means        text   not null,
    source       text   not null,
    request_id   text   not null,
    act          text   not null,
    account_id   bytea,
    subject_type text   not null,
    subject      text   not null,
    reason       text   not null,
    details      text   not null,
    previous     bytea  not null,
    digest       bytea  not null,
    primary key (chain, ordinal)
);
create index audit_at on audit (at, chain, ordinal);
create index audit_chain_at on audit (chain, at, ordinal);
create index audit_subject on audit (chain, subject, at, ordinal);

create table audit_heads (
    chain  bytea  not null primary key,
    count  bigint not null,
    head   bytea  not null,
    chains bigint not null,
    seal   bytea
);

-- kind is the name of an adapter, format the document format that the connection submits invoices in, such as pint-ae, and options the
-- values of the adapter's own options as a JSON object; format and options are null in connections that have none. credit_notes_* is
-- the record that an administrator has confirmed the contract and the mapping of credit notes. The credential is bound to all of this.
--
-- failures counts the calls in a row without a usable response, failing_since is when the first of them ended and trouble what the last
-- one met. retry_at is set while the connection is in trouble: until then its submissions are not asked about, then one of them is, and
-- while that call runs retry_at is the end of its lease. retry_wait is the last wait in microseconds.
create table connections (
    account_id            bytea  not null references accounts (id),
    id                    bytea  not null,
    environment           text   not null check (environment in ('sandbox', 'production')),
    base_url              text   not null,
    state                 text   not null check (state in ('pending', 'active', 'disabled')),
    credential            bytea  not null,
    fingerprint           text   not null,
    created_at            bigint not null,
    updated_at            bigint not null,
    approved_at           bigint,
    approved_by           text,
    approved_contract     text,
    approved_release      text,
    failures              bigint not null default 0,
    failing_since         bigint,
    trouble               text,
    retry_at              bigint,
    retry_wait            bigint not null default 0,
    format                text,
    options               text,
    kind                  text   not null,
    credit_notes_at       bigint,
    credit_notes_contract text,
    credit_notes_mapping  text,
    primary key (account_id, id)
);
create unique index connections_active on connections (account_id) where state = 'active';
create index connections_newest on connections (created_at, id);
create index connections_failing on connections (failing_since, id) where failing_since is not null;

-- Where the purchase sync of a connection stands. It is the connection's work, so it has a due time and a lease. The cursor is the
-- provider's text, whatever bytes it has. failures counts the turns in a row in which a document of the page behind the cursor could
-- not be fetched and none was gained; wait is the last wait after trouble.
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

-- The events that a provider has handed out from its queue. An event is retained before it is deleted there, so provider_event_id
-- recognizes one that is handed out again. released_at is since when it may be deleted; until then another reader of the queue may take
-- it. What an event says is evidence of a submission or a revision of an incoming e-invoice, and then body is null. Otherwise the event
-- was about nothing of this connection, perhaps about another company: then body is the provider's response, sealed.
create table provider_events (
    account_id        bytea  not null,
    id                bytea  not null,
    connection_id     bytea  not null,
    provider_event_id text   not null,
    body              bytea,
    seen_at           bigint not null,
    released_at       bigint,
    primary key (account_id, id),
    foreign key (account_id, connection_id) references connections (account_id, id)
);
create unique index provider_events_event on provider_events (account_id, connection_id, provider_event_id);
create index provider_events_unrouted on provider_events (account_id, id) where body is not null;

-- summarized is 0 while the invoice has no summary, or one of another document. An invoice says what it is counted as: its category; in
-- counted the period, the amount in millionths and the currency; and in counted_version the version that was counted.
create table invoices (
    tenant_id       bytea  not null references tenants (id),
    id              bytea  not null,
    position        bigint not null,
    number          text   not null,
    document        text   not null,
    version         bigint not null,
    created_at      bigint not null,
    updated_at      bigint not null,
    summarized      bigint not null default 0,
    category        text   not null default '',
    counted         text   not null default '',
    counted_version bigint not null default 0,
    primary key (tenant_id, id)
);
create unique index invoices_position on invoices (tenant_id, position);
create index invoices_number on invoices (tenant_id, number, position);
create index invoices_updated on invoices (tenant_id, updated_at, id);
create index invoices_unsummarized on invoices (tenant_id, id) where summarized = 0;
create index invoices_category on invoices (tenant_id, category, position);
create index invoices_uncounted on invoices (tenant_id, id) where counted_version <> version;

-- Deleted drafts leave their positions empty. How many are empty is here by blocks of positions, on each level as many times as wide as
-- on the level below, so that a page of the list is found without counting.
create table invoice_deletions (
    tenant_id bytea  not null references tenants (id),
    level     bigint not null,
    block     bigint not null,
    deleted   bigint not null,
    primary key (tenant_id, level, block)
);

-- What a list shows of an invoice and what it is searched and sorted by, in a row of its own: a list reads no document. The narrow
-- columns come first and the summary last, so that a search reads no long row to its end. total is an order-preserving form of the
-- amount; recipient and terms (number and network identifier) are in lower case.
create table invoice_summaries (
    tenant_id   bytea  not null,
    invoice_id  bytea  not null,
    created_at  bigint not null,
    external_id text,
    issue_date  text   not null,
    total       bytea  not null,
    recipient   text   not null,
    terms       text   not null,
    item_count  bigint not null,
    summary     text   not null,
    primary key (tenant_id, invoice_id),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id) on delete cascade
);
create index invoice_summaries_issue_date on invoice_summaries (tenant_id, issue_date, invoice_id);
create index invoice_summaries_external_id on invoice_summaries (tenant_id, external_id, invoice_id) where external_id is not null;

-- How many invoices are counted as the same, and their sum: amount_high times 10^18, amount_middle times 10^9 and amount_low
-- millionths. period is 0 for all of a category, or the day since 1970 (UTC) of the submission; in the category unknown alone it is the
-- minute.
create table invoice_counters (
    tenant_id     bytea  not null references tenants (id),
    category      text   not null,
    period        bigint not null,
    currency      text   not null,
    invoices      bigint not null,
    amount_high   bigint not null,
    amount_middle bigint not null,
    amount_low    bigint not null,
    primary key (tenant_id, category, period, currency)
);

-- Credit notes can be corrected, so that they have a version. item_count is null in the rows of some earlier releases: the items are
-- counted then.
create table credit_notes (
    tenant_id   bytea  not null,
    id          bytea  not null,
    position    bigint not null,
    invoice_id  bytea  not null,
    number      text   not null,
    issue_date  text   not null,
    reason      text   not null,
    kind        text   not null check (kind in ('full', 'partial')),
    currency    text   not null,
    total       text   not null,
    items       text   not null,
    created_at  bigint not null,
    voided_at   bigint,
    item_count  bigint,
    reason_code text,
    version     bigint not null default 1,
    updated_at  bigint,
    primary key (tenant_id, id),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id)
);
create unique index credit_notes_position on credit_notes (tenant_id, position);
create index credit_notes_invoice on credit_notes (tenant_id, invoice_id, position);
create index credit_notes_issue_date on credit_notes (tenant_id, issue_date, id);

-- Only a 2xx response is kept, in the transaction of its effect. status is 0 while that transaction runs.
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

-- The customer book and the item catalogue of a company. fields is the entry as JSON. Lists are in the order of name, and search name
-- and terms, which are in lower case: the name by which people choose the entry, and its other names and its code.
create table book_entries (
    tenant_id  bytea  not null references tenants (id),
    id         bytea  not null,
    kind       text   not null check (kind in ('customer', 'item')),
    name       text   not null,
    terms      text   not null,
    fields     text   not null,
    version    bigint not null,
    created_at bigint not null,
    updated_at bigint not null,
    primary key (tenant_id, id)
);
create index book_entries_name on book_entries (tenant_id, kind, name, terms, id);

-- Files with drafts between their preview and their import, which another replica may serve. Each user has at most one: a new one
-- replaces it. The import of its drafts removes it.
create table uploads (
    tenant_id  bytea  not null references tenants (id),
    id         bytea  not null,
    user_id    bytea  not null,
    name       text   not null,
    body       bytea  not null,
    expires_at bigint not null,
    primary key (tenant_id, id)
);
create unique index uploads_user on uploads (tenant_id, user_id);
create index uploads_expiry on uploads (expires_at);

-- due_at is the work's: a claim moves it to the end of its lease. next_check_at is what people are told. With the outcome not_sent, the
-- provider certainly did not take the document: the invoice is a draft again, and this row keeps the permanent reference for the next
-- try. evidence_seal is outside of the chain that it covers: the number of its entries and the digest of the last one, sealed with the
-- key file. begun_at is when the submission was first begun. earlier_events holds, 40 bytes each, time and digest of the events of a
-- release that kept none with their evidence.
--
-- resolved_* is what an administrator has decided about a submission of unknown outcome; one that was resolved by rejecting it has the
-- outcome rejected and the decision reject. contradicted_at is when the provider reported such a document after all.
--
-- The submission of a credit note is a row, too: invoice_id is the credited invoice, whose lock covers it, credited_number is the
-- number of that invoice, and credit_note_ordinal counts the submissions of the credit note from 1. All three are null in a submission
-- of an invoice. The indexes and statements for invoices pass over the others: in those, current is 0 or 2, ordinal is negative, and
-- number is the number of the credit note after the character U+0001, which no number contains.
create table submissions (
    tenant_id           bytea  not null,
    id                  bytea  not null,
    account_id          bytea  not null,
    connection_id       bytea  not null,
    invoice_id          bytea  not null,
    ordinal             bigint not null,
    current             bigint not null,
    number              text   not null,
    document            text   not null,
    outcome             text   not null check (outcome in ('in_progress', 'acknowledged', 'rejected', 'unknown', 'not_sent')),
    attempted_at        bigint not null,
    sent_at             bigint not null,
    resend              bigint not null default 0,
    provider_reference  text,
    sequence            bigint,
    last_checked_at     bigint,
    last_status         bigint,
    last_sha256         bytea,
    poll_wait           bigint not null,
    missing_since       bigint,
    missing_count       bigint not null default 0,
    terminal_at         bigint,
    evidence_count      bigint not null default 0,
    evidence_head       bytea,
    due_at              bigint,
    next_check_at       bigint,
    lease               bigint not null default 0,
    evidence_seal       bytea,
    begun_at            bigint,
    earlier_events      bytea,
    resolved_at         bigint,
    resolved_by         text,
    resolved_decision   text,
    resolved_reason     text,
    contradicted_at     bigint,
    credit_note_id      bytea,
    credit_note_ordinal bigint,
    credited_number     text,
    primary key (tenant_id, id),
    unique (tenant_id, invoice_id, ordinal),
    foreign key (tenant_id, invoice_id) references invoices (tenant_id, id),
    foreign key (account_id, tenant_id) references tenants (account_id, id),
    foreign key (account_id, connection_id) references connections (account_id, id)
);
create unique index submissions_current on submissions (tenant_id, invoice_id) where current = 1;
create unique index submissions_number on submissions (tenant_id, number) where outcome in ('in_progress', 'acknowledged', 'unknown');
create index submissions_due on submissions (account_id, connection_id, due_at) where due_at is not null;
create index submissions_attention on submissions (tenant_id, id) where current = 1 and outcome in ('rejected', 'unknown');
create index submissions_credit_attention on submissions (tenant_id, id) where current = 2 and outcome in ('rejected', 'unknown');
create index submissions_unknown on submissions (tenant_id, attempted_at) where outcome = 'unknown';
create index submissions_unknown_oldest on submissions (attempted_at, id) where outcome = 'unknown';
create index submissions_contradicted on submissions (tenant_id) where contradicted_at is not null;
create index submissions_credit_note on submissions (tenant_id, credit_note_id) where credit_note_id is not null;
create index submissions_calling on submissions (tenant_id, id) where outcome = 'in_progress';
create index submissions_provider_reference on submissions (tenant_id, provider_reference) where provider_reference is not null;

-- report is what a response was read as, in the words of the service; null in the rows of earlier releases, and empty for what was no
-- report. events holds the digests of the events that it gave rise to, 32 bytes each, in their order. The digest of the row covers
-- both.
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
    report        text,
    events        bytea,
    primary key (tenant_id, id),
    unique (tenant_id, submission_id, ordinal),
    foreign key (tenant_id, submission_id) references submissions (tenant_id, id)
);

-- One row a dimension: none can be computed from another, and each names the evidence it was read from. meaning is what the provider,
-- or the published table of its adapter, says a word means; null where neither says.
create table states (
    tenant_id     bytea  not null,
    submission_id bytea  not null,
    dimension     text   not null check (dimension in
        ('submission_state', 'provider_invoice_state', 'tax_authority_state', 'receiver_state')),
    word          text   not null,
    terminal      bigint not null,
    evidence_id   bytea  not null,
    changed_at    bigint not null,
    meaning       text   check (meaning = 'positive' or meaning = 'negative' or meaning = 'waiting'),
    primary key (tenant_id, submission_id, dimension),
    foreign key (tenant_id, submission_id) references submissions (tenant_id, id),
    foreign key (tenant_id, evidence_id) references evidence (tenant_id, id)
);
create index states_word on states (tenant_id, dimension, word);
create index states_word_newest on states (tenant_id, dimension, word, submission_id);
create index states_negative on states (tenant_id, submission_id) where meaning = 'negative';

-- revision, sha256 and head are those of the latest revision: the head of the chain is outside of the chain, and so is its seal.
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
    seal                 bytea,
    earlier_events       bytea,
    primary key (tenant_id, id),
    unique (tenant_id, provider_document_id)
);
create unique index incoming_position on incoming (tenant_id, position);
create index incoming_updated on incoming (tenant_id, updated_at, id);

-- One row a revision. Its digest covers everything here but the two bodies, which their own digests cover, and the revision before it.
-- body and metadata are sealed when withheld.
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
    events              bytea,
    primary key (tenant_id, incoming_id, revision),
    foreign key (tenant_id, incoming_id) references incoming (tenant_id, id)
);
create index revisions_issue_date on revisions (tenant_id, issue_date, incoming_id) where issue_date is not null;

-- Withheld evidence that was sealed anew: a row of evidence or revisions is never changed, so the newer sealed value is here and is
-- read instead of the column's.
create table resealed (
    tenant_id   bytea  not null references tenants (id),
    table_name  text   not null,
    column_name text   not null,
    row_id      bytea  not null,
    ordinal     bigint not null,
    value       bytea  not null,
    primary key (tenant_id, table_name, column_name, row_id, ordinal)
);

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
create index events_resource on events (tenant_id, resource_id, position);

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

-- A claim of a delivery moves due_at to the end of its lease; leased tells that from the time of the next attempt.
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
    leased          bigint not null default 0,
    primary key (tenant_id, id),
    unique (tenant_id, event_id, subscription_id),
    foreign key (tenant_id, event_id) references events (tenant_id, id),
    foreign key (tenant_id, subscription_id) references subscriptions (tenant_id, id)
);
create index deliveries_due on deliveries (tenant_id, subscription_id, due_at) where due_at is not null;
create index deliveries_subscription on deliveries (tenant_id, subscription_id, id, state);
create index deliveries_lost on deliveries (tenant_id, id, state) where state in ('failed', 'blocked');
create index deliveries_undelivered on deliveries (id) where state in ('failed', 'blocked');
