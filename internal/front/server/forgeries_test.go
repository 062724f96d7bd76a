package server_test

import (
	"slices"

	"quittance/internal/account"
)

// forgery is what somebody without the keys does to a database.
type forgery struct {
	name    string
	tables  []string
	changes []string
	// probes are requests of which none may succeed; see [forger.acts].
	probes []string
	// named are parts of the faults of a verification.
	named []string
}

const insertUser = `insert into users (account_id, id, email, name, password_hash, created_at, password_changed_at, role)
	values ({account a}, {new}, 'forged@a.example', 'F', {hash}, {now}, {now}, 'owner')`

func forgeries() []forgery {
	return slices.Concat(forgedUsers(), forgedCredentials(), forgedLinks(), forgedCompanies(), forgedOperators())
}

func forgedUsers() []forgery {
	users := []string{"users"}
	return []forgery{
		{"another password", users, []string{`update users set password_hash = {hash} where id = {owner a}`},
			[]string{"login owner@a.example:" + forgedPassword, "login owner@a.example:" + rightPassword, "bearer owner a"},
			[]string{"users", "changed outside"}},
		{"another role", users, []string{`update users set role = 'owner' where id = {viewer a}`},
			[]string{"bearer viewer a", "login viewer@a.example:" + rightPassword},
			[]string{"users", "changed outside", `the audit log says "viewer"`}},
		{"enabled again", users, []string{`update users set disabled_at = null where id = {accountant a}`},
			[]string{"login accountant@a.example:" + rightPassword}, []string{"users", "changed outside", "it was disabled"}},
		{"inserted", users, []string{insertUser}, []string{"login forged@a.example:" + forgedPassword},
			[]string{"users", "it has no seal", "the audit log does not have it"}},
		{"inserted with a seal of another", users,
			[]string{insertUser, `update users set seal = (select seal from users where id = {owner a}) where id = {new}`},
			[]string{"login forged@a.example:" + forgedPassword}, []string{"users", "changed outside"}},
		{"another address", users, []string{`update users set email = 'forged@a.example' where id = {owner a}`},
			[]string{"login forged@a.example:" + rightPassword, "bearer owner a"}, []string{"users", "changed outside"}},
		{"in another company", users, []string{`update users set account_id = {account b} where id = {viewer a}`},
			[]string{"login viewer@a.example:" + rightPassword}, []string{"users", "changed outside"}},
		{"exchanged passwords", users,
			[]string{`update users set password_hash = (select u.password_hash from users u where u.id = {viewer a}) where id = {owner a}`},
			[]string{"login owner@a.example:" + rightPassword}, []string{"users", "changed outside"}},
		{"without any seal", users, []string{`update users set seal = null`},
			[]string{"login owner@a.example:" + rightPassword, "bearer owner b"}, []string{"it has no seal"}},
	}
}

