package fakeprovider

import (
	"bytes"
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
	Verified *bool `json:"verified"`
	// Status is the status of the response; 0 if a handler aborted the connection before it had one.
	Status int    `json:"answered"`
	Body   string `json:"body"`
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
	changed   chan struct{} // closed when a callback is kept
	handlers  map[string]http.Handler
}

// NewReceiver returns a receiver.
func NewReceiver(now func() time.Time, log *slog.Logger) *Receiver {
	return &Receiver{now: now, log: log, changed: make(chan struct{}), handlers: map[string]http.Handler{}}
}

// Handle lets a handler respond to the callbacks of a path. A callback is kept once the handler has returned or
// panicked.
func (r *Receiver) Handle(path string, handler http.Handler) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.handlers[path] = handler
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

// Changed returns a channel that is closed when the next callback is kept.
func (r *Receiver) Changed() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.changed
}

// handler returns the handler of a path, nil if there is none.
func (r *Receiver) handler(path string) http.Handler {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.handlers[path]
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
	callback := Callback{ReceivedAt: r.now().UTC(), Path: request.URL.Path, Event: request.Header.Get(api.HeaderEvent),
		Delivery: request.Header.Get(api.HeaderDelivery), Timestamp: request.Header.Get(api.HeaderTimestamp),
		Signature: request.Header.Get(api.HeaderSignature), Body: string(body)}
	if handler := r.handler(request.URL.Path); handler != nil {
		response := &responseStatus{ResponseWriter: w}
		defer func() {
			callback.Status = response.status
			r.keep(callback, request.Header, body)
		}()
		request.Body = io.NopCloser(bytes.NewReader(body))
		handler.ServeHTTP(response, request)
		if response.status == 0 {
			response.WriteHeader(http.StatusOK) // as net/http does
		}
		return
	}
	callback.Status = statusFor(request.URL.Path)
	r.keep(callback, request.Header, body)
	if callback.Status == http.StatusFound {
		w.Header().Set("Location", "https://127.0.0.1/elsewhere")
	}
	w.WriteHeader(callback.Status)
}

// responseStatus is a response whose status is known; 0 before it has one.
type responseStatus struct {
	http.ResponseWriter
	status int
}

// WriteHeader implements [http.ResponseWriter].
func (w *responseStatus) WriteHeader(status int) {
	if w.status == 0 && status >= http.StatusOK {
		w.status = status
	}
	w.ResponseWriter.WriteHeader(status)
}

// Write implements [http.ResponseWriter].
func (w *responseStatus) Write(text []byte) (int, error) {
	if w.status == 0 {
		w.status = http.StatusOK
	}
	return w.ResponseWriter.Write(text)
}

// Unwrap gives [http.ResponseController] the methods of the response.
func (w *responseStatus) Unwrap() http.ResponseWriter { return w.ResponseWriter }

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
	close(r.changed)
	r.changed = make(chan struct{})
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
