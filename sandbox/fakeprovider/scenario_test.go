package fakeprovider_test

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/protocol"
	"quittance/sandbox/fakeprovider"
	"quittance/test/kit"
	"quittance/test/providertest"
)

// finals formats the states of a report as "submission=value,...", with a ! after a terminal value.
func finals(report fakeprovider.Report) string {
	var out []string
	for d, state := range report.States {
		word := strings.TrimSuffix(string(d), "_state") + "=" + state.Value
		if state.Terminal {
			word += "!"
		}
		out = append(out, word)
	}
	slices.Sort(out)
	return strings.Join(out, ",")
}

func TestScenariosEndAsDescribed(t *testing.T) {
	const all = "provider_invoice=accepted!,receiver=accepted!,submission=accepted_by_provider!,tax_authority=accepted!"
	without := func(part string) string {
		return strings.Trim(strings.ReplaceAll(strings.Replace(all, part, "", 1), ",,", ","), ",")
	}
	want := map[string]string{ // the final states
		"sandbox-accepted":            "accepted " + all,
		"sandbox-rejected-validation": "rejected submission=rejected_by_provider!",
		"sandbox-rejected-authority": "accepted " + strings.Replace(all, "tax_authority=accepted",
			"tax_authority=rejected", 1),
		"sandbox-rejected-receiver":   "accepted " + strings.Replace(all, "receiver=accepted", "receiver=rejected", 1),
		"sandbox-processing":          "accepted " + all,
		"sandbox-processing-rejected": "rejected submission=rejected_by_provider!",
		"sandbox-receiver-not-found": "accepted " + strings.Replace(all, "receiver=accepted",
			"receiver=undeliverable", 1),
		"sandbox-discovery-timed-out": "accepted " + strings.Replace(all, "receiver=accepted!",
			"receiver=waiting_for_receiver", 1),
		"sandbox-reversed": "accepted " + all,
		"sandbox-reopened": "accepted " + strings.Replace(all, "tax_authority=accepted",
			"tax_authority=rejected", 1),
		"sandbox-unknown-word": "accepted " + strings.Replace(all, "tax_authority=accepted!",
			"tax_authority=zz_unheard_of", 1),
		"sandbox-silent-submission":       "accepted " + without("submission=accepted_by_provider!"),
		"sandbox-silent-provider-invoice": "accepted " + without("provider_invoice=accepted!"),
		"sandbox-silent-authority":        "accepted " + without("tax_authority=accepted!"),
		"sandbox-silent-receiver":         "accepted " + without("receiver=accepted!"),
	}
	for _, d := range []string{"submission", "provider-invoice", "authority", "receiver"} {
		want["sandbox-slow-"+d] = "accepted " + all
	}
	discoveries := map[string]string{"sandbox-receiver-not-found": "not_found", "sandbox-discovery-timed-out": "timed_out"}
	s := start(t, t.TempDir(), nil)
	for id, end := range want {
		if report := s.submit(id, first(id), recipient(id)); report.Sequence != 1 ||
			report.States["submission_state"].Value == "" && id != "sandbox-silent-submission" {
			t.Errorf("%s begins with %+v", id, report)
		}
		s.clock.advance(5 * time.Second)
		slow := strings.HasPrefix(id, "sandbox-slow-")
		if report := s.status(id); (finals(report) == strings.Split(end, " ")[1]) == slow {
			t.Errorf("%s after 5 s: %+v", id, report)
		}
		s.clock.advance(15 * time.Second)
		report := s.status(id)
		if got := string(report.Status) + " " + finals(report); got != end {
			t.Errorf("%s ends as %s, want %s", id, got, end)
		}
		if rejected := report.Status == invoice.Rejected; rejected != (len(report.Messages) > 0) ||
			rejected != (report.Discovery == nil) {
			t.Errorf("%s: %+v", id, report)
		}
		if report.Discovery != nil && report.Discovery.Result != cmp.Or(discoveries[id], "found") {
			t.Errorf("%s: discovery %+v", id, report.Discovery)
		}
	}
	for _, scenario := range fakeprovider.Scenarios() {
		if _, ok := want[scenario.ID]; !ok && mishaps[scenario.ID].response == nil && questioned[scenario.ID] == "" &&
			scenario.ID != fakeprovider.LostScenario {
			t.Errorf("%s is not tested", scenario.ID)
		}
		if !strings.HasPrefix(scenario.ID, "sandbox-") || len(scenario.ID) > 64 || scenario.Description == "" {
			t.Errorf("%+v", scenario)
		}
	}
}

