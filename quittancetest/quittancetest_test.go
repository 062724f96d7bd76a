package quittancetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"testing"
	"time"

	"quittance/internal/pgtest"
	"quittance/internal/store/storetest"
	"quittance/quittancetest"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(onCluster{m}) }

// onCluster runs the tests of this package beside a PostgreSQL cluster, if one is wanted.
type onCluster struct{ m *testing.M }

func (c onCluster) Run() int { return pgtest.Run(c.m) }

const draft = `{"invoice_number":"INV-1","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890","buyer_endpoint_scheme":"0235",
	"buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_country":"AE","total_amount":105.00,"currency":"AED","issue_date":"2026-03-01",
	"due_date":"2026-03-31","payment_means_code":"30","items":[{"name":"Consulting","unit_code":"HUR","quantity":1,"net_unit_price":100,"vat_category":"S","vat_rate":5}]}`

// session is somebody who is logged in.
type session struct {
	base, token string
	client      *http.Client
}

// call sends a request, wants a status and returns the data of the answer.
func (s *session) call(t *testing.T, method, path, body string, want int) map[string]any {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, s.base+path, bytes.NewBufferString(body))
	if err != nil {
		t.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	if s.token != "" {
		request.Header.Set("Authorization", "Bearer "+s.token)
	}
	response, err := s.client.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	if response.StatusCode != want {
		t.Fatalf("%s %s answered %d, want %d: %s", method, path, response.StatusCode, want, text)
	}
	var out struct {
		Data map[string]any `json:"data"`
	}
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatalf("%s %s: %v in %s", method, path, err, text)
	}
	return out.Data
}

// login logs the first user in.
func login(t *testing.T, s *quittancetest.Server, password string) *session {
	t.Helper()
	transport := &http.Transport{Proxy: nil}
	t.Cleanup(transport.CloseIdleConnections)
	in := &session{base: s.BaseURL, client: &http.Client{Timeout: 2 * time.Minute, Transport: transport}}
	data := in.call(t, http.MethodPost, "/api/v1/client/auth/login", fmt.Sprintf(`{"email":%q,"password":%q}`, s.Email, password), http.StatusOK)
	in.token, _ = data["token"].(string)
	return in
}

// TestStart: a test gets a whole service, whose provider reports all four states and whose receiver gets the callbacks; and
// a second one on the same data directory goes on where the first one ended.
func TestStart(t *testing.T) {
	for _, engine := range storetest.Engines() {
		t.Run(engine, func(t *testing.T) {
			options := quittancetest.Options{Data: t.TempDir(), Pace: time.Millisecond}
			if engine == storetest.Postgres {
				options.Database = pgtest.URL(t)
			}
			first := quittancetest.Start(t, options)
			user := login(t, first, first.Password)
			user.call(t, http.MethodPost, "/api/v1/webhooks/subscriptions", fmt.Sprintf(`{"url":%q,"events":["einvoice.terminal"]}`, first.ReceiverURL), http.StatusCreated)
			created := user.call(t, http.MethodPost, "/api/v1/client/invoices", draft, http.StatusCreated)
			path := fmt.Sprint("/api/v1/client/invoices/", created["id"])
			user.call(t, http.MethodPost, path+"/submit", "", http.StatusOK)
			wait(t, "the terminal callback", func() bool { return len(first.Callbacks()) == 1 })
			read := user.call(t, http.MethodGet, path, "", http.StatusOK)
			for _, state := range []string{"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state"} {
				if read[state] == nil {
					t.Errorf("%s is null after the terminal event", state)
				}
			}
			first.Stop()

			second := quittancetest.Start(t, options)
			if second.BaseURL != first.BaseURL || second.AccountID != first.AccountID || second.Email != first.Email || second.Password != "" {
				t.Errorf("the second start is another service: %+v after %+v", second, first)
			}
			again := user.call(t, http.MethodGet, path, "", http.StatusOK) // with the old token
			if d := cmp.Diff(read, again); d != "" {
				t.Errorf("the invoice after a restart (-before +after):\n%s", d)
			}
			login(t, second, first.Password)
		})
	}
}

// TestApart: two services of one test share nothing.
func TestApart(t *testing.T) {
	one, two := quittancetest.Start(t, quittancetest.Options{}), quittancetest.Start(t, quittancetest.Options{})
	if one.BaseURL == two.BaseURL || one.Password == two.Password || one.Email == two.Email || one.ProviderCredential == two.ProviderCredential || one.Data == two.Data {
		t.Errorf("two services have something in common: %+v %+v", one, two)
	}
	user := login(t, one, one.Password)
	user.base = two.BaseURL
	user.call(t, http.MethodGet, "/api/v1/client/account", "", http.StatusUnauthorized)
}

// wait waits until done.
func wait(t *testing.T, what string, done func() bool) {
	t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); !done(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("%s did not happen", what)
		}
	}
}
