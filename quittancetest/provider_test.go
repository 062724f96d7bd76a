package quittancetest_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/quittancetest"
	"quittance/sandbox/fakeprovider"

	"github.com/google/go-cmp/cmp"
)

// failures are all failures.
var failures = []quittancetest.Failure{quittancetest.TooManyRequests, quittancetest.TooManyRequestsForever,
	quittancetest.Unauthorized, quittancetest.UnavailableBefore, quittancetest.DropBefore, quittancetest.Redirect,
	quittancetest.RedirectToService, quittancetest.DropAfter, quittancetest.UnavailableAfter, quittancetest.RefuseAfter,
	quittancetest.UnknownReference, quittancetest.TimeOut, quittancetest.Drip, quittancetest.HeaderBomb,
	quittancetest.Huge, quittancetest.Garbage, quittancetest.Truncated, quittancetest.WrongTypes, quittancetest.EchoHeader,
	quittancetest.EchoBody, quittancetest.EchoBase64, quittancetest.ForeignReport, quittancetest.StaleReport,
	quittancetest.RepeatedReport, quittancetest.ReformattedReport, quittancetest.ContradictingReport}

// calls are all calls.
var calls = []quittancetest.Call{quittancetest.SubmitCall, quittancetest.StatusQuery, quittancetest.ListIncoming,
	quittancetest.FetchIncoming, quittancetest.LookUpRecipient}

// recipients are all magic recipients.
var recipients = []string{
	quittancetest.RecipientAccepted, quittancetest.RecipientRejectedByProvider, quittancetest.RecipientRejectedByAuthority,
	quittancetest.RecipientRejectedByReceiver, quittancetest.RecipientProcessing,
	quittancetest.RecipientProcessingRejected, quittancetest.RecipientNotFound, quittancetest.RecipientDiscoveryTimedOut,
	quittancetest.RecipientReversed, quittancetest.RecipientReopened, quittancetest.RecipientUnknownWord,
	quittancetest.RecipientSlowSubmission, quittancetest.RecipientSlowProviderInvoice,
	quittancetest.RecipientSlowAuthority, quittancetest.RecipientSlowReceiver, quittancetest.RecipientSilentSubmission,
	quittancetest.RecipientSilentProviderInvoice, quittancetest.RecipientSilentAuthority,
	quittancetest.RecipientSilentReceiver, quittancetest.RecipientDropAfterAccept, quittancetest.RecipientDropBeforeAccept,
	quittancetest.RecipientLost, quittancetest.RecipientUnavailableAfterAccept,
	quittancetest.RecipientUnavailableBeforeAccept, quittancetest.RecipientRefusedWhileAccepting,
	quittancetest.RecipientArriving, quittancetest.RecipientTooManyOnce, quittancetest.RecipientTooManyTwice,
	quittancetest.RecipientTooManyForever, quittancetest.RecipientTimeOut, quittancetest.RecipientDrip,
	quittancetest.RecipientGarbage, quittancetest.RecipientTruncated, quittancetest.RecipientWrongTypes,
	quittancetest.RecipientHuge, quittancetest.RecipientHeaderBomb, quittancetest.RecipientEcho,
	quittancetest.RecipientEchoBody, quittancetest.RecipientEchoBase64, quittancetest.RecipientRedirect,
	quittancetest.RecipientRedirectToService, quittancetest.RecipientForeign, quittancetest.RecipientStale,
	quittancetest.RecipientRepeated, quittancetest.RecipientReformatted, quittancetest.RecipientContradicting}

// TestVocabulary: there is a name for every call and every failure of the provider sandbox, except for the courses that
// [Provider.Play] chooses, and for every magic recipient.
func TestVocabulary(t *testing.T) {
	var wantFailures []quittancetest.Failure
	var wantCalls []quittancetest.Call
	courses := []fakeprovider.Misbehaviour{fakeprovider.Reversed, fakeprovider.Reopened, fakeprovider.UnknownValue,
		fakeprovider.MissingDimension}
	for _, way := range fakeprovider.Misbehaviours() {
		if !slices.Contains(courses, way.Name) {
			wantFailures = append(wantFailures, quittancetest.Failure(way.Name))
		}
		for _, name := range way.Calls() {
			if call := quittancetest.Call(name); !slices.Contains(wantCalls, call) {
				wantCalls = append(wantCalls, call)
			}
		}
	}
	if d := cmp.Diff(wantFailures, failures); d != "" {
		t.Errorf("failures (-sandbox +here):\n%s", d)
	}
	if d := cmp.Diff(wantCalls, calls); d != "" {
		t.Errorf("calls (-sandbox +here):\n%s", d)
	}
	var want []string
	for _, scenario := range fakeprovider.Scenarios() {
		want = append(want, scenario.ID)
	}
	if d := cmp.Diff(want, recipients); d != "" {
		t.Errorf("recipients (-sandbox +here):\n%s", d)
	}
}

