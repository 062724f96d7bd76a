package simulation

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"net/http"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/exchange/purchase"
	"quittance/internal/exchange/submission"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/sandbox/fakeprovider"
)

// isQuiescent tells whether the remaining work cannot change anything: every delivery has ended, and every submission
// matches the provider's ledger.
func (w *world) isQuiescent() bool {
	for _, c := range w.companies {
		for _, m := range c.model.invoices {
			if s, found := c.readInvoice(m); !found || !c.matchesLedger(s) {
				return false
			}
		}
		for _, k := range c.model.credits {
			if s, found := c.readCredit(k); !found || !c.matchesLedger(s) {
				return false
			}
		}
		waiting := false
		c.readAllPages("/api/v1/webhooks/deliveries?state=pending", func(json.RawMessage) { waiting = true })
		if waiting || !c.hasAllPurchases() {
			return false
		}
	}
	return true
}

// hasAllPurchases tells whether every purchase document of the provider is retained.
func (c *company) hasAllPurchases() bool {
	missing := map[string]string{}
	for _, p := range c.provider.Ledger().PurchaseList() {
		missing[p.ID] = p.SHA256
	}
	c.readAllPages("/api/v1/client/incoming-invoices", func(entry json.RawMessage) {
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

// readInvoice reads an invoice.
func (c *company) readInvoice(m *invoiceModel) (*invoiceView, bool) {
	r, arrived := c.call(http.MethodGet, "/api/v1/client/invoices/"+m.id, nil, nil)
	var s invoiceView
	if !arrived || r.status != http.StatusOK || r.data(&s) != nil {
		c.w.violate("%s: invoice %s, which was acknowledged, was answered %d %s", c.name, m.id, r.status, r.body)
		return nil, false
	}
	return &s, true
}

// readCredit reads a credit note.
func (c *company) readCredit(k *creditModel) (*invoiceView, bool) {
	r, arrived := c.call(http.MethodGet, "/api/v1/client/credit-notes/"+k.id, nil, nil)
	var s invoiceView
	if !arrived || r.status != http.StatusOK || r.data(&s) != nil {
		c.w.violate("%s: credit note %s, which was acknowledged, was answered %d %s", c.name, k.id, r.status, r.body)
		return nil, false
	}
	return &s, true
}

// matchesLedger tells whether an invoice or a credit note matches the provider's ledger.
func (c *company) matchesLedger(s *invoiceView) bool { return c.difference(s) == "" }

// difference describes how an invoice or a credit note differs from the provider's ledger, or returns "" if it does
// not.
func (c *company) difference(s *invoiceView) string {
	if s.Submission == nil {
		return ""
	}
	document, found := c.provider.Ledger().Document(s.Submission.ID)
	if !found && s.isLost() {
		if s.Submission.Outcome != "unknown" || s.Submission.NextCheckAt == nil {
			return "the provider never acknowledges it, and its outcome is " + s.Submission.Outcome + " or nobody asks about it"
		}
		return ""
	}
	if !found {
		return "its submission never reached the provider, and its outcome is " + s.Submission.Outcome
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
	for dimension, value := range s.states() {
		said, reported := "", false
		for key, state := range report.States {
			if string(key) == dimension {
				said, reported = state.Value, true
				terminal = terminal && state.Terminal
			}
		}
		terminal = terminal && reported
		switch {
		case reported != (value != nil):
			return dimension + " is reported by one side alone"
		case reported && *value != said:
			return dimension + " is shown as " + *value + ", and the provider says " + said
		}
	}
	if terminal != (s.Submission.NextCheckAt == nil) {
		return "it is polled after the end, or not polled before it"
	}
	return ""
}

// isLost tells whether the provider drops every submit call of the document. Its outcome then stays unknown, and the
// service keeps asking.
func (s *invoiceView) isLost() bool {
	return s.RecipientNetworkID == fakeprovider.LostScenario || s.Reason == fakeprovider.LostScenario
}

// contradicted tells whether the provider has contradicted itself: it has reported something else under the document's
// last sequence or a later one, or has changed states after all of them were terminal. It is then undefined which
// report is the last. Every value that is shown must still have been reported.
func (c *company) contradicted(reference string, end fakeprovider.Report) bool {
	for _, e := range c.callsAbout(reference) {
		if e.report == nil || e.report.Status == end.Status && maps.Equal(e.report.States, end.States) {
			continue
		}
		final := len(e.report.States) == len(invoice.Dimensions)
		for _, state := range e.report.States {
			final = final && state.Terminal
		}
		if final || e.report.Sequence >= end.Sequence {
			return true
		}
	}
	return false
}

// verify checks every promise that can be checked when no work is left.
func (c *company) verify() {
	for _, m := range c.model.invoices {
		s, found := c.readInvoice(m)
		if !found {
			return
		}
		c.checkInvoice(m, s)
		if difference := c.difference(s); difference != "" {
			c.w.violate("%s: invoice %s (%s): %s", c.name, m.id, m.number, difference)
		}
	}
	for _, k := range c.model.credits {
		s, found := c.readCredit(k)
		if !found {
			return
		}
		c.checkCredit(k, s)
		if difference := c.difference(s); difference != "" {
			c.w.violate("%s: credit note %s (%s): %s", c.name, k.id, k.number, difference)
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

// verifyList checks that an idempotency key has made one invoice, and no call has made two.
func (c *company) verifyList() {
	times := map[string]int{}
	c.readAllPages("/api/v1/client/invoices", func(entry json.RawMessage) {
		var s invoiceView
		c.w.must(json.Unmarshal(entry, &s))
		times[s.Number]++
	})
	for _, m := range c.model.invoices {
		if times[m.number] != 1 {
			c.w.violate("%s: number %s is in the list %d times", c.name, m.number, times[m.number])
		}
	}
	for number, n := range times {
		if n > 1 {
			c.w.violate("%s: %d invoices were made of %s", c.name, n, number)
		}
	}
}

// verifyLedger checks that the provider has at most one accepted document for an invoice or a credit note, and no
// unknown document.
func (c *company) verifyLedger() {
	accepted := map[string]int{}
	for _, d := range c.provider.Ledger().Documents() {
		report := d.Report(time.Now())
		if report.Status != "rejected" {
			accepted[cmp.Or(d.CreditNoteNumber, d.InvoiceNumber)]++
		}
		if d.Accepted > 1 || d.Conflicts > 0 {
			c.w.violate("%s: %s was accepted %d times, and came with other bytes %d times", c.name, d.Reference, d.Accepted,
				d.Conflicts)
		}
		c.w.count("documents at the provider")
	}
	for number, n := range accepted {
		if n > 1 {
			c.w.violate("%s: the provider has accepted %d documents for %s", c.name, n, number)
		}
	}
	known := map[string]bool{}
	add := func(path string) {
		c.readAllPages(path+"/submissions", func(entry json.RawMessage) {
			var s struct {
				ID string `json:"id"`
			}
			c.w.must(json.Unmarshal(entry, &s))
			known[s.ID] = true
		})
	}
	for _, m := range c.model.invoices {
		add("/api/v1/client/invoices/" + m.id)
	}
	for _, k := range c.model.credits {
		add("/api/v1/client/credit-notes/" + k.id)
	}
	for _, d := range c.provider.Ledger().Documents() {
		if !known[d.Reference] {
			c.w.violate("%s: the provider has a document %s of %s that is no submission here", c.name, d.Reference,
				d.InvoiceNumber)
		}
	}
}

// maxAttempts returns the maximum number of attempts of a delivery, plus attempts that could not be recorded because
// the process died or its lease expired.
func maxAttempts() int { return webhook.DefaultBackoff().Attempts + 4 }

// verifyDeliveries checks that every event was sent to every subscription of its time, with the same bytes and a valid
// signature, and that what counts as delivered was received.
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
		c.readAllPages("/api/v1/webhooks/deliveries?subscription_id="+s.id, func(entry json.RawMessage) {
			var d struct {
				ID       string `json:"id"`
				EventID  string `json:"event_id"`
				State    string `json:"state"`
				Attempts int    `json:"attempt_count"`
			}
			c.w.must(json.Unmarshal(entry, &d))
			states[d.EventID] = d.State
			c.checkDelivered(s.id, d.EventID, d.State)
			got := c.received[s.path+" "+d.EventID]
			switch {
			case d.State == "pending" && now.Active:
				c.w.violate("%s: delivery of %s to %s never ends", c.name, d.EventID, s.path)
			case d.State == "delivered" && (got == nil || got.accepted == 0):
				c.w.violate("%s: %s counts as delivered to %s, which did not accept it", c.name, d.EventID, s.path)
			case got != nil && got.last == http.StatusGone && got.accepted == 0 && d.State == "pending" && !s.again[d.EventID]:
				c.w.violate("%s: %s was refused for good by %s, and is still %s", c.name, d.EventID, s.path, d.State)
			case got != nil && got.last == http.StatusFound && now.Active:
				// A response is lost, and may be, if the process died before it recorded the response.
				detail, _ := c.call(http.MethodGet, "/api/v1/webhooks/deliveries/"+d.ID, nil, nil)
				if bytes.Contains(detail.body, []byte(`"http_status":302`)) {
					c.w.violate("%s: %s redirects, and is still active", c.name, s.path)
				}
			case d.Attempts > maxAttempts() && !s.again[d.EventID]:
				c.w.violate("%s: %s was tried %d times at %s", c.name, d.EventID, d.Attempts, s.path)
			case got != nil && signature(s.secret, got.timestamp, got.body) != got.signature:
				c.w.violate("%s: the signature of %s to %s is wrong", c.name, d.EventID, s.path)
			}
			c.w.count("delivery: " + d.State)
		})
		for _, e := range events {
			during := e.OccurredAt.After(s.since) && (now.Active || now.DeactivatedAt != nil &&
				e.OccurredAt.Before(*now.DeactivatedAt))
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

// verifyCredits checks that the live credit notes of an invoice do not exceed it, and that a void is permanent.
func (c *company) verifyCredits() {
	live, voided := map[string]int{}, map[string]bool{}
	c.readAllPages("/api/v1/client/credit-notes", func(entry json.RawMessage) {
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
			c.w.violate("%s: credit note %s is not what the company was told", c.name, k.id)
		}
	}
}

// verifyPurchases checks that every purchase document is retained with the provider's bytes, and that each document and
// each revision has exactly one event.
func (c *company) verifyPurchases(events []event) {
	want := map[string]fakeprovider.Purchase{}
	for _, p := range c.provider.Ledger().PurchaseList() {
		want[p.ID] = p
	}
	eventCounts := map[string]int{}
	for _, e := range events {
		if e.ResourceType == "incoming_invoice" {
			eventCounts[e.Event+" "+e.ResourceID]++
		}
	}
	c.readAllPages("/api/v1/client/incoming-invoices", func(entry json.RawMessage) {
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
		case eventCounts["einvoice.incoming.received "+in.ID] != 1 ||
			eventCounts["einvoice.incoming.revised "+in.ID] != in.Revision-1:
			c.w.violate("%s: incoming %s of revision %d has %d received events and %d revised events", c.name, in.Provider,
				in.Revision, eventCounts["einvoice.incoming.received "+in.ID], eventCounts["einvoice.incoming.revised "+in.ID])
		}
	})
	for id := range want {
		c.w.violate("%s: purchase document %s was lost", c.name, id)
	}
}

// verifyCounters checks that the counters of the overview equal a full count of the invoices.
func (c *company) verifyCounters() {
	faults, err := invoices.Recount(c.w.t.Context(), c.w.processes[0].db, false)
	c.w.must(err)
	if len(faults) > 0 {
		c.w.violate("%s: counters: %v", c.name, faults[0])
	}
}

// verifyEvidence checks that every evidence chain is intact, and that every known outcome has evidence.
func (c *company) verifyEvidence() {
	verified, err := proof.Verify(c.w.t.Context(), c.w.processes[0].db,
		proof.Replay{Response: submission.Replay, Purchase: purchase.Reread, Sent: submission.ReadSubmitted})
	c.w.must(err)
	if len(verified.Faults) > 0 {
		c.w.violate("%s: evidence: %v", c.name, verified.Faults[0])
	}
	if len(c.provider.Ledger().Documents()) > 0 && verified.Entries == 0 {
		c.w.violate("%s: no evidence at all", c.name)
	}
	c.verifyCounters()
	for _, m := range c.model.invoices {
		if m.lastOutcome != "acknowledged" && m.lastOutcome != "rejected" {
			continue
		}
		found := false
		c.readAllPages("/api/v1/client/invoices/"+m.id+"/evidence", func(json.RawMessage) { found = true })
		if !found {
			c.w.violate("%s: invoice %s is %s without evidence", c.name, m.id, m.lastOutcome)
		}
	}
}
