package server_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
)

// operation is what [TestEveryOperation] needs to know about an operation in addition to its route: how to make it
// succeed, and the cases that are specific to it. world.common has the cases of all operations of its kind.
type operation struct {
	// route is the method and the path, as the route table has them.
	route string
	// ids creates resources of a company for the parameters of the path.
	ids func(t *testing.T, c *company) map[string]string
	// body returns a valid body. It is nil if the operation has none.
	body func(t *testing.T, c *company) string
	// begun is called with the request once it has its token, for what only the session of the token can prepare; it may
	// be nil.
	begun func(t *testing.T, c *company, r *request)
	// alone reports that each row needs its own company, because a success affects the other rows.
	alone bool
	rows  []row
}

// row is one case of an operation.
type row struct {
	name   string
	status int
	code   api.Code // of an error
	// prepare turns a request that would succeed into that of the row.
	prepare func(t *testing.T, c *company, r *request)
	// check checks the response, in addition to the envelope and the headers.
	check func(t *testing.T, c *company, a response)
}

// walkConfig sets the limits that the rows exceed, and a clock that they stop meanwhile.
func walkConfig(c *service.Config) {
	c.Now = time.Now
	c.RateLimit, c.LoginRate = callsAMinute, loginsAMinute
	c.Quotas.StoredBytes = maxStoredBytes
	c.ExportRows = exportedRows
	c.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
}

const (
	callsAMinute  = 12 // every request of a row has its own token
	loginsAMinute = 10
)

// operations has every operation of the service. [TestEveryOperation] requires every route, and every status and code
// that the API document promises.
var operations = slices.Concat(coreOperations, accountOperations, sessionOperations, secondFactorOperations,
	apiKeyOperations, userOperations, invoiceOperations, importOperations, recipientOperations, creditNoteOperations,
	incomingOperations, bookOperations, webhookOperations, auditOperations, exportOperations)

// coreOperations are the operations that every integration needs, and those for operators.
var coreOperations = []operation{
	{route: "POST /api/v1/client/auth/login", rows: loginRows,
		body: func(_ *testing.T, c *company) string {
			return fmt.Sprintf(`{"email":%q,"password":%q}`, c.email, password)
		}},
	{route: "POST /api/v1/client/invoices", rows: createRows,
		body: func(_ *testing.T, c *company) string { return c.numbered("") }},
	{route: "GET /api/v1/client/invoices", rows: listRows},
	{route: "GET /api/v1/client/invoices/{invoice_id}", ids: anInvoice, rows: []row{
		{name: "a draft as it was created", status: http.StatusOK, check: func(t *testing.T, c *company, _ response) {
			a := c.get(t, invoicesPath+"/"+c.draft(t, complete))
			for _, state := range dimensions {
				wantRaw(t, a, "/data/"+state, "null")
			}
			wantRaw(t, a, "/data/submitted", "false")
			wantRaw(t, a, "/data/submission", "null")
			wantRaw(t, a, "/data/complete", "true")
			wantRaw(t, a, "/data/missing", "[]")
			wantRaw(t, a, "/data/items/0/gross_unit_price", "110.00")
		}},
	}},
	{route: "POST /api/v1/client/invoices/{invoice_id}/submit", ids: anInvoice, rows: submitRows},
	{route: "POST /api/v1/client/invoices/{invoice_id}/submit-provider", ids: anInvoice, rows: submitRows},
	{route: "POST /api/v1/webhooks/subscriptions", rows: subscribeRows,
		body: func(*testing.T, *company) string { return `{"url":"https://hooks.example.com/in"}` }},
	{route: "GET /collection.json", rows: []row{{name: "the collection", status: http.StatusOK}}},
	{route: "GET /openapi.json", rows: []row{{name: "the document", status: http.StatusOK}}},
	{route: "GET /healthz", rows: []row{{name: "alive", status: http.StatusOK}}},
	{route: "GET /readyz", rows: []row{{name: "ready", status: http.StatusOK}}},
}

// dimensions are the names of the four states in responses.
var dimensions = []string{"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state"}

// anInvoice creates a complete draft.
func anInvoice(t *testing.T, c *company) map[string]string {
	t.Helper()
	return map[string]string{"invoice_id": c.draft(t, c.numbered(""))}
}

