package remote

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"quittance/internal/exchange/webhook"
)

type listenCmd struct {
	target
	ForwardTo  string   `required:"" env:"-" placeholder:"URL" help:"Address on this machine to forward to, such as http://localhost:3000/hooks."`
	Events     []string `env:"-" placeholder:"EVENT" help:"Only these kinds of events."`
	From       string   `env:"-" placeholder:"TIME" help:"Forward the events since this time, such as 2026-03-01T09:00:00Z, or all with start, instead of continuing where the last run has stopped."`
	SecretFile string   `env:"-" type:"path" placeholder:"FILE" help:"File with the signing secret, which is made if it does not exist; by default each run makes a secret of its own."`
}

// Help is shown by --help.
func (listenCmd) Help() string {
	return `Follows the events feed and forwards every event with the headers and the signature of a webhook, so that a program on this machine
needs no certificate and no public address. The signing secret is made for the run and printed, unless --secret-file keeps one. The first run
begins with the next event, and later ones continue where the last one has stopped. Every event is forwarded until the program answers,
whatever the status. Ends with Ctrl-C.

Example:
  quittance listen --forward-to http://localhost:3000/hooks
  quittance listen --forward-to http://localhost:3000/hooks --secret-file secret.txt
  quittance listen --forward-to http://localhost:3000/hooks --events einvoice.terminal --from start`
}

// Validate rejects flags that can be judged without a server.
func (c listenCmd) Validate() error {
	_, fromErr := parseFrom(c.From)
	_, toErr := parseLocal(c.ForwardTo)
	return errors.Join(c.target.Validate(), selection(c.Events).check(), fromErr, toErr)
}

// parseFrom returns the time before which events are passed over; zero for none.
func parseFrom(from string) (since time.Time, err error) {
	if from == "" || from == "start" {
		return since, nil
	}
	if since, err = time.Parse(time.RFC3339, from); err != nil {
		return since, fmt.Errorf("--from: %q is neither start nor a time such as 2026-03-01T09:00:00Z", from)
	}
	return since, nil
}

// Run forwards events until the context ends.
func (c listenCmd) Run(env Environment) error {
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
	digest := sha256.Sum256([]byte(p.URL + "\n" + account.ID + "\n" + c.ForwardTo))
	l := &listener{feed: feed{env: env, service: service, wait: sleep}, to: c.ForwardTo, kinds: c.Events,
		calls: localClient(), file: filepath.Join(keep.positions(p.Name), hex.EncodeToString(digest[:8])+".json"),
		at: position{Server: p.URL, AccountID: account.ID}}
	key, told, err := c.secret()
	if err != nil {
		return err
	}
	l.key = []byte(key)
	// Find the start position before anything is printed, so that a failed start prints no banner.
	begun, err := l.begin(env.Context, c.From)
	if err != nil {
		return err
	}
	env.say("Forwarding the events of %s at %s to %s.", account.CompanyName, p.URL, c.ForwardTo)
	env.say("%s", told)
	env.say("%s", begun)
	if err := l.run(env.Context); env.Context.Err() == nil {
		return err
	}
	env.say("Stopped. The next run continues here.")
	return nil
}

// secret returns the signing secret and what is said about it.
func (c listenCmd) secret() (key, told string, err error) {
	if c.SecretFile != "" {
		key, err = keptSecret(c.SecretFile)
		return key, "Signing secret: that in " + c.SecretFile + ".", err
	}
	key, err = webhook.NewSecret(rand.Reader)
	return key, "Signing secret of this run: " + key, err
}

// listener forwards the events of a feed to a program on this machine.
type listener struct {
	feed
	to    string
	key   []byte
	kinds selection
	file  string
	calls *http.Client
	// at is written to the file as it changes.
	at position
}

