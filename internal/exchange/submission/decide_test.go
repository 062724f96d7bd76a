package submission

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
)

const timeout = 20 * time.Second

var (
	began   = time.Date(2026, time.March, 1, 9, 0, 0, 0, time.UTC)
	polling = Polling{First: time.Second, Max: time.Hour}
)

// open is a submission whose call is in progress.
func open() invoices.Submission {
	return invoices.Submission{ID: base.ID{1}, Invoice: base.ID{2}, Outcome: api.OutcomeInProgress, AttemptedAt: began,
		SentAt: began, Current: true}
}

// decideAndApply decides about a response, and returns the submission as the store has it after the decision.
func decideAndApply(t testingT, s invoices.Submission, call string, response provider.Response, held bool,
	now time.Time) (invoices.Submission, invoices.Decision) {
	t.Helper()
	r := providerResponse{Response: response, call: call, began: now.Add(-response.Duration),
		profile: provider.Profile{Vocabulary: protocol.Vocabulary(), Idempotent: true}, timeout: timeout,
		polling: polling}
	d, err := r.decide(s, held, now)
	if err != nil {
		t.Fatal(err)
	}
	s.Outcome, s.ProviderReference, s.Sequence, s.States = d.Outcome, d.ProviderReference, d.Sequence, d.States
	s.MissingSince, s.MissingCount, s.SentAt = d.MissingSince, d.MissingCount, d.SentAt
	if d.Responded {
		s.LastCheckedAt, s.LastStatus, s.LastSHA256 = &now, d.LastStatus, d.LastSHA256
	}
	if d.Evidence != nil {
		s.Evidence++
	}
	if held {
		s.PollWait, s.DueAt = d.PollWait, d.DueAt
	}
	if slices.Contains(d.Events, api.EventTerminal) {
		s.TerminalAt = &now
	}
	return s, d
}

// testingT is the part of testing.T and rapid.T that these tests use.
type testingT interface {
	Helper()
	Fatal(args ...any)
}

// reported is the response with a report on a submission.
func reported(s invoices.Submission, status string, sequence int64, states map[string]any) provider.Response {
	body, err := json.Marshal(map[string]any{"reference": s.ID.String(), "provider_reference": "P-1", "status": status,
		"sequence": sequence, "reported_at": "2026-03-01T09:00:00Z", "states": states})
	if err != nil {
		panic(err) // maps of plain values
	}
	return provider.Response{Kind: provider.Complete, HTTPStatus: 200, MediaType: "application/json", Body: body}
}

func word(value string, terminal bool) map[string]any {
	return map[string]any{"value": value, "terminal": terminal}
}

