package operator

import (
	"crypto/rand"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/hotp"

	"quittance/internal/account"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/accounttest"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// system has the pages over real HTTP, on one or two replicas.
type system struct {
	*ledgertest.Store
	accounts *account.Service
	base     []string
	account  base.Account
	shared   secret.Text
}

func newSystem(t *testing.T, engine string) *system {
	t.Helper()
	db := ledgertest.Open(t, engine)
	s := &system{Store: db, accounts: &account.Service{DB: db.DB, Random: rand.Reader, Now: db.Clock.Now,
		Environment: "sandbox", TokenTTL: time.Hour, LoginRate: 10, Hasher: account.NewHasher(2, accounttest.Cheap())}}
	replicas := []*base.DB{db.DB}
	if !db.SingleServer() {
		replicas = append(replicas, db.Again(t))
	}
	for _, replica := range replicas {
		accounts := *s.accounts
		accounts.DB = replica
		pages, err := New(Config{DB: replica, Accounts: &accounts, Random: rand.Reader, Now: db.Clock.Now,
			Environment: "sandbox", Version: "1.0.0", Log: slog.New(slog.DiscardHandler)})
		kit.Must(t, err)
		server := httptest.NewServer(pages)
		t.Cleanup(server.Close)
		s.base = append(s.base, server.URL)
	}
	made, err := identity.CreateAccount(t.Context(), db.DB, `Palm "Trading" <b>LLC</b>`,
		identity.NewUser{Email: "owner@palm.example", Name: "<script>alert(1)</script>", PasswordHash: "$"})
	kit.Must(t, err)
	s.account = made
	return s
}

func forEachEngine(t *testing.T, run func(t *testing.T, s *system)) {
	t.Helper()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) { run(t, newSystem(t, engine)) })
}

// visitor is a browser of one person, which both replicas know.
type visitor struct {
	t      *testing.T
	s      *system
	client *http.Client
	// cookie is the session cookie. A cookie jar would drop it, because the clock of the store is not that of the machine.
	cookie string
}

func (s *system) visitor(t *testing.T) *visitor {
	t.Helper()
	return &visitor{t: t, s: s, client: &http.Client{Timeout: kit.Patience(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}}
}

type answer struct {
	status int
	header http.Header
	body   string
}

func (v *visitor) do(replica int, method, path string, form url.Values, headers ...string) answer {
	v.t.Helper()
	base := v.s.base[replica%len(v.s.base)]
	request, err := http.NewRequestWithContext(v.t.Context(), method, base+path, strings.NewReader(form.Encode()))
	kit.Must(v.t, err)
	if method == http.MethodPost {
		request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		request.Header.Set("Origin", base)
	}
	if v.cookie != "" {
		request.Header.Set("Cookie", "quittance-operator="+v.cookie)
	}
	for n := 0; n < len(headers); n += 2 {
		request.Header.Set(headers[n], headers[n+1])
	}
	got, err := v.client.Do(request)
	kit.Must(v.t, err)
	for _, cookie := range got.Cookies() {
		v.cookie = cookie.Value
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	kit.Must(v.t, err)
	return answer{got.StatusCode, got.Header, string(text)}
}

func (v *visitor) get(path string) answer { return v.do(0, http.MethodGet, path, nil) }

func (v *visitor) post(path string, fields ...string) answer {
	form := url.Values{}
	for n := 0; n < len(fields); n += 2 {
		form.Add(fields[n], fields[n+1])
	}
	return v.do(0, http.MethodPost, path, form)
}

// code returns what the authenticator shows now, or some steps later.
func (s *system) code(t *testing.T, later int64) string {
	t.Helper()
	code, err := hotp.GenerateCode(s.shared.Reveal(), uint64(s.Clock.Now().Unix()/30+later))
	kit.Must(t, err)
	return code
}

// enrolled adds an operator and follows the link. It returns the recovery codes.
func (v *visitor) enrolled() []string {
	v.t.Helper()
	made, err := v.s.accounts.AddOperator(v.t.Context(), email)
	kit.Must(v.t, err)
	_, code, _ := strings.Cut(made.Link(""), "#")
	opened := v.post("/enrol", "code", code)
	shown := regexp.MustCompile(`name="shared" value="([A-Z2-7]{32})"`).FindStringSubmatch(opened.body)
	if opened.status != http.StatusOK || shown == nil || !strings.Contains(opened.body, `src="data:image/png;base64,`) {
		v.t.Fatalf("the enrolment has no secret: %d %s", opened.status, opened.body)
	}
	v.s.shared = secret.New(shown[1])
	for _, wrong := range [][2]string{{password, "000000"}, {"short", v.s.code(v.t, 0)},
		{strings.Repeat("a", 20), v.s.code(v.t, 0)}} {
		if got := v.post("/enrol/confirm", "code", code, "shared", shown[1], "password", wrong[0],
			"shown", wrong[1]); got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body, shown[1]) {
			v.t.Errorf("%v: %d", wrong, got.status)
		}
	}
	finished := v.post("/enrol/confirm", "code", code, "shared", shown[1], "password", password,
		"shown", v.s.code(v.t, -1))
	recovery := regexp.MustCompile(`<li><code>([a-z2-7-]{19})</code>`).FindAllStringSubmatch(finished.body, -1)
	if finished.status != http.StatusOK || len(recovery) != account.RecoveryCodes {
		v.t.Fatalf("enrolment: %d, %d recovery codes", finished.status, len(recovery))
	}
	if again := v.post("/enrol", "code", code); again.status != http.StatusUnprocessableEntity {
		v.t.Errorf("a used link: %d", again.status)
	}
	var codes []string
	for _, found := range recovery {
		codes = append(codes, found[1])
	}
	return codes
}

// loggedIn returns the browser of an enrolled operator who has logged in.
func (s *system) loggedIn(t *testing.T) *visitor {
	t.Helper()
	v := s.visitor(t)
	v.enrolled()
	if got := v.post("/login", "email", email, "password", password,
		"code", s.code(t, 0)); got.status != http.StatusSeeOther || got.header.Get("Location") != "/accounts" {
		t.Fatalf("login: %d %s", got.status, got.body)
	}
	return v
}
