package client_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
)

func TestErrorsOfTheServiceAreReturned(t *testing.T) {
	s, c, _ := start(t)
	s.script = []http.HandlerFunc{write(409,
		`{"error":{"code":"duplicate_invoice_number","message":"Submitted before.","details":{"invoice_id":"invoice-7"},"hint":"new"},"more":1}`,
		"Retry-After", "7", api.HeaderRequestID, "request-9")}
	_, err := c.Submit(t.Context(), "i")
	var response *client.ResponseError
	var said *api.Error
	if !errors.As(err, &response) || !errors.As(err, &said) {
		t.Fatalf("%T: %v", err, err)
	}
	if response.Status != 409 || response.RequestID != "request-9" || response.RetryAfter != 7*time.Second ||
		response.Err != said {
		t.Errorf("%+v", response)
	}
	if said.Code != api.CodeDuplicateInvoiceNumber || said.Message != "Submitted before." ||
		said.Details["invoice_id"] != "invoice-7" {
		t.Errorf("%+v", said)
	}
	if want := "client: POST /api/v1/client/invoices/i/submit: HTTP 409: duplicate_invoice_number: Submitted before. (request request-9)"; err.Error() != want {
		t.Errorf("%v", err)
	}
}

// TestUnreadableResponses checks that a response that does not come from this API is an error with its status, never an
// empty invoice.
func TestUnreadableResponses(t *testing.T) {
	for name, test := range map[string]struct {
		handler http.HandlerFunc
		status  int
		is      error
	}{
		"nothing": {write(200, ""), 200, client.ErrUnreadable},
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(204) }, 204,
			client.ErrUnreadable},
		"a page":               {write(200, "<html>Sign in to this network</html>"), 200, client.ErrUnreadable},
		"no data":              {write(200, `{}`), 200, client.ErrUnreadable},
		"null data":            {write(200, `{"data":null}`), 200, client.ErrUnreadable},
		"null":                 {write(200, `null`), 200, client.ErrUnreadable},
		"other data":           {write(200, `{"data":[1]}`), 200, client.ErrUnreadable},
		"a wrong type":         {write(200, `{"data":{"id":"i","submitted":"yes"}}`), 200, client.ErrUnreadable},
		"two documents":        {write(200, `{"data":{}} {"data":{}}`), 200, client.ErrUnreadable},
		"error in a page":      {write(404, "<html>"), 404, client.ErrUnreadable},
		"error of another API": {write(400, `{"error":"bad"}`), 400, client.ErrUnreadable},
		"error without a code": {write(400, `{"error":{"message":"bad"}}`), 400, client.ErrUnreadable},
		"too large": {write(200, `{"data":{"id":"i"}}`+strings.Repeat(" ", client.MaxResponse)), 200,
			client.ErrTooLarge},
		"error too large": {write(400, strings.Repeat(" ", client.MaxResponse+1)), 400, client.ErrTooLarge},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, _ := start(t)
			s.fallback = test.handler
			got, err := c.Invoice(t.Context(), "i")
			var response *client.ResponseError
			var said *api.Error
			if !errors.As(err, &response) || response.Status != test.status || response.RequestID != "request-1" ||
				!errors.Is(err, test.is) || errors.As(err, &said) {
				t.Fatalf("%v", err)
			}
			if got.ID != "" || got.Submitted || len(s.requests()) != 1 {
				t.Errorf("%+v after %d requests", got, len(s.requests()))
			}
		})
	}
}

func TestResponseAtTheLimitIsRead(t *testing.T) {
	s, c, _ := start(t)
	const text = `{"data":{"id":"i"}}`
	s.fallback = write(200, text+strings.Repeat(" ", client.MaxResponse-len(text)))
	if got, err := c.Invoice(t.Context(), "i"); err != nil || got.ID != "i" {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestUnknownFieldsAreIgnored checks that fields of a newer service, which this library does not know, are ignored.
func TestUnknownFieldsAreIgnored(t *testing.T) {
	s, c, _ := start(t)
	s.fallback = write(200,
		`{"data":{"id":"i","total_amount":10.00,"receiver_state":"brand_new","next":{"x":[1]}},"meta":{}}`)
	got, err := c.Invoice(t.Context(), "i")
	if err != nil || got.ID != "i" || got.TotalAmount.String() != "10.00" || *got.ReceiverState != "brand_new" ||
		got.TaxAuthorityState != nil {
		t.Errorf("%+v, %v", got, err)
	}
}

// TestRedirectsAreNotFollowed checks that redirects, which would send the token or the password to another address, are
// not followed, whatever policy the caller's own HTTP client has.
func TestRedirectsAreNotFollowed(t *testing.T) {
	var strayed atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { strayed.Add(1) }))
	defer elsewhere.Close()
	for _, status := range []int{301, 302, 303, 307, 308} {
		for kind, call := range operations {
			s, waits := newService(t), &sleeps{}
			config := s.configure(waits)
			config.HTTPClient.CheckRedirect = func(*http.Request, []*http.Request) error { return nil }
			c := newClient(t, config)
			redirect := write(status, "", "Location", elsewhere.URL)
			s.atLogin, s.script = []http.HandlerFunc{redirect}, []http.HandlerFunc{redirect}
			for _, at := range []string{"login", "call"} {
				var response *client.ResponseError
				if err := call(t.Context(), c); !errors.As(err, &response) || response.Status != status ||
					!errors.Is(err, client.ErrUnreadable) {
					t.Errorf("%d at the %s of a %s: %v", status, at, kind, err)
				}
			}
			if s.loginRequests() != 2 || len(s.requests()) != 1 {
				t.Errorf("%d: %d logins, %d requests", status, s.loginRequests(), len(s.requests()))
			}
		}
	}
	if n := strayed.Load(); n > 0 {
		t.Errorf("%d requests went to another server", n)
	}
}
