-- Who a user is at the OpenID provider: the issuer and subject of the first login by single sign-on. A later login has to have the same,
-- because an e-mail address can be given to somebody else at the provider.

-- +goose Up
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