func forgedCredentials() []forgery {
	tokens, keys := []string{"tokens"}, []string{"api_keys"}
	return []forgery{
		{"inserted", tokens,
			[]string{`insert into tokens (digest, account_id, tenant_id, user_id, means, created_at, expires_at) values ({digest of forged}, {account a}, {tenant a}, {owner a}, 'password', {now}, {later})`},
			[]string{"bearer forged"}, []string{"tokens", "it has no seal", "does not have its login"}},
		{"of another company", tokens,
			[]string{`update tokens set account_id = {account a}, tenant_id = {tenant a}, user_id = {owner a} where digest = {digest of viewer b}`}, []string{"bearer viewer b"}, []string{"tokens", "changed outside"}},
		{"of another tenant", tokens,
			[]string{`update tokens set tenant_id = {tenant a} where digest = {digest of viewer b}`},
			[]string{"bearer viewer b"}, []string{"tokens", "changed outside"}},
		{"with another digest", tokens,
			[]string{`update tokens set digest = {digest of forged} where digest = {digest of owner a}`},
			[]string{"bearer forged"}, []string{"tokens", "changed outside"}},
		{"longer", tokens, []string{`update tokens set expires_at = expires_at + 1 where digest = {digest of viewer a}`},
			[]string{"bearer viewer a"}, []string{"tokens", "changed outside"}},
		{"not revoked", tokens, []string{`update tokens set revoked_at = null where digest = {digest of ended a}`},
			[]string{"bearer ended a"}, []string{"tokens", "it has no seal", "the session was ended"}},
		{"inserted", keys,
			[]string{`insert into api_keys (account_id, id, digest, prefix, last_four, name, scopes, networks, created_at) select account_id, {new}, {digest of forged key}, prefix, last_four, name, 'read write submit', '', {now} from api_keys where id = {key a}`},
			[]string{"bearer forged key"}, []string{"api_keys", "it has no seal", "the audit log does not have it"}},
		{"more scopes", keys, []string{`update api_keys set scopes = 'read write submit' where id = {key a}`},
			[]string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"other networks", keys, []string{`update api_keys set networks = '127.0.0.0/8' where id = {key a}`},
			[]string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"another expiry", keys, []string{`update api_keys set expires_at = {later} where id = {key a}`},
			[]string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"another digest", keys, []string{`update api_keys set digest = {digest of forged key} where id = {key a}`},
			[]string{"bearer forged key"}, []string{"api_keys", "changed outside"}},
		{"another company", keys, []string{`update api_keys set account_id = {account b} where id = {key a}`},
			[]string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"not revoked", keys, []string{`update api_keys set revoked_at = null where id = {revoked key a}`},
			[]string{"bearer revoked key a"}, []string{"api_keys", "it has no seal", "it was disabled, revoked"}},
	}
}

func forgedLinks() []forgery {
	return []forgery{
		{"inserted", []string{"invitations"},
			[]string{`insert into invitations (account_id, id, email, role, digest, created_at, expires_at) values ({account a}, {new}, 'forged@a.example', 'owner', {invitation link}, {now}, {later})`},
			[]string{"link " + account.JoinPath + " link"}, []string{"invitations", "it has no seal"}},
		{"inserted", []string{"password_resets"},
			[]string{`insert into password_resets (account_id, user_id, digest, password_changed_at, created_at, expires_at)
			select account_id, id, {reset link}, password_changed_at, {now}, {later} from users where id = {owner a}`}, []string{"link " + account.ResetPath + " link"}, []string{"password_resets", "it has no seal"}},
		{"inserted", []string{"sign_on_subjects"},
			[]string{`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ({account a}, {owner a}, 'https://login.example', 'forger', {now})`},
			nil, []string{"sign_on_subjects", "it has no seal"}},
		{"inserted", []string{"pending_logins"},
			[]string{`insert into pending_logins (digest, account_id, user_id, means, expires_at) values ({digest of forged}, {account a}, {owner a}, 'password', {later})`},
			nil, []string{"pending_logins", "it has no seal"}},
		{"inserted", []string{"recovery_codes"},
			[]string{`insert into recovery_codes (account_id, user_id, digest) values ({account a}, {owner a}, {digest of forged})`}, nil, []string{"recovery_codes", "it has no seal"}},
		{"inserted", []string{"operator_recovery_codes"},
			[]string{`insert into operator_recovery_codes (operator_id, digest) values ({op}, {digest of forged})`}, nil,
			[]string{"operator_recovery_codes", "it has no seal"}},
	}
}

