package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/internal/httpserver"
	"quittance/internal/store"
	"quittance/sandbox/fakeprovider"
)

// Limits of what the receiver keeps.
const (
	keptSamples     = 64
	maxCallbackBody = 1 << 20
	// staleAfter is the maximum age of a signed event: those of a burst wait for the server to start.
	staleAfter = 24 * time.Hour
)

// webhookServer is the receiving end of the webhooks: HTTPS with keep-alive, which verifies every signature and counts
// every event by its identifier. Each subscription has an inbox at its own path.
type webhookServer struct {
	url       string // of the subscriptions, followed by the name of their inbox
	authority string // file of the authority that signed its certificate; "" when the operator provides it
	roots     *x509.CertPool
	now       func() time.Time
	server    *httpserver.Server
	ended     chan error
	closing   chan struct{}

	mu      sync.RWMutex
	inboxes map[string]*inbox
}

// ReceiverConfig configures the receiver and how a deployment reaches it.
type ReceiverConfig struct {
	// Listen is the address on which it listens; 127.0.0.1 and a free port when empty.
	Listen string
	// URL is the address under which the deployment reaches it, https and without a trailing slash; its own address
	// when empty.
	URL string
	// Identity is a directory with its certificate, created when missing: see [fakeprovider.ReceiverIdentity]. The data
	// directory of a sandbox has one that the sandbox trusts. Certificate and Key are files to use instead (PEM).
	Identity, Certificate, Key string
}

// startWebhookServer starts the receiver. dir is where it keeps a certificate that it makes.
func startWebhookServer(ctx context.Context, c ReceiverConfig, dir string,
	now func() time.Time) (*webhookServer, error) {
	h := &webhookServer{now: now, inboxes: map[string]*inbox{}, ended: make(chan error, 1), closing: make(chan struct{})}
	certificate, err := h.certificate(c, dir)
	if err != nil {
		return nil, err
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	h.server, err = fakeprovider.Listen(ctx, c.Listen, httpserver.Config{Handler: h,
		Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &certificate, nil },
		Log:         slog.New(slog.DiscardHandler)}) // connections break when the server ends
	if err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	if h.url = c.URL; h.url == "" {
		h.url = "https://" + h.server.Address().String()
	}
	go func() { h.ended <- h.server.Serve() }()
	return h, nil
}

func (h *webhookServer) certificate(c ReceiverConfig, dir string) (certificate tls.Certificate, err error) {
	if c.Certificate != "" {
		if certificate, err = tls.LoadX509KeyPair(c.Certificate, c.Key); err != nil {
			return certificate, fmt.Errorf("receiver certificate: %w", err)
		}
		return certificate, nil
	}
	if c.Identity != "" {
		dir = c.Identity
	}
	identity, err := fakeprovider.ReceiverIdentity(dir, h.now())
	if err != nil {
		return certificate, err
	}
	text, err := os.ReadFile(identity.Authority)
	if err != nil {
		return certificate, fmt.Errorf("receiver authority: %w", err)
	}
	h.authority, h.roots = identity.Authority, x509.NewCertPool()
	h.roots.AppendCertsFromPEM(text)
	return identity.Certificate, nil
}

// close stops the receiver and ends every hanging call.
func (h *webhookServer) close() error {
	close(h.closing)
	err := h.server.Close()
	if ended := <-h.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// addInbox adds the inbox of a subscription, whose URL is that of the server followed by the name. The secret may be
// set later.
func (h *webhookServer) addInbox(name string) *inbox {
	in := &inbox{seen: map[store.ID]bool{}, latency: NewHistogram()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inboxes[name] = in
	return in
}

// ServeHTTP accepts a callback: it responds with 200 if the signature is right, and with 401 otherwise.
func (h *webhookServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	h.mu.RLock()
	in := h.inboxes[r.URL.Path[1:]]
	h.mu.RUnlock()
	if in == nil {
		http.NotFound(w, r)
		return
	}
	busy := in.inFlight.Add(1)
	defer in.inFlight.Add(-1)
	storeMax(&in.maxInFlight, busy)
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallbackBody))
	if err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	at := h.now()
	if in.hanging.Load() {
		select {
		case <-r.Context().Done():
		case <-h.closing:
		}
		panic(http.ErrAbortHandler) // a return would answer 200, which can arrive although the sender has given up
	}
	if response := in.override.Load(); response != nil && (*response)(w) {
		return
	}
	w.WriteHeader(in.accept(r.Header, body, at))
}

