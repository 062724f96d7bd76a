package simulation

import (
	"cmp"
	"encoding/json"
	"net/http"
	"time"

	"quittance/internal/fakeprovider"
	"quittance/internal/invoice"
)

// event is an event as the feed shows it.
type event struct {
	ID           string             `json:"id"`
	Event        string             `json:"event"`
	ResourceType string             `json:"resource_type"`
	ResourceID   string             `json:"resource_id"`
	OccurredAt   time.Time          `json:"occurred_at"`
	Payload      map[string]*string `json:"-"`
	Raw          json.RawMessage    `json:"payload"`
}

// verifyEvents: each end was told once, each change is one, and the last change tells what stands there now.
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
			c.w.violate("%s: the feed of events answered %d %s", c.name, r.status, r.body)
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
				c.w.violate("%s: the end of %s was told %d times", c.name, d.Reference, terminal[d.Reference])
			}
			c.w.count("documents of which the provider contradicts itself")
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
			c.w.violate("%s: the end of %s was told %d times, want %d", c.name, d.Reference, terminal[d.Reference], want)
		}
		if now := c.text(&report); cmp.Or(last[d.Reference], c.text(&fakeprovider.Report{})) != now {
			c.w.violate("%s: the last change of %s tells %s, and the provider says %s", c.name, d.Reference, last[d.Reference], now)
		}
	}
	return events
}

// verifyOrder: no word goes back to one that is older, by the provider's own sequence, than the one before it.
func (c *company) verifyOrder(e *event, newest map[string]int64) {
	var words map[string]*string
	c.w.must(json.Unmarshal([]byte(c.statesOf(e)), &words))
	for dimension, word := range words {
		if word == nil {
			continue
		}
		key, next := e.ResourceID+" "+dimension, int64(0)
		for _, asked := range c.asked(e.ResourceID) {
			if asked.said == nil || asked.said.States[invoice.Dimension(dimension)].Value != *word {
				continue
			}
			if at := asked.said.Sequence; at >= newest[key] && (next == 0 || at < next) {
				next = at
			}
		}
		if next == 0 {
			c.w.violate("%s: %s of %s was told to be %s, which is older than what was told before", c.name, dimension, e.ResourceID, *word)
		}
		newest[key] = next
	}
}

// text writes the four states of a report as [company.statesOf] writes those of an event.
func (c *company) text(report *fakeprovider.Report) string {
	words := map[string]*string{}
	for _, dimension := range invoice.Dimensions {
		words[string(dimension)] = nil
		if state, reported := report.States[dimension]; reported {
			words[string(dimension)] = &state.Value
		}
	}
	text, err := json.Marshal(words)
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
	text, err := json.Marshal(map[string]*string{"submission_state": states.SubmissionState, "provider_invoice_state": states.ProviderInvoiceState,
		"tax_authority_state": states.TaxAuthorityState, "receiver_state": states.ReceiverState})
	c.w.must(err)
	return string(text)
}