func forgedCompanies() []forgery {
	tenants, both := []string{"tenants"}, []string{"accounts", "tenants"}
	exchange := []string{`update tenants set account_id = {new} where id = {tenant a}`,
		`update tenants set account_id = {account a} where id = {tenant b}`,
		`update tenants set account_id = {account b} where id = {tenant a}`}
	everything := []string{"accounts", "tenants", "users", "tokens", "api_keys", "audit_heads"}
	return []forgery{
		{"exchanged", tenants, exchange, []string{"bearer owner a", "bearer owner b", "bearer key a",
			"login owner@a.example:" + rightPassword}, []string{"tenants", "changed outside"}},
		{"exchanged with their seals", tenants, append(slices.Clone(exchange),
			`update tenants set seal = (select s.seal from tenants s where s.id <> tenants.id order by s.id limit 1)`),
			[]string{"bearer owner a", "bearer owner b"}, []string{"tenants", "changed outside"}},
		{"frozen and replaced", tenants, []string{`update tenants set frozen_at = {now} where id = {tenant a}`,
			`insert into tenants (id, account_id, created_at) values ({new}, {account a}, {now})`},
			[]string{"bearer owner a", "bearer key a", "login owner@a.example:" + rightPassword},
			[]string{"tenants", "it has no seal", "changed outside", "without a reset", "a company was removed"}},
		{"removed and replaced", tenants, []string{`delete from tenants where id = {tenant c}`,
			`insert into tenants (id, account_id, created_at) values ({new}, {account c}, {now})`},
			[]string{"bearer owner c", "bearer key c"}, []string{"tenants", "it has no seal", "a company was removed"}},
		{"removed", everything, []string{
			`delete from accounts where id = {account c}`, `delete from tenants where id = {tenant c}`,
			`delete from users where account_id = {account c}`, `delete from tokens where account_id = {account c}`,
			`delete from api_keys where account_id = {account c}`, `delete from audit_heads where chain = {account c}`,
		}, []string{"bearer owner c"}, []string{"a company was removed"}},
		{"removed except the audit log", both, []string{`delete from accounts where id = {account c}`,
			`delete from tenants where id = {tenant c}`}, []string{"bearer owner c"},
			[]string{"it is gone: the audit log has it", "a company was removed"}},
		{"another state", both, []string{`update accounts set login_policy = 'second_factor' where id = {account a}`},
			[]string{"bearer owner a", "login owner@a.example:" + rightPassword}, []string{"accounts", "changed outside"}},
		{"inserted", both,
			[]string{`insert into accounts (id, company, status, profile, created_at) select {new}, 'Forged', 'active', profile, {now} from accounts where id = {account a}`, `insert into tenants (id, account_id, created_at) values ({new}, {new}, {now})`},
			nil, []string{"accounts", "tenants", "it has no seal"}},
		{"no record of the set", []string{"sealed_sets"}, []string{`delete from sealed_sets`},
			nil, []string{"the record of all companies is gone"}},
		{"another number of events", tenants, []string{`update tenants set events_seal = null where id = {tenant a}`},
			nil, []string{"the number of its events is not what was sealed"}},
		{"when a key was recorded", []string{"sealing_keys"},
			[]string{`update sealing_keys set recorded_at = recorded_at - 1`}, nil, []string{"sealing_keys", "changed outside"}},
	}
}

func forgedOperators() []forgery {
	operators := []string{"operators", "operator_sessions"}
	return []forgery{
		{"inserted with a session", operators, []string{
			`insert into operators (id, email, password_hash, created_at, enrolled_at) values ({new}, 'ghost@owner.example', {hash}, {now}, {now})`,
			`insert into operator_sessions (digest, operator_id, created_at, used_at, expires_at) values ({session ghost}, {new}, {now}, {now}, {later})`,
		}, []string{"operator ghost"}, []string{"operators", "operator_sessions", "it has no seal",
			"the audit log does not have"}},
		{"a session", operators,
			[]string{`insert into operator_sessions (digest, operator_id, created_at, used_at, expires_at) values ({session ghost}, {op}, {now}, {now}, {later})`},
			[]string{"operator ghost"}, []string{"operator_sessions", "it has no seal"}},
		{"a longer session", operators, []string{`update operator_sessions set expires_at = expires_at + 1`},
			[]string{"operator op"}, []string{"operator_sessions", "changed outside"}},
		{"the session of another", operators, []string{`update operator_sessions set operator_id = {disabled-op}`,
			`update operators set disabled_at = null`}, []string{"operator op"},
			[]string{"operator_sessions", "operators", "changed outside", "it was disabled"}},
		{"a link", operators,
			[]string{`update operators set enrolment = {enrolment link}, enrolment_expires_at = {later} where id = {op}`},
			[]string{"enrol /enrol link", "operator op"}, []string{"operators", "changed outside"}},
		{"another password", operators, []string{`update operators set password_hash = {hash} where id = {op}`},
			[]string{"operator op"}, []string{"operators", "changed outside"}},
		{"another address", operators, []string{`update operators set email = 'ghost@owner.example' where id = {op}`},
			[]string{"operator op"}, []string{"operators", "changed outside"}},
	}
}
