package storecove_test

import (
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/internal/provider/storecove"
	"quittance/test/kit"
	"quittance/test/providertest"
)

const credential = providertest.Credential

const testReference = "0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60"

// open makes an adapter to a server.
func open(t *testing.T, url string, options map[string]string) *storecove.Adapter {
	t.Helper()
	s, err := storecove.New(provider.Config{BaseURL: url, Credential: secret.New(credential), Options: options,
		Timeout: kit.Patience(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

// testOptions are those of the legal entity 4711.
func testOptions() map[string]string { return map[string]string{"legal-entity-id": "4711"} }

func TestConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) (provider.Adapter, providertest.Control) {
		service := providertest.StartStorecove(t, credential)
		return service.Adapter(t), service.Control(t)
	})
}

// TestRequests checks every request byte for byte. Its properties are those of the schemas DocumentSubmission,
// Routing, RoutingIdentifier, SendableDocument, RawDocumentData and DiscoverableParticipant. No "emails" means that the
// provider does not fall back to e-mail: "The email addresses the invoice should be sent to if none of the other
// identifiers can be used".
func TestRequests(t *testing.T) {
	var got []string
	server := providertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, fmt.Sprintf("%s %s %q %t %s", r.Method, r.RequestURI, r.Header.Get("Content-Type"),
			r.Header.Get("Authorization") == "Bearer "+credential, body))
	})
	s := open(t, server.URL+"/api/v2/", testOptions())
	doc := providertest.StorecoveDocument(t, "ref-1")
	sent, err := envelope.Read(doc.Body)
	if err != nil {
		t.Fatal(err)
	}
	s.Submit(t.Context(), doc)
	s.Status(t.Context(), provider.Query{Reference: doc.Reference})
	s.Status(t.Context(), provider.Query{Reference: doc.Reference, ProviderReference: "a/b?c"})
	s.Check(t.Context())
	s.Recipient(t.Context(), provider.Participant{Scheme: "0208", ID: "0456789034"})
	s.Recipient(t.Context(), provider.Participant{Scheme: "0235", ID: "1234567890"})
	want := []string{
		`POST /api/v2/document_submissions "application/json" true {"legalEntityId":4711,"idempotencyGuid":"` +
			doc.Reference +
			`","routing":{"eIdentifiers":[{"scheme":"NO:ORG","id":"987654325"}]},"document":{"documentType":"invoice","rawDocumentData":{"document":"` +
			base64.StdEncoding.EncodeToString(sent.Document.Body) + `","parse":true,"parseStrategy":"ubl"}}}`,
		`GET /api/v2/document_submissions/00000000-0000-0000-0000-000000000000/evidence/sending "" true `,
		`GET /api/v2/document_submissions/a%2Fb%3Fc/evidence/sending "" true `,
		`GET /api/v2/legal_entities/4711 "" true `,
		`POST /api/v2/discovery/receives "application/json" true {"documentTypes":["invoice"],"network":"peppol","metaScheme":"iso6523-actorid-upis","scheme":"BE:EN","identifier":"0456789034"}`,
		`GET /api/v2/legal_entities/4711 "" true `, // the provider has no name of the scheme 0235 that is known here
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Fatalf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestOptions(t *testing.T) {
	kind, _ := adapters.Describe("storecove")
	for _, c := range []struct {
		name, value string
		valid       bool
	}{
		{"legal-entity-id", "4711", true}, {"legal-entity-id", "0", false}, {"legal-entity-id", "007", false},
		{"legal-entity-id", "", false}, {"legal-entity-id", "1e3", false}, {"legal-entity-id", "-1", false},
		{"legal-entity-id", "1/../2", false}, {"legal-entity-id", strings.Repeat("9", 19), false},
		{"schemes", "0235=AE:TIN", true}, {"schemes", "0235=AE:TIN,0088=gln", true}, {"schemes", "", false},
		{"schemes", "0235", false}, {"schemes", "235=AE:TIN", false}, {"schemes", "0235=AE:TIN,", false},
		{"schemes", `0235="`, false}, {"mode", "x", false}, {"webhook-queue", "consume", true}, {"webhook-queue", "", false},
		{"webhook-queue", "yes", false},
	} {
		options := testOptions()
		options[c.name] = c.value
		if err := kind.CheckOptions(options); (err == nil) != c.valid {
			t.Errorf("option %s=%q: %v", c.name, c.value, err)
		}
	}
	if kind.CheckOptions(nil) == nil {
		t.Error("no legal entity is needed")
	}
	if kind.CheckProfile("") == nil || kind.CheckProfile("pint-ae") == nil || kind.CheckProfile("bis3") != nil {
		t.Error("a connection must name the format bis3")
	}
	if kind.Idempotent || kind.CreditNotes || !kind.Purchases || !kind.Recipients {
		t.Errorf("the adapter can do what it cannot: %+v", kind)
	}
}

// TestSchemes checks that schemes have the provider's names, and that an operator can add and replace names.
func TestSchemes(t *testing.T) {
	var got []string
	server := providertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		_, scheme, _ := strings.Cut(string(body), `"scheme":"`)
		scheme, _, _ = strings.Cut(scheme, `"`)
		got = append(got, scheme)
	})
	options := testOptions()
	options["schemes"] = "0235=AE:TIN,0088=gln"
	s := open(t, server.URL, options)
	for _, code := range []string{"0235", "0088", "0106", "0204", "9930", "9901", ""} {
		s.Recipient(t.Context(), provider.Participant{Scheme: code, ID: "1"})
	}
	if want := []string{"AE:TIN", "gln", "NL:KVK", "DE:LWID", "DE:VAT", "", ""}; !slices.Equal(got, want) {
		t.Errorf("schemes %q, want %q", got, want)
	}
}

