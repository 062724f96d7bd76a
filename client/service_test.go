package client_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
)

const (
	email    = "owner@example.com"
	password = "correct horse battery staple"
	tokens   = "token-that-nobody-may-see-"
)

// exchange is a request that has arrived.
type exchange struct {
	method, path, query, key, authorization, contentType, userAgent, body string
}

// service is a small Quittance over real HTTP. It implements tokens and Idempotency-Keys, and misbehaves as
// its script says.
type service struct {
	*httptest.Server
	mu       sync.Mutex
	logins   int // those that got a token
	revoked  int // tokens up to this number are revoked
	effects  int // the number of drafts and subscriptions created
	keys     map[string]api.Data[api.NewSubscription]
	arrived  []exchange
	script   []http.HandlerFunc // responses to the next requests except logins; nil means the usual one
	atLogin  []http.HandlerFunc // the same for logins
	fallback http.HandlerFunc   // responds to all requests except logins after the end of the script
}

func newService(t interface{ Cleanup(func()) }) *service {
	s := &service{keys: map[string]api.Data[api.NewSubscription]{}}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

func (s *service) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler)
	}
	r.Body = io.NopCloser(strings.NewReader(string(body)))
	w.Header().Set(api.HeaderRequestID, "request-1")
	s.mu.Lock()
	s.arrived = append(s.arrived, exchange{r.Method, r.URL.EscapedPath(), r.URL.RawQuery, r.Header.Get("Idempotency-Key"),
		r.Header.Get("Authorization"), r.Header.Get("Content-Type"), r.Header.Get("User-Agent"), string(body)})
	isLogin := r.URL.Path == "/api/v1/client/auth/login"
	queue := &s.script
	if isLogin {
		queue = &s.atLogin
	}
	var next http.HandlerFunc
	if len(*queue) > 0 {
		next, *queue = (*queue)[0], (*queue)[1:]
	} else if !isLogin {
		next = s.fallback
	}
	s.mu.Unlock()
	switch {
	case next != nil:
		next(w, r)
	case isLogin:
		s.login(w, body)
	default:
		s.serve(w, r)
	}
}

func (s *service) login(w http.ResponseWriter, body []byte) {
	var sent api.LoginRequest
	if err := json.Unmarshal(body, &sent); err != nil || *sent.Email != email || *sent.Password != password {
		refuse(401, api.CodeInvalidCredentials)(w, nil)
		return
	}
	s.mu.Lock()
	s.logins++
	token := fmt.Sprint(tokens, s.logins)
	s.mu.Unlock()
	response(w, 200, api.Data[api.Login]{Data: api.Login{Token: token, User: api.LoginUser{Email: email}}})
}

// serve responds as the API does.
func (s *service) serve(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	var number int
	if _, err := fmt.Sscanf(r.Header.Get("Authorization"), "Bearer "+tokens+"%d", &number); err != nil ||
		number <= s.revoked || number > s.logins {
		refuse(401, api.CodeUnauthenticated)(w, r)
		return
	}
	if r.Method != http.MethodPost || strings.HasSuffix(r.URL.Path, "/submit") {
		submitted := r.Method == http.MethodPost
		response(w, 200, api.Data[api.Invoice]{Data: api.Invoice{ID: "invoice-1", Submitted: submitted}})
		return
	}
	key := r.Header.Get("Idempotency-Key")
	made, replayed := s.keys[key]
	if !replayed || key == "" {
		s.effects++
		made.Data.ID = fmt.Sprint("made-", s.effects)
		s.keys[key] = made
		made.Data.Secret = "whsec_1"
	}
	response(w, 201, made)
}

func response(w http.ResponseWriter, status int, body any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	if err := json.NewEncoder(w).Encode(body); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// refuse responds with an error of the API.
func refuse(status int, code api.Code, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < len(header); n += 2 {
			w.Header().Set(header[n], header[n+1])
		}
		response(w, status, api.ErrorBody{Error: api.Error{Code: code, Message: "No.",
			Details: map[string]any{"invoice_id": "invoice-7"}}})
	}
}

// write responds with any text.
func write(status int, text string, header ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for n := 0; n < len(header); n += 2 {
			w.Header().Set(header[n], header[n+1])
		}
		w.WriteHeader(status)
		if _, err := io.WriteString(w, text); err != nil {
			panic(http.ErrAbortHandler)
		}
	}
}

// drop closes the connection without an effect of the request.
func drop(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// dropAfter processes the request and closes the connection without a response.
func (s *service) dropAfter(_ http.ResponseWriter, r *http.Request) {
	s.serve(httptest.NewRecorder(), r)
	panic(http.ErrAbortHandler)
}

// truncate processes the request and closes the connection in the middle of the response.
func (s *service) truncate(w http.ResponseWriter, r *http.Request) {
	recorder := httptest.NewRecorder()
	s.serve(recorder, r)
	w.Header().Set("Content-Length", fmt.Sprint(recorder.Body.Len()))
	w.WriteHeader(recorder.Code)
	if _, err := w.Write(recorder.Body.Bytes()[:recorder.Body.Len()/2]); err != nil {
		panic(http.ErrAbortHandler)
	}
	panic(http.ErrAbortHandler)
}

// requests returns the requests that have arrived, except logins.
func (s *service) requests() (list []exchange) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, e := range s.arrived {
		if !strings.HasSuffix(e.path, "/auth/login") {
			list = append(list, e)
		}
	}
	return list
}

// loginRequests returns the number of logins that have arrived, including failed ones.
func (s *service) loginRequests() int {
	requests := len(s.requests())
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.arrived) - requests
}

// made returns the number of drafts and subscriptions created.
func (s *service) made() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effects
}

// revoke revokes the tokens up to a number.
func (s *service) revoke(upTo int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revoked = upTo
}

// sleeps records the waits of a client, which take no time.
type sleeps struct {
	mu    sync.Mutex
	waits []time.Duration
}

func (s *sleeps) sleep(ctx context.Context, d time.Duration) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.waits = append(s.waits, d)
	return ctx.Err()
}

// configure returns the configuration of a client of the service whose waits take no time and have no jitter. Its
// connections are used once, because net/http itself repeats requests if a reused connection is closed.
func (s *service) configure(waits *sleeps) client.Config {
	return client.Config{BaseURL: s.URL, Email: email, Password: password, Sleep: waits.sleep,
		Jitter:     func() float64 { return 0.5 },
		HTTPClient: &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}}
}

func newClient(t testing.TB, config client.Config) *client.Client {
	t.Helper()
	c, err := client.New(config)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// start returns a service, a client of it, and the client's waits.
func start(t *testing.T) (*service, *client.Client, *sleeps) {
	t.Helper()
	s, waits := newService(t), &sleeps{}
	return s, newClient(t, s.configure(waits)), waits
}
