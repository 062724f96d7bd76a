package invoice

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
)

// maxText is the maximum length of a state value or a reference, in code points.
const maxText = 256

// ErrUnreadable says that a body is not a report: it is not strict JSON, or a part that matters is missing or has the
// wrong form. Its text contains nothing of the body, which may echo a credential.
var ErrUnreadable = errors.New("unreadable report")

// Status is the provider's verdict on the document as a whole.
type Status string

// The statuses. Only Rejected allows the customer to correct the invoice.
const (
	Accepted   Status = "accepted"
	Processing Status = "processing"
	Rejected   Status = "rejected"
	// Unsent says that the provider has the document and has not sent it: it sends it when it is asked to. It decides no
	// outcome.
	Unsent Status = "unsent"
)

// Vocabulary is the table that an adapter publishes about its provider's reports: where each part is in the body, as a
// JSON pointer (RFC 6901), and what the state values mean. An optional pointer is "" if the provider has no such part.
type Vocabulary struct {
	// Name identifies the table and its version. A response is retained with the name of the table that it was read with,
	// and is read again with that table. A published table never changes; a changed one gets a new name.
	Name string
	// Within points at a string of the body that holds the report, as JSON; "" if the body is the report itself. The other
	// pointers lead into the report.
	Within jsontext.Pointer `json:",omitempty"` // so that the published form of older tables stays the same
	// Reference points at our permanent reference, the submission id. It is optional if ProviderReference is required,
	// because the provider does not repeat our reference.
	Reference jsontext.Pointer
	// ProviderReference points at the provider's own identifier of the document; optional if there is a Reference.
	ProviderReference jsontext.Pointer
	// Status points at the status of the document; "" if each report of this form has Implied as its status.
	Status jsontext.Pointer
	// Implied is the status of reports without a Status, by the provider's own description of the response.
	Implied Status `json:",omitempty"` // as Within
	// Statuses maps each text of the document status to its meaning. Any other text means Unlisted, or makes a report
	// unreadable if that is "".
	Statuses map[string]Status
	Unlisted Status `json:",omitempty"` // as Within
	// Sequence points at the number that orders the provider's reports on one document; optional.
	Sequence jsontext.Pointer
	// ReportedAt points at the time of the report (RFC 3339); optional.
	ReportedAt jsontext.Pointer
	// Submission, ProviderInvoice, TaxAuthority and Receiver say where the four dimensions are.
	Submission, ProviderInvoice, TaxAuthority, Receiver StatePointers
}

// StatePointers say where one dimension is in a report. The zero value means that the provider never reports it.
type StatePointers struct {
	// Value points at the state value.
	Value jsontext.Pointer
	// Values are the values of this dimension, if several dimensions share the pointer: a report with any other value does
	// not report this dimension. If nil, every value belongs to it.
	Values []string `json:",omitempty"` // as Within
	// Terminal points at a boolean that says whether the value is terminal; optional.
	Terminal jsontext.Pointer
	// TerminalValues are the values that are terminal if the report itself does not say; optional.
	TerminalValues []string
	// Meaning points at a text that says what the value means; optional.
	Meaning jsontext.Pointer
	// Meanings say what values mean if the report itself does not say; optional.
	Meanings map[string]api.Meaning
}

// Report is the content of one retained body.
type Report struct {
	// Reference is our permanent reference as the provider repeats it, or "" if the vocabulary has none. The caller
	// compares it with the one that it asked about.
	Reference string
	// ProviderReference is the provider's own identifier. It is "" only if there is a Reference.
	ProviderReference string
	// Status is the provider's verdict on the document.
	Status Status
	// Sequence orders the reports on one document, from 0; 0 if the report has none.
	Sequence int64
	// ReportedAt is the provider's time of the report, in UTC; zero if there is no readable one.
	ReportedAt time.Time
	// States holds only the dimensions that this body reports.
	States States
}

