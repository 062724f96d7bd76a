package server_test

import (
	"bytes"
	"crypto/rand"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/internal/access"
	"quittance/internal/account"
	"quittance/internal/account/accounttest"
	"quittance/internal/purchase"
	"quittance/internal/secret"
	"quittance/internal/service"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
	"quittance/internal/submission"
	"quittance/test/kit"
)

const (
	rightPassword  = "a quiet harbour at noon"
	forgedPassword = "what the forger has chosen"
)

// forger has a database that a real server serves: he can write everything in it, and has no key.
type forger struct {
	*storetest.Store
	api, operators string
	conn           *sql.Conn
	hasher         *account.Hasher
	// ids are identifiers and digests by name, as literals of SQL.
	ids map[string]string
	// tokens are bearer tokens, and sessions of operators, by name.
	tokens map[string]string
}

// newForger serves a database with three companies, users of every kind, keys, operators, and rows that have ended.
func newForger(t *testing.T, engine string) *forger {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	f := &forger{ids: map[string]string{}, tokens: map[string]string{}, hasher: account.NewHasher(2, accounttest.Cheap())}
	f.Store = storetest.OpenDatabase(t, storetest.Database(t, engine), keys)
	f.Options.Now = nil // the server has the real clock
	f.DB = f.Again(t)
	running := serveService(t, io.Discard, func(c *service.Config) {
		c.Database, c.Keys, c.OperatorListen, c.Trial, c.PasswordCost = f.Address, keys, "127.0.0.1:0", true, accounttest.Cheap()
	})
	f.api, f.operators = "http://"+running.Address(), "http://"+running.OperatorAddress()
	driver, address := "pgx", f.Address
	if f.Path != "" {
		driver, address = "sqlite", "file:"+f.Path+"?_pragma=busy_timeout(60000)"
	}
	raw, err := sql.Open(driver, address)
	kit.Must(t, err)
	f.conn, err = raw.Conn(t.Context())
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, f.conn.Close()); kit.Must(t, raw.Close()) })
	f.do(t, map[bool]string{true: `pragma foreign_keys = 0`, false: `set session_replication_role = replica`}[f.Path != ""])
	for _, name := range []string{"a", "b", "c"} {
		f.company(t, name)
	}
	text, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
	kit.Must(t, err)
	f.tokens["forged key"] = text.Reveal()
	f.operator(t, "op")
	f.operator(t, "disabled-op")
	kit.Must(t, second(f.DisableOperator(t.Context(), "disabled-op@owner.example")))
	return f
}

func second[T any](_ T, err error) error { return err }

func (f *forger) literal(raw []byte) string {
	if f.Path != "" {
		return "x'" + hex.EncodeToString(raw) + "'"
	}
	return `'\x` + hex.EncodeToString(raw) + "'"
}

func (f *forger) hash(t *testing.T, password string) string {
	t.Helper()
	hash, err := f.hasher.Hash(t.Context(), account.Turn{}, password)
	kit.Must(t, err)
	return hash
}

// company makes a company with an owner, a viewer and a disabled user, an API key and a revoked one.
func (f *forger) company(t *testing.T, name string) {
	t.Helper()
	ctx := t.Context()
	made, err := f.CreateAccount(ctx, "Company "+name, store.NewUser{Email: "owner@" + name + ".example", PasswordHash: f.hash(t, rightPassword)})
	kit.Must(t, err)
	f.ids["account "+name] = f.literal(made.ID[:])
	tenant, err := f.Tenant(ctx, made.ID)
	kit.Must(t, err)
	key := tenant.Key()
	f.ids["tenant "+name] = f.literal(key[:])
	owner, err := f.UserByEmail(ctx, "owner@"+name+".example")
	kit.Must(t, err)
	f.ids["owner "+name] = f.literal(owner.ID[:])
	f.tokens["owner "+name] = f.logIn(t, "owner@"+name+".example", rightPassword)
	for _, role := range []access.Role{access.Viewer, access.Accountant} {
		email := string(role) + "@" + name + ".example"
		id, err := f.AddUser(ctx, made.ID, store.NewUser{Email: email, Role: role, PasswordHash: f.hash(t, rightPassword)})
		kit.Must(t, err)
		f.ids[string(role)+" "+name] = f.literal(id[:])
		f.tokens[string(role)+" "+name] = f.logIn(t, email, rightPassword)
	}
	disabled, err := f.UserByEmail(ctx, "accountant@"+name+".example")
	kit.Must(t, err)
	kit.Must(t, f.DisableUser(ctx, made.ID, disabled.ID, false))
	f.tokens["ended "+name] = f.logIn(t, "owner@"+name+".example", rightPassword)
	kit.Must(t, f.RevokeToken(ctx, secret.Digest(secret.New(f.tokens["ended "+name]))))
	for _, use := range []string{"key", "revoked key"} {
		text, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
		kit.Must(t, err)
		k, err := tenant.CreateAPIKey(ctx, store.NewAPIKey{Key: text, Name: use, Scopes: []access.Scope{access.ScopeRead}})
		kit.Must(t, err)
		f.ids[use+" "+name], f.tokens[use+" "+name] = f.literal(k.ID[:]), text.Reveal()
		if use == "revoked key" {
			kit.Must(t, second(tenant.RevokeAPIKey(ctx, k.ID)))
		}
	}
}

