// Package problem defines the errors that a user sees: in a response of the API, on a page, or on the command line.
//
// An error is defined once, by a [Kind], in the package where it arises. The kind has the code of the API, from which
// the HTTP status and the message follow ([Codes]), the name under which pages have texts about it, and the text that
// logs and the command line have. A surface asks [Of] what an error means and never lists the errors of other packages.
//
// A kind is an error that callers compare with [errors.Is]. Where an error says more than its kind, such as the broken
// rules of each field, it is a [Problem], or an error of its own type that implements [Describer].
package problem

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"math"
	"net/http"
	"strconv"
	"time"

	"quittance/client/api"
)

// Kind is a kind of errors. It is an error itself; two kinds are the same only if they are the same pointer.
type Kind struct { //nolint:errname // the name of RFC 9457 for an error that is reported
	name   string
	code   api.Code
	status int
	text   string
	retry  time.Duration
	exit   int
}

// The exit statuses of a program that fails.
const (
	ExitFailure = 1
	ExitSetting = 78 // EX_CONFIG of sysexits.h
)

// New returns a kind with a code of the API, which is its name too. text says in English what happened, as part of a
// sentence.
func New(code api.Code, text string) *Kind { return Named(string(code), code, text) }

// Named returns a kind with a code of the API whose texts on pages have another name than the code: those of its name,
// if there are any, and otherwise those of the code.
func Named(name string, code api.Code, text string) *Kind {
	own := For(code)
	return &Kind{name: name, code: code, status: own.status, text: text, retry: own.retry}
}

// Local returns a kind that the API never reports: one of pages or of the command line. status is the HTTP status of a
// page about it.
func Local(name string, status int, text string) *Kind {
	return &Kind{name: name, code: api.CodeInternal, status: status, text: text}
}

// Setting returns a kind of which a process dies at its start, however often it is started: a setting is missing or
// wrong, or the database must not be served with these settings or by this program.
func Setting(text string) *Kind {
	k := Local("setting", http.StatusInternalServerError, text)
	k.exit = ExitSetting
	return k
}

// After returns another kind with a time after which the same request may succeed.
func (k *Kind) After(retry time.Duration) *Kind {
	other := *k
	other.retry = retry
	return &other
}

// Error returns the text.
func (k *Kind) Error() string { return k.text }

// Name returns the name of the texts on pages.
func (k *Kind) Name() string { return k.name }

// Code returns the code of the API: [api.CodeInternal] for an error that the API never reports.
func (k *Kind) Code() api.Code { return k.code }

// Status returns the HTTP status, from 400 to 599.
func (k *Kind) Status() int { return k.status }

// Exit returns the exit status of a server that the problem ends: [ExitFailure] or [ExitSetting].
func (k *Kind) Exit() int { return cmp.Or(k.exit, ExitFailure) }

// Describe returns the problem of which nothing more is known than its kind.
func (k *Kind) Describe() *Problem { return &Problem{Kind: k, RetryAfter: k.retry} }

// Because returns the problem with the error that it comes from, which only the log has.
func (k *Kind) Because(cause error) *Problem {
	p := k.Describe()
	p.cause = cause
	return p
}

// With returns the problem with what the API reports as details.
func (k *Kind) With(details map[string]any) *Problem {
	p := k.Describe()
	p.Details = details
	return p
}

// In returns the problem of broken rules, by JSON path, or nil if there are none.
func (k *Kind) In(faults api.Faults) error {
	if len(faults) == 0 {
		return nil
	}
	return k.WithFaults(faults)
}

// WithFaults returns the problem with broken rules, by JSON path, as its details.
func (k *Kind) WithFaults(faults api.Faults) *Problem {
	details := make(map[string]any, len(faults))
	for path, broken := range faults {
		details[path] = broken
	}
	return k.With(details)
}

// Problem is one occurrence of a kind, as its user sees it.
type Problem struct { //nolint:errname // as Kind
	*Kind
	// Details is what the API reports beside the code and the message, or nil.
	Details map[string]any
	// RetryAfter is the time after which the same request may succeed, or 0.
	RetryAfter time.Duration
	// Allow are the methods of a resource that does not have the one of the request, as in the header field.
	Allow string

	cause error
}

// Error returns the text of the cause, or that of the kind if there is none.
func (p *Problem) Error() string {
	if p.cause != nil {
		return p.cause.Error()
	}
	return p.text
}

// Unwrap returns the kind and the cause.
func (p *Problem) Unwrap() []error {
	if p.cause == nil {
		return []error{p.Kind}
	}
	return []error{p.Kind, p.cause}
}

// Describe returns the problem itself.
func (p *Problem) Describe() *Problem { return p }

// SetHeader sets the header fields of a response about the problem: Retry-After, in whole seconds and at least one
// (RFC 9110, section 10.2.3), and Allow.
func (p *Problem) SetHeader(header http.Header) {
	if p.RetryAfter > 0 || p.status == http.StatusTooManyRequests {
		header.Set("Retry-After", WholeSeconds(p.RetryAfter))
	}
	if p.Allow != "" {
		header.Set("Allow", p.Allow)
	}
}

// WholeSeconds returns a time to wait in seconds, as header fields have it: rounded up, and at least one.
func WholeSeconds(wait time.Duration) string {
	return strconv.Itoa(max(1, int(math.Ceil(wait.Seconds()))))
}

// Describer is an error that says itself what its user sees.
type Describer interface {
	error
	// Describe returns the problem; never nil.
	Describe() *Problem
}

// Of returns what a user sees of an error: what the first error in its tree that is a [Describer] says, temporary
// unavailability for a request that was cancelled or took too long, and otherwise an internal error. The problem of an
// error that is no problem itself has the error as its cause.
func Of(err error) *Problem {
	described, ok := errors.AsType[Describer](err)
	switch {
	case ok:
		p := *described.Describe()
		p.Details = maps.Clone(p.Details)
		if itself, ok := err.(*Problem); !ok || itself.Kind != p.Kind { //nolint:errorlint // an error around it is the cause
			p.cause = err
		}
		return &p
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return For(api.CodeUnavailable).Because(err)
	}
	return For(api.CodeInternal).Because(err)
}
