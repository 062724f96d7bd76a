package submission

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/provider"
)

// TestFailureReason checks which responses count as a failure of the connection. A response about the document alone
// does not, and neither does one that there is no such document.
func TestFailureReason(t *testing.T) {
	status := func(kind provider.Kind, status int) provider.Response {
		return provider.Response{Kind: kind, HTTPStatus: status, Body: []byte("{}")}
	}
	for want, responses := range map[string][]provider.Response{
		"": {reported(open(), "accepted", 1, nil), status(provider.UnknownReference, 404), status(provider.Ambiguous, 422),
			status(provider.Ambiguous, 409), status(provider.Ambiguous, 400), status(provider.Ambiguous, 413)},
		"timeout": {{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout},
			{Kind: provider.NotSent, ErrorClass: provider.ClassTimeout}},
		"connect":      {{Kind: provider.NotSent, ErrorClass: provider.ClassConnect}},
		"too_large":    {{Kind: provider.Ambiguous, HTTPStatus: 200, ErrorClass: provider.ClassTooLarge}},
		"redirect":     {{Kind: provider.Ambiguous, HTTPStatus: 307, ErrorClass: provider.ClassRedirect}},
		"refused":      {status(provider.Refused, 401), status(provider.Refused, 403)},
		"limited":      {status(provider.Refused, 429)},
		"server_error": {status(provider.Ambiguous, 500), status(provider.Ambiguous, 503)},
		"unreadable":   {status(provider.Complete, 200), status(provider.Ambiguous, 404), reported(open(), "odd", 1, nil)},
		"unusable":     {{Kind: provider.NotSent}},
	} {
		for _, response := range responses {
			_, d := decideAndApply(t, open(), callStatus, response, true, began)
			if d.FailureReason != want || d.RetryAfter != response.RetryAfter {
				t.Errorf("%v %d %s: failure reason %q, want %q", response.Kind, response.HTTPStatus, response.ErrorClass,
					d.FailureReason, want)
			}
		}
	}
}

// TestPollingAfterFailure checks that a submission that was polled every hour is polled within a minute after a failed
// call, and no less often while calls fail. After that, the interval doubles again up to an hour.
func TestPollingAfterFailure(t *testing.T) {
	s, now := open(), began
	s, _ = decideAndApply(t, s, callSubmit, reported(s, "accepted", 1, nil), true, now)
	s.PollWait = time.Hour
	down := provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout}
	for range 3 {
		now = now.Add(time.Hour)
		s, _ = decideAndApply(t, s, callStatus, down, true, now)
		if got := s.DueAt.Sub(now); got != time.Minute {
			t.Errorf("polled again after %v", got)
		}
	}
	s, _ = decideAndApply(t, s, callStatus, reported(s, "accepted", 1, nil), true, now)
	if got := s.DueAt.Sub(now); got != 2*time.Minute {
		t.Errorf("after a report, polled again after %v", got)
	}
	down.RetryAfter = 20 * time.Minute
	s, _ = decideAndApply(t, s, callStatus, down, true, now)
	if got := s.DueAt.Sub(now); got != 20*time.Minute {
		t.Errorf("polled again after %v, before Retry-After", got)
	}
}

// TestMissingRespectsRetryAfter checks that Retry-After applies even if an earlier response could count towards a
// resend.
func TestMissingRespectsRetryAfter(t *testing.T) {
	s := open()
	s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout},
		true, began)
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}"),
		RetryAfter: 30 * time.Minute}
	s, _ = decideAndApply(t, s, callStatus, missing, true, began.Add(time.Second))
	if got := s.DueAt.Sub(began.Add(time.Second)); got < 30*time.Minute {
		t.Errorf("polled again after %v", got)
	}
}