// TestOutcomeOfSubmitResponse checks that only a document that the provider certainly did not receive is a draft again,
// only the provider's own status rejects it, and after any ambiguous response the outcome is unknown. No HTTP status
// makes an outcome or a state.
func TestOutcomeOfSubmitResponse(t *testing.T) {
	s := open()
	other := open()
	other.ID = base.ID{9}
	states := map[string]any{"submission_state": word("accepted_by_provider", true)}
	unclear := func(status int, body string) provider.Response {
		return provider.Response{Kind: provider.Ambiguous, HTTPStatus: status, Body: []byte(body)}
	}
	for name, c := range map[string]struct {
		response provider.Response
		want     api.Outcome
	}{
		"accepted":                  {reported(s, "accepted", 1, states), api.OutcomeAcknowledged},
		"processing":                {reported(s, "processing", 1, nil), api.OutcomeAcknowledged},
		"rejected":                  {reported(s, "rejected", 1, states), api.OutcomeRejected},
		"a status of another world": {reported(s, "perhaps", 1, states), api.OutcomeUnknown},
		"a report on another one":   {reported(other, "accepted", 1, states), api.OutcomeUnknown},
		"garbage with 200": {provider.Response{Kind: provider.Complete, HTTPStatus: 200,
			Body: []byte("<html>accepted")}, api.OutcomeUnknown},
		"nothing with 200": {provider.Response{Kind: provider.Complete, HTTPStatus: 200}, api.OutcomeUnknown},
		"certainly not sent": {provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassConnect},
			invoices.OutcomeNotSent},
		"refused before reading": {provider.Response{Kind: provider.Refused, HTTPStatus: 429, Body: []byte("{}")},
			invoices.OutcomeNotSent},
		"time-out": {provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout},
			api.OutcomeUnknown},
		"500": {unclear(500, "{}"), api.OutcomeUnknown},
		"422": {unclear(422, "{}"), api.OutcomeUnknown},
		"404 unknown reference": {provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404,
			Body: []byte("{}")}, api.OutcomeUnknown},
		"a rejection in a 500":   {unclear(500, string(reported(s, "rejected", 1, states).Body)), api.OutcomeUnknown},
		"an acceptance in a 409": {unclear(409, string(reported(s, "accepted", 1, states).Body)), api.OutcomeUnknown},
		"a redirect": {provider.Response{Kind: provider.Ambiguous, HTTPStatus: 302,
			ErrorClass: provider.ClassRedirect}, api.OutcomeUnknown},
		"a response that is too large": {provider.Response{Kind: provider.Ambiguous, HTTPStatus: 200,
			ErrorClass: provider.ClassTooLarge, Truncated: true}, api.OutcomeUnknown},
	} {
		t.Run(name, func(t *testing.T) {
			after, d := decideAndApply(t, s, callSubmit, c.response, true, began.Add(time.Second))
			if after.Outcome != c.want {
				t.Errorf("outcome %q, want %q", after.Outcome, c.want)
			}
			known := c.want == api.OutcomeAcknowledged || c.want == api.OutcomeRejected
			if !known && (len(d.Events) > 0 || len(d.WriteStates) > 0 || after.States != invoice.States{}) {
				t.Errorf("a response without a report made the events %v and the states %v", d.Events, d.WriteStates)
			}
			if (d.Evidence != nil) != (c.response.HTTPStatus != 0) {
				t.Errorf("evidence %v of a response with status %d", d.Evidence, c.response.HTTPStatus)
			}
			if (d.DueAt == nil) != (c.want == invoices.OutcomeNotSent) {
				t.Errorf("polled again at %v", d.DueAt)
			}
		})
	}
}

// TestLateResponses checks that a response whose lease is lost is kept and may add information, but takes nothing back.
func TestLateResponses(t *testing.T) {
	s := open()
	after, _ := decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.NotSent}, false, began)
	if after.Outcome == invoices.OutcomeNotSent {
		t.Error("a worker that has lost its lease made the invoice a draft again")
	}
	known, _ := decideAndApply(t, s, callStatus,
		reported(s, "accepted", 3, map[string]any{"receiver_state": word("accepted", true)}), true, began)
	for name, response := range map[string]provider.Response{
		"not sent": {Kind: provider.NotSent}, "refused": {Kind: provider.Refused, HTTPStatus: 403},
		"missing": {Kind: provider.UnknownReference, HTTPStatus: 404},
		"older":   reported(s, "rejected", 2, map[string]any{"receiver_state": word("sent", false)}),
	} {
		late, d := decideAndApply(t, known, callSubmit, response, false, began.Add(time.Hour))
		if late.Outcome != api.OutcomeAcknowledged || late.States != known.States || len(d.Events) > 0 {
			t.Errorf("%s: outcome %s, events %v", name, late.Outcome, d.Events)
		}
	}
}

