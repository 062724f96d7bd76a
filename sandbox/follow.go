package sandbox

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// followInterval is the time between two looks for new events.
const followInterval = 300 * time.Millisecond

// ExampleAccount returns the identifier of the example company's account, or the zero ID if there is no such company.
func (s *Sandbox) ExampleAccount() (base.ID, error) {
	if s.Info.Example == nil {
		return base.ID{}, nil
	}
	account, err := base.ParseID(s.Info.Example.AccountID)
	if err != nil {
		return base.ID{}, fmt.Errorf("account: %w", err)
	}
	return account, nil
}

// Follow calls report with a line about each event of the sandbox's companies that is recorded from now on, oldest
// first for each company, until ctx ends. Of the example company it reports only what belongs to documents newer than
// the call, because the states of its synthetic invoices arrive for some time after the start. The error says that an
// account cannot be read; later faults of the database are logged, and the next look repeats what failed.
func (s *Sandbox) Follow(ctx context.Context, report func(at time.Time, text string)) error {
	db := s.DB() // Run forgets the service at its end
	accounts := []string{s.Info.AccountID}
	if s.Info.Example != nil {
		accounts = append(accounts, s.Info.Example.AccountID)
	}
	var followed []*follower
	for n, text := range accounts {
		account, err := base.ParseID(text)
		if err != nil {
			return fmt.Errorf("account: %w", err)
		}
		f := &follower{db: db, account: account, shown: map[string]api.States{}}
		if err := f.look(ctx, nil); err != nil {
			return err
		}
		if n > 0 {
			f.since = s.config.Now()
		}
		followed = append(followed, f)
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-time.After(followInterval):
		}
		for _, f := range followed {
			if err := f.look(ctx, report); err != nil && ctx.Err() == nil {
				s.config.Log.DebugContext(ctx, "cannot read events for the terminal", "error", err)
			}
		}
	}
}

// follower reads the events of one company.
type follower struct {
	db      *base.DB
	account base.ID
	// tenant is the tenant whose events were read up to the position after; a reset gives the account another one.
	tenant base.ID
	after  int64
	// since is the time before which documents are of no interest.
	since time.Time
	// shown are the states that were reported last, by submission.
	shown map[string]api.States
}

// look reports the new events. With a nil report it only skips those that there are.
func (f *follower) look(ctx context.Context, report func(at time.Time, text string)) error {
	tenant, err := f.db.Tenant(ctx, f.account)
	if err != nil {
		return err
	}
	if tenant.ID() != f.tenant {
		f.tenant, f.after = tenant.ID(), 0
	}
	for more := true; more; {
		var page []events.Event
		if page, more, err = events.EventPage(ctx, tenant, f.after, 500, 1<<20); err != nil {
			return err
		}
		for _, e := range page {
			f.after = e.Position
			if report == nil {
				continue
			}
			text, err := f.describe(e)
			if err != nil {
				return err
			}
			if text != "" {
				report(e.OccurredAt, text)
			}
		}
	}
	return nil
}

// describe returns the line about an event, or "" if it is of no interest. Numbers, words and identifiers contain no
// control characters: drafts and responses with them are refused.
func (f *follower) describe(e events.Event) (string, error) {
	envelope, err := e.Envelope()
	if err != nil {
		return "", err
	}
	resource, err := base.ParseID(envelope.ResourceID)
	if err != nil {
		return "", fmt.Errorf("event: %w", err)
	}
	if !f.since.IsZero() && resource.Time().Before(f.since) {
		return "", nil
	}
	switch e.Kind {
	case api.EventIncomingReceived, api.EventIncomingRevised:
		var payload api.IncomingPayload
		if err := json.Unmarshal(envelope.Payload, &payload); err != nil {
			return "", fmt.Errorf("event: %w", err)
		}
		if e.Kind == api.EventIncomingRevised {
			return fmt.Sprintf("incoming e-invoice %s: revision %d received", payload.ProviderDocumentID, payload.Revision), nil
		}
		return fmt.Sprintf("incoming e-invoice %s received", payload.ProviderDocumentID), nil
	case api.EventTerminal, api.EventStatusChanged, api.EventSubmissionUpdated:
	}
	var payload api.SubmissionPayload
	if err := json.Unmarshal(envelope.Payload, &payload); err != nil {
		return "", fmt.Errorf("event: %w", err)
	}
	document := "invoice " + payload.InvoiceNumber
	if payload.CreditNoteNumber != "" {
		document = "credit note " + payload.CreditNoteNumber
	}
	if e.Kind == api.EventTerminal {
		delete(f.shown, envelope.ResourceID)
		return document + ": terminal", nil
	}
	changed := changedStates(f.shown[envelope.ResourceID], payload.States)
	f.shown[envelope.ResourceID] = payload.States
	if len(changed) == 0 {
		return "", nil
	}
	return document + ": " + strings.Join(changed, ", "), nil
}

// changedStates names the states that differ, with the provider's words.
func changedStates(before, after api.States) (changed []string) {
	for _, state := range []struct {
		name          string
		before, after *string
	}{
		{"provider validation", before.SubmissionState, after.SubmissionState},
		{"provider invoice", before.ProviderInvoiceState, after.ProviderInvoiceState},
		{"tax authority", before.TaxAuthorityState, after.TaxAuthorityState},
		{"receiver", before.ReceiverState, after.ReceiverState},
	} {
		if state.after != nil && (state.before == nil || *state.before != *state.after) {
			changed = append(changed, state.name+" "+*state.after)
		}
	}
	return changed
}