// operator makes an operator who is logged in.
func (f *forger) operator(t *testing.T, name string) {
	t.Helper()
	ctx, email := t.Context(), name+"@owner.example"
	link := store.Enrolment{Digest: secret.Digest(secret.New("link of " + name)), ExpiresAt: time.Now().Add(time.Hour)}
	kit.Must(t, second(f.AddOperator(ctx, email, link)))
	o, err := f.EnrolOperator(ctx, link.Digest, store.OperatorFactors{PasswordHash: f.hash(t, rightPassword), TOTP: secret.New("SHARED"), Step: 1})
	kit.Must(t, err)
	f.ids[name] = f.literal(o.ID[:])
	f.tokens[name] = "session of " + name
	kit.Must(t, f.BeginOperatorSession(ctx, o, store.OperatorProof{Step: 2}, secret.OperatorSessionDigest(secret.New(f.tokens[name])), time.Now().Add(time.Hour)))
}

// fill replaces {name} by a literal of ids, {digest of X} by the digest of a token, {session X}, {invitation X}, {reset X} and {enrolment X} by those of
// other secrets, and {hash} by the hash of the forger's password.
func (f *forger) fill(t *testing.T, statement string) string {
	t.Helper()
	for {
		begin := strings.Index(statement, "{")
		if begin < 0 {
			return statement
		}
		name, rest, _ := strings.Cut(statement[begin+1:], "}")
		value := f.ids[name]
		if token, is := strings.CutPrefix(name, "digest of "); is {
			digest := secret.Digest(secret.New(token))
			if known := f.tokens[token]; known != "" {
				digest = secret.Digest(secret.New(known))
			}
			value = f.literal(digest[:])
		}
		for kind, digest := range map[string]func(secret.Text) [32]byte{"session ": secret.OperatorSessionDigest, "invitation ": secret.InvitationDigest, "reset ": secret.ResetDigest, "enrolment ": secret.EnrolmentDigest} {
			if text, is := strings.CutPrefix(name, kind); is {
				raw := digest(secret.New(text))
				value = f.literal(raw[:])
			}
		}
		switch name {
		case "hash":
			value = "'" + f.hash(t, forgedPassword) + "'"
		case "now":
			value = fmt.Sprint(time.Now().UnixMicro())
		case "later":
			value = fmt.Sprint(time.Now().Add(time.Hour).UnixMicro())
		case "new":
			value = f.literal([]byte("forged-row-00000"))
		}
		if value == "" {
			t.Fatalf("nothing is named %q", name)
		}
		statement = statement[:begin] + value + rest
	}
}

func (f *forger) do(t *testing.T, statement string) {
	t.Helper()
	if _, err := f.conn.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("%s: %v", statement, err)
	}
}

// undone makes changes, and puts the tables back afterwards.
func (f *forger) undone(t *testing.T, tables, changes []string, during func()) {
	t.Helper()
	for _, table := range tables {
		f.do(t, `create table kept_`+table+` as select * from `+table)
	}
	for _, change := range changes {
		f.do(t, f.fill(t, change))
	}
	during()
	f.do(t, map[bool]string{true: `begin immediate`, false: `begin`}[f.Path != ""]) // the server reads these tables meanwhile
	for _, table := range tables {
		f.do(t, `delete from `+table)
		f.do(t, `insert into `+table+` select * from kept_`+table)
		f.do(t, `drop table kept_`+table)
	}
	f.do(t, `commit`)
}

