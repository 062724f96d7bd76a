package site_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// TestSubmitCreditNote: the button is there only if the company can submit the credit note. Afterwards the page shows
// the outcome, the four states, the evidence and no button to void it.
func TestSubmitCreditNote(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v := s.loggedIn(t)
	tenant := s.tenant(t)
	created, err := invoices.Create(t.Context(), tenant, draft("INV-1", "1"))
	kit.Must(t, err)
	var note api.CreditNote
	token := s.token(t, s.Info.Email, s.Info.Password)
	if status := s.api(t, token, http.MethodPost, "/api/v1/client/credit-notes",
		api.CreditNoteRequest{InvoiceID: new(created.ID.String()), CreditNoteNumber: new("CN-1"),
			IssueDate: new("2026-03-15"), Reason: new("Returned goods"), Kind: new(api.CreditFull)},
		&note); status != http.StatusCreated {
		t.Fatalf("credit note: %d", status)
	}
	path := "/credit-notes/" + note.ID
	want := func(button bool, texts ...string) {
		t.Helper()
		page := v.get(path)
		if strings.Contains(page.body, `id="submit"`) != button {
			t.Errorf("a button to submit: %t", !button)
		}
		for _, text := range texts {
			if !strings.Contains(page.body, text) {
				t.Errorf("the page does not have %q", text)
			}
		}
	}
	want(false, "and nothing is sent")
	if got := v.post(path + "/submit"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "does not submit credit notes") {
		t.Errorf("without a confirmation: %d", got.status)
	}
	all, err := invoices.Connections(t.Context(), s.DB(), nil)
	kit.Must(t, err)
	_, err = invoices.ConfirmCreditNotes(t.Context(), s.DB(), all[0].ID, "C-1", "M-1")
	kit.Must(t, err)
	want(false)
	if got := v.post(path + "/submit"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "Submit the invoice first") {
		t.Errorf("of a draft: %d", got.status)
	}
	if got := v.post("/invoices/" + created.ID.String() + "/submit"); got.status != http.StatusSeeOther {
		t.Fatalf("submit of the invoice: %d", got.status)
	}
	want(true)
	if got := v.post(path + "/submit"); got.status != http.StatusSeeOther {
		t.Fatalf("submit: %d", got.status)
	}
	want(false, `id="h-timeline"`, `class="submission"`, path+"?tab=evidence#evidence-1")
	for tab, want := range map[string]string{"evidence": `id="evidence-1"`, "webhooks": `id="h-webhooks"`,
		"activity": "Submitted the credit note"} {
		if page := v.read(path + "?tab=" + tab); !strings.Contains(page.body, want) {
			t.Errorf("the tab %s does not have %q", tab, want)
		}
	}
	if page := v.get(path); strings.Contains(page.body, `id="void"`) {
		t.Error("a submitted credit note can be voided")
	}
	if got := v.post(path + "/void"); got.status != http.StatusConflict ||
		!strings.Contains(got.body, "cannot be voided") {
		t.Errorf("void: %d", got.status)
	}
	id, err := base.ParseID(note.ID)
	kit.Must(t, err)
	if read, err := invoices.FindCreditNote(t.Context(), tenant, id); err != nil || read.Submission == nil ||
		read.VoidedAt != nil {
		t.Errorf("the credit note is %+v, %v", read, err)
	}
}
