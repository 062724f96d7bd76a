package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path/filepath"
	"slices"
	"syscall"
	"time"

	"quittance/internal/webhook"
)

type listenCmd struct {
	target
	ForwardTo string   `required:"" env:"-" placeholder:"URL" help:"Address on this machine to forward to, such as http://localhost:3000/hooks."`
	Events    []string `env:"-" placeholder:"EVENT" help:"Only these kinds of events."`
	From      string   `env:"-" placeholder:"TIME" help:"Forward the events since this time, such as 2026-03-01T09:00:00Z, or all with start, instead of continuing where the last run has stopped."`
}

// Help is shown by --help.
func (listenCmd) Help() string {
	return `Follows the events feed and forwards every event with the headers and the signature of a webhook, so that a program on this machine
needs no certificate and no public address. The signing secret is made for the run. The first run begins with the next event, and
later ones continue where the last one has stopped. Every event is forwarded until the program answers, whatever the status.
Ends with Ctrl-C.

Example:
  quittance listen --forward-to http://localhost:3000/hooks
  quittance listen --forward-to http://localhost:3000/hooks --events einvoice.terminal --from start`
}

// Run forwards events until the context ends.
func (c listenCmd) Run(env Environment) error {
	if err := selection(c.Events).check(); err != nil {
		return err
	}
	if err := checkLocal(env.Context, c.ForwardTo); err != nil {
		return err
	}
	keep, err := c.profiles()
	if err != nil {
		return err
	}
	p, service, err := c.connect()
	if err != nil {
		return err
	}
	account, err := service.Account(env.Context)
	if err != nil {
		return explained(err)
	}
	key, err := webhook.NewSecret(rand.Reader)
	if err != nil {
		return err
	}
	digest := sha256.Sum256([]byte(p.URL + "\n" + account.ID + "\n" + c.ForwardTo))
	l := &listener{feed: feed{env: env, service: service, wait: sleep}, to: c.ForwardTo, key: []byte(key), kinds: c.Events,
		file: filepath.Join(string(keep), "listen", p.Name, hex.EncodeToString(digest[:8])+".json"), calls: localClient()}
	env.say("Forwarding the events of %s at %s to %s.", account.CompanyName, p.URL, c.ForwardTo)
	env.say("Signing secret of this run: %s", key)
	if err := l.run(env.Context, c.From); env.Context.Err() == nil {
		return err
	}
	env.say("Stopped. The next run continues here.")
	return nil
}

// position is how far a listener is: it has read the feed after the cursor After and forwarded some of these events. It is written before
// each request and after its response, so that a later run knows which event may have been forwarded and which certainly were.
type position struct {
	// Run identifies the run that has written it.
	Run string `json:"run"`
	// After is the cursor before the page of the last event.
	After string `json:"after"`
	// Answered are the identifiers of the events of this page that were answered or not wanted.
	Answered []string `json:"answered"`
	// InFlight is the identifier of the event that is being forwarded; empty if there is none.
	InFlight string `json:"in_flight,omitempty"`
}

// listener forwards the events of a feed to a program on this machine.
type listener struct {
	feed
	to    string
	key   []byte
	kinds selection
	file  string
	calls *http.Client
	at    position
}

// run forwards events until the context ends. from is "" to continue where the last run has stopped, start, or a time (RFC 3339).
func (l *listener) run(ctx context.Context, from string) error {
	since, err := l.begin(ctx, from)
	if err != nil {
		return err
	}
	for after := l.at.After; ; {
		page, err := l.read(ctx, after)
		if err != nil {
			return err
		}
		if err := l.forwardAll(ctx, after, since, page.Data); err != nil {
			return err
		}
		after = page.Pagination.NextCursor
		if !page.Pagination.HasMore {
			if err := l.wait(ctx, feedInterval); err != nil {
				return err
			}
		}
	}
}

// begin sets the position, and returns the time before which events are passed over.
func (l *listener) begin(ctx context.Context, from string) (since time.Time, err error) {
	var run [8]byte
	if _, err := rand.Read(run[:]); err != nil {
		return since, err
	}
	fresh := position{Run: hex.EncodeToString(run[:])}
	if from != "" {
		if from != "start" {
			if since, err = time.Parse(time.RFC3339, from); err != nil {
				return since, fmt.Errorf("--from: %q is neither start nor a time such as 2026-03-01T09:00:00Z", from)
			}
		}
		l.at = fresh
		return since, l.save()
	}
	kept, err := l.kept()
	if err != nil {
		return since, err
	}
	if kept.Run != "" {
		known, err := l.recognises(ctx, kept)
		if err != nil {
			return since, err
		}
		if known {
			l.at, l.at.Run = kept, fresh.Run
			l.env.say("Continuing where the last run has stopped.")
			return since, l.save()
		}
		l.env.say("The feed does not have the last forwarded event any more: the data was reset, restored or removed by age.")
	}
	before, last, err := l.end(ctx)
	if err != nil {
		return since, err
	}
	l.at, l.at.After = fresh, before
	for _, e := range last {
		l.at.Answered = append(l.at.Answered, e.ID)
	}
	l.env.say("Beginning with the next event; --from forwards earlier ones.")
	return since, l.save()
}