// first returns the status of the first response of a scenario.
func first(id string) int {
	if strings.HasPrefix(id, "sandbox-processing") {
		return http.StatusAccepted
	}
	return http.StatusOK
}

func TestStatesMoveInAnyOrder(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	orders := map[string]bool{}
	for i := range 60 {
		reference := fmt.Sprintf("ref-%d", i)
		s.submit(reference, http.StatusOK, nil)
		doc, _ := s.Ledger().Document(reference)
		var order []string
		for _, step := range doc.Plan {
			if step.Terminal {
				order = append(order, string(step.Dimension))
			}
		}
		orders[strings.Join(order, ",")] = true
	}
	if len(orders) < 12 {
		t.Errorf("only %d of 24 orders", len(orders))
	}
}

func TestReversedOrderIsReversed(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	s.submit("ref-1", http.StatusOK, recipient("sandbox-reversed"))
	for n := range len(invoice.Dimensions) {
		s.clock.advance(time.Second)
		states := s.status("ref-1").States
		for i, d := range invoice.Dimensions {
			if states[d].Terminal != (i >= len(invoice.Dimensions)-1-n) {
				t.Fatalf("after %d s: %+v", n+1, states)
			}
		}
	}
}

// TestADocumentIsAFunctionOfItsPlanAndTheClock checks that the sequence grows with every change and with nothing else.
func TestADocumentIsAFunctionOfItsPlanAndTheClock(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	var ids []string
	for _, scenario := range fakeprovider.Scenarios() {
		if mishaps[scenario.ID].response == nil && questioned[scenario.ID] == "" && scenario.ID != fakeprovider.LostScenario {
			ids = append(ids, scenario.ID)
		}
	}
	n := 0
	rapid.Check(t, func(rt *rapid.T) {
		n++
		reference := fmt.Sprintf("ref-%d", n)
		id := rapid.SampledFrom(ids).Draw(rt, "scenario")
		s.submit(reference, first(id), recipient(id))
		doc, _ := s.Ledger().Document(reference)
		at := doc.AcceptedAt
		before := doc.Report(at)
		for _, wait := range rapid.SliceOfN(rapid.Int64Range(0, 3_000_000), 1, 20).Draw(rt, "waits") {
			at = at.Add(time.Duration(wait) * time.Microsecond)
			now := doc.Report(at)
			if !reflect.DeepEqual(now, doc.Report(at)) {
				rt.Fatal("two reports of one moment differ")
			}
			changed := now.Status != before.Status || !maps.Equal(now.States, before.States) ||
				len(now.Messages) != len(before.Messages) || (now.Discovery == nil) != (before.Discovery == nil)
			if (now.Sequence > before.Sequence) != changed || now.Sequence < before.Sequence ||
				now.ReportedAt < before.ReportedAt {
				rt.Fatalf("before %+v, now %+v", before, now)
			}
			before = now
		}
	})
}

func TestPaceScalesThePlan(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Pace = time.Millisecond })
	s.submit("ref-1", http.StatusOK, nil)
	s.clock.advance(5 * time.Millisecond)
	if report := s.status("ref-1"); len(report.States) != 4 || strings.Count(finals(report), "!") != 4 {
		t.Fatalf("%+v", report)
	}
}

