package submission_test

import (
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/exchange/submission"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/proof"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

const credential = "provider-credential"

// testProvider is the fake provider over real HTTP. It counts how often each reference was posted.
type testProvider struct {
	*fakeprovider.Server
	url  string
	down atomic.Bool // every call gets 503

	mu     sync.Mutex
	posted map[string]int
}

func newTestProvider(t *testing.T) *testProvider {
	t.Helper()
	inner, err := fakeprovider.New(fakeprovider.Options{Dir: t.TempDir(), Credential: secret.New(credential),
		Clock: time.Now, Pace: 100 * time.Microsecond})
	kit.Must(t, err)
	p := &testProvider{Server: inner, posted: map[string]int{}}
	server := httptest.NewServer(p)
	p.url = server.URL
	t.Cleanup(func() {
		server.Close()
		kit.Must(t, inner.Close())
	})
	return p
}

func (p *testProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.Method == http.MethodPost {
		p.mu.Lock()
		p.posted[r.Header.Get("Idempotency-Key")]++
		p.mu.Unlock()
	}
	if p.down.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		return
	}
	p.Server.ServeHTTP(w, r)
}

// posts returns how often each reference was posted since the last call of posts.
func (p *testProvider) posts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	posted := p.posted
	p.posted = map[string]int{}
	return posted
}

// accepted returns the number of documents with an invoice number that the provider has accepted.
func (p *testProvider) accepted(number string) (count int) {
	for _, d := range p.Ledger().Documents() {
		if d.InvoiceNumber == number && d.Report(time.Now()).Status == invoice.Accepted {
			count++
		}
	}
	return count
}

// testService is a service on a database, with the company whose invoices it submits.
type testService struct {
	*base.DB
	provider *testProvider
	address  string
	keys     *secret.Keyring
	service  *submission.Service
	account  base.ID
	tenant   *base.Tenant
}

// open opens the database at an address. The caller closes it.
func open(t *testing.T, p *testProvider, address string, keys *secret.Keyring) *testService {
	t.Helper()
	return openWith(t, p, address, base.Options{Keys: keys})
}

func openWith(t *testing.T, p *testProvider, address string, options base.Options) *testService {
	t.Helper()
	log := slog.New(slog.NewTextHandler(t.Output(), nil))
	options.Log = log
	db, err := ledger.Open(t.Context(), address, options)
	kit.Must(t, err)
	adapters := submission.NewAdapters(db, func(c invoices.Connection, credential secret.Text) (provider.Adapter, error) {
		return protocol.New(provider.Config{BaseURL: c.BaseURL, Credential: credential, Timeout: ample, Clock: time.Now})
	})
	return &testService{DB: db, provider: p, address: address, keys: options.Keys,
		service: submission.New(db, submission.Config{Environment: "sandbox", Adapters: adapters,
			CallTimeout: 10 * time.Second, Polling: submission.Polling{First: time.Millisecond, Max: 20 * time.Millisecond},
			Log: log, Observe: func(string, string, time.Duration) {}})}
}

