package fakeprovider_test

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/sandbox/fakeprovider"
	"quittance/test/providertest"
)

const credential = "psb_0123456789abcdef0123456789abcdef"

// handClock is a clock that only the test moves.
type handClock struct{ elapsed atomic.Int64 }

func (c *handClock) now() time.Time {
	return time.Date(2026, 3, 1, 9, 0, 0, 0, time.UTC).Add(time.Duration(c.elapsed.Load()))
}

func (c *handClock) advance(d time.Duration) { c.elapsed.Add(int64(d)) }

// running is a provider sandbox over real HTTP.
type running struct {
	*fakeprovider.Server
	t     *testing.T
	url   string
	clock *handClock
}

// start runs a provider sandbox on a directory until the test ends.
func start(t *testing.T, dir string, edit func(*fakeprovider.Options)) *running {
	t.Helper()
	clock := &handClock{}
	options := fakeprovider.Options{Dir: dir, Credential: secret.New(credential), Clock: clock.now}
	if edit != nil {
		edit(&options)
	}
	server, err := fakeprovider.New(options)
	if err != nil {
		t.Fatal(err)
	}
	listener := httptest.NewServer(server)
	t.Cleanup(func() {
		listener.Close()
		if err := server.Close(); err != nil {
			t.Error(err)
		}
	})
	return &running{Server: server, t: t, url: listener.URL, clock: clock}
}

// call makes a request with the credential, changed by edits.
func (s *running) call(method, path, body string, edits ...func(*http.Request)) (*http.Response, string) {
	s.t.Helper()
	response, text, err := s.try(method, path, body, edits...)
	if err != nil {
		s.t.Fatal(err)
	}
	return response, text
}

// maxTried is the maximum number of bytes of a response that a test reads.
const maxTried = 1 << 20

// try is call for requests that may fail: without a response, or in the middle of one. It reads the first [maxTried]
// bytes.
func (s *running) try(method, path, body string, edits ...func(*http.Request)) (*http.Response, string, error) {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+credential)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	for _, edit := range edits {
		edit(request)
	}
	response, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		return nil, "", err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, maxTried))
	return response, string(text), err
}

// submit sends a document whose invoice is changed by edit, and expects a status.
func (s *running) submit(reference string, want int, edit func(map[string]any)) fakeprovider.Report {
	s.t.Helper()
	response, text := s.call("POST", "/v1/documents", document(s.t, reference, edit))
	if response.StatusCode != want {
		s.t.Fatalf("status %d, want %d: %s", response.StatusCode, want, text)
	}
	return decode[fakeprovider.Report](s.t, text)
}

// status looks a document up.
func (s *running) status(reference string) fakeprovider.Report {
	s.t.Helper()
	response, text := s.call("GET", "/v1/documents/"+reference, "")
	if response.StatusCode != http.StatusOK {
		s.t.Fatalf("status %d: %s", response.StatusCode, text)
	}
	return decode[fakeprovider.Report](s.t, text)
}

// document returns a submission whose invoice is changed by edit.
func document(t *testing.T, reference string, edit func(map[string]any)) string {
	t.Helper()
	whole := decode[map[string]any](t, string(providertest.Document(reference).Body))
	if edit != nil {
		edit(whole["invoice"].(map[string]any))
	}
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// recipient changes the recipient of an invoice, which chooses a scenario.
func recipient(id string) func(map[string]any) {
	return func(invoice map[string]any) { invoice["recipient_network_id"] = id }
}

func decode[T any](t *testing.T, text string) T {
	t.Helper()
	var out T
	if err := json.Unmarshal([]byte(text), &out); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return out
}

// wantError expects the error envelope and nothing else.
func wantError(t *testing.T, response *http.Response, text string, status int, code string) {
	t.Helper()
	envelope := decode[map[string]map[string]string](t, text)
	if response.StatusCode != status || len(envelope) != 1 || envelope["error"]["code"] != code ||
		envelope["error"]["message"] == "" ||
		response.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%s %s: want %d %s, got %d %s", response.Request.Method, response.Request.URL, status,
			code, response.StatusCode, text)
	}
}