// TestRejectionIsFinal checks that what the provider reports after its rejection is kept and shown, but does not change
// the outcome, because the customer may have corrected the invoice.
func TestRejectionIsFinal(t *testing.T) {
	s, _ := decideAndApply(t, open(), callSubmit, reported(open(), "rejected", 1, nil), true, began)
	s, d := decideAndApply(t, s, callStatus,
		reported(s, "accepted", 2, map[string]any{"tax_authority_state": word("accepted", true)}), true, began)
	if s.Outcome != api.OutcomeRejected || !s.States.TaxAuthority.Reported() ||
		!slices.Equal(d.Events, []api.EventKind{api.EventStatusChanged}) {
		t.Errorf("outcome %s, events %v", s.Outcome, d.Events)
	}
}

// TestEveryChangeHasOneEvent checks that a document goes through its states with evidence for every new response and
// none for a repeated one, with its events in order, and with a single terminal event.
func TestEveryChangeHasOneEvent(t *testing.T) {
	updated, changed, terminal := api.EventSubmissionUpdated, api.EventStatusChanged, api.EventTerminal
	all := func(last string, final bool) map[string]any {
		return map[string]any{"submission_state": word("accepted_by_provider", true),
			"provider_invoice_state": word("accepted", true),
			"tax_authority_state":    word("accepted", true), "receiver_state": word(last, final)}
	}
	s, now := open(), began
	for n, step := range []struct {
		response provider.Response
		events   []api.EventKind
		evidence int64
		asked    bool
	}{
		{reported(s, "processing", 1, nil), []api.EventKind{updated}, 1, true},
		{reported(s, "processing", 1, nil), nil, 1, true},
		{reported(s, "accepted", 2, map[string]any{"receiver_state": word("sent", false)}), []api.EventKind{changed}, 2,
			true},
		{reported(s, "accepted", 3, map[string]any{"submission_state": word("accepted_by_provider", true)}),
			[]api.EventKind{updated, changed}, 3, true},
		{reported(s, "accepted", 2, map[string]any{"receiver_state": word("older", false)}), nil, 4, true},
		{provider.Response{Kind: provider.Ambiguous, HTTPStatus: 503, Body: []byte("later")}, nil, 5, true},
		{reported(s, "accepted", 4, all("accepted", true)), []api.EventKind{changed, terminal}, 6, false},
		{reported(s, "accepted", 5, all("reopened", false)), []api.EventKind{changed}, 7, true},
		{reported(s, "accepted", 6, all("accepted", true)), []api.EventKind{changed}, 8, false},
	} {
		now = now.Add(time.Minute)
		var d invoices.Decision
		s, d = decideAndApply(t, s, callStatus, step.response, true, now)
		if !slices.Equal(d.Events, step.events) || s.Evidence != step.evidence || (d.DueAt != nil) != step.asked ||
			!s.LastCheckedAt.Equal(now) {
			t.Errorf("step %d: events %v, %d entries, next %v, checked %v", n, d.Events, s.Evidence, d.DueAt, s.LastCheckedAt)
		}
	}
}

// TestResendRule checks that a document is sent again only if the provider has said twice that it has no such document,
// a minute apart and later than two call time-outs after the send, and only if references are idempotent or an
// administrator orders it.
func TestResendRule(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404,
		Body: []byte(`{"error":{"code":"unknown_reference"}}`)}
	idempotent := provider.Profile{Idempotent: true}
	s, now := open(), began
	s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout,
		Duration: timeout}, true, now.Add(timeout))
	for n, step := range []struct {
		after time.Duration
		count int
	}{{21 * time.Second, 0}, {39 * time.Second, 0}, {40 * time.Second, 1}, {70 * time.Second, 1}, {99 * time.Second, 1},
		{100 * time.Second, 2}} {
		s, _ = decideAndApply(t, s, callStatus, missing, true, began.Add(step.after))
		if s.MissingCount != step.count || s.Outcome != api.OutcomeUnknown {
			t.Errorf("step %d: %d responses counted, outcome %s", n, s.MissingCount, s.Outcome)
		}
		if mayResend(s, idempotent) != (step.count == 2) {
			t.Errorf("step %d: may be sent again", n)
		}
	}
	if mayResend(s, provider.Profile{}) {
		t.Error("sent again although references are not idempotent")
	}
	guarded, prepared := provider.Profile{GuardsSend: true}, s
	prepared.ProviderReference = new("prepared")
	if mayResend(s, guarded) || !mayResend(prepared, guarded) {
		t.Error("a provider that sends a prepared document once guards exactly the documents that it has prepared")
	}
	s.ResendOrdered = true
	if !mayResend(s, provider.Profile{}) {
		t.Error("an administrator's decision is ignored")
	}
	found, _ := decideAndApply(t, s, callStatus, reported(s, "accepted", 1, nil), true, began.Add(time.Hour))
	if found.MissingCount != 0 || mayResend(found, idempotent) {
		t.Error("a document that was found is sent again")
	}
}

