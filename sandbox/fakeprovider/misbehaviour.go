package fakeprovider

import (
	"slices"

	"quittance/internal/document/invoice"
)

// Misbehaviour is a way in which a call goes wrong. Those named Before, the refusals and the redirects do nothing; all
// others do what was requested.
type Misbehaviour string

// The misbehaviours; [Misbehaviours] describes each of them.
const (
	NoMisbehaviour    Misbehaviour = ""
	TooMany           Misbehaviour = "too_many_requests"
	TooManyAlways     Misbehaviour = "too_many_for_ever"
	Unauthorized      Misbehaviour = "unauthorized"
	UnavailableBefore Misbehaviour = "unavailable_before"
	DropBefore        Misbehaviour = "drop_before"
	Redirect          Misbehaviour = "redirect"
	RedirectToService Misbehaviour = "redirect_to_service"
	DropAfter         Misbehaviour = "drop_after"
	UnavailableAfter  Misbehaviour = "unavailable_after"
	RefuseAfter       Misbehaviour = "refuse_after"
	Arriving          Misbehaviour = "arriving"
	Silence           Misbehaviour = "silence"
	Drip              Misbehaviour = "drip"
	HeaderBomb        Misbehaviour = "header_bomb"
	Huge              Misbehaviour = "huge"
	Garbage           Misbehaviour = "garbage"
	Truncated         Misbehaviour = "truncated"
	WrongTypes        Misbehaviour = "wrong_types"
	Echo              Misbehaviour = "echo"
	EchoBody          Misbehaviour = "echo_body"
	EchoBase64        Misbehaviour = "echo_base64"
	Foreign           Misbehaviour = "foreign"
	Stale             Misbehaviour = "stale"
	Repeated          Misbehaviour = "repeated"
	Reformatted       Misbehaviour = "reformatted"
	Contradicting     Misbehaviour = "contradicting"
	Reversed          Misbehaviour = "reversed"
	Reopened          Misbehaviour = "reopened"
	UnknownValue      Misbehaviour = "unknown_word"
	MissingDimension  Misbehaviour = "missing_dimension"
)

// callKinds is a set of kinds of calls.
type callKinds uint8

// The kinds of calls of the provider protocol.
const (
	submission  callKinds = 1 << iota
	statusQuery           // GET /v1/documents/{reference}
	purchasePages
	purchaseDocument
	recipientLookup // POST /v1/recipients/lookup; chaos leaves it alone

	documents = submission | statusQuery
	jsonCalls = documents | purchasePages    // the calls with a JSON object as the response
	allCalls  = jsonCalls | purchaseDocument // the calls that chaos affects
	anyCall   = allCalls | recipientLookup
)

// Way is one misbehaviour as the documentation and the control list it.
type Way struct {
	// Name is its name in the control and its counts.
	Name Misbehaviour `json:"name"`
	// Description says in English what happens. Times apply to the default pace and silence.
	Description string `json:"description"`

	on         callKinds     // the calls it can affect
	low        callKinds     // the calls it affects at the level low of chaos
	high       callKinds     // the calls it affects at the level high of chaos
	edit       func(*course) // how it changes the course of the document
	courseOnly bool          // only the course goes wrong: the responses are right
}

// At returns the names of the calls that the misbehaviour affects at a level of chaos, for the documentation.
func (w Way) At(level string) []string { return w.chance(level).names() }

// Calls returns the names of the calls that the misbehaviour can affect: those of At, and "recipient look-up".
func (w Way) Calls() []string { return w.on.names() }

// names returns the names of the kinds.
func (k callKinds) names() []string {
	var names []string
	for _, kind := range []struct {
		calls callKinds
		name  string
	}{{submission, "submission"}, {statusQuery, "status query"}, {purchasePages, "purchases"},
		{purchaseDocument, "purchase document"}, {recipientLookup, "recipient look-up"}} {
		if k&kind.calls != 0 {
			names = append(names, kind.name)
		}
	}
	return names
}

// chance returns the calls that the misbehaviour affects at a level of chaos.
func (w Way) chance(level string) callKinds {
	switch level {
	case ChaosLow:
		return w.low
	case ChaosHigh:
		return w.high
	default:
		return 0
	}
}

// Misbehaviours lists every way in which the provider sandbox makes calls go wrong: at random, by magic recipient, or
// on request of the control. Those of the level low heal by themselves as soon as the service asks again. No level of
// chaos changes a purchase document undetectably, or holds a document back for an hour.
func Misbehaviours() []Way {
	return slices.Concat(refusals(), distortions(), falseReports(), courseChanges())
}