// recognises reports whether the feed has the events that a position names. A feed that was reset begins again with lower cursors, so
// that the next events would be missed.
func (l *listener) recognises(ctx context.Context, p position) (bool, error) {
	if len(p.Answered) == 0 && p.InFlight == "" {
		return p.After == "", nil
	}
	page, err := l.read(ctx, p.After)
	return slices.ContainsFunc(page.Data, func(e event) bool { return e.ID == p.InFlight || slices.Contains(p.Answered, e.ID) }), err
}

// kept returns the position of an earlier run; the zero position if there is none.
func (l *listener) kept() (p position, err error) {
	text, err := readPrivate(l.file)
	if errors.Is(err, fs.ErrNotExist) {
		return p, nil
	}
	if err == nil {
		err = json.Unmarshal(text, &p)
	}
	if err != nil {
		return p, fmt.Errorf("position of the last run (--from begins anew): %w", err)
	}
	return p, nil
}

// errTakenOver ends a run beside a newer one, because both would forward the same events.
var errTakenOver = errors.New("another quittance listen forwards to the same address now")

// save writes the position, in place of that of an earlier run.
func (l *listener) save() error { return writePrivate(l.file, l.at) }

// update writes the position unless another run has begun.
func (l *listener) update() error {
	written, err := l.kept()
	if err != nil {
		return err
	}
	if written.Run != l.at.Run {
		return errTakenOver
	}
	return l.save()
}

// forwardAll forwards the events of the page after a cursor that were not answered yet.
func (l *listener) forwardAll(ctx context.Context, after string, since time.Time, events []event) error {
	for _, e := range events {
		if after != l.at.After {
			l.at = position{Run: l.at.Run, After: after}
		}
		if slices.Contains(l.at.Answered, e.ID) {
			continue
		}
		if at, err := time.Parse(time.RFC3339Nano, e.OccurredAt); l.kinds.has(e) && (err != nil || !at.Before(since)) {
			repeated := l.at.InFlight == e.ID
			l.at.InFlight = e.ID
			if err := l.update(); err != nil {
				return err
			}
			if err := l.forward(ctx, e, repeated); err != nil {
				return err
			}
		}
		l.at.InFlight, l.at.Answered = "", append(l.at.Answered, e.ID)
		if err := l.update(); err != nil {
			return err
		}
	}
	return nil
}

// forward sends an event until it is answered, and prints the answer.
func (l *listener) forward(ctx context.Context, e event, repeated bool) error {
	body, err := encode(e)
	if err != nil {
		return err
	}
	for n := 0; ; n++ {
		started := l.env.Now()
		status, err := l.post(ctx, e, body)
		if err == nil {
			note := ""
			if repeated {
				note = "  (repeated: an attempt before may have arrived)"
			}
			_, err = fmt.Fprintf(l.env.Out, "%s  %d  %4d ms  %-30s  %s  %s%s\n", started.Format(time.TimeOnly), status, l.env.Now().Sub(started).Milliseconds(),
				e.Event, e.ID, subject(e), note)
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if errors.Is(err, errNotLocal) {
			return err
		}
		if n == 0 {
			l.env.say("No answer to the event %s, trying again until there is one: %v", e.ID, err)
		}
		repeated = repeated || !errors.Is(err, syscall.ECONNREFUSED)
		if err := l.wait(ctx, backoff(n)); err != nil {
			return err
		}
	}
}

// post sends an event as the service delivers it, and returns the status of the response.
func (l *listener) post(ctx context.Context, e event, body []byte) (status int, err error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, l.to, bytes.NewReader(body))
	if err != nil {
		return 0, err
	}
	request.Header = webhook.Header(webhook.Request{Event: e.Event, EventID: e.ID, Timestamp: e.OccurredAt,
		Signature: webhook.Signature(l.key, e.OccurredAt, body)})
	response, err := l.calls.Do(request)
	if err != nil {
		return 0, err
	}
	// The status is the answer; the body is read only so that the connection can be used again.
	_, _ = io.CopyN(io.Discard, response.Body, webhook.MaxResponseBody)
	_ = response.Body.Close()
	return response.StatusCode, nil
}

// errNotLocal reports that events would leave this machine unencrypted.
var errNotLocal = errors.New("events are forwarded only to this machine, to http:// and a loopback address such as localhost")

// checkLocal checks a destination before the first event, so that a wrong one is refused at once. Each connection is checked again.
func checkLocal(ctx context.Context, address string) error {
	to, err := url.Parse(address)
	if err != nil || to.Scheme != "http" || to.Hostname() == "" || to.User != nil || to.Fragment != "" {
		return fmt.Errorf("--forward-to: %w", errNotLocal)
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", to.Hostname())
	if err != nil {
		return fmt.Errorf("--forward-to: %w", err)
	}
	for _, ip := range found {
		if !ip.Unmap().IsLoopback() {
			return fmt.Errorf("--forward-to: %s is %s: %w", to.Hostname(), ip.Unmap(), errNotLocal)
		}
	}
	return nil
}

// localClient returns a client that connects to loopback addresses only, whatever a name resolves to then, through no proxy, and follows
// no redirect.
func localClient() *http.Client {
	dialer := &net.Dialer{Timeout: webhook.DefaultTimeout, Control: func(_, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !at.Addr().Unmap().IsLoopback() {
			return fmt.Errorf("%s: %w", address, errNotLocal)
		}
		return nil
	}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext}, Timeout: webhook.DefaultTimeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}