// TestResendFollowsAStatusQuery checks that a resend follows a status query that has just said that there is no such
// document, never one without a response. An administrator's order also holds for a provider that cannot say, but not
// for one that is down.
func TestResendFollowsAStatusQuery(t *testing.T) {
	proven := open()
	proven.Outcome, proven.MissingCount = api.OutcomeUnknown, missingCountForResend
	decided := open()
	decided.Outcome, decided.ResendOrdered = api.OutcomeUnknown, true
	for name, c := range map[string]struct {
		response        provider.Response
		proven, decided bool
	}{
		"no such document": {provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404}, true, true},
		"another 404":      {provider.Response{Kind: provider.Ambiguous, HTTPStatus: 404}, false, true},
		"503":              {provider.Response{Kind: provider.Ambiguous, HTTPStatus: 503}, false, false},
		"429":              {provider.Response{Kind: provider.Refused, HTTPStatus: 429}, false, false},
		"nothing":          {provider.Response{Kind: provider.Ambiguous, ErrorClass: provider.ClassTimeout}, false, false},
	} {
		r := providerResponse{Response: c.response, call: callStatus, profile: provider.Profile{Idempotent: true}}
		if got := r.allowsResend(proven); got != c.proven {
			t.Errorf("%s: sent again %v", name, got)
		}
		if got := r.allowsResend(decided); got != c.decided {
			t.Errorf("%s: sent again after a decision %v", name, got)
		}
	}
}

// TestSuspendedProcess checks that responses from before a document was sent do not count towards a resend, however
// long after its intent it was sent, and whether or not the sender still has the lease.
func TestSuspendedProcess(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
	for _, held := range []bool{true, false} {
		s, now := open(), began.Add(20*time.Minute)
		s, _ = decideAndApply(t, s, callStatus, missing, true, now)
		if s.MissingCount != 1 {
			t.Fatalf("%d responses counted", s.MissingCount)
		}
		s, _ = decideAndApply(t, s, callSubmit, provider.Response{Kind: provider.Ambiguous, HTTPStatus: 500,
			Duration: time.Second}, held, now.Add(time.Second))
		if s.MissingCount != 0 || !s.SentAt.Equal(now) {
			t.Errorf("held %v: %d responses counted, sent at %v", held, s.MissingCount, s.SentAt)
		}
		if s, _ = decideAndApply(t, s, callStatus, missing, true, now.Add(2*timeout-1)); s.MissingCount != 0 {
			t.Errorf("held %v: a response %v after the send counts", held, 2*timeout-1)
		}
		if s, _ = decideAndApply(t, s, callStatus, missing, true, now.Add(2*timeout)); s.MissingCount != 1 {
			t.Errorf("held %v: a response %v after the send does not count", held, 2*timeout)
		}
	}
}

// TestResponseIsAsOldAsItsCall checks that a response that there is no such document counts from the beginning of its
// call, not from the time when a suspended process recorded it.
func TestResponseIsAsOldAsItsCall(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}"),
		Duration: 20 * time.Minute}
	s, _ := decideAndApply(t, open(), callSubmit, provider.Response{Kind: provider.Ambiguous, Duration: timeout}, true,
		began.Add(timeout))
	s, _ = decideAndApply(t, s, callStatus, missing, true, began.Add(timeout+missing.Duration))
	if s.MissingCount != 0 {
		t.Error("a status query from before the document could have arrived counts")
	}
	s, _ = decideAndApply(t, s, callStatus, missing, true, began.Add(time.Hour))
	s, _ = decideAndApply(t, s, callStatus, missing, true, began.Add(time.Hour+59*time.Second))
	if s.MissingCount != 1 {
		t.Errorf("two status queries 59 s apart count %d times", s.MissingCount)
	}
}

// TestRetain checks that what a provider says before anything is sent is kept as evidence and keeps the lease, if the
// caller still has it. Nothing else follows from it.
func TestRetain(t *testing.T) {
	missing := provider.Response{Kind: provider.UnknownReference, HTTPStatus: 404, Body: []byte("{}")}
	for held, want := range map[bool]api.Outcome{true: api.OutcomeInProgress, false: api.OutcomeUnknown} {
		r := providerResponse{Response: missing, call: callStatus, timeout: timeout, polling: polling,
			stepTimeout: time.Minute}
		d, err := r.retain(open(), held, began)
		if err != nil || d.Outcome != want || d.Evidence == nil || (d.KeepUntil != nil) != held || len(d.WriteStates) > 0 {
			t.Errorf("held %v: %+v, %v", held, d, err)
		}
	}
}
