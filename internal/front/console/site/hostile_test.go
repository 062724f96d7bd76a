package site_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// hostile lists texts that try to break pages: markup, attributes, addresses, templates, bidirectional text, and texts
// that are long, invisible or binary.
var hostile = []string{
	`<script>alert(1)</script>`, `</script><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`,
	`"><svg onload=alert(1)>`, `'><b>`,
	`<!--`, `-->`, `<![CDATA[`, `]]>`, `</title><script>`, `</textarea><script>`, `</style><script>`, `</template>`,
	`<base href=//x>`,
	`<meta http-equiv=refresh content=0>`, `<form action=//x>`, `<input autofocus onfocus=alert(1)>`,
	`<iframe srcdoc="<script>">`, `<style>*{display:none}</style>`,
	`<link rel=stylesheet href=//x>`, `<a href="javascript:alert(1)">x</a>`, `javascript:alert(1)`, `JaVaScRiPt:alert(1)`,
	`data:text/html,<script>`, `vbscript:x`,
	`//example.com`, `/\example.com`, `https://example.com/?a=1&b=2`, `" onclick="alert(1)`, `' onclick='alert(1)`,
	"` onclick=`alert(1)", `" style="x:expression(1)`,
	`" hx-get="//example.com" hx-trigger="load`, `" autofocus x="`, `&lt;script&gt;`, `&#60;script&#62;`, `&amp;amp;`, `&`,
	`&notit;`, `%3Cscript%3E`, `{{.Session}}`, `{{template "layout" .}}`, `{{printf "%s" .}}`, `${alert(1)}`, `#{1+1}`,
	`<%= 1 %>`, `%s%s%n%d`, `\u003cscript\u003e`, `\x3cscript\x3e`, `'; drop table invoices; --`, `" or 1=1 --`,
	`..\..\..\etc\passwd`, `../../etc/passwd`, `=cmd|' /C calc'!A0`, "שלום \u202eevil\u202c",
	"\u202e\u202e\u2066الفاتورة رقم", "\u200b\u200d\ufeff", "e" + strings.Repeat("\u0301", 40), "𝕬𝖇𝖈👩‍👩‍👧‍👦🇦🇪",
	strings.Repeat("W", 64), "\u2028line\u2029paragraph", "\ufffd\ufffe", "<\u0131mg src=x>",
	"＜script＞alert(1)＜/script＞",
}

// TestHostileTexts checks that the pages have the same elements and attributes as with plain text, and show the text
// unchanged, whatever an invoice, a profile or a provider response contains.
func TestHostileTexts(t *testing.T) {
	if len(hostile) < 60 {
		t.Fatalf("only %d texts", len(hostile))
	}
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	token := s.token(t, s.email, s.password)
	v := s.loggedIn(t)
	want := map[string]string{}
	for _, text := range append([]string{"early", "plain"}, hostile...) {
		got := shapes(t, s, v, token, text)
		if text == "early" || text == "plain" { // the second: from then on the list has several pages
			want = got
			continue
		}
		for page, shape := range got {
			if shape != want[page] {
				t.Errorf("%q changes %s: %s", text, page, difference(shape, want[page]))
			}
		}
	}
}

// difference returns the first difference of two shapes.
func difference(got, want string) string {
	n := 0
	for n < min(len(got), len(want)) && got[n] == want[n] {
		n++
	}
	from := max(0, n-100)
	return fmt.Sprintf("…%s\nis not\n…%s", got[from:min(len(got), n+200)], want[from:min(len(want), n+200)])
}