func wantRaw(t testing.TB, a response, pointer, want string) {
	t.Helper()
	if got := a.raw(t, pointer); got != want {
		t.Errorf("%s %s: %s is %s, want %s", a.request.method, a.request.path, pointer, got, want)
	}
}

// credentials returns the body of a login.
func credentials(email, password string) string {
	return fmt.Sprintf(`{"email":%q,"password":%q}`, email, password)
}

var loginRows = []row{
	{name: "the right password", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/user", fmt.Sprintf(`{"name":"Owner","email":%q,"email_proved":true}`, c.email))
		wantRaw(t, a, "/data/account/status", `"active"`)
		token := a.textAt(t, "/data/token")
		c.send(t, request{method: http.MethodGet, path: invoicesPath, token: token}).want(t, http.StatusOK, "")
	}},
	{name: "an e-mail address in another spelling", status: http.StatusOK,
		prepare: func(_ *testing.T, c *company, r *request) {
			r.body = credentials(" OWNER"+c.email[len("owner"):]+" ", password)
		}},
	{name: "a wrong password", status: http.StatusUnauthorized, code: api.CodeInvalidCredentials,
		prepare: func(_ *testing.T, c *company, r *request) {
			r.body = credentials(c.email, password+"!")
		}},
	{name: "an unknown e-mail address", status: http.StatusUnauthorized, code: api.CodeInvalidCredentials,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = credentials("nobody@example.com", password)
		}},
	{name: "the right password without the second factor", status: http.StatusUnauthorized, code: api.CodeOTPRequired,
		prepare: func(t *testing.T, c *company, r *request) {
			other := c.system.company(t)
			other.enrolled(t)
			r.body = fmt.Sprintf(`{"email":%q,"password":%q}`, other.email, password)
		}},
	{name: "the right password of a suspended account", status: http.StatusForbidden, code: api.CodeAccountSuspended,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.suspend(t)
		}},
	{name: "a wrong password of a suspended account", status: http.StatusUnauthorized, code: api.CodeInvalidCredentials,
		prepare: func(t *testing.T, c *company, r *request) {
			c.suspend(t)
			r.body = credentials(c.email, "wrong")
		}},
	{name: "the right password where single sign-on is required", status: http.StatusForbidden,
		code: api.CodeSingleSignOnRequired, prepare: func(t *testing.T, c *company, _ *request) {
			c.requireSignOn(t)
		}},
	{name: "the right password without a required second factor", status: http.StatusForbidden,
		code: api.CodeSecondFactorRequired, prepare: func(t *testing.T, c *company, _ *request) {
			c.requireFactor(t)
		}},
	{name: "both factors where a second one is required", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) {
			other := c.system.company(t)
			app := other.enrolled(t)
			other.requireFactor(t)
			r.body = fmt.Sprintf(`{"email":%q,"password":%q,"otp":%q}`, other.email, password, app.code(t, 1))
		}},
	{name: "a wrong password where a second factor is required", status: http.StatusUnauthorized,
		code: api.CodeInvalidCredentials, prepare: func(t *testing.T, c *company, r *request) {
			c.requireFactor(t)
			r.body = credentials(c.email, "wrong")
		}},
	{name: "a wrong password where single sign-on is required", status: http.StatusUnauthorized,
		code: api.CodeInvalidCredentials, prepare: func(t *testing.T, c *company, r *request) {
			c.requireSignOn(t)
			r.body = credentials(c.email, "wrong")
		}},
	{name: "one login too many", status: http.StatusTooManyRequests, code: api.CodeRateLimited,
		prepare: func(t *testing.T, c *company, r *request) {
			c.clock.stop(t)
			for range loginsAMinute {
				wrong := *r
				wrong.body = credentials(c.email, "wrong")
				c.send(t, wrong).want(t, http.StatusUnauthorized, api.CodeInvalidCredentials)
			}
		}},
}

func (c *company) requireSignOn(t *testing.T) {
	t.Helper()
	if err := identity.SetLoginPolicyOf(t.Context(), c.db, c.id, base.LoginSingleSignOn); err != nil {
		t.Fatal(err)
	}
}

func (c *company) requireFactor(t *testing.T) {
	t.Helper()
	if err := identity.SetLoginPolicyOf(t.Context(), c.db, c.id, base.LoginSecondFactor); err != nil {
		t.Fatal(err)
	}
}

