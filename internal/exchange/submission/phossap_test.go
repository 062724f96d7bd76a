package submission_test

import (
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/adapters"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// ample is the time limit of calls to a provider that always responds, and brief is that of calls of which one never
// gets a response: the request still arrives in this time on a busy machine. The service believes in assumed, because
// twice that passes until a document can count as missing.
const (
	ample   = 5 * time.Minute
	brief   = 10 * time.Second
	assumed = time.Second
)

// accessPoint is a company that sends through a Peppol access point.
type accessPoint struct {
	testService
	*providertest.PhossAP
}

// newAccessPoint returns a company with a connection in a format, and a time limit of its calls.
func newAccessPoint(t *testing.T, engine string, format document.Profile, limit time.Duration) *accessPoint {
	t.Helper()
	p := &accessPoint{PhossAP: providertest.StartPhossAP(t, credential)}
	p.testService = newCompany(t, engine, limit, invoices.NewConnection{Kind: "phoss-ap", BaseURL: p.URL,
		Format: string(format)})
	return p
}

// newCompany returns a company with an active connection of any kind, and a time limit of its calls.
func newCompany(t *testing.T, engine string, limit time.Duration, connection invoices.NewConnection) (h testService) {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	db, err := ledger.Open(t.Context(), ledgertest.Database(t, engine), base.Options{Keys: keys, Log: log})
	kit.Must(t, err)
	t.Cleanup(func() { kit.Must(t, db.Close()) })
	adapters := submission.NewAdapters(db, func(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
		kind, _ := adapters.Describe(c.Kind)
		return kind.Open(provider.Config{BaseURL: c.BaseURL, Credential: credential, Options: c.Options, Timeout: limit,
			Clock: time.Now})
	})
	h.DB, h.keys = db, keys
	h.service = submission.New(db, submission.Config{Environment: "sandbox", Adapters: adapters, CallTimeout: assumed,
		Log: log, Polling: submission.Polling{First: time.Millisecond, Max: 20 * time.Millisecond,
			MissingGap: time.Millisecond},
		Observe: func(string, string, time.Duration) {}})
	account, err := identity.CreateAccount(t.Context(), db, "Gulf Works LLC", identity.NewUser{Email: "owner@example.com",
		Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	kit.Must(t, identity.SetProfile(t.Context(), db, account.ID,
		*providertest.Seller(document.Profile(connection.Format))))
	connection.Environment, connection.Credential = "sandbox", secret.New(credential)
	added, err := invoices.AddConnection(t.Context(), db, account.ID, connection)
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), db, added.ID)
	kit.Must(t, err)
	h.tenant, err = db.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	return h
}

func (p *accessPoint) draft(t *testing.T, number string) base.ID {
	t.Helper()
	created, err := invoices.Create(t.Context(), p.tenant, providertest.Draft(number))
	kit.Must(t, err)
	return created.ID
}

// poll polls until a dimension of an invoice has a value, and returns the submission.
func (p *accessPoint) poll(t *testing.T, id base.ID, dimension invoice.Dimension,
	want string) (last invoices.Submission) {
	t.Helper()
	kit.Until(t, fmt.Sprintf("%s becomes %q", dimension, want), func() bool {
		found, err := invoices.Find(t.Context(), p.tenant, id)
		kit.Must(t, err)
		last = *found.Submission
		if value, _, _ := last.States.Get(dimension); value == want {
			return true
		}
		p.work(t)
		return false
	})
	return last
}

// work polls what is due.
func (h *testService) work(t *testing.T) {
	t.Helper()
	work := h.service.Work()
	scan, err := work.Scan(t.Context(), base.ScanCursor{})
	kit.Must(t, err)
	for _, queue := range scan.Queues {
		leases, err := work.Claim(t.Context(), queue, 16)
		kit.Must(t, err)
		for _, lease := range leases {
			work.Do(t.Context(), lease)
		}
	}
}

// wantOnce checks that the document of a submission went to the receiver once, under one identifier.
func (p *accessPoint) wantOnce(t *testing.T, s invoices.Submission) {
	t.Helper()
	if sent, transactions := p.Sent(s.ID.String()), p.Transactions(s.ID.String()); sent != 1 || transactions != 1 ||
		s.ProviderReference == nil {
		t.Errorf("%s: sent %d times, %d transactions, %+v", s.Number, sent, transactions, s)
	}
}

// TestPhossAPJourney checks the way of an invoice through an access point, in every way in which the access point can
// fare.
func TestPhossAPJourney(t *testing.T) {
	for name, c := range map[string]struct {
		script providertest.Script
		first  api.Outcome // after Submit
		state  string      // submission_state after Submit; "" if none
	}{
		"sent at once":                          {providertest.Sends, api.OutcomeAcknowledged, ""},
		"sent, with a 422":                      {providertest.SendsUnreported, api.OutcomeAcknowledged, "sent"},
		"a first attempt that fails, and a 422": {providertest.FailsOnce, api.OutcomeAcknowledged, "failed"},
		"a lost response":                       {providertest.LosesResponse, api.OutcomeUnknown, ""},
		"a time-out while it is being sent":     {providertest.Stalls, api.OutcomeUnknown, ""},
	} {
		t.Run(name, func(t *testing.T) {
			ledgertest.EachEngine(t, func(t *testing.T, engine string) {
				limit := ample
				if c.script == providertest.Stalls {
					limit = brief
				}
				p := newAccessPoint(t, engine, document.PINTAE, limit)
				p.Play(c.script)
				id := p.draft(t, "INV-1")
				p.submit(t, id, c.first)
				found, err := invoices.Find(t.Context(), p.tenant, id)
				kit.Must(t, err)
				if value, _, _ := found.Submission.States.Get(invoice.DimensionSubmission); value != c.state {
					t.Errorf("after the submission %q, want %q", value, c.state)
				}
				if c.state == "failed" {
					p.Advance()
				}
				p.poll(t, id, invoice.DimensionSubmission, "sent")
				p.Advance()
				s := p.poll(t, id, invoice.DimensionProviderInvoice, "received_ap")
				if s.Outcome != api.OutcomeAcknowledged || s.States.TaxAuthority.Reported() || s.States.Receiver.Reported() {
					t.Errorf("at the end %+v", s)
				}
				p.wantOnce(t, s)
			})
		})
	}
}

// TestPhossAPRejection checks that only the access point's own word rejects a document, which the company may then
// correct.
func TestPhossAPRejection(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		p := newAccessPoint(t, engine, document.BIS3, ample)
		p.Play(providertest.FailsForGood)
		id := p.draft(t, "INV-1")
		p.submit(t, id, api.OutcomeRejected)
		rejected, err := invoices.Find(t.Context(), p.tenant, id)
		kit.Must(t, err)
		if value, terminal, _ := rejected.Submission.States.Get(invoice.DimensionSubmission); value != "permanently_failed" ||
			!terminal {
			t.Errorf("%q, terminal %t", value, terminal)
		}
		p.Play(providertest.Sends)
		p.testService.patch(t, id)
		p.submit(t, id, api.OutcomeAcknowledged)
		s := p.poll(t, id, invoice.DimensionSubmission, "sent")
		if s.ID == rejected.Submission.ID {
			t.Error("the corrected invoice has the reference of the rejected one")
		}
		p.wantOnce(t, s)
	})
}

