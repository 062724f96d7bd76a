package fakeprovider

import (
	"io"
	"log/slog"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/client/receiver"
)

// The bounds of the receiver.
const (
	keptCallbacks   = 1000
	maxCallbackBody = 1 << 20
)

// Callback is one request of a webhook, as it arrived.
type Callback struct {
	ReceivedAt time.Time `json:"received_at"`
	Path       string    `json:"path"`
	Event      string    `json:"event"`
	Delivery   string    `json:"delivery"`
	Timestamp  string    `json:"timestamp"`
	Signature  string    `json:"signature"`
	// Verified is true when the signature is right for a secret that the receiver knows from [Receiver.Trust].
	// Otherwise it is nil, because the receiver may not know the secret.
	Verified *bool  `json:"verified"`
	Status   int    `json:"answered"`
	Body     string `json:"body"`
}

// Receiver is the receiving end of webhooks: it accepts callbacks, keeps the latest ones and shows them. A POST to any
// path is answered with 200, except that /status/NNN is answered with that status and /redirect with a redirect, to try
// out the consequences.
type Receiver struct {
	now func() time.Time
	log *slog.Logger

	mu        sync.Mutex
	secrets   []string
	callbacks []Callback
}

// NewReceiver returns a receiver.
func NewReceiver(now func() time.Time, log *slog.Logger) *Receiver {
	return &Receiver{now: now, log: log}
}

// Trust gives the receiver the signing secret of a subscription, so that it can verify callbacks.
func (r *Receiver) Trust(secret string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.secrets = append(r.secrets, secret)
}

// Callbacks returns the received callbacks, oldest first.
func (r *Receiver) Callbacks() []Callback {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Callback(nil), r.callbacks...)
}

// ServeHTTP accepts a callback, or shows those that were accepted.
func (r *Receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		w.Header().Set("Content-Type", "application/json")
		if err := json.MarshalWrite(w, api.Data[[]Callback]{Data: r.Callbacks()}); err != nil {
			r.log.DebugContext(request.Context(), "a reader of the callbacks disconnected", "error", err)
		}
		return
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, request.Body, maxCallbackBody))
	if err != nil {
		http.Error(w, "the body was not read", http.StatusBadRequest)
		return
	}
	status := statusFor(request.URL.Path)
	callback := Callback{ReceivedAt: r.now().UTC(), Path: request.URL.Path, Event: request.Header.Get(api.HeaderEvent),
		Delivery: request.Header.Get(api.HeaderDelivery), Timestamp: request.Header.Get(api.HeaderTimestamp),
		Signature: request.Header.Get(api.HeaderSignature), Status: status, Body: string(body)}
	r.keep(callback, request.Header, body)
	if status == http.StatusFound {
		w.Header().Set("Location", "https://127.0.0.1/elsewhere")
	}
	w.WriteHeader(status)
}

func (r *Receiver) keep(callback Callback, header http.Header, body []byte) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.secrets) > 0 {
		if _, err := (receiver.Verifier{Secrets: r.secrets, Now: r.now}).Verify(header, body); err == nil {
			callback.Verified = new(true)
		}
	}
	r.callbacks = append(r.callbacks, callback)
	if extra := len(r.callbacks) - keptCallbacks; extra > 0 {
		r.callbacks = append([]Callback(nil), r.callbacks[extra:]...)
	}
}

// statusFor chooses the status by path, so that retries and blocking can be tried out.
func statusFor(path string) int {
	if path == "/redirect" {
		return http.StatusFound
	}
	if text, ok := strings.CutPrefix(path, "/status/"); ok {
		if status, err := strconv.Atoi(text); err == nil && 200 <= status && status <= 599 {
			return status
		}
	}
	return http.StatusOK
}
