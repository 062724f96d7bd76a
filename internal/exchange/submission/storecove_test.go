package submission_test

import (
	"encoding/json"
	"errors"
	"net/http"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// storecove is a company that sends through Storecove.
type storecove struct {
	testService
	*providertest.Storecove
}

// newStorecove returns the company with its connection, the provider's names of further schemes, and a time limit of
// its calls.
func newStorecove(t *testing.T, engine, schemes string, limit time.Duration) *storecove {
	t.Helper()
	s := &storecove{Storecove: providertest.StartStorecove(t, credential)}
	options := s.Options()
	if schemes != "" {
		options["schemes"] = schemes
	}
	s.testService = newCompany(t, engine, limit, invoices.NewConnection{Kind: "storecove", BaseURL: s.BaseURL(),
		Format: string(document.BIS3), Options: options})
	return s
}

func (s *storecove) draft(t *testing.T) base.ID {
	t.Helper()
	draft := providertest.Draft("INV-1")
	providertest.Norwegian(draft)
	created, err := invoices.Create(t.Context(), s.tenant, draft)
	kit.Must(t, err)
	return created.ID
}

// poll polls until a condition holds.
func (s *storecove) poll(t *testing.T, what string, done func() bool) {
	t.Helper()
	kit.Until(t, what, func() bool {
		if done() {
			return true
		}
		s.work(t)
		return false
	})
}

// submission returns the submission of an invoice.
func (s *storecove) submission(t *testing.T, id base.ID) invoices.Submission {
	t.Helper()
	found, err := invoices.Find(t.Context(), s.tenant, id)
	kit.Must(t, err)
	return *found.Submission
}

// wantNoStates checks that no state was made up, and that everything that is recorded follows from the evidence.
func (s *storecove) wantNoStates(t *testing.T, id base.ID) {
	t.Helper()
	states := s.submission(t, id).States
	if states.Submission.Reported() || states.ProviderInvoice.Reported() || states.TaxAuthority.Reported() ||
		states.Receiver.Reported() {
		t.Errorf("states %+v", states)
	}
	verified, err := proof.Verify(t.Context(), s.testService.DB, proof.Replay{Response: submission.Replay,
		Purchase: func([]byte) (incoming.NewIncoming, error) { return incoming.NewIncoming{}, nil },
		Sent:     submission.ReadSubmitted})
	kit.Must(t, err)
	if verified.Entries == 0 || len(verified.Faults) > 0 {
		t.Errorf("evidence %+v", verified)
	}
}

// statuses returns the HTTP statuses of the calls in the evidence of an invoice, oldest first.
func (s *storecove) statuses(t *testing.T, id base.ID) (statuses []int) {
	t.Helper()
	page, err := view.Of(s.tenant).EvidenceHistory(t.Context(), view.OfInvoice(id), 1, 100)
	kit.Must(t, err)
	for _, e := range page.Entries {
		statuses = append(statuses, e.HTTPStatus)
	}
	return statuses
}

// TestStorecoveJourney checks the way of an invoice: it is taken, its evidence is retained, and it is polled once a day
// after that, because nothing more can be said about it. Another response to the same question, which always has other
// bytes, is not retained.
func TestStorecoveJourney(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStorecove(t, engine, "", ample)
		id := s.draft(t)
		s.submit(t, id, api.OutcomeAcknowledged)
		s.poll(t, "three status queries", func() bool { return count(s.Received(), "GET ") >= 3 })
		s.Advance()
		settled := func() bool {
			due := s.submission(t, id).DueAt
			return due != nil && due.Sub(s.Now()) > 23*time.Hour
		}
		s.poll(t, "evidence", settled)
		_, err := ledger.MarkRestored(t.Context(), s.testService.DB) // makes it due
		kit.Must(t, err)
		s.poll(t, "evidence again", settled)
		found := s.submission(t, id)
		if taken := s.Taken(found.ID.String()); found.Outcome != api.OutcomeAcknowledged || found.ProviderReference == nil ||
			len(taken) != 1 {
			t.Errorf("%d documents, %+v", len(taken), found)
		}
		if got := s.statuses(t, id); len(got) != 3 || got[0] != http.StatusOK || got[1] != http.StatusNotFound ||
			got[2] != http.StatusOK {
			t.Errorf("evidence %v", got)
		}
		s.wantNoStates(t, id)
	})
}

// TestStorecoveLostResponse checks that an invoice whose response was lost stays unknown, that it is not sent again,
// and that an administrator's order to do so makes no second document: the provider refuses the repetition, from which
// nothing follows.
func TestStorecoveLostResponse(t *testing.T) {
	for name, script := range map[string]providertest.StorecoveScript{
		"a broken connection": providertest.StorecoveLosesResponse, "a time-out": providertest.StorecoveStalls,
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.EachEngine(t, func(t *testing.T, engine string) {
				limit := ample
				if script == providertest.StorecoveStalls {
					limit = brief
				}
				s := newStorecove(t, engine, "", limit)
				s.Play(script)
				id := s.draft(t)
				s.submit(t, id, api.OutcomeUnknown)
				s.Play(providertest.StorecoveTakes)
				s.poll(t, "five status queries", func() bool { return count(s.Received(), "GET ") >= 5 })
				if posts := count(s.Received(), "POST "); posts != 1 {
					t.Fatalf("posted %d times without an order", posts)
				}
				reference := s.submission(t, id).ID
				_, err := invoices.ResolveAnySubmission(t.Context(), s.testService.DB, reference, invoices.DecisionResend,
					"the provider's application shows no document")
				kit.Must(t, err)
				s.poll(t, "a second transmission", func() bool { return count(s.Received(), "POST ") >= 2 })
				asked := count(s.Received(), "GET ")
				s.poll(t, "more status queries", func() bool { return count(s.Received(), "GET ") >= asked+3 })
				found := s.submission(t, id)
				if posts, taken := count(s.Received(), "POST "), s.Taken(reference.String()); posts != 2 || len(taken) != 1 ||
					found.Outcome != api.OutcomeUnknown || found.ResendOrdered || found.DueAt == nil {
					t.Errorf("posted %d times, %d documents, %+v", posts, len(taken), found)
				}
				s.wantNoStates(t, id)
			})
		})
	}
}

