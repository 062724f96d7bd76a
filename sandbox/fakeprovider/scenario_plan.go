package fakeprovider

import (
	"cmp"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
)

// Plan is everything that will happen to a document, in the order of time. It is made when the document is accepted and
// kept in the ledger, so that reading needs no write and a restart changes nothing.
type Plan []Step

// Step is one change of a document. A zero field leaves that part unchanged.
type Step struct {
	// After is the time from acceptance in microseconds.
	After int64 `json:"after_us"`
	// Status is the new status of the document.
	Status invoice.Status `json:"status,omitempty"`
	// Dimension gets the new value Word. Terminal reports whether it is final; Meaning is what it means, or "".
	Dimension invoice.Dimension `json:"dimension,omitempty"`
	Word      string            `json:"word,omitempty"`
	Terminal  bool              `json:"terminal,omitempty"`
	Meaning   api.Meaning       `json:"meaning,omitempty"`
	// Discovery is the result of receiver discovery.
	Discovery string `json:"discovery,omitempty"`
	// Messages are added to the document.
	Messages []Message `json:"messages,omitempty"`
}

// Message is one remark of the provider about a document.
type Message struct {
	// Code names the rule.
	Code string `json:"code"`
	// Text says in English what is wrong.
	Text string `json:"text"`
}

// Report is the report of docs/provider-protocol.md.
type Report struct {
	Reference         string                         `json:"reference"`
	ProviderReference string                         `json:"provider_reference"`
	Status            invoice.Status                 `json:"status"`
	Sequence          int64                          `json:"sequence"`
	ReportedAt        string                         `json:"reported_at"`
	States            map[invoice.Dimension]Reported `json:"states"`
	Messages          []Message                      `json:"messages"`
	Discovery         *Discovery                     `json:"discovery,omitempty"`
}

// Reported is one dimension of a [Report].
type Reported struct {
	// Value is the provider's state value.
	Value string `json:"value"`
	// Terminal reports whether it is final.
	Terminal bool `json:"terminal"`
	// Meaning is what the value means, "" when that is not said.
	Meaning api.Meaning `json:"meaning,omitempty"`
}

// Discovery is what receiver discovery found.
type Discovery struct {
	// Result is found, not_found or timed_out.
	Result string `json:"result"`
}

// timeFormat is RFC 3339 with microseconds, for times in UTC.
const timeFormat = "2006-01-02T15:04:05.000000Z07:00"

// At returns the report on the document at the time now. It is a pure function, and its result is the same, byte for
// byte, until the next step. The sequence counts the times at which something changed; the first is the acceptance
// itself.
func (p Plan) At(reference, providerReference string, accepted, now time.Time) Report {
	report := Report{
		Reference: reference, ProviderReference: providerReference,
		States: map[invoice.Dimension]Reported{}, Messages: []Message{},
	}
	elapsed := max(now.Sub(accepted).Microseconds(), 0)
	last := int64(-1)
	for _, step := range p {
		if step.After > elapsed {
			break
		}
		if step.After != last {
			report.Sequence++
			last = step.After
		}
		step.apply(&report)
	}
	report.ReportedAt = accepted.Add(time.Duration(max(last, 0)) * time.Microsecond).UTC().Format(timeFormat)
	return report
}

func (s Step) apply(report *Report) {
	if s.Status != "" {
		report.Status = s.Status
	}
	if s.Dimension != "" {
		report.States[s.Dimension] = Reported{Value: s.Word, Terminal: s.Terminal, Meaning: s.Meaning}
	}
	if s.Discovery != "" {
		report.Discovery = &Discovery{Result: s.Discovery}
	}
	report.Messages = append(report.Messages, s.Messages...)
}

// Indexes of the dimensions in [invoice.Dimensions].
const (
	atSubmission = iota
	atProviderInvoice
	atAuthority
	atReceiver
)

// meanings are the meanings that the provider sandbox publishes for its state values. It says nothing about values that
// are missing here.
var meanings = map[string]api.Meaning{ //nolint:gochecknoglobals // a constant table
	"validating": api.MeaningWaiting, "accepted_by_provider": api.MeaningPositive,
	"rejected_by_provider": api.MeaningNegative, "processing": api.MeaningWaiting, "pending": api.MeaningWaiting,
	"sent": api.MeaningWaiting, "under_review": api.MeaningWaiting, "waiting_for_receiver": api.MeaningWaiting,
	"accepted":      api.MeaningPositive,
	valueRejected:   api.MeaningNegative,
	"undeliverable": api.MeaningNegative,
}