func (c *company) suspend(t *testing.T) {
	t.Helper()
	if err := identity.SuspendAccount(t.Context(), c.db, c.id); err != nil {
		t.Fatal(err)
	}
}

var createRows = []row{
	quotaRow(),
	{name: "every field", status: http.StatusCreated, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/submitted", "false")
		read := c.get(t, invoicesPath+"/"+a.textAt(t, "/data/id"))
		if read.text != a.text || read.header.Get("ETag") != a.header.Get("ETag") || a.header.Get("ETag") == "" {
			t.Errorf("created %q %s\nread    %q %s", a.header.Get("ETag"), a.text, read.header.Get("ETag"), read.text)
		}
	}},
	{name: "the required fields alone", status: http.StatusCreated,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = least },
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/complete", "false")
			wantRaw(t, a, "/data/missing",
				`["recipient_network_id","buyer_endpoint_scheme","buyer_street","buyer_city","buyer_country","due_date",`+
					`"payment_means_code","items[0].unit_code","items[0].vat_category","items[0].vat_rate"]`)
			wantRaw(t, a, "/data/buyer_city", "null")
		}},
	{name: "a number that is used already", status: http.StatusCreated,
		prepare: func(t *testing.T, c *company, r *request) { c.draft(t, r.body) }},
	{name: "a field at fault", status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = edit(r.body, "currency", `"aed"`) }},
}

var listRows = []row{
	{name: "an empty list", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data", "[]")
		wantRaw(t, a, "/pagination", `{"current_page":1,"per_page":25,"last_page":1,"has_more":false,"total":0}`)
	}},
	{name: "newest first, page by page", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) {
			for _, number := range []string{`"A"`, `"B"`, `"C"`} {
				c.draft(t, edit(least, "invoice_number", number))
			}
			r.path += "?per_page=2&page=2"
		},
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/0/invoice_number", `"A"`)
			wantRaw(t, a, "/data/0/item_count", "1")
			wantRaw(t, a, "/data/0/items", "")
			wantRaw(t, a, "/pagination", `{"current_page":2,"per_page":2,"last_page":2,"has_more":false,"total":3}`)
			first := c.get(t, invoicesPath+"?per_page=2")
			wantRaw(t, first, "/data/0/invoice_number", `"C"`)
			wantRaw(t, first, "/pagination", `{"current_page":1,"per_page":2,"last_page":2,"has_more":true,"total":3}`)
		}},
	{name: "more than a hundred a page", status: http.StatusOK,
		prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?per_page=101" },
		check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/pagination/per_page", "100") }},
	{name: "a page past the end", status: http.StatusOK,
		prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?page=99999999999999999999" },
		check:   func(t *testing.T, _ *company, a response) { wantRaw(t, a, "/data", "[]") }},
	badPage("page=0"), badPage("page=-1"), badPage("page="), badPage("page=1.0"), badPage("page=%2B1"),
	badPage("page=0x1"),
	{name: "filtered and sorted", status: http.StatusOK,
		prepare: func(t *testing.T, c *company, r *request) {
			for n, total := range []string{"9.00", "100.00", "20.00"} {
				body := edit(edit(least, "total_amount", total), "issue_date", fmt.Sprintf(`"2026-03-0%d"`, n+1))
				c.draft(t, edit(edit(body, "recipient_name", `"ÖZ `+total+`"`), "external_id", fmt.Sprintf(`"erp-%d"`, n)))
			}
			r.path += "?recipient_name=%C3%B6z&issue_date_from=2026-03-01&issue_date_to=2026-03-03&updated_since=2026-01-01T00:00:00%2B02:00&submitted=false&attention=false&sort=-total_amount"
		},
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/pagination/total", "3")
			wantRaw(t, a, "/data/0/external_id", `"erp-1"`)
			wantRaw(t, a, "/data/2/external_id", `"erp-0"`)
			wantRaw(t, c.get(t, invoicesPath+"?external_id=erp-2"), "/data/0/issue_date", `"2026-03-03"`)
			wantRaw(t, c.get(t, invoicesPath+"?sort=issue_date"), "/data/0/external_id", `"erp-0"`)
			for _, query := range []string{"?attention=true", "?recipient_name=%25", "?external_id=erp",
				"?updated_since=2999-01-01T00:00:00Z", "?issue_date_to=2026-02-28"} {
				wantRaw(t, c.get(t, invoicesPath+query), "/pagination",
					`{"current_page":1,"per_page":25,"last_page":1,"has_more":false,"total":0}`)
			}
		}},
	badPage("attention=yes"), badPage("recipient_name="), badPage("recipient_name=" + strings.Repeat("x", 257)),
	badPage("issue_date_from=2026-02-30"), badPage("issue_date_to=01.02.2026"), badPage("updated_since=2026-01-01"),
	badPage("sort="), badPage("sort=number"), badPage("sort=--issue_date"), badPage("page=%EF%BC%91"),
	badPage("per_page=0"), badPage("per_page=all"),
	badPage("per_page=%20"),
}