// TestRefusedResend checks that after a resend that was refused unread or never sent, the reason for it remains valid:
// the provider's two responses, or an administrator's order. The order does not count as a response of the provider.
func TestRefusedResend(t *testing.T) {
	idempotent := provider.Profile{Idempotent: true}
	for _, kind := range []provider.Kind{provider.Refused, provider.NotSent} {
		ordered := open()
		ordered.Outcome, ordered.SentAt, ordered.ResendUnderWay = api.OutcomeUnknown, began.Add(time.Hour), true
		refused, d := decideAndApply(t, ordered, callSubmit, provider.Response{Kind: kind}, true, began.Add(time.Hour))
		if !d.ResendOrdered || refused.MissingCount != 0 || refused.MissingSince != nil || refused.DueAt == nil {
			t.Errorf("%v: after a resend that an administrator ordered, the order is valid: %v, missing %d times",
				kind, d.ResendOrdered, refused.MissingCount)
		}
		missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
		refused.ResendOrdered, refused.ResendUnderWay = false, false // what a crash leaves of the decision
		if once, _ := decideAndApply(t, refused, callStatus, missing, true, began.Add(2*time.Hour)); once.MissingCount != 1 ||
			mayResend(once, idempotent) {
			t.Errorf("%v: one response of the provider counts as %d", kind, once.MissingCount)
		}
		if taken, d := decideAndApply(t, ordered, callSubmit, provider.Response{Kind: provider.Ambiguous}, true,
			began.Add(time.Hour)); d.ResendOrdered || mayResend(taken, idempotent) {
			t.Errorf("%v: the order is still valid after a resend that the provider may have received", kind)
		}
	}
	for _, kind := range []provider.Kind{provider.Refused, provider.NotSent} {
		s := open()
		s.Outcome, s.SentAt = api.OutcomeUnknown, began.Add(time.Hour)
		s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: kind}, true, began.Add(time.Hour))
		if s.Outcome != api.OutcomeUnknown || !mayResend(s, provider.Profile{Idempotent: true}) || s.DueAt == nil {
			t.Errorf("%v: outcome %s, %d responses counted", kind, s.Outcome, s.MissingCount)
		}
		lost := open()
		lost.Outcome = api.OutcomeUnknown
		if lost, _ = decideAndApply(t, lost, callSubmit, provider.Response{Kind: kind}, false, began); mayResend(lost,
			provider.Profile{Idempotent: true}) {
			t.Errorf("%v: a worker without a lease proves something", kind)
		}
	}
}

// TestReportThatEchoesCredential checks that a report with our credential in a state value or a reference is sealed
// evidence, and nothing is read from it. A report with the credential elsewhere is read.
func TestReportThatEchoesCredential(t *testing.T) {
	const credential = "canary-credential"
	profile := provider.Profile{Vocabulary: protocol.Vocabulary(),
		EchoesCredential: func(text string) bool { return strings.Contains(text, credential) }}
	for name, c := range map[string]struct {
		word string
		read bool
	}{"in a word": {"say " + credential, false}, "elsewhere": {"accepted", true}} {
		response := reported(open(), "accepted", 1, map[string]any{"receiver_state": word(c.word, false)})
		response.Echoed = true
		d, err := providerResponse{Response: response, call: callStatus, profile: profile, timeout: timeout,
			polling: polling}.decide(open(), true, began)
		if err != nil || !d.Evidence.Withheld || (len(d.WriteStates) > 0) != c.read ||
			(len(d.Evidence.StateValues) > 0) != c.read || (len(d.Events) > 0) != c.read {
			t.Errorf("%s: %+v, %v", name, d, err)
		}
	}
}