// status returns the status of a request.
func (f *forger) status(t *testing.T, request *http.Request) int {
	t.Helper()
	client := &http.Client{Timeout: kit.Patience(), CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	got, err := client.Do(request)
	kit.Must(t, err)
	defer got.Body.Close()
	_, err = io.Copy(io.Discard, got.Body)
	kit.Must(t, err)
	return got.StatusCode
}

func (f *forger) request(t *testing.T, method, address string, body []byte) *http.Request {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, address, bytes.NewReader(body))
	kit.Must(t, err)
	return request
}

// logIn returns a bearer token, or "" if the login is refused.
func (f *forger) logIn(t *testing.T, email, password string) string {
	t.Helper()
	body, err := json.Marshal(map[string]string{"email": email, "password": password})
	kit.Must(t, err)
	request := f.request(t, http.MethodPost, f.api+"/api/v1/client/auth/login", body)
	request.Header.Set("Content-Type", "application/json")
	got, err := http.DefaultClient.Do(request)
	kit.Must(t, err)
	defer got.Body.Close()
	var answer struct {
		Data struct {
			AccessToken string `json:"access_token"`
			Token       string `json:"token"`
		} `json:"data"`
	}
	text, err := io.ReadAll(got.Body)
	kit.Must(t, err)
	if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusUnauthorized && got.StatusCode != http.StatusForbidden {
		t.Fatalf("login of %s: %d %s", email, got.StatusCode, text)
	}
	kit.Must(t, json.Unmarshal(text, &answer))
	return answer.Data.AccessToken + answer.Data.Token
}

// acts reports whether somebody can act: "bearer X" calls the API with a token, "login X:P" logs in, "operator X" opens a page of operators, and "link
// PATH CODE" opens the link in an e-mail.
func (f *forger) acts(t *testing.T, probe string) bool {
	t.Helper()
	kind, who, _ := strings.Cut(probe, " ")
	token := who
	if known := f.tokens[who]; known != "" {
		token = known
	}
	var request *http.Request
	switch kind {
	case "bearer":
		request = f.request(t, http.MethodGet, f.api+"/api/v1/client/invoices", nil)
		request.Header.Set("Authorization", "Bearer "+token)
	case "login":
		email, password, _ := strings.Cut(who, ":")
		return f.logIn(t, email, password) != ""
	case "operator":
		request = f.request(t, http.MethodGet, f.operators+"/accounts", nil)
		request.Header.Set("Cookie", "quittance-operator="+token)
	case "link", "enrol":
		path, code, _ := strings.Cut(who, " ")
		base := f.api
		form := url.Values{"code": {code}, "secret": {code}}
		if kind == "enrol" {
			base = f.operators
			form.Set("password", forgedPassword)
		}
		request = f.request(t, http.MethodPost, base+path, []byte(form.Encode()))
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", base)
	default:
		t.Fatalf("no probe %q", probe)
	}
	status := f.status(t, request)
	switch status {
	case http.StatusOK:
		return true
	case http.StatusUnauthorized, http.StatusSeeOther, http.StatusUnprocessableEntity, http.StatusNotFound, http.StatusForbidden:
		return false
	}
	t.Fatalf("%s: %d", probe, status)
	return false
}

