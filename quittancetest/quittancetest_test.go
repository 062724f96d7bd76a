package quittancetest_test

import (
	"errors"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/quittancetest"
	"quittance/test/kit"
	"quittance/test/kit/leaks"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"

	"github.com/google/go-cmp/cmp"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(func() int { return pgtest.Run(m) })) }

// draft returns a complete draft for a recipient.
func draft(number, recipient string) api.Draft {
	amount := func(text string) *api.Decimal { return new(api.MustDecimal(text)) }
	return api.Draft{InvoiceNumber: &number, RecipientName: new("Palm Trading LLC"), RecipientNetworkID: &recipient,
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerCountry: new("AE"), Currency: new("AED"), IssueDate: new("2026-03-01"), DueDate: new("2026-03-31"),
		PaymentMeansCode: new("30"), TotalAmount: amount("105.00"),
		Items: []api.Item{{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: amount("1"),
			NetUnitPrice: amount("100.00"), VATCategory: new("S"), VATRate: amount("5")}}}
}

// submit creates and submits a draft for a recipient.
func submit(t *testing.T, s *quittancetest.Server, number, recipient string) api.Invoice {
	t.Helper()
	created, err := s.Client().CreateInvoice(t.Context(), draft(number, recipient))
	if err != nil {
		t.Fatal(err)
	}
	submitted, err := s.Client().Submit(t.Context(), created.ID)
	if err != nil {
		t.Fatal(err)
	}
	return submitted
}

// invoice reads an invoice.
func invoice(t *testing.T, s *quittancetest.Server, id string) api.Invoice {
	t.Helper()
	read, err := s.Client().Invoice(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	return read
}

// on returns the option for a database of an engine.
func on(t *testing.T, engine string) quittancetest.Option {
	t.Helper()
	if engine == ledgertest.Postgres {
		return quittancetest.WithDatabase(pgtest.URL(t))
	}
	return quittancetest.WithDatabase("sqlite:" + t.TempDir() + "/quittance.db")
}

// TestStart: a test gets a whole service, whose provider reports all four states and whose receiver gets the callbacks;
// and a second one on the same data directory goes on where the first one ended.
func TestStart(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			options := []quittancetest.Option{quittancetest.WithData(t.TempDir()), quittancetest.WithPace(time.Millisecond),
				on(t, engine)}
			first := quittancetest.Start(t, options...)
			if _, err := first.Client().CreateSubscription(t.Context(),
				api.SubscriptionRequest{URL: &first.ReceiverURL, Events: []string{string(api.EventTerminal)}}); err != nil {
				t.Fatal(err)
			}
			id := submit(t, first, "INV-1", "1234567890").ID
			first.WaitForCallback(func(c quittancetest.Callback) bool { return c.Event == string(api.EventTerminal) })
			read := invoice(t, first, id)
			if !client.Final(read) {
				t.Errorf("not final after the terminal event: %+v", read)
			}
			first.Stop()

			second := quittancetest.Start(t, options...)
			if second.BaseURL != first.BaseURL || second.AccountID != first.AccountID || second.Email != first.Email ||
				second.APIKey != first.APIKey || second.Password != "" {
				t.Errorf("the second start is another service: %+v after %+v", second, first)
			}
			if d := cmp.Diff(read, invoice(t, second, id),
				cmp.Comparer(func(a, b api.Decimal) bool { return a == b })); d != "" {
				t.Errorf("the invoice after a restart (-before +after):\n%s", d)
			}
			second.Password = first.Password
			if account, err := logIn(t, second).Account(t.Context()); err != nil || account.ID != first.AccountID {
				t.Errorf("log in: %+v, %v", account, err)
			}
		})
	}
}

// ownClient returns an HTTP client that keeps no connection after the test.
func ownClient(t *testing.T) *http.Client {
	transport := &http.Transport{Proxy: nil}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: kit.Patience()}
}

// TestApart: two services of one test share nothing.
func TestApart(t *testing.T) {
	one, two := quittancetest.Start(t), quittancetest.Start(t)
	if one.BaseURL == two.BaseURL || one.APIKey == two.APIKey || one.Password == two.Password || one.Email == two.Email ||
		one.ProviderCredential == two.ProviderCredential || one.Data == two.Data {
		t.Errorf("two services have something in common: %+v %+v", one, two)
	}
	stranger, err := client.New(client.Config{BaseURL: two.BaseURL, APIKey: one.APIKey, HTTPClient: ownClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	_, err = stranger.Account(t.Context())
	if response := new(client.ResponseError); !errors.As(err, &response) || response.Status != http.StatusUnauthorized {
		t.Errorf("the key of the other service: %v", err)
	}
}

// logIn returns a client that logs in as the first user.
func logIn(t *testing.T, s *quittancetest.Server) *client.Client {
	t.Helper()
	user, err := client.New(client.Config{BaseURL: s.BaseURL, Email: s.Email, Password: s.Password,
		HTTPClient: ownClient(t)})
	if err != nil {
		t.Fatal(err)
	}
	return user
}

// statusWith returns the status of a call with a token.
func statusWith(t *testing.T, s *quittancetest.Server, token string) int {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.BaseURL+"/api/v1/client/account",
		http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	response, err := ownClient(t).Do(request)
	if err != nil {
		t.Fatal(err)
	}
	if err := response.Body.Close(); err != nil {
		t.Fatal(err)
	}
	return response.StatusCode
}

// deliveriesOf asks for the deliveries of a subscription.
func deliveriesOf(subscription string) client.DeliveryQuery {
	return client.DeliveryQuery{SubscriptionID: subscription}
}

// observed is a test that records whether it has failed in place of failing.
type observed struct {
	testing.TB
	failed bool
}

// Fatal and Fatalf end the goroutine, as those of [testing.T] do.
func (o *observed) Fatal(...any) { o.Fatalf("") }

func (o *observed) Fatalf(string, ...any) {
	o.failed = true
	runtime.Goexit()
}
