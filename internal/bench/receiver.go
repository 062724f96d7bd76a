package bench

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"quittance/api"
	"quittance/client/receiver"
	"quittance/internal/fakeprovider"
	"quittance/internal/store"
)

// The bounds of what the receiver keeps.
const (
	keptSamples     = 64
	maxCallbackBody = 1 << 20
	// staleAfter is how old a signed event may be: those of a burst wait for the server to start.
	staleAfter = 24 * time.Hour
)

// hooks is the receiving end of the webhooks: HTTPS with keep-alive, every signature verified, every event counted by its
// identifier. Each subscription has an inbox at a path of its own.
type webhookServer struct {
	url       string // what subscriptions are given; their inbox's name follows
	authority string // file of the authority behind its certificate; "" when that is the operator's business
	roots     *x509.CertPool
	now       func() time.Time
	server    *http.Server
	ended     chan error
	closing   chan struct{}

	mu      sync.RWMutex
	inboxes map[string]*inbox
}

// ReceiverConfig says how a deployment reaches the receiver.
type ReceiverConfig struct {
	// Listen is the address it listens on, 127.0.0.1 and a free port when empty.
	Listen string
	// URL is where the deployment reaches it, https and without a final slash; its own address when empty.
	URL string
	// Identity is a directory with its certificate, made when there is none: see [fakeprovider.ReceiverIdentity]. The data
	// directory of a sandbox has one that the sandbox trusts. Certificate and Key are files to use instead, PEM.
	Identity, Certificate, Key string
}

// listenHooks starts the receiver. dir is where it keeps a certificate that it has to make.
func startWebhookServer(ctx context.Context, c ReceiverConfig, dir string, now func() time.Time) (*webhookServer, error) {
	h := &webhookServer{now: now, inboxes: map[string]*inbox{}, ended: make(chan error, 1), closing: make(chan struct{})}
	certificate, err := h.certificate(c, dir)
	if err != nil {
		return nil, err
	}
	if c.Listen == "" {
		c.Listen = "127.0.0.1:0"
	}
	var listening net.ListenConfig
	listener, err := listening.Listen(ctx, "tcp", c.Listen)
	if err != nil {
		return nil, fmt.Errorf("receiver: %w", err)
	}
	if h.url = c.URL; h.url == "" {
		h.url = "https://" + listener.Addr().String()
	}
	h.server = fakeprovider.NewHTTPServer(h)
	h.server.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug) // of connections that the server's end cuts off
	h.server.TLSConfig = &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12, NextProtos: []string{"http/1.1"}}
	go func() { h.ended <- h.server.ServeTLS(listener, "", "") }()
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

// close ends the receiver and every call that hangs in it.
func (h *webhookServer) close() error {
	close(h.closing)
	err := h.server.Close()
	if ended := <-h.ended; !errors.Is(ended, http.ErrServerClosed) {
		err = errors.Join(err, ended)
	}
	return err
}

// open makes the inbox of a subscription: its URL is that of the hooks and its name. The secret may be told later.
func (h *webhookServer) addInbox(name string) *inbox {
	in := &inbox{seen: map[store.ID]bool{}, latency: NewHistogram()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inboxes[name] = in
	return in
}

// ServeHTTP takes a callback: 200 when it verifies, 401 when it does not.
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
		return
	}
	if answer := in.override.Load(); answer != nil && (*answer)(w) {
		return
	}
	w.WriteHeader(in.accept(r.Header, body, at))
}

// raise makes a number at least as large as another.
func storeMax(number *atomic.Int64, to int64) {
	for {
		known := number.Load()
		if to <= known || number.CompareAndSwap(known, to) {
			return
		}
	}
}

// sample is a callback as it came, to be sent again by the bare sender.
type sample struct {
	kind, id, timestamp string
	body                []byte
}

// inbox counts what comes for one subscription.
type inbox struct {
	// hanging lets every callback wait for an answer that never comes.
	hanging atomic.Bool
	// instead answers a callback in place of taking it, unless it returns false; nil takes every callback.
	override atomic.Pointer[func(w http.ResponseWriter) bool]
	// busy is how many callbacks are being answered, busiest the most there were at a time.
	inFlight, maxInFlight atomic.Int64

	mu          sync.Mutex
	secret      string
	seen        map[store.ID]bool
	duplicates  int64
	unverified  int64
	early       int64         // events that came before they had occurred, by the two clocks
	earliest    time.Duration // and by how much at most
	terminals   int64         // events that say that a submission has ended
	first, last time.Time
	samples     []sample
	latency     *Histogram // from occurred_at to the receipt, of the first receipt of each event
}

// take verifies and counts a callback, and returns the status to answer with.
func (in *inbox) accept(header http.Header, body []byte, at time.Time) int {
	in.mu.Lock()
	defer in.mu.Unlock()
	event, err := (receiver.Verifier{Secrets: []string{in.secret}, Tolerance: staleAfter, Now: func() time.Time { return at }}).Verify(header, body)
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
		in.samples = append(in.samples, sample{kind: string(event.Event), id: event.ID, timestamp: event.OccurredAt, body: body})
	}
	return http.StatusOK
}

// tell tells the inbox the signing secret of its subscription.
func (in *inbox) setSecret(secret string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.secret = secret
}

// measure begins a new measurement: events that come from now on count in a histogram of their own.
func (in *inbox) resetLatency() *Histogram {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.latency = NewHistogram()
	return in.latency
}

// received is how many different events have come.
func (in *inbox) received() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return int64(len(in.seen))
}

// ended is how many submissions have ended, as far as was told.
func (in *inbox) endedSubmissions() int64 {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.terminals
}

// tally is what an inbox has counted.
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