// shapes stores a text in all places and returns the shape of every page that shows it.
func shapes(t *testing.T, s *system, v *visitor, token, text string) map[string]string {
	t.Helper()
	d := draft(text, text)
	d.RecipientName, d.BuyerEndpointScheme, d.BuyerStreet, d.BuyerCity, d.BuyerSubdivision, d.PaymentMeansCode = &text,
		&text, &text, &text, &text, &text
	item := &d.Items[0]
	item.ItemCode, item.Name, item.Description, item.UnitCode, item.VATCategory = &text, &text, &text, &text, &text
	var drafted, sent api.Invoice
	for _, into := range []*api.Invoice{&drafted, &sent} {
		if status := s.api(t, token, http.MethodPost, "/api/v1/client/invoices", d, into); status != http.StatusCreated {
			t.Fatalf("%q: %d", text, status)
		}
	}
	s.report(t, sent.ID, text)
	id, err := base.ParseID(s.Info.AccountID)
	kit.Must(t, err)
	kit.Must(t, identity.SetProfile(t.Context(), s.DB(), id, api.Profile{LegalName: &text, Street: &text, City: &text,
		Subdivision: &text, Country: &text, EndpointScheme: &text, EndpointID: &text, TaxRegistrationNumber: &text,
		LegalRegistration: &text, LegalRegistrationType: &text, LegalRegistrationAuthority: &text, PayeeAccount: &text,
		BuyerReference: &text}))
	out := map[string]string{}
	for page, path := range map[string]string{
		"the list": "/invoices?per=2", "a draft": "/invoices/" + drafted.ID, "an invoice": "/invoices/" + sent.ID,
		"the account": "/account",
	} {
		got := v.get(path)
		if got.status != http.StatusOK {
			t.Errorf("%q: %s: %d", text, page, got.status)
		}
		root := parse(t, got.body)
		out[page] = shape(root)
		if count := strings.Count(strings.ReplaceAll(textOf(root), "\u200b", ""),
			strings.ReplaceAll(text, "\u200b", "")); count == 0 {
			t.Errorf("%q is not shown on %s", text, page)
		}
	}
	// The search form contains the search text.
	got := v.get("/invoices?" + "q=" + url.QueryEscape(text) + "&receiver_state=" + url.QueryEscape("is:"+text))
	root := parse(t, got.body)
	out["the search"] = shape(root)
	elements(root, func(node *html.Node) {
		if attribute(node, "id") == "q" && attribute(node, "value") != strings.TrimSpace(text) {
			t.Errorf("%q: the search form contains %q", text, attribute(node, "value"))
		}
	})
	return out
}

// report makes a provider report a text in all four dimensions, as its reference and as the media type of its response,
// whose body is the text as well.
func (s *system) report(t testing.TB, invoiceID, text string) {
	t.Helper()
	id, err := base.ParseID(invoiceID)
	kit.Must(t, err)
	reference := fmt.Sprintf("%s %s", text, invoiceID)
	call, _, err := invoices.BeginSubmission(t.Context(), s.tenant(t), id,
		invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
			Render: func(source invoices.Source) ([]byte, api.Faults, error) {
				number := reference[len(reference)-36:] // numbers of submissions are given once
				source.Draft.InvoiceNumber = &number
				return sentDocument(source.Draft)
			}})
	if duplicate, ok := err.(*invoices.DuplicateNumberError); ok { //nolint:errorlint // as it is returned
		t.Fatalf("%q is already submitted: %v", text, duplicate)
	}
	kit.Must(t, err)
	words, carried := map[invoice.Dimension]invoice.StoredState{}, map[string]string{}
	for _, dimension := range invoice.Dimensions {
		words[dimension], carried[string(dimension)] = invoice.StoredState{Value: text, Terminal: true}, text
	}
	body, err := json.Marshal(map[string]any{"messages": []map[string]string{{"code": text, "text": text}}})
	kit.Must(t, err)
	_, err = call.Record(t.Context(), func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
		return invoices.Decision{Evidence: &invoices.NewEvidence{Call: "submit", HTTPStatus: 200, MediaType: text, Body: body,
			StateValues: carried},
			Responded: true, LastStatus: 200, Outcome: api.OutcomeAcknowledged, ProviderReference: &reference,
			Sequence: new(int64(1)), States: invoice.RestoreStates(words), WriteStates: invoice.Dimensions[:],
			Events: []api.EventKind{api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal}}, nil
	})
	kit.Must(t, err)
}

// shape returns the elements of a page with the names of their attributes, without any text. It omits the choices of
// filters, whose number depends on the reported values, and the positions of line breaks.
func shape(root *html.Node) string {
	var out strings.Builder
	elements(root, func(node *html.Node) {
		if node.Data == "option" || node.Data == "wbr" {
			return
		}
		var names []string
		for _, a := range node.Attr {
			names = append(names, a.Key)
		}
		slices.Sort(names)
		fmt.Fprintf(&out, "<%s %s>", node.Data, strings.Join(names, " "))
	})
	return out.String()
}
