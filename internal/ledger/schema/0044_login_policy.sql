-- How the users of a company have to log in: any way, with a second factor, or by single sign-on, where the second factor is the
-- provider's.

-- +goose Up
alter table accounts add column login_policy text not null default 'any' check (login_policy in ('any', 'second_factor', 'single_sign_on'));
