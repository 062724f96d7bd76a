package drill

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"quittance/client"
	"quittance/client/api"
)

// drafts checks that every draft exists with its contents, and that its creation, repeated under its key, returns it.
func (c *check) drafts(ctx context.Context, of *company) error {
	changing, changed := byID(c.of(of, kindChanging)), byID(c.of(of, kindChange))
	for _, fact := range c.of(of, kindDraft) {
		var was api.Invoice
		var request api.Draft
		if err := unmarshal(fact, &was, &request); err != nil {
			return err
		}
		now, err := persist(ctx, of, func(service *client.Client) (api.Invoice,
			error) {
			return service.Invoice(ctx, fact.ID)
		})
		if notFound(err) {
			if c.missing[fact.ID] = c.tolerated(fact); c.missing[fact.ID] {
				c.unknown[*was.InvoiceNumber] = true
			} else {
				c.report.lose("company %s: the draft %s was acknowledged at %s and does not exist", of.name, *was.InvoiceNumber,
					clock(fact))
			}
			continue
		}
		if err != nil {
			return err
		}
		c.report.Found[kindDraft]++
		if err := c.compareDraft(of, was, now, changing[fact.ID], changed[fact.ID]); err != nil {
			return err
		}
		repeated, err := persist(ctx, of, func(service *client.Client) (api.Invoice, error) {
			return service.CreateInvoice(ctx, request, client.IdempotencyKey(fact.Key))
		})
		if err != nil || repeated.ID != fact.ID {
			c.report.lose("company %s: the repeated creation of %s returned %q instead of %s (%v)", of.name, *was.InvoiceNumber,
				repeated.ID, fact.ID, err)
		}
		c.report.Repeated++
	}
	return nil
}

// compareDraft compares the contents of a draft with those that were acknowledged. A change that was requested but not
// acknowledged may have happened.
func (c *check) compareDraft(of *company, was, now api.Invoice, changing, changed *Fact) error {
	want := was.Draft
	switch {
	case changed != nil:
		var after api.Invoice
		if err := json.Unmarshal(changed.Response, &after); err != nil {
			return fmt.Errorf("journal: %w", err)
		}
		if equal(want, now.Draft) && c.tolerated(*changed) {
			return nil // as it was in the backup
		}
		want = after.Draft
	case changing != nil:
		want.BuyerReference = now.BuyerReference
	}
	if !equal(want, now.Draft) || !was.CreatedAt.Equal(now.CreatedAt) {
		c.report.lose("company %s: %s has other contents than those acknowledged", of.name, *was.InvoiceNumber)
		return nil
	}
	if changed != nil {
		c.report.Found[kindChange]++
	}
	return nil
}

// credits is drafts for credit notes.
func (c *check) credits(ctx context.Context, of *company) error {
	for _, fact := range c.of(of, kindCredit) {
		var was api.CreditNote
		var request api.CreditNoteRequest
		if err := unmarshal(fact, &was, &request); err != nil {
			return err
		}
		now, err := persist(ctx, of, func(service *client.Client) (api.CreditNote,
			error) {
			return service.CreditNote(ctx, fact.ID)
		})
		if notFound(err) {
			if c.missing[fact.ID] = c.tolerated(fact); c.missing[fact.ID] {
				c.unknown[was.CreditNoteNumber] = true
			} else {
				c.report.lose("company %s: the credit note %s was acknowledged at %s and does not exist", of.name,
					was.CreditNoteNumber, clock(fact))
			}
			continue
		}
		if err != nil {
			return err
		}
		c.report.Found[kindCredit]++
		if now.InvoiceID != was.InvoiceID || now.CreditNoteNumber != was.CreditNoteNumber || !equal(was.Items, now.Items) ||
			!was.CreatedAt.Equal(now.CreatedAt) {
			c.report.lose("company %s: the credit note %s has other contents than those acknowledged", of.name,
				was.CreditNoteNumber)
		}
		repeated, err := persist(ctx, of, func(service *client.Client) (api.CreditNote, error) {
			return service.CreateCreditNote(ctx, request, client.IdempotencyKey(fact.Key))
		})
		if err != nil || repeated.ID != fact.ID {
			c.report.lose("company %s: the repeated creation of %s returned %q instead of %s (%v)", of.name,
				was.CreditNoteNumber, repeated.ID, fact.ID, err)
		}
		c.report.Repeated++
	}
	return nil
}

// shown is what a response shows of a submission.
type shown struct {
	submission *api.Submission
	states     api.StateDetails
}

// submissions checks that every submission exists under its reference and shows the acknowledged states or later ones.
// One that is younger than the backup is submitted again: the service must find its document at the provider. So is one
// that was requested and never answered, as a customer would do: the provider may have its document.
func (c *check) submissions(ctx context.Context, of *company) error {
	for _, kind := range []Kind{kindSubmission, kindCreditSent} {
		for _, fact := range c.of(of, kind) {
			if c.missing[fact.ID] {
				c.report.AfterBackup[kind]++
				continue
			}
			if err := c.submission(ctx, of, fact); err != nil {
				return err
			}
		}
	}
	return c.unanswered(ctx, of)
}