// TestSendsOnlyWhatItCanCarry checks that a document that cannot be addressed is not sent.
func TestSendsOnlyWhatItCanCarry(t *testing.T) {
	service := providertest.StartStorecove(t, credential)
	adapter := service.Adapter(t)
	for name, edit := range map[string]func(e *envelope.Envelope){
		"no document": func(e *envelope.Envelope) { e.Document = nil },
		"a credit note": func(e *envelope.Envelope) {
			e.Document = envelope.NewXMLFile(document.BIS3, providertest.CreditNote(t, document.BIS3))
		},
		"not XML":           func(e *envelope.Envelope) { e.Document = envelope.NewXMLFile(document.BIS3, []byte("%PDF")) },
		"no receiver":       func(e *envelope.Envelope) { e.Invoice.RecipientNetworkID = nil },
		"an empty receiver": func(e *envelope.Envelope) { e.Invoice.RecipientNetworkID = new("") },
		"no scheme":         func(e *envelope.Envelope) { e.Invoice.BuyerEndpointScheme = nil },
		"an unknown scheme": func(e *envelope.Envelope) { e.Invoice.BuyerEndpointScheme = new("0235") },
		"another reference": func(e *envelope.Envelope) { e.Reference = testReference },
	} {
		doc := providertest.StorecoveDocument(t, "ref-1")
		sent, err := envelope.Read(doc.Body)
		if err != nil {
			t.Fatal(err)
		}
		edit(&sent)
		if doc.Body, err = sent.Marshal(); err != nil {
			t.Fatal(err)
		}
		if response := adapter.Submit(t.Context(), doc); response.Kind != provider.NotSent {
			t.Errorf("%s: %+v", name, response)
		}
	}
	for _, reference := range []string{"", "ref-1", strings.ToUpper(testReference), testReference + "/"} {
		if response := adapter.Status(t.Context(), provider.Query{Reference: reference}); response.Kind != provider.NotSent {
			t.Errorf("%q: %+v", reference, response)
		}
	}
	if got := service.Received(); len(got) != 0 {
		t.Errorf("received %q", got)
	}
}