// TestMissingIsConfirmedEarly checks that the two responses that prove that a document is missing are requested as soon
// as they count, not only after a doubled wait.
func TestMissingIsConfirmedEarly(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
	s, now := open(), began
	queries := 0
	for s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.Ambiguous},
		true, now); s.MissingCount < 2; queries++ {
		now = *s.DueAt
		s, _ = decideAndApply(t, s, callStatus, missing, true, now)
	}
	if took := now.Sub(began); took > 2*timeout+minMissingGap+5*time.Second || queries > 12 {
		t.Errorf("it took %v and %d status queries", took, queries)
	}
}

// TestMissingKeepsPollInterval checks that a provider that has no such document is asked again no later than usual, so
// that a late document is found soon, and no more often once further responses prove nothing more.
func TestMissingKeepsPollInterval(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
	s, now := open(), began
	s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.Ambiguous}, true, now)
	longest := time.Second
	for range 20 {
		asked := *s.DueAt
		if wait := asked.Sub(now); wait > longest || wait < time.Second {
			t.Errorf("%v after the send it is polled after %v, want at most %v", now.Sub(began), wait, longest)
		}
		if asked.Sub(began) >= 2*time.Second && now.Sub(began) < 2*time.Second && asked.Sub(began) > 5*time.Second {
			t.Errorf("a document that appears after two seconds is found after %v", asked.Sub(began))
		}
		now = asked
		s, _ = decideAndApply(t, s, callStatus, missing, true, now)
		longest = min(2*longest, time.Hour)
	}
	if last := s.DueAt.Sub(now); last != time.Hour {
		t.Errorf("after %d responses that prove nothing more it is polled every %v", 20, last)
	}
}

// TestPolling checks that the provider is asked soon after a change, then at doubling intervals up to an hour, daily
// for old submissions, without end, and never before its Retry-After.
func TestPolling(t *testing.T) {
	s, _ := decideAndApply(t, open(), callSubmit, reported(open(), "accepted", 1, nil), true, began)
	now := began
	var waits []time.Duration
	for range 20 {
		next := *s.DueAt
		waits = append(waits, next.Sub(now))
		now = next
		s, _ = decideAndApply(t, s, callStatus, reported(s, "accepted", 1, nil), true, now)
	}
	want := []time.Duration{time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second}
	if !slices.Equal(waits[:4], want) || waits[19] != time.Hour {
		t.Errorf("waits %v", waits)
	}
	s, _ = decideAndApply(t, s, callStatus, reported(s, "accepted", 2,
		map[string]any{"receiver_state": word("sent", false)}), true, now)
	if got := s.DueAt.Sub(now); got != time.Second {
		t.Errorf("after a change it is polled again after %v", got)
	}
	old := began.Add(91 * 24 * time.Hour)
	s, _ = decideAndApply(t, s, callStatus, reported(s, "accepted", 2, nil), true, old)
	if got := s.DueAt.Sub(old); got != 24*time.Hour {
		t.Errorf("an old submission is polled again after %v", got)
	}
	s, _ = decideAndApply(t, s, callStatus, provider.Response{Kind: provider.Refused, HTTPStatus: 429,
		RetryAfter: 30 * time.Minute}, true, began.Add(time.Minute))
	if got := s.DueAt.Sub(began.Add(time.Minute)); got < 30*time.Minute {
		t.Errorf("polled again after %v, before Retry-After", got)
	}
}

