package simulation

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"quittance/internal/document/invoice"
	"quittance/sandbox/fakeprovider"
)

// event is an event in the feed.
type event struct {
	ID           string             `json:"id"`
	Event        string             `json:"event"`
	ResourceType string             `json:"resource_type"`
	ResourceID   string             `json:"resource_id"`
	OccurredAt   time.Time          `json:"occurred_at"`
	Payload      map[string]*string `json:"-"`
	Raw          json.RawMessage    `json:"payload"`
}

// verifyEvents checks that each document has one terminal event, that each change event changes something, and that the
// last one has the current states.
func (c *company) verifyEvents() []event {
	var events []event
	for after := ""; ; {
		r, arrived := c.call(http.MethodGet, "/api/v1/webhooks/events?limit=100"+after, nil, nil)
		var page struct {
			Data       []event `json:"data"`
			Pagination struct {
				NextCursor string `json:"next_cursor"`
				HasMore    bool   `json:"has_more"`
			} `json:"pagination"`
		}
		if !arrived || r.status != http.StatusOK || json.Unmarshal(r.body, &page) != nil {
			c.w.violate("%s: the event feed returned status %d: %s", c.name, r.status, r.body)
			return nil
		}
		events = append(events, page.Data...)
		if after = "&after=" + page.Pagination.NextCursor; !page.Pagination.HasMore {
			break
		}
	}
	terminal, last, newest := map[string]int{}, map[string]string{}, map[string]int64{}
	for n := range events {
		e := &events[n]
		if e.ResourceType != "submission" {
			continue
		}
		switch states := c.statesOf(e); e.Event {
		case "einvoice.terminal":
			terminal[e.ResourceID]++
		case "einvoice.status.changed":
			if states == last[e.ResourceID] {
				c.w.violate("%s: a change of %s changes nothing: %s", c.name, e.ResourceID, states)
			}
			last[e.ResourceID] = states
			c.verifyOrder(e, newest)
		}
	}
	for _, d := range c.provider.Ledger().Documents() {
		report := d.Report(time.Now())
		if c.contradicted(d.Reference, report) {
			if terminal[d.Reference] > 1 {
				c.w.violate("%s: %s has %d terminal events", c.name, d.Reference, terminal[d.Reference])
			}
			c.w.count("documents with contradictory reports")
			continue
		}
		ends := len(report.States) == len(invoice.Dimensions)
		for _, state := range report.States {
			ends = ends && state.Terminal
		}
		want := 0
		if ends {
			want = 1
		}
		if terminal[d.Reference] != want {
			c.w.violate("%s: %s has %d terminal events, want %d", c.name, d.Reference, terminal[d.Reference], want)
		}
		if now := c.statesText(&report); cmp.Or(last[d.Reference], c.statesText(&fakeprovider.Report{})) != now {
			c.w.violate("%s: the last change event of %s has %s, and the provider has %s", c.name, d.Reference,
				last[d.Reference], now)
		}
	}
	return events
}

// verifyOrder checks that no state value is replaced by one that is older by the provider's own sequence.
func (c *company) verifyOrder(e *event, newest map[string]int64) {
	var values map[string]*string
	c.w.must(json.Unmarshal([]byte(c.statesOf(e)), &values))
	for dimension, value := range values {
		if value == nil {
			continue
		}
		key, next := e.ResourceID+" "+dimension, int64(0)
		for _, asked := range c.callsAbout(e.ResourceID) {
			if asked.report == nil || asked.report.States[invoice.Dimension(dimension)].Value != *value {
				continue
			}
			if at := asked.report.Sequence; at >= newest[key] && (next == 0 || at < next) {
				next = at
			}
		}
		if next == 0 {
			c.w.violate("%s: %s of %s changed to %s, which is older than the value before", c.name, dimension, e.ResourceID,
				*value)
		}
		newest[key] = next
	}
}

// statesText returns the four states of a report in the form of [company.statesOf].
func (c *company) statesText(report *fakeprovider.Report) string {
	values := map[string]*string{}
	for _, dimension := range invoice.Dimensions {
		values[string(dimension)] = nil
		if state, reported := report.States[dimension]; reported {
			values[string(dimension)] = &state.Value
		}
	}
	text, err := json.Marshal(values)
	c.w.must(err)
	return string(text)
}

// statesOf returns the four states of an event as one text.
func (c *company) statesOf(e *event) string {
	var states struct {
		SubmissionState      *string `json:"submission_state"`
		ProviderInvoiceState *string `json:"provider_invoice_state"`
		TaxAuthorityState    *string `json:"tax_authority_state"`
		ReceiverState        *string `json:"receiver_state"`
	}
	c.w.must(json.Unmarshal(e.Raw, &states))
	text, err := json.Marshal(map[string]*string{"submission_state": states.SubmissionState,
		"provider_invoice_state": states.ProviderInvoiceState,
		"tax_authority_state":    states.TaxAuthorityState, "receiver_state": states.ReceiverState})
	c.w.must(err)
	return string(text)
}
