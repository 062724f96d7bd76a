package server_test

import (
	"fmt"
	"net/http"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
)

// confirmCreditNotes records for the active connection that it submits credit notes.
func (c *company) confirmCreditNotes(t testing.TB) {
	t.Helper()
	all, err := invoices.Connections(t.Context(), c.db, &c.id)
	if err != nil {
		t.Fatal(err)
	}
	for _, connection := range all {
		if connection.State != invoices.ConnectionActive || connection.CreditNotes != nil {
			continue
		}
		if _, err := invoices.ConfirmCreditNotes(t.Context(), c.db, connection.ID, "C-1", "provider protocol"); err != nil {
			t.Fatal(err)
		}
	}
}

// aSubmittableCreditNote creates a credit note of an acknowledged invoice.
func aSubmittableCreditNote(t *testing.T, c *company) map[string]string {
	t.Helper()
	return map[string]string{"credit_note_id": creditNoteFor(t, c, "Returned goods")}
}

// creditNoteFor creates a credit note of an acknowledged invoice, with a reason that may be a scenario.
func creditNoteFor(t *testing.T, c *company, reason string) string {
	t.Helper()
	c.confirmCreditNotes(t)
	invoice := c.draft(t, c.numbered(""))
	c.post(t, invoicesPath+"/"+invoice+"/submit", "").want(t, http.StatusOK, "")
	number := fmt.Sprintf("%q", "CN-"+invoice)
	a := c.post(t, creditNotes, edit(edit(credit(invoice), "reason", fmt.Sprintf("%q", reason)),
		"credit_note_number", number))
	a.want(t, http.StatusCreated, "")
	return a.textAt(t, "/data/id")
}

// submittedCreditNote submits a credit note with the number CN-1 and returns its path.
func submittedCreditNote(t *testing.T, c *company, scenario string) string {
	t.Helper()
	c.confirmCreditNotes(t)
	invoice := c.draft(t, c.numbered(""))
	c.post(t, invoicesPath+"/"+invoice+"/submit", "").want(t, http.StatusOK, "")
	body := credit(invoice)
	if scenario != "" {
		body = edit(body, "reason", fmt.Sprintf("%q", scenario))
	}
	a := c.post(t, creditNotes, body)
	a.want(t, http.StatusCreated, "")
	path := creditNotes + "/" + a.textAt(t, "/data/id")
	if a := c.post(t, path+"/submit", ""); a.status != http.StatusOK && a.status != http.StatusAccepted {
		t.Fatalf("submit answered %d %s", a.status, a.text)
	}
	return path
}

// creditOf returns a prepare function that makes a row submit a credit note with a reason that may be a scenario.
func creditOf(reason string) func(t *testing.T, c *company, r *request) {
	return func(t *testing.T, c *company, r *request) { submitCredit(r, creditNoteFor(t, c, reason)) }
}

func submitCredit(r *request, id string) { r.path = creditNotes + "/" + id + "/submit" }

