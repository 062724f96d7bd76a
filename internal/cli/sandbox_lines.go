package cli

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"os"
	"sync/atomic"
	"time"

	"golang.org/x/term"

	"quittance/sandbox"
)

// narrator is a log handler for a sandbox on a terminal: the log goes to a file, and a short line about each thing that
// happens to the terminal. It prints no line before it is started, so that those about the synthetic data do not
// precede the welcome text.
type narrator struct {
	slog.Handler
	out io.Writer
	// omitted is the account whose calls are not printed; nil before the start. It is the example company's, whose
	// deliveries fail again and again.
	omitted *atomic.Pointer[string]
}

// narration is a log that goes to a file, and a terminal that shows a short line for each thing that happens.
type narration struct {
	file    *os.File
	path    string
	out     io.Writer
	omitted *atomic.Pointer[string]
}

// narrate lets the log of a command go to a new file, which is kept, and prints lines about it.
func narrate(env *environment) (narration, error) {
	file, err := os.CreateTemp("", "quittance-sandbox-*.log") // with mode 0600
	if err != nil {
		return narration{}, err
	}
	n := narration{file: file, path: file.Name(), out: env.stdout, omitted: new(atomic.Pointer[string])}
	env.log = slog.New(narrator{env.logTo(file).Handler(), env.stdout, n.omitted})
	return n, nil
}

// begin prints lines about what happens in a running sandbox, until ctx ends. A fault ends the lines, not the sandbox.
func (n narration) begin(ctx context.Context, log *slog.Logger, running *sandbox.Sandbox) {
	example, err := running.ExampleAccount()
	if err == nil {
		n.omitted.Store(new(example.String()))
		err = running.Follow(ctx, n.line)
	}
	if err != nil && ctx.Err() == nil {
		log.ErrorContext(ctx, "cannot show what happens", "error", err)
	}
}

// line prints a line. A terminal that has gone must not disturb the sandbox.
func (n narration) line(at time.Time, text string) {
	fmt.Fprintf(n.out, "  %s  %s\n", at.Local().Format(time.TimeOnly), text)
}

// onTerminal reports whether a person looks at the output of this process.
func onTerminal() bool {
	for _, file := range []*os.File{os.Stdout, os.Stderr} {
		if !term.IsTerminal(int(file.Fd())) {
			return false
		}
	}
	return true
}

// Handle implements [slog.Handler].
func (n narrator) Handle(ctx context.Context, record slog.Record) error {
	if omitted := n.omitted.Load(); omitted != nil {
		if text := lineAbout(record, *omitted); text != "" {
			// A terminal that has gone must not keep the record from the log.
			fmt.Fprintf(n.out, "  %s  %s\n", record.Time.Format(time.TimeOnly), text)
		}
	}
	return n.Handler.Handle(ctx, record)
}

// WithAttrs implements [slog.Handler].
func (n narrator) WithAttrs(attrs []slog.Attr) slog.Handler {
	return narrator{n.Handler.WithAttrs(attrs), n.out, n.omitted}
}

// WithGroup implements [slog.Handler].
func (n narrator) WithGroup(name string) slog.Handler {
	return narrator{n.Handler.WithGroup(name), n.out, n.omitted}
}

// deeds names what the operations do that people want to see.
var deeds = map[string]string{ //nolint:gochecknoglobals // a constant table
	"POST /api/v1/client/invoices":                                     "draft created",
	"PATCH /api/v1/client/invoices/{invoice_id}":                       "draft changed",
	"DELETE /api/v1/client/invoices/{invoice_id}":                      "draft deleted",
	"POST /api/v1/client/invoices/{invoice_id}/submit":                 "invoice submitted",
	"POST /api/v1/client/credit-notes":                                 "credit note created",
	"POST /api/v1/client/credit-notes/{credit_note_id}/submit":         "credit note submitted",
	"POST /api/v1/client/auth/login":                                   "login",
	"POST /api/v1/webhooks/subscriptions":                              "webhook subscription created",
	"POST /api/v1/webhooks/subscriptions/{subscription_id}/deactivate": "webhook subscription deactivated",
	"POST /api/v1/webhooks/deliveries/{delivery_id}/redeliver":         "delivery requested again",
}

// lineAbout returns the line about a record of the log, or "" for one that is only in the log, as are calls for the
// omitted account.
func lineAbout(record slog.Record, omitted string) string {
	values := map[string]string{}
	record.Attrs(func(a slog.Attr) bool {
		values[a.Key] = a.Value.String()
		return true
	})
	if values["account"] == omitted && record.Message != "request" {
		return ""
	}
	switch record.Message {
	case "request":
		deed := deeds[values["method"]+" "+values["route"]]
		if deed == "" && values["method"] != http.MethodGet && values["method"] != http.MethodHead {
			deed = values["method"] + " " + values["route"]
		}
		if deed == "" {
			return ""
		}
		if values["code"] != "" {
			return deed + ": refused with " + values["status"] + " " + values["code"]
		}
		return deed
	case "provider call":
		if values["call"] == "submit" {
			return "provider: " + values["outcome"]
		}
		return ""
	case "webhook attempt":
		if status := values["status"]; status != "0" {
			return fmt.Sprintf("webhook %s: answered with %s", values["kind"], status)
		}
		return fmt.Sprintf("webhook %s: no answer (%s)", values["kind"], values["class"])
	}
	if record.Level >= slog.LevelWarn {
		return record.Message
	}
	return ""
}
