package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// event is an event of the feed with its payload as it was received.
type event = api.Event[json.RawMessage]

const (
	feedPage     = 100              // events in one page
	feedInterval = time.Second      // between two reads of a feed without further events
	firstRetry   = time.Second      // before the second attempt; it doubles
	maxRetry     = 15 * time.Second // the longest wait between two attempts
)

// feed reads the events of a company, and outlasts a server that is down.
type feed struct {
	env     Environment
	service *client.Client
	// wait waits for a duration, or until the context ends, and returns its error then.
	wait func(context.Context, time.Duration) error
}

// read returns the events after a cursor. While the server is down it tries again, and says once that it does. It
// returns an error if the server refuses the call, or if the context ends.
func (f feed) read(ctx context.Context, after string) (api.Feed[event], error) {
	for n := 0; ; n++ {
		got, err := f.service.Events(ctx, after, feedPage)
		if err == nil {
			if n > 0 {
				f.env.say("The server answers again.")
			}
			return got, nil
		}
		if ctx.Err() != nil {
			return got, ctx.Err()
		}
		if refused(err) {
			return got, explained(err)
		}
		if n == 0 {
			f.env.say("The server does not answer, trying again until it does: %v", err)
		}
		if err := f.wait(ctx, backoff(n)); err != nil {
			return got, err
		}
	}
}

// end returns the cursor of the end of the feed.
func (f feed) end(ctx context.Context) (string, error) {
	page, err := f.read(ctx, api.CursorLatest)
	if unknownCursor(err) { // the server is older than this cursor
		page, err = f.read(ctx, "")
	}
	for err == nil && page.Pagination.HasMore {
		page, err = f.read(ctx, page.Pagination.NextCursor)
	}
	return page.Pagination.NextCursor, err
}

// unknownCursor reports whether the server has refused a cursor.
func unknownCursor(err error) bool {
	failed, ok := errors.AsType[*api.Error](err)
	return ok && failed.Code == api.CodeMalformedRequest
}

// refused reports whether the server has understood and refused a call, so that a repetition would not help.
func refused(err error) bool {
	failed, ok := errors.AsType[*client.ResponseError](err)
	return ok && failed.Err != nil && failed.Status < http.StatusInternalServerError &&
		failed.Status != http.StatusTooManyRequests
}

// backoff returns the wait after failed attempt n, from 0.
func backoff(n int) time.Duration { return min(firstRetry<<min(n, 10), maxRetry) }

// sleep waits for a duration or until the context ends.
func sleep(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-timer.C:
		return nil
	}
}

// selection is the kinds of events that a command wants; all if it is empty.
type selection []string

func (s selection) has(e event) bool { return len(s) == 0 || slices.Contains(s, string(e.Event)) }

// check returns an error for a kind of event that does not exist.
func (s selection) check() error {
	for _, kind := range s {
		if !slices.Contains(api.EventKinds[:], api.EventKind(kind)) {
			return fmt.Errorf("--events: there are no events %q; there are %s", kind, words(api.EventKinds[:]))
		}
	}
	return nil
}

// words lists the words that a flag can have.
func words[T ~string](list []T) string {
	var b strings.Builder
	for n, word := range list {
		if n > 0 {
			b.WriteString(", ")
		}
		b.WriteString(string(word))
	}
	return b.String()
}

// subject returns what an event is about, for a line about it: the number of the invoice or of the credit note.
func subject(e event) string {
	var payload struct {
		InvoiceNumber      string `json:"invoice_number"`
		CreditNoteNumber   string `json:"credit_note_number"`
		ProviderDocumentID string `json:"provider_document_id"`
	}
	if json.Unmarshal(e.Payload, &payload) != nil {
		return e.ResourceID
	}
	for _, name := range []string{payload.CreditNoteNumber, payload.InvoiceNumber, payload.ProviderDocumentID} {
		if name != "" {
			return name
		}
	}
	return e.ResourceID
}

type eventsCmd struct {
	List   eventsListCmd   `cmd:"" help:"List events, oldest first."`
	Tail   eventsTailCmd   `cmd:"" help:"Print events as they happen."`
	Resend eventsResendCmd `cmd:"" help:"Send one event again to a program on this machine, signed as a webhook."`
}

type eventsListCmd struct {
	output
	Limit int    `default:"20" help:"Maximum number of rows."`
	After string `env:"-" placeholder:"CURSOR" help:"Cursor to continue after; the beginning of the feed by default."`
}

// Help is shown by --help.
func (eventsListCmd) Help() string {
	return "Example:\n  quittance events list --limit 100 --json"
}

// Validate rejects a limit that is not positive.
func (c eventsListCmd) Validate() error { return errors.Join(c.target.Validate(), checkLimit(c.Limit)) }

// Run lists events.
func (c eventsListCmd) Run(env Environment) error {
	_, service, err := c.connect()
	if err != nil {
		return err
	}
	var rows []event
	after, more := c.After, true
	for more && len(rows) < c.Limit {
		page, err := service.Events(env.Context, after, min(c.Limit-len(rows), feedPage))
		if err != nil {
			return explained(err)
		}
		rows, after, more = append(rows, page.Data...), page.Pagination.NextCursor, page.Pagination.HasMore
	}
	if more {
		env.say("There are more rows: continue with --after %s, or specify a larger --limit than %d.", after, c.Limit)
	}
	return showList(env, rows, []string{"id", "event", "occurred_at", "resource_type", "resource_id"}, c.JSON)
}

type eventsTailCmd struct {
	output
	Events []string `env:"-" placeholder:"EVENT" help:"Only these kinds of events."`
}

// Help is shown by --help.
func (eventsTailCmd) Help() string {
	return `Begins with the next event; with --json, prints one envelope in each line. Ends with Ctrl-C.

Example:
  quittance events tail
  quittance events tail --events einvoice.terminal --json`
}

// Validate rejects kinds of events that do not exist.
func (c eventsTailCmd) Validate() error {
	return errors.Join(c.target.Validate(), selection(c.Events).check())
}

// Run prints events until the context ends.
func (c eventsTailCmd) Run(env Environment) error {
	p, service, err := c.connect()
	if err != nil {
		return err
	}
	f := feed{env: env, service: service, wait: sleep}
	err = f.tail(env.Context, p.Company, func(e event) error {
		if !selection(c.Events).has(e) {
			return nil
		}
		if c.JSON {
			return show(env, e, true)
		}
		_, err := fmt.Fprintf(env.Out, "%s  %-30s  %s  %s\n", e.OccurredAt, e.Event, e.ID, subject(e))
		return err
	})
	if env.Context.Err() == nil {
		return err
	}
	return nil
}

// tail calls do with every event from now on.
func (f feed) tail(ctx context.Context, company string, do func(event) error) error {
	after, err := f.end(ctx)
	if err != nil {
		return err
	}
	f.env.say("Waiting for events of %s.", company)
	for {
		page, err := f.read(ctx, after)
		if err != nil {
			return err
		}
		for _, e := range page.Data {
			if err := do(e); err != nil {
				return err
			}
		}
		after = page.Pagination.NextCursor
		if !page.Pagination.HasMore {
			if err := f.wait(ctx, feedInterval); err != nil {
				return err
			}
		}
	}
}