// TestOnlyReportsChangeStates checks for any responses that only a readable report on this submission changes a state,
// and only in the dimensions that it mentions.
func TestOnlyReportsChangeStates(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, now := open(), began
		for range rapid.IntRange(1, 12).Draw(t, "answers") {
			now = now.Add(time.Duration(rapid.IntRange(1, 120).Draw(t, "seconds")) * time.Second)
			states := map[string]any{}
			for _, dimension := range invoice.Dimensions {
				if rapid.Bool().Draw(t, string(dimension)) {
					states[string(dimension)] = word(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "word"),
						rapid.Bool().Draw(t, "terminal"))
				}
			}
			status := rapid.SampledFrom([]string{"accepted", "processing", "rejected", "odd"}).Draw(t, "status")
			response := reported(s, status, int64(rapid.IntRange(0, 5).Draw(t, "sequence")), states)
			response.Kind = rapid.SampledFrom([]provider.Kind{provider.Complete, provider.Ambiguous, provider.Refused,
				provider.NotSent, provider.UnknownReference}).Draw(t, "kind")
			response.HTTPStatus = rapid.SampledFrom([]int{200, 202, 404, 429, 500}).Draw(t, "http")
			before := s
			var d invoices.Decision
			s, d = decideAndApply(t, s, rapid.SampledFrom([]string{callSubmit, callStatus}).Draw(t, "call"), response,
				rapid.Bool().Draw(t, "held"), now)
			readable := response.Kind == provider.Complete && status != "odd"
			for _, dimension := range invoice.Dimensions {
				was, _, _ := before.States.Get(dimension)
				is, _, _ := s.States.Get(dimension)
				if was != is && (!readable || states[string(dimension)] == nil) {
					t.Fatalf("%s became %q by %v", dimension, is, response.Kind)
				}
			}
			if !readable && len(d.Events) > 0 {
				t.Fatalf("%v caused the events %v", response.Kind, d.Events)
			}
			if before.TerminalAt != nil && slices.Contains(d.Events, api.EventTerminal) {
				t.Fatal("two terminal events")
			}
			if s.Outcome == invoices.OutcomeNotSent {
				return // a draft again
			}
		}
	})
}

// TestContradiction checks that an administrator's rejection remains, whatever the provider reports. The reports are
// recorded as usual, and a report that the provider has the document contradicts the decision once.
func TestContradiction(t *testing.T) {
	resolved := open()
	resolved.Outcome, resolved.Resolved = api.OutcomeResolvedRejected,
		&api.Resolution{Decision: invoices.DecisionReject, By: "ada@desk", At: began}
	states := map[string]any{"receiver_state": word("accepted", true)}
	for status, contradicts := range map[string]bool{"accepted": true, "processing": true, "rejected": false} {
		s, d := decideAndApply(t, resolved, callStatus, reported(resolved, status, 1, states), true, began)
		if s.Outcome != api.OutcomeResolvedRejected || !s.States.Receiver.Reported() || d.Evidence == nil ||
			d.Contradicts != contradicts {
			t.Errorf("%s: outcome %s, contradicts %v", status, s.Outcome, d.Contradicts)
		}
	}
	known := *resolved.Resolved
	known.ContradictedAt = &began
	resolved.Resolved = &known
	if _, d := decideAndApply(t, resolved, callStatus, reported(resolved, "accepted", 2, states), true,
		began); d.Contradicts {
		t.Error("contradicted twice")
	}
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
	if s, d := decideAndApply(t, resolved, callStatus, missing, true, began); s.Outcome != api.OutcomeResolvedRejected ||
		d.Contradicts {
		t.Errorf("no such document: %s, %v", s.Outcome, d.Contradicts)
	}
	if _, d := decideAndApply(t, open(), callSubmit, reported(open(), "accepted", 1, nil), true, began); d.Contradicts {
		t.Error("an ordinary response contradicts")
	}
}