// TestPhossAPVerification checks that a document that the access point judges invalid was not taken: it has no
// transaction, and the corrected document uses the same reference.
func TestPhossAPVerification(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		p := newAccessPoint(t, engine, document.BIS3, ample)
		p.Play(providertest.FailsVerification)
		id := p.draft(t, "INV-1")
		p.submit(t, id, invoices.OutcomeNotSent)
		p.Play(providertest.Sends)
		p.testService.patch(t, id)
		p.submit(t, id, api.OutcomeAcknowledged)
		p.wantOnce(t, p.poll(t, id, invoice.DimensionSubmission, "sent"))
	})
}

// TestPhossAPAddresses checks that an invoice to an address that is not one of Peppol stays a draft, and says why.
func TestPhossAPAddresses(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		p := newAccessPoint(t, engine, document.BIS3, ample)
		draft := providertest.Draft("INV-1")
		draft.BuyerEndpointScheme, draft.RecipientNetworkID = new("0060"), new("12/34")
		created, err := invoices.Create(t.Context(), p.tenant, draft)
		kit.Must(t, err)
		_, err = p.service.Submit(t.Context(), p.tenant, created.ID)
		incomplete, ok := errors.AsType[*invoices.IncompleteError](err)
		if !ok || len(incomplete.Missing["recipient_network_id"]) != 1 || len(p.Received()) != 0 {
			t.Fatalf("%v: %+v, received %q", err, incomplete.Missing, p.Received())
		}
	})
}

// TestPhossAPIsNeverSentTwice checks that a document is not sent again although the access point keeps saying that it
// has none: it says the same about a document that it has twice.
func TestPhossAPIsNeverSentTwice(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		p := newAccessPoint(t, engine, document.BIS3, ample)
		p.Control(t).Break()
		id := p.draft(t, "INV-1")
		p.submit(t, id, api.OutcomeUnknown)
		p.Repair()
		asked, later := 0, 0 // later: after the time in which the document may still arrive
		sent := time.Now()
		kit.Until(t, "five later queries", func() bool {
			p.work(t)
			if now := count(p.Received(), "GET "); now > asked && time.Since(sent) > 2*assumed {
				asked, later = now, later+1
			}
			return later == 5
		})
		found, err := invoices.Find(t.Context(), p.tenant, id)
		kit.Must(t, err)
		if posts := count(p.Received(), "POST "); posts != 1 || found.Submission.Outcome != api.OutcomeUnknown {
			t.Errorf("asked %d times later, posted %d times, %+v", later, posts, found.Submission)
		}
	})
}

// count returns the number of requests that begin with a text.
func count(requests []string, with string) (n int) {
	for _, request := range requests {
		if strings.HasPrefix(request, with) {
			n++
		}
	}
	return n
}
