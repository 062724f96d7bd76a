// Package fakeprovider implements the parties that the service talks to, for use on one machine: a fake regulated
// provider, which users know as the provider sandbox and which speaks the provider protocol, and a receiver of
// webhooks.
//
// Invariant: each party behaves towards the service like a stranger's server. It shares no state with the service, and
// the provider answers nothing that is not durable in its [Ledger] first.
//
// Start reading at [Server], then [Scenarios] and [Ledger].
package fakeprovider

import (
	"cmp"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"log/slog"
	"maps"
	"net/http"
	"path"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quittance/internal/platform/secret"
)

// Options configure a provider sandbox.
type Options struct {
	// Dir is the data directory of the ledger.
	Dir string
	// Credential is the bearer credential that every request must carry.
	Credential secret.Text
	// Clock returns the time.
	Clock func() time.Time
	// Pace is the unit of time in which states move, from 1 µs; 1 s when 0. A document is final after about five.
	Pace time.Duration
	// Latency is the additional duration of every call of the protocol, from 0; the call has no effect before it has
	// passed.
	Latency time.Duration
	// Silence is the duration of the misbehaviours silence and drip; 30 s when 0.
	Silence time.Duration
	// Log gets the causes of 503 responses, and every misbehaviour; nothing is logged when nil.
	Log *slog.Logger
	// Chaos is how often calls go wrong at random: off, low or high; off when empty. ChaosSeed seeds the random
	// numbers.
	Chaos     string
	ChaosSeed uint64
}

// ErrOptions reports that options lack the credential or the clock, or have a negative duration.
var ErrOptions = errors.New("provider sandbox: the options need a credential, a clock and durations from 0")

// Server is the provider sandbox: a fake regulated provider that speaks the provider protocol, with additional
// endpoints below /control/. It behaves towards the service like a stranger's server: it shares no state with it,
// answers nothing that is not durable in its [Ledger] first, and accepts a reference only once. Its reports on a
// document are a pure function of the document's [Plan] and the clock, unless it misbehaves: see [Misbehaviours].
//
// It is safe for concurrent use.
type Server struct {
	options    Options
	credential [sha256.Size]byte // a digest, so that a comparison takes the same time for every length
	ledger     *Ledger
	scenarios  map[string]Scenario
	memory     *memory
	service    atomic.Pointer[string] // the base address of the service, if it is known
	handler    http.Handler
	closing    chan struct{}
	close      sync.Once
}

// New opens the ledger and makes the server; the caller has to listen. It returns [ErrOptions], an error of
// [OpenLedger], or an error for an unknown level of chaos.
func New(options Options) (*Server, error) {
	if options.Credential.IsZero() || options.Clock == nil || options.Pace < 0 || options.Silence < 0 ||
		options.Latency < 0 {
		return nil, ErrOptions
	}
	if options.Pace == 0 {
		options.Pace = time.Second
	}
	if options.Silence == 0 {
		options.Silence = 30 * time.Second
	}
	if options.Log == nil {
		options.Log = slog.New(slog.DiscardHandler)
	}
	ledger, err := OpenLedger(options.Dir)
	if err != nil {
		return nil, err
	}
	s := &Server{
		options: options, credential: sha256.Sum256([]byte(options.Credential.Reveal())), ledger: ledger,
		scenarios: map[string]Scenario{}, memory: newMemory(), closing: make(chan struct{}),
	}
	if err := s.SetChaos(cmp.Or(options.Chaos, ChaosOff), options.ChaosSeed); err != nil {
		return nil, errors.Join(err, ledger.Close())
	}
	for _, scenario := range Scenarios() {
		s.scenarios[scenario.ID] = scenario
	}
	s.handler = s.authenticated(s.misbehaving(s.routes()))
	return s, nil
}

// ServeHTTP implements [http.Handler].
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// Ledger returns the ledger, for tests and for seeding purchase documents.
func (s *Server) Ledger() *Ledger { return s.ledger }

// Close ends pending responses and closes the ledger. Stop the listener first: a request after Close is answered with
// 503.
func (s *Server) Close() error {
	s.close.Do(func() { close(s.closing) })
	return s.ledger.Close()
}

// routes is the table of all endpoints.
func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	for pattern, methods := range map[string]map[string]http.HandlerFunc{
		"/v1/documents":                   {http.MethodPost: s.postDocument},
		"/v1/documents/{reference}":       {http.MethodGet: s.getDocument},
		"/v1/purchases":                   {http.MethodGet: s.getPurchases},
		"/v1/purchases/{id}/document":     {http.MethodGet: s.getPurchaseDocument},
		"/v1/recipients/lookup":           {http.MethodPost: s.postLookup},
		"/control/ledger":                 {http.MethodGet: s.getLedger},
		"/control/ledger/{reference}":     {http.MethodGet: s.getLedgerDocument},
		"/control/purchases":              {http.MethodPost: s.postPurchase},
		"/control/purchases/synthetic":    {http.MethodPost: s.postSyntheticPurchase},
		"/control/references/{reference}": {http.MethodGet: s.getReference},
		"/control/misbehaviours":          {http.MethodGet: s.getMisbehaviours},
		"/control/misbehave":              {http.MethodPost: s.postMisbehave, http.MethodDelete: s.deleteMisbehave},
		"/control/chaos":                  {http.MethodPost: s.postChaos},
	} {
		for method, handler := range methods {
			mux.HandleFunc(method+" "+pattern, handler)
		}
		allowed := strings.Join(slices.Sorted(maps.Keys(methods)), ", ")
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Allow", allowed)
			writeError(w, http.StatusMethodNotAllowed, "method_not_allowed", "This path takes "+allowed+".")
		})
	}
	mux.HandleFunc("/", func(w http.ResponseWriter, _ *http.Request) { notFound(w) })
	return mux
}

func notFound(w http.ResponseWriter) {
	writeError(w, http.StatusNotFound, "not_found", "There is nothing at this path.")
}

// authenticated passes on requests with the credential. It reads nothing of a body.
func (s *Server) authenticated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		scheme, presented, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(presented))
		if subtle.ConstantTimeCompare(sum[:], s.credential[:]) != 1 || !strings.EqualFold(scheme, "Bearer") {
			unauthenticated(w)
			return
		}
		// ServeMux would answer an unclean path with its own redirect.
		if escaped := r.URL.EscapedPath(); path.Clean(escaped) != escaped {
			notFound(w)
			return
		}
		next.ServeHTTP(w, r)
	})
}

func unauthenticated(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", "Bearer")
	writeError(w, http.StatusUnauthorized, "unauthenticated", "The credential is missing or wrong.")
}

// writeJSON responds with a JSON body.
func writeJSON(w http.ResponseWriter, status int, body any) {
	text, err := json.Marshal(body)
	if err != nil {
		writeError(w, http.StatusInternalServerError, "internal", "The answer could not be written.")
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	// The client may disconnect at any time; it then asks again.
	_, _ = w.Write(text)
}

// errorBody is the error envelope of the protocol.
type errorBody struct {
	Error struct {
		Code    string `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

// writeError responds with the error envelope.
func writeError(w http.ResponseWriter, status int, code, message string) {
	var body errorBody
	body.Error.Code, body.Error.Message = code, message
	writeJSON(w, status, body)
}
