package site_test

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/drafttest"
	"quittance/test/ledgertest"
)

// TestEveryFieldInTheConsole fills every field of a draft over the API. Whoever edits one field in the console loses
// none of the others; every field is in the list of the API, on the pages and in the files. A print lacks what this
// test says.
func TestEveryFieldInTheConsole(t *testing.T) {
	s := start(t, ledgertest.Engines()[0], true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	d, values := drafttest.Every(t)
	var made api.Invoice
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, &made); status != http.StatusCreated {
		t.Fatalf("create: %d", status)
	}
	path := "/invoices/" + made.ID
	edit := controls(t, v.read(path+"/edit").body)
	edit.Set("buyer_city", "Ajman")
	if got := v.send(path+"/edit", edit, "save"); got.status != http.StatusSeeOther {
		t.Fatalf("edit: %d %v", got.status, notesAt(t, got.body))
	}
	d.BuyerCity, values["buyer_city"] = new("Ajman"), "Ajman"
	if want, got := asJSON(t, d), asJSON(t, s.invoiceAt(t, token, made.ID).Draft); want != got {
		t.Errorf("after an edit of another field the draft is\n%s instead of\n%s", got, want)
	}
	var list []api.InvoiceSummary
	s.api(t, token, http.MethodGet, "/api/v1/client/invoices", nil, &list)
	wantLacking(t, "the list", ofInvoice(values), asJSON(t, list))
	shown := shownValues(values)
	wantLacking(t, "the page", shown, v.read(path).body)
	// What means something to the company alone is not for the buyer.
	wantLacking(t, "the print", shown, v.read(path+"/print").body, "external_id", "transaction_flags")
	wantLacking(t, "the export", ofInvoice(values), v.exportedText("/invoices/export"))
	wantLacking(t, "the export of items", values, v.exportedText("/invoices/export?rows=items"))
}

// exportedText gets a list as a file and returns its text.
func (v *visitor) exportedText(path string) string {
	v.t.Helper()
	var text strings.Builder
	for _, line := range v.exported(path, "csv") {
		text.WriteString(strings.Join(line, "\t") + "\n")
	}
	return text.String()
}

// shownValues returns the values as pages show them: some codes by name, dates in words, and the buyer's address in the
// network as one.
func shownValues(values map[string]string) map[string]string {
	values = maps.Clone(values)
	values["recipient_network_id"] = values["buyer_endpoint_scheme"] + ":" + values["recipient_network_id"]
	delete(values, "buyer_endpoint_scheme")
	values["buyer_subdivision"], values["buyer_country"] = "Dubai", "United Arab Emirates"
	values["payment_means_code"] = "Clearing between partners"
	for name, value := range values {
		if day, err := time.Parse(time.DateOnly, value); err == nil {
			values[name] = day.Format("2 Jan 2006")
		}
	}
	return values
}

// ofInvoice returns the values of the invoice itself, without those of its lists.
func ofInvoice(values map[string]string) map[string]string {
	values = maps.Clone(values)
	maps.DeleteFunc(values, func(name, _ string) bool {
		list, _, _ := strings.Cut(name, ".")
		return slices.Contains([]string{"items", "allowances", "charges", "preceding_invoices"}, list)
	})
	return values
}

// wantLacking checks which fields a text lacks. A value counts as a word of its own, because identifiers and times have
// every short code in them some day.
func wantLacking(t *testing.T, what string, values map[string]string, text string, want ...string) {
	t.Helper()
	var got []string
	for _, name := range slices.Sorted(maps.Keys(values)) {
		word := regexp.MustCompile(`(^|":|[^-:.0-9A-Za-z])` + regexp.QuoteMeta(values[name]) + `($|[^-:.0-9A-Za-z])`)
		if !word.MatchString(text) {
			got = append(got, name)
		}
	}
	slices.Sort(want)
	if !slices.Equal(got, want) {
		t.Errorf("%s lacks %q, and the test says %q", what, got, want)
	}
}

func asJSON(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