// outcome is what the service made of a failed submit call, and what is the case once the provider has been asked
// again.
type outcome struct {
	status   int // of the error of the API; 0 for no error
	first    api.Outcome
	accepted int // documents that the provider has afterwards
}

// TestEverySubmitCallFails: each way in which a submit call can fail really happens, and the service treats it as
// docs/guide.md says: the outcome is unknown unless the provider certainly does not have the document, and in the end
// there is one document at most.
func TestEverySubmitCallFails(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	s := quittancetest.Start(t, quittancetest.WithStoppedClock())
	// s.Client() repeats a refused call
	once, err := client.New(client.Config{BaseURL: s.BaseURL, APIKey: s.APIKey, HTTPClient: ownClient(t), MaxAttempts: 1})
	if err != nil {
		t.Fatal(err)
	}
	refused := outcome{status: http.StatusBadGateway}
	unknown := outcome{first: api.OutcomeUnknown, accepted: 1}
	normal := outcome{first: api.OutcomeAcknowledged, accepted: 1}
	for failure, want := range map[quittancetest.Failure]outcome{
		quittancetest.TooManyRequests: refused, quittancetest.TooManyRequestsForever: refused,
		quittancetest.Unauthorized: refused, quittancetest.UnavailableBefore: unknown, quittancetest.DropBefore: unknown,
		quittancetest.Redirect: unknown, quittancetest.RedirectToService: unknown, quittancetest.DropAfter: unknown,
		quittancetest.UnavailableAfter: unknown, quittancetest.RefuseAfter: unknown, quittancetest.UnknownReference: unknown,
		quittancetest.TimeOut: unknown, quittancetest.Drip: unknown, quittancetest.HeaderBomb: unknown,
		quittancetest.Huge: unknown, quittancetest.Garbage: unknown, quittancetest.Truncated: unknown,
		quittancetest.WrongTypes: unknown, quittancetest.ForeignReport: unknown, quittancetest.EchoHeader: normal,
		quittancetest.EchoBody:   normal,
		quittancetest.EchoBase64: normal,
	} {
		t.Run(string(failure), func(t *testing.T) {
			number := string(failure)
			s.Provider().Fail(quittancetest.SubmitCall, failure, 1)
			created, err := s.Client().CreateInvoice(t.Context(), draft(number, "1234567890"))
			if err != nil {
				t.Fatal(err)
			}
			submitted, err := once.Submit(t.Context(), created.ID)
			response := new(client.ResponseError)
			if errors.As(err, &response) != (want.status != 0) || response.Status != want.status {
				t.Fatalf("submit: %v, want status %d", err, want.status)
			}
			if want.status == 0 && submitted.Submission.Outcome != want.first {
				t.Errorf("outcome %s, want %s", submitted.Submission.Outcome, want.first)
			}
			if n := s.Provider().Failures(failure); n != 1 {
				t.Errorf("happened %d times", n)
			}
			// the service asks again, and sends the document again if the provider says twice that it does not have it
			for range 5 {
				s.Advance(time.Hour)
			}
			accepted := 0
			for _, d := range s.Provider().Documents() {
				if d.InvoiceNumber == number {
					accepted++
				}
			}
			if accepted != want.accepted {
				t.Fatalf("the provider has accepted %d documents, want %d", accepted, want.accepted)
			}
			if want.accepted > 0 {
				if read := invoice(t, s, created.ID); read.Submission.Outcome != api.OutcomeAcknowledged || !client.Final(read) {
					t.Errorf("in the end: %+v", read.Submission)
				}
			}
		})
	}
}