// named returns the faults of a verification about who may act.
func (f *forger) named(t *testing.T) (faults []string) {
	t.Helper()
	found, err := f.VerifyEvidence(t.Context(), store.Replay{Response: submission.Replay, Purchase: purchase.Reread, Sent: submission.ReadSubmitted})
	kit.Must(t, err)
	for _, fault := range found.Faults {
		faults = append(faults, fault.Error())
	}
	return faults
}

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
			[]string{"login owner@a.example:" + forgedPassword, "login owner@a.example:" + rightPassword, "bearer owner a"}, []string{"users", "changed outside"}},
		{"another role", users, []string{`update users set role = 'owner' where id = {viewer a}`}, []string{"bearer viewer a", "login viewer@a.example:" + rightPassword}, []string{"users", "changed outside", `the audit log says "viewer"`}},
		{"enabled again", users, []string{`update users set disabled_at = null where id = {accountant a}`}, []string{"login accountant@a.example:" + rightPassword}, []string{"users", "changed outside", "it was disabled"}},
		{"inserted", users, []string{insertUser}, []string{"login forged@a.example:" + forgedPassword}, []string{"users", "it has no seal", "the audit log does not have it"}},
		{"inserted with a seal of another", users, []string{insertUser, `update users set seal = (select seal from users where id = {owner a}) where id = {new}`},
			[]string{"login forged@a.example:" + forgedPassword}, []string{"users", "changed outside"}},
		{"another address", users, []string{`update users set email = 'forged@a.example' where id = {owner a}`}, []string{"login forged@a.example:" + rightPassword, "bearer owner a"}, []string{"users", "changed outside"}},
		{"in another company", users, []string{`update users set account_id = {account b} where id = {viewer a}`}, []string{"login viewer@a.example:" + rightPassword}, []string{"users", "changed outside"}},
		{"exchanged passwords", users, []string{`update users set password_hash = (select u.password_hash from users u where u.id = {viewer a}) where id = {owner a}`},
			[]string{"login owner@a.example:" + rightPassword}, []string{"users", "changed outside"}},
		{"without any seal", users, []string{`update users set seal = null`}, []string{"login owner@a.example:" + rightPassword, "bearer owner b"}, []string{"it has no seal"}},
	}
}

func forgedCredentials() []forgery {
	tokens, keys := []string{"tokens"}, []string{"api_keys"}
	return []forgery{
		{"inserted", tokens, []string{`insert into tokens (digest, account_id, tenant_id, user_id, means, created_at, expires_at) values ({digest of forged}, {account a}, {tenant a}, {owner a}, 'password', {now}, {later})`},
			[]string{"bearer forged"}, []string{"tokens", "it has no seal", "does not have its login"}},
		{"of another company", tokens, []string{`update tokens set account_id = {account a}, tenant_id = {tenant a}, user_id = {owner a} where digest = {digest of viewer b}`}, []string{"bearer viewer b"}, []string{"tokens", "changed outside"}},
		{"of another tenant", tokens, []string{`update tokens set tenant_id = {tenant a} where digest = {digest of viewer b}`}, []string{"bearer viewer b"}, []string{"tokens", "changed outside"}},
		{"with another digest", tokens, []string{`update tokens set digest = {digest of forged} where digest = {digest of owner a}`}, []string{"bearer forged"}, []string{"tokens", "changed outside"}},
		{"longer", tokens, []string{`update tokens set expires_at = expires_at + 1 where digest = {digest of viewer a}`}, []string{"bearer viewer a"}, []string{"tokens", "changed outside"}},
		{"not revoked", tokens, []string{`update tokens set revoked_at = null where digest = {digest of ended a}`}, []string{"bearer ended a"}, []string{"tokens", "it has no seal", "the session was ended"}},
		{"inserted", keys, []string{`insert into api_keys (account_id, id, digest, prefix, last_four, name, scopes, networks, created_at) select account_id, {new}, {digest of forged key}, prefix, last_four, name, 'read write submit', '', {now} from api_keys where id = {key a}`},
			[]string{"bearer forged key"}, []string{"api_keys", "it has no seal", "the audit log does not have it"}},
		{"more scopes", keys, []string{`update api_keys set scopes = 'read write submit' where id = {key a}`}, []string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"other networks", keys, []string{`update api_keys set networks = '127.0.0.0/8' where id = {key a}`}, []string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"another expiry", keys, []string{`update api_keys set expires_at = {later} where id = {key a}`}, []string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"another digest", keys, []string{`update api_keys set digest = {digest of forged key} where id = {key a}`}, []string{"bearer forged key"}, []string{"api_keys", "changed outside"}},
		{"another company", keys, []string{`update api_keys set account_id = {account b} where id = {key a}`}, []string{"bearer key a"}, []string{"api_keys", "changed outside"}},
		{"not revoked", keys, []string{`update api_keys set revoked_at = null where id = {revoked key a}`}, []string{"bearer revoked key a"}, []string{"api_keys", "it has no seal", "it was disabled, revoked"}},
	}
}

