package simulation

import (
	"bytes"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"quittance/internal/fakeprovider"
	"quittance/internal/invoice"
	"quittance/internal/purchase"
	"quittance/internal/store"
	"quittance/internal/submission"
)

// quiet tells that only questions are left whose answer cannot change any more: every delivery has ended, and every
// submission says what the provider's ledger says.
func (w *world) quiet() bool {
	for _, c := range w.companies {
		for _, m := range c.model.invoices {
			if s, found := c.look(m); !found || !c.settled(s) {
				return false
			}
		}
		waiting := false
		c.all("/api/v1/webhooks/deliveries?state=pending", func(json.RawMessage) { waiting = true })
		if waiting || !c.synced() {
			return false
		}
	}
	return true
}

// synced tells whether every purchase document that the provider has is here.
func (c *company) synced() bool {
	missing := map[string]string{}
	for _, p := range c.provider.Ledger().PurchaseList() {
		missing[p.ID] = p.SHA256
	}
	c.all("/api/v1/client/incoming-invoices", func(entry json.RawMessage) {
		var in struct {
			Provider string `json:"provider_document_id"`
			SHA256   string `json:"sha256"`
		}
		c.w.must(json.Unmarshal(entry, &in))
		if missing[in.Provider] == in.SHA256 {
			delete(missing, in.Provider)
		}
	})
	return len(missing) == 0
}

// look reads an invoice.
func (c *company) look(m *invoiceModel) (*shown, bool) {
	r, arrived := c.call(http.MethodGet, "/api/v1/client/invoices/"+m.id, nil, nil)
	var s shown
	if !arrived || r.status != http.StatusOK || r.data(&s) != nil {
		c.w.violate("%s: invoice %s, which was acknowledged, was answered %d %s", c.name, m.id, r.status, r.body)
		return nil, false
	}
	return &s, true
}

// settled tells whether an invoice is shown as the provider's ledger has it.
func (c *company) settled(s *shown) bool { return c.difference(s) == "" }

// difference says in what an invoice is not shown as the provider's ledger has it; "" for nothing.
func (c *company) difference(s *shown) string {
	if s.Submission == nil {
		return ""
	}
	document, found := c.provider.Ledger().Document(s.Submission.ID)
	if !found {
		return "its submission never came to the provider, and its outcome is " + s.Submission.Outcome
	}
	report := document.Report(time.Now())
	if c.contradicted(s.Submission.ID, report) {
		return ""
	}
	want := "acknowledged"
	if report.Status == "rejected" {
		want = "rejected"
	}
	if s.Submission.Outcome != want {
		return "its outcome is " + s.Submission.Outcome + ", and the provider says " + string(report.Status)
	}
	terminal := true
	for dimension, word := range s.words() {
		said, reported := "", false
		for key, state := range report.States {
			if string(key) == dimension {
				said, reported = state.Value, true
				terminal = terminal && state.Terminal
			}
		}
		terminal = terminal && reported
		switch {
		case reported != (word != nil):
			return dimension + " is reported by one side alone"
		case reported && *word != said:
			return dimension + " is shown as " + *word + ", and the provider says " + said
		}
	}
	if terminal != (s.Submission.NextCheckAt == nil) {
		return "it is asked about after the end, or not asked about before it"
	}
	return ""
}

// contradicted tells that the provider has said something else of a document under the sequence that it ends with, or under a later one, or
// has said that all is final and changed it after all: which of its words is the last is then its own secret. That each that is shown
// was said is checked all the same.
func (c *company) contradicted(reference string, end fakeprovider.Report) bool {
	for _, e := range c.asked(reference) {
		if e.said == nil || e.said.Status == end.Status && maps.Equal(e.said.States, end.States) {
			continue
		}
		final := len(e.said.States) == len(invoice.Dimensions)
		for _, state := range e.said.States {
			final = final && state.Terminal
		}
		if final || e.said.Sequence >= end.Sequence {
			return true
		}
	}
	return false
}

// verify checks every promise that can be checked when nothing is left to do.
func (c *company) verify() {
	for _, m := range c.model.invoices {
		s, found := c.look(m)
		if !found {
			return
		}
		c.holds(m, s)
		if difference := c.difference(s); difference != "" {
			c.w.violate("%s: invoice %s (%s): %s", c.name, m.id, m.number, difference)
		}
	}
	c.verifyList()
	c.verifyLedger()
	events := c.verifyEvents()
	c.verifyDeliveries(events)
	c.verifyCredits()
	c.verifyPurchases(events)
	c.verifyEvidence()
}

