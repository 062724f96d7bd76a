package integration_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/ledger/events"
	"quittance/sandbox/fakeprovider"
)

// books holds what the parties know about one company at the end of a test that killed processes: the service's list
// and events, the provider's ledger, and the callbacks that the receiver accepted.
type books struct {
	invoices  []api.Invoice
	credits   []api.CreditNoteSummary
	events    []events.Event
	ledger    []fakeprovider.LedgerDocument
	callbacks []fakeprovider.Callback
}

// allComplete returns an error for a submission that is not complete. accept reports whether a submission may stay as
// it is.
func (b books) allComplete(accept func(api.Invoice) bool) error {
	for _, invoice := range b.invoices {
		if invoice.Submission == nil || accept(invoice) {
			continue // a draft, or accepted as it is
		}
		if err := complete(*invoice.InvoiceNumber, invoice.Submission, invoice.States); err != nil {
			return err
		}
	}
	for _, note := range b.credits {
		if err := complete(note.CreditNoteNumber, note.Submission, note.States); err != nil {
			return err
		}
	}
	return nil
}

// complete returns an error for a submission that is not complete.
func complete(number string, s *api.Submission, states api.States) error {
	if s == nil || s.Outcome == api.OutcomeRejected {
		return nil
	}
	if s.Outcome != api.OutcomeAcknowledged || states.SubmissionState == nil || states.ProviderInvoiceState == nil ||
		states.TaxAuthorityState == nil ||
		states.ReceiverState == nil || s.NextCheckAt != nil {
		return fmt.Errorf("%s is not complete: %+v", number, *s)
	}
	return nil
}

// submissions returns the current submissions of all documents by the numbers of the documents; nil is a draft. Credit
// notes and invoices of these tests have different numbers.
func (b books) submissions() map[string]*api.Submission {
	out := map[string]*api.Submission{}
	for _, invoice := range b.invoices {
		out[*invoice.InvoiceNumber] = invoice.Submission
	}
	for _, note := range b.credits {
		if out[note.CreditNoteNumber] == nil {
			out[note.CreditNoteNumber] = note.Submission
		}
	}
	return out
}

// taken returns the callbacks that the receiver answered with 200, by event.
func (b books) taken() map[string]fakeprovider.Callback {
	taken := map[string]fakeprovider.Callback{}
	for _, callback := range b.callbacks {
		if callback.Status == http.StatusOK {
			taken[callback.Delivery] = callback
		}
	}
	return taken
}

// allDelivered returns an error for an event that has not arrived. expected selects the events that must arrive.
func (b books) allDelivered(expected func(events.Event) bool) error {
	taken := b.taken()
	for _, event := range b.events {
		if _, ok := taken[event.ID.String()]; !ok && expected(event) {
			return fmt.Errorf("event %d of %d, %s, has not arrived", event.Position, len(b.events), event.Kind)
		}
	}
	return nil
}

// checkLedger checks that the provider has at most one document per submission, exactly one for those with a known
// outcome, and no second document of an invoice that it has not rejected.
func (b books) checkLedger() error {
	var errs []error
	known, accepted := map[string]bool{}, map[string]int{}
	for _, document := range b.ledger {
		known[document.Reference] = true
		number := cmp.Or(document.CreditNoteNumber, document.InvoiceNumber)
		if document.Scenario != "sandbox-rejected-validation" {
			accepted[number]++
		}
		if document.Accepted != 1 || document.Conflicts != 0 || accepted[number] > 1 {
			errs = append(errs, fmt.Errorf("the provider has accepted more than one document of %s: %+v", number, document))
		}
	}
	for number, s := range b.submissions() {
		clear := s != nil && s.Outcome != api.OutcomeUnknown
		if clear && !known[s.ID] {
			errs = append(errs, fmt.Errorf("%s is %s, but the provider does not have it", number, s.Outcome))
		}
		if !clear && accepted[number] > 0 {
			errs = append(errs, fmt.Errorf("the provider has %s, but the service does not know it", number))
		}
	}
	return errors.Join(errs...)
}

// checkCallbacks checks that every attempt is signed and well formed, and that all attempts of an event have the same
// bytes.
func (b books) checkCallbacks(secret string) error {
	var errs []error
	events, first := map[string]events.Event{}, map[string]fakeprovider.Callback{}
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
			errs = append(errs, fmt.Errorf("event %s arrived as %s but is stored as %s", c.Delivery, c.Body, event.Body))
		}
		before, again := first[c.Delivery]
		if again && (before.Timestamp != c.Timestamp || before.Signature != c.Signature) {
			errs = append(errs, fmt.Errorf("two attempts of event %s differ", c.Delivery))
		}
		first[c.Delivery] = c
	}
	return errors.Join(errs...)
}

// checkEvents checks that positions have no gaps and that each complete submission has exactly one terminal event.
func (b books) checkEvents() error {
	var errs []error
	ends := map[string]int{}
	for n, event := range b.events {
		if want := b.events[0].Position + int64(n); event.Position != want {
			return fmt.Errorf("an event has position %d instead of %d", event.Position, want)
		}
		var e envelope
		if err := json.Unmarshal(event.Body, &e); err != nil {
			return err
		}
		if event.Kind == api.EventTerminal {
			ends[e.ResourceID]++
		}
	}
	for number, s := range b.submissions() {
		if s == nil {
			continue
		}
		want := 0
		if s.Outcome == api.OutcomeAcknowledged {
			want = 1
		}
		if ends[s.ID] != want {
			errs = append(errs, fmt.Errorf("%s has %d terminal events, want %d", number, ends[s.ID], want))
		}
		delete(ends, s.ID)
	}
	for id, n := range ends {
		errs = append(errs, fmt.Errorf("submission %s, which belongs to no document, has %d terminal events", id, n))
	}
	return errors.Join(errs...)
}

// onPath returns the callbacks to one destination.
func onPath(callbacks []fakeprovider.Callback, path string) []fakeprovider.Callback {
	return slices.DeleteFunc(callbacks, func(c fakeprovider.Callback) bool { return c.Path != path })
}

// readLedger returns the ledger of a provider sandbox.
func readLedger(c caller, providerURL, credential string) ([]fakeprovider.LedgerDocument, error) {
	got, err := c.call(http.MethodGet, providerURL+"/control/ledger", credential, "")
	if err != nil {
		return nil, err
	}
	var ledger struct{ Documents []fakeprovider.LedgerDocument }
	return ledger.Documents, errors.Join(json.Unmarshal(got.body, &ledger))
}

// readAll reads all pages of a list.
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
