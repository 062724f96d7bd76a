package operator

import (
	"crypto/rand"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
	"quittance/test/audittest"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(pgtest.Run(m)) }

const (
	email    = "ada@owner.example"
	password = "a quiet harbour at noon"
)

// TestNothingWithoutSession checks that no route but those of the login and the enrolment shows or does anything
// without the session of an operator, and that the session or the token of a user is not one.
func TestNothingWithoutSession(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *system) {
		user, err := s.UserByEmail(t.Context(), "owner@palm.example")
		kit.Must(t, err)
		token, err := secret.NewSession(rand.Reader)
		kit.Must(t, err)
		for _, digest := range [][32]byte{secret.SessionDigest(token), secret.Digest(token),
			secret.OperatorSessionDigest(token)} {
			_, err = identity.CreateToken(t.Context(), s.Store.DB, user, identity.NewToken{Digest: digest,
				ExpiresAt: s.Clock.Now().Add(time.Hour), Client: identity.ClientConsole, Means: identity.LoginByPassword})
			kit.Must(t, err)
		}
		v := s.visitor(t)
		paths := []route{{method: http.MethodGet, path: "/nowhere"}, {method: http.MethodDelete, path: accountsPath},
			{method: http.MethodGet, path: "/healthz"}, {method: http.MethodGet, path: "/api/v1/client/account"}}
		public := 0
		for _, r := range append(routes(), paths...) {
			if r.public {
				public++
				continue
			}
			path := regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(r.path, s.account.ID.String())
			for _, headers := range [][]string{nil, {"Authorization", "Bearer " + token.Reveal()},
				{"Cookie", "quittance-operator" + "=" + token.Reveal()}, {"Cookie", "quittance=" + token.Reveal()},
				{"Cookie", "quittance-operator" + "=" + strings.Repeat("x", 5000)}} {
				got := v.do(0, r.method, path, url.Values{"reason": {"because"}}, headers...)
				if got.status != http.StatusSeeOther || got.header.Get("Location") != "/login" ||
					strings.Contains(got.body, "Palm") {
					t.Errorf("%s %s with %.20v: %d to %q", r.method, path, headers, got.status, got.header.Get("Location"))
				}
			}
		}
		if public != 5 {
			t.Errorf("%d routes are public", public)
		}
		if found, err := identity.FindAccount(t.Context(), s.Store.DB, s.account.ID); err != nil ||
			found.Status != base.AccountActive {
			t.Errorf("the account is %q, %v", found.Status, err)
		}
		for _, path := range []string{"/login", "/enrol"} {
			got := v.get(path)
			if got.status != http.StatusOK || !strings.Contains(got.header.Get("Content-Security-Policy"),
				"default-src 'none'") || got.header.Get("X-Frame-Options") != "DENY" ||
				got.header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s: %d %v", path, got.status, got.header)
			}
		}
	})
}

// TestLogin checks that a login needs the password and a fresh code, always, and when a session ends, on every replica.
func TestLogin(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *system) {
		v := s.visitor(t)
		recovery := v.enrolled()
		login := func(fields ...string) int {
			t.Helper()
			return v.post("/login", append([]string{"email", email}, fields...)...).status
		}
		for _, wrong := range [][]string{{"password", password}, {"password", password, "code", "000000"},
			{"code", s.code(t, 0)}, {"password", password + "x", "code", s.code(t, 0)},
			{"password", password, "code", s.code(t, -1)}, {"password", password + "\x00", "code", s.code(t, 0)}} {
			if got := login(wrong...); got != http.StatusUnauthorized {
				t.Errorf("%d with %v", got, wrong)
			}
		}
		code := s.code(t, 0)
		got := v.post("/login", "email", email, "password", password, "code", code)
		cookie := got.header.Get("Set-Cookie")
		if got.status != http.StatusSeeOther || !strings.HasPrefix(cookie, "quittance-operator"+"=qo_") ||
			!strings.Contains(cookie, "HttpOnly") || !strings.Contains(cookie, "SameSite=Lax") {
			t.Fatalf("login: %d %.40q", got.status, cookie)
		}
		wantIn := func(in bool) {
			t.Helper()
			for replica := range s.base {
				if got := v.do(replica, http.MethodGet, accountsPath, nil); (got.status == http.StatusOK) != in {
					t.Errorf("replica %d: %d", replica, got.status)
				}
			}
		}
		wantIn(true)
		if got := s.visitor(t).post("/login", "email", email, "password", password,
			"code", code).status; got != http.StatusUnauthorized {
			t.Errorf("%d with a code for the second time", got)
		}
		s.Clock.Advance(31 * time.Minute)
		wantIn(false)
		if got := login("password", password, "code", recovery[0]); got != http.StatusSeeOther {
			t.Fatalf("%d with a recovery code", got)
		}
		wantIn(true)
		if got := v.post("/logout"); got.status != http.StatusSeeOther {
			t.Errorf("logout: %d", got.status)
		}
		wantIn(false)
		if got := login("password", password, "code", s.code(t, 0)); got != http.StatusSeeOther {
			t.Fatalf("%d after the logout", got)
		}
		wantIn(true)
		_, err := identity.DisableOperator(t.Context(), s.Store.DB, email)
		kit.Must(t, err)
		wantIn(false)
		s.Clock.Advance(time.Hour)
		for range 10 {
			login("password", "wrong", "code", "000000")
		}
		if got := login("password", password, "code", s.code(t, 0)); got != http.StatusTooManyRequests {
			t.Errorf("%d after too many attempts", got)
		}
	})
}

