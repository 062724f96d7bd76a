package server_test

import (
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"quittance/client/api"
	"quittance/internal/ops/service"
)

// part returns the body of a partial credit note of an invoice.
func part(invoice, items string) string {
	return edit(edit(credit(invoice), "kind", `"partial"`), "items", items)
}

// TestCreditNotes follows the credit notes of an invoice from the first to one that credits the whole invoice again.
func TestCreditNotes(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c := s.company(t)
		invoice, another := c.draft(t, c.numbered("")), c.draft(t, c.numbered(""))
		first := c.post(t, creditNotes, part(invoice, `[{"position":0,"quantity":2.50}]`))
		first.want(t, http.StatusCreated, "")
		created := first.raw(t, "/data/created_at")
		for pointer, want := range map[string]string{"invoice_id": fmt.Sprintf("%q", invoice), "credit_note_number": `"CN-1"`,
			"issue_date": `"2026-03-15"`, "reason": `"Returned\tgoods"`, "kind": `"partial"`, "currency": `"AED"`,
			"total_amount": "262.50", "submitted": "false", "voided_at": "null", "updated_at": created,
			"items": `[{"position":0,"name":"Consulting","unit_code":"HUR","quantity":2.50,"net_amount":250.00,"vat_category":"S","vat_rate":5}]`} {
			wantRaw(t, first, "/data/"+pointer, want)
		}
		second := c.post(t, creditNotes, part(invoice, `[{"position":0,"net_amount":750}]`))
		second.want(t, http.StatusCreated, "")
		wantRaw(t, second, "/data/total_amount", "787.50")
		wantRaw(t, second, "/data/items/0/quantity", "null")
		c.post(t, creditNotes, part(invoice, `[{"position":0,"net_amount":0.01}]`)).
			wantFaults(t, api.CodeValidationFailed, map[string][]string{"items[0].net_amount": {"exceeds_line"}})
		c.post(t, creditNotes, credit(another)).want(t, http.StatusCreated, "")

		one := creditNotes + "/" + first.textAt(t, "/data/id")
		if got := c.get(t, one); got.text != first.text {
			t.Errorf("created %s\nread    %s", first.text, got.text)
		}
		list := c.get(t, creditNotes+"?invoice_id="+invoice+"&per_page=1&page=2")
		wantSummary(t, list.raw(t, "/data/0"), first.raw(t, "/data"))
		wantRaw(t, list, "/pagination", `{"current_page":2,"per_page":1,"last_page":2,"has_more":false,"total":2}`)
		wantSummary(t, c.get(t, creditNotes).raw(t, "/data/1"), second.raw(t, "/data"))

		void := c.post(t, one+"/void", "")
		void.want(t, http.StatusOK, "")
		if at := void.raw(t, "/data/voided_at"); at == "null" || at != void.raw(t, "/data/updated_at") {
			t.Errorf("voided as %s", void.text)
		}
		for _, again := range []response{c.post(t, one+"/void", "{}"), c.get(t, one)} {
			if again.status != http.StatusOK || again.text != void.text {
				t.Errorf("voided %s\nlater  %s", void.text, again.text)
			}
		}
		c.post(t, creditNotes, credit(invoice)).wantFaults(t, api.CodeValidationFailed,
			map[string][]string{"kind": {"exceeds_invoice"}})
		c.post(t, creditNotes+"/"+second.textAt(t, "/data/id")+"/void", "").want(t, http.StatusOK, "")
		full := c.post(t, creditNotes, credit(invoice))
		full.want(t, http.StatusCreated, "")
		wantRaw(t, full, "/data/total_amount", "1050.00")
		wantRaw(t, full, "/data/items/0/quantity", "10")
		c.post(t, one+"/submit", "").want(t, http.StatusConflict, api.CodeCreditNoteSubmissionDisabled)
	})
}

