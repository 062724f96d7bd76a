package submission_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/simulator"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// stepwise is a provider that first takes a document and then sends it when it is asked to. It does not repeat our
// reference. Its status response is two requests.
type stepwise struct {
	*simulator.Adapter
	table invoice.Vocabulary

	mu        sync.Mutex
	documents []string // the states, by identifier DOC-n
	sent      int
	// broken makes the provider act on the next call of a step without a response, and refused makes it refuse to send.
	broken  map[string]bool
	refused bool
	// lost makes the next document get lost on its way, and unreachable keeps every document from being sent.
	lost, unreachable bool
	// before is called before the provider sends.
	before func()
	// repeated says of each call that takes a document whether it was repeated.
	repeated []bool
}

func newStepwise() *stepwise {
	return &stepwise{Adapter: simulator.New(time.Now, 0), broken: map[string]bool{}, table: invoice.Vocabulary{
		Name: "stepwise/1", ProviderReference: "/id", Status: "/state",
		Statuses:        map[string]invoice.Status{"draft": invoice.Unsent, "sent": invoice.Accepted},
		ProviderInvoice: invoice.StatePointers{Value: "/state", TerminalValues: []string{"sent"}},
	}}
}

func (p *stepwise) Profile() provider.Profile {
	return provider.Profile{Vocabulary: p.table, Idempotent: true, Steps: 2, QueriesByContent: true}
}

func jsonResponse(kind provider.Kind, status int, body string) provider.Response {
	return provider.Response{Kind: kind, HTTPStatus: status, MediaType: "application/json", Body: []byte(body),
		Size: int64(len(body))}
}

// report returns the response about a document, or none if the call of this step is broken.
func (p *stepwise) report(step string, n int) provider.Response {
	if p.broken[step] {
		delete(p.broken, step)
		return provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout}
	}
	return jsonResponse(provider.Complete, http.StatusOK, fmt.Sprintf(`{"id":"DOC-%d","state":%q}`, n, p.documents[n]))
}

func (p *stepwise) Submit(_ context.Context, doc provider.Document) provider.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	if doc.ProviderReference == "" {
		p.repeated = append(p.repeated, doc.Repeated)
		switch {
		case p.unreachable:
			return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassConnect}
		case p.lost:
			p.lost = false
			return provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout}
		}
		p.documents = append(p.documents, "draft")
		response := p.report("create", len(p.documents)-1)
		if response.Kind == provider.Complete {
			response.Next = provider.NextSubmit
		}
		return response
	}
	var n int
	if _, err := fmt.Sscanf(doc.ProviderReference, "DOC-%d", &n); err != nil {
		return provider.Response{Kind: provider.NotSent}
	}
	if p.before != nil {
		p.before()
	}
	if p.refused {
		return jsonResponse(provider.Refused, http.StatusConflict, `{"error":"not yours"}`)
	}
	if p.documents[n] == "draft" {
		p.documents[n] = "sent"
		p.sent++
	}
	return p.report("send", n)
}

func (p *stepwise) Status(_ context.Context, query provider.Query) provider.Response {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := -1
	if _, err := fmt.Sscanf(query.ProviderReference, "DOC-%d", &found); err != nil {
		if len(query.Body) == 0 {
			return provider.Response{Kind: provider.NotSent}
		}
		found = len(p.documents) - 1
	}
	list := jsonResponse(provider.Inconclusive, http.StatusOK, fmt.Sprintf(`{"documents":%d}`, len(p.documents)))
	if found < 0 {
		return jsonResponse(provider.UnknownReference, http.StatusOK, `{"items":[]}`)
	}
	response := p.report("status", found)
	response.Earlier = []provider.Response{list}
	return response
}

// steps is a company whose provider is stepwise.
type steps struct {
	*ledgertest.Store
	provider *stepwise
	service  *submission.Service
	tenant   *base.Tenant
}

func newSteps(t *testing.T, engine string) *steps {
	t.Helper()
	s := &steps{Store: ledgertest.Open(t, engine), provider: newStepwise()}
	account, err := identity.CreateAccount(t.Context(), s.Store.DB, "Palm Trading LLC",
		identity.NewUser{Email: "owner@example.com", Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	added, err := invoices.AddConnection(t.Context(), s.Store.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "sandbox", BaseURL: "https://provider.example", Credential: secret.New(credential)})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), s.Store.DB, added.ID)
	kit.Must(t, err)
	s.tenant, err = s.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	adapters := submission.NewAdapters(s.DB, func(invoices.Connection, secret.Text) (provider.Adapter,
		error) {
		return s.provider, nil
	})
	s.service = submission.New(s.DB, submission.Config{Environment: "sandbox", Adapters: adapters,
		CallTimeout: 10 * time.Second, Polling: submission.Polling{First: time.Second, Max: time.Hour},
		Log: slog.New(slog.NewTextHandler(t.Output(), nil)), Observe: func(string, string, time.Duration) {}})
	return s
}

// submit submits a new invoice.
func (s *steps) submit(t *testing.T) (base.ID, error) {
	t.Helper()
	created, err := invoices.Create(t.Context(), s.tenant, draftFor("INV-1", "1234567890"))
	kit.Must(t, err)
	_, err = s.service.Submit(t.Context(), s.tenant, created.ID)
	return created.ID, err
}

