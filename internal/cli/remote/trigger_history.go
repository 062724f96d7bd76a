package remote

import (
	"net/http"
	"slices"
	"strings"

	"quittance/client"
	"quittance/client/api"
)

// states returns the four states of an invoice by name, in their usual order.
func states(invoice api.Invoice) (names []string, details []*api.StateDetail) {
	d := invoice.Details
	return []string{"submission_state", "provider_invoice_state", "tax_authority_state", "receiver_state"},
		[]*api.StateDetail{d.SubmissionState, d.ProviderInvoiceState, d.TaxAuthorityState, d.ReceiverState}
}

// history is what was shown of an invoice.
type history struct {
	// shown is the outcome and the last value of each state.
	shown map[string]string
	// page is the page of the evidence to read next, and seen has the entries that were read.
	page int
	seen map[string]bool
}

// changes prints what is new about an invoice: from its evidence, which has every value that was reported, and from its
// present state.
func (p *player) changes(invoice api.Invoice, h *history) error {
	if err := p.evidence(invoice, h); err != nil {
		return err
	}
	if s := invoice.Submission; s != nil && h.shown["outcome"] != string(s.Outcome) {
		h.shown["outcome"] = string(s.Outcome)
		if err := p.tell("submission", "%s", s.Outcome); err != nil {
			return err
		}
	}
	names, details := states(invoice)
	for n, detail := range details {
		if detail == nil {
			continue
		}
		if err := p.state(names[n], valueOf(*detail), h); err != nil {
			return err
		}
	}
	return nil
}

// valueOf returns a state value, marked if it is final.
func valueOf(detail api.StateDetail) string {
	if detail.Final {
		return detail.Value + final
	}
	return detail.Value
}

// state prints the value of a state if it is new.
func (p *player) state(name, value string, h *history) error {
	if h.shown[name] == value {
		return nil
	}
	h.shown[name] = value
	return p.tell("state", "%-22s %s", name, value)
}

// evidence prints the new responses of the provider to the submission, and the values that were reported before those
// that the invoice has.
func (p *player) evidence(invoice api.Invoice, h *history) error {
	for {
		list, err := p.service.Evidence(p.ctx, invoice.ID, client.Paging{Page: h.page, PerPage: 100})
		if err != nil {
			return err
		}
		for _, e := range list.Data {
			if h.seen[e.ID] {
				continue
			}
			first := len(h.seen) == 0
			h.seen[e.ID] = true
			if err := p.response(e, first); err != nil {
				return err
			}
			if err := p.reported(e, invoice, h); err != nil {
				return err
			}
		}
		if !list.Pagination.HasMore {
			return nil
		}
		h.page++
	}
}

// response prints how the provider has answered a submission; first is whether the evidence begins with this entry.
func (p *player) response(e api.Evidence, first bool) error {
	switch {
	case e.Call == "submit":
		return p.tell("response", "submit %d %s", e.HTTPStatus, http.StatusText(e.HTTPStatus))
	case first:
		return p.tell("response", "submit none")
	}
	return nil
}

// reported prints the new values of one response, in the order of the states. A value is marked as final if the invoice
// has it and the provider calls it final there: the evidence does not say so.
func (p *player) reported(e api.Evidence, invoice api.Invoice, h *history) error {
	names, details := states(invoice)
	for n, name := range names {
		value, ok := e.Words[name]
		if !ok || strings.TrimSuffix(h.shown[name], final) == value {
			continue
		}
		if d := details[n]; d != nil && d.Value == value {
			value = valueOf(*d)
		}
		if err := p.state(name, value, h); err != nil {
			return err
		}
	}
	return nil
}

// ended reports whether nothing more is going to happen to an invoice: it was rejected, or all its states are final.
func ended(invoice api.Invoice) bool {
	if s := invoice.Submission; s != nil && s.Outcome == api.OutcomeRejected {
		return true
	}
	_, details := states(invoice)
	return !slices.ContainsFunc(details, func(d *api.StateDetail) bool { return d == nil || !d.Final })
}
