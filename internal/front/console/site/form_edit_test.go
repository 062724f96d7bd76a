package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/ledgertest"
)

// TestEditIsPatch checks that an edit is stored if the API's PATCH would store it. An outdated edit is rejected, keeps
// the input and lists the differences. If the invoice can no longer be edited, the input can be saved as a new draft.
func TestEditIsPatch(t *testing.T) {
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			s := start(t, engine, true, time.Second)
			v, token := s.loggedIn(t), s.token(t, s.email, s.password)
			id := v.created(complete("INV-1"))
			path := "/invoices/" + id + "/edit"
			mine := controls(t, v.read(path).body)
			if status := s.api(t, token, http.MethodPatch, "/api/v1/client/invoices/"+id,
				map[string]any{"buyer_city": "Sharjah"}, nil); status != http.StatusOK {
				t.Fatalf("patch: %d", status)
			}
			mine.Set("recipient_name", "Oasis LLC")
			stale := v.send(path, mine, "save")
			again := controls(t, stale.body)
			if stale.status != http.StatusConflict || again.Get("recipient_name") != "Oasis LLC" ||
				again.Get("buyer_city") != "Dubai" || !strings.Contains(stale.body, `<a href="#f-buyer_city">`) ||
				!strings.Contains(stale.body, `<a href="#f-recipient_name">`) ||
				strings.Contains(stale.body, `<li><a href="#f-buyer_street">`) {
				t.Errorf("an outdated edit: %d %v", stale.status, again)
			}
			if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Sharjah" || *found.RecipientName != "Palm Trading LLC" {
				t.Errorf("an outdated edit was stored: %+v", found.Draft)
			}
			if got := v.send(path, again, "save"); got.status != http.StatusSeeOther {
				t.Errorf("an overwriting edit: %d", got.status)
			}
			if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Dubai" || *found.RecipientName != "Oasis LLC" {
				t.Errorf("an overwriting edit was not stored: %+v", found.Draft)
			}
			wantFixed(t, s, v, token, id)
		})
	}
}

// wantFixed checks that neither a credited nor a submitted invoice can be edited.
func wantFixed(t *testing.T, s *system, v *visitor, token, id string) {
	t.Helper()
	path := "/invoices/" + id + "/edit"
	mine := controls(t, v.read(path).body)
	mine.Set("buyer_city", "Ajman")
	refused := func(why string) {
		t.Helper()
		if got := v.get(path); got.status != http.StatusConflict || strings.Contains(got.body, `href="`+path) {
			t.Errorf("%s: the form is shown: %d", why, got.status)
		}
		got := v.send(path, mine, "save")
		if got.status != http.StatusConflict || controls(t, got.body).Get("buyer_city") != "Ajman" ||
			!strings.Contains(got.body, `action="/invoices/new"`) {
			t.Errorf("%s: %d %v", why, got.status, controls(t, got.body))
		}
		if found := s.invoiceAt(t, token, id); *found.BuyerCity != "Dubai" {
			t.Errorf("%s: the edit was stored", why)
		}
	}
	var note api.CreditNote
	s.api(t, token, http.MethodPost, "/api/v1/client/credit-notes", map[string]any{"invoice_id": id,
		"credit_note_number": "CN", "issue_date": "2026-03-01", "reason": "x", "kind": "full"}, &note)
	refused("credited")
	if got := v.send("/credit-notes/"+note.ID+"/void", nil, ""); got.status != http.StatusSeeOther {
		t.Fatalf("void: %d", got.status)
	}
	v.read(path)
	if got := v.send("/invoices/"+id+"/submit", nil, ""); got.status != http.StatusSeeOther {
		t.Fatalf("submit: %d", got.status)
	}
	refused("submitted")
	got := v.send("/invoices/new", controls(t, v.send(path, mine, "save").body), "save")
	if got.status != http.StatusSeeOther {
		t.Errorf("as a new draft: %d", got.status)
	}
}