// TestTheHTTPAdapterConforms tests the adapter and the provider sandbox against each other.
func TestTheHTTPAdapterConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) (provider.Adapter, providertest.Control) {
		var refuse atomic.Int64
		clock := &handClock{}
		server, err := fakeprovider.New(fakeprovider.Options{
			Dir: t.TempDir(), Credential: secret.New(credential), Clock: clock.now,
		})
		if err != nil {
			t.Fatal(err)
		}
		listener := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if code := refuse.Load(); code != 0 {
				w.WriteHeader(int(code))
				return
			}
			server.ServeHTTP(w, r)
		}))
		adapter, err := protocol.New(provider.Config{BaseURL: listener.URL, Credential: secret.New(credential),
			Clock: time.Now})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			adapter.Close()
			listener.Close()
			if err := server.Close(); err != nil {
				t.Error(err)
			}
		})
		return adapter, providertest.Control{
			Advance:  func() { clock.advance(time.Hour) },
			Refusals: []int{401, 403, 429},
			Refuse:   func(status int) { refuse.Store(int64(status)) },
			Break: func() {
				if err := server.AddRule(fakeprovider.Rule{Misbehaviour: fakeprovider.DropAfter, Times: 1000}); err != nil {
					t.Fatal(err)
				}
			},
			Unreach: func() { adapter.Close(); listener.Close() },
			AddPurchase: func(id string, document []byte) {
				if _, err := server.AddPurchase(fakeprovider.Purchase{ID: id}, document); err != nil {
					t.Fatal(err)
				}
			},
		}
	})
}

func TestEveryRefusalIsTheErrorEnvelope(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	doc := document(t, "ref-1", nil)
	set := func(name, value string) func(*http.Request) {
		return func(r *http.Request) { r.Header.Set(name, value) }
	}
	for _, c := range []struct {
		method, path, body string
		edit               func(*http.Request)
		status             int
		code               string
	}{
		{"POST", "/v1/documents", doc, func(r *http.Request) { r.Header.Del("Authorization") }, 401, "unauthenticated"},
		{"POST", "/v1/documents", doc, set("Authorization", "Bearer "+credential+"x"), 401, "unauthenticated"},
		{"POST", "/v1/documents", doc, set("Authorization", "Basic "+credential), 401, "unauthenticated"},
		{"GET", "/nowhere", "", set("Authorization", "Bearer"), 401, "unauthenticated"},
		{"GET", "/control/ledger", "", set("Authorization", "Bearer x"), 401, "unauthenticated"},
		{"GET", "/nowhere", "", nil, 404, "not_found"},
		{"GET", "/v1//purchases", "", nil, 404, "not_found"},
		{"GET", "/v1/documents/../purchases", "", nil, 404, "not_found"},
		{"GET", "/v1/documents/", "", nil, 404, "not_found"},
		{"GET", "/v1/documents/ref-1", "", nil, 404, "unknown_reference"},
		{"GET", "/v1/purchases/p/document", "", nil, 404, "unknown_reference"},
		{"GET", "/control/ledger/ref-1", "", nil, 404, "unknown_reference"},
		{"GET", "/v1/documents", "", nil, 405, "method_not_allowed"},
		{"DELETE", "/v1/documents/ref-1", "", nil, 405, "method_not_allowed"},
		{"POST", "/v1/purchases", doc, nil, 405, "method_not_allowed"},
		{"POST", "/v1/documents", doc, set("Content-Type", "text/plain"), 415, "unsupported_media_type"},
		{"POST", "/v1/documents", `{"reference":"` + strings.Repeat("x", 16<<20) + `"}`, nil, 413, "payload_too_large"},
		{"POST", "/v1/documents", "{", nil, 400, "malformed_request"},
		{"POST", "/v1/documents", doc + "{}", nil, 400, "malformed_request"},
		{"POST", "/v1/documents", `{"reference":"a","reference":"a"}`, nil, 400, "malformed_request"},
		{"POST", "/v1/documents", "{\"reference\":\"\xff\"}", nil, 400, "malformed_request"},
		{"POST", "/v1/documents", doc, set("Idempotency-Key", "ref-2"), 400, "reference_mismatch"},
		{"POST", "/v1/documents", `{"reference":1}`, nil, 422, "invalid_document"},
		{"POST", "/v1/documents", `[]`, nil, 422, "invalid_document"},
		{"POST", "/v1/documents", `{"reference":"ref-1"}`, nil, 422, "invalid_document"},
		{"POST", "/v1/documents", `{"reference":"a b","invoice":{}}`, nil, 422, "invalid_document"},
		{"POST", "/v1/documents", strings.Replace(doc, `1050`, `"1,050"`, 1), nil, 422, "invalid_document"},
		{"GET", "/v1/purchases?limit=0", "", nil, 400, "malformed_request"},
		{"GET", "/v1/purchases?limit=101", "", nil, 400, "malformed_request"},
		{"GET", "/v1/purchases?cursor=7", "", nil, 400, "unknown_cursor"},
		{"GET", "/v1/purchases?cursor=x", "", nil, 400, "unknown_cursor"},
		{"POST", "/control/purchases", `{"id":""}`, nil, 422, "invalid_document"},
		{"POST", "/control/purchases", `{"id":"a","document_base64":"%"}`, nil, 422, "invalid_document"},
	} {
		var edits []func(*http.Request)
		if c.edit != nil {
			edits = append(edits, c.edit)
		}
		response, text := s.call(c.method, c.path, c.body, edits...)
		wantError(t, response, text, c.status, c.code)
		if (response.Header.Get("Allow") != "") != (c.status == 405) {
			t.Errorf("%s %s: Allow %q", c.method, c.path, response.Header.Get("Allow"))
		}
	}
	if docs := s.Ledger().Documents(); len(docs) != 0 {
		t.Fatalf("a refused document is in the ledger: %+v", docs)
	}
}

