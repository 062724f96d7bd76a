package site_test

import (
	"maps"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/test/ledgertest"
)

// TestSaveAndSubmit checks that one request saves a draft and submits it, and that repeated ones, from a double click,
// the back button or a reload, create no second draft and send nothing again.
func TestSaveAndSubmit(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Millisecond)
			v, token := s.loggedIn(t), s.token(t, s.email, s.password)
			form := complete("INV-1")
			form.Set("key", controls(t, v.read("/invoices/new").body).Get("key"))
			if form.Get("key") == "" {
				t.Fatal("a new form has no key")
			}
			var first string
			for range 3 {
				got := v.send("/invoices/new", form, "submit")
				path, query, _ := strings.Cut(got.header.Get("Location"), "?")
				if got.status != http.StatusSeeOther || query != "notice=good.submitted" {
					t.Fatalf("save and submit: %d %s %v", got.status, query, notesAt(t, got.body))
				}
				if first == "" {
					first = path
				}
				if path != first {
					t.Errorf("the same form leads to %s and to %s", first, path)
				}
			}
			id := strings.TrimPrefix(first, "/invoices/")
			if found := s.invoiceAt(t, token, id); !found.Submitted || s.count(t) != 1 {
				t.Errorf("submitted: %v, %d invoices", found.Submitted, s.count(t))
			}
			if page := v.read(first + "?notice=good.submitted"); !strings.Contains(page.body, "Submitted.") {
				t.Error("the page of the invoice does not say what happened")
			}
			// Another form with the same number is refused before it is saved.
			other := complete("INV-1")
			got := v.send("/invoices/new", other, "submit")
			if at := notesAt(t, got.body)["invoice_number"]; got.status != http.StatusUnprocessableEntity ||
				!strings.Contains(at, "already submitted") || s.count(t) != 1 {
				t.Errorf("a used number: %d %q, %d invoices", got.status, at, s.count(t))
			}
			// A draft that was saved by the same form, but not submitted, is submitted.
			draft := complete("INV-2")
			draft.Set("key", "k2")
			saved := v.created(draft)
			got = v.send("/invoices/new", draft, "submit")
			if !strings.HasPrefix(got.header.Get("Location"), "/invoices/"+saved+"?notice=good.submitted") || s.count(t) != 2 {
				t.Errorf("saved before: %d %s, %d invoices", got.status, got.header.Get("Location"), s.count(t))
			}
		})
	}
}

// TestEditAndSubmit checks that an edited draft is saved and submitted with one request, which can be repeated, and
// that nobody's change is overwritten by it.
func TestEditAndSubmit(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	id := v.created(complete("INV-1"))
	path := "/invoices/" + id + "/edit"
	form := controls(t, v.read(path).body)
	form.Set("buyer_city", "Ajman")
	stale := maps.Clone(form)
	stale["buyer_city"] = []string{"Sharjah"}
	for range 3 {
		if got := v.send(path, form, "submit"); got.header.Get("Location") != "/invoices/"+id+"?notice=good.submitted" {
			t.Fatalf("save and submit: %d %s %v", got.status, got.header.Get("Location"), notesAt(t, got.body))
		}
	}
	if got := v.send(path, stale, "submit"); got.status != http.StatusConflict {
		t.Errorf("another edit of the old version: %d", got.status)
	}
	var submissions []map[string]any
	s.api(t, token, http.MethodGet, "/api/v1/client/invoices/"+id+"/submissions", nil, &submissions)
	if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Ajman" || len(submissions) != 1 {
		t.Errorf("%s, %d submissions", *found.BuyerCity, len(submissions))
	}
}

// TestIncompleteIsNotSubmitted checks that an incomplete form is neither saved nor submitted, and says what is
// required. It can still be saved as a draft.
func TestIncompleteIsNotSubmitted(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	form := complete("INV-1")
	form.Set("due_date", "")
	form.Set("items.unit_code", "")
	got := v.send("/invoices/new", form, "submit")
	at := notesAt(t, got.body)
	if got.status != http.StatusUnprocessableEntity || !strings.Contains(got.body,
		"Not submitted, and nothing was saved. 2 fields") || at["due_date"] != "Required to submit" ||
		at["items-0-unit_code"] != "Unit Required to submit" || s.count(t) != 0 {
		t.Errorf("incomplete: %d %v, %d invoices", got.status, at, s.count(t))
	}
	if !strings.Contains(got.body, "A draft can be saved without them.") {
		t.Error("the form does not say that a draft can be saved")
	}
	form.Set("recipient_name", "")
	if got := v.send("/invoices/new", form, "submit"); strings.Contains(got.body, "A draft can be saved without them.") {
		t.Error("the form says that a draft can be saved without a recipient")
	}
	form.Set("recipient_name", "Palm")
	form.Set("total_amount", "") // the calculated one
	v.created(form)
}

// TestPreview checks that a preview shows the document that a form would become, also as a PDF file, and stores
// nothing.
func TestPreview(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v := s.loggedIn(t)
	form := complete("INV-1")
	form.Set("items.name", `"><script>alert(1)</script>`)
	got := v.send("/invoices/new", form, "preview")
	if got.status != http.StatusOK || !strings.Contains(got.body, "Preview. Nothing was saved or sent.") ||
		!strings.Contains(got.body, "INV-1") || strings.Contains(got.body, "<script>alert") {
		t.Fatalf("preview: %d", got.status)
	}
	again := controls(t, got.body)
	if again.Get("items.name") != form.Get("items.name") || again.Get("do") != "" {
		t.Errorf("the preview does not repeat the form: %v", again)
	}
	if file := v.do(http.MethodPost, "/invoices/new", again.Encode()+"&do=preview-pdf"); file.status != http.StatusOK ||
		!strings.HasPrefix(file.body, "%PDF-") {
		t.Errorf("preview as a PDF file: %d", file.status)
	}
	// no document format
	if file := v.do(http.MethodPost, "/invoices/new", again.Encode()+
		"&do=preview-xml"); file.status != http.StatusNotFound {
		t.Errorf("preview as XML: %d", file.status)
	}
	form.Set("items.quantity", "x")
	if got := v.send("/invoices/new", form, "preview"); got.status != http.StatusOK ||
		!strings.Contains(got.body, "must be corrected before this can be saved") {
		t.Errorf("preview of a faulty form: %d", got.status)
	}
	if n := s.count(t); n != 0 {
		t.Errorf("%d invoices were stored", n)
	}
}
