package server_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ops/service"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
)

const recipients = "/api/v1/client/recipients/lookup"

var recipientOperations = []operation{
	{route: "POST " + recipients, rows: recipientRows,
		body: func(*testing.T, *company) string { return `{"scheme":"0235","id":"1234567890"}` }},
}

var recipientRows = []row{
	{name: "a recipient", status: http.StatusOK, check: func(t *testing.T, _ *company, a response) {
		wantRaw(t, a, "/data/found", "true")
		wantRaw(t, a, "/data/profiles", `["pint-ae","bis3"]`)
		if len(a.textAt(t, "/data/looked_up_at")) != len("2006-01-02T15:04:05.000000Z") {
			t.Error("looked up at", a.textAt(t, "/data/looked_up_at"))
		}
	}},
	recipientFound("nobody", `{"scheme":"0088","id":"sandbox-receiver-not-found"}`, "false"),
	recipientFound("one that the provider cannot find in time", `{"scheme":"0235","id":"sandbox-discovery-timed-out"}`,
		"null"),
	recipientFaults("nothing", `{}`, map[string][]string{"scheme": {"required"}, "id": {"required"}}),
	recipientFaults("texts without form", `{"scheme":"235","id":`+repeat(65, "x")+`}`,
		map[string][]string{"scheme": {"pattern"}, "id": {"max_length"}}),
	recipientFaults("a scheme that is not on the list",
		`{"scheme":"9999","id":"1"}`, map[string][]string{"scheme": {"endpoint_scheme_unknown"}}),
	recipientFaults("control characters", `{"scheme":"0235","id":"a\u0007"}`,
		map[string][]string{"id": {"control_characters"}}),
	recipientFaults("another field", `{"scheme":"0235","id":"1","country":"AE"}`,
		map[string][]string{"country": {"unknown_field"}}),
	{name: "no active connection", status: http.StatusConflict, code: api.CodeProviderConnectionRequired,
		prepare: func(t *testing.T, c *company, _ *request) { c.disconnect(t) }},
	{name: "a connection of another environment", status: http.StatusConflict, code: api.CodeProductionNotApproved,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
			c.connect(t, "https://provider.example.com", service.Production)
		}},
}

func recipientFound(name, body, found string) row {
	return row{name: name, status: http.StatusOK, prepare: func(_ *testing.T, _ *company, r *request) { r.body = body },
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/found", found)
			wantRaw(t, a, "/data/profiles", "[]")
		}}
}

func recipientFaults(name, body string, faults map[string][]string) row {
	return row{name: name, status: http.StatusUnprocessableEntity, code: api.CodeValidationFailed,
		prepare: func(_ *testing.T, _ *company, r *request) { r.body = body },
		check:   func(t *testing.T, _ *company, a response) { a.wantFaults(t, api.CodeValidationFailed, faults) }}
}

// TestLookUpOfATroubledProvider makes every misbehaviour happen to a look-up: the answer is that the provider cannot
// say, and nothing of its text appears.
func TestLookUpOfATroubledProvider(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, func(c *service.Config) { c.ProviderTimeout = 10 * time.Second }, lookUpInTrouble)
}

func lookUpInTrouble(t *testing.T, s *system) {
	c := s.connected(t)
	for _, wrong := range []fakeprovider.Misbehaviour{fakeprovider.TooMany, fakeprovider.UnavailableBefore,
		fakeprovider.DropBefore, fakeprovider.DropAfter, fakeprovider.Redirect, fakeprovider.RedirectToService,
		fakeprovider.Silence, fakeprovider.Drip, fakeprovider.HeaderBomb, fakeprovider.Huge, fakeprovider.Garbage,
		fakeprovider.Truncated} {
		if err := s.sandbox.Provider.AddRule(fakeprovider.Rule{PathPrefix: "/v1/recipients", Misbehaviour: wrong,
			Times: 1}); err != nil {
			t.Fatal(err)
		}
		a := c.post(t, recipients, `{"scheme":"0235","id":"1234567890"}`)
		a.want(t, http.StatusOK, "")
		wantRaw(t, a, "/data/found", "null")
		wantRaw(t, a, "/data/profiles", "[]")
		if happened := s.sandbox.Provider.MisbehaviourCounts()[wrong]; happened != 1 {
			t.Errorf("%s happened %d times", wrong, happened)
		}
	}
	a := c.post(t, recipients, `{"scheme":"0235","id":"1234567890"}`)
	wantRaw(t, a, "/data/found", "true")
}

