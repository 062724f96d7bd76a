package integration_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"quittance/sandbox/fakeprovider"
)

// envelope is the body of a callback, defined here independently of the service's code, from
// docs/webhooks.md.
type envelope struct {
	SchemaVersion string `json:"schema_version"`
	ID            string `json:"id"`
	Event         string `json:"event"`
	ResourceType  string `json:"resource_type"`
	ResourceID    string `json:"resource_id"`
	OccurredAt    string `json:"occurred_at"`
	Payload       struct {
		InvoiceID string `json:"invoice_id"`
	} `json:"payload"`
}

// wantResource is the resource that an event is about.
func wantResource(event string) string {
	if strings.HasPrefix(event, "einvoice.incoming.") {
		return "incoming_invoice"
	}
	return "submission"
}

// checkCallback checks one callback against docs/webhooks.md, without any of the service's own code.
func checkCallback(c fakeprovider.Callback, secret string) error {
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(c.Timestamp + "." + c.Body)) // a hash never fails to be written to
	if want := "v1=" + hex.EncodeToString(mac.Sum(nil)); c.Signature != want {
		return fmt.Errorf("signature %s, want %s", c.Signature, want)
	}
	var fields map[string]json.RawMessage
	var e envelope
	if err := errors.Join(json.Unmarshal([]byte(c.Body), &fields), json.Unmarshal([]byte(c.Body), &e)); err != nil {
		return err
	}
	if _, err := time.Parse(time.RFC3339, c.Timestamp); err != nil {
		return err
	}
	if len(fields) != 7 || e.ID == "" || e.ID != c.Delivery || e.Event != c.Event || e.OccurredAt != c.Timestamp ||
		e.SchemaVersion != "service-webhook-v2" ||
		e.ResourceType != wantResource(e.Event) || e.ResourceID == "" {
		return fmt.Errorf("the envelope does not fit its headers %+v", c)
	}
	return nil
}

// received fetches the callbacks that reached the receiver and match the filters.
func (w *world) received(filters []string) ([]fakeprovider.Callback, error) {
	c, err := newCaller(w.ts.Getenv("HOOKS_CA"))
	if err != nil {
		return nil, err
	}
	hooks, err := url.Parse(w.ts.Getenv("HOOKS"))
	if err != nil {
		return nil, err
	}
	if !slices.ContainsFunc(filters, func(filter string) bool { return strings.HasPrefix(filter, "path=") }) {
		filters = append(slices.Clone(filters), "path="+hooks.Path)
	}
	got, err := c.call(http.MethodGet, hooks.String(), "", "")
	if err != nil {
		return nil, err
	}
	var list struct {
		Data []fakeprovider.Callback `json:"data"`
	}
	if err := json.Unmarshal(got.body, &list); err != nil {
		return nil, err
	}
	var kept []fakeprovider.Callback
	for _, callback := range list.Data {
		ok, err := passes(callback, filters)
		if err != nil {
			return nil, err
		}
		if ok {
			kept = append(kept, callback)
		}
	}
	return kept, nil
}

func passes(c fakeprovider.Callback, filters []string) (bool, error) {
	var e envelope
	if err := json.Unmarshal([]byte(c.Body), &e); err != nil {
		return false, err
	}
	for _, filter := range filters {
		key, want, ok := strings.Cut(filter, "=")
		got, known := map[string]string{"event": c.Event, "invoice": e.Payload.InvoiceID, "resource": e.ResourceID,
			"path": c.Path, "answered": strconv.Itoa(c.Status)}[key]
		if !ok || !known {
			return false, fmt.Errorf("%w: filter %q", errUsage, filter)
		}
		if got != want {
			return false, nil
		}
	}
	return true, nil
}

func (w *world) callbacks(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	found, err := w.received(args[1:])
	if err != nil {
		return err
	}
	return wantCount(args[0], len(found))
}