func TestAReferenceIsTakenOnce(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	bodies := []string{document(t, "ref-1", nil), document(t, "ref-1", recipient("other"))}
	const racers = 100
	statuses := make([]int, racers)
	references := make([]string, racers)
	var group sync.WaitGroup
	for i := range racers {
		group.Go(func() {
			response, text := s.call("POST", "/v1/documents", bodies[i%2])
			statuses[i] = response.StatusCode
			if response.StatusCode == http.StatusOK {
				references[i] = decode[fakeprovider.Report](t, text).ProviderReference
			} else {
				wantError(t, response, text, 409, "reference_reused")
			}
		})
	}
	group.Wait()
	docs := s.Ledger().Documents()
	if len(docs) != 1 || docs[0].Accepted != 1 || docs[0].Received != racers || docs[0].Conflicts != racers/2 {
		t.Fatalf("%+v", docs)
	}
	for i, status := range statuses {
		if status != statuses[i%2] || status == http.StatusOK && references[i] != docs[0].ProviderReference {
			t.Fatalf("racer %d: %d %q", i, status, references[i])
		}
	}
	body, found, err := s.Ledger().Body("ref-1")
	if err != nil || !found || string(body) != bodies[0] && string(body) != bodies[1] {
		t.Fatalf("%q %v %v", body, found, err)
	}
}

func TestTheProviderValidates(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	item := func(name string, value any) func(map[string]any) {
		return func(invoice map[string]any) { invoice["items"].([]any)[0].(map[string]any)[name] = value }
	}
	field := func(name string, value any) func(map[string]any) {
		return func(invoice map[string]any) { invoice[name] = value }
	}
	for i, c := range []struct {
		edit func(map[string]any)
		code string
	}{
		{field("buyer_country", "ZZ"), "country_unknown"},
		{field("buyer_endpoint_scheme", "9999x"), "endpoint_scheme_unknown"},
		{field("total_amount", 1050.02), "total_mismatch"},
		{field("due_date", nil), "SANDBOX-MISSING"},
		{item("vat_category", "Q"), "tax_category_unknown"},
		{field("total_amount", 1050.01), ""},
		{field("due_date", "2025-01-01"), ""},
		{nil, ""},
	} {
		report := s.submit(fmt.Sprintf("ref-%d", i), http.StatusOK, c.edit)
		if c.code == "" {
			if report.Status != "accepted" || len(report.Messages) != 0 {
				t.Errorf("case %d: %+v", i, report)
			}
			continue
		}
		if report.Status != "rejected" || len(report.Messages) != 1 || report.Messages[0].Code != c.code ||
			report.Messages[0].Text == "" || report.Discovery != nil {
			t.Errorf("%s: %+v", c.code, report)
		}
		if state := report.States["submission_state"]; state.Value != "rejected_by_provider" || !state.Terminal ||
			len(report.States) != 1 {
			t.Errorf("%s: %+v", c.code, report.States)
		}
	}
}

