package invoice

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
)

// maxText is the largest length of a word or a reference, in code points.
const maxText = 256

// ErrUnreadable says that a body is no report: it is not strict JSON, or a part that decides something is missing or
// has the wrong form. Its text holds nothing of the body, which may echo a credential.
var ErrUnreadable = errors.New("unreadable report")

// Status is the provider's own verdict on the document as such.
type Status string

// The statuses. Only Rejected frees the invoice for a correction.
const (
	Accepted   Status = "accepted"
	Processing Status = "processing"
	Rejected   Status = "rejected"
)

// Vocabulary is what an adapter publishes about its provider's answers: where in the body each part stands, as a JSON
// pointer (RFC 6901), and what the provider's words mean. An optional pointer is "" when the provider has no such part.
type Vocabulary struct {
	// Name names the table and its version: an answer is retained with the name of the table that it was read with, and is
	// read again with it. A published table never changes; a changed one gets a new name.
	Name string
	// Reference points at our permanent reference, the submission id.
	Reference jsontext.Pointer
	// ProviderReference points at the provider's own identifier of the document; optional.
	ProviderReference jsontext.Pointer
	// Status points at the status of the document.
	Status jsontext.Pointer
	// Statuses tells what each word of the document status means; any other word makes a report unreadable.
	Statuses map[string]Status
	// Sequence points at the number that orders the provider's reports on one document; optional.
	Sequence jsontext.Pointer
	// ReportedAt points at the time of the report (RFC 3339); optional.
	ReportedAt jsontext.Pointer
	// Submission, ProviderInvoice, TaxAuthority and Receiver tell where the four dimensions stand.
	Submission, ProviderInvoice, TaxAuthority, Receiver StatePointers
}

// StatePointers say where one dimension stands in a report. The zero value means that the provider never reports it.
type StatePointers struct {
	// Value points at the provider's word.
	Value jsontext.Pointer
	// Terminal points at a boolean that tells whether the word is final; optional.
	Terminal jsontext.Pointer
	// TerminalValues are the words that are final when the report itself does not say; optional.
	TerminalValues []string
	// Meaning points at a text that tells what the word means; optional.
	Meaning jsontext.Pointer
	// Meanings tell what words mean when the report itself does not say; optional.
	Meanings map[string]api.Meaning
}

// Report is what one retained body says.
type Report struct {
	// Reference is our permanent reference as the provider repeats it. The caller compares it with the one it asked for.
	Reference string
	// ProviderReference is the provider's own identifier, or "".
	ProviderReference string
	// Status is the provider's verdict on the document.
	Status Status
	// Sequence orders the reports on one document, from 0; 0 when the report has none.
	Sequence int64
	// ReportedAt is when the provider says that it reported, in UTC; zero when it does not say it readably.
	ReportedAt time.Time
	// States are the dimensions that this body reports, and only those.
	States States
}

// ReadReport reads a retained body through an adapter's vocabulary. It is the only maker of new states. It sees
// neither the HTTP status nor an earlier state, so it cannot infer from them (specification, part 2.5).
//
// The body is read strictly: one JSON document in UTF-8, no duplicate keys, nesting at most 32. A part that is absent
// or null is not reported. A part that is there in the wrong form makes the whole report unreadable, since half a
// report would be a guess; only the time of the report, which decides nothing, may be unreadable by itself. Errors
// match [ErrUnreadable].
func ReadReport(evidence []byte, v Vocabulary) (Report, error) {
	r := reader{document: evidence}
	if r.err = strict(evidence); r.err != nil {
		return Report{}, r.err
	}
	report := Report{
		Reference:         r.text(v.Reference),
		ProviderReference: r.optionalText(v.ProviderReference),
		Status:            v.Statuses[r.text(v.Status)],
		Sequence:          r.sequence(v.Sequence),
		ReportedAt:        r.time(v.ReportedAt),
		States: States{
			Submission:      readState[Submission](&r, v.Submission),
			ProviderInvoice: readState[ProviderInvoice](&r, v.ProviderInvoice),
			TaxAuthority:    readState[TaxAuthority](&r, v.TaxAuthority),
			Receiver:        readState[Receiver](&r, v.Receiver),
		},
	}
	if report.Status == "" {
		r.fail(v.Status, "has no status that the adapter knows")
	}
	if r.err != nil {
		return Report{}, r.err
	}
	return report, nil
}

// reader reads the parts of one document and keeps the first fault.
type reader struct {
	document jsontext.Value
	err      error
}

// fail records a fault at a place of the document.
func (r *reader) fail(at jsontext.Pointer, what string) {
	if r.err == nil {
		r.err = fmt.Errorf("%w: %s %s", ErrUnreadable, at, what)
	}
}

// value returns what stands at a pointer, or nil when that is absent, null or not declared.
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

// optionalText is text, or "" when the part is absent, null or empty.
func (r *reader) optionalText(at jsontext.Pointer) string {
	if value := r.value(at); value == nil || string(value) == `""` {
		return ""
	}
	return r.text(at)
}

// sequence reads an integer from 0; 0 when the part is absent.
func (r *reader) sequence(at jsontext.Pointer) int64 {
	value := r.value(at)
	if value == nil {
		return 0
	}
	// The text of a string keeps its quotation marks here, so ParseInt takes nothing but a number.
	n, err := strconv.ParseInt(string(value), 10, 64)
	if err != nil || n < 0 {
		r.fail(at, "is not an integer from 0")
		return 0
	}
	return n
}

// time reads an RFC 3339 time; anything else is the zero time, because the time of a report decides nothing.
func (r *reader) time(at jsontext.Pointer) time.Time {
	raw, err := jsontext.AppendUnquote(nil, r.value(at))
	if err != nil {
		return time.Time{}
	}
	t, err := time.Parse(time.RFC3339, string(raw))
	// An offset can move a time out of the years that RFC 3339 can write again.
	if t = t.UTC(); err != nil || t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// readState reads one dimension. What the report itself says about a word, whether it is final and what it means, goes
// before the table.
func readState[D marker](r *reader, place StatePointers) State[D] {
	if r.value(place.Value) == nil {
		return State[D]{}
	}
	state := State[D]{value: r.text(place.Value)}
	state.meaning = r.meaning(place, state.value)
	if flag := r.value(place.Terminal); flag != nil {
		switch flag.Kind() {
		case jsontext.KindTrue:
			state.terminal = true
		case jsontext.KindFalse:
		default:
			r.fail(place.Terminal, "is not a boolean")
		}
		return state
	}
	state.terminal = slices.Contains(place.TerminalValues, state.value)
	return state
}

// meaning reads what a word means. A meaning that is none of [api.Meanings], in whatever form, is none, like one that is
// not said; as evidence it is kept all the same.
func (r *reader) meaning(place StatePointers, word string) api.Meaning {
	said := r.value(place.Meaning)
	if said == nil {
		return place.Meanings[word]
	}
	for _, meaning := range api.Meanings {
		if string(said) == strconv.Quote(string(meaning)) {
			return meaning
		}
	}
	return ""
}
