package fakeprovider_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"

	"quittance/sandbox/fakeprovider"
	"quittance/test/providertest"
)

// ublDocument is a PINT-AE invoice that agrees with [providertest.Document].
func ublDocument(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../../internal/document/testdata/pint-ae/standard.xml")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Replace(string(text), "INV-2026-0001", "INV-1", 1)
}

// withDocument returns a submission with a document; edit changes the member document.
func withDocument(t *testing.T, reference, ubl string, edit func(map[string]any)) string {
	t.Helper()
	whole := decode[map[string]any](t, string(providertest.Document(reference).Body))
	sum := sha256.Sum256([]byte(ubl))
	member := map[string]any{"profile": "pint-ae", "media_type": "application/xml",
		"body_base64": base64.StdEncoding.EncodeToString([]byte(ubl)), "sha256": hex.EncodeToString(sum[:])}
	if edit != nil {
		edit(member)
	}
	whole["document"] = member
	text, err := json.Marshal(whole)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestADocumentIsAcceptedAndKept submits a UBL document: it takes the course of its receiver, the ledger shows its
// digest also after a restart, and a repetition gets the same report.
func TestADocumentIsAcceptedAndKept(t *testing.T) {
	dir, ubl := t.TempDir(), ublDocument(t)
	body := withDocument(t, "ref-1", ubl, nil)
	var first string
	t.Run("first run", func(t *testing.T) {
		s := start(t, dir, nil)
		response, text := s.call("POST", "/v1/documents", body)
		if report := decode[fakeprovider.Report](t, text); response.StatusCode != http.StatusOK ||
			report.Status != "accepted" || len(report.Messages) != 0 {
			t.Fatalf("%d %s", response.StatusCode, text)
		}
		first = text
	})
	s := start(t, dir, nil)
	if _, text := s.call("POST", "/v1/documents", body); text != first {
		t.Errorf("the repetition got %s, not %s", text, first)
	}
	if response, text := s.call("POST", "/v1/documents", withDocument(t,
		"ref-1", strings.Replace(ubl, "COST-7", "COST-8", 1), nil)); response.StatusCode != http.StatusConflict {
		t.Errorf("another document under the reference got %d %s", response.StatusCode, text)
	}
	_, text := s.call("GET", "/control/ledger/ref-1", "")
	entry := decode[struct {
		fakeprovider.LedgerDocument
		Body json.RawMessage `json:"body"`
	}](t, text)
	sum := sha256.Sum256([]byte(ubl))
	want := fakeprovider.LedgerAttachment{MediaType: "application/xml", SHA256: hex.EncodeToString(sum[:]), Size: len(ubl),
		Profile: "pint-ae"}
	if entry.Document == nil || *entry.Document != want || string(entry.Body) != body {
		t.Errorf("the ledger has %+v", entry)
	}
}

// TestADocumentIsJudged submits documents with faults: each is rejected by the rules of its format, or because it
// disagrees with the invoice.
func TestADocumentIsJudged(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	ubl := ublDocument(t)
	for name, c := range map[string]struct{ from, to, code string }{
		"rule": {"  <cbc:DueDate>2026-03-31</cbc:DueDate>\n", "", "ibr-127-ae"},
		"sum": {`<cbc:TaxInclusiveAmount currencyID="AED">1050.00`, `<cbc:TaxInclusiveAmount currencyID="AED">1050.01`,
			"ibr-co-15"},
		"format":   {"ae-1<", "xx-1<", "PROFILE"},
		"hostile":  {"<Invoice ", "<!DOCTYPE Invoice><Invoice ", "XML"},
		"size":     {"</Invoice>", "</Invoice>" + strings.Repeat(" ", 10<<20), "XML"},
		"number":   {"INV-1", "INV-2", "SANDBOX-MISMATCH"},
		"receiver": {"1234567890", "1234567891", "SANDBOX-MISMATCH"},
		"scheme":   {`schemeID="0235">1234567890`, `schemeID="0088">4012345000009`, "SANDBOX-MISMATCH"},
		"currency": {"AED<", "USD<", "SANDBOX-MISMATCH"},
		"total":    {">1050.00<", ">1060.00<", "SANDBOX-MISMATCH"},
	} {
		changed := strings.ReplaceAll(ubl, c.from, c.to)
		if changed == ubl {
			t.Fatalf("%s: the document has no %s", name, c.from)
		}
		response, text := s.call("POST", "/v1/documents", withDocument(t, "ref-"+name, changed, nil))
		report := decode[fakeprovider.Report](t, text)
		found := false
		for _, m := range report.Messages {
			found = found || m.Code == c.code && m.Text != ""
		}
		if response.StatusCode != http.StatusOK || report.Status != "rejected" || !found || report.Discovery != nil {
			t.Errorf("%s: %d %s", name, response.StatusCode, text)
		}
		if state := report.States["submission_state"]; state.Value != "rejected_by_provider" || !state.Terminal ||
			state.Meaning != "negative" || len(report.States) != 1 {
			t.Errorf("%s: %+v", name, report.States)
		}
	}
}

// TestADocumentWithWhiteSpace submits a document whose number has runs of white space, which the invoice has too.
func TestADocumentWithWhiteSpace(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for _, number := range []string{"  INV  1 ", "INV\u20281"} {
		body := withDocument(t, "ref-"+strconv.Itoa(len(number)),
			strings.ReplaceAll(ublDocument(t), ">INV-1<", ">"+number+"<"), nil)
		response, text := s.call("POST", "/v1/documents", strings.Replace(body, `"invoice_number":"INV-1"`,
			`"invoice_number":"`+number+`"`, 1))
		if report := decode[fakeprovider.Report](t, text); response.StatusCode != http.StatusOK ||
			report.Status != "accepted" {
			t.Errorf("%q: %d %s", number, response.StatusCode, text)
		}
	}
}

// TestADocumentOfAnotherFormat submits a document under the name of another format.
func TestADocumentOfAnotherFormat(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	response, text := s.call("POST", "/v1/documents", withDocument(t, "ref-1", ublDocument(t),
		func(m map[string]any) { m["profile"] = "bis3" }))
	if report := decode[fakeprovider.Report](t, text); response.StatusCode != http.StatusOK ||
		report.Status != "rejected" || len(report.Messages) != 1 || report.Messages[0].Code != "SANDBOX-MISMATCH" {
		t.Errorf("%d %s", response.StatusCode, text)
	}
}

// TestADocumentThatDidNotArrive submits documents that are not what was sent: they are refused and not kept.
func TestADocumentThatDidNotArrive(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	ubl := ublDocument(t)
	for name, edit := range map[string]func(map[string]any){
		"digest":     func(m map[string]any) { m["sha256"] = strings.Repeat("0", 64) },
		"no digest":  func(m map[string]any) { delete(m, "sha256") },
		"base64":     func(m map[string]any) { m["body_base64"] = "PEludm9pY2U" + "!" },
		"no bytes":   func(m map[string]any) { m["body_base64"] = "" },
		"media type": func(m map[string]any) { m["media_type"] = "application/pdf" },
		"no type":    func(m map[string]any) { delete(m, "media_type") },
	} {
		response, text := s.call("POST", "/v1/documents", withDocument(t, "ref-1", ubl, edit))
		wantError(t, response, text, http.StatusUnprocessableEntity, "invalid_document")
		if t.Failed() {
			t.Fatal(name)
		}
	}
	response, text := s.call("POST", "/v1/documents", withDocument(t, "ref-1", ubl+strings.Repeat(" ", 13<<20), nil))
	wantError(t, response, text, http.StatusRequestEntityTooLarge, "payload_too_large")
	if documents := s.Ledger().Documents(); len(documents) != 0 {
		t.Errorf("the ledger has %+v", documents)
	}
}