func TestPurchasesAreListedByCursorAndRevised(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	if response, text := s.call("GET", "/v1/purchases", ""); response.StatusCode != 200 ||
		text != `{"purchases":[],"next_cursor":"0","has_more":false}` {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	encoded := base64.StdEncoding.EncodeToString([]byte("<Invoice/>"))
	response, text := s.call("POST", "/control/purchases",
		`{"id":"p-1","document_type":"invoice","invoice_number":"S-1","supplier_name":"S","currency":"AED",`+
			`"total_amount":10.50,"document_base64":"`+encoded+`"}`)
	if response.StatusCode != http.StatusCreated {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	response, text = s.call("GET", "/v1/purchases?limit=1", "")
	const want = `{"purchases":[{"id":"p-1","document_type":"invoice","invoice_number":"S-1","supplier_name":"S","supplier_network_id":"","issue_date":"",` +
		`"due_date":"","currency":"AED","total_amount":10.50,"sha256":"DIGEST","media_type":"application/xml","received_at":"2026-03-01T09:00:00Z"}],"next_cursor":"1","has_more":false}`
	added := decode[struct{ Purchases []fakeprovider.Purchase }](t, text).Purchases[0]
	if text != strings.Replace(want, "DIGEST", added.SHA256, 1) || len(added.SHA256) != 64 {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	amount := api.MustDecimal("11.00")
	again, err := s.AddPurchase(fakeprovider.Purchase{ID: "p-1", TotalAmount: &amount}, []byte("<Invoice/>"))
	if err != nil || again != added && again.SHA256 != added.SHA256 {
		t.Fatalf("%+v %v", again, err)
	}
	if _, text := s.call("GET", "/v1/purchases?cursor=1", ""); !strings.Contains(text, `"purchases":[]`) {
		t.Fatalf("the same bytes made a new revision: %s", text)
	}
	for _, id := range []string{"p-2", "p-1"} {
		if _, err := s.AddPurchase(fakeprovider.Purchase{ID: id, MediaType: "application/pdf"},
			[]byte("new "+id)); err != nil {
			t.Fatal(err)
		}
	}
	_, text = s.call("GET", "/v1/purchases?limit=1", "")
	if page := decode[struct {
		Purchases  []fakeprovider.Purchase
		NextCursor string `json:"next_cursor"`
		HasMore    bool   `json:"has_more"`
	}](t, text); page.Purchases[0].ID != "p-2" || page.NextCursor != "2" || !page.HasMore {
		t.Fatalf("a superseded revision is listed: %s", text)
	}
	response, text = s.call("GET", "/v1/purchases/p-1/document", "")
	if response.StatusCode != 200 || text != "new p-1" || response.Header.Get("Content-Type") != "application/pdf" {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
}

func TestTheControlListsTheLedger(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	s.submit("ref-1", http.StatusOK, recipient("sandbox-accepted"))
	response, text := s.call("GET", "/control/ledger", "")
	ledger := decode[struct {
		Documents []fakeprovider.LedgerDocument
		Purchases []fakeprovider.Purchase
	}](t, text)
	if response.StatusCode != 200 || len(ledger.Documents) != 1 || ledger.Purchases == nil {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	d := ledger.Documents[0]
	if d.Reference != "ref-1" || d.InvoiceNumber != "INV-1" || d.Scenario != "sandbox-accepted" || d.Accepted != 1 ||
		d.Received != 1 || len(d.Plan) == 0 {
		t.Fatalf("%+v", d)
	}
	response, text = s.call("GET", "/control/ledger/ref-1", "")
	body := decode[struct{ Body json.RawMessage }](t, text).Body
	if want := document(t, "ref-1", recipient("sandbox-accepted")); response.StatusCode != 200 ||
		!bytes.Equal(body, []byte(want)) {
		t.Fatalf("%d %s, want %s", response.StatusCode, body, want)
	}
}

func TestOptionsAreRefused(t *testing.T) {
	for name, edit := range map[string]func(*fakeprovider.Options){
		"no credential":    func(o *fakeprovider.Options) { o.Credential = secret.Text{} },
		"no clock":         func(o *fakeprovider.Options) { o.Clock = nil },
		"negative pace":    func(o *fakeprovider.Options) { o.Pace = -1 },
		"negative silence": func(o *fakeprovider.Options) { o.Silence = -1 },
		"negative latency": func(o *fakeprovider.Options) { o.Latency = -1 },
	} {
		options := fakeprovider.Options{Dir: t.TempDir(), Credential: secret.New("x"), Clock: time.Now}
		edit(&options)
		if _, err := fakeprovider.New(options); !errors.Is(err, fakeprovider.ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// Latency delays every call of the protocol, but not the control.
func TestLatency(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Latency = 50 * time.Millisecond })
	began := time.Now()
	if response, text := s.call("POST", "/v1/documents", document(t, "ref-1", nil)); response.StatusCode != 200 {
		t.Fatalf("%d %s", response.StatusCode, text)
	}
	if took := time.Since(began); took < 50*time.Millisecond {
		t.Errorf("answered after %v", took)
	}
	far := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Latency = time.Hour })
	if response, text := far.call("GET", "/control/ledger", ""); response.StatusCode != 200 {
		t.Errorf("the latency also delays the control: %d %s", response.StatusCode, text)
	}
}

func TestAClosedServerIsUnavailable(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	response, text := s.call("POST", "/v1/documents", document(t, "ref-1", nil))
	wantError(t, response, text, 503, "unavailable")
}