func forgedLinks() []forgery {
	return []forgery{
		{"inserted", []string{"invitations"}, []string{`insert into invitations (account_id, id, email, role, digest, created_at, expires_at) values ({account a}, {new}, 'forged@a.example', 'owner', {invitation link}, {now}, {later})`},
			[]string{"link " + account.JoinPath + " link"}, []string{"invitations", "it has no seal"}},
		{"inserted", []string{"password_resets"}, []string{`insert into password_resets (account_id, user_id, digest, password_changed_at, created_at, expires_at)
			select account_id, id, {reset link}, password_changed_at, {now}, {later} from users where id = {owner a}`}, []string{"link " + account.ResetPath + " link"}, []string{"password_resets", "it has no seal"}},
		{"inserted", []string{"sign_on_subjects"}, []string{`insert into sign_on_subjects (account_id, user_id, issuer, subject, linked_at) values ({account a}, {owner a}, 'https://login.example', 'forger', {now})`},
			nil, []string{"sign_on_subjects", "it has no seal"}},
		{"inserted", []string{"pending_logins"}, []string{`insert into pending_logins (digest, account_id, user_id, means, expires_at) values ({digest of forged}, {account a}, {owner a}, 'password', {later})`},
			nil, []string{"pending_logins", "it has no seal"}},
		{"inserted", []string{"recovery_codes"}, []string{`insert into recovery_codes (account_id, user_id, digest) values ({account a}, {owner a}, {digest of forged})`}, nil, []string{"recovery_codes", "it has no seal"}},
		{"inserted", []string{"operator_recovery_codes"}, []string{`insert into operator_recovery_codes (operator_id, digest) values ({op}, {digest of forged})`}, nil, []string{"operator_recovery_codes", "it has no seal"}},
	}
}

func forgedCompanies() []forgery {
	tenants, both := []string{"tenants"}, []string{"accounts", "tenants"}
	exchange := []string{`update tenants set account_id = {new} where id = {tenant a}`, `update tenants set account_id = {account a} where id = {tenant b}`, `update tenants set account_id = {account b} where id = {tenant a}`}
	everything := []string{"accounts", "tenants", "users", "tokens", "api_keys", "audit_heads"}
	return []forgery{
		{"exchanged", tenants, exchange, []string{"bearer owner a", "bearer owner b", "bearer key a", "login owner@a.example:" + rightPassword}, []string{"tenants", "changed outside"}},
		{"exchanged with their seals", tenants, append(slices.Clone(exchange), `update tenants set seal = (select s.seal from tenants s where s.id <> tenants.id order by s.id limit 1)`),
			[]string{"bearer owner a", "bearer owner b"}, []string{"tenants", "changed outside"}},
		{"frozen and replaced", tenants, []string{`update tenants set frozen_at = {now} where id = {tenant a}`, `insert into tenants (id, account_id, created_at) values ({new}, {account a}, {now})`},
			[]string{"bearer owner a", "bearer key a", "login owner@a.example:" + rightPassword}, []string{"tenants", "it has no seal", "changed outside", "without a reset", "a company was removed"}},
		{"removed and replaced", tenants, []string{`delete from tenants where id = {tenant c}`, `insert into tenants (id, account_id, created_at) values ({new}, {account c}, {now})`},
			[]string{"bearer owner c", "bearer key c"}, []string{"tenants", "it has no seal", "a company was removed"}},
		{"removed", everything, []string{
			`delete from accounts where id = {account c}`, `delete from tenants where id = {tenant c}`, `delete from users where account_id = {account c}`, `delete from tokens where account_id = {account c}`,
			`delete from api_keys where account_id = {account c}`, `delete from audit_heads where chain = {account c}`,
		}, []string{"bearer owner c"}, []string{"a company was removed"}},
		{"removed except the audit log", both, []string{`delete from accounts where id = {account c}`, `delete from tenants where id = {tenant c}`}, []string{"bearer owner c"}, []string{"it is gone: the audit log has it", "a company was removed"}},
		{"another state", both, []string{`update accounts set login_policy = 'second_factor' where id = {account a}`}, []string{"bearer owner a", "login owner@a.example:" + rightPassword}, []string{"accounts", "changed outside"}},
		{"inserted", both, []string{`insert into accounts (id, company, status, profile, created_at) select {new}, 'Forged', 'active', profile, {now} from accounts where id = {account a}`, `insert into tenants (id, account_id, created_at) values ({new}, {new}, {now})`},
			nil, []string{"accounts", "tenants", "it has no seal"}},
		{"no record of the set", []string{"sealed_sets"}, []string{`delete from sealed_sets`}, nil, []string{"the record of all companies is gone"}},
		{"another number of events", tenants, []string{`update tenants set events_seal = null where id = {tenant a}`}, nil, []string{"the number of its events is not what was sealed"}},
		{"when a key was recorded", []string{"sealing_keys"}, []string{`update sealing_keys set recorded_at = recorded_at - 1`}, nil, []string{"sealing_keys", "changed outside"}},
	}
}

