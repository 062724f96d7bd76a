package fakeprovider

import (
	"math"

	"quittance/internal/document/invoice"
)

// Scenario is what the provider sandbox does with an invoice whose recipient_network_id is the scenario's ID, and with
// a credit note whose reason is.
type Scenario struct {
	// ID is the magic recipient_network_id.
	ID string `json:"id"`
	// Description says in English what happens. Times are for the default pace of one second.
	Description string `json:"description"`

	edit  func(*course) // nil for the default course
	wrong Misbehaviour  // how the response to a submit call goes wrong
	times int           // for how many submit calls with a reference, from the first
	asked Misbehaviour  // how the response to every second status query goes wrong
}

// course is the course of a document of the scenario.
func (s Scenario) course() course {
	outline := defaultCourse()
	if s.edit != nil {
		s.edit(&outline)
	}
	return outline
}

// Scenarios lists every scenario for the API reference. Any other recipient_network_id takes the default course.
func Scenarios() []Scenario {
	return append(courseScenarios(), failureScenarios()...)
}

// courseScenarios are the scenarios in which the provider responds correctly.
func courseScenarios() []Scenario {
	return []Scenario{
		{ID: "sandbox-accepted", Description: "Accepted at once; all four states are final within 5 s, in any order."},
		{ID: "sandbox-rejected-validation",
			Description: "Rejected by the provider at once: status rejected, submission_state rejected_by_provider, the other three never reported.",
			edit:        func(c *course) { c.reject(0, Message{"SANDBOX-REJECTED", "rejected by the scenario"}) }},
		{ID: "sandbox-rejected-authority", Description: "Accepted; tax_authority_state ends as rejected.",
			edit: func(c *course) { c.moves[atAuthority].final = valueRejected }},
		{ID: "sandbox-rejected-receiver", Description: "Accepted; receiver_state ends as rejected.",
			edit: func(c *course) { c.moves[atReceiver].final = valueRejected }},
		{ID: "sandbox-processing", Description: "202 with status processing first, accepted 2 s later.",
			edit: func(c *course) { c.status = []statusChange{{0, invoice.Processing}, {2, invoice.Accepted}} }},
		{ID: "sandbox-processing-rejected",
			Description: "202 with status processing first, rejected by the provider 2 s later.",
			edit:        func(c *course) { c.reject(2, Message{"SANDBOX-REJECTED", "rejected by the scenario"}) }},
		{ID: "sandbox-receiver-not-found",
			Description: "Receiver discovery and a look-up of the recipient say not found; receiver_state ends as undeliverable.",
			edit: func(c *course) {
				c.discovery, c.moves[atReceiver] = discoveryNotFound, dimensionCourse{final: "undeliverable"}
			}},
		{ID: "sandbox-discovery-timed-out",
			Description: "Receiver discovery says timed_out, and a look-up of the recipient cannot say; receiver_state stays waiting_for_receiver, which is not final.",
			edit: func(c *course) {
				c.discovery, c.moves[atReceiver] = discoveryTimedOut, dimensionCourse{final: "waiting_for_receiver", open: true}
			}},
		{ID: "sandbox-reversed",
			Description: "The states become final in reverse order: receiver, tax authority, provider invoice, submission, 1 s apart.",
			edit:        reversed},
		{ID: "sandbox-reopened",
			Description: "tax_authority_state is final as accepted after 1 s, under_review after 2.5 s, and final as rejected after 4 s; receiver_state becomes final last, after 5 s.",
			edit:        reopened},
		{ID: "sandbox-unknown-word",
			Description: "tax_authority_state ends as zz_unheard_of, a value that is in no table and not final.",
			edit:        unknownValue},
		slow("sandbox-slow-submission", atSubmission), slow("sandbox-slow-provider-invoice", atProviderInvoice),
		slow("sandbox-slow-authority", atAuthority), slow("sandbox-slow-receiver", atReceiver),
		silent("sandbox-silent-submission", atSubmission), silent("sandbox-silent-provider-invoice", atProviderInvoice),
		silent("sandbox-silent-authority", atAuthority), silent("sandbox-silent-receiver", atReceiver),
	}
}

func slow(id string, dimension int) Scenario {
	return Scenario{ID: id, Description: string(invoice.Dimensions[dimension]) + " becomes final only after 20 s.",
		edit: func(c *course) { c.moves[dimension].at = 20 }}
}

func silent(id string, dimension int) Scenario {
	return Scenario{ID: id, Description: string(invoice.Dimensions[dimension]) +
		" is never reported; the other three become final.",
		edit: func(c *course) { c.moves[dimension].silent = true }}
}

// LostScenario is the ID of the scenario in which no submit call is ever answered and no document is ever accepted.
const LostScenario = "sandbox-lost"