func badPage(query string) row {
	return row{name: query, status: http.StatusBadRequest, code: api.CodeMalformedRequest,
		prepare: func(_ *testing.T, _ *company, r *request) { r.path += "?" + query },
		check: func(t *testing.T, _ *company, a response) {
			name, _, _ := strings.Cut(query, "=")
			wantFault(t, a, name)
		}}
}

// wantFault checks that the details of a response have exactly one fault, at name, with a rule and a message.
func wantFault(t *testing.T, a response, name string) {
	t.Helper()
	var out struct {
		Error struct {
			Details map[string][]api.Fault `json:"details"`
		} `json:"error"`
	}
	a.decode(t, &out)
	if faults := out.Error.Details[name]; len(out.Error.Details) != 1 || len(faults) != 1 || faults[0].Rule == "" ||
		faults[0].Message == "" {
		t.Errorf("no fault at %q: %s", name, a.text)
	}
}

var submitRows = []row{
	{name: "a response of the provider", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/submitted", "true")
		wantRaw(t, a, "/data/submission/outcome", `"acknowledged"`)
		again := c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)})
		again.want(t, http.StatusOK, "")
		if again.raw(t, "/data/submission/id") != a.raw(t, "/data/submission/id") {
			t.Error("a repetition made another submission")
		}
	}},
	{name: "a rejection of the provider", status: http.StatusOK, prepare: submitTo("sandbox-rejected-validation"),
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/submission/outcome", `"rejected"`)
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusOK, "")
		}},
	{name: "an unreadable response", status: http.StatusAccepted, prepare: submitTo("sandbox-garbage"),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/submission/outcome", `"unknown"`)
			for _, state := range dimensions {
				wantRaw(t, a, "/data/"+state, "null")
			}
		}},
	{name: "an incomplete draft", status: http.StatusUnprocessableEntity, code: api.CodeInvoiceIncomplete,
		prepare: func(t *testing.T, c *company, r *request) { submitDraft(t, c, r, edit(complete, "due_date", "")) },
		check: func(t *testing.T, _ *company, a response) {
			a.wantFaults(t, api.CodeInvoiceIncomplete, map[string][]string{"due_date": {"required"}})
		}},
	{name: "no active connection", status: http.StatusConflict, code: api.CodeProviderConnectionRequired,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
		}},
	{name: "a connection of another environment", status: http.StatusConflict, code: api.CodeProductionNotApproved,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
			c.connect(t, "https://provider.example.com", service.Production)
		}},
	{name: "a number that was submitted before", status: http.StatusConflict, code: api.CodeDuplicateInvoiceNumber,
		prepare: func(t *testing.T, c *company, r *request) {
			c.post(t, invoicesPath+"/"+c.draft(t, complete)+"/submit", "").want(t, http.StatusOK, "")
			submitDraft(t, c, r, complete)
		},
		check: func(t *testing.T, c *company, a response) {
			list := c.get(t, invoicesPath)
			first := list.raw(t, fmt.Sprintf("/data/%d/id", 2)) // the operation's own draft is older, the second newer
			second := list.raw(t, "/data/1/id")
			if got := a.raw(t, "/error/details/invoice_id"); got != second || got == first {
				t.Errorf("invoice_id is %s, want %s", got, second)
			}
		}},
	{name: "a provider that certainly accepted nothing", status: http.StatusBadGateway, code: api.CodeProviderError,
		prepare: submitTo("sandbox-429-once"),
		check: func(t *testing.T, c *company, a response) {
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusOK, "")
		}},
	{name: "a second submit during the first", status: http.StatusConflict, code: api.CodeSubmissionInProgress,
		prepare: submitInProgress},
}