func forgedOperators() []forgery {
	operators := []string{"operators", "operator_sessions"}
	return []forgery{
		{"inserted with a session", operators, []string{
			`insert into operators (id, email, password_hash, created_at, enrolled_at) values ({new}, 'ghost@owner.example', {hash}, {now}, {now})`,
			`insert into operator_sessions (digest, operator_id, created_at, used_at, expires_at) values ({session ghost}, {new}, {now}, {now}, {later})`,
		}, []string{"operator ghost"}, []string{"operators", "operator_sessions", "it has no seal", "the audit log does not have"}},
		{"a session", operators, []string{`insert into operator_sessions (digest, operator_id, created_at, used_at, expires_at) values ({session ghost}, {op}, {now}, {now}, {later})`},
			[]string{"operator ghost"}, []string{"operator_sessions", "it has no seal"}},
		{"a longer session", operators, []string{`update operator_sessions set expires_at = expires_at + 1`}, []string{"operator op"}, []string{"operator_sessions", "changed outside"}},
		{"the session of another", operators, []string{`update operator_sessions set operator_id = {disabled-op}`, `update operators set disabled_at = null`}, []string{"operator op"}, []string{"operator_sessions", "operators", "changed outside", "it was disabled"}},
		{"a link", operators, []string{`update operators set enrolment = {enrolment link}, enrolment_expires_at = {later} where id = {op}`}, []string{"enrol /enrol link", "operator op"}, []string{"operators", "changed outside"}},
		{"another password", operators, []string{`update operators set password_hash = {hash} where id = {op}`}, []string{"operator op"}, []string{"operators", "changed outside"}},
		{"another address", operators, []string{`update operators set email = 'ghost@owner.example' where id = {op}`}, []string{"operator op"}, []string{"operators", "changed outside"}},
	}
}

// TestForgedRowsDoNotAct checks that a row that somebody without the keys has written, changed or exchanged does not act at a server, and that a
// verification names it.
func TestForgedRowsDoNotAct(t *testing.T) {
	storetest.EachEngine(t, func(t *testing.T, engine string) {
		f := newForger(t, engine)
		for _, probe := range []string{"bearer owner a", "bearer owner b", "bearer viewer a", "bearer key a", "login owner@a.example:" + rightPassword, "operator op"} {
			if !f.acts(t, probe) {
				t.Fatalf("before any forgery: %s", probe)
			}
		}
		for _, probe := range []string{"bearer ended a", "bearer revoked key a", "login accountant@a.example:" + rightPassword, "operator disabled-op"} {
			if f.acts(t, probe) {
				t.Fatalf("before any forgery: %s", probe)
			}
		}
		if faults := f.named(t); len(faults) > 0 {
			t.Fatalf("before any forgery: %v", faults)
		}
		for _, forged := range forgeries() {
			name := forged.tables[0] + ": " + forged.name
			f.undone(t, forged.tables, forged.changes, func() {
				for _, probe := range forged.probes {
					if f.acts(t, probe) {
						t.Errorf("%s: it acts (%s)", name, probe)
					}
				}
				faults := strings.Join(f.named(t), "\n")
				for _, part := range forged.named {
					if !strings.Contains(faults, part) {
						t.Errorf("%s: nothing names %q in:\n%s", name, part, faults)
					}
				}
			})
		}
		if faults := f.named(t); len(faults) > 0 || !f.acts(t, "bearer owner a") {
			t.Fatalf("after all: %v", faults)
		}
	})
}
