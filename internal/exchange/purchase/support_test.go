package purchase_test

import (
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/exchange/purchase"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/test/kit"
	"quittance/test/kit/leaks"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

func TestMain(m *testing.M) { os.Exit(leaks.Run(func() int { return pgtest.Run(m) })) }

const (
	credential = "purchase-credential-canary-3b7c"
	interval   = time.Minute
)

// bench is a store with one company that has a provider connection.
type bench struct {
	*ledgertest.Store
	tenant     *base.Tenant
	connection invoices.Connection
	service    *purchase.Service
	calls      []string // call and kind of every provider call
	mu         sync.Mutex
}

func newBench(t *testing.T, engine, address string, change ...func(*purchase.Config)) *bench {
	t.Helper()
	ctx := t.Context()
	b := &bench{Store: ledgertest.Open(t, engine)}
	account, err := identity.CreateAccount(ctx, b.Store.DB, "Palm Trading LLC",
		identity.NewUser{Email: "owner@example.com", Name: "Owner", PasswordHash: "$hash"})
	kit.Must(t, err)
	b.tenant, err = b.Tenant(ctx, account.ID)
	kit.Must(t, err)
	added, err := invoices.AddConnection(ctx, b.Store.DB, account.ID, invoices.NewConnection{Kind: "http",
		Environment: "sandbox", BaseURL: address, Credential: secret.New(credential)})
	kit.Must(t, err)
	b.connection, err = invoices.ActivateConnection(ctx, b.Store.DB, added.ID)
	kit.Must(t, err)
	adapter, err := protocol.New(provider.Config{BaseURL: address, Credential: secret.New(credential),
		Timeout: kit.Patience(), Clock: time.Now})
	kit.Must(t, err)
	t.Cleanup(adapter.Close)
	config := b.config(t, adapter)
	for _, change := range change {
		change(&config)
	}
	b.service = purchase.New(b.DB, config)
	return b
}

func (b *bench) config(t *testing.T, adapter provider.Adapter) purchase.Config {
	return purchase.Config{Environment: "sandbox", CallTimeout: time.Minute, Interval: interval,
		Adapter: func(invoices.Connection) (provider.Adapter, error) { return adapter, nil },
		Log:     slog.New(slog.NewTextHandler(t.Output(), nil)),
		Observe: func(call, kind string, _ time.Duration) {
			b.mu.Lock()
			defer b.mu.Unlock()
			b.calls = append(b.calls, call+" "+kind)
		}}
}

// made returns the calls since its last call.
func (b *bench) made() []string {
	b.mu.Lock()
	defer b.mu.Unlock()
	calls := b.calls
	b.calls = nil
	return calls
}

// claim claims the sync, which must be due.
func (b *bench) claim(t *testing.T) incoming.PurchaseLease {
	t.Helper()
	source := b.service.Work()
	scan, err := source.Scan(t.Context(), base.ScanCursor{})
	kit.Must(t, err)
	if len(scan.Queues) != 1 {
		t.Fatalf("%d queues are due; the next is due at %s, and it is %s", len(scan.Queues), scan.NextDue, b.Clock.Now())
	}
	claims, err := source.Claim(t.Context(), scan.Queues[0], 1)
	kit.Must(t, err)
	if len(claims) != 1 {
		t.Fatalf("%d claims", len(claims))
	}
	return claims[0]
}

// syncRun makes the run that is due, and advances the clock to the next one. It returns the time between them.
func (b *bench) syncRun(t *testing.T) time.Duration {
	t.Helper()
	kit.Must(t, b.service.Sync(t.Context(), b.claim(t)))
	scan, err := incoming.DuePurchaseQueues(t.Context(), b.Store.DB, base.ScanCursor{})
	kit.Must(t, err)
	if len(scan.Queues) > 0 {
		t.Fatal("the sync is due again at once")
	}
	wait := scan.NextDue.Sub(b.Clock.Now())
	b.Clock.Advance(wait)
	return wait
}

// cursor returns the cursor of the sync.
func (b *bench) cursor(t *testing.T) string {
	t.Helper()
	claim := b.claim(t)
	step := incoming.SyncStep{Cursor: claim.Cursor, Failures: claim.Failures, Wait: claim.Wait}
	_, _, err := claim.RetainPurchases(t.Context(), nil, step)
	kit.Must(t, err)
	return claim.Cursor
}

// retained returns every incoming e-invoice by its provider's identifier.
func (b *bench) retained(t *testing.T) map[string]api.IncomingInvoice {
	t.Helper()
	out := map[string]api.IncomingInvoice{}
	for page := 1; ; page++ {
		found, err := view.Of(b.tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, page, 100)
		kit.Must(t, err)
		for _, i := range found.Entries {
			out[i.ProviderDocumentID] = view.IncomingInvoice(i)
		}
		if page*100 >= found.Total {
			if len(out) != found.Total {
				t.Fatalf("%d of %d are listed", len(out), found.Total)
			}
			return out
		}
	}
}

// kinds counts the events by their kind.
func (b *bench) kinds(t *testing.T) map[api.EventKind]int {
	t.Helper()
	events, err := ledgertest.Events(t.Context(), b.tenant, 0, 10000)
	kit.Must(t, err)
	out := map[api.EventKind]int{}
	for _, e := range events {
		out[e.Kind]++
	}
	return out
}

// scriptedProvider is a provider whose responses the test chooses.
type scriptedProvider struct {
	*httptest.Server
	mu    sync.Mutex
	asked map[string]int // by path
	// page responds to GET /v1/purchases, document to GET /v1/purchases/{id}/document.
	page     func(w http.ResponseWriter, cursor string, limit int)
	document func(w http.ResponseWriter, id string, n int) // n is the number of the request for id, from 1
}

func newScriptedProvider(t *testing.T) *scriptedProvider {
	t.Helper()
	s := &scriptedProvider{asked: map[string]int{},
		document: func(w http.ResponseWriter, id string, _ int) { send(w, "document "+id) }}
	s.Server = httptest.NewServer(s)
	t.Cleanup(s.Close)
	return s
}

// ServeHTTP responds with page or document.
func (s *scriptedProvider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.asked[r.URL.Path]++
	n, page, document := s.asked[r.URL.Path], s.page, s.document
	s.mu.Unlock()
	if r.Header.Get("Authorization") != "Bearer "+credential {
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	if r.URL.Path == "/v1/purchases" {
		limit := 0
		if _, err := fmt.Sscan(r.URL.Query().Get("limit"), &limit); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		page(w, r.URL.Query().Get("cursor"), limit)
		return
	}
	escaped := strings.TrimSuffix(strings.TrimPrefix(r.URL.EscapedPath(), "/v1/purchases/"), "/document")
	id, err := url.PathUnescape(escaped)
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	document(w, id, n)
}

// count returns how often the document of id was requested.
func (s *scriptedProvider) count(id string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked["/v1/purchases/"+id+"/document"]
}

func send(w http.ResponseWriter, body string) {
	w.Header().Set("Content-Type", "application/xml")
	_, _ = w.Write([]byte(body)) // the caller may have disconnected
}

// onePage lists entries, each as JSON, on one page after the beginning.
func onePage(entries ...string) func(http.ResponseWriter, string, int) {
	return func(w http.ResponseWriter, cursor string, _ int) {
		if cursor != "" {
			send(w, pageOf("end", false))
			return
		}
		send(w, pageOf("end", false, entries...))
	}
}

func pageOf(next string, more bool, entries ...string) string {
	cursor, err := json.Marshal(next)
	if err != nil {
		panic(err) // a string
	}
	return fmt.Sprintf(`{"purchases":[%s],"next_cursor":%s,"has_more":%v}`, strings.Join(entries, ","), cursor, more)
}

// entry returns the metadata of an ordinary document.
func entry(id string) string {
	return fmt.Sprintf(`{"id":%q,"document_type":"invoice","invoice_number":"N-%[1]s"}`, id)
}

func entries(n int) (out []string) {
	for i := range n {
		out = append(out, entry(fmt.Sprintf("d%03d", i)))
	}
	return out
}