// verifyList: a key has made one invoice, and no call has made two.
func (c *company) verifyList() {
	times := map[string]int{}
	c.all("/api/v1/client/invoices", func(entry json.RawMessage) {
		var s shown
		c.w.must(json.Unmarshal(entry, &s))
		times[s.Number]++
	})
	for _, m := range c.model.invoices {
		if times[m.number] != 1 {
			c.w.violate("%s: number %s stands in the list %d times", c.name, m.number, times[m.number])
		}
	}
	for number, n := range times {
		if n > 1 {
			c.w.violate("%s: %d invoices were made of %s", c.name, n, number)
		}
	}
}

// verifyLedger: at most one accepted document for an invoice, and none that we do not know.
func (c *company) verifyLedger() {
	accepted := map[string]int{}
	for _, d := range c.provider.Ledger().Documents() {
		report := d.Report(time.Now())
		if report.Status != "rejected" {
			accepted[d.InvoiceNumber]++
		}
		if d.Accepted > 1 || d.Conflicts > 0 {
			c.w.violate("%s: %s was accepted %d times, and came with other bytes %d times", c.name, d.Reference, d.Accepted, d.Conflicts)
		}
		c.w.count("documents at the provider")
	}
	for number, n := range accepted {
		if n > 1 {
			c.w.violate("%s: the provider has accepted %d documents for %s", c.name, n, number)
		}
	}
	known := map[string]bool{}
	for _, m := range c.model.invoices {
		c.all("/api/v1/client/invoices/"+m.id+"/submissions", func(entry json.RawMessage) {
			var s struct {
				ID string `json:"id"`
			}
			c.w.must(json.Unmarshal(entry, &s))
			known[s.ID] = true
		})
	}
	for _, d := range c.provider.Ledger().Documents() {
		if !known[d.Reference] {
			c.w.violate("%s: the provider has a document %s of %s that is no submission here", c.name, d.Reference, d.InvoiceNumber)
		}
	}
}

// maxAttempts is how often a delivery is tried at most (contract, section 9), but for attempts that nobody could record because
// the process died or its lease ran out.
const maxAttempts = 12 + 4

// verifyDeliveries: every event was told to every subscription of its time, in the same bytes, with the right signature, and
// what counts as delivered was received.
func (c *company) verifyDeliveries(events []event) {
	for _, s := range c.model.subscriptions {
		if s.id == "" {
			continue
		}
		r, _ := c.call(http.MethodGet, "/api/v1/webhooks/subscriptions/"+s.id, nil, nil)
		var now struct {
			Active        bool       `json:"active"`
			DeactivatedAt *time.Time `json:"deactivated_at"`
		}
		c.w.must(r.data(&now))
		states := map[string]string{}
		c.all("/api/v1/webhooks/deliveries?subscription_id="+s.id, func(entry json.RawMessage) {
			var d struct {
				ID       string `json:"id"`
				EventID  string `json:"event_id"`
				State    string `json:"state"`
				Attempts int    `json:"attempt_count"`
			}
			c.w.must(json.Unmarshal(entry, &d))
			states[d.EventID] = d.State
			c.delivered(s.id, d.EventID, d.State)
			got := c.received[s.path+" "+d.EventID]
			switch {
			case d.State == "pending" && now.Active:
				c.w.violate("%s: delivery of %s to %s never ends", c.name, d.EventID, s.path)
			case d.State == "delivered" && (got == nil || got.accepted == 0):
				c.w.violate("%s: %s counts as delivered to %s, which did not take it", c.name, d.EventID, s.path)
			case got != nil && got.last == http.StatusGone && got.accepted == 0 && d.State == "pending" && !s.again[d.EventID]:
				c.w.violate("%s: %s was refused for good by %s, and is still %s", c.name, d.EventID, s.path, d.State)
			case got != nil && got.last == http.StatusFound && now.Active:
				// What a process has seen that died before it recorded it is forgotten, and may be.
				detail, _ := c.call(http.MethodGet, "/api/v1/webhooks/deliveries/"+d.ID, nil, nil)
				if bytes.Contains(detail.body, []byte(`"http_status":302`)) {
					c.w.violate("%s: %s redirects, and is still active", c.name, s.path)
				}
			case d.Attempts > maxAttempts && !s.again[d.EventID]:
				c.w.violate("%s: %s was tried %d times at %s", c.name, d.EventID, d.Attempts, s.path)
			case got != nil && signed(s.secret, got.timestamp, got.body) != got.signature:
				c.w.violate("%s: the signature of %s to %s is wrong", c.name, d.EventID, s.path)
			}
			c.w.count("delivery: " + d.State)
		})
		for _, e := range events {
			during := e.OccurredAt.After(s.since) && (now.Active || now.DeactivatedAt != nil && e.OccurredAt.Before(*now.DeactivatedAt))
			if during && states[e.ID] == "" {
				c.w.violate("%s: %s (%s) has no delivery to %s", c.name, e.ID, e.Event, s.path)
			}
		}
	}
	known := map[string]bool{}
	for _, e := range events {
		known[e.ID] = true
	}
	for key := range c.received {
		if id := key[len(key)-36:]; !known[id] {
			c.w.violate("%s: a receiver got an event %s that is not in the feed", c.name, id)
		}
	}
}

