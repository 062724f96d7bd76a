package client_test

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
)

// invoice returns an invoice as the API returns it after a submission. A state is not final if its value ends with a
// question mark.
func invoice(outcome api.Outcome, states ...string) api.Invoice {
	later := time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC)
	i := api.Invoice{ID: "i", Submitted: true, Submission: &api.Submission{ID: "s", Outcome: outcome, NextCheckAt: &later}}
	details := []**api.StateDetail{&i.Details.SubmissionState, &i.Details.ProviderInvoiceState,
		&i.Details.TaxAuthorityState, &i.Details.ReceiverState}
	for n, field := range []**string{&i.SubmissionState, &i.ProviderInvoiceState, &i.TaxAuthorityState, &i.ReceiverState} {
		if n < len(states) && states[n] != "" {
			*field = &states[n]
			*details[n] = &api.StateDetail{Value: states[n], Final: !strings.HasSuffix(states[n], "?")}
		}
	}
	return i
}

// checked returns the invoice as one that the service no longer polls.
func checked(i api.Invoice) api.Invoice {
	i.Submission.NextCheckAt = nil
	return i
}

func shows(status int, i api.Invoice) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { response(w, status, api.Data[api.Invoice]{Data: i}) }
}

func TestSubmitAndWait(t *testing.T) {
	const known, unknown, rejected, busy = api.OutcomeAcknowledged, api.OutcomeUnknown, api.OutcomeRejected,
		api.OutcomeInProgress
	all := []string{"accepted_by_provider", "accepted", "accepted", "accepted"}
	never := func(api.Invoice) bool { return false }
	draft := api.Invoice{ID: "i"}
	for name, test := range map[string]struct {
		until     func(api.Invoice) bool
		responses []http.HandlerFunc // the first one is that of the submission
		outcome   api.Outcome        // of the invoice that is returned
		err       error
		code      api.Code
	}{
		"all at once": {responses: []http.HandlerFunc{shows(200, invoice(known, all...))}, outcome: known},
		"one by one, in any order": {outcome: known, responses: []http.HandlerFunc{shows(200, invoice(known)),
			shows(200, invoice(known, "", "", "", "accepted")),
			shows(200, invoice(known, "", "accepted", "", "accepted")),
			shows(200, invoice(known, "", "accepted", "rejected", "accepted")), shows(200, invoice(known, all...))}},
		"reported, but not final": {outcome: known,
			responses: []http.HandlerFunc{shows(200, invoice(known, "accepted_by_provider", "accepted", "under_review?",
				"accepted")),
				shows(200, invoice(known, all...))}},
		"outcome unknown at first": {outcome: known, responses: []http.HandlerFunc{shows(202, invoice(unknown)),
			shows(200, invoice(unknown)), shows(200, invoice(known, all...))}},
		"as soon as the receiver has spoken": {until: func(i api.Invoice) bool { return i.ReceiverState != nil },
			outcome:   known,
			responses: []http.HandlerFunc{shows(200, invoice(known)), shows(200, invoice(known, "", "", "", "accepted"))}},
		"longer than all four are reported": {until: func(i api.Invoice) bool {
			return i.ReceiverState != nil &&
				*i.ReceiverState == "paid"
		}, outcome: known,
			responses: []http.HandlerFunc{shows(200, invoice(known, all...)),
				shows(200, invoice(known, "accepted_by_provider", "accepted", "accepted", "paid"))}},
		"rejected, and nothing more is reported": {outcome: rejected,
			responses: []http.HandlerFunc{shows(200, invoice(known)), shows(200, invoice(rejected, "rejected_by_provider"))}},
		"nothing more to ask": {until: never, outcome: known,
			responses: []http.HandlerFunc{shows(200, invoice(known, all...)), shows(200, checked(invoice(known, all...)))}},
		"not settled while in progress": {outcome: known,
			responses: []http.HandlerFunc{shows(202, checked(invoice(busy))), shows(200, invoice(known, all...))}},
		"submitted by another call": {outcome: known, responses: []http.HandlerFunc{refuse(409, api.CodeSubmissionInProgress),
			shows(200, invoice(busy)),
			shows(200, invoice(known, all...))}},
		"its own first attempt is still at it": {outcome: known, responses: []http.HandlerFunc{drop,
			refuse(409, api.CodeSubmissionInProgress), shows(200, invoice(known, all...))}},
		"a draft again": {responses: []http.HandlerFunc{shows(202, invoice(unknown)),
			shows(200, draft)}, err: client.ErrDraftAgain},
		"a draft again, whatever is waited for": {until: func(api.Invoice) bool { return true }, err: client.ErrDraftAgain,
			responses: []http.HandlerFunc{refuse(409, api.CodeSubmissionInProgress), shows(200, draft)}},
		"incomplete": {responses: []http.HandlerFunc{refuse(422, api.CodeInvoiceIncomplete)},
			code: api.CodeInvoiceIncomplete},
		"a duplicate": {responses: []http.HandlerFunc{refuse(409, api.CodeDuplicateInvoiceNumber)},
			code: api.CodeDuplicateInvoiceNumber},
		"an error while it waits": {outcome: unknown, code: api.CodeInternal,
			responses: []http.HandlerFunc{shows(202, invoice(unknown)), refuse(500, api.CodeInternal)}},
	} {
		t.Run(name, func(t *testing.T) {
			s, c, _ := start(t)
			s.script = slices.Clone(test.responses)
			s.fallback = func(http.ResponseWriter, *http.Request) {
				t.Error("polled once too often")
				panic(http.ErrAbortHandler)
			}
			got, err := c.SubmitAndWait(t.Context(), "i", test.until)
			if _, code := refusalOf(err); code != test.code || test.code == "" && !errors.Is(err, test.err) {
				t.Errorf("%v", err)
			}
			var outcome api.Outcome
			if got.Submission != nil {
				outcome = got.Submission.Outcome
			}
			if outcome != test.outcome {
				t.Errorf("%+v", got)
			}
			if n := len(s.requests()); n != len(test.responses) {
				t.Errorf("%d requests for %d answers", n, len(test.responses))
			}
		})
	}
}

// TestSubmitAndWaitSubmitsOnceAndSlowsDown checks that SubmitAndWait submits once, then polls less and less often until
// its context ends, and returns the invoice that it read last.
func TestSubmitAndWaitSubmitsOnceAndSlowsDown(t *testing.T) {
	s := newService(t)
	s.fallback = shows(200, invoice(api.OutcomeAcknowledged, "", "accepted"))
	ctx, cancel := context.WithCancel(t.Context())
	waits := &sleeps{}
	config := s.configure(waits)
	config.Sleep = func(ctx context.Context, d time.Duration) error {
		if err := waits.sleep(ctx, d); err != nil {
			return err
		}
		if len(waits.waits) == 9 {
			cancel()
		}
		return ctx.Err()
	}
	got, err := newClient(t, config).SubmitAndWait(ctx, "i", nil)
	if !isCanceled(err) || got.ProviderInvoiceState == nil || *got.ProviderInvoiceState != "accepted" {
		t.Errorf("%+v, %v", got, err)
	}
	want := []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second,
		16 * time.Second, 30 * time.Second, 30 * time.Second, 30 * time.Second}
	if !slices.Equal(waits.waits, want) {
		t.Errorf("waits %v", waits.waits)
	}
	submissions := 0
	for _, e := range s.requests() {
		if e.method == http.MethodPost {
			submissions++
		}
	}
	if submissions != 1 || len(s.requests()) != 9 {
		t.Errorf("%d submissions in %d requests", submissions, len(s.requests()))
	}
}