// run forwards events from the position until the context ends.
func (l *listener) run(ctx context.Context) error {
	for after := l.at.After; ; {
		page, err := l.read(ctx, after)
		if err != nil {
			return err
		}
		if err := l.forwardAll(ctx, after, page.Data); err != nil {
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

// begin sets the position, writes it in place of that of an earlier run, and returns what is said about it. from is ""
// to continue where the last run has stopped, start, or a time (RFC 3339).
func (l *listener) begin(ctx context.Context, from string) (said string, err error) {
	var run [8]byte
	if _, err := rand.Read(run[:]); err != nil {
		return "", err
	}
	l.at.Run = hex.EncodeToString(run[:])
	if from != "" {
		if l.at.Since, err = parseFrom(from); err != nil {
			return "", err
		}
		said = "Beginning with the first event."
		if !l.at.Since.IsZero() {
			said = "Beginning with the events since " + from + "."
		}
		return said, l.save()
	}
	kept, err := readPosition(l.file)
	if err != nil {
		return "", err
	}
	if kept.Run != "" {
		known, err := l.recognises(ctx, kept)
		if err != nil {
			return "", err
		}
		if known {
			l.at.After, l.at.Since, l.at.Answered, l.at.InFlight = kept.After, kept.Since, kept.Answered, kept.InFlight
			return "Continuing where the last run has stopped.", l.save()
		}
		said = "The feed does not have the last forwarded event any more: the data was reset, restored or removed by age.\n"
	}
	if err := l.beginAtEnd(ctx); err != nil {
		return "", err
	}
	return said + "Beginning with the next event; --from forwards earlier ones.", l.save()
}

// beginAtEnd sets the position to the end of the feed. It names the last event, by which a later run recognises the
// feed.
func (l *listener) beginAtEnd(ctx context.Context) error {
	end, err := l.end(ctx)
	if err != nil {
		return err
	}
	l.at.After, l.at.Answered = end, nil
	number, err := strconv.ParseInt(end, 10, 64)
	if err != nil {
		return fmt.Errorf("the end of the feed: %w", err)
	}
	if number == 0 { // without an event, the beginning is the end, and recognised in every feed
		l.at.After = ""
		return nil
	}
	page, err := l.read(ctx, strconv.FormatInt(number-1, 10))
	if err != nil {
		return err
	}
	for _, e := range page.Data { // none if the last event was removed by age
		l.at.After, l.at.Answered = strconv.FormatInt(number-1, 10), append(l.at.Answered, e.ID)
	}
	return nil
}

// recognises reports whether the feed is the one of a position: it has the events that the position names. A feed that
// was reset begins again with lower cursors, so that the next events would be missed.
func (l *listener) recognises(ctx context.Context, p position) (bool, error) {
	if len(p.Answered) == 0 && p.InFlight == "" {
		return l.reaches(ctx, p.After)
	}
	page, err := l.read(ctx, p.After)
	if unknownCursor(err) {
		return false, damaged(l.file)
	}
	return slices.ContainsFunc(page.Data,
		func(e event) bool { return e.ID == p.InFlight || slices.Contains(p.Answered, e.ID) }), err
}

// reaches reports whether the feed has got as far as a cursor.
func (l *listener) reaches(ctx context.Context, after string) (bool, error) {
	if after == "" {
		return true, nil
	}
	had, err := strconv.ParseInt(after, 10, 64)
	if err != nil {
		return false, damaged(l.file)
	}
	end, err := l.end(ctx)
	if err != nil {
		return false, err
	}
	has, err := strconv.ParseInt(end, 10, 64)
	return has >= had, err
}

// errTakenOver ends a run beside a newer one, because both would forward the same events.
var errTakenOver = errors.New("another quittance listen forwards to the same address now")

// save writes the position, in place of that of an earlier run.
func (l *listener) save() error {
	if err := writePrivate(l.file, l.at); err != nil {
		return fmt.Errorf("keep the position: %w", err)
	}
	return nil
}

// update writes the position unless another run has begun. If there is none any more, for example after a logout, it is
// written again.
func (l *listener) update() error {
	written, err := readPosition(l.file)
	if err != nil {
		return err
	}
	if written.Run != "" && written.Run != l.at.Run {
		return errTakenOver
	}
	return l.save()
}

// forwardAll forwards the events of the page after a cursor that were not answered yet.
func (l *listener) forwardAll(ctx context.Context, after string, events []event) error {
	unwritten := false
	for _, e := range events {
		if after != l.at.After {
			l.at.After, l.at.Answered, l.at.InFlight = after, nil, ""
		}
		if slices.Contains(l.at.Answered, e.ID) {
			continue
		}
		wanted := l.wants(e)
		if wanted {
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
		unwritten = true
		if wanted {
			if err := l.update(); err != nil {
				return err
			}
			unwritten = false
		}
	}
	if unwritten { // events that are passed over are written with their page: to pass over them again does no harm
		return l.update()
	}
	return nil
}

// wants reports whether an event is to be forwarded.
func (l *listener) wants(e event) bool {
	at, err := time.Parse(time.RFC3339Nano, e.OccurredAt)
	return l.kinds.has(e) && (err != nil || !at.Before(l.at.Since))
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
			return l.show(e, status, started, note)
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