// verifyCredits: the live credit notes of an invoice credit no more than it has, and a void is one for good.
func (c *company) verifyCredits() {
	live, voided := map[string]int{}, map[string]bool{}
	c.all("/api/v1/client/credit-notes", func(entry json.RawMessage) {
		var k struct {
			ID        string  `json:"id"`
			InvoiceID string  `json:"invoice_id"`
			VoidedAt  *string `json:"voided_at"`
		}
		c.w.must(json.Unmarshal(entry, &k))
		if voided[k.ID] = k.VoidedAt != nil; !voided[k.ID] {
			live[k.InvoiceID]++
		}
	})
	for invoice, n := range live {
		if n > 1 { // each credits 60 of 100
			c.w.violate("%s: %d live credit notes credit more than invoice %s", c.name, n, invoice)
		}
	}
	for _, k := range c.model.credits {
		if is, found := voided[k.id]; !found || k.voided && !is || is && !k.asked {
			c.w.violate("%s: credit note %s is not what was told", c.name, k.id)
		}
	}
}

// verifyPurchases: every purchase document is here in the bytes the provider has, each was told of once, each revision too.
func (c *company) verifyPurchases(events []event) {
	want := map[string]fakeprovider.Purchase{}
	for _, p := range c.provider.Ledger().PurchaseList() {
		want[p.ID] = p
	}
	told := map[string]int{}
	for _, e := range events {
		if e.ResourceType == "incoming_invoice" {
			told[e.Event+" "+e.ResourceID]++
		}
	}
	c.all("/api/v1/client/incoming-invoices", func(entry json.RawMessage) {
		var in struct {
			ID       string `json:"id"`
			Provider string `json:"provider_document_id"`
			Revision int    `json:"revision"`
			SHA256   string `json:"sha256"`
			Supplier string `json:"supplier_name"`
		}
		c.w.must(json.Unmarshal(entry, &in))
		p, found := want[in.Provider]
		delete(want, in.Provider)
		switch {
		case !found || p.SHA256 != in.SHA256 || p.SupplierName != in.Supplier:
			c.w.violate("%s: incoming %s is not what the provider has, which is %+v", c.name, entry, p)
		case told["einvoice.incoming.received "+in.ID] != 1 || told["einvoice.incoming.revised "+in.ID] != in.Revision-1:
			c.w.violate("%s: incoming %s of revision %d was told of as new %d times and as revised %d times", c.name, in.Provider, in.Revision,
				told["einvoice.incoming.received "+in.ID], told["einvoice.incoming.revised "+in.ID])
		}
	})
	for id := range want {
		c.w.violate("%s: purchase document %s was lost", c.name, id)
	}
}

// verifyEvidence: every chain is whole, and every answer about a submission that arrived is in it.
func (c *company) verifyEvidence() {
	verified, err := c.w.processes[0].db.VerifyEvidence(c.w.t.Context(), store.Replay{Answer: submission.Replay, Purchase: purchase.Reread, Sent: submission.SentInvoice})
	c.w.must(err)
	if len(verified.Faults) > 0 {
		c.w.violate("%s: evidence: %v", c.name, verified.Faults[0])
	}
	if len(c.provider.Ledger().Documents()) > 0 && verified.Entries == 0 {
		c.w.violate("%s: no evidence at all", c.name)
	}
	for _, m := range c.model.invoices {
		if m.told != "acknowledged" && m.told != "rejected" {
			continue
		}
		found := false
		c.all("/api/v1/client/invoices/"+m.id+"/evidence", func(json.RawMessage) { found = true })
		if !found {
			c.w.violate("%s: invoice %s is %s without evidence", c.name, m.id, m.told)
		}
	}
}
