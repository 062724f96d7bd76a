package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"quittance/api"
	"quittance/internal/fakeprovider"
	"quittance/internal/store"
)

// books are what the parties know of one company at the end of a test that has killed processes: the service's list and
// its events, the provider's ledger, and what the receiver has taken.
type books struct {
	invoices  []api.Invoice
	events    []store.Event
	ledger    []fakeprovider.LedgerDocument
	callbacks []fakeprovider.Callback
}

// atEnd names a submission that is not at its end. accept says of one that it may stay as it is.
func (b books) atEnd(accept func(api.Invoice) bool) error {
	for _, invoice := range b.invoices {
		s := invoice.Submission
		if s == nil || s.Outcome == api.OutcomeRejected || accept(invoice) {
			continue
		}
		if s.Outcome != api.OutcomeAcknowledged || invoice.SubmissionState == nil || invoice.ProviderInvoiceState == nil || invoice.TaxAuthorityState == nil ||
			invoice.ReceiverState == nil || s.NextCheckAt != nil {
			return fmt.Errorf("%s is not at its end: %+v", *invoice.InvoiceNumber, *s)
		}
	}
	return nil
}

// taken returns the callbacks that the receiver has answered 200, by event.
func (b books) taken() map[string]fakeprovider.Callback {
	taken := map[string]fakeprovider.Callback{}
	for _, callback := range b.callbacks {
		if callback.Answered == http.StatusOK {
			taken[callback.Delivery] = callback
		}
	}
	return taken
}

// told names an event that has not arrived. expected says which ones have to.
func (b books) told(expected func(store.Event) bool) error {
	taken := b.taken()
	for _, event := range b.events {
		if _, ok := taken[event.ID.String()]; !ok && expected(event) {
			return fmt.Errorf("event %d of %d, %s, has not arrived", event.Position, len(b.events), event.Kind)
		}
	}
	return nil
}

// checkLedger: the provider has at most one document for a submission, exactly one for those of which the service knows
// the outcome, and no second one of an invoice that it has not rejected.
func (b books) checkLedger() error {
	var errs []error
	known, accepted := map[string]bool{}, map[string]int{}
	for _, document := range b.ledger {
		known[document.Reference] = true
		if document.Scenario != "sandbox-rejected-validation" {
			accepted[document.InvoiceNumber]++
		}
		if document.Accepted != 1 || document.Conflicts != 0 || accepted[document.InvoiceNumber] > 1 {
			errs = append(errs, fmt.Errorf("the provider has accepted more than one document of %s: %+v", document.InvoiceNumber, document))
		}
	}
	for _, invoice := range b.invoices {
		s := invoice.Submission
		clear := s != nil && s.Outcome != api.OutcomeUnknown
		if clear && !known[s.ID] {
			errs = append(errs, fmt.Errorf("%s is %s, and the provider does not have it", *invoice.InvoiceNumber, s.Outcome))
		}
		if !clear && accepted[*invoice.InvoiceNumber] > 0 {
			errs = append(errs, fmt.Errorf("the provider has %s, and the service does not know it", *invoice.InvoiceNumber))
		}
	}
	return errors.Join(errs...)
}

// checkCallbacks: every attempt is signed and well formed, and has the bytes of its event and of every other attempt.
func (b books) checkCallbacks(secret string) error {
	var errs []error
	events, first := map[string]store.Event{}, map[string]fakeprovider.Callback{}
	for _, event := range b.events {
		events[event.ID.String()] = event
	}
	for _, c := range b.callbacks {
		if err := checkCallback(c, secret); err != nil {
			errs = append(errs, err)
			continue
		}
		event, recorded := events[c.Delivery]
		if !recorded || c.Body != string(event.Body) || c.Event != string(event.Kind) {
			errs = append(errs, fmt.Errorf("event %s arrived as %s, and is %s", c.Delivery, c.Body, event.Body))
		}
		before, again := first[c.Delivery]
		if again && (before.Timestamp != c.Timestamp || before.Signature != c.Signature) {
			errs = append(errs, fmt.Errorf("two attempts of event %s differ", c.Delivery))
		}
		first[c.Delivery] = c
	}
	return errors.Join(errs...)
}

// checkEvents: positions without gaps, and one end for every submission that has one.
func (b books) checkEvents() error {
	var errs []error
	ends := map[string]int{}
	for n, event := range b.events {
		if want := b.events[0].Position + int64(n); event.Position != want {
			return fmt.Errorf("an event stands at position %d instead of %d", event.Position, want)
		}
		var e envelope
		if err := json.Unmarshal(event.Body, &e); err != nil {
			return err
		}
		if event.Kind == api.EventTerminal {
			ends[e.ResourceID]++
		}
	}
	for _, invoice := range b.invoices {
		s := invoice.Submission
		if s == nil {
			continue
		}
		want := 0
		if s.Outcome == api.OutcomeAcknowledged {
			want = 1
		}
		if ends[s.ID] != want {
			errs = append(errs, fmt.Errorf("%s has %d terminal events, want %d", *invoice.InvoiceNumber, ends[s.ID], want))
		}
		delete(ends, s.ID)
	}
	for id, n := range ends {
		errs = append(errs, fmt.Errorf("submission %s, which is no invoice's, has %d terminal events", id, n))
	}
	return errors.Join(errs...)
}

// onPath keeps the callbacks to one destination.
func onPath(callbacks []fakeprovider.Callback, path string) []fakeprovider.Callback {
	return slices.DeleteFunc(callbacks, func(c fakeprovider.Callback) bool { return c.Path != path })
}

// readLedger asks a provider sandbox for its ledger.
func readLedger(c caller, providerURL, credential string) ([]fakeprovider.LedgerDocument, error) {
	got, err := c.call(http.MethodGet, providerURL+"/control/ledger", credential, "")
	if err != nil {
		return nil, err
	}
	var ledger struct{ Documents []fakeprovider.LedgerDocument }
	return ledger.Documents, errors.Join(json.Unmarshal(got.body, &ledger))
}

// readAll reads every page of a list.
func readAll[T any](get func(path string) ([]byte, error), path string) ([]T, error) {
	var out []T
	for page := 1; ; page++ {
		text, err := get(fmt.Sprintf("%s?per_page=100&page=%d", path, page))
		if err != nil {
			return nil, err
		}
		var list api.List[T]
		if err := json.Unmarshal(text, &list); err != nil {
			return nil, err
		}
		out = append(out, list.Data...)
		if !list.Pagination.HasMore {
			return out, nil
		}
	}
}