func (w *world) verifyCallbacks(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	found, err := w.received(args[1:])
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("there are no callbacks")
	}
	first := map[string]fakeprovider.Callback{}
	for _, c := range found {
		if err := checkCallback(c, args[0]); err != nil {
			return err
		}
		before, again := first[c.Delivery]
		if again && (before.Body != c.Body || before.Timestamp != c.Timestamp || before.Signature != c.Signature) {
			return fmt.Errorf("two attempts of event %s differ", c.Delivery)
		}
		first[c.Delivery] = c
	}
	return nil
}

func (w *world) lastCallback(args []string) error {
	if len(args) < 2 {
		return errUsage
	}
	found, err := w.received(args[2:])
	if err != nil {
		return err
	}
	if len(found) == 0 {
		return errors.New("there are no callbacks")
	}
	// Deliveries can arrive out of order; the time of an event is its own.
	latest := slices.MaxFunc(found,
		func(a, b fakeprovider.Callback) int { return strings.Compare(a.Timestamp, b.Timestamp) })
	return wantAt([]byte(latest.Body), args[0], args[1])
}

func (w *world) receiver(args []string) error {
	statuses := make([]int, len(args))
	for n, arg := range args {
		var err error
		if statuses[n], err = strconv.Atoi(arg); err != nil {
			return errors.Join(errUsage, err)
		}
	}
	if len(statuses) == 0 {
		return errUsage
	}
	var turn atomic.Int64
	_, server, authority, err := startReceiver(w.dir,
		func() int { return statuses[min(int(turn.Add(1)), len(statuses))-1] })
	if err != nil {
		return err
	}
	w.closers = append(w.closers, server.Close)
	w.ts.Setenv("SCRIPTED_URL", server.URL+"/customer")
	w.ts.Setenv("SCRIPTED_CA", authority)
	return nil
}

// recorder is a receiver in this process, so that it outlives every server. It answers as configured, keeps every
// callback, and lists them like the sandbox's receiver. Its redirects lead back to it.
type recorder struct {
	next func() int // the next status

	mu    sync.Mutex
	taken []fakeprovider.Callback
}

// startReceiver runs a recorder over HTTPS. It also returns the PEM file of its certificate authority.
func startReceiver(dir string, next func() int) (r *recorder, server *httptest.Server, authority string, err error) {
	r = &recorder{next: next, taken: []fakeprovider.Callback{}}
	server = httptest.NewUnstartedServer(r)
	// senders are killed in the middle of a handshake
	server.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelDebug)
	server.StartTLS()
	authority = filepath.Join(dir, "scripted-ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})
	return r, server, authority, os.WriteFile(authority, text, 0o600)
}

// callbacks returns all callbacks that have arrived.
func (r *recorder) callbacks() []fakeprovider.Callback {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.taken)
}

// forget removes the callbacks for which drop returns true.
func (r *recorder) forget(drop func(fakeprovider.Callback) bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.taken = slices.DeleteFunc(r.taken, drop)
}

// ServeHTTP implements [http.Handler].
func (r *recorder) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	if request.Method == http.MethodGet {
		text, err := json.Marshal(map[string]any{"data": r.callbacks()})
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		_, _ = w.Write(text) // a reader that went away asks again
		return
	}
	body, err := io.ReadAll(request.Body)
	if err != nil {
		return // the sender was killed while sending
	}
	status, header := r.next(), request.Header
	r.mu.Lock()
	r.taken = append(r.taken, fakeprovider.Callback{ReceivedAt: time.Now(), Path: request.URL.Path,
		Event: header.Get("X-Webhook-Event"), Delivery: header.Get("X-Webhook-Delivery"),
		Timestamp: header.Get("X-Webhook-Timestamp"), Signature: header.Get("X-Webhook-Signature"), Status: status,
		Body: string(body)})
	r.mu.Unlock()
	if status >= 300 && status < 400 {
		w.Header().Set("Location", "https://"+request.Host+"/elsewhere")
	}
	w.WriteHeader(status)
}