// TestActsNeedReason checks that every act is refused for another site, without a reason, and for what does not exist,
// and then changes nothing; with a reason the audit log names the operator, the reason, the source and the request.
func TestActsNeedReason(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *system) {
		v := s.loggedIn(t)
		ctx := t.Context()
		entries := func() []base.AuditEntry {
			found, err := s.Audit(ctx, base.AuditFilter{Limit: 1000})
			kit.Must(t, err)
			return found
		}
		before := len(entries())
		for _, r := range routes() {
			if r.method != http.MethodPost || r.public || r.path == "/logout" {
				continue
			}
			path := regexp.MustCompile(`\{[a-z]+\}`).ReplaceAllString(r.path, s.account.ID.String())
			reasons := []string{"", "   ", strings.Repeat("é", 1025), "a\x00b", "\xff"}
			for _, reason := range reasons {
				got := v.do(0, http.MethodPost, path, url.Values{"reason": {reason}, "contract": {"C-1"}, "release": {"1.0.0"},
					"decision": {invoices.DecisionReject}})
				if got.status != http.StatusUnprocessableEntity {
					t.Errorf("%s with reason %.10q: %d", path, reason, got.status)
				}
			}
			foreign := v.do(0, http.MethodPost, path, url.Values{"reason": {"because"}}, "Origin", "https://evil.example",
				"Sec-Fetch-Site", "cross-site")
			if foreign.status != http.StatusForbidden {
				t.Errorf("%s from another site: %d", path, foreign.status)
			}
			unknown := v.do(0, http.MethodPost, strings.ReplaceAll(path, s.account.ID.String(), base.ID{1}.String()),
				url.Values{"reason": {"because"}, "contract": {"C-1"}, "release": {"1.0.0"}, "decision": {invoices.DecisionReject}})
			if unknown.status != http.StatusNotFound {
				t.Errorf("%s of nothing: %d", path, unknown.status)
			}
		}
		if after := entries(); len(after) != before {
			t.Errorf("refused acts leave %d entries", len(after)-before)
		}
		at := accountsPath + "/" + s.account.ID.String()
		got := v.post(at+"/suspend", "reason", " The company asked for it.\r\nBy telephone. ")
		if got.status != http.StatusSeeOther || !strings.HasPrefix(got.header.Get("Location"), at+"?notice=") {
			t.Fatalf("suspend: %d %s", got.status, got.body)
		}
		all := entries()
		last := all[len(all)-1]
		if last.Act != "account.suspend" || last.Actor.Kind != base.ActorAdministrator || last.Actor.Name != email ||
			last.Reason != "The company asked for it.\nBy telephone." || last.Source != "127.0.0.1" ||
			last.RequestID != got.header.Get("X-Request-Id") || last.RequestID == "" || last.Means != base.MeansConsole ||
			last.Account == nil || *last.Account != s.account.ID {
			t.Errorf("entry %+v", last)
		}
		if shown := v.get("/audit?act=account.suspend"); !strings.Contains(shown.body, "The company asked for it.") ||
			!strings.Contains(shown.body, email) {
			t.Errorf("the activity does not show the act: %d", shown.status)
		}
		if got := v.post(at+"/reactivate", "reason", "It was a mistake."); got.status != http.StatusSeeOther {
			t.Errorf("reactivate: %d", got.status)
		}
	})
}

