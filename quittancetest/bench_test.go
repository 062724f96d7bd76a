package quittancetest_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"quittance/quittancetest"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

// benchClients is how many clients work at once.
const benchClients = 64

// benchItem is one item of a draft.
const benchItem = `{"item_code":"SKU-1001","name":"Consulting","description":"On site, by the hour","unit_code":"HUR","quantity":3,"base_quantity":1,` +
	`"net_unit_price":100.00,"gross_unit_price":110.00,"discount_amount":10.00,"vat_category":"S","vat_rate":5}`

// benchDraft is a complete draft of ten items, with %d for its number.
const benchDraft = `{"invoice_number":"B-%d","recipient_name":"Palm Trading LLC","recipient_network_id":"1234567890","buyer_endpoint_scheme":"0235",` +
	`"buyer_street":"12 Harbour Road","buyer_city":"Dubai","buyer_country":"AE","total_amount":3150.00,"currency":"AED","issue_date":"2026-03-01",` +
	`"due_date":"2026-03-31","payment_means_code":"30","items":[`

// benchServer is a running Quittance and a token of its user.
func benchServer(b *testing.B, engine string) (base, token string) {
	b.Helper()
	var options []quittancetest.Option
	if engine == "postgres" {
		options = append(options, quittancetest.WithDatabase(pgtest.URL(b)))
	}
	s := quittancetest.Start(b, options...)
	body := fmt.Sprintf(`{"email":%q,"password":%q}`, s.Email, s.Password)
	response, err := http.Post(s.BaseURL+"/api/v1/client/auth/login", "application/json", strings.NewReader(body))
	if err != nil {
		b.Fatal(err)
	}
	defer response.Body.Close()
	var login struct{ Data struct{ Token string } }
	if err := json.NewDecoder(response.Body).Decode(&login); err != nil {
		b.Fatal(err)
	}
	return s.BaseURL, login.Data.Token
}

// benchPost posts a body and wants a status; it returns the response.
func benchPost(b *testing.B, client *http.Client, address, token, body string, want int) []byte {
	request, err := http.NewRequestWithContext(b.Context(), http.MethodPost, address, strings.NewReader(body))
	if err != nil {
		b.Error(err)
		return nil
	}
	request.Header.Set("Authorization", "Bearer "+token)
	if body != "" {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := client.Do(request)
	if err != nil {
		b.Error(err)
		return nil
	}
	defer response.Body.Close()
	var text bytes.Buffer
	if _, err := io.Copy(&text, response.Body); err != nil || response.StatusCode != want {
		b.Errorf("status %d, %v: %s", response.StatusCode, err, text.Bytes())
	}
	return text.Bytes()
}

// benchTogether lets the clients do b.N things.
func benchTogether(b *testing.B, do func(client *http.Client, n int64)) {
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: benchClients}}
	defer client.CloseIdleConnections()
	var next atomic.Int64
	var running sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	for range benchClients {
		running.Go(func() {
			for n := next.Add(1); n <= int64(b.N); n = next.Add(1) {
				do(client, n)
			}
		})
	}
	running.Wait()
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "per_s")
	b.StopTimer()
}

// BenchmarkDrafts creates drafts of ten items over HTTP, durably; clients and server share the process.
func BenchmarkDrafts(b *testing.B) {
	items := strings.TrimSuffix(strings.Repeat(benchItem+",", 10), ",") + "]}"
	for _, engine := range ledgertest.Engines() {
		b.Run(engine, func(b *testing.B) {
			base, token := benchServer(b, engine)
			benchTogether(b, func(client *http.Client, n int64) {
				benchPost(b, client, base+"/api/v1/client/invoices", token, fmt.Sprintf(benchDraft, n)+items, http.StatusCreated)
			})
		})
	}
}

// BenchmarkSubmissions submits drafts over HTTP to a provider sandbox; everybody shares the process.
func BenchmarkSubmissions(b *testing.B) {
	items := strings.TrimSuffix(strings.Repeat(benchItem+",", 10), ",") + "]}"
	for _, engine := range ledgertest.Engines() {
		b.Run(engine, func(b *testing.B) {
			base, token := benchServer(b, engine)
			paths := make([]string, b.N+1)
			benchTogether(b, func(client *http.Client, n int64) {
				var response struct{ Data struct{ ID string } }
				if err := json.Unmarshal(benchPost(b, client, base+"/api/v1/client/invoices", token,
					fmt.Sprintf(benchDraft, n)+items, http.StatusCreated), &response); err != nil {
					b.Error(err)
				}
				paths[n] = base + "/api/v1/client/invoices/" + response.Data.ID + "/submit"
			})
			b.StartTimer()
			benchTogether(b, func(client *http.Client, n int64) { benchPost(b, client, paths[n], token, "", http.StatusOK) })
		})
	}
}
