package bench

import (
	"cmp"
	"context"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/internal/ledger/base"
	"quittance/tools/load/rig"
)

// Limits of what the receiver keeps.
const (
	keptSamples = 64
	// staleAfter is the maximum age of a signed event: those of a burst wait for the server to start.
	staleAfter = 24 * time.Hour
)

// webhookServer is the receiver of a run, which verifies every signature and counts every event by its identifier. Each
// subscription has an inbox at its own path.
type webhookServer struct {
	*rig.Receiver
	now     func() time.Time
	closing chan struct{}

	mu      sync.RWMutex
	inboxes map[string]*inbox
}

// startWebhookServer starts the receiver. dir is where it keeps a certificate that it makes.
func startWebhookServer(ctx context.Context, c rig.ReceiverConfig, dir string,
	now func() time.Time) (h *webhookServer, err error) {
	h = &webhookServer{now: now, inboxes: map[string]*inbox{}, closing: make(chan struct{})}
	c.Identity = cmp.Or(c.Identity, dir)
	h.Receiver, err = rig.StartReceiver(ctx, c, now, h.callback)
	return h, err
}

// close stops the receiver and ends every hanging call.
func (h *webhookServer) close() error {
	close(h.closing)
	return h.Close()
}

// addInbox adds the inbox of a subscription, whose URL is that of the server followed by the name. The secret may be
// set later.
func (h *webhookServer) addInbox(name string) *inbox {
	in := &inbox{seen: map[base.ID]bool{}, latency: NewHistogram()}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.inboxes[name] = in
	return in
}

// callback accepts a callback: it responds with 200 if the signature is right, and with 401 otherwise.
func (h *webhookServer) callback(w http.ResponseWriter, r *http.Request, body []byte) {
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
	seen        map[base.ID]bool
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
	id, err := base.ParseID(event.ID)
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
