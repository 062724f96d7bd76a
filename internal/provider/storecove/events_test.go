package storecove_test

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/internal/provider/storecove"
	"quittance/test/kit"
	"quittance/test/providertest"
)

// openStorecoveQueue opens a connection's adapter with the option that makes it consume the queue.
func openStorecoveQueue(t *testing.T, url string) storecove.Queue {
	t.Helper()
	kind, _ := adapters.Describe("storecove")
	options := testOptions()
	options["webhook-queue"] = "consume"
	adapter, err := kind.Open(provider.Config{BaseURL: url, Credential: secret.New(credential), Options: options,
		Timeout: kit.Patience(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	queue, ok := adapter.(storecove.Queue)
	if !ok {
		t.Fatalf("%T has no queue", adapter)
	}
	t.Cleanup(queue.Close)
	return queue
}

// TestQueue runs the conformance suite over an adapter that consumes the queue, and checks that one without
// the option does not.
func TestQueue(t *testing.T) {
	providertest.Run(t, func(t *testing.T) (provider.Adapter, providertest.Control) {
		service := providertest.StartStorecove(t, credential)
		return openStorecoveQueue(t, service.BaseURL()), service.Control(t)
	})
	kind, _ := adapters.Describe("storecove")
	adapter, err := kind.Open(provider.Config{BaseURL: "http://127.0.0.1:1", Credential: secret.New(credential),
		Options: testOptions(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, consumes := adapter.(provider.EventQueue); consumes {
		t.Error("a connection without the option consumes the queue")
	}
}

// TestEventRequests checks the requests of the queue.
func TestEventRequests(t *testing.T) {
	var got []string
	server := providertest.Serve(t, func(_ http.ResponseWriter, r *http.Request) {
		got = append(got, fmt.Sprintf("%s %s %t", r.Method, r.RequestURI,
			r.Header.Get("Authorization") == "Bearer "+credential))
	})
	q := openStorecoveQueue(t, server.URL+"/api/v2")
	q.NextEvent(t.Context())
	q.DeleteEvent(t.Context(), "a/../b")
	q.EventDocument(t.Context(), provider.Event{Document: &provider.Purchase{ID: testReference}})
	// another company's is not requested
	q.EventDocument(t.Context(), provider.Event{Recipient: "4712", Document: &provider.Purchase{ID: testReference}})
	want := []string{"GET /api/v2/webhook_instances/ true", "DELETE /api/v2/webhook_instances/a%2F..%2Fb true",
		"GET /api/v2/purchase_invoices/" + testReference + "/ubl/original true"}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

// TestEvents checks what is read of an event. Its identifier is needed to delete it; what it is about is read
// only in the form that is known.
func TestEvents(t *testing.T) {
	const guid, other = "E1B0c6e5-2222-4333-8444-000000000001", "8a4b0c6e-1111-4222-8333-000000000001"
	instance := func(body string) string { return fmt.Sprintf(`{"guid":%q,"body":%q}`, guid, body) }
	for _, c := range []struct {
		status               int
		body                 string
		kind                 provider.Kind
		id, reference, named string
		document, recipient  string
	}{
		{200, instance(`{"event_type":"document_submission","event":"succeeded","guid":"` + other + `","idempotencyGuid":"` +
			testReference + `"}`), provider.Complete, guid, testReference, other, "", ""},
		{200, instance(`{"event_type":"document_submission","event":"succeeded","guid":"` + other + `"}`), provider.Complete,
			guid, "", other, "", ""},
		{200, instance(`{"event_type":"document_submission","guid":"` + other + `","idempotencyGuid":"x"}`),
			provider.Complete, guid, "", "", "", ""},
		{200, instance(`{"event_type":"document_submission","idempotencyGuid":"` + testReference + `"}`),
			provider.Complete, guid, "", "", "", ""},
		{200, instance(`{"event_type":"document_submission","guid":7}`), provider.Complete, guid, "", "", "", ""},
		{200, instance(`{"event_type":"received_document","document_guid":"` + other + `"}`), provider.Complete, guid,
			"", "", other, ""},
		{200, instance(`{"event_type":"received_document","document_guid":"` + other + `","legal_entity_id":4712}`),
			provider.Complete, guid, "", "", other, "4712"},
		{200, instance(`{"event_type":"received_document","document_guid":"` + other + `","legal_entity_id":"4712"}`),
			provider.Complete, guid, "", "", other, "4712"},
		{200, instance(`{"event_type":"received_document","document_guid":"../x"}`), provider.Complete, guid, "", "", "", ""},
		{200, instance(`{"guid":"` + other + `"}`), provider.Complete, guid, "", "", "", ""},
		{200, instance(`[]`), provider.Complete, guid, "", "", "", ""},
		{200, `{"guid":"` + guid + `"}`, provider.Complete, guid, "", "", "", ""},
		{200, `{"guid":"` + guid + `","body":{"event_type":"document_submission","guid":"` + other + `"}}`, provider.Complete,
			guid, "", "", "", ""},
		{200, `{"guid":"x","body":"{}"}`, provider.Ambiguous, "", "", "", "", ""},
		{200, `{"guid":"` + guid + `","guid":"` + other + `","body":"{}"}`, provider.Ambiguous, "", "", "", "", ""},
		{200, `{"body":"{}"}`, provider.Ambiguous, "", "", "", "", ""},
		{200, `[]`, provider.Ambiguous, "", "", "", "", ""},
		{200, `<html>`, provider.Ambiguous, "", "", "", "", ""},
		{204, ``, provider.Complete, "", "", "", "", ""},
		{401, ``, provider.Refused, "", "", "", "", ""},
		{404, ``, provider.Ambiguous, "", "", "", "", ""},
		{429, ``, provider.Ambiguous, "", "", "", "", ""},
		{500, instance(`{}`), provider.Ambiguous, "", "", "", "", ""},
	} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.WriteHeader(c.status)
			if c.status != http.StatusNoContent {
				fmt.Fprint(w, c.body)
			}
		})
		event, response := openStorecoveQueue(t, server.URL).NextEvent(t.Context())
		document := ""
		if event.Document != nil {
			document = event.Document.ID
			if again := adapters.ReadPurchase([]byte(c.body)); again.ID != document || string(again.Raw) != c.body {
				t.Errorf("%s: read again as %+v", c.body, again)
			}
		}
		if response.Kind != c.kind || event.ID != c.id || event.Reference != c.reference ||
			event.ProviderReference != c.named || document != c.document || event.Recipient != c.recipient {
			t.Errorf("%d %s: %s %+v", c.status, c.body, response.Kind, event)
		}
	}
}

// TestEventReports checks which state each word of an event sets, and that the report is in the string of the
// response.
func TestEventReports(t *testing.T) {
	read := func(name, event string) (invoice.Report, error) {
		table, published := adapters.PublishedVocabulary(name)
		if !published {
			t.Fatalf("no table %s", name)
		}
		return invoice.ReadReport(fmt.Appendf(nil, `{"guid":"W","body":%q}`, event), table)
	}
	for word, want := range map[string]invoice.Dimension{
		"succeeded": invoice.DimensionProviderInvoice, "failed": invoice.DimensionProviderInvoice,
		"no_action_taken": invoice.DimensionProviderInvoice, "cleared": invoice.DimensionTaxAuthority,
		"accepted": invoice.DimensionReceiver, "rejected": invoice.DimensionReceiver, "paid": invoice.DimensionReceiver,
		"under_query": invoice.DimensionReceiver, "started": "", "SUCCEEDED": "", "undeliverable": "",
	} {
		report, err := read("storecove/event/1", fmt.Sprintf(`{"event":%q,"guid":"G","idempotencyGuid":"R"}`, word))
		if err != nil || report.Reference != "R" || report.ProviderReference != "G" || report.Status != invoice.Processing {
			t.Errorf("%s: %+v, %v", word, report, err)
		}
		for _, dimension := range invoice.Dimensions {
			value, final, reported := report.States.Get(dimension)
			if reported != (dimension == want) || reported && value != word ||
				final != (reported && (word == "succeeded" || word == "failed")) {
				t.Errorf("%s: %s is %q, final %t", word, dimension, value, final)
			}
		}
	}
	if report, err := read("storecove/event-by-guid/1", `{"event":"succeeded","guid":"G"}`); err != nil ||
		report.ProviderReference != "G" {
		t.Errorf("%+v, %v", report, err)
	}
	for _, event := range []string{`{"event":"succeeded","guid":"G"}`, `{"event":7,"guid":"G","idempotencyGuid":"R"}`,
		`{}`, `[]`, `"x"`, ``, `{"guid":"G","guid":"G","idempotencyGuid":"R"}`} {
		if report, err := read("storecove/event/1", event); err == nil {
			t.Errorf("%s: %+v", event, report)
		}
	}
}

// TestEventDocuments checks that a document is taken out of its package only for the legal entity of the
// connection.
func TestEventDocuments(t *testing.T) {
	text := base64.StdEncoding.EncodeToString([]byte("<Invoice/>"))
	for _, c := range []struct {
		body, recipient string
		kind            provider.Kind
		foreign         bool
	}{
		{`{"legal_entity_id":4711,"ubl":"` + text + `"}`, "", provider.Complete, false},
		{`{"legal_entity_id":"4711","ubl":"` + text + `"}`, "", provider.Complete, false},
		{`{"ubl":"` + text + `"}`, "4711", provider.Complete, false},
		{`{"ubl":"` + text + `"}`, "", provider.Ambiguous, true},
		{`{"legal_entity_id":4712,"ubl":"` + text + `"}`, "", provider.Ambiguous, true},
		{`{"legal_entity_id":4712,"ubl":"` + text + `"}`, "4711", provider.Ambiguous, true},
		{`{"legal_entity_id":4711}`, "", provider.Ambiguous, false},
		{`{"legal_entity_id":4711,"ubl":"!"}`, "", provider.Ambiguous, false},
		{`{"legal_entity_id":4711,"legal_entity_id":4711,"ubl":"` + text + `"}`, "", provider.Ambiguous, false},
		{`<Invoice/>`, "", provider.Ambiguous, false},
	} {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, c.body) })
		response, foreign := openStorecoveQueue(t, server.URL).EventDocument(t.Context(),
			provider.Event{Recipient: c.recipient, Document: &provider.Purchase{ID: "D"}})
		if response.Kind != c.kind || foreign != c.foreign ||
			(c.kind == provider.Complete) != (string(response.Body) == "<Invoice/>" && response.Size == 10 &&
				response.MediaType == "application/xml") {
			t.Errorf("%s for %q: foreign %t, %+v", c.body, c.recipient, foreign, response)
		}
	}
	large := base64.StdEncoding.EncodeToString(make([]byte, provider.MaxPurchaseDocument+1))
	server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprintf(w, `{"legal_entity_id":4711,"ubl":%q}`, large)
	})
	response, _ := openStorecoveQueue(t, server.URL).EventDocument(t.Context(),
		provider.Event{Document: &provider.Purchase{ID: "D"}})
	if response.Kind != provider.Complete || response.Body != nil || !response.Truncated ||
		response.Size != provider.MaxPurchaseDocument+1 || response.SHA256 == "" {
		t.Errorf("a large document is %+v", response)
	}
}

// TestEventEcho checks that an event or a document that contains the credential is marked.
func TestEventEcho(t *testing.T) {
	server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.Contains(r.URL.Path, "purchase_invoices") {
			fmt.Fprintf(w, `{"legal_entity_id":4711,"ubl":%q}`,
				base64.StdEncoding.EncodeToString([]byte("<Invoice>"+credential+"</Invoice>")))
			return
		}
		fmt.Fprintf(w, `{"guid":%q,"body":%q}`, testReference,
			fmt.Sprintf(`{"event_type":"received_document","document_guid":%q,"tenant_id":%q}`, testReference, credential))
	})
	q := openStorecoveQueue(t, server.URL)
	event, response := q.NextEvent(t.Context())
	if !response.Echoed || event.Document == nil || !event.Document.Echoed || event.Document.ID != testReference {
		t.Fatalf("%+v of %+v", event, response)
	}
	if document, _ := q.EventDocument(t.Context(), event); document.Kind != provider.Complete || !document.Echoed {
		t.Errorf("%+v", document)
	}
}