// valueRejected is the terminal value of a dimension that refused.
const valueRejected = "rejected"

// The results of receiver discovery.
const (
	discoveryFound    = "found"
	discoveryNotFound = "not_found"
	discoveryTimedOut = "timed_out"
)

// course is the outline of a plan. Times are in units of the pace, from acceptance.
type course struct {
	status    []statusChange
	discovery string
	messages  []Message // added with the last status
	moves     [len(invoice.Dimensions)]dimensionCourse
	arrives   float64 // until then the provider reports that it has no such document
}

// statusChange is the status of the document from a time on.
type statusChange struct {
	at     float64
	status invoice.Status
}

// dimensionCourse is the course of one dimension: an intermediate value, then the last one.
type dimensionCourse struct {
	first  string       // "" for none
	final  string       // the last value
	open   bool         // the last value is not terminal
	at     float64      // time of the last value; random when 0
	silent bool         // never reported
	then   []laterValue // values after the last one
}

// laterValue is a value of a dimension that already had its last one.
type laterValue struct {
	at   float64
	word string
	open bool // it is not terminal
}

// defaultCourse accepts the document immediately and moves the four states to values that mean success.
func defaultCourse() course {
	return course{
		status:    []statusChange{{0, invoice.Accepted}},
		discovery: discoveryFound,
		moves: [...]dimensionCourse{
			atSubmission:      {first: "validating", final: "accepted_by_provider"},
			atProviderInvoice: {first: "processing", final: "accepted"},
			atAuthority:       {first: "pending", final: "accepted"},
			atReceiver:        {first: "sent", final: "accepted"},
		},
	}
}

// reject makes the provider reject the document at a time; until then it is processing.
func (c *course) reject(at float64, messages ...Message) {
	c.status = []statusChange{{at, invoice.Rejected}}
	if at > 0 {
		c.status = []statusChange{{0, invoice.Processing}, {at, invoice.Rejected}}
	}
	c.discovery, c.messages = "", messages
	for i := range c.moves {
		c.moves[i].silent = i != atSubmission
	}
	c.moves[atSubmission].final, c.moves[atSubmission].at = "rejected_by_provider", at
	if at == 0 {
		c.moves[atSubmission] = dimensionCourse{final: "rejected_by_provider"}
	}
}

// micros converts units of the pace to microseconds.
func micros(units float64, pace time.Duration) int64 {
	return int64(units * float64(pace.Microseconds()))
}

// plan chooses what the course leaves open at random, seeded by the reference: the same reference always gets the same
// plan.
func (c *course) plan(reference string, pace time.Duration) Plan {
	draw := rand.New(rand.NewChaCha8(sha256.Sum256([]byte(reference)))) //nolint:gosec // a plan is not a secret and must be repeatable
	after := func(units float64) int64 { return micros(units, pace) }
	var plan Plan
	for i, v := range c.status {
		step := Step{After: after(v.at), Status: v.status}
		if i == len(c.status)-1 {
			step.Messages = c.messages
		}
		plan = append(plan, step)
	}
	if c.discovery != "" {
		plan = append(plan, Step{After: after(draw.Float64()), Discovery: c.discovery})
	}
	rejectedAtOnce := c.status[0].status == invoice.Rejected
	for i, m := range c.moves {
		first, final := draw.Float64()/2, m.at
		if final == 0 && !rejectedAtOnce {
			final = 1 + 3.5*draw.Float64()
		}
		if m.silent {
			continue
		}
		if m.first != "" {
			if i == atSubmission {
				first = 0 // something is known immediately
			}
			plan = append(plan, Step{After: after(first * final), Dimension: invoice.Dimensions[i], Word: m.first,
				Meaning: meanings[m.first]})
		}
		plan = append(plan, Step{After: after(final), Dimension: invoice.Dimensions[i], Word: m.final, Terminal: !m.open,
			Meaning: meanings[m.final]})
		for _, l := range m.then {
			plan = append(plan, Step{After: after(l.at), Dimension: invoice.Dimensions[i], Word: l.word, Terminal: !l.open,
				Meaning: meanings[l.word]})
		}
	}
	slices.SortStableFunc(plan, func(a, b Step) int { return cmp.Compare(a.After, b.After) })
	return plan
}
