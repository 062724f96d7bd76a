package drill

import (
	"context"
	"errors"
	"hash/fnv"
	"net/http"
	"strings"
	"sync"
	"time"

	"quittance/client/api"
	"quittance/tools/load/rig"
)

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
	journal, err := openJournal(o.Journal, o.Now)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, journal.close()) }()
	failed := make(chan error, 1)
	h := receiver{journal: journal, failed: failed, refused: map[string]bool{}}
	server, err := rig.StartReceiver(ctx, rig.ReceiverConfig{Listen: o.Listen, Identity: o.Identity}, o.Now, h.callback)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	if err := o.Ready(server.URL); err != nil {
		return err
	}
	select {
	case <-server.Ended:
		return nil // closing it says why
	case err := <-failed:
		return err
	case <-ctx.Done():
		return nil
	}
}

// receiver keeps what [Receive] receives.
type receiver struct {
	journal *journal
	failed  chan<- error // takes the first failure
	mu      sync.Mutex
	refused map[string]bool
}

// callback writes a callback down and accepts it.
func (h *receiver) callback(w http.ResponseWriter, r *http.Request, body []byte) {
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