// ReadReport reads a retained body with an adapter's vocabulary. It is the only function that makes new states. It sees
// neither the HTTP status nor an earlier state, so it cannot infer anything from them.
//
// The body is read strictly: one JSON document in UTF-8, no duplicate keys, nesting at most 32. A part that is absent
// or null is not reported. A part in the wrong form makes the whole report unreadable, because half a report would be a
// guess. The only exception is the time of the report, which has no effect. Errors match [ErrUnreadable].
func ReadReport(evidence []byte, v Vocabulary) (Report, error) {
	r := reader{document: evidence}
	if r.err = strict(evidence); r.err != nil {
		return Report{}, r.err
	}
	if v.Within != "" {
		r.enter(v.Within)
	}
	report := Report{
		Reference:         r.optionalText(v.Reference),
		ProviderReference: r.optionalText(v.ProviderReference),
		Status:            v.Implied,
		Sequence:          r.sequence(v.Sequence),
		ReportedAt:        r.time(v.ReportedAt),
		States: States{
			Submission:      readState[Submission](&r, v.Submission),
			ProviderInvoice: readState[ProviderInvoice](&r, v.ProviderInvoice),
			TaxAuthority:    readState[TaxAuthority](&r, v.TaxAuthority),
			Receiver:        readState[Receiver](&r, v.Receiver),
		},
	}
	switch {
	case v.Reference != "" && report.Reference == "":
		r.fail(v.Reference, "is missing")
	case v.Reference == "" && report.ProviderReference == "":
		r.fail(v.ProviderReference, "is missing")
	}
	if v.Status != "" {
		report.Status = cmp.Or(v.Statuses[r.text(v.Status)], v.Unlisted)
	}
	if report.Status == "" {
		r.fail(v.Status, "has no status that the adapter knows")
	}
	if r.err != nil {
		return Report{}, r.err
	}
	return report, nil
}

// reader reads the parts of one document and keeps the first error.
type reader struct {
	document jsontext.Value
	err      error
}

// enter replaces the document by the one that a string of it holds.
func (r *reader) enter(at jsontext.Pointer) {
	inner, err := jsontext.AppendUnquote(nil, r.value(at))
	switch {
	case r.err != nil:
	case err != nil:
		r.fail(at, "is not a string")
	default:
		if r.err = strict(inner); r.err == nil {
			r.document = inner
		}
	}
}

// fail records an error at a pointer.
func (r *reader) fail(at jsontext.Pointer, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s %s", ErrUnreadable, at, what)
	}
}

// value returns the value at a pointer, or nil if it is absent or null, or the pointer is "".
func (r *reader) value(at jsontext.Pointer) jsontext.Value {
	if at == "" || r.err != nil {
		return nil
	}
	value, err := find(r.document, at)
	if err != nil {
		r.fail(at, errNoMembers.Error()) // never the decoder's text, which quotes the document
		return nil
	}
	return value
}

// text reads a required string of 1 to maxText code points without control characters.
func (r *reader) text(at jsontext.Pointer) string {
	value := r.value(at)
	if value == nil {
		r.fail(at, "is missing")
		return ""
	}
	raw, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		r.fail(at, "is not a string")
		return ""
	}
	if n := utf8.RuneCount(raw); n == 0 || n > maxText {
		r.fail(at, "has not 1 to 256 characters")
		return ""
	}
	if bytes.ContainsFunc(raw, unicode.IsControl) {
		r.fail(at, "holds a control character")
		return ""
	}
	return string(raw)
}

// optionalText is like text, but returns "" if the part is absent, null or empty.
func (r *reader) optionalText(at jsontext.Pointer) string {
	if value := r.value(at); value == nil || string(value) == `""` {
		return ""
	}
	return r.text(at)
}

// sequence reads an integer from 0, or returns 0 if the part is absent.
func (r *reader) sequence(at jsontext.Pointer) int64 {
	value := r.value(at)
	if value == nil {
		return 0
	}
	// A JSON string keeps its quotation marks here, so ParseInt accepts only a number.
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		r.fail(at, "is not an integer from 0")
		return 0
	}
	return n
}

// time reads an RFC 3339 time. Anything else is the zero time, because the time of a report has no effect.
func (r *reader) time(at jsontext.Pointer) time.Time {
	raw, err := jsontext.AppendUnquote(nil, r.value(at))
	if err != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, string(raw))
	// An offset can move a time out of the range of years that RFC 3339 can represent.
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// readState reads one dimension. The report itself takes precedence over the table about whether a value is terminal,
// and what it means.
func readState[D marker](r *reader, pointers StatePointers) State[D] {
	if r.value(pointers.Value) == nil {
		return State[D]{}
	}
	state := State[D]{value: r.text(pointers.Value)}
	if pointers.Values != nil && !slices.Contains(pointers.Values, state.value) {
		return State[D]{}
	}
	state.meaning = r.meaning(pointers, state.value)
	if flag := r.value(pointers.Terminal); flag != nil {
		switch flag.Kind() {
		case jsontext.KindTrue:
			state.terminal = true
		case jsontext.KindFalse:
		default:
			r.fail(pointers.Terminal, "is not a boolean")
		}
		return state
	}
	state.terminal = slices.Contains(pointers.TerminalValues, state.value)
	return state
}

// meaning reads what a value means. A meaning that is not one of [api.Meanings] counts as absent; the evidence keeps
// it.
func (r *reader) meaning(pointers StatePointers, value string) api.Meaning {
	stated := r.value(pointers.Meaning)
	if stated == nil {
		return pointers.Meanings[value]
	}
	for _, meaning := range api.Meanings {
		if string(stated) == strconv.Quote(string(meaning)) {
			return meaning
		}
	}
	return ""
}