// newTestService returns an empty database with a company with a connection to the provider.
func newTestService(t *testing.T, engine string, p *testProvider) *testService {
	t.Helper()
	keys, err := secret.Generate()
	kit.Must(t, err)
	h := open(t, p, ledgertest.Database(t, engine), keys)
	account, err := identity.CreateAccount(t.Context(), h.DB, "Palm Trading LLC",
		identity.NewUser{Email: "owner@example.com", Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	h.account = account.ID
	added, err := invoices.AddConnection(t.Context(), h.DB, account.ID,
		invoices.NewConnection{Kind: "http", Environment: "sandbox", BaseURL: p.url, Credential: secret.New(credential)})
	kit.Must(t, err)
	_, err = invoices.ActivateConnection(t.Context(), h.DB, added.ID)
	kit.Must(t, err)
	h.tenant, err = h.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	return h
}

// backup copies the database of the service. It returns the service, opened again if necessary, and the address of the
// copy.
func (h *testService) backup(t *testing.T) (again *testService, copied string) {
	t.Helper()
	if h.Engine() == ledgertest.SQLite {
		path := filepath.Join(t.TempDir(), "backup.db")
		kit.Must(t, h.Backup(t.Context(), path))
		return h, "sqlite:" + path
	}
	kit.Must(t, h.Close())
	copied = pgtest.Copy(t, h.address)
	return h.at(t, h.address), copied
}

// at opens the service of the same company on another database.
func (h *testService) at(t *testing.T, address string) *testService {
	t.Helper()
	again := open(t, h.provider, address, h.keys)
	tenant, err := again.Tenant(t.Context(), h.account)
	kit.Must(t, err)
	again.account, again.tenant = h.account, tenant
	return again
}

// draftFor returns a complete draft. Its recipient, to, may choose a scenario.
func draftFor(number, to string) *api.Draft {
	dec := func(text string) *api.Decimal {
		d, err := api.ParseDecimal(text)
		if err != nil {
			panic(err) // the text is constant
		}
		return &d
	}
	return &api.Draft{InvoiceNumber: &number, RecipientName: new("Buyer"), RecipientNetworkID: &to,
		BuyerEndpointScheme: new("0235"), BuyerStreet: new("12 Harbour Road"), BuyerCity: new("Dubai"),
		BuyerCountry: new("AE"), TotalAmount: dec("1050.00"), Currency: new("AED"), IssueDate: new("2026-03-01"),
		DueDate: new("2026-03-31"), PaymentMeansCode: new("30"),
		Items: []api.Item{{Name: new("Consulting"), UnitCode: new("HUR"), Quantity: dec("10"), NetUnitPrice: dec("100.00"),
			GrossUnitPrice: dec("100.00"), DiscountAmount: dec("0"), VATCategory: new("S"), VATRate: dec("5"),
			ItemCode: new("SKU-7"), Description: new("Workshop")}}}
}

func (h *testService) draft(t *testing.T, number, to string) base.ID {
	t.Helper()
	created, err := invoices.Create(t.Context(), h.tenant, draftFor(number, to))
	kit.Must(t, err)
	return created.ID
}

// patch changes the recipient to an ordinary one.
func (h *testService) patch(t *testing.T, id base.ID) {
	t.Helper()
	h.redirect(t, id, "1234567890")
}

// redirect changes the recipient, which may choose a scenario.
func (h *testService) redirect(t *testing.T, id base.ID, to string) {
	t.Helper()
	_, err := invoices.Update(t.Context(), h.tenant, id, func(int64) bool { return true },
		func(current []byte) (api.Draft, error) {
			var draft api.Draft
			err := json.Unmarshal(current, &draft)
			draft.RecipientNetworkID = &to
			return draft, err
		})
	kit.Must(t, err)
}

func (h *testService) submit(t *testing.T, id base.ID, want api.Outcome) {
	t.Helper()
	submitted, err := h.service.Submit(t.Context(), h.tenant, id)
	if want == invoices.OutcomeNotSent {
		if !errors.Is(err, submission.ErrNotSubmitted) {
			t.Fatalf("%v, want %v", err, submission.ErrNotSubmitted)
		}
		return
	}
	kit.Must(t, err)
	if submitted.Submission == nil || submitted.Submission.Outcome != want {
		t.Fatalf("outcome of %s: %+v, want %s", *submitted.Draft.InvoiceNumber, submitted.Submission, want)
	}
}

// settle polls until the outcome of an invoice is known and, unless it is rejected, all its states are terminal.
func (h *testService) settle(t *testing.T, id base.ID) (found invoices.Invoice) {
	t.Helper()
	kit.Until(t, "an invoice settles", func() bool {
		var err error
		found, err = invoices.Find(t.Context(), h.tenant, id)
		kit.Must(t, err)
		if s := found.Submission; s == nil || s.Outcome == api.OutcomeRejected || s.Outcome == api.OutcomeAcknowledged &&
			s.States.AllTerminal() {
			return true
		}
		h.work(t)
		return false
	})
	return found
}

// wantTruth compares an invoice with what the provider reports under its reference.
func (h *testService) wantTruth(t *testing.T, found invoices.Invoice) {
	t.Helper()
	s := found.Submission
	entry, ok := h.provider.Ledger().Document(s.ID.String())
	if !ok {
		t.Errorf("%s: the provider has nothing under %s", s.Number, s.ID)
		return
	}
	text, err := json.Marshal(entry.Report(time.Now()))
	kit.Must(t, err)
	report, err := invoice.ReadReport(text, protocol.Vocabulary())
	kit.Must(t, err)
	if s.Outcome != invoice.Outcome(report.Status) || s.States != report.States {
		t.Errorf("%s is %s with %v, but the provider reports %s with %v", s.Number, s.Outcome, s.States, report.Status,
			report.States)
	}
}

// story is what a company did before the disaster, with the backups that were made meanwhile.
type story struct {
	*testService
	plain, dropped, rejected, edited, untouched base.ID
	backups                                     []string
}

// numbers of the story's invoices, in the order of invoices.
var numbers = [...]string{"PLAIN", "DROPPED", "REJECTED", "EDITED", "UNTOUCHED"}

func (s *story) invoices() [5]base.ID {
	return [...]base.ID{s.plain, s.dropped, s.rejected, s.edited, s.untouched}
}

// newStory submits a plain invoice, one whose response is lost, one that is rejected, corrected and submitted again,
// and one that is refused unread, edited and submitted again, so that its first reference is never used. Another
// invoice stays a draft. newStory makes backups before, between and after these steps.
func newStory(t *testing.T, engine string) *story {
	t.Helper()
	s := &story{testService: newTestService(t, engine, newTestProvider(t))}
	backup := func() {
		var copied string
		s.testService, copied = s.backup(t)
		s.backups = append(s.backups, copied)
	}
	s.plain, s.dropped = s.draft(t, numbers[0], "1234567890"), s.draft(t, numbers[1], "sandbox-drop-after-accept")
	s.rejected, s.edited = s.draft(t, numbers[2], "sandbox-rejected-validation"),
		s.draft(t, numbers[3], "sandbox-429-once")
	s.untouched = s.draft(t, numbers[4], "1234567890")
	backup()
	s.submit(t, s.plain, api.OutcomeAcknowledged)
	s.submit(t, s.dropped, api.OutcomeUnknown)
	s.submit(t, s.rejected, api.OutcomeRejected)
	s.submit(t, s.edited, invoices.OutcomeNotSent)
	backup()
	s.patch(t, s.rejected)
	s.patch(t, s.edited)
	backup()
	s.submit(t, s.rejected, api.OutcomeAcknowledged)
	s.submit(t, s.edited, api.OutcomeAcknowledged)
	backup()
	for _, id := range s.invoices() {
		s.settle(t, id)
	}
	kit.Must(t, s.Close())
	return s
}

// TestRestoredQueriesBeforeItSubmits checks that after a restore of any of the backups, the company submits every
// invoice again and corrects those that were rejected. Every invoice ends as the provider has it: no document is posted
// that the provider already has, and the provider has no document twice.
func TestRestoredQueriesBeforeItSubmits(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStory(t, engine)
		s.provider.posts()
		for n, backup := range s.backups {
			h := s.at(t, backup)
			_, err := ledger.MarkRestored(t.Context(), h.DB)
			kit.Must(t, err)
			for i, id := range s.invoices() {
				h.again(t, id)
				if count := s.provider.accepted(numbers[i]); count != 1 {
					t.Errorf("backup %d: the provider has %d documents of %s", n, count, numbers[i])
				}
			}
			posts := s.provider.posts()
			var want int
			if n == 0 {
				want = 1 // the invoice that was still a draft; the next restores find it at the provider
			}
			if len(posts) != want {
				t.Errorf("backup %d: posted %v, want %d", n, posts, want)
			}
			h.verify(t)
			kit.Must(t, h.Close())
		}
	})
}