// statuses are the described responses, and others that a machine before the service could send, with what
// each one says: to the first transmission of a reference, to a later one, to a status query with and without a guid,
// to a check, and to a look-up.
var statuses = []struct {
	code                                           int
	body                                           string
	first, later, known, unknown, check, recipient provider.Kind
}{
	// "Success", with the schema of the operation.
	{200, `{"guid":"G"}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{200, `{"network":"peppol","documents":[{"document":"https://x"}],"evidence":{}}`, provider.Complete,
		provider.Complete, provider.Inconclusive, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous},
	{200, `{"network":"peppol","documents":[]}`, provider.Complete, provider.Complete, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous, provider.Ambiguous},
	{200, `{"id":4711,"party_name":"X"}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous,
		provider.Complete, provider.Ambiguous},
	{200, `{"id":4712,"party_name":"X"}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{200, `{"code":"OK","email":false}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Complete},
	{200, `{"code":"NOK"}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Complete},
	{200, `{"code":"MAYBE"}`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{200, `<html>`, provider.Complete, provider.Complete, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	// "Unauthorized" and "Forbidden", described for each operation; 429 is not described.
	{401, ``, provider.Refused, provider.Refused, provider.Refused, provider.Refused, provider.Refused, provider.Refused},
	{403, ``, provider.Refused, provider.Refused, provider.Refused, provider.Refused, provider.Refused, provider.Refused},
	{429, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	// "Not Found", described for evidence and legal entities, without a schema.
	{404, ``, provider.Ambiguous, provider.Ambiguous, provider.Inconclusive, provider.Inconclusive, provider.Ambiguous,
		provider.Ambiguous},
	{404, `{"error":"Not Found"}`, provider.Ambiguous, provider.Ambiguous, provider.Inconclusive, provider.Inconclusive,
		provider.Ambiguous, provider.Ambiguous},
	{404, ` <!doctype html><title>404</title>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous, provider.Ambiguous},
	// "Unprocessable Entity", described for submissions and discovery: "type: array, items: ErrorModel".
	{422, `[{"source":"document","details":"is invalid"}]`, provider.Refused, provider.Inconclusive, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous, provider.Ambiguous},
	{422, `[]`, provider.Refused, provider.Inconclusive, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{422, `["x"]`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{422, `[{}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{422, `{"errors":[]}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{422, `<html>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{422, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	// Nothing else is described, whatever its body.
	{202, `{"guid":"G"}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{204, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{302, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{400, `[{"details":"x"}]`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{409, `[{"details":"x"}]`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{413, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{500, `[{"details":"x"}]`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, provider.Ambiguous},
	{502, `<html>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{503, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
	{504, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous},
}

// TestStatusCodesAreKinds goes over every described response of every operation.
func TestStatusCodesAreKinds(t *testing.T) {
	for _, c := range statuses {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.code)
			fmt.Fprint(w, c.body)
		})
		s := open(t, server.URL, testOptions())
		doc := providertest.StorecoveDocument(t, "ref-1")
		repeated, taken := doc, doc
		repeated.Repeated, taken.ProviderReference = true, "G"
		recipient, asked := s.Recipient(t.Context(), provider.Participant{Scheme: "0192", ID: "987654325"})
		for name, call := range map[string]struct {
			response provider.Response
			want     provider.Kind
		}{
			"first":     {s.Submit(t.Context(), doc), c.first},
			"later":     {s.Submit(t.Context(), repeated), c.later},
			"taken":     {s.Submit(t.Context(), taken), c.later},
			"known":     {s.Status(t.Context(), provider.Query{Reference: doc.Reference, ProviderReference: "G"}), c.known},
			"unknown":   {s.Status(t.Context(), provider.Query{Reference: doc.Reference}), c.unknown},
			"check":     {s.Check(t.Context()), c.check},
			"recipient": {asked, c.recipient},
		} {
			got := call.response
			if got.Kind != call.want || got.RetryAfter != 7*time.Second || got.HTTPStatus != c.code {
				t.Errorf("%d %s: %s: %s, want %s: %+v", c.code, c.body, name, got.Kind, call.want, got)
			}
			if got.Next != provider.NextNone || got.Settled != (name == "known" && got.Kind == provider.Inconclusive &&
				c.code == 200) {
				t.Errorf("%d %s: %s: %+v", c.code, c.body, name, got)
			}
		}
		if (recipient.Found != nil) != (c.recipient == provider.Complete) || recipient.Found != nil &&
			*recipient.Found != strings.Contains(c.body, `"OK"`) || recipient.Profiles != nil {
			t.Errorf("%d %s: recipient %+v", c.code, c.body, recipient)
		}
	}
}

// TestReport checks that the response to a submission says that the document was taken, and nothing else.
func TestReport(t *testing.T) {
	table := open(t, "http://127.0.0.1:1", testOptions()).Profile().Vocabulary
	report, err := invoice.ReadReport([]byte(`{"guid":"G","status":"accepted","submission_state":"delivered"}`), table)
	if err != nil || report != (invoice.Report{ProviderReference: "G", Status: invoice.Processing}) {
		t.Errorf("%+v, %v", report, err)
	}
	for _, body := range []string{`{}`, `{"guid":null}`, `{"guid":""}`, `{"guid":7}`, `{"guid":["G"]}`, `[{"guid":"G"}]`,
		`{"guid":"G","guid":"H"}`, `<html>`, ``} {
		if report, err := invoice.ReadReport([]byte(body), table); err == nil {
			t.Errorf("%s: %+v", body, report)
		}
	}
}

// TestProcessesAReferenceOnce checks that a repeated document, the first response lost or not, is one document
// at the provider, and that nothing is concluded from the refusal of the repetition.
func TestProcessesAReferenceOnce(t *testing.T) {
	service := providertest.StartStorecove(t, credential)
	adapter := service.Adapter(t)
	doc := providertest.StorecoveDocument(t, "ref-1")
	service.Play(providertest.StorecoveLosesResponse)
	if response := adapter.Submit(t.Context(), doc); response.Kind != provider.Ambiguous {
		t.Errorf("a lost response is %+v", response)
	}
	service.Play(providertest.StorecoveTakes)
	doc.Repeated = true
	if response := adapter.Submit(t.Context(), doc); response.Kind != provider.Inconclusive ||
		response.HTTPStatus != http.StatusUnprocessableEntity {
		t.Errorf("a repetition is %+v", response)
	}
	if taken := service.Taken(doc.Reference); len(taken) != 1 {
		t.Errorf("%d documents", len(taken))
	}
}

// TestStatusKeepsNoKeys checks that no status query requests a legal entity: its responses are retained as
// evidence, and the schema LegalEntity contains the API keys of the account.
func TestStatusKeepsNoKeys(t *testing.T) {
	service := providertest.StartStorecove(t, credential)
	adapter := service.Adapter(t)
	for _, guid := range []string{"", "G"} {
		if response := adapter.Status(t.Context(), provider.Query{Reference: testReference,
			ProviderReference: guid}); strings.Contains(string(response.Body), "key") {
			t.Errorf("%s", response.Body)
		}
	}
	if response := adapter.Check(t.Context()); response.Kind != provider.Complete ||
		!strings.Contains(string(response.Body), "another-key") {
		t.Errorf("the check is %+v", response)
	}
	for _, request := range service.Received()[:2] {
		if strings.Contains(request, "legal_entities") {
			t.Error(request)
		}
	}
}

// TestFollowsItsDescription checks every request of the adapter, and every response of the stand-in, against
// the provider's OpenAPI document, whose path is STORECOVE_OPENAPI. The document is not in this repository, because
// nothing says that it may be copied.
func TestFollowsItsDescription(t *testing.T) {
	file := os.Getenv("STORECOVE_OPENAPI")
	if file == "" {
		t.Skip("STORECOVE_OPENAPI is not set")
	}
	description, err := providertest.ReadDescription(file)
	if err != nil {
		t.Fatal(err)
	}
	service := providertest.StartStorecove(t, credential)
	server := httptest.NewServer(providertest.DescribedBy(t, description, service))
	t.Cleanup(server.Close)
	everyStorecoveCall(t, service, server.URL+"/api/v2")
}

// TestMock makes every call to the stand-in through a proxy that refuses requests and responses which violate
// the provider's OpenAPI document.
func TestMock(t *testing.T) {
	file := os.Getenv("STORECOVE_OPENAPI")
	if os.Getenv("PRISM") == "" || file == "" {
		return // left out on purpose: scripts/provider-mocks runs it
	}
	service := providertest.StartStorecove(t, credential)
	everyStorecoveCall(t, service, providertest.StartPrism(t, "proxy", file, service.BaseURL()))
}

// everyStorecoveCall makes every call of an adapter to a service that has no documents, at a base URL.
func everyStorecoveCall(t *testing.T, service *providertest.Storecove, url string) {
	t.Helper()
	s := open(t, url, testOptions())
	doc := providertest.StorecoveDocument(t, "ref-1")
	taken := s.Submit(t.Context(), doc)
	report, err := invoice.ReadReport(taken.Body, s.Profile().Vocabulary)
	if err != nil {
		t.Fatalf("%v: %+v", err, taken)
	}
	query := provider.Query{Reference: doc.Reference, ProviderReference: report.ProviderReference}
	got := []provider.Kind{taken.Kind, s.Submit(t.Context(), doc).Kind,
		s.Status(t.Context(), provider.Query{Reference: doc.Reference}).Kind, s.Status(t.Context(), query).Kind,
		s.Check(t.Context()).Kind}
	service.Advance()
	got = append(got, s.Status(t.Context(), query).Kind)
	for _, id := range []string{"987654325", "987654326"} {
		_, response := s.Recipient(t.Context(), provider.Participant{Scheme: "0192", ID: id})
		got = append(got, response.Kind)
	}
	got = append(got, takeStorecoveEvents(t, service, storecove.Queue{Adapter: s}, doc.Reference)...)
	want := []provider.Kind{provider.Complete, provider.Refused, provider.Inconclusive, provider.Inconclusive,
		provider.Complete, provider.Inconclusive, provider.Complete, provider.Complete, provider.Complete, provider.Complete,
		provider.Complete, provider.Complete, provider.Complete, provider.Complete, provider.Ambiguous, provider.Complete}
	if !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
}

// takeStorecoveEvents makes every call of the queue: an event about a submission, one that announces a document, an
// empty queue, the deletion of an event that is gone, and a document that does not exist.
func takeStorecoveEvents(t *testing.T, service *providertest.Storecove, q storecove.Queue,
	reference string) (kinds []provider.Kind) {
	t.Helper()
	service.Report(reference, "succeeded")
	service.Receive(service.LegalEntity, []byte("<Invoice/>"))
	for range 2 {
		event, response := q.NextEvent(t.Context())
		kinds = append(kinds, response.Kind)
		if event.Document != nil {
			document, _ := q.EventDocument(t.Context(), event)
			kinds = append(kinds, document.Kind)
		}
		kinds = append(kinds, q.DeleteEvent(t.Context(), event.ID).Kind)
	}
	event, empty := q.NextEvent(t.Context())
	if event != (provider.Event{}) {
		t.Errorf("an empty queue has %+v", event)
	}
	missing, _ := q.EventDocument(t.Context(), provider.Event{Document: &provider.Purchase{ID: testReference}})
	return append(kinds, empty.Kind, missing.Kind, q.DeleteEvent(t.Context(), testReference).Kind)
}
