package einvoicebe_test

import (
	"net/http"
	"net/http/httptest"
	"os"
	"sync"
	"testing"
	"time"

	validator "github.com/pb33f/libopenapi-validator"

	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/einvoicebe"
	"quittance/test/providertest"
)

// ownDescription is the provider's own description of the operations that the adapter uses, cut out of its
// OpenAPI document 1.1.0 (api/openapi.json of github.com/e-invoice-be/peppol-cli at db05da8, MIT License) without any
// other change.
var ownDescription = sync.OnceValues(func() (validator.Validator, error) {
	return providertest.ReadDescription("testdata/openapi.json")
})

// described serves with a handler, and fails the test at a request or response that does not follow e-invoice.be's
// description.
func described(t *testing.T, handler http.Handler) http.Handler {
	t.Helper()
	description, err := ownDescription()
	if err != nil {
		t.Fatal(err)
	}
	return providertest.DescribedBy(t, description, handler)
}

func openEInvoiceBE(t *testing.T, url string) *einvoicebe.Adapter {
	t.Helper()
	adapter, err := einvoicebe.New(provider.Config{BaseURL: url, Credential: secret.New(credential),
		Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.Close)
	return adapter
}

// TestMock makes every call to servers that another program makes from the provider's whole OpenAPI document:
// to the stand-in through a proxy that refuses requests and responses which violate the document, and to a mock server
// with random responses.
func TestMock(t *testing.T) {
	description := os.Getenv("E_INVOICE_BE_OPENAPI")
	if description == "" {
		return // left out on purpose: scripts/provider-mocks runs it
	}
	t.Run("proxy", func(t *testing.T) { throughProxy(t, description) })
	t.Run("mock", func(t *testing.T) { againstMock(t, description) })
}

func throughProxy(t *testing.T, description string) {
	standIn := providertest.NewEInvoiceBE(credential, time.Now())
	server := httptest.NewServer(standIn)
	t.Cleanup(server.Close)
	adapter := openEInvoiceBE(t, providertest.StartPrism(t, "proxy", description, server.URL))
	doc := providertest.BelgianDocument("ref-1")
	doc.ProviderReference = readReport(t, adapter, adapter.Submit(t.Context(), doc)).ProviderReference
	readReport(t, adapter, adapter.Status(t.Context(), provider.Query{Reference: doc.Reference, Body: doc.Body}))
	if report := readReport(t, adapter, adapter.Submit(t.Context(), doc)); report.Status != invoice.Processing {
		t.Errorf("%+v", report)
	}
	if again := adapter.Submit(t.Context(), doc); again.Kind != provider.Inconclusive {
		t.Errorf("%v: %s", again.Kind, again.Body)
	}
	readReport(t, adapter, adapter.Status(t.Context(),
		provider.Query{Reference: doc.Reference, ProviderReference: doc.ProviderReference}))
	if missing := adapter.Status(t.Context(), provider.Query{Reference: doc.Reference,
		ProviderReference: "missing"}); missing.Kind != provider.UnknownReference {
		t.Errorf("%v: %s", missing.Kind, missing.Body)
	}
	if recipient, response := adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208",
		ID: "0456789034"}); recipient.Found == nil || !*recipient.Found || len(recipient.Profiles) != 1 {
		t.Errorf("%+v: %s", recipient, response.Body)
	}
	if check := adapter.Check(t.Context()); check.Kind != provider.Complete {
		t.Errorf("%v: %s", check.Kind, check.Body)
	}
	if documents := standIn.Documents(); len(documents) != 1 || documents[0].Sent != 1 {
		t.Errorf("%+v", documents)
	}
}

// againstMock makes each call several times. The mock server refuses a request that violates the description, and
// otherwise responds with random values of the described schema.
func againstMock(t *testing.T, description string) {
	adapter := openEInvoiceBE(t, providertest.StartPrism(t, "mock", "--dynamic", description))
	doc := providertest.BelgianDocument("ref-1")
	prepared := doc
	prepared.ProviderReference = "doc-1"
	for range 10 {
		_, recipient := adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
		for name, response := range map[string]provider.Response{
			"create":    adapter.Submit(t.Context(), doc),
			"send":      adapter.Submit(t.Context(), prepared),
			"get":       adapter.Status(t.Context(), provider.Query{Reference: "ref-1", ProviderReference: "doc-1"}),
			"search":    adapter.Status(t.Context(), provider.Query{Reference: "ref-1", Body: doc.Body}),
			"recipient": recipient,
			"check":     adapter.Check(t.Context()),
		} {
			for _, r := range append(response.Earlier, response) {
				if r.HTTPStatus != 200 && r.HTTPStatus != 201 {
					t.Errorf("%s: %d: %s", name, r.HTTPStatus, r.Body)
				}
			}
			if response.Kind == provider.Ambiguous {
				t.Errorf("%s is %v: %s", name, response.Kind, response.Body)
			}
		}
	}
}
