package phossap_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/internal/provider/phossap"
	"quittance/test/kit"
	"quittance/test/providertest"
)

const credential = providertest.Credential

const referenceForm = "0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60"

// open makes an adapter to a server.
func open(t *testing.T, url string) *phossap.Adapter {
	t.Helper()
	p, err := phossap.New(provider.Config{BaseURL: url, Credential: secret.New(credential),
		Timeout: kit.Patience(), Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p
}

func TestConforms(t *testing.T) {
	providertest.Run(t, func(t *testing.T) (provider.Adapter, providertest.Control) {
		point := providertest.StartPhossAP(t, credential)
		return point.Adapter(t, nil), point.Control(t)
	})
}

// TestNamesTheDocument checks that a request names the participants, the document type and the process as Peppol
// identifies them. The sources: for BIS Billing 3.0 the code list of document types (EPredefinedDocumentTypeIdentifier
// of peppol-commons); for PINT the scheme of wildcards without an asterisk, as in the AS4 action of the A-NZ guidance
// note 8, since phase4 looks the receiver up by wildcard for that scheme alone, and never with an asterisk.
func TestNamesTheDocument(t *testing.T) {
	const billing = "urn:fdc:peppol.eu:2017:poacc:billing"
	for _, c := range []struct {
		format                document.Profile
		credit                bool
		documentType, process string
	}{
		{document.BIS3, false,
			"busdox-docid-qns::urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:cen.eu:en16931:2017#compliant#" + billing + ":3.0::2.1", billing + ":01:1.0"},
		{document.BIS3, true,
			"busdox-docid-qns::urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2::CreditNote##urn:cen.eu:en16931:2017#compliant#" + billing + ":3.0::2.1", billing + ":01:1.0"},
		{document.PINTAE, false,
			"peppol-doctype-wildcard::urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##urn:peppol:pint:billing-1@ae-1::2.1", "urn:peppol:bis:billing"},
		{document.PINTAE, true,
			"peppol-doctype-wildcard::urn:oasis:names:specification:ubl:schema:xsd:CreditNote-2::CreditNote##urn:peppol:pint:billing-1@ae-1::2.1", "urn:peppol:bis:billing"},
	} {
		doc := providertest.Rendered(t, c.format, referenceForm)
		sent, err := envelope.Read(doc.Body)
		if err != nil {
			t.Fatal(err)
		}
		if c.credit {
			sent.Document = envelope.NewXMLFile(c.format, providertest.CreditNote(t, c.format))
			if doc.Body, err = sent.Marshal(); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		var body []byte
		server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			got = strings.Split(strings.TrimPrefix(r.URL.Path, "/ap/api/outbound/submit/"), "/")
			got = append(got, r.URL.RawQuery, r.Header.Get("Content-Type"), r.Header.Get("X-Token"),
				r.Header.Get("Authorization"))
			if body, err = io.ReadAll(r.Body); err != nil {
				t.Error(err)
			}
		})
		open(t, server.URL+"/ap/").Submit(t.Context(), doc)
		want := []string{"iso6523-actorid-upis::0235:1357902468", "iso6523-actorid-upis::0235:1234567890", c.documentType,
			"cenbii-procid-ubl::" + c.process, "AE", "sbdhInstanceID=" + referenceForm, "application/xml", credential, ""}
		if !slices.Equal(got, want) || !bytes.Equal(body, sent.Document.Body) {
			t.Errorf("%s, credit note %t: got\n%q\nwant\n%q", c.format, c.credit, got, want)
		}
	}
}

// TestOptions checks the form of the options, and that they replace what the company profile says.
func TestOptions(t *testing.T) {
	kind, _ := adapters.Describe("phoss-ap")
	for _, c := range []struct {
		name, value string
		valid       bool
	}{
		{"sender", "0235:1234567890", true}, {"sender", "9930:de123456789", true},
		{"sender", "iso6523-actorid-upis::0235:1", false}, {"sender", "0235:", false}, {"sender", "0235:1/2", false},
		{"sender", "0235:1 2", false}, {"sender", "", false}, {"country", "AE", true}, {"country", "ae", false},
		{"country", "ARE", false},
		{"mode", "x", false},
	} {
		if err := kind.CheckOptions(map[string]string{c.name: c.value}); (err == nil) != c.valid {
			t.Errorf("option %s=%q: %v", c.name, c.value, err)
		}
	}
	if kind.CheckProfile("") == nil || kind.CheckProfile("bis3") != nil || kind.CheckProfile("pint-ae") != nil {
		t.Error("a connection must name one of the document formats")
	}
	point := providertest.StartPhossAP(t, credential)
	adapter, err := kind.Open(provider.Config{BaseURL: point.URL, Credential: secret.New(credential), Clock: time.Now,
		Options: map[string]string{"sender": "9930:de123456789", "country": "DE"}})
	if err != nil {
		t.Fatal(err)
	}
	adapter.Submit(t.Context(), providertest.Rendered(t, document.BIS3, referenceForm))
	if got := point.Received(); len(got) != 1 || !strings.Contains(got[0],
		"/submit/iso6523-actorid-upis::9930:de123456789/iso6523-actorid-upis::0235:1234567890/") ||
		!strings.Contains(got[0], "/DE?") {
		t.Errorf("received %q", got)
	}
}

// TestSendsOnlyWhatItCanName checks that a document that cannot be addressed is not sent.
func TestSendsOnlyWhatItCanName(t *testing.T) {
	point := providertest.StartPhossAP(t, credential)
	adapter := point.Adapter(t, nil)
	for name, edit := range map[string]func(e *envelope.Envelope){
		"no document":             func(e *envelope.Envelope) { e.Document = nil },
		"no sender":               func(e *envelope.Envelope) { e.Seller.EndpointID = nil },
		"no receiver":             func(e *envelope.Envelope) { e.Invoice.BuyerEndpointScheme = nil },
		"a slash in the receiver": func(e *envelope.Envelope) { e.Invoice.RecipientNetworkID = new("1/2") },
		"no country":              func(e *envelope.Envelope) { e.Seller.Country = nil },
		"another reference":       func(e *envelope.Envelope) { e.Reference = "another" },
		"not UBL": func(e *envelope.Envelope) {
			e.Document = envelope.NewXMLFile(document.BIS3,
				[]byte("<Invoice/>"))
		},
		"not XML": func(e *envelope.Envelope) {
			e.Document = envelope.NewXMLFile(document.BIS3,
				[]byte("%PDF"))
		},
	} {
		doc := providertest.Rendered(t, document.BIS3, referenceForm)
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
	if got := point.Received(); len(got) != 0 {
		t.Errorf("received %q", got)
	}
}

// statuses are the responses that phoss-ap sends, and others that a machine before it could send, with what each
// one says.
var statuses = []struct {
	code                  int
	body                  string
	submit, status, check provider.Kind
	next                  provider.Next // of submit
}{
	// OutboundController.java:259: "Document accepted and sent successfully".
	{200, `{"sbdhInstanceIdentifier":"REF","sendingSuccess":true,"overallSuccess":true}`, provider.Complete,
		provider.Complete, provider.Complete, 0},
	// No version sends it. It does not say that the document was sent.
	{200, `{"sbdhInstanceIdentifier":"REF","overallSuccess":false}`, provider.Inconclusive, provider.Complete,
		provider.Complete, provider.NextStatus},
	{200, `{"sbdhInstanceIdentifier":"another","overallSuccess":true}`, provider.Ambiguous, provider.Complete,
		provider.Complete, 0},
	{200, `{"sbdhInstanceIdentifier":"REF","overallSuccess":"true"}`, provider.Ambiguous, provider.Complete,
		provider.Complete, 0},
	{200, `<html>`, provider.Ambiguous, provider.Complete, provider.Complete, 0},
	// 260-261, 321-372: an identifier is invalid. It is checked before the document is read (383).
	{400, `"Failed to parse the sending participant ID '0235'"`, provider.Refused, provider.Ambiguous, provider.Ambiguous,
		0},
	{400, `"The 'custom1' field exceeds the maximum length of 255 characters"`, provider.Refused, provider.Ambiguous,
		provider.Ambiguous, 0},
	// A 400 that is not the controller's may come from anywhere.
	{400, `<!doctype html><title>HTTP Status 400</title>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{400, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{400, `{"status":400}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	// 262-264: "Missing or invalid API token", by a filter before the controller (ApiTokenFilter.java:54-60).
	{401, `{"error":"Invalid or missing API token"}`, provider.Refused, provider.Refused, provider.Refused, 0},
	// No version sends these. A server before it does, and nothing says whether it has passed the request on.
	{403, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{429, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	// Submit, 265-267: "Sending is disabled in the configuration", before anything else (304-308). Status, 915-917: "No
	// outbound transaction with the given SBDH Instance ID".
	{404, ``, provider.Refused, provider.UnknownReference, provider.Complete, 0},
	// The 404 of Spring, or of a machine at another address.
	{404, `{"status":404,"error":"Not Found"}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{404, `404 page not found`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	// 268, 402-406: the document could not be stored or is invalid, and there is no transaction.
	{422, `"Failed to submit outbound transaction"`, provider.Refused, provider.Ambiguous, provider.Ambiguous, 0},
	// 268, 411-414: the first attempt failed, and the access point may try again; or it was sent and is not in its
	// statistics.
	{422, `{"sbdhInstanceIdentifier":"REF","sendingSuccess":false,"overallSuccess":false}`, provider.Inconclusive,
		provider.Ambiguous, provider.Ambiguous, provider.NextStatus},
	{422, `{"sbdhInstanceIdentifier":"REF","sendingSuccess":true,"overallSuccess":false}`, provider.Inconclusive,
		provider.Ambiguous, provider.Ambiguous, provider.NextStatus},
	{422, `{"sbdhInstanceIdentifier":"REF","overallSuccess":true}`, provider.Inconclusive, provider.Ambiguous,
		provider.Ambiguous, provider.NextStatus},
	{422, `"Failed"`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{422, `{"sbdhInstanceIdentifier":"another","overallSuccess":false}`, provider.Ambiguous, provider.Ambiguous,
		provider.Ambiguous, 0},
	{422, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	// An exception after the transaction exists (1357-1363), or of a machine before the access point.
	{500, `{"status":500}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{502, `<html>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{503, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{504, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{302, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{202, `{}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{204, ``, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{405, `{}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{413, `<html>`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
	{415, `{}`, provider.Ambiguous, provider.Ambiguous, provider.Ambiguous, 0},
}

// TestStatusCodesAreKinds goes over every response that the source of phoss-ap sends.
func TestStatusCodesAreKinds(t *testing.T) {
	for _, c := range statuses {
		server := providertest.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Retry-After", "7")
			w.WriteHeader(c.code)
			fmt.Fprint(w, strings.ReplaceAll(c.body, "REF", referenceForm))
		})
		p := open(t, server.URL)
		submitted := p.Submit(t.Context(), providertest.Rendered(t, document.BIS3, referenceForm))
		status, check := p.Status(t.Context(), provider.Query{Reference: referenceForm}), p.Check(t.Context())
		if submitted.Kind != c.submit || submitted.Next != c.next || status.Kind != c.status || status.Next != 0 ||
			check.Kind != c.check {
			t.Errorf("%d %s: submit %s next %d, status %s, check %s; want %s next %d, %s, %s", c.code, c.body,
				submitted.Kind, submitted.Next, status.Kind, check.Kind, c.submit, c.next, c.status, c.check)
		}
		if submitted.RetryAfter != 7*time.Second || (submitted.Vocabulary != nil) != (c.submit == provider.Complete) {
			t.Errorf("%d %s: retry after %s, vocabulary %v", c.code, c.body, submitted.RetryAfter, submitted.Vocabulary)
		}
	}
}

// TestWords checks every word of the published code lists: the status of the document, whether it is terminal,
// and what it means.
func TestWords(t *testing.T) {
	table := open(t, "http://127.0.0.1:1").Profile().Vocabulary
	for _, c := range []struct {
		word     string
		status   invoice.Status
		terminal bool
		meaning  api.Meaning
	}{
		{"pending", invoice.Processing, false, api.MeaningWaiting},
		{"sending", invoice.Processing, false, api.MeaningWaiting},
		{"failed", invoice.Processing, false, api.MeaningWaiting}, {"sent", invoice.Accepted, true, api.MeaningPositive},
		{"rejected", invoice.Rejected, true, api.MeaningNegative},
		{"permanently_failed", invoice.Rejected, true, api.MeaningNegative},
	} {
		report := readPhoss(t, table, c.word, `"pending"`)
		state := report.States.Stored(invoice.DimensionSubmission)
		if report.Status != c.status || state.Value != c.word || state.Terminal != c.terminal || state.Meaning != c.meaning ||
			report.ProviderReference != "tx-1" {
			t.Errorf("%s: %s, %+v", c.word, report.Status, state)
		}
	}
	for word, meaning := range map[string]api.Meaning{
		"pending": "", "received_ap": api.MeaningPositive, "received_ab": api.MeaningPositive,
		"received_re": api.MeaningNegative, "not_applicable": "", "received_xx": "",
	} {
		report := readPhoss(t, table, "sent", `"`+word+`"`)
		state := report.States.Stored(invoice.DimensionProviderInvoice)
		if state.Value != word || state.Terminal || state.Meaning != meaning || report.Status != invoice.Accepted {
			t.Errorf("%s: %s, %+v", word, report.Status, state)
		}
	}
	report := readPhoss(t, table, "sent", "null")
	for _, dimension := range invoice.Dimensions[1:] {
		if value, _, reported := report.States.Get(dimension); reported {
			t.Errorf("%s has the value %q without a source", dimension, value)
		}
	}
	later := readPhoss(t, table, "archived", "null")
	if state := later.States.Stored(invoice.DimensionSubmission); state.Value != "archived" || state.Terminal ||
		state.Meaning != "" || later.Status != invoice.Processing {
		t.Errorf("a status of a later version: %s, %+v", later.Status, state)
	}
}

// statusBody is the response to a status query. reportingStatus is about the statistics of the network, never a state.
func statusBody(status, mls string) []byte {
	return fmt.Appendf(nil,
		`{"id":"tx-1","transactionType":"business_document","sbdhInstanceID":%q,"status":%q,"attemptCount":1,"reportingStatus":"reported",`+
			`"nextRetryDT":null,"errorDetails":null,"mlsStatus":%s,"custom1":null}`, referenceForm, status, mls)
}

func readPhoss(t *testing.T, table invoice.Vocabulary, status, mls string) invoice.Report {
	t.Helper()
	report, err := invoice.ReadReport(statusBody(status, mls), table)
	if err != nil || report.Reference != referenceForm {
		t.Fatalf("%+v, %v", report, err)
	}
	return report
}

// TestScripts checks what the two steps of a submission find out, in every way in which an access point can
// fare.
func TestScripts(t *testing.T) {
	for script, want := range map[providertest.Script]struct {
		submit provider.Kind
		status string
	}{
		providertest.Sends: {provider.Complete, "sent"}, providertest.SendsUnreported: {provider.Inconclusive, "sent"},
		providertest.FailsOnce:         {provider.Inconclusive, "failed"},
		providertest.FailsForGood:      {provider.Inconclusive, "permanently_failed"},
		providertest.FailsVerification: {provider.Refused, ""}, providertest.LosesResponse: {provider.Ambiguous, "sent"},
	} {
		point := providertest.StartPhossAP(t, credential)
		point.Play(script)
		adapter := point.Adapter(t, nil)
		submitted := adapter.Submit(t.Context(), providertest.Rendered(t, document.BIS3, referenceForm))
		status := adapter.Status(t.Context(), provider.Query{Reference: referenceForm})
		var body struct{ Status string }
		if status.Kind == provider.Complete {
			if err := json.Unmarshal(status.Body, &body); err != nil {
				t.Fatal(err)
			}
		}
		if submitted.Kind != want.submit || body.Status != want.status ||
			(status.Kind == provider.UnknownReference) != (want.status == "") {
			t.Errorf("%q: submit %+v, status %+v", script, submitted, status)
		}
	}
}

// TestArchive checks that a completed document is found after the access point has archived it.
func TestArchive(t *testing.T) {
	point := providertest.StartPhossAP(t, credential)
	adapter := point.Adapter(t, nil)
	adapter.Submit(t.Context(), providertest.Rendered(t, document.BIS3, referenceForm))
	point.Archive()
	response := adapter.Status(t.Context(), provider.Query{Reference: referenceForm})
	if report, err := invoice.ReadReport(response.Body, adapter.Profile().Vocabulary); err != nil ||
		report.Status != invoice.Accepted {
		t.Errorf("%+v: %v", response, err)
	}
}

// TestDoubleIsUnknown checks the trap of the access point: it takes a second document with the same identifier,
// and then says that it has none. The adapter is therefore not idempotent, and a 404 is no reason to send again.
func TestDoubleIsUnknown(t *testing.T) {
	point := providertest.StartPhossAP(t, credential)
	adapter := point.Adapter(t, nil)
	for range 2 {
		adapter.Submit(t.Context(), providertest.Rendered(t, document.BIS3, referenceForm))
	}
	response := adapter.Status(t.Context(), provider.Query{Reference: referenceForm})
	if point.Transactions(referenceForm) != 2 || response.Kind != provider.UnknownReference ||
		adapter.Profile().Idempotent {
		t.Errorf("%d transactions, %+v", point.Transactions(referenceForm), response)
	}
}

func TestRefusesBeforeItReads(t *testing.T) {
	point := providertest.StartPhossAP(t, credential)
	wrong := point.Adapter(t, func(c *provider.Config) { c.Credential = secret.New("another") })
	if response := wrong.Check(t.Context()); response.Kind != provider.Refused ||
		response.HTTPStatus != http.StatusUnauthorized {
		t.Errorf("check with a wrong token: %+v", response)
	}
	elsewhere := point.Adapter(t, func(c *provider.Config) { c.BaseURL += "/elsewhere" })
	if response := elsewhere.Check(t.Context()); response.Kind == provider.Complete {
		t.Errorf("check at a wrong address: %+v", response)
	}
	adapter := point.Adapter(t, nil)
	if response := adapter.Check(t.Context()); response.Kind != provider.Complete {
		t.Errorf("check: %+v", response)
	}
	point.DisableSending()
	if response := adapter.Submit(t.Context(), providertest.Rendered(t, document.BIS3,
		referenceForm)); response.Kind != provider.Refused {
		t.Errorf("sending is disabled: %+v", response)
	}
}

// TestEchoesAreFound checks that a response with the token, in any form that the client knows, is marked.
func TestEchoesAreFound(t *testing.T) {
	server := providertest.Serve(t, func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, `{"sbdhInstanceID":%q,"id":%q,"status":"sent"}`, referenceForm, r.Header.Get("X-Token"))
	})
	p := open(t, server.URL)
	response := p.Status(t.Context(), provider.Query{Reference: referenceForm})
	if !response.Echoed || !p.Profile().EchoesCredential(credential) {
		t.Errorf("%+v", response)
	}
}