// verify verifies all evidence.
func (h *testService) verify(t *testing.T) {
	t.Helper()
	verified, err := proof.Verify(t.Context(), h.DB, proof.Replay{Response: submission.Replay,
		Purchase: func([]byte) (incoming.NewIncoming, error) { return incoming.NewIncoming{}, nil },
		Sent:     submission.ReadSubmitted})
	kit.Must(t, err)
	if verified.Entries == 0 || len(verified.Faults) > 0 {
		t.Errorf("evidence %+v", verified)
	}
}

// again submits an invoice like a company that does not know its state, and corrects it if it is rejected.
func (h *testService) again(t *testing.T, id base.ID) {
	t.Helper()
	for range 3 {
		if _, err := h.service.Submit(t.Context(), h.tenant, id); err != nil {
			t.Fatal(err)
		}
		found := h.settle(t, id)
		h.wantTruth(t, found)
		if found.Submission.Outcome == api.OutcomeAcknowledged {
			return
		}
		h.patch(t, id)
	}
	t.Errorf("%s is never accepted", id)
}

// TestRestoredWhileTheProviderIsDown checks that after a restore, while the provider cannot be asked, nothing is sent
// and nothing can be edited. The outcome is unknown.
func TestRestoredWhileTheProviderIsDown(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStory(t, engine)
		s.provider.posts()
		h := s.at(t, s.backups[0])
		_, err := ledger.MarkRestored(t.Context(), h.DB)
		kit.Must(t, err)
		s.provider.down.Store(true)
		h.submit(t, s.plain, api.OutcomeUnknown)
		h.submit(t, s.edited, api.OutcomeUnknown)
		_, err = invoices.Update(t.Context(), h.tenant, s.edited, func(int64) bool { return true },
			func([]byte) (api.Draft, error) { return *draftFor("OTHER", "1"), nil })
		if !errors.Is(err, invoices.ErrNotEditable) {
			t.Errorf("edited: %v", err)
		}
		s.provider.down.Store(false)
		h.wantTruth(t, h.settle(t, s.plain))
		if posts := s.provider.posts(); len(posts) != 0 {
			t.Errorf("posted %v", posts)
		}
		kit.Must(t, h.Close())
	})
}

