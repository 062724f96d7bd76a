package drill

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"quittance/client/api"
	"quittance/internal/httpserver"
	"quittance/sandbox/fakeprovider"
)

// maxCallback bounds the body of a callback in bytes.
const maxCallback = 1 << 20

// ReceiveOptions configures [Receive].
type ReceiveOptions struct {
	Listen   string // address; port 0 picks a free port
	Identity string // directory of the certificate, made when missing: see [fakeprovider.ReceiverIdentity]
	Journal  string // file
	Now      func() time.Time
	// Ready is called with the URL once it listens. The URL of a company's subscription is this, a slash and the name of
	// the company.
	Ready func(url string) error
}

// Receive receives the webhooks of all companies over HTTPS until ctx ends. A callback is in the journal before it is
// answered with 200. It answers every tenth event with 503 at first, so that there are always deliveries to be
// repeated. It ends with an error if it cannot write the journal.
func Receive(ctx context.Context, o ReceiveOptions) (err error) {
	identity, err := fakeprovider.ReceiverIdentity(o.Identity, o.Now())
	if err != nil {
		return err
	}
	journal, err := openJournal(o.Journal, o.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.close()) }()
	failed := make(chan error, 1)
	server, err := fakeprovider.Listen(ctx, o.Listen,
		httpserver.Config{Handler: &receiver{journal: journal, failed: failed, refused: map[string]bool{}},
			Certificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return &identity.Certificate, nil },
			Log:         slog.New(slog.DiscardHandler)}) // connections break when a server is killed
	if err != nil {
		return fmt.Errorf("receiver: %w", err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve() }()
	if err := o.Ready("https://" + server.Address().String()); err != nil {
		return errors.Join(err, server.Close())
	}
	select {
	case err := <-ended:
		return err
	case err := <-failed:
		return errors.Join(err, server.Close())
	case <-ctx.Done():
		return server.Close()
	}
}

// receiver is the handler of [Receive].
type receiver struct {
	journal *journal
	failed  chan<- error // takes the first failure
	mu      sync.Mutex
	refused map[string]bool
}

// ServeHTTP implements [http.Handler].
func (h *receiver) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxCallback))
	if err != nil {
		http.Error(w, "the body was not read", http.StatusBadRequest)
		return
	}
	id := r.Header.Get(api.HeaderDelivery)
	if h.refuse(id) {
		http.Error(w, "try again", http.StatusServiceUnavailable)
		return
	}
	event, err := canonical(body)
	if err != nil {
		http.Error(w, "the body is not an event", http.StatusBadRequest)
		return
	}
	if err := h.journal.add(Fact{Company: strings.TrimPrefix(r.URL.Path, "/"), Kind: kindReceipt, ID: id,
		Response: event}); err != nil {
		http.Error(w, "not recorded", http.StatusInternalServerError)
		select {
		case h.failed <- err:
		default: // the receiver is about to end
		}
	}
}

// refuse reports whether to refuse an event: one of ten, and only once.
func (h *receiver) refuse(id string) bool {
	sum := fnv.New32a()
	_, _ = sum.Write([]byte(id)) // a hash does not fail
	if sum.Sum32()%10 != 0 {
		return false
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	defer func() { h.refused[id] = true }()
	return !h.refused[id]
}
