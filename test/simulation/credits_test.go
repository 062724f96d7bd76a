package simulation

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"time"

	"quittance/sandbox/fakeprovider"
)

func (c *company) credit() {
	m := c.someInvoice()
	if m == nil {
		return
	}
	k := &creditModel{invoice: m.id, number: fmt.Sprintf("CN-%d", len(c.model.credits))}
	body, err := json.Marshal(map[string]any{"invoice_id": m.id, "credit_note_number": k.number,
		"issue_date": "2026-03-02", "reason": c.recipient(), "kind": "partial",
		"items": []any{map[string]any{"position": 0, "net_amount": 60}}})
	c.w.must(err)
	r, arrived := c.call(http.MethodPost, "/api/v1/client/credit-notes", body, nil)
	var made struct {
		ID string `json:"id"`
	}
	switch {
	case !arrived:
	case r.status == http.StatusCreated && r.data(&made) == nil:
		k.id = made.ID
		k.shown = invoiceModel{id: made.ID}
		c.model.credits = append(c.model.credits, k)
		c.model.foreign = append(c.model.foreign, "/api/v1/client/credit-notes/"+k.id)
	case r.status != http.StatusUnprocessableEntity:
		c.w.violate("%s: a credit note was answered %d %s", c.name, r.status, r.body)
	}
}

func (c *company) void() {
	if len(c.model.credits) == 0 {
		return
	}
	k := c.model.credits[c.w.rng.IntN(len(c.model.credits))]
	k.asked = true
	r, arrived := c.call(http.MethodPost, "/api/v1/client/credit-notes/"+k.id+"/void", nil, nil)
	if !arrived {
		return
	}
	switch {
	case r.status == http.StatusOK && c.hasCredit(k):
		c.w.violate("%s: a credit note was voided that the provider has and has not rejected", c.name)
	case r.status == http.StatusOK:
		k.voided = true
	case r.status != http.StatusConflict || r.code() != "credit_note_not_editable":
		c.w.violate("%s: a void was answered %d %s", c.name, r.status, r.body)
	}
}

// hasCredit tells whether the provider has a document of the credit note that it has not rejected.
func (c *company) hasCredit(k *creditModel) bool {
	return slices.ContainsFunc(c.provider.Ledger().Documents(), func(d fakeprovider.LedgerDocument) bool {
		report := d.Report(time.Now())
		return d.CreditNoteNumber == k.number && report.Status != "rejected"
	})
}

// someCredit returns a credit note that the company knows, or nil.
func (c *company) someCredit() *creditModel {
	if len(c.model.credits) == 0 {
		return nil
	}
	return c.model.credits[c.w.rng.IntN(len(c.model.credits))]
}

// submitCredit submits a credit note. Its invoice may be a draft, and its reason a scenario of the provider.
func (c *company) submitCredit() {
	k := c.someCredit()
	if k == nil {
		return
	}
	before := k.shown.lastOutcome
	r, arrived := c.call(http.MethodPost, "/api/v1/client/credit-notes/"+k.id+"/submit", nil, nil)
	if !arrived {
		return
	}
	var s invoiceView
	switch {
	case r.status == http.StatusOK || r.status == http.StatusAccepted:
		if err := r.data(&s); err != nil || s.Submission == nil ||
			(r.status == http.StatusAccepted) != (s.Submission.Outcome == "unknown") {
			c.w.violate("%s: submit of a credit note answered %d with %s", c.name, r.status, r.body)
			return
		}
		c.w.count("credit notes submitted")
		c.checkCredit(k, &s)
	case r.status == http.StatusBadGateway:
		if before == "acknowledged" || c.hasCredit(k) {
			c.w.violate("%s: 502 for credit note %s, which the provider has, or which was acknowledged", c.name, k.id)
		}
	case r.status == http.StatusConflict && r.code() == "credit_note_not_editable" && k.asked:
	case r.status == http.StatusConflict && (r.code() == "submission_in_progress" ||
		r.code() == "invoice_not_acknowledged" || r.code() == "duplicate_credit_note_number"):
	default:
		c.w.violate("%s: submit of a credit note answered %d %s", c.name, r.status, r.body)
	}
}

// patchCredit changes the reason of a credit note, also of a rejected one, so that the provider accepts the next
// submission.
func (c *company) patchCredit() {
	k := c.someCredit()
	if k == nil {
		return
	}
	r, arrived := c.call(http.MethodPatch, "/api/v1/client/credit-notes/"+k.id, []byte(`{"reason":"agreed"}`), nil)
	var s invoiceView
	switch {
	case !arrived:
		k.shown.changed = true
	case r.status == http.StatusOK && r.data(&s) == nil:
		if c.hasCredit(k) {
			c.w.violate("%s: a credit note was changed that the provider has and has not rejected", c.name)
		}
		k.shown.lastOutcome, k.shown.changed = "", false
		c.checkCredit(k, &s)
	case r.status != http.StatusConflict || r.code() != "credit_note_not_editable":
		c.w.violate("%s: a change of a credit note was answered %d %s", c.name, r.status, r.body)
	}
}