// failureScenarios are the scenarios in which a response goes wrong. The document takes the default course once it is
// accepted.
func failureScenarios() []Scenario {
	return []Scenario{
		{ID: "sandbox-drop-after-accept", wrong: DropAfter, times: 1,
			Description: "The document is accepted, then the connection is dropped without a response."},
		{ID: "sandbox-drop-before-accept", wrong: DropBefore, times: 1,
			Description: "The first submit call is read and dropped; the provider does not have it. The next one is accepted."},
		{ID: LostScenario, wrong: DropBefore, times: math.MaxInt,
			Description: "Every submit call is read and dropped, and the provider never has the document: the outcome stays unknown until an administrator resolves it."},
		{ID: "sandbox-503-after-accept", wrong: UnavailableAfter, times: 1,
			Description: "The document is accepted, then the response is 503."},
		{ID: "sandbox-503-before-accept", wrong: UnavailableBefore, times: 1,
			Description: "The first submit call gets 503, and the document is not accepted. The next one is accepted."},
		{ID: "sandbox-422-while-accepting", wrong: RefuseAfter, times: 1,
			Description: "The response is 422, while the document goes on in the background: processing, accepted 2 s later."},
		{ID: "sandbox-arriving", wrong: Arriving, times: 1,
			Description: "The document is accepted, then the connection is dropped. Status queries get 404 unknown_reference for 120 s, as if it had not arrived yet; a second submit call gets the document."},
		{ID: "sandbox-429-once", wrong: TooMany, times: 1,
			Description: "The first submit call is refused with 429 and Retry-After: 1. The next one is accepted."},
		{ID: "sandbox-429-twice", wrong: TooMany, times: 2,
			Description: "The first two submit calls are refused with 429 and Retry-After: 1. The third one is accepted."},
		{ID: "sandbox-429-for-ever", wrong: TooManyAlways, times: 1,
			Description: "The first submit call is refused with 429 and a Retry-After of more seconds than a number holds. The next one is accepted."},
		{ID: "sandbox-silence", wrong: Silence, times: 1,
			Description: "The document is accepted, and the response comes only after 30 s: longer than a call may take."},
		{ID: "sandbox-drip", wrong: Drip, times: 1,
			Description: "The document is accepted, and the response comes a few bytes at a time within 30 s: longer than a call may take."},
		{ID: "sandbox-garbage", wrong: Garbage, times: 1,
			Description: "The document is accepted, and the response is 200 with bytes that are no JSON."},
		{ID: "sandbox-truncated", wrong: Truncated, times: 1,
			Description: "The document is accepted, and the connection breaks in the middle of the response."},
		{ID: "sandbox-wrong-types", wrong: WrongTypes, times: 1,
			Description: "The document is accepted, and a member of the response has a wrong type: another one each time."},
		{ID: "sandbox-huge", wrong: Huge, times: 1,
			Description: "The document is accepted, and the response is padded to 300 MiB."},
		{ID: "sandbox-header-bomb", wrong: HeaderBomb, times: 1,
			Description: "The document is accepted, and the response comes behind 1 MiB of headers."},
		{ID: "sandbox-echo", wrong: Echo, times: 1,
			Description: "The document is accepted, and the response repeats the provider credential in a header."},
		{ID: "sandbox-echo-body", wrong: EchoBody, times: 1,
			Description: "The document is accepted, and the response repeats the provider credential in its body."},
		{ID: "sandbox-echo-base64", wrong: EchoBase64, times: 1,
			Description: "The document is accepted, and the response repeats the provider credential in its body in base64."},
		{ID: "sandbox-redirect", wrong: Redirect, times: 1,
			Description: "The first submit call gets 307, and the document is not accepted. The next one is accepted."},
		{ID: "sandbox-redirect-to-service", wrong: RedirectToService, times: 1,
			Description: "The first submit call gets 307 to the service's own address, and the document is not accepted. The next one is accepted."},
		{ID: "sandbox-foreign", wrong: Foreign, times: 1, asked: Foreign,
			Description: "The document is accepted. The response to the submit call, and to every second status query, is a report on another document: rejected, and everything final."},
		{ID: "sandbox-stale", asked: Stale,
			Description: "Every second status query gets the very first report, once a newer one was given."},
		{ID: "sandbox-repeated", asked: Repeated,
			Description: "Every second status query gets the report before it, to the byte."},
		{ID: "sandbox-reformatted", asked: Reformatted,
			Description: "Every second status query gets the report before it, under its sequence, in other bytes."},
		{ID: "sandbox-contradicting", asked: Contradicting,
			Description: "Every second status query gets the report before it, under its sequence, but with other values, none of them final."},
	}
}

// subject returns what chooses the scenario of a document: the reason of a credit note if it is the ID of a scenario,
// so that a credit note can take another course than its invoice, and otherwise the recipient.
func (s *Server) subject(recipient, reason string) string {
	if _, known := s.scenarios[reason]; known {
		return reason
	}
	return recipient
}

// scenarioFor returns the scenario of a recipient; the zero value is the default course.
func (s *Server) scenarioFor(recipient string) Scenario { return s.scenarios[recipient] }