// TestCreditNoteFaults checks every rule of every field of a credit note, and the path under which its faults are
// reported.
func TestCreditNoteFaults(t *testing.T) {
	s := start(t, "sqlite", nil)
	c := s.company(t)
	body := part(c.draft(t, c.numbered("")), `[{"position":0,"net_amount":0.01}]`)
	faults := append(textFaults("credit_note_number", 64, true), reasonFaults()...)
	faults = append(faults, textFaults("reason_code", 64, false)...)
	faults = append(faults,
		fault{path: "invoice_id", value: "", rules: "required"}, fault{path: "invoice_id", value: "null", rules: "required"},
		fault{path: "invoice_id", value: `" "`, rules: "required"}, fault{path: "invoice_id", value: "7", rules: "type"},
		fault{path: "invoice_id", value: `"a\u0000"`, rules: "control_characters"},
		fault{path: "issue_date", value: "", rules: "required"}, fault{path: "issue_date", value: `"2026-02-29"`,
			rules: "date"}, fault{path: "issue_date", value: `"2024-02-29"`},
		fault{path: "kind", value: "", rules: "required"}, fault{path: "kind", value: `"Full"`, rules: "enum"},
		fault{path: "kind", value: "1", rules: "type"},
		fault{path: "kind", value: `"full"`, rules: "not_allowed", at: "items"},
		fault{path: "items", value: "", rules: "required"}, fault{path: "items", value: "null", rules: "required"},
		fault{path: "items", value: "[]", rules: "min_items"}, fault{path: "items", value: "{}", rules: "type"},
		fault{path: "items", value: "[" + strings.Repeat("{},", 1000) + "{}]", rules: "max_items"},
		fault{path: "items[0].position", value: "", rules: "required"},
		fault{path: "items[0].position", value: "-1", rules: "minimum"},
		fault{path: "items[0].position", value: "0.5", rules: "type"},
		fault{path: "items[0].position", value: "1", rules: "position"},
		fault{path: "items[0].position", value: "999999999999999999", rules: "position"},
		fault{path: "items[0].net_amount", value: "", rules: "one_of", at: "items[0]"},
		fault{path: "items[0].net_amount", value: "0", rules: "sign"},
		fault{path: "items[0].net_amount", value: "-1", rules: "sign"}, fault{path: "items[0].net_amount", value: "0.001",
			rules: "minor_unit"}, fault{path: "items[0].net_amount", value: "0.010"},
		fault{path: "items[0].net_amount", value: "1000.01", rules: "exceeds_line"}, fault{path: "items[0].net_amount",
			value: `"1"`}, fault{path: "items[0].net_amount", value: `"1000.01"`, rules: "exceeds_line"},
		fault{path: "items[0].net_amount", value: `"one"`, rules: "type"},
		fault{path: "items[0].net_amount", value: `"0.001"`, rules: "minor_unit"},
		fault{path: "items[0]", value: `{"position":0,"quantity":1,"net_amount":1}`, rules: "one_of"},
		fault{path: "items[0]", value: `{"position":0,"quantity":0.001}`},
		fault{path: "items[0]", value: `{"position":0,"quantity":10.01}`, rules: "exceeds_line", at: "items[0].quantity"},
		fault{path: "items[0]", value: `{"position":0,"quantity":-1}`, rules: "sign", at: "items[0].quantity"},
		fault{path: "items", value: `[{"position":0,"quantity":1},{"position":0,"quantity":1}]`, rules: "position",
			at: "items[1].position"},
		fault{path: "items[0]", value: `{"position":0,"quantity":1,"name":"x"}`, rules: "unknown_field", at: "items[0].name"},
	)
	for _, f := range faults {
		t.Run(f.path+"="+f.value[:min(40, len(f.value))], func(t *testing.T) {
			a := c.post(t, creditNotes, edit(body, f.path, f.value))
			if f.rules == "" {
				a.want(t, http.StatusCreated, "")
				c.post(t, creditNotes+"/"+a.textAt(t, "/data/id")+"/void", "").want(t, http.StatusOK, "")
				return
			}
			at := f.at
			if at == "" {
				at = f.path
			}
			a.wantFaults(t, api.CodeValidationFailed, map[string][]string{at: strings.Split(f.rules, ",")})
		})
	}
}

// reasonFaults returns the cases for the reason, a text that allows TAB, LF and CR.
func reasonFaults() []fault {
	faults := textFaults("reason", 1024, true)
	return append(faults, fault{path: "reason", value: `"a\tb\r\nc"`})
}

// TestCreditNoteFaultsAreReportedTogether checks that one response reports the invalid fields together with the amounts
// that exceed the invoice. Amounts are not checked while kind or items are invalid.
func TestCreditNoteFaultsAreReportedTogether(t *testing.T) {
	s := start(t, "sqlite", nil)
	c := s.company(t)
	body := part(c.draft(t, c.numbered("")), `[{"position":0,"net_amount":1000.01},{"position":7,"quantity":1}]`)
	taken := map[string][]string{"items[0].net_amount": {"exceeds_line"}, "items[1].position": {"position"}}
	form := map[string][]string{"credit_note_number": {"required"}, "issue_date": {"date"}, "no_such": {"unknown_field"}}
	broken := edit(edit(edit(body, "credit_note_number", ""), "issue_date", `"tomorrow"`), "no_such", "1")
	both := maps.Clone(form)
	maps.Copy(both, taken)
	c.post(t, creditNotes, body).wantFaults(t, api.CodeValidationFailed, taken)
	c.post(t, creditNotes, broken).wantFaults(t, api.CodeValidationFailed, both)
	alone := maps.Clone(form)
	alone["kind"] = []string{"enum"}
	c.post(t, creditNotes, edit(broken, "kind", `"half"`)).wantFaults(t, api.CodeValidationFailed, alone)
	alone = maps.Clone(form)
	alone["items[1].position"] = []string{"type"}
	c.post(t, creditNotes, edit(broken, "items[1].position", `"7"`)).wantFaults(t, api.CodeValidationFailed, alone)
	wantRaw(t, c.get(t, creditNotes), "/data", "[]")
}

// TestCreditNotesAreNotSent checks that no operation on credit notes sends a document to the provider.
func TestCreditNotesAreNotSent(t *testing.T) {
	s := start(t, "sqlite", nil)
	c := s.company(t)
	var documents atomic.Int32
	provider := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasPrefix(r.URL.Path, "/v1/purchases") { // polled independently of credit notes
			_, err := w.Write([]byte(`{"purchases":[],"next_cursor":"","has_more":false}`))
			if err != nil {
				t.Error(err)
			}
			return
		}
		documents.Add(1)
		w.WriteHeader(http.StatusServiceUnavailable)
	}))
	t.Cleanup(provider.Close)
	c.connect(t, provider.URL, service.Sandbox)
	for range 5 {
		one := creditNotes + "/" + aCreditNote(t, c)["credit_note_id"]
		c.post(t, one+"/submit", "").want(t, http.StatusConflict, api.CodeCreditNoteSubmissionDisabled)
		c.post(t, one+"/void", "").want(t, http.StatusOK, "")
		wantRaw(t, c.get(t, one), "/data/submitted", "false")
	}
	if n := documents.Load(); n != 0 {
		t.Errorf("the provider was called %d times", n)
	}
}