// poll polls everything that is due within a time.
func (s *steps) poll(t *testing.T, within time.Duration) {
	t.Helper()
	work := s.service.Work()
	for end := s.Clock.Now().Add(within); s.Clock.Now().Before(end); s.Clock.Advance(5 * time.Second) {
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
}

// wantOutcome checks the outcome of an invoice, the provider's state and how many documents the provider has sent and
// taken.
func (s *steps) wantOutcome(t *testing.T, id base.ID, outcome api.Outcome, state string, sent, taken int) {
	t.Helper()
	found, err := invoices.Find(t.Context(), s.tenant, id)
	kit.Must(t, err)
	var got api.Outcome
	var value string
	if found.Submission != nil {
		got, value = found.Submission.Outcome, found.Submission.States.ProviderInvoice.Value()
	}
	if got != outcome || value != state || s.provider.sent != sent || len(s.provider.documents) != taken {
		t.Errorf("outcome %q and state %q, %d of %d documents sent; want %q, %q, %d of %d", got, value, s.provider.sent,
			len(s.provider.documents), outcome, state, sent, taken)
	}
}

// TestStepsOfASubmission checks that a submission of two steps sends its document once: when nothing goes wrong, and
// when either step has no response, in which case the document is found again and sent only by the rules for sending
// again.
func TestStepsOfASubmission(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		t.Run("without trouble", func(t *testing.T) {
			s := newSteps(t, engine)
			id, err := s.submit(t)
			kit.Must(t, err)
			s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
			s.wantEvidence(t, id, "submit draft, submit sent")
		})
		t.Run("the second step has no response", func(t *testing.T) {
			s := newSteps(t, engine)
			s.provider.broken["send"] = true
			id, err := s.submit(t)
			kit.Must(t, err)
			s.wantOutcome(t, id, api.OutcomeUnknown, "draft", 1, 1)
			s.poll(t, 20*time.Second)
			s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
			s.wantEvidence(t, id, "submit draft, status -, status sent")
		})
		t.Run("the first step has no response", func(t *testing.T) {
			s := newSteps(t, engine)
			s.provider.broken["create"] = true
			id, err := s.submit(t)
			kit.Must(t, err)
			s.wantOutcome(t, id, api.OutcomeUnknown, "", 0, 1)
			s.poll(t, 30*time.Second) // the provider has said once, at most, that it has not sent the document
			s.wantOutcome(t, id, api.OutcomeUnknown, "draft", 0, 1)
			s.poll(t, 5*time.Minute)
			s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
		})
		t.Run("the second step is refused", func(t *testing.T) {
			s := newSteps(t, engine)
			s.provider.refused = true
			id, err := s.submit(t)
			if !errors.Is(err, submission.ErrNotSubmitted) {
				t.Fatalf("%v, want %v", err, submission.ErrNotSubmitted)
			}
			s.wantOutcome(t, id, "", "", 0, 1)
			s.provider.refused = false
			_, err = s.service.Submit(t.Context(), s.tenant, id)
			kit.Must(t, err)
			s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
		})
	})
}

// TestRepeated checks that a document is announced as a repetition if the provider may have received it before, and
// only then.
func TestRepeated(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		t.Run("no response", func(t *testing.T) {
			s := newSteps(t, engine)
			s.provider.lost = true
			id, err := s.submit(t)
			kit.Must(t, err)
			s.poll(t, 5*time.Minute)
			s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
			s.wantRepeated(t, false, true)
		})
		t.Run("not sent", func(t *testing.T) {
			s := newSteps(t, engine)
			s.provider.unreachable = true
			id, err := s.submit(t)
			if !errors.Is(err, submission.ErrNotSubmitted) {
				t.Fatal(err)
			}
			s.provider.unreachable = false
			_, err = s.service.Submit(t.Context(), s.tenant, id)
			kit.Must(t, err)
			s.wantRepeated(t, false, false)
		})
		t.Run("restored", func(t *testing.T) {
			s := newSteps(t, engine)
			created, err := invoices.Create(t.Context(), s.tenant, draftFor("INV-1", "1234567890"))
			kit.Must(t, err)
			_, err = ledger.MarkRestored(t.Context(), s.Store.DB)
			kit.Must(t, err)
			_, err = s.service.Submit(t.Context(), s.tenant, created.ID)
			kit.Must(t, err)
			s.wantRepeated(t, true)
		})
	})
}

// wantRepeated checks which documents were announced as repetitions, in the order of their transmission.
func (s *steps) wantRepeated(t *testing.T, want ...bool) {
	t.Helper()
	if !slices.Equal(s.provider.repeated, want) {
		t.Errorf("repeated %v, want %v", s.provider.repeated, want)
	}
}

// TestLateStep checks that a worker that was suspended between two steps takes back nothing: its response is evidence,
// and the document is sent once.
func TestLateStep(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newSteps(t, engine)
		s.provider.before = func() {
			s.provider.before = nil
			s.provider.mu.Unlock()
			defer s.provider.mu.Lock()
			s.Clock.Advance(time.Hour) // the lease ends, and another worker polls
			s.poll(t, 10*time.Second)
		}
		id, err := s.submit(t)
		kit.Must(t, err)
		s.wantOutcome(t, id, api.OutcomeUnknown, "draft", 1, 1)
		s.poll(t, 5*time.Minute)
		s.wantOutcome(t, id, api.OutcomeAcknowledged, "sent", 1, 1)
	})
}

// wantEvidence checks the calls of the evidence of an invoice and the states that were read from each, oldest first.
func (s *steps) wantEvidence(t *testing.T, id base.ID, want string) {
	t.Helper()
	page, err := view.Of(s.tenant).EvidenceHistory(t.Context(), view.OfInvoice(id), 1, 100)
	kit.Must(t, err)
	var got []string
	for _, e := range page.Entries {
		got = append(got, e.Call+" "+cmp.Or(e.StateValues["provider_invoice_state"], "-"))
	}
	if text := strings.Join(got, ", "); text != want {
		t.Errorf("evidence %s, want %s", text, want)
	}
}
