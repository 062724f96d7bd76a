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
	"strings"
	"testing"
	"time"

	"quittance/internal/account"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/proof"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/accounttest"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

const (
	rightPassword  = "a quiet harbour at noon"
	forgedPassword = "what the forger has chosen"
)

// forger has a database that a real server serves: he can write everything in it, and has no key.
type forger struct {
	*ledgertest.Store
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
	f.Store = ledgertest.OpenDatabase(t, ledgertest.Database(t, engine), keys)
	f.Options.Now = nil // the server has the real clock
	f.DB = f.Again(t)
	running := serveService(t, io.Discard, func(c *service.Config) {
		c.Database, c.Keys, c.OperatorListen, c.Trial, c.PasswordCost = f.Address, keys, "127.0.0.1:0", true,
			accounttest.Cheap()
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
	f.do(t, map[bool]string{true: `pragma foreign_keys = 0`,
		false: `set session_replication_role = replica`}[f.Path != ""])
	for _, name := range []string{"a", "b", "c"} {
		f.company(t, name)
	}
	text, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
	kit.Must(t, err)
	f.tokens["forged key"] = text.Reveal()
	f.operator(t, "op")
	f.operator(t, "disabled-op")
	kit.Must(t, second(identity.DisableOperator(t.Context(), f.Store.DB, "disabled-op@owner.example")))
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
	made, err := identity.CreateAccount(ctx, f.Store.DB, "Company "+name,
		identity.NewUser{Email: "owner@" + name + ".example", PasswordHash: f.hash(t, rightPassword)})
	kit.Must(t, err)
	f.ids["account "+name] = f.literal(made.ID[:])
	tenant, err := f.Tenant(ctx, made.ID)
	kit.Must(t, err)
	key := tenant.ID()
	f.ids["tenant "+name] = f.literal(key[:])
	owner, err := f.UserByEmail(ctx, "owner@"+name+".example")
	kit.Must(t, err)
	f.ids["owner "+name] = f.literal(owner.ID[:])
	f.tokens["owner "+name] = f.logIn(t, "owner@"+name+".example", rightPassword)
	for _, role := range []access.Role{access.Viewer, access.Accountant} {
		email := string(role) + "@" + name + ".example"
		id, err := identity.AddUser(ctx, f.Store.DB, made.ID, identity.NewUser{Email: email, Role: role,
			PasswordHash: f.hash(t, rightPassword)})
		kit.Must(t, err)
		f.ids[string(role)+" "+name] = f.literal(id[:])
		f.tokens[string(role)+" "+name] = f.logIn(t, email, rightPassword)
	}
	disabled, err := f.UserByEmail(ctx, "accountant@"+name+".example")
	kit.Must(t, err)
	kit.Must(t, identity.DisableUser(ctx, f.Store.DB, made.ID, disabled.ID, false))
	f.tokens["ended "+name] = f.logIn(t, "owner@"+name+".example", rightPassword)
	kit.Must(t, identity.RevokeToken(ctx, f.Store.DB, secret.Digest(secret.New(f.tokens["ended "+name]))))
	for _, use := range []string{"key", "revoked key"} {
		text, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
		kit.Must(t, err)
		k, err := identity.CreateAPIKey(ctx, tenant, identity.NewAPIKey{Key: text, Name: use,
			Scopes: []access.Scope{access.ScopeRead}})
		kit.Must(t, err)
		f.ids[use+" "+name], f.tokens[use+" "+name] = f.literal(k.ID[:]), text.Reveal()
		if use == "revoked key" {
			kit.Must(t, second(identity.RevokeAPIKey(ctx, tenant, k.ID)))
		}
	}
}

// operator makes an operator who is logged in.
func (f *forger) operator(t *testing.T, name string) {
	t.Helper()
	ctx, email := t.Context(), name+"@owner.example"
	link := identity.Enrolment{Digest: secret.Digest(secret.New("link of " + name)), ExpiresAt: time.Now().Add(time.Hour)}
	kit.Must(t, second(identity.AddOperator(ctx, f.Store.DB, email, link)))
	o, err := identity.EnrolOperator(ctx, f.Store.DB, link.Digest, identity.OperatorFactors{PasswordHash: f.hash(t,
		rightPassword), TOTP: secret.New("SHARED"), Step: 1})
	kit.Must(t, err)
	f.ids[name] = f.literal(o.ID[:])
	f.tokens[name] = "session of " + name
	kit.Must(t, identity.BeginOperatorSession(ctx, f.Store.DB, o, identity.OperatorProof{Step: 2},
		secret.OperatorSessionDigest(secret.New(f.tokens[name])), time.Now().Add(time.Hour)))
}

// fill replaces {name} by a literal of ids, {digest of X} by the digest of a token, {session X}, {invitation X}, {reset
// X} and {enrolment X} by those of other secrets, and {hash} by the hash of the forger's password.
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
		for kind, digest := range map[string]func(secret.Text) [32]byte{"session ": secret.OperatorSessionDigest,
			"invitation ": secret.InvitationDigest, "reset ": secret.ResetDigest, "enrolment ": secret.EnrolmentDigest} {
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
	// the server reads these tables meanwhile
	f.do(t, map[bool]string{true: `begin immediate`, false: `begin`}[f.Path != ""])
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
	client := &http.Client{Timeout: kit.Patience(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
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
	if got.StatusCode != http.StatusOK && got.StatusCode != http.StatusUnauthorized &&
		got.StatusCode != http.StatusForbidden {
		t.Fatalf("login of %s: %d %s", email, got.StatusCode, text)
	}
	kit.Must(t, json.Unmarshal(text, &answer))
	return answer.Data.AccessToken + answer.Data.Token
}

// acts reports whether somebody can act: "bearer X" calls the API with a token, "login X:P" logs in, "operator X" opens
// a page of operators, and "link PATH CODE" opens the link in an e-mail.
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
	case http.StatusUnauthorized, http.StatusSeeOther, http.StatusUnprocessableEntity, http.StatusNotFound,
		http.StatusForbidden:
		return false
	}
	t.Fatalf("%s: %d", probe, status)
	return false
}

// named returns the faults of a verification about who may act.
func (f *forger) named(t *testing.T) (faults []string) {
	t.Helper()
	found, err := proof.Verify(t.Context(), f.Store.DB, proof.Replay{Response: submission.Replay,
		Purchase: purchase.Reread, Sent: submission.ReadSubmitted})
	kit.Must(t, err)
	for _, fault := range found.Faults {
		faults = append(faults, fault.Error())
	}
	return faults
}

// TestForgedRowsDoNotAct checks that a row that somebody without the keys has written, changed or exchanged does not
// act at a server, and that a verification names it.
func TestForgedRowsDoNotAct(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		f := newForger(t, engine)
		for _, probe := range []string{"bearer owner a", "bearer owner b", "bearer viewer a", "bearer key a",
			"login owner@a.example:" + rightPassword, "operator op"} {
			if !f.acts(t, probe) {
				t.Fatalf("before any forgery: %s", probe)
			}
		}
		for _, probe := range []string{"bearer ended a", "bearer revoked key a",
			"login accountant@a.example:" + rightPassword, "operator disabled-op"} {
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