// unanswered repeats the submissions that were requested and not answered when the load ended.
func (c *check) unanswered(ctx context.Context, of *company) error {
	for requested, answered := range map[Kind]Kind{kindSubmitting: kindSubmission, kindCreditSending: kindCreditSent} {
		answers := byID(c.of(of, answered))
		for _, fact := range c.of(of, requested) {
			if answers[fact.ID] != nil || c.missing[fact.ID] {
				continue
			}
			if _, err := persist(ctx, of, func(service *client.Client) (shown, error) {
				return resubmit(ctx, service, Fact{ID: fact.ID, Kind: answered})
			}); err != nil {
				c.report.lose("company %s: the submission of %s, which got no answer, cannot be repeated: %v", of.name, fact.ID, err)
			}
		}
	}
	return nil
}

func (c *check) submission(ctx context.Context, of *company, fact Fact) error {
	was, err := shownBy(fact)
	if err != nil {
		return err
	}
	now, err := persist(ctx, of, func(service *client.Client) (shown, error) { return read(ctx, service, fact) })
	if err != nil {
		c.report.lose("company %s: the submission %s cannot be read: %v", of.name, was.submission.ID, err)
		return nil
	}
	if now.submission == nil && c.tolerated(fact) {
		if now, err = persist(ctx, of, func(service *client.Client) (shown,
			error) {
			return resubmit(ctx, service, fact)
		}); err != nil {
			c.report.lose("company %s: the submission %s cannot be repeated: %v", of.name, was.submission.ID, err)
			return nil
		}
		c.report.Resubmitted++
	}
	if now.submission == nil || now.submission.ID != was.submission.ID {
		c.report.lose("company %s: the submission %s was acknowledged at %s and does not exist", of.name, was.submission.ID,
			clock(fact))
		return nil
	}
	c.report.Found[fact.Kind]++
	if !c.options.LostAfter.IsZero() && !fact.At.Before(c.options.LostAfter) {
		return nil // its states are those that the provider reports from now on
	}
	for n, before := range dimensions(was.states) {
		after := dimensions(now.states)[n]
		if before != nil && (after == nil || before.Final && after.Value != before.Value ||
			after.ReportedAt.Before(before.ReportedAt)) {
			c.report.lose("company %s: a state of the submission %s was %s and is older now", of.name, was.submission.ID,
				before.Value)
		}
	}
	return nil
}

// shownBy returns what the response to a submit has shown.
func shownBy(fact Fact) (shown, error) {
	if fact.Kind == kindCreditSent {
		var note api.CreditNote
		if err := unmarshal(fact, &note, nil); err != nil {
			return shown{}, err
		}
		return shown{note.Submission, note.Details}, nil
	}
	var invoice api.Invoice
	if err := unmarshal(fact, &invoice, nil); err != nil {
		return shown{}, err
	}
	return shown{invoice.Submission, invoice.Details}, nil
}

// read returns what is shown now of a fact's invoice or credit note.
func read(ctx context.Context, c *client.Client, fact Fact) (shown, error) {
	if fact.Kind == kindCreditSent {
		note, err := c.CreditNote(ctx, fact.ID)
		return shown{note.Submission, note.Details}, err
	}
	invoice, err := c.Invoice(ctx, fact.ID)
	return shown{invoice.Submission, invoice.Details}, err
}

// resubmit submits a fact's invoice or credit note.
func resubmit(ctx context.Context, c *client.Client, fact Fact) (shown, error) {
	if fact.Kind == kindCreditSent {
		note, err := submitCredit(ctx, c, fact.ID)
		return shown{note.Submission, note.Details}, err
	}
	invoice, err := submit(ctx, c, fact.ID)
	return shown{invoice.Submission, invoice.Details}, err
}

func dimensions(s api.StateDetails) [4]*api.StateDetail {
	return [4]*api.StateDetail{s.SubmissionState, s.ProviderInvoiceState, s.TaxAuthorityState, s.ReceiverState}
}

// byID returns facts by their identifiers.
func byID(facts []Fact) map[string]*Fact {
	out := map[string]*Fact{}
	for n := range facts {
		out[facts[n].ID] = &facts[n]
	}
	return out
}

// unmarshal reads the response of a fact, and its request unless that is nil.
func unmarshal(fact Fact, response, request any) error {
	err := json.Unmarshal(fact.Response, response)
	if err == nil && request != nil {
		err = json.Unmarshal(fact.Request, request)
	}
	if err != nil {
		return fmt.Errorf("journal: %s %s: %w", fact.Kind, fact.ID, err)
	}
	return nil
}

// equal reports whether two values have the same JSON.
func equal(a, b any) bool {
	x, errX := json.Marshal(a)
	y, errY := json.Marshal(b)
	return errX == nil && errY == nil && bytes.Equal(x, y)
}

// clock shows when a fact was acknowledged.
func clock(fact Fact) string { return fact.At.Format("15:04:05.000Z") }