// mishaps are the scenarios in which the first responses go wrong: how many of them, the adapter's result of each, and
// whether the document is accepted.
var mishaps = map[string]struct {
	times    int
	accepted bool
	response func(provider.Response) bool
}{
	"sandbox-drop-after-accept":   {1, true, unclear(0, provider.ClassProtocol)},
	"sandbox-drop-before-accept":  {1, false, unclear(0, provider.ClassProtocol)},
	"sandbox-503-after-accept":    {1, true, unclear(503, provider.ClassNone)},
	"sandbox-503-before-accept":   {1, false, unclear(503, provider.ClassNone)},
	"sandbox-silence":             {1, true, unclear(0, provider.ClassTimeout)},
	"sandbox-truncated":           {1, true, unclear(200, provider.ClassProtocol)},
	"sandbox-redirect":            {1, false, unclear(307, provider.ClassRedirect)},
	"sandbox-429-once":            {1, false, tooMany},
	"sandbox-429-twice":           {2, false, tooMany},
	"sandbox-garbage":             {1, true, noDocument},
	"sandbox-echo":                {1, true, echoed},
	"sandbox-echo-body":           {1, true, echoed},
	"sandbox-echo-base64":         {1, true, echoed},
	"sandbox-422-while-accepting": {1, true, unclear(422, provider.ClassNone)},
	"sandbox-arriving":            {1, true, unclear(0, provider.ClassProtocol)},
	"sandbox-429-for-ever": {1, false, func(a provider.Response) bool {
		return a.Kind == provider.Refused && a.HTTPStatus == 429 && a.RetryAfter == provider.MaxRetryAfter
	}},
	"sandbox-drip":                {1, true, unclear(200, provider.ClassTimeout)},
	"sandbox-wrong-types":         {1, true, noDocument},
	"sandbox-huge":                {1, true, unclear(200, provider.ClassTooLarge)},
	"sandbox-header-bomb":         {1, true, unclear(0, provider.ClassProtocol)},
	"sandbox-redirect-to-service": {1, false, unclear(307, provider.ClassRedirect)},
	"sandbox-foreign": {1, true, func(a provider.Response) bool {
		report, err := invoice.ReadReport(a.Body, protocol.Vocabulary())
		return err == nil && report.Reference != "ref-1" && report.Status == invoice.Rejected
	}},
}

// questioned are the scenarios in which only every second status query goes wrong.
var questioned = map[string]fakeprovider.Misbehaviour{
	"sandbox-stale":         fakeprovider.Stale,
	"sandbox-repeated":      fakeprovider.Repeated,
	"sandbox-reformatted":   fakeprovider.Reformatted,
	"sandbox-contradicting": fakeprovider.Contradicting,
}

// TestLostDocument checks that the outcome of a lost document is never known: every submit call is ambiguous, and every
// status query says that there is no such document.
func TestLostDocument(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	h := adapterTo(t, s.url, ample)
	doc := providertest.Document("ref-1")
	doc.Body = []byte(strings.Replace(string(doc.Body), "1234567890", fakeprovider.LostScenario, 1))
	for range 5 {
		if response := h.Submit(t.Context(), doc); !unclear(0, provider.ClassProtocol)(response) {
			t.Fatalf("a submit call returns %+v", response)
		}
		if response := h.Status(t.Context(), provider.Query{Reference: "ref-1"}); response.Kind != provider.UnknownReference {
			t.Fatalf("a status query returns %+v", response)
		}
		s.clock.advance(time.Hour)
	}
	if documents := s.Ledger().Documents(); len(documents) != 0 {
		t.Errorf("the provider has %+v", documents)
	}
}

func echoed(a provider.Response) bool { return a.Kind == provider.Complete && a.Echoed }

func noDocument(a provider.Response) bool {
	_, err := invoice.ReadReport(a.Body, protocol.Vocabulary())
	return a.Kind == provider.Complete && err != nil
}

func unclear(status int, class provider.ErrorClass) func(provider.Response) bool {
	return func(a provider.Response) bool {
		return a.Kind == provider.Ambiguous && a.HTTPStatus == status && a.ErrorClass == class
	}
}

func tooMany(a provider.Response) bool {
	return a.Kind == provider.Refused && a.HTTPStatus == 429 && a.RetryAfter == time.Second
}

func TestMishapsGoWrongAsDescribedAndThenEndWell(t *testing.T) {
	for id, c := range mishaps {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			timeout := ample
			if id == "sandbox-silence" || id == "sandbox-drip" {
				timeout = brief
			}
			doc := providertest.Document("ref-1")
			doc.Body = []byte(strings.Replace(string(doc.Body), "1234567890", id, 1))
			var s *running
			var h *protocol.Adapter
			var response provider.Response
			for early := true; early && timeout <= ample; timeout *= 2 {
				s = start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Silence = time.Hour })
				h = adapterTo(t, s.url, timeout)
				response = h.Submit(t.Context(), doc)
				_, taken := s.Ledger().Document("ref-1")
				early = response.ErrorClass == provider.ClassTimeout && (!taken || id == "sandbox-drip" && response.HTTPStatus == 0)
			}
			for n := range c.times {
				if n > 0 {
					response = h.Submit(t.Context(), doc)
				}
				if !c.response(response) {
					t.Fatalf("%+v", response)
				}
				if _, taken := s.Ledger().Document("ref-1"); taken != c.accepted {
					t.Fatalf("accepted %v", taken)
				}
			}
			response = adapterTo(t, s.url, ample).Submit(t.Context(), doc)
			report, err := invoice.ReadReport(response.Body, h.Profile().Vocabulary)
			want := invoice.Accepted
			if id == "sandbox-422-while-accepting" {
				want = invoice.Processing
			}
			if err != nil || report.Status != want || response.Echoed {
				t.Fatalf("%+v %v", response, err)
			}
			if docs := s.Ledger().Documents(); len(docs) != 1 || docs[0].Accepted != 1 {
				t.Fatalf("%+v", docs)
			}
		})
	}
}