// submitTo returns a prepare function that makes a row submit a draft for a recipient.
func submitTo(recipient string) func(t *testing.T, c *company, r *request) {
	return func(t *testing.T, c *company, r *request) { submitDraft(t, c, r, c.numbered(recipient)) }
}

func submitDraft(t *testing.T, c *company, r *request, draft string) {
	t.Helper()
	r.path = invoicesPath + "/" + c.draft(t, draft) + r.path[len(invoicesPath)+1+36:]
}

func (c *company) disconnect(t *testing.T) {
	t.Helper()
	all, err := invoices.Connections(t.Context(), c.db, &c.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, connection := range all {
		if _, err := invoices.DisableConnection(t.Context(), c.db, connection.ID); err != nil {
			t.Fatal(err)
		}
	}
}

// submitInProgress begins another submit call, to a provider that does not respond before the test ends.
func submitInProgress(t *testing.T, c *company, r *request) {
	arrived, release := make(chan struct{}), make(chan struct{})
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, in *http.Request) {
		if in.Method == http.MethodPost {
			close(arrived)
			<-release
		}
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	c.disconnect(t)
	c.connect(t, provider.URL, service.Sandbox)
	c.confirmCreditNotes(t)
	first, ended := *r, make(chan error, 1)
	first.token = c.token(t)
	ctx := t.Context()
	go func() {
		_, err := c.try(ctx, first)
		ended <- err
	}()
	t.Cleanup(func() {
		close(release)
		provider.Close()
		if err := <-ended; err != nil && ctx.Err() == nil {
			t.Error(err)
		}
	})
	<-arrived
}

var subscribeRows = []row{
	{name: "every event", status: http.StatusCreated, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data/url", `"https://hooks.example.com/in"`)
		wantRaw(t, a, "/data/active", "true")
		if secret := a.textAt(t, "/data/secret"); len(secret) < 32 {
			t.Errorf("secret of %d characters", len(secret))
		}
		if got := a.raw(t, "/data/events/4"); got == "" {
			t.Errorf("not every event: %s", a.text)
		}
	}},
	{name: "chosen events, in the order of api.EventKinds", status: http.StatusCreated,
		prepare: func(_ *testing.T, _ *company, r *request) {
			r.body = edit(r.body, "events", `["einvoice.terminal","einvoice.submission.updated","einvoice.terminal"]`)
		},
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/events", `["einvoice.submission.updated","einvoice.terminal"]`)
		}},
	{name: "the twenty-first", status: http.StatusConflict, code: api.CodeLimitReached,
		prepare: func(t *testing.T, c *company, r *request) {
			for range 20 {
				c.post(t, subscriptions, r.body).want(t, http.StatusCreated, "")
			}
		}},
	unsafeURL("http://hooks.example.com/", "scheme"), unsafeURL("https://user@hooks.example.com/", "user_info"),
	unsafeURL("https://hooks.example.com/?q", "query"),
	unsafeURL("https://hooks.example.com/#f", "fragment"), unsafeURL("https://hooks.example.com:0/", "port"),
	unsafeURL("http://u@hooks.example.com/?q", "scheme", "user_info", "query"),
	unsafeURL("https://localhost/"), unsafeURL("https://127.0.0.1/"), unsafeURL("https://[::1]/"),
	unsafeURL("https://169.254.169.254/latest"), unsafeURL("https://0x7f.1/"), unsafeURL("https://hooks.internal/"),
	unsafeURL("ftp://a.b", "scheme"), unsafeURL("hooks", "scheme"),
}

// unsafeURL returns the row of a refused destination. The response names the format rules that it breaks, and has no
// details if it is refused because of its address.
func unsafeURL(url string, rules ...string) row {
	return row{name: url, status: http.StatusUnprocessableEntity, code: api.CodeUnsafeDestination,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = edit(r.body, "url", fmt.Sprintf("%q", url)) },
		check: func(t *testing.T, _ *company, a response) {
			if len(rules) == 0 {
				wantRaw(t, a, "/error/details", "{}")
			}
			for n, rule := range rules {
				wantRaw(t, a, fmt.Sprintf("/error/details/url/%d/rule", n), fmt.Sprintf("%q", rule))
			}
		}}
}