// TestLookUpOfAStranger looks a recipient up at providers that answer in their own way.
func TestLookUpOfAStranger(t *testing.T) {
	onFirst(t, nil, lookUpAtStrangers)
}

func lookUpAtStrangers(t *testing.T, s *system) {
	var answer atomic.Pointer[string]
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !strings.HasSuffix(r.URL.Path, "/recipients/lookup") {
			http.NotFound(w, r)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		if _, err := w.Write([]byte(*answer.Load())); err != nil {
			t.Error(err)
		}
	}))
	defer provider.Close()
	c := s.company(t)
	c.connect(t, provider.URL, service.Sandbox)
	for text, want := range map[string]string{
		`{"found":true,"profiles":["pint-ae","fax"],"name":"Palm"}`: "true",
		`{"found":false,"profiles":[]}`:                             "false",
		`{"found":"yes","profiles":[]}`:                             "null",
		`{"found":true,"found":false,"profiles":[]}`:                "null",
		`{"profiles":[]}`:                                           "null",
		`[]`:                                                        "null",
		``:                                                          "null",
	} {
		answer.Store(&text)
		a := c.post(t, recipients, `{"scheme":"0235","id":"1234567890"}`)
		wantRaw(t, a, "/data/found", want)
		if strings.Contains(a.text, "fax") || strings.Contains(a.text, "Palm") {
			t.Errorf("%s: the response has text of the provider: %s", text, a.text)
		}
	}
}

// TestManyLookUps looks more recipients up at a provider that hangs than one company may: the rest is asked to come
// again, and nobody else waits.
func TestManyLookUps(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	onFirst(t, nil, manyLookUps)
}

func manyLookUps(t *testing.T, s *system) {
	free := make(chan struct{})
	var arrived atomic.Int32
	const enough = 64 // calls that a company alone has at least
	provider := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		arrived.Add(1)
		select {
		case <-free:
		case <-r.Context().Done():
		}
		panic(http.ErrAbortHandler)
	}))
	defer provider.Close()
	end := sync.OnceFunc(func() { close(free) })
	defer end()
	troubled, other := s.company(t), s.connected(t)
	troubled.connect(t, provider.URL, service.Sandbox)
	token := troubled.token(t)
	var unsure, refused atomic.Int32
	var group sync.WaitGroup
	for range 300 {
		group.Go(func() {
			a, err := troubled.try(t.Context(), request{method: http.MethodPost, path: recipients,
				body: `{"scheme":"0235","id":"1"}`, token: token})
			switch {
			case err != nil:
				t.Error(err)
			case a.status == http.StatusOK && a.raw(t, "/data/found") == "null":
				unsure.Add(1)
			case a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != "":
				refused.Add(1)
			default:
				t.Errorf("%d: %.200s", a.status, a.text)
			}
		})
	}
	kit.Until(t, "more calls than the company may have",
		func() bool { return arrived.Load() >= enough && refused.Load() > 0 })
	wantRaw(t, other.post(t, recipients, `{"scheme":"0235","id":"1"}`), "/data/found", "true") // the others still hang
	end()
	group.Wait()
	if unsure.Load() < enough || refused.Load() == 0 || unsure.Load()+refused.Load() != 300 {
		t.Errorf("%d look-ups without an answer, %d refused", unsure.Load(), refused.Load())
	}
}
