package store

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// Work is a kind of work that a commit can cause.
type Work string

// The kinds of work.
const (
	WorkSubmissions Work = "submissions"
	WorkDeliveries  Work = "deliveries"
	WorkPurchases   Work = "purchases"
)

// notifyGap is the least time between two notifications of a kind to other replicas: PostgreSQL serialises the
// commits that notify, so they are sent apart from the work's own commit and gathered.
const notifyGap = 5 * time.Millisecond

// wakes tells workers that there may be work. A wake can be lost (a replica restarts, a connection breaks), so
// workers also look on their own from time to time: a wake makes them fast, never right.
type notifier struct {
	send        func(ctx context.Context, kind string) error
	mu          sync.Mutex
	subscribers map[Work]map[chan struct{}]struct{}
	outbox      chan Work
}

func newNotifier(send func(context.Context, string) error) *notifier {
	return &notifier{send: send, subscribers: map[Work]map[chan struct{}]struct{}{}, outbox: make(chan Work, 64)}
}

// Wakes returns a channel that receives after commits that caused work of kind, and a function that ends it.
func (db *DB) Subscribe(kind Work) (<-chan struct{}, func()) {
	signal := make(chan struct{}, 1)
	n := db.notifier
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.subscribers[kind] == nil {
		n.subscribers[kind] = map[chan struct{}]struct{}{}
	}
	n.subscribers[kind][signal] = struct{}{}
	return signal, func() {
		n.mu.Lock()
		defer n.mu.Unlock()
		delete(n.subscribers[kind], signal)
	}
}

// wake tells the workers of this process, and has those of the others told.
func (n *notifier) notify(kind Work) {
	n.notifyLocal(kind)
	if n.send == nil {
		return
	}
	select {
	case n.outbox <- kind:
	default: // as many are waiting to be sent already
	}
}

func (n *notifier) notifyLocal(kind Work) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for signal := range n.subscribers[kind] {
		select {
		case signal <- struct{}{}:
		default: // it has not looked since the last one
		}
	}
}

// forward sends wakes to the other replicas, gathered.
func (n *notifier) runSender(ctx context.Context, log *slog.Logger) {
	if n.send == nil {
		return
	}
	for {
		pending := map[Work]bool{}
		select {
		case <-ctx.Done():
			n.flush(ctx, pending, log)
			return
		case kind := <-n.outbox:
			pending[kind] = true
		}
		select {
		case <-ctx.Done():
		case <-time.After(notifyGap):
		}
		n.flush(ctx, pending, log)
	}
}

// flush notifies of what is pending and of what waits behind it. It does so after the end of ctx too: a command that
// commits and exits at once has caused work all the same.
func (n *notifier) flush(ctx context.Context, pending map[Work]bool, log *slog.Logger) {
	for waiting := true; waiting; {
		select {
		case kind := <-n.outbox:
			pending[kind] = true
		default:
			waiting = false
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	for kind := range pending {
		if err := n.send(ctx, string(kind)); err != nil {
			log.WarnContext(ctx, "cannot wake other replicas", "kind", kind, "error", err)
		}
	}
}

// receive passes on the wakes of other replicas until ctx ends, connecting again after a lost connection.
func (n *notifier) runListener(ctx context.Context, listen func(context.Context, func(string)) error, log *slog.Logger) {
	for {
		err := listen(ctx, func(kind string) { n.notifyLocal(Work(kind)) })
		if ctx.Err() != nil {
			return
		}
		log.WarnContext(ctx, "not hearing other replicas, looking from time to time instead", "error", err)
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