// TestStorecoveLostRequest checks that an administrator's order sends an invoice that the provider did not get, under
// its reference.
func TestStorecoveLostRequest(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStorecove(t, engine, "", ample)
		s.Play(providertest.StorecoveLosesRequest)
		id := s.draft(t)
		s.submit(t, id, api.OutcomeUnknown)
		s.Play(providertest.StorecoveTakes)
		reference := s.submission(t, id).ID
		_, err := invoices.ResolveAnySubmission(t.Context(), s.testService.DB, reference, invoices.DecisionResend,
			"the provider's application shows no document")
		kit.Must(t, err)
		s.poll(t, "an acknowledgement", func() bool { return s.submission(t, id).Outcome == api.OutcomeAcknowledged })
		if taken := s.Taken(reference.String()); len(taken) != 1 {
			t.Errorf("%d documents", len(taken))
		}
		s.wantNoStates(t, id)
	})
}

// TestStorecoveInvalid checks that a document that the provider finds invalid at its first transmission was not taken,
// and that the corrected invoice is a document of its own: the provider might remember the idempotencyGuid of the
// refused one.
func TestStorecoveInvalid(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStorecove(t, engine, "", ample)
		s.Play(providertest.StorecoveInvalid)
		id := s.draft(t)
		s.submit(t, id, invoices.OutcomeNotSent)
		s.Play(providertest.StorecoveTakes)
		_, err := invoices.Update(t.Context(), s.tenant, id, func(int64) bool { return true },
			func(current []byte) (draft api.Draft, err error) {
				err = json.Unmarshal(current, &draft)
				draft.BuyerReference = new("PO-8")
				return draft, err
			})
		kit.Must(t, err)
		s.submit(t, id, api.OutcomeAcknowledged)
		if posts, taken := count(s.Received(), "POST "), s.Taken(s.submission(t, id).ID.String()); posts != 2 ||
			len(taken) != 1 {
			t.Errorf("posted %d times, %d documents", posts, len(taken))
		}
		s.wantNoStates(t, id)
	})
}

// TestStorecoveRepeatedRefusal checks that the refusal of a repetition leaves an invoice unknown even if its form is
// that of an invalid document: the first transmission may have arrived.
func TestStorecoveRepeatedRefusal(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStorecove(t, engine, "", ample)
		s.Play(providertest.StorecoveLosesRequest)
		id := s.draft(t)
		s.submit(t, id, api.OutcomeUnknown)
		s.Play(providertest.StorecoveInvalid)
		_, err := invoices.ResolveAnySubmission(t.Context(), s.testService.DB, s.submission(t, id).ID,
			invoices.DecisionResend, "to be sure")
		kit.Must(t, err)
		s.poll(t, "a second transmission", func() bool { return count(s.Received(), "POST ") >= 2 })
		if found := s.submission(t, id); found.Outcome != api.OutcomeUnknown {
			t.Errorf("%+v", found)
		}
		s.wantNoStates(t, id)
	})
}

// TestStorecoveSchemes checks that an invoice to a scheme that the provider has no known name for stays a draft, and
// says why.
func TestStorecoveSchemes(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		for schemes, sent := range map[string]bool{"": false, "0235=AE:TIN": true} {
			s := newStorecove(t, engine, schemes, ample)
			created, err := invoices.Create(t.Context(), s.tenant, providertest.Draft("INV-1"))
			kit.Must(t, err)
			_, err = s.service.Submit(t.Context(), s.tenant, created.ID)
			incomplete, ok := errors.AsType[*invoices.IncompleteError](err)
			if sent && err != nil || !sent && (!ok || len(incomplete.Missing["recipient_network_id"]) != 1) ||
				len(s.Received()) > 0 != sent {
				t.Errorf("schemes %q: %v, received %q", schemes, err, s.Received())
			}
		}
	})
}

// TestStorecoveAfterARestore checks that an invoice that was created before a restore is not sent, even if an
// administrator orders it: the provider cannot say whether it has it under this reference or a later one.
func TestStorecoveAfterARestore(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStorecove(t, engine, "", ample)
		id := s.draft(t)
		_, err := ledger.MarkRestored(t.Context(), s.testService.DB)
		kit.Must(t, err)
		s.submit(t, id, api.OutcomeUnknown)
		_, err = invoices.ResolveAnySubmission(t.Context(), s.testService.DB, s.submission(t, id).ID, invoices.DecisionResend,
			"the provider's application shows no document")
		kit.Must(t, err)
		asked := count(s.Received(), "GET ")
		s.poll(t, "status queries", func() bool { return count(s.Received(), "GET ") >= asked+5 })
		if posts := count(s.Received(), "POST "); posts != 0 {
			t.Errorf("posted %d times", posts)
		}
	})
}
