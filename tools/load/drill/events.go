package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"

	"quittance/client"
	"quittance/client/api"
)

// canonical returns an event as JSON with sorted members, so that the feed and a webhook can be compared.
func canonical(event []byte) (json.RawMessage, error) {
	decoder := json.NewDecoder(bytes.NewReader(event))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		return nil, fmt.Errorf("event: %w", err)
	}
	return json.Marshal(value)
}

// eventFacts returns a page of the feed as facts. The cursor after it is the position of its last event, and positions
// have no gaps; so a cursor that does not follow from the one before and the number of events is an error.
func eventFacts(company, after string, feed api.Feed[api.Event[json.RawMessage]]) ([]Fact, error) {
	var before int64
	if after != "" {
		var err error
		if before, err = strconv.ParseInt(after, 10, 64); err != nil {
			return nil, fmt.Errorf("cursor: %w", err)
		}
	}
	end, err := strconv.ParseInt(feed.Pagination.NextCursor, 10, 64)
	if err != nil {
		return nil, fmt.Errorf("cursor: %w", err)
	}
	if end != before+int64(len(feed.Data)) {
		return nil, fmt.Errorf("events are missing: %d follow position %d, but the cursor after them is %d", len(feed.Data),
			before, end)
	}
	var facts []Fact
	for n, event := range feed.Data {
		text, err := json.Marshal(event)
		if err == nil {
			text, err = canonical(text)
		}
		if err != nil {
			return nil, fmt.Errorf("event: %w", err)
		}
		facts = append(facts, Fact{Company: company, Kind: kindEvent, ID: event.ID, Position: before + int64(n) + 1,
			Response: text})
	}
	return facts, nil
}

// feed reads all events of a company, by identifier.
func feed(ctx context.Context, of *company) (map[string]Fact, error) {
	found, after := map[string]Fact{}, ""
	for {
		page, err := persist(ctx, of, func(c *client.Client) (api.Feed[api.Event[json.RawMessage]], error) {
			return c.Events(ctx, after, eventPage)
		})
		if err != nil {
			return nil, err
		}
		facts, err := eventFacts(of.name, after, page)
		if err != nil {
			return nil, err
		}
		for _, fact := range facts {
			found[fact.ID] = fact
		}
		after = page.Pagination.NextCursor
		if !page.Pagination.HasMore {
			return found, nil
		}
	}
}

// events checks that every event that was read or received is still there, at its position and unchanged, and that the
// subscriptions are.
func (c *check) events(ctx context.Context, of *company, receipts []Fact) error {
	found, err := feed(ctx, of)
	if err != nil {
		return err
	}
	for _, fact := range append(c.of(of, kindEvent), receipts...) {
		if fact.Company != of.name {
			continue
		}
		now, ok := found[fact.ID]
		switch {
		case ok && bytes.Equal(now.Response, fact.Response) && (fact.Kind == kindReceipt || now.Position == fact.Position):
			c.report.Found[fact.Kind]++
		case ok:
			c.report.lose("company %s: the event %s has changed", of.name, fact.ID)
		case !c.tolerated(fact):
			c.report.lose("company %s: the event %s was sent at %s and does not exist", of.name, fact.ID, clock(fact))
		}
	}
	for _, fact := range c.of(of, kindHook) {
		hook, err := persist(ctx, of, func(c *client.Client) (api.Subscription,
			error) {
			return c.Subscription(ctx, fact.ID)
		})
		if err != nil || !hook.Active {
			c.report.lose("company %s: the subscription %s is not active (%v)", of.name, fact.ID, err)
			continue
		}
		c.report.Found[kindHook]++
	}
	return nil
}

// open describes what of a company has not ended yet, and adds the references of its submissions to references, with
// whether the provider must have their documents.
func (c *check) open(ctx context.Context, of *company, references map[string]bool) (open []string, err error) {
	service, err := of.client()
	if err != nil {
		return []string{err.Error()}, nil //nolint:nilerr // it is asked again, like what has not ended
	}
	open, err = openSubmissions(ctx, service, references)
	if err != nil && again(err) {
		return []string{err.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	events, err := feed(ctx, of)
	if err != nil {
		return nil, err
	}
	receipts, err := readJournal(c.options.Receipts)
	if err != nil {
		return nil, err
	}
	arrived := byID(receipts)
	for id, event := range events {
		if receipt := arrived[id]; receipt == nil {
			open = append(open, fmt.Sprintf("the event %s has not arrived", id))
		} else if !bytes.Equal(receipt.Response, event.Response) {
			open = append(open, fmt.Sprintf("the event %s has arrived with other contents", id))
		}
	}
	missing, err := c.missingPurchases(ctx, service)
	if err != nil && again(err) {
		return append(open, err.Error()), nil
	}
	return append(open, missing...), err
}

// openSubmissions describes the submissions that have not ended.
func openSubmissions(ctx context.Context, c *client.Client, references map[string]bool) (open []string, err error) {
	note := func(number string, s *api.Submission) {
		if s == nil {
			return
		}
		references[s.ID] = s.Outcome == api.OutcomeAcknowledged || s.Outcome == api.OutcomeRejected
		if !s.Outcome.Rejected() && (s.Outcome != api.OutcomeAcknowledged || s.NextCheckAt != nil) {
			open = append(open, fmt.Sprintf("the submission of %s has not ended: %s", number, s.Outcome))
		}
	}
	for invoice, err := range c.AllInvoices(ctx, client.InvoiceQuery{Paging: client.Paging{PerPage: eventPage},
		Submitted: new(true), Sort: "created_at"}) {
		if err != nil {
			return open, err
		}
		note(*invoice.InvoiceNumber, invoice.Submission)
	}
	for credit, err := range c.AllCreditNotes(ctx, client.CreditNoteQuery{Paging: client.Paging{PerPage: eventPage}}) {
		if err != nil {
			return open, err
		}
		note(credit.CreditNoteNumber, credit.Submission)
	}
	return open, nil
}

// missingPurchases describes the e-invoices that the provider has received for a company and that the company cannot
// see.
func (c *check) missingPurchases(ctx context.Context, service *client.Client) (missing []string, err error) {
	seen := map[string]bool{}
	for incoming, err := range service.AllIncomingInvoices(ctx,
		client.IncomingInvoiceQuery{Paging: client.Paging{PerPage: eventPage}}) {
		if err != nil {
			return nil, err
		}
		seen[incoming.ProviderDocumentID] = true
	}
	found := 0
	for _, fact := range c.facts {
		if fact.Kind != kindPurchase {
			continue
		}
		if found++; !seen[fact.ID] {
			found--
			missing = append(missing, fmt.Sprintf("the e-invoice %s of the provider has not arrived", fact.ID))
		}
	}
	c.report.Found[kindPurchase] = found
	return missing, nil
}
