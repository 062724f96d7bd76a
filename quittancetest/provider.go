package quittancetest

import (
	"slices"
	"testing"

	"quittance/sandbox/fakeprovider"
)

// Provider controls the provider sandbox of a [Server]. What it is told applies to future calls of the service. Its
// methods fail the test if they are given what cannot happen.
type Provider struct {
	t       testing.TB
	sandbox *fakeprovider.Server
}

// Call is a kind of call that the service makes to the provider.
type Call string

// The calls.
const (
	// SubmitCall submits a document: an invoice or a credit note.
	SubmitCall Call = "submission"
	// StatusQuery asks for the states of a document.
	StatusQuery Call = "status query"
	// ListIncoming asks for incoming e-invoices, and FetchIncoming for the bytes of one.
	ListIncoming  Call = "purchases"
	FetchIncoming Call = "purchase document"
	// LookUpRecipient asks whether a recipient can receive documents.
	LookUpRecipient Call = "recipient look-up"
)

// rule returns the calls of the kind as a rule of the sandbox.
func (c Call) rule() fakeprovider.Rule {
	switch c {
	case SubmitCall:
		return fakeprovider.Rule{Method: "POST", PathPrefix: "/v1/documents"}
	case StatusQuery:
		return fakeprovider.Rule{Method: "GET", PathPrefix: "/v1/documents/"}
	case ListIncoming:
		return fakeprovider.Rule{Method: "GET", PathPrefix: "/v1/purchases"}
	case FetchIncoming:
		return fakeprovider.Rule{Method: "GET", PathPrefix: "/v1/purchases/"}
	default:
		return fakeprovider.Rule{Method: "POST", PathPrefix: "/v1/recipients/lookup"}
	}
}

// Failure is a way in which a call goes wrong, by its name in the control of the sandbox, such as drop_after.
type Failure string

// The failures without an effect: the provider has not done what was asked.
const (
	// TooManyRequests is 429 with Retry-After: 1, and TooManyRequestsForever one with a Retry-After without end.
	TooManyRequests        Failure = Failure(fakeprovider.TooMany)
	TooManyRequestsForever Failure = Failure(fakeprovider.TooManyAlways)
	// Unauthorized is 401: the provider refuses the service's credential.
	Unauthorized Failure = Failure(fakeprovider.Unauthorized)
	// UnavailableBefore is 503.
	UnavailableBefore Failure = Failure(fakeprovider.UnavailableBefore)
	// DropBefore breaks the connection.
	DropBefore Failure = Failure(fakeprovider.DropBefore)
	// Redirect is 307 to another host, and RedirectToService one to the service.
	Redirect          Failure = Failure(fakeprovider.Redirect)
	RedirectToService Failure = Failure(fakeprovider.RedirectToService)
)

// The failures after which the provider has done what was asked, although the response does not say so.
const (
	// DropAfter breaks the connection.
	DropAfter Failure = Failure(fakeprovider.DropAfter)
	// UnavailableAfter is 503.
	UnavailableAfter Failure = Failure(fakeprovider.UnavailableAfter)
	// RefuseAfter is 422 to a submit call whose document goes on in the background.
	RefuseAfter Failure = Failure(fakeprovider.RefuseAfter)
	// UnknownReference is 404 to a status query, as if the document had not arrived; a submit call is dropped, and the
	// document is unknown for 120 units of time.
	UnknownReference Failure = Failure(fakeprovider.Arriving)
	// TimeOut is the right response after 30 s, longer than a call may take, and Drip one whose bytes take as long.
	TimeOut Failure = Failure(fakeprovider.Silence)
	Drip    Failure = Failure(fakeprovider.Drip)
	// HeaderBomb has 1 MiB of headers, and Huge a body of 300 MiB.
	HeaderBomb Failure = Failure(fakeprovider.HeaderBomb)
	Huge       Failure = Failure(fakeprovider.Huge)
	// Garbage is no JSON, Truncated half of the response, and WrongTypes has a member of a wrong type.
	Garbage    Failure = Failure(fakeprovider.Garbage)
	Truncated  Failure = Failure(fakeprovider.Truncated)
	WrongTypes Failure = Failure(fakeprovider.WrongTypes)
	// EchoHeader repeats the service's credential in a header, EchoBody in the body, and EchoBase64 in the body in base64.
	EchoHeader Failure = Failure(fakeprovider.Echo)
	EchoBody   Failure = Failure(fakeprovider.EchoBody)
	EchoBase64 Failure = Failure(fakeprovider.EchoBase64)
)