// storeMax raises a number to at least to.
func storeMax(number *atomic.Int64, to int64) {
	for {
		known := number.Load()
		if to <= known || number.CompareAndSwap(known, to) {
			return
		}
	}
}

// sample is a received callback, to be sent again by bareSender.
type sample struct {
	kind, id, timestamp string
	body                []byte
}

// inbox counts the callbacks of one subscription.
type inbox struct {
	// hanging makes every callback wait for a response that never comes.
	hanging atomic.Bool
	// override responds to a callback that is then not accepted, unless it returns false. With nil every callback is
	// accepted.
	override atomic.Pointer[func(w http.ResponseWriter) bool]
	// inFlight is the current number of callbacks in progress, maxInFlight the largest.
	inFlight, maxInFlight atomic.Int64

	mu          sync.Mutex
	secret      string
	seen        map[store.ID]bool
	duplicates  int64
	unverified  int64
	early       int64         // events received before they occurred, because two clocks differ
	earliest    time.Duration // the largest such difference
	terminals   int64         // events that report the end of a submission
	first, last time.Time
	samples     []sample
	latency     *Histogram // from occurred_at to the receipt, of the first receipt of each event
}

// accept verifies and counts a callback, and returns the status of the response.
func (in *inbox) accept(header http.Header, body []byte, at time.Time) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	event, err := (receiver.Verifier{Secrets: []string{in.secret}, Tolerance: staleAfter,
		Now: func() time.Time { return at }}).Verify(header, body)
	if err != nil {
		in.unverified++
		return http.StatusUnauthorized
	}
	id, err := store.ParseID(event.ID)
	occurred, malformed := time.Parse(time.RFC3339Nano, event.OccurredAt)
	if err != nil || malformed != nil {
		in.unverified++
		return http.StatusUnauthorized
	}
	if in.seen[id] {
		in.duplicates++
		return http.StatusOK
	}
	in.seen[id] = true
	if in.first.IsZero() {
		in.first = at
	}
	in.last = at
	if ahead := occurred.Sub(at); ahead > 0 {
		in.early, in.earliest = in.early+1, max(in.earliest, ahead)
	}
	if event.Event == api.EventTerminal {
		in.terminals++
	}
	in.latency.Record(at.Sub(occurred))
	if len(in.samples) < keptSamples {
		in.samples = append(in.samples, sample{kind: string(event.Event), id: event.ID, timestamp: event.OccurredAt,
			body: body})
	}
	return http.StatusOK
}

// setSecret sets the signing secret of the subscription.
func (in *inbox) setSecret(secret string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.secret = secret
}

// resetLatency starts a new histogram for the events from now on, and returns it.
func (in *inbox) resetLatency() *Histogram {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latency = NewHistogram()
	return in.latency
}

// received returns the number of different events.
func (in *inbox) received() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return int64(len(in.seen))
}

// endedSubmissions returns the number of submissions whose end was reported.
func (in *inbox) endedSubmissions() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.terminals
}

// tally is a snapshot of the counts of an inbox.
type tally struct {
	events, duplicates, unverified int64
	early                          int64
	earliest                       time.Duration
	first, last                    time.Time
	samples                        []sample
	secret                         string
}

func (in *inbox) tally() tally {
	in.mu.Lock()
	defer in.mu.Unlock()
	return tally{events: int64(len(in.seen)), duplicates: in.duplicates, unverified: in.unverified,
		early: in.early, earliest: in.earliest, first: in.first, last: in.last,
		samples: in.samples, secret: in.secret}
}
