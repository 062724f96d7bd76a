package einvoicebe_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/internal/provider/einvoicebe"
	"quittance/test/kit"
	"quittance/test/providertest"
)

const credential = providertest.Credential

// eInvoiceBE returns an adapter to a stand-in whose every request and response is checked against the provider's
// description.
func eInvoiceBE(t *testing.T,
	edit func(*provider.Config)) (*einvoicebe.Adapter, *providertest.EInvoiceBE, *httptest.Server) {
	t.Helper()
	standIn := providertest.NewEInvoiceBE(credential, time.Now())
	server := httptest.NewServer(described(t, standIn))
	config := provider.Config{BaseURL: server.URL, Credential: secret.New(credential), Timeout: kit.Patience(),
		Clock: time.Now}
	if edit != nil {
		edit(&config)
	}
	adapter, err := einvoicebe.New(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		adapter.Close()
		server.Close()
	})
	return adapter, standIn, server
}

func TestConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) (provider.Adapter, providertest.Control) {
		adapter, standIn, server := eInvoiceBE(t, nil)
		return adapter, providertest.Control{
			Document: providertest.BelgianDocument,
			Advance:  func() { standIn.Move("TRANSIT", "SENT") },
			Refuse:   func(status int) { standIn.Reset(providertest.Fault{Status: status}) },
			Refusals: []int{401},
			Break:    func() { standIn.Reset(providertest.Fault{}) },
			Unreach:  server.Close,
		}
	})
}