// TestPagesEscape checks that what companies have stored is text on every page, and that lists accept hostile
// parameters.
func TestPagesEscape(t *testing.T) {
	s := newSystem(t, ledgertest.SQLite)
	v := s.loggedIn(t)
	connection, err := invoices.AddConnection(t.Context(), s.Store.DB, s.account.ID,
		invoices.NewConnection{Kind: "http", Environment: "production", BaseURL: `https://provider.example/<img src=x>`,
			Credential: secret.New("canary-credential")})
	kit.Must(t, err)
	for _, path := range []string{accountsPath, accountsPath + "/" + s.account.ID.String(), connectionsPath,
		connectionsPath + "/" + connection.ID.String(), auditPath, unknownPath, deliveriesPath} {
		got := v.get(path)
		if got.status != http.StatusOK || strings.Contains(got.body, "<b>LLC") ||
			strings.Contains(got.body, "<script>alert") || strings.Contains(got.body, "<img src=x") {
			t.Errorf("%s: %d", path, got.status)
		}
		if strings.Contains(got.body, "canary-credential") {
			t.Errorf("%s shows the credential", path)
		}
	}
	if got := v.get(connectionsPath + "/" + connection.ID.String()); !strings.Contains(got.body, connection.Fingerprint) {
		t.Error("the page of a connection has no fingerprint")
	}
	for _, query := range []string{"q=%00", "q=%ff%fe", "q=" + url.QueryEscape(strings.Repeat("ü", 5000)),
		"q=x" + url.QueryEscape(strings.Repeat("ü", 5000)), "actor=x" + url.QueryEscape(strings.Repeat("ü", 5000)), "after=x",
		"after=1.2.3", "after=99999999999999999999.x", "after=-1." + s.account.ID.String(), "actor=%00", "act=%27",
		"notice=%3Cb%3E"} {
		for _, path := range []string{accountsPath, connectionsPath, unknownPath, deliveriesPath, auditPath} {
			if got := v.get(path + "?" + query); got.status != http.StatusOK || !utf8.ValidString(got.body) {
				t.Errorf("%s?%.30s: %d", path, query, got.status)
			}
		}
	}
	for _, query := range []string{"account=x", "from=yesterday", "to=2026-13-01"} {
		if got := v.get(auditPath + "?" + query); got.status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, got.status)
		}
	}
	if got := v.do(0, http.MethodPost, accountsPath+"/"+s.account.ID.String()+"/suspend",
		url.Values{"reason": {strings.Repeat("x", int(largestForm.Bytes))}}); got.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a large form: %d", got.status)
	}
	if got := v.do(0, http.MethodDelete, accountsPath, nil); got.status != http.StatusMethodNotAllowed {
		t.Errorf("an unknown method: %d", got.status)
	}
}

// TestConnectionActs checks that operators approve, activate and disable connections as the command line does.
func TestConnectionActs(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *system) {
		v := s.loggedIn(t)
		ctx := t.Context()
		add := func() string {
			s.Clock.Advance(time.Second)
			made, err := invoices.AddConnection(ctx, s.Store.DB, s.account.ID, invoices.NewConnection{Kind: "http",
				Environment: "production", BaseURL: "https://provider.example", Credential: secret.New("credential")})
			kit.Must(t, err)
			return connectionsPath + "/" + made.ID.String()
		}
		first, second := add(), add()
		for _, step := range []struct {
			path   string
			fields []string
			want   int
		}{
			{first + "/approve", []string{"contract", "C-7"}, http.StatusUnprocessableEntity},
			{first + "/approve", []string{"contract", "C-7", "release", "1.0.0, 1.1.0"}, http.StatusSeeOther},
			{first + "/activate", nil, http.StatusSeeOther},
			{second + "/activate", nil, http.StatusConflict},
			{first + "/disable", nil, http.StatusSeeOther},
			{second + "/activate", nil, http.StatusSeeOther},
		} {
			if got := v.post(step.path, append([]string{"reason", "Contract C-7"}, step.fields...)...); got.status != step.want {
				t.Errorf("%s: %d, want %d", step.path, got.status, step.want)
			}
		}
		connections, err := invoices.Connections(ctx, s.Store.DB, &s.account.ID)
		kit.Must(t, err)
		if c := connections[0]; c.Approval == nil || c.Approval.By != email || c.Approval.Contract != "C-7" ||
			c.Approval.Release != "1.0.0 1.1.0" || c.State != invoices.ConnectionDisabled {
			t.Errorf("first %+v", c)
		}
		if connections[1].State != invoices.ConnectionActive {
			t.Errorf("second %+v", connections[1])
		}
	})
}