// The failures that report something untrue about a document. All but ForeignReport affect status queries only, after
// an earlier report.
const (
	// ForeignReport is about another document.
	ForeignReport Failure = Failure(fakeprovider.Foreign)
	// StaleReport is the first report again, RepeatedReport the previous one, ReformattedReport the previous one in other
	// bytes, and ContradictingReport the previous one with other states.
	StaleReport         Failure = Failure(fakeprovider.Stale)
	RepeatedReport      Failure = Failure(fakeprovider.Repeated)
	ReformattedReport   Failure = Failure(fakeprovider.Reformatted)
	ContradictingReport Failure = Failure(fakeprovider.Contradicting)
)

// Fail makes the next n calls of a kind fail, 1 to 1,000,000. Calls that cannot fail in this way at the moment do not
// count, such as a repeated report before the first one. The oldest of several failures for a call applies. The test
// fails if no call of the kind can fail in this way.
func (p *Provider) Fail(call Call, failure Failure, n int) {
	p.t.Helper()
	possible := slices.ContainsFunc(fakeprovider.Misbehaviours(), func(way fakeprovider.Way) bool {
		return string(way.Name) == string(failure) && slices.Contains(way.Calls(), string(call))
	})
	if !possible {
		p.t.Fatalf("a %s cannot fail as %s", call, failure)
	}
	rule := call.rule()
	rule.Misbehaviour, rule.Times = fakeprovider.Misbehaviour(failure), n
	p.add(rule)
}

// Play makes the provider treat the next n documents, 1 to 1,000,000, as if they were for a magic recipient, such as
// [RecipientRejectedByAuthority], whoever they are for. It takes precedence over a magic recipient in the document.
func (p *Provider) Play(recipient string, n int) {
	p.t.Helper()
	rule := SubmitCall.rule()
	rule.Scenario, rule.Times = recipient, n
	p.add(rule)
}

func (p *Provider) add(rule fakeprovider.Rule) {
	p.t.Helper()
	if err := p.sandbox.AddRule(rule); err != nil {
		p.t.Fatal(err)
	}
}

// Reset ends everything that Fail and Play have ordered and that has not happened yet.
func (p *Provider) Reset() { p.sandbox.ClearRules() }

// Failures returns how many calls have failed in a way since the start.
func (p *Provider) Failures(failure Failure) int {
	return p.sandbox.MisbehaviourCounts()[fakeprovider.Misbehaviour(failure)]
}

// Document is one document that the provider has accepted.
type Document struct {
	// Reference is the permanent reference of the submission.
	Reference string
	// InvoiceNumber is the number of the invoice. CreditNoteNumber is that of the credit note, "" if the document is the
	// invoice itself.
	InvoiceNumber, CreditNoteNumber string
	// SubmitCalls is how often the reference was submitted since the start, including calls that failed.
	SubmitCalls int
}

// Documents returns what the provider has accepted, oldest first. It proves that nothing was sent twice.
func (p *Provider) Documents() []Document {
	var out []Document
	for _, d := range p.sandbox.Ledger().Documents() {
		out = append(out, Document{Reference: d.Reference, InvoiceNumber: d.InvoiceNumber,
			CreditNoteNumber: d.CreditNoteNumber, SubmitCalls: p.sandbox.Posts(d.Reference)})
	}
	return out
}

// AddIncoming gives the company an incoming e-invoice of a synthetic supplier, with the number SUP- and the identifier,
// and an attachment. With an identifier that exists, the supplier revises it. The identifier has 1 to 128 characters of
// A-Z a-z 0-9 . _ -.
func (p *Provider) AddIncoming(id string) {
	p.t.Helper()
	if _, err := p.sandbox.AddSyntheticPurchase(id); err != nil {
		p.t.Fatal(err)
	}
}
