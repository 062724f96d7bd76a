package site_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
)

// TestSaveRecipientAsCustomer checks that the page of an invoice saves its recipient as a customer once, says when the
// customer is there already, and offers to update one with other values.
func TestSaveRecipientAsCustomer(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	var made api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("INV-1", "sandbox-accepted"), &made)
	at := "/invoices/" + made.ID
	save := at + "/customer"
	wantPage(t, v, at, []string{fmt.Sprintf(`action="%s"`, save)}, nil)
	first := v.post(save)
	customer, _, _ := strings.Cut(first.header.Get("Location"), "?")
	if first.status != http.StatusSeeOther || !strings.HasPrefix(customer, "/customers/") {
		t.Fatalf("save: %d %s", first.status, first.header.Get("Location"))
	}
	wantPage(t, v, first.header.Get("Location"), []string{"Customer saved", text(made.RecipientName)}, nil)
	again := v.post(save)
	if path, _, _ := strings.Cut(again.header.Get("Location"), "?"); again.status != http.StatusSeeOther ||
		path != customer {
		t.Errorf("save again: %d %s", again.status, again.header.Get("Location"))
	}
	wantPage(t, v, again.header.Get("Location"), []string{"already, with the same values"}, nil)

	id := strings.TrimPrefix(customer, "/customers/")
	if status := s.api(t, token, http.MethodPatch, "/api/v1/client/customers/"+id,
		map[string]any{"buyer_street": "9 New Street", "note": "kept"}, nil); status != http.StatusOK {
		t.Fatalf("change of the customer: %d", status)
	}
	offered := v.post(save)
	if offered.status != http.StatusConflict || !strings.Contains(offered.body, `id="known"`) ||
		!strings.Contains(offered.body, `href="#f-buyer_street"`) || strings.Contains(offered.body, `href="#f-note"`) {
		t.Fatalf("a customer with other values: %d %s", offered.status, offered.body)
	}
	var kept api.Customer
	s.api(t, token, http.MethodGet, "/api/v1/client/customers/"+id, nil, &kept)
	if text(kept.BuyerStreet) != "9 New Street" {
		t.Errorf("the offer has changed the customer: %s", text(kept.BuyerStreet))
	}
	updated := v.do(http.MethodPost, customer+"/edit", controls(t, offered.body).Encode(), "Content-Type",
		"application/x-www-form-urlencoded")
	if updated.status != http.StatusSeeOther {
		t.Fatalf("update: %d %s", updated.status, updated.body)
	}
	s.api(t, token, http.MethodGet, "/api/v1/client/customers/"+id, nil, &kept)
	if text(kept.BuyerStreet) != text(made.BuyerStreet) || text(kept.Note) != "kept" {
		t.Errorf("the customer after the update: %s, %s", text(kept.BuyerStreet), text(kept.Note))
	}
	if got := v.post("/invoices/00000000-0000-0000-0000-000000000001/customer"); got.status != http.StatusNotFound {
		t.Errorf("an invoice that does not exist: %d", got.status)
	}
	viewer := s.colleague(t, access.Viewer)
	if got := viewer.post(save); got.status != http.StatusForbidden || strings.Contains(viewer.get(at).body, save) {
		t.Errorf("a viewer: %d", got.status)
	}
	s.company(t, "other@example.com", strong)
	other := s.visitor(t)
	other.login("other@example.com", strong)
	if got := other.post(save); got.status != http.StatusNotFound {
		t.Errorf("another company: %d", got.status)
	}
}

// text returns an optional text, "" if it is absent.
func text(optional *string) string {
	if optional == nil {
		return ""
	}
	return *optional
}