var submitCreditRows = []row{
	{name: "a response of the provider", status: http.StatusOK, check: func(t *testing.T, c *company, a response) {
		wantRaw(t, a, "/data/submitted", "true")
		wantRaw(t, a, "/data/submission/outcome", `"acknowledged"`)
		if a.raw(t, "/data/submitted_at") == "null" || a.header.Get("ETag") == "" {
			t.Errorf("submitted: %s", a.text)
		}
		again := c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)})
		again.want(t, http.StatusOK, "")
		if again.raw(t, "/data/submission/id") != a.raw(t, "/data/submission/id") {
			t.Error("a repetition made another submission")
		}
		// The invoice has its own submission and its own history.
		invoice := c.get(t, invoicesPath+"/"+a.textAt(t, "/data/invoice_id"))
		if invoice.raw(t, "/data/submission/id") == a.raw(t, "/data/submission/id") {
			t.Error("the invoice shows the submission of its credit note")
		}
		wantRaw(t, c.get(t, invoicesPath+"/"+a.textAt(t, "/data/invoice_id")+"/submissions"), "/pagination/total", "1")
	}},
	{name: "a rejection of the provider", status: http.StatusOK, prepare: creditOf("sandbox-rejected-validation"),
		check: func(t *testing.T, c *company, a response) {
			wantRaw(t, a, "/data/submission/outcome", `"rejected"`)
			// Until it is voided, it counts against its invoice.
			c.post(t, creditNotes, credit(a.textAt(t, "/data/invoice_id"))).wantFaults(t, api.CodeValidationFailed,
				map[string][]string{"kind": {"exceeds_invoice"}})
		}},
	{name: "an unreadable response", status: http.StatusAccepted, prepare: creditOf("sandbox-garbage"),
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/data/submission/outcome", `"unknown"`)
			for _, state := range dimensions {
				wantRaw(t, a, "/data/"+state, "null")
			}
		}},
	{name: "a connection without a confirmation", status: http.StatusConflict, code: api.CodeCreditNoteSubmissionDisabled,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
			c.connect(t, c.sandbox.Info.ProviderURL, service.Sandbox)
		}},
	{name: "no active connection", status: http.StatusConflict, code: api.CodeCreditNoteSubmissionDisabled,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
		}},
	{name: "a void credit note", status: http.StatusConflict, code: api.CodeCreditNoteNotEditable,
		prepare: func(t *testing.T, c *company, r *request) {
			c.post(t, r.path[:len(r.path)-len("/submit")]+"/void", "").want(t, http.StatusOK, "")
		}},
	{name: "of a draft", status: http.StatusConflict, code: api.CodeInvoiceNotAcknowledged,
		prepare: func(t *testing.T, c *company, r *request) {
			c.confirmCreditNotes(t)
			submitCredit(r, aCreditNote(t, c)["credit_note_id"])
		}},
	{name: "of a rejected invoice", status: http.StatusConflict, code: api.CodeInvoiceNotAcknowledged,
		prepare: func(t *testing.T, c *company, r *request) {
			c.confirmCreditNotes(t)
			path := submitted(t, c, "sandbox-rejected-validation")
			a := c.post(t, creditNotes, credit(path[len(invoicesPath)+1:]))
			a.want(t, http.StatusCreated, "")
			submitCredit(r, a.textAt(t, "/data/id"))
		}},
	{name: "something that the document format needs is missing", status: http.StatusUnprocessableEntity,
		code: api.CodeInvoiceIncomplete, prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
			made, err := invoices.AddConnection(t.Context(), c.db, c.id,
				invoices.NewConnection{Kind: "http", Environment: service.Sandbox, BaseURL: c.sandbox.Info.ProviderURL,
					Format: "bis3", Credential: secret.New(c.sandbox.Info.ProviderCredential)})
			if err == nil {
				_, err = invoices.ActivateConnection(t.Context(), c.db, made.ID)
			}
			if err != nil {
				t.Fatal(err)
			}
			c.confirmCreditNotes(t)
		}},
	{name: "a connection of another environment", status: http.StatusConflict, code: api.CodeProductionNotApproved,
		prepare: func(t *testing.T, c *company, _ *request) {
			c.disconnect(t)
			c.connect(t, "https://provider.example.com", service.Production)
			c.confirmCreditNotes(t)
		}},
	{name: "a number that was submitted before", status: http.StatusConflict, code: api.CodeDuplicateCreditNoteNumber,
		prepare: func(t *testing.T, c *company, r *request) {
			first := submittedCreditNote(t, c, "")
			r.header.Set("X-Test-First", first[len(creditNotes)+1:])
			path := submitted(t, c, "")
			a := c.post(t, creditNotes, credit(path[len(invoicesPath)+1:]))
			a.want(t, http.StatusCreated, "")
			submitCredit(r, a.textAt(t, "/data/id"))
		},
		check: func(t *testing.T, _ *company, a response) {
			wantRaw(t, a, "/error/details/credit_note_id", fmt.Sprintf("%q", a.request.header.Get("X-Test-First")))
		}},
	{name: "the number of an invoice", status: http.StatusOK, prepare: func(t *testing.T, c *company, r *request) {
		path := submitted(t, c, "")
		number := c.get(t, path).raw(t, "/data/invoice_number")
		a := c.post(t, creditNotes, edit(credit(path[len(invoicesPath)+1:]), "credit_note_number", number))
		a.want(t, http.StatusCreated, "")
		submitCredit(r, a.textAt(t, "/data/id"))
	}},
	{name: "a provider that certainly accepted nothing", status: http.StatusBadGateway, code: api.CodeProviderError,
		prepare: creditOf("sandbox-429-once"),
		check: func(t *testing.T, c *company, a response) {
			c.send(t, request{method: http.MethodPost, path: a.request.path, token: c.token(t)}).want(t, http.StatusOK, "")
		}},
	{name: "a second submit during the first", status: http.StatusConflict, code: api.CodeSubmissionInProgress,
		prepare: submitInProgress},
}