// TestRestoredWithoutMark checks that the deterministic references prevent a second copy of a document that is posted
// again, even if a restored database was not marked as restored.
func TestRestoredWithoutMark(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		s := newStory(t, engine)
		h := s.at(t, s.backups[0])
		for _, id := range []base.ID{s.plain, s.dropped, s.untouched} {
			h.again(t, id)
		}
		for _, number := range []string{"PLAIN", "DROPPED", "UNTOUCHED"} {
			if count := s.provider.accepted(number); count != 1 {
				t.Errorf("the provider has %d documents of %s", count, number)
			}
		}
		kit.Must(t, h.Close())
	})
}

// TestTooLateToSend checks that a process that was suspended between its intent and its call for longer than its lease
// sends nothing, because another worker may have learnt meanwhile that the document is missing.
func TestTooLateToSend(t *testing.T) {
	t.Parallel()
	first := newTestService(t, ledgertest.SQLite, newTestProvider(t))
	kit.Must(t, first.Close())
	clock := ledgertest.NewClock()
	late := openWith(t, first.provider, first.address,
		base.Options{Keys: first.keys, Now: clock.Now, Checkpoint: func(moment base.Moment, step string) {
			if moment == base.Before && step == "provider submit" {
				clock.Advance(time.Minute)
			}
		}})
	tenant, err := late.Tenant(t.Context(), first.account)
	kit.Must(t, err)
	late.tenant = tenant
	late.submit(t, late.draft(t, "LATE", "1234567890"), invoices.OutcomeNotSent)
	if posts := first.provider.posts(); len(posts) != 0 {
		t.Errorf("posted %v", posts)
	}
	kit.Must(t, late.Close())
}