// undescribed returns an adapter to a stand-in whose responses may violate the provider's description.
func undescribed(t *testing.T) (*einvoicebe.Adapter, *providertest.EInvoiceBE) {
	t.Helper()
	standIn := providertest.NewEInvoiceBE(credential, time.Now())
	server := httptest.NewServer(standIn)
	adapter, err := einvoicebe.New(provider.Config{BaseURL: server.URL, Credential: secret.New(credential),
		Timeout: kit.Patience(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		adapter.Close()
		server.Close()
	})
	return adapter, standIn
}

// readReport reads a response that must be a report.
func readReport(t *testing.T, adapter provider.Adapter, response provider.Response) invoice.Report {
	t.Helper()
	report, err := invoice.ReadReport(response.Body, adapter.Profile().Vocabulary)
	if err != nil || response.Kind != provider.Complete {
		t.Fatalf("%v: %+v: %s", err, response, response.Body)
	}
	return report
}

// callOperation makes the call that ends with an operation.
func callOperation(t *testing.T, adapter provider.Adapter, operation string) provider.Response {
	t.Helper()
	doc := providertest.BelgianDocument("ref-1")
	if operation == "create" {
		return adapter.Submit(t.Context(), doc)
	}
	prepared := doc
	prepared.ProviderReference = readReport(t, adapter, adapter.Submit(t.Context(), doc)).ProviderReference
	var response provider.Response
	switch operation {
	case "validate", "send":
		response = adapter.Submit(t.Context(), prepared)
	case "get":
		response = adapter.Status(t.Context(), provider.Query{Reference: "ref-1",
			ProviderReference: prepared.ProviderReference})
	case "drafts", "outbox":
		response = adapter.Status(t.Context(), provider.Query{Reference: "ref-1", Body: doc.Body})
	case "participant":
		_, response = adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
	case "me":
		response = adapter.Check(t.Context())
	}
	return response
}

// testOperations are the operations, by their names in the stand-in.
var testOperations = map[string]struct {
	method, path string
	refused      []int // beside 401
}{
	"create": {method: "post", path: "/api/documents/ubl", refused: []int{403, 415, 429}},
	"validate": {method: "post", path: "/api/documents/{document_id}/validate",
		refused: []int{202, 204, 302, 400, 403, 404, 405, 406, 409, 415, 422, 429, 500, 502, 503}},
	"send":        {method: "post", path: "/api/documents/{document_id}/send", refused: []int{400, 404, 406, 409, 422}},
	"get":         {method: "get", path: "/api/documents/{document_id}"},
	"drafts":      {method: "get", path: "/api/drafts/"},
	"outbox":      {method: "get", path: "/api/outbox/"},
	"participant": {method: "get", path: "/api/validate/peppol-id"},
	"me":          {method: "get", path: "/api/me/"},
}

// sentDocument is a part of the provider's OpenAPI document.
type sentDocument struct {
	Paths map[string]map[string]struct {
		Responses map[string]any `json:"responses"`
	} `json:"paths"`
	Components struct {
		Schemas map[string]struct {
			Enum       []string       `json:"enum"`
			Properties map[string]any `json:"properties"`
		} `json:"schemas"`
	} `json:"components"`
}

func readEInvoiceBEDescription(t *testing.T) (description sentDocument) {
	t.Helper()
	text, err := os.ReadFile("testdata/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &description); err != nil {
		t.Fatal(err)
	}
	return description
}

// TestNames checks that the names and codes that the adapter reads are those of the provider's description.
func TestNames(t *testing.T) {
	schemas := readEInvoiceBEDescription(t).Components.Schemas
	properties := slices.Collect(maps.Keys(schemas["DocumentResponse"].Properties))
	for _, name := range []string{"id", "state", "direction", "document_type", "invoice_id", "invoice_date", "currency",
		"invoice_total", "customer_peppol_id", "customer_name", "created_at"} {
		if !slices.Contains(properties, name) {
			t.Errorf("a document has no %s", name)
		}
	}
	description, _ := adapters.Describe("e-invoice-be")
	if !slices.Equal(description.Currencies, schemas["CurrencyCode"].Enum) {
		t.Errorf("currencies %v, want %v", description.Currencies, schemas["CurrencyCode"].Enum)
	}
	vocabulary := description.Vocabularies()[0]
	for _, state := range schemas["DocumentState"].Enum {
		if _, known := vocabulary.Statuses[state]; !known && state != "RECEIVED" {
			t.Errorf("no meaning of the state %s", state)
		}
	}
	if len(vocabulary.Statuses) != len(schemas["DocumentState"].Enum)-1 ||
		len(vocabulary.ProviderInvoice.Meanings) != len(vocabulary.Statuses) {
		t.Error("the table has states that the provider does not have")
	}
	for name, words := range map[string][]string{"DocumentDirection": {"OUTBOUND", "INBOUND"},
		"DocumentType": {"INVOICE", "CREDIT_NOTE"}} {
		for _, word := range words {
			if !slices.Contains(schemas[name].Enum, word) {
				t.Errorf("%s has no %s", name, word)
			}
		}
	}
}

// TestStatuses goes over every status that the provider describes for each operation, and others. A response
// is Refused only if the description says that the document is not sent, and everything that is not described is
// ambiguous.
func TestStatuses(t *testing.T) {
	description := readEInvoiceBEDescription(t)
	undescribedStatuses := []int{202, 204, 302, 400, 401, 403, 404, 405, 406, 409, 415, 422, 429, 500, 502, 503}
	for name, operation := range testOperations {
		responses := description.Paths[operation.path][operation.method].Responses
		if len(responses) < 2 {
			t.Fatalf("%s: %d responses are described", name, len(responses))
		}
		for status := range responses {
			code, err := strconv.Atoi(status)
			if err != nil || code != 200 && code != 201 && !slices.Contains(undescribedStatuses, code) {
				t.Errorf("%s: no row for %s", name, status)
			}
		}
		for _, status := range undescribedStatuses {
			t.Run(fmt.Sprintf("%s %d", name, status), func(t *testing.T) {
				adapter, standIn := undescribed(t)
				standIn.Add(providertest.Fault{Operation: name, Status: status})
				want, next := provider.Ambiguous, provider.NextNone
				switch {
				case status == 401, slices.Contains(operation.refused, status):
					want = provider.Refused
				case name == "send" && status == 405:
					want, next = provider.Inconclusive, provider.NextStatus
				case name == "get" && status == 404:
					want = provider.UnknownReference
				}
				response := callOperation(t, adapter, name)
				if response.Kind != want || response.Next != next || response.HTTPStatus != status {
					t.Errorf("%v and %v by %d, want %v and %v", response.Kind, response.Next, response.HTTPStatus, want, next)
				}
				for _, d := range standIn.Documents() {
					if d.Sent != 0 {
						t.Error("the document was sent")
					}
				}
			})
		}
	}
}

// TestBodies checks responses with the status of success whose body does not follow the description. No such
// body of the validation sends the document.
func TestBodies(t *testing.T) {
	for operation, bodies := range map[string]map[string]provider.Kind{
		"validate": {`{"is_valid":false}`: provider.Refused, `{}`: provider.Ambiguous,
			`{"is_valid":"true"}`: provider.Ambiguous, `[]`: provider.Ambiguous,
			`{"is_valid":true,"is_valid":true}`: provider.Ambiguous},
		"participant": {`{}`: provider.Ambiguous, `{"is_valid":null}`: provider.Ambiguous, `<html>`: provider.Ambiguous},
		"me":          {`{}`: provider.Ambiguous, `<html>`: provider.Ambiguous},
	} {
		for body, want := range bodies {
			adapter, standIn := undescribed(t)
			standIn.Add(providertest.Fault{Operation: operation, Status: 200, Body: body})
			if response := callOperation(t, adapter, operation); response.Kind != want {
				t.Errorf("%s %s: %v, want %v", operation, body, response.Kind, want)
			}
			if operation == "validate" && standIn.Documents()[0].Sent != 0 {
				t.Errorf("sent after %s", body)
			}
		}
	}
	for operation, status := range map[string]int{"create": 415, "send": 409} {
		for body, want := range map[string]provider.Kind{`{"detail":"x"}`: provider.Refused, `<html>`: provider.Ambiguous,
			`{}`: provider.Ambiguous, `{"detail":null}`: provider.Ambiguous} {
			adapter, standIn := undescribed(t)
			standIn.Add(providertest.Fault{Operation: operation, Status: status, Body: body})
			if response := callOperation(t, adapter, operation); response.Kind != want {
				t.Errorf("%s %d %s: %v, want %v", operation, status, body, response.Kind, want)
			}
		}
	}
	for body, operation := range map[string]string{`{"detail":"Not Found"}`: "get", `<html>`: "get",
		`{"detail":["x"]}`: "get"} {
		adapter, standIn := undescribed(t)
		standIn.Add(providertest.Fault{Operation: operation, Status: 404, Body: body})
		if response := callOperation(t, adapter, operation); response.Kind != provider.Ambiguous {
			t.Errorf("404 %s: %v", body, response.Kind)
		}
	}
}

// TestWords reads each word of the provider's schema DocumentState.
func TestWords(t *testing.T) {
	for state, want := range map[string]struct {
		status   invoice.Status
		terminal bool
		meaning  api.Meaning
	}{
		"DRAFT":   {invoice.Unsent, false, api.MeaningWaiting},
		"TRANSIT": {invoice.Processing, false, api.MeaningWaiting},
		"SENT":    {invoice.Accepted, true, api.MeaningPositive},
		"FAILED":  {invoice.Rejected, false, api.MeaningNegative},
	} {
		adapter, standIn, _ := eInvoiceBE(t, nil)
		id := readReport(t, adapter, adapter.Submit(t.Context(), providertest.BelgianDocument("ref-1"))).ProviderReference
		standIn.Move("DRAFT", state)
		response := adapter.Status(t.Context(), provider.Query{Reference: "ref-1", ProviderReference: id})
		report := readReport(t, adapter, response)
		if response.Settled != want.terminal {
			t.Errorf("%s: settled %v", state, response.Settled)
		}
		value, terminal, _ := report.States.Get(invoice.DimensionProviderInvoice)
		if report.Status != want.status || value != state || terminal != want.terminal ||
			report.States.Stored(invoice.DimensionProviderInvoice).Meaning != want.meaning {
			t.Errorf("%s: %+v", state, report)
		}
		for _, silent := range []invoice.Dimension{invoice.DimensionSubmission, invoice.DimensionTaxAuthority,
			invoice.DimensionReceiver} {
			if _, _, reported := report.States.Get(silent); reported {
				t.Errorf("%s: %s is reported without a source", state, silent)
			}
		}
	}
	for _, body := range []string{`{"id":"doc-1","state":"RECEIVED"}`, `{"id":"doc-1","state":"sent"}`, `{"id":"doc-1"}`,
		`{"state":"SENT"}`} {
		if report, err := invoice.ReadReport([]byte(body), (&einvoicebe.Adapter{}).Profile().Vocabulary); err == nil {
			t.Errorf("%s: %+v", body, report)
		}
	}
}

// TestSendsOnce checks that a document whose sending got no response is found under the provider's
// identifier, that sending it again does nothing, and which participants it was sent with.
func TestSendsOnce(t *testing.T) {
	adapter, standIn, server := eInvoiceBE(t, nil)
	hasty, err := einvoicebe.New(provider.Config{BaseURL: server.URL, Credential: secret.New(credential),
		Timeout: 10 * time.Second, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(hasty.Close)
	doc := providertest.BelgianDocument("ref-1")
	doc.ProviderReference = readReport(t, adapter, adapter.Submit(t.Context(), doc)).ProviderReference
	standIn.Add(providertest.Fault{Operation: "send", Times: 1, After: true, Hang: time.Hour})
	if response := hasty.Submit(t.Context(), doc); response.Kind != provider.Ambiguous ||
		response.ErrorClass != provider.ClassTimeout || response.Next != provider.NextNone {
		t.Errorf("%+v", response)
	}
	report := readReport(t, adapter, adapter.Status(t.Context(),
		provider.Query{Reference: "ref-1", ProviderReference: doc.ProviderReference}))
	if report.Status != invoice.Processing {
		t.Errorf("%+v", report)
	}
	again := adapter.Submit(t.Context(), doc)
	if again.Kind != provider.Inconclusive || again.Next != provider.NextStatus {
		t.Errorf("%+v", again)
	}
	documents := standIn.Documents()
	if len(documents) != 1 || documents[0].Sent != 1 || documents[0].Sender != "0208:0765432146" ||
		documents[0].Receiver != "0208:0456789034" {
		t.Errorf("%+v", documents)
	}
}

// TestRequests checks the requests of every call: the credential is in its header alone, and nothing names
// our reference but the file.
func TestRequests(t *testing.T) {
	var got []string
	standIn := providertest.NewEInvoiceBE(credential, time.Now())
	server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		authorization := r.Header.Get("Authorization")
		r.Header.Del("Authorization")
		dump, err := httputil.DumpRequest(r, true)
		if err != nil || bytes.Contains(dump, []byte(credential)) || authorization != "Bearer "+credential {
			t.Errorf("%v: %s", err, dump)
		}
		r.Header.Set("Authorization", authorization)
		got = append(got, r.Method+" "+r.RequestURI)
		standIn.ServeHTTP(w, r)
	})
	adapter, err := einvoicebe.New(provider.Config{BaseURL: server.URL + "/", Credential: secret.New(credential),
		Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(adapter.Close)
	doc := providertest.BelgianDocument("ref-1")
	adapter.Submit(t.Context(), doc)
	adapter.Status(t.Context(), provider.Query{Reference: "ref-1", Body: doc.Body})
	doc.ProviderReference = "../a?b"
	adapter.Submit(t.Context(), doc)
	doc.ProviderReference = "doc-0001"
	adapter.Submit(t.Context(), doc)
	adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
	adapter.Check(t.Context())
	want := []string{
		"POST /api/documents/ubl",
		"GET /api/drafts/?page=1&page_size=100&search=INV-7265662d31",
		"GET /api/outbox/?page=1&page_size=100&search=INV-7265662d31", "GET /api/documents/doc-0001",
		"POST /api/documents/..%2Fa%3Fb/validate",
		"POST /api/documents/doc-0001/validate",
		"POST /api/documents/doc-0001/send?receiver_peppol_id=0456789034&receiver_peppol_scheme=0208&sender_peppol_id=0765432146&sender_peppol_scheme=0208",
		"GET /api/validate/peppol-id?peppol_id=0208%3A0456789034",
		"GET /api/me/",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestHostile checks what a provider may do to every call: echo the credential, ask for a pause, and respond
// with too much.
func TestHostile(t *testing.T) {
	for name := range testOperations {
		adapter, standIn := undescribed(t)
		standIn.Add(providertest.Fault{Operation: name, Status: 503, Body: `{"detail":"` + credential + `"}`,
			Header: http.Header{"Retry-After": {"120"}}})
		if response := callOperation(t, adapter, name); !response.Echoed || response.RetryAfter != 2*time.Minute {
			t.Errorf("%s: %+v", name, response)
		}
		standIn.Reset(providertest.Fault{Operation: name, Status: 200, Body: strings.Repeat(" ", provider.MaxResponse+1)})
		if response := callOperation(t, adapter, name); response.Kind != provider.Ambiguous || !response.Truncated {
			t.Errorf("%s: %v of %d bytes", name, response.Kind, response.Size)
		}
	}
}

// TestRecipient looks participants up.
func TestRecipient(t *testing.T) {
	const invoices = `urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1`
	for body, want := range map[string]struct {
		found bool
		bis3  bool
	}{
		`{"is_valid":true,"supported_document_types":["` + invoices + `"]}`:                     {true, true},
		`{"is_valid":true,"supported_document_types":["busdox-docid-qns::` + invoices + `"]}`:   {true, true},
		`{"is_valid":true,"supported_document_types":["peppol-doctype-wildcard::urn:other"]}`:   {true, false},
		`{"is_valid":true,"supported_document_types":["` + invoices + `#conformant#urn:cius"]}`: {true, false},
		`{"is_valid":true}`:  {true, false},
		`{"is_valid":false}`: {false, false},
		`{"is_valid":false,"supported_document_types":["` + invoices + `"]}`: {false, false},
	} {
		adapter, standIn := undescribed(t)
		standIn.Add(providertest.Fault{Operation: "participant", Status: 200, Body: body})
		recipient, response := adapter.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
		if response.Kind != provider.Complete || recipient.Found == nil || *recipient.Found != want.found ||
			slices.Equal(recipient.Profiles, []string{"bis3"}) != want.bis3 {
			t.Errorf("%s: %+v", body, recipient)
		}
	}
}
