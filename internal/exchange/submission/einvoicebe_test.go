package submission_test

import (
	"errors"
	"fmt"
	"log/slog"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// belgian is a company that sends through e-invoice.be.
type belgian struct {
	testService
	standIn *providertest.EInvoiceBE
}

// newBelgian returns the company with its connection, and a time limit of its calls.
func newBelgian(t *testing.T, engine string, limit time.Duration) *belgian {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	db, err := ledger.Open(t.Context(), ledgertest.Database(t, engine), base.Options{Keys: keys, Log: log})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, db.Close()) })
	adapters := submission.NewAdapters(db, func(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
		kind, _ := adapters.Describe(c.Kind)
		return kind.Open(provider.Config{BaseURL: c.BaseURL, Credential: credential, Timeout: limit, Clock: time.Now})
	})
	b := &belgian{standIn: providertest.NewEInvoiceBE(credential, time.Now())}
	server := httptest.NewServer(b.standIn)
	t.Cleanup(server.Close)
	b.DB = db
	b.service = submission.New(db, submission.Config{Environment: "sandbox", Adapters: adapters, CallTimeout: assumed,
		Log: log, Polling: submission.Polling{First: time.Millisecond, Max: 20 * time.Millisecond,
			MissingGap: time.Millisecond},
		Observe: func(string, string, time.Duration) {}})
	account, err := identity.CreateAccount(t.Context(), db, "Atelier Maas BV", identity.NewUser{Email: "owner@example.com",
		Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, identity.SetProfile(t.Context(), db, account.ID, *providertest.BelgianSeller()))
	added, err := invoices.AddConnection(t.Context(), db, account.ID,
		invoices.NewConnection{Kind: "e-invoice-be", Environment: "sandbox", BaseURL: server.URL,
			Format: string(document.BIS3), Credential: secret.New(credential)})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), db, added.ID)
	kit.Must(t, err)
	b.tenant, err = db.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	return b
}

// draft creates a draft after a change.
func (b *belgian) draft(t *testing.T, number string, change func(*api.Draft)) base.ID {
	t.Helper()
	draft := providertest.BelgianInvoice(number)
	if change != nil {
		change(draft)
	}
	created, err := invoices.Create(t.Context(), b.tenant, draft)
	kit.Must(t, err)
	return created.ID
}

// correct changes the name of the buyer.
func (b *belgian) correct(t *testing.T, id base.ID, name string) {
	t.Helper()
	_, err := invoices.Update(t.Context(), b.tenant, id, func(int64) bool { return true },
		func(current []byte) (api.Draft, error) {
			var draft api.Draft
			err := json.Unmarshal(current, &draft)
			draft.RecipientName = &name
			return draft, err
		})
	kit.Must(t, err)
}

// poll polls until a submission meets a condition.
func (b *belgian) poll(t *testing.T, id base.ID, until func(invoices.Submission) bool) invoices.Submission {
	t.Helper()
	var last invoices.Submission
	kit.Eventually(t, func() error {
		found, err := invoices.Find(t.Context(), b.tenant, id)
		kit.Must(t, err)
		if last = *found.Submission; until(last) {
			return nil
		}
		b.work(t)
		return fmt.Errorf("it stays %+v", last)
	})
	return last
}

// state returns a condition of [belgian.poll]: the word of the provider.
func state(want string) func(invoices.Submission) bool {
	return func(s invoices.Submission) bool {
		value, _, _ := s.States.Get(invoice.DimensionProviderInvoice)
		return value == want
	}
}

// wantSent checks how often each document of the provider was sent.
func (b *belgian) wantSent(t *testing.T, want ...int) {
	t.Helper()
	documents := b.standIn.Documents()
	if len(documents) != len(want) {
		t.Fatalf("%d documents, want %d", len(documents), len(want))
	}
	for n, d := range documents {
		if d.Sent != want[n] {
			t.Errorf("document %d was sent %d times, want %d", n, d.Sent, want[n])
		}
	}
}

// TestEInvoiceBEJourney checks the way of an invoice, wherever a response is lost: the document is found again and sent
// once.
func TestEInvoiceBEJourney(t *testing.T) {
	const ever = time.Minute
	for name, c := range map[string]struct {
		faults []providertest.Fault
		first  api.Outcome // after Submit
	}{
		"all goes well": {first: api.OutcomeAcknowledged},
		"a time-out while it is being created": {faults: []providertest.Fault{{Operation: "create", Times: 1,
			After: true, Hang: ever}}, first: api.OutcomeUnknown},
		"an error after it was created": {faults: []providertest.Fault{{Operation: "create", Times: 1,
			After: true, Status: 500}}, first: api.OutcomeUnknown},
		"a lost validation": {faults: []providertest.Fault{{Operation: "validate", Times: 1}},
			first: api.OutcomeUnknown},
		"a time-out while it is being sent": {faults: []providertest.Fault{{Operation: "send", Times: 1,
			After: true, Hang: ever}}, first: api.OutcomeUnknown},
		"a broken connection after it was sent": {faults: []providertest.Fault{{Operation: "send", Times: 1,
			After: true}}, first: api.OutcomeUnknown},
		"a broken connection before it was sent": {faults: []providertest.Fault{{Operation: "send", Times: 1}},
			first: api.OutcomeUnknown},
		"a 503 of sending, and no list": {faults: []providertest.Fault{{Operation: "send", Times: 1,
			Status: 503}, {Operation: "get", Times: 3}}, first: api.OutcomeUnknown},
		"a time-out of creation, and lists that fail": {faults: []providertest.Fault{{Operation: "create", Times: 1,
			After: true, Hang: ever}, {Operation: "outbox", Times: 2, Status: 500}}, first: api.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.EachEngine(t, func(t *testing.T, engine string) {
				limit := ample
				for _, fault := range c.faults {
					if fault.Hang > 0 && testing.Short() {
						t.Skip("waits for a time-out")
					}
					if fault.Hang > 0 {
						limit = brief
					}
				}
				b := newBelgian(t, engine, limit)
				for _, fault := range c.faults {
					b.standIn.Add(fault)
				}
				id := b.draft(t, "INV-1", nil)
				b.submit(t, id, c.first)
				s := b.poll(t, id, state("TRANSIT"))
				if s.Outcome != api.OutcomeAcknowledged {
					t.Errorf("%+v", s)
				}
				b.standIn.Move("TRANSIT", "SENT")
				s = b.poll(t, id, state("SENT"))
				if s.Outcome != api.OutcomeAcknowledged || s.ProviderReference == nil || s.States.Submission.Reported() ||
					s.States.TaxAuthority.Reported() || s.States.Receiver.Reported() {
					t.Errorf("%+v", s)
				}
				b.wantSent(t, 1)
				b.wantEvidence(t)
			})
		})
	}
}