// TestEverySecondStatusQueryGoesWrong queries a document repeatedly, and finally gets the right report.
func TestEverySecondStatusQueryGoesWrong(t *testing.T) {
	for id, wrong := range questioned {
		t.Run(id, func(t *testing.T) {
			t.Parallel()
			s := start(t, t.TempDir(), nil)
			s.submit(id, http.StatusOK, recipient(id))
			var last fakeprovider.Report
			odd := 0
			for n := 1; n <= 11; n++ {
				s.clock.advance(600 * time.Millisecond)
				report := s.status(id)
				if doc, _ := s.Ledger().Document(id); !reflect.DeepEqual(report, doc.Report(s.clock.now())) {
					if odd++; n%2 == 1 {
						t.Errorf("status query %d is wrong: %+v", n, report)
					}
				}
				last = report
			}
			if strings.Count(finals(last), "!") != 4 || odd == 0 || s.MisbehaviourCounts()[wrong] != 5 {
				t.Errorf("%d odd reports of %d, in the end %+v", odd, s.MisbehaviourCounts()[wrong], last)
			}
		})
	}
}

// TestADocumentThatIsStillArriving checks that such a document exists from the beginning, and that a repeated
// submission makes no second one.
func TestADocumentThatIsStillArriving(t *testing.T) {
	dir := t.TempDir()
	s := start(t, dir, nil)
	if _, _, err := s.try("POST", "/v1/documents", document(t, "ref-1", recipient("sandbox-arriving"))); err == nil {
		t.Fatal("the submission is answered")
	}
	for n, wait := range []time.Duration{0, 41 * time.Second, 61 * time.Second, 17999 * time.Millisecond} {
		s.clock.advance(wait)
		response, text := s.call("GET", "/v1/documents/ref-1", "")
		wantError(t, response, text, 404, "unknown_reference")
		if doc, taken := s.Ledger().Document("ref-1"); !taken || doc.Accepted != 1 ||
			s.MisbehaviourCounts()[fakeprovider.Arriving] != n+2 {
			t.Fatalf("%+v after %d status queries, %v", doc, n+1, s.MisbehaviourCounts())
		}
	}
	// A repeated submission gets the same document.
	again := s.submit("ref-1", http.StatusOK, recipient("sandbox-arriving"))
	s.clock.advance(time.Millisecond)
	if report := s.status("ref-1"); report.ProviderReference != again.ProviderReference {
		t.Errorf("%+v, then %+v", again, report)
	}
	if docs := s.Ledger().Documents(); len(docs) != 1 || docs[0].Accepted != 1 || docs[0].Received != 2 {
		t.Errorf("%+v", docs)
	}
}

func TestSilentResponseArrivesLate(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Silence = time.Millisecond })
	if report := s.submit("ref-1", http.StatusOK, recipient("sandbox-silence")); report.Status != invoice.Accepted {
		t.Fatalf("%+v", report)
	}
}

// TestClosingEndsASilence checks that a server that is closed ends a call that waits, without a response.
func TestClosingEndsASilence(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Silence = time.Hour })
	ended := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/v1/documents",
			strings.NewReader(document(t, "ref-1", recipient("sandbox-silence"))))
		if err != nil {
			ended <- err
			return
		}
		request.Header.Set("Authorization", "Bearer "+credential)
		request.Header.Set("Content-Type", "application/json")
		response, err := http.DefaultTransport.RoundTrip(request)
		if err == nil {
			response.Body.Close()
		}
		ended <- err
	}()
	kit.Until(t, "the provider takes the document", func() bool {
		_, taken := s.Ledger().Document("ref-1")
		return taken
	})
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; err == nil {
		t.Fatal("a provider that says nothing answered when it was closed")
	}
}