// refusals are the ways not to respond to what was asked.
func refusals() []Way {
	return []Way{
		{Name: TooMany, Description: "429 with Retry-After: 1; nothing was done.",
			on: anyCall, low: allCalls &^ submission, high: allCalls},
		{Name: TooManyAlways, Description: "429 with a Retry-After of more seconds than a number holds; nothing was done.",
			on: anyCall},
		{Name: Unauthorized, Description: "401, as if our credential was withdrawn; nothing was done.", on: anyCall},
		{Name: UnavailableBefore, Description: "503 with Retry-After: 1; nothing was done.",
			on: anyCall, low: allCalls &^ submission, high: allCalls},
		{Name: DropBefore, Description: "The connection is dropped; nothing was done.",
			on: anyCall, low: allCalls &^ submission, high: allCalls},
		{Name: Redirect, Description: "307 to another host; nothing was done.", on: anyCall, high: allCalls},
		{Name: RedirectToService, Description: "307 to the service's own address; nothing was done.", on: anyCall,
			high: allCalls},
		{Name: DropAfter, Description: "It is done, then the connection is dropped.", on: anyCall, low: submission,
			high: submission},
		{Name: UnavailableAfter, Description: "It is done, then the answer is 503.", on: anyCall, low: submission,
			high: submission},
		{Name: RefuseAfter,
			Description: "The answer is 422, while the document was taken and goes on in the background: processing, accepted 2 s later.",
			on:          submission, low: submission, high: submission, edit: processingFirst},
		{Name: Arriving,
			Description: "The document was taken, and the provider does not know it yet: a submission is dropped and followed by 404 unknown_reference for 120 s; a status query is 404 unknown_reference once.",
			on:          documents, high: documents, edit: func(c *course) { c.arrives = 120 }},
	}
}

// distortions are the ways to distort the right response.
func distortions() []Way {
	return []Way{
		{Name: Silence, Description: "The right answer, after 30 s.", on: anyCall, high: allCalls},
		{Name: Drip, Description: "The right answer, a few bytes at a time within 30 s.", on: anyCall, high: allCalls},
		{Name: HeaderBomb, Description: "The right answer behind 1 MiB of headers.", on: anyCall, high: allCalls},
		{Name: Huge, Description: "The right answer, padded to 300 MiB.", on: anyCall, high: jsonCalls},
		{Name: Garbage, Description: "200 with bytes that are no JSON.", on: anyCall, low: submission, high: jsonCalls},
		{Name: Truncated, Description: "Half of the right answer, then the connection is dropped.", on: anyCall,
			low: allCalls, high: allCalls},
		{Name: WrongTypes, Description: "The right answer with one member of a wrong type, another one each time.",
			on: jsonCalls, high: jsonCalls},
		{Name: Echo, Description: "The right answer, with our credential in a header.", on: anyCall, high: jsonCalls},
		{Name: EchoBody, Description: "The right answer, with our credential in the body.", on: jsonCalls | recipientLookup,
			high: jsonCalls},
		{Name: EchoBase64, Description: "The right answer, with our credential in the body in base64.",
			on: jsonCalls | recipientLookup, high: jsonCalls},
	}
}

// falseReports are the ways to report something that is not true, or no longer true.
func falseReports() []Way {
	return []Way{
		{Name: Foreign, Description: "A report on another document: rejected, and everything final.", on: documents,
			high: documents},
		{Name: Stale, Description: "The very first report again, after a newer one.", on: statusQuery, low: statusQuery,
			high: statusQuery},
		{Name: Repeated, Description: "The previous report again, to the byte.", on: statusQuery, low: statusQuery,
			high: statusQuery},
		{Name: Reformatted, Description: "The previous report again under its sequence, in other bytes.", on: statusQuery,
			low: statusQuery, high: statusQuery},
		{Name: Contradicting,
			Description: "The previous report again under its sequence, with other words, none of them final.", on: statusQuery,
			high: statusQuery},
	}
}

// courseChanges are the ways to give a document an unusual course. Every response about it is right.
func courseChanges() []Way {
	return []Way{
		{Name: Reversed, Description: "The states become final in reverse order.", on: submission, high: submission,
			courseOnly: true, edit: reversed},
		{Name: Reopened, Description: "tax_authority_state is final as accepted, then under_review, then final as rejected.",
			on: submission, high: submission, courseOnly: true, edit: reopened},
		{Name: UnknownValue, Description: "tax_authority_state ends as zz_unheard_of, which is not final.", on: submission,
			high: submission, courseOnly: true, edit: unknownValue},
		{Name: MissingDimension, Description: "receiver_state is never reported.", on: submission, high: submission,
			courseOnly: true, edit: func(c *course) { c.moves[atReceiver].silent = true }},
	}
}

// processingFirst makes the provider decide 2 units after it accepted the document.
func processingFirst(c *course) {
	c.status = []statusChange{{0, invoice.Processing}, {2, invoice.Accepted}}
}

func reversed(c *course) {
	for i := range c.moves {
		c.moves[i].at = float64(len(c.moves) - i)
	}
}

// reopened makes the tax authority withdraw its terminal value before the receiver has one, so that the document does
// not look complete in between.
func reopened(c *course) {
	c.moves[atAuthority] = dimensionCourse{first: "pending", final: "accepted", at: 1,
		then: []laterValue{{at: 2.5, word: "under_review", open: true}, {at: 4, word: valueRejected}}}
	c.moves[atReceiver].at = 5
}

func unknownValue(c *course) {
	c.moves[atAuthority].final, c.moves[atAuthority].open = "zz_unheard_of", true
}
