package db

import (
	"context"
	"log/slog"
	"sync"
	"time"
)

// notifyGap is the shortest time between two notifications to other replicas. PostgreSQL serializes commits that
// notify, so notifications are sent in transactions of their own, and several are combined into one.
const notifyGap = 5 * time.Millisecond

// notifier notifies subscribers, in this process and in other replicas, of commits. A notification can be lost (a
// replica restarts, a connection breaks), so subscribers also poll: notifications make them fast, polling makes them
// correct.
type notifier struct {
	send        func(ctx context.Context, kind string) error
	mu          sync.Mutex
	subscribers map[string]map[chan struct{}]struct{}
	outbox      chan string
}

func newNotifier(send func(context.Context, string) error) *notifier {
	return &notifier{send: send, subscribers: map[string]map[chan struct{}]struct{}{}, outbox: make(chan string, 64)}
}

// startNotifier starts the goroutines that exchange notifications with other processes, until background ends.
func (d *DB) startNotifier(background context.Context) {
	shared := d.engine.replicas()
	if shared == nil {
		d.notifier = newNotifier(nil)
		return
	}
	d.notifier = newNotifier(shared.notify)
	d.done.Go(func() { d.notifier.runSender(background, d.log) })
	d.done.Go(func() { d.notifier.runListener(background, shared.listen, d.log) })
}

// Subscribe returns a channel that receives after commits that notified of kind with [Tx.Notify], and a function that
// ends the subscription. Several commits can give one notification, and a notification of another process can be lost.
func (d *DB) Subscribe(kind string) (<-chan struct{}, func()) {
	signal := make(chan struct{}, 1)
	n := d.notifier
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

// NotifyLocal notifies the subscribers of kind in this process without a commit, for example because a clock has moved.
func (d *DB) NotifyLocal(kind string) { d.notifier.notifyLocal(kind) }

// notify notifies the subscribers of this process at once, and those of other replicas soon.
func (n *notifier) notify(kind string) {
	n.notifyLocal(kind)
	if n.send == nil {
		return
	}
	select {
	case n.outbox <- kind:
	default: // the outbox is full of equal notifications
	}
}

func (n *notifier) notifyLocal(kind string) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for signal := range n.subscribers[kind] {
		select {
		case signal <- struct{}{}:
		default: // it has not received the last one yet
		}
	}
}

// runSender sends notifications to other replicas until ctx ends.
func (n *notifier) runSender(ctx context.Context, log *slog.Logger) {
	for {
		pending := map[string]bool{}
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

// flush sends pending notifications and those in the outbox. It does so after the end of ctx too, because a command may
// commit and exit at once.
func (n *notifier) flush(ctx context.Context, pending map[string]bool, log *slog.Logger) {
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
		if err := n.send(ctx, kind); err != nil {
			log.WarnContext(ctx, "cannot notify other replicas", "kind", kind, "error", err)
		}
	}
}

// listenLogGap is the shortest time between two lines about a LISTEN that fails, which is repeated every second.
const listenLogGap = time.Minute

// runListener passes on the notifications of other replicas until ctx ends. It reconnects after a lost connection. It
// logs when LISTEN begins to fail, at most once a minute that it still does, and when it works again.
func (n *notifier) runListener(ctx context.Context, listen func(context.Context, func(), func(string)) error,
	log *slog.Logger) {
	var logged time.Time // the last line about a failure
	failures, told := 0, false
	listening := func() {
		if told {
			log.InfoContext(ctx, "LISTEN works again", "failures", failures)
		}
		failures, told = 0, false
	}
	for {
		err := listen(ctx, listening, n.notifyLocal)
		if ctx.Err() != nil {
			return
		}
		failures++
		if now := time.Now(); now.Sub(logged) >= listenLogGap { //nolint:forbidigo // the clock of the machine, for the log alone
			logged, told = now, true
			log.WarnContext(ctx, "LISTEN failed, falling back to polling", "failures", failures, "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-time.After(time.Second):
		}
	}
}