// TestOtherCallsFail: status queries, queries for incoming e-invoices and look-ups fail as ordered, and work again
// afterwards.
func TestOtherCallsFail(t *testing.T) {
	s := quittancetest.Start(t, quittancetest.WithStoppedClock())
	p := s.Provider()
	id := submit(t, s, "INV-1", "1234567890").ID
	p.Fail(quittancetest.StatusQuery, quittancetest.UnknownReference, 1)
	s.Advance(10 * time.Second)
	if read := invoice(t, s, id); client.Final(read) || p.Failures(quittancetest.UnknownReference) != 1 {
		t.Errorf("after a status query that found nothing: %+v", read.Submission)
	}
	for range 5 {
		s.Advance(time.Minute)
	}
	if read := invoice(t, s, id); !client.Final(read) {
		t.Errorf("%+v", read.Submission)
	}

	p.AddIncoming("P-1")
	p.Fail(quittancetest.ListIncoming, quittancetest.Garbage, 1)
	p.Fail(quittancetest.FetchIncoming, quittancetest.Truncated, 1)
	for range 10 {
		s.Advance(2 * time.Minute)
	}
	list, err := s.Client().IncomingInvoices(t.Context(), client.IncomingInvoiceQuery{})
	if err != nil || len(list.Data) != 1 || p.Failures(quittancetest.Garbage) != 1 ||
		p.Failures(quittancetest.Truncated) != 1 {
		t.Errorf("incoming: %+v, %v", list.Data, err)
	}

	p.Fail(quittancetest.LookUpRecipient, quittancetest.UnavailableBefore, 1)
	for _, want := range []bool{false, true} {
		found, err := s.Client().LookUpRecipient(t.Context(), "0235", "1234567890")
		if err != nil || (found.Found != nil) != want {
			t.Errorf("look-up: %+v, %v", found, err)
		}
	}
}

// TestPlay: the next documents take the course of a magic recipient, whoever they are for, until Reset.
func TestPlay(t *testing.T) {
	s := quittancetest.Start(t, quittancetest.WithStoppedClock())
	s.Provider().Play(quittancetest.RecipientRejectedByProvider, 1)
	if first := submit(t, s, "INV-1", "1234567890"); first.Submission.Outcome != api.OutcomeRejected {
		t.Errorf("the first: %+v", first.Submission)
	}
	s.Provider().Play(quittancetest.RecipientRejectedByProvider, 5)
	s.Provider().Fail(quittancetest.StatusQuery, quittancetest.DropBefore, 5)
	s.Provider().Reset()
	if second := submit(t, s, "INV-2", "1234567890"); second.Submission.Outcome != api.OutcomeAcknowledged {
		t.Errorf("after Reset: %+v", second.Submission)
	}
	var got []string
	for _, d := range s.Provider().Documents() {
		got = append(got, fmt.Sprintf("%s %d", d.InvoiceNumber, d.SubmitCalls))
	}
	if d := cmp.Diff([]string{"INV-1 1", "INV-2 1"}, got); d != "" {
		t.Errorf("documents (-want +got):\n%s", d)
	}
}

// TestImpossibleOrders: what the provider cannot do fails the test that orders it.
func TestImpossibleOrders(t *testing.T) {
	o := &observed{TB: t}
	s := quittancetest.Start(o)
	for name, order := range map[string]func(*quittancetest.Server){
		"a failure of another call": func(s *quittancetest.Server) {
			s.Provider().Fail(quittancetest.SubmitCall, quittancetest.StaleReport, 1)
		},
		"an unknown failure": func(s *quittancetest.Server) {
			s.Provider().Fail(quittancetest.SubmitCall,
				"lunch", 1)
		},
		"an unknown call": func(s *quittancetest.Server) { s.Provider().Fail("call", quittancetest.Garbage, 1) },
		"no times": func(s *quittancetest.Server) {
			s.Provider().Fail(quittancetest.SubmitCall,
				quittancetest.Garbage, 0)
		},
		"an unknown recipient":       func(s *quittancetest.Server) { s.Provider().Play("1234567890", 1) },
		"an identifier with a space": func(s *quittancetest.Server) { s.Provider().AddIncoming("P 1") },
		"a clock that goes back":     func(s *quittancetest.Server) { s.Advance(-time.Second) },
		"a subscription that is refused": func(s *quittancetest.Server) {
			s.Subscribe(func(string) http.Handler { return http.NotFoundHandler() }, "no.event")
		},
	} {
		t.Run(name, func(t *testing.T) {
			o.failed = false
			ended := make(chan struct{})
			go func() { // which Fatal ends
				defer close(ended)
				order(s)
			}()
			<-ended
			if !o.failed {
				t.Error("the test did not fail")
			}
		})
	}
}