// wantEvidence checks that every response that was kept still says what was read from it.
func (b *belgian) wantEvidence(t *testing.T) {
	t.Helper()
	verified, err := proof.Verify(t.Context(), b.testService.DB,
		proof.Replay{Response: submission.Replay, Sent: submission.ReadSubmitted})
	kit.Must(t, err)
	if len(verified.Faults) > 0 {
		t.Errorf("%+v", verified.Faults)
	}
}

// TestEInvoiceBELosesTheDocument checks that a document whose creation was lost before it took effect is not created
// again until an administrator orders it, and that a document that was already sent is not sent by such an order
// either.
func TestEInvoiceBELosesTheDocument(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newBelgian(t, engine, ample)
		b.standIn.Add(providertest.Fault{Operation: "create", Times: 1})
		id := b.draft(t, "INV-1", nil)
		b.submit(t, id, api.OutcomeUnknown)
		s := b.poll(t, id, func(s invoices.Submission) bool { return s.MissingCount >= 3 })
		b.wantSent(t)
		_, err := invoices.ResolveAnySubmission(t.Context(), b.testService.DB, s.ID, invoices.DecisionResend,
			"the provider has no such document")
		kit.Must(t, err)
		b.poll(t, id, state("TRANSIT"))
		b.wantSent(t, 1)
	})
}

// TestEInvoiceBEIsOrderedTwice checks that the provider's guard holds: a document that was sent, but cannot be looked
// up, is not sent again although an administrator orders it.
func TestEInvoiceBEIsOrderedTwice(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newBelgian(t, engine, ample)
		b.standIn.Add(providertest.Fault{Operation: "send", Times: 1, After: true})
		b.standIn.Add(providertest.Fault{Operation: "get", Times: 2, Status: 422})
		id := b.draft(t, "INV-1", nil)
		b.submit(t, id, api.OutcomeUnknown)
		found, err := invoices.Find(t.Context(), b.tenant, id)
		kit.Must(t, err)
		_, err = invoices.ResolveAnySubmission(t.Context(), b.testService.DB, found.Submission.ID,
			invoices.DecisionResend, "the customer has no invoice")
		kit.Must(t, err)
		b.poll(t, id, state("TRANSIT"))
		b.wantSent(t, 1)
	})
}

// TestEInvoiceBERejection checks that the provider's word FAILED rejects a document, and that the corrected one is
// another document.
func TestEInvoiceBERejection(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newBelgian(t, engine, ample)
		id := b.draft(t, "INV-1", nil)
		b.submit(t, id, api.OutcomeAcknowledged)
		b.standIn.Move("TRANSIT", "FAILED")
		rejected := b.poll(t, id, state("FAILED"))
		if rejected.Outcome != api.OutcomeRejected {
			t.Errorf("%+v", rejected)
		}
		b.correct(t, id, "Scheldehuis BV")
		b.submit(t, id, api.OutcomeAcknowledged)
		s := b.poll(t, id, state("TRANSIT"))
		if s.ID == rejected.ID || *s.ProviderReference == *rejected.ProviderReference {
			t.Errorf("the corrected invoice has the references of the rejected one: %+v", s)
		}
		b.wantSent(t, 1, 1)
		b.wantEvidence(t)
	})
}

// TestEInvoiceBERefusal checks that a document that the provider finds invalid is not sent: the invoice is a draft
// again. The same document continues with the provider's draft, and a corrected one is another document.
func TestEInvoiceBERefusal(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newBelgian(t, engine, ample)
		id := b.draft(t, "INV-1", func(d *api.Draft) { d.RecipientName = new("Invalid") })
		b.submit(t, id, invoices.OutcomeNotSent)
		b.submit(t, id, invoices.OutcomeNotSent)
		b.wantSent(t, 0)
		b.correct(t, id, "Scheldehuis NV")
		b.submit(t, id, api.OutcomeAcknowledged)
		b.wantSent(t, 0, 1)
		b.wantEvidence(t)
	})
}

// TestEInvoiceBECurrency checks that an invoice in a currency that the provider does not carry is incomplete, and
// nothing is sent.
func TestEInvoiceBECurrency(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newBelgian(t, engine, ample)
		id := b.draft(t, "INV-1", func(d *api.Draft) { d.Currency = new("PLN") })
		_, err := b.service.Submit(t.Context(), b.tenant, id)
		var incomplete *invoices.IncompleteError
		if !errors.As(err, &incomplete) || len(incomplete.Missing) != 1 ||
			incomplete.Missing["currency"][0].Rule != "not_supported" {
			t.Errorf("%v: %+v", err, incomplete)
		}
		b.wantSent(t)
	})
}