// TestMessages checks that every text exists, and every text is used.
func TestMessages(t *testing.T) {
	source := ""
	for _, pattern := range []string{"templates", "."} {
		entries, err := os.ReadDir(pattern)
		kit.Must(t, err)
		for _, entry := range entries {
			if entry.IsDir() || strings.HasSuffix(entry.Name(), "_test.go") {
				continue
			}
			text, err := os.ReadFile(pattern + "/" + entry.Name())
			kit.Must(t, err)
			source += string(text)
		}
	}
	for _, kind := range []*problem.Kind{invoices.ErrOutcomeKnown, events.ErrInactive, invoices.ErrActiveExists,
		invoices.ErrNotProduction, base.ErrChangedRow} { // an act may end with them
		source += `"` + kind.Name() + `"`
	}
	s := newSystem(t, ledgertest.SQLite)
	pages, err := New(Config{DB: s.DB, Accounts: s.accounts, Random: rand.Reader, Now: s.Clock.Now,
		Log: slog.New(slog.DiscardHandler)})
	kit.Must(t, err)
	used := regexp.MustCompile(`(?:\bt\s+|\bText\(|req\.Show\([^"]*"[a-z]*", )"([a-z][a-z0-9_.]*)"`).FindAllStringSubmatch(
		source, -1)
	if len(used) < 100 {
		t.Fatalf("only %d texts are used", len(used))
	}
	for _, found := range used {
		if _, err := pages.kit.Named("en").Texts.Text(found[1]); err != nil {
			t.Error(err)
		}
	}
	notices := regexp.MustCompile(`WithNotice\([^\n]*"((?:good|bad)\.[a-z0-9_]+)"\)`)
	for _, found := range notices.FindAllStringSubmatch(source, -1) {
		if pages.kit.Named("en").Texts.Notice(found[1]) == nil {
			t.Errorf("there is no notice %q", found[1])
		}
	}
	text, err := files.ReadFile("messages/en.json")
	kit.Must(t, err)
	for _, found := range regexp.MustCompile(`(?m)^  "([a-z0-9_.]+)":`).FindAllStringSubmatch(string(text), -1) {
		key := found[1]
		family := regexp.MustCompile(`^(op\.act\.|op\.login\.wrong|op\.enrol\.fault\.|op\.mails\.|nav\.)`).MatchString(key)
		last := key[strings.LastIndex(key, ".")+1:]
		if !family && !strings.Contains(source, `"`+strings.TrimSuffix(strings.TrimSuffix(key, ".one"), ".other")+`"`) &&
			!strings.Contains(source, `"good.`+last) && !strings.Contains(source,
			`"`+strings.TrimSuffix(strings.TrimPrefix(key, "error."), "."+last)+`"`) &&
			!strings.HasPrefix(key, "flash.good.resolved_") {
			t.Errorf("the text %q is not used", key)
		}
	}
}

// TestPagesAreAudited checks that docs/audit.md says for every act of operators which entry it leaves in the audit log,
// or why none.
func TestPagesAreAudited(t *testing.T) {
	t.Parallel()
	const prefix = "operators "
	var changing []string
	for _, r := range routes() {
		if r.method != http.MethodGet {
			changing = append(changing, prefix+r.method+" "+r.path)
		}
	}
	audittest.Read(t).WantDecisions(t, changing,
		func(operation string) bool { return strings.HasPrefix(operation, prefix) })
}
