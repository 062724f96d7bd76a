package fakeprovider_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/sandbox/fakeprovider"
)

// overview is the state of all misbehaviours as the control reports it.
type overview struct {
	Chaos struct {
		Level string
		Seed  uint64
	}
	Misbehaviours map[fakeprovider.Misbehaviour]int
	Forced        []fakeprovider.Rule
}

// control calls the control and decodes its overview.
func (s *running) control(method, path, body string, want int) overview {
	s.t.Helper()
	response, text := s.call(method, path, body)
	if response.StatusCode != want {
		s.t.Fatalf("%s %s: %d %s", method, path, response.StatusCode, text)
	}
	return decode[overview](s.t, text)
}

// TestRules checks that the rules apply to the calls they name, as often as they say, and can be removed.
func TestRules(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for _, reference := range []string{"ref-1", "ref-2"} {
		s.submit(reference, http.StatusOK, nil)
	}
	got := s.control("POST", "/control/misbehave", `{"reference":"ref-1","misbehaviour":"unavailable_before","times":2}`,
		201)
	wantEqual(t, "forced rules", got.Forced,
		[]fakeprovider.Rule{{Reference: "ref-1", Misbehaviour: fakeprovider.UnavailableBefore, Times: 2}})
	if len(got.Misbehaviours) != len(fakeprovider.Misbehaviours()) {
		t.Errorf("%d misbehaviours, want %d", len(got.Misbehaviours), len(fakeprovider.Misbehaviours()))
	}
	s.control("POST", "/control/misbehave",
		`{"method":"GET","path_prefix":"/v1/purchases","misbehaviour":"too_many_requests","times":1}`, 201)
	for n, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/v1/documents/ref-2", 200}, {"GET", "/v1/documents/ref-1", 503}, {"GET", "/v1/documents/ref-1", 503},
		{"GET", "/v1/documents/ref-1", 200}, {"GET", "/v1/purchases", 429}, {"GET", "/v1/purchases", 200},
		{"GET", "/v1/nowhere", 404},
	} {
		if response, text := s.call(c.method, c.path, ""); response.StatusCode != c.status {
			t.Errorf("call %d: %d %s", n, response.StatusCode, text)
		}
	}
	got = s.control("GET", "/control/misbehaviours", "", 200)
	if len(got.Forced) != 0 || got.Misbehaviours[fakeprovider.UnavailableBefore] != 2 ||
		got.Misbehaviours[fakeprovider.TooMany] != 1 || got.Misbehaviours[fakeprovider.Huge] != 0 {
		t.Errorf("%+v", got)
	}
	s.control("POST", "/control/misbehave", `{"misbehaviour":"drop_before","times":1000000}`, 201)
	if got := s.control("DELETE", "/control/misbehave", "", 200); len(got.Forced) != 0 {
		t.Errorf("%+v", got)
	}
	s.status("ref-1")
	// Calls of the control itself never go wrong.
	s.control("POST", "/control/misbehave", `{"misbehaviour":"drop_before","times":1}`, 201)
	s.control("GET", "/control/misbehaviours", "", 200)
}

// TestRulePrecedence checks that rules take precedence over magic recipients, and older rules over newer ones.
func TestRulePrecedence(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for _, wrong := range []fakeprovider.Misbehaviour{fakeprovider.TooMany, fakeprovider.RefuseAfter} {
		s.force(wrong)
	}
	doc := document(t, "ref-1", recipient("sandbox-503-before-accept"))
	for n, want := range []int{429, 422, 202} {
		if response, text := s.call("POST", "/v1/documents", doc); response.StatusCode != want {
			t.Errorf("submission %d: %d %s", n, response.StatusCode, text)
		}
	}
	if s.MisbehaviourCounts()[fakeprovider.UnavailableBefore] != 0 || s.Posts("ref-1") != 3 {
		t.Errorf("%v, %d posts", s.MisbehaviourCounts(), s.Posts("ref-1"))
	}
}

// TestScenarioRules checks that a rule decides what happens to the next documents, whoever their recipients are, in
// every submit call and status query of them.
func TestScenarioRules(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	s.submit("earlier", http.StatusOK, nil)
	s.control("POST", "/control/misbehave", `{"scenario":"sandbox-429-twice","times":1}`, 201)
	s.control("POST", "/control/misbehave", `{"scenario":"sandbox-rejected-validation","times":2}`, 201)
	for n, c := range []struct {
		reference, recipient string
		status               int
	}{
		{"earlier", "1234567890", 200}, // it was submitted before
		{"one", "1234567890", 429}, {"two", "sandbox-lost", 200}, {"one", "1234567890", 429}, {"one",
			"1234567890", 200}, {"three", "1234567890", 200},
		{"four", "1234567890", 200},
	} {
		body := document(t, c.reference, recipient(c.recipient))
		if c.reference == "earlier" {
			body = document(t, c.reference, nil)
		}
		if response, text := s.call("POST", "/v1/documents", body); response.StatusCode != c.status {
			t.Errorf("submission %d: %d %s", n, response.StatusCode, text)
		}
	}
	for reference, want := range map[string]string{"earlier": "", "one": "sandbox-429-twice",
		"two": "sandbox-rejected-validation", "three": "sandbox-rejected-validation", "four": ""} {
		if doc, _ := s.Ledger().Document(reference); doc.Scenario != want {
			t.Errorf("%s: scenario %q, want %q", reference, doc.Scenario, want)
		}
	}
	if got := s.control("GET", "/control/misbehaviours", "", 200); len(got.Forced) != 0 {
		t.Errorf("%+v", got.Forced)
	}
}

// TestReferenceCounts checks that the control counts every submission of a reference, and the accepted ones.
func TestReferenceCounts(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	s.force(fakeprovider.DropBefore)
	s.force(fakeprovider.TooMany)
	doc := document(t, "ref-1", nil)
	for range 4 {
		// The first is dropped.
		_, _, _ = s.try("POST", "/v1/documents", doc)
	}
	s.call("POST", "/v1/documents", document(t, "ref-1", recipient("other")))
	s.call("POST", "/v1/documents", document(t, "ref-1", nil),
		func(r *http.Request) { r.Header.Set("Authorization", "Bearer no") })
	response, text := s.call("GET", "/control/references/ref-1", "")
	if response.StatusCode != 200 || text != `{"reference":"ref-1","posts":5,"received":3,"accepted":1,"conflicts":1}` {
		t.Errorf("%d %s", response.StatusCode, text)
	}
	if _, text := s.call("GET", "/control/references/ref-2",
		""); text != `{"reference":"ref-2","posts":0,"received":0,"accepted":0,"conflicts":0}` {
		t.Errorf("never seen: %s", text)
	}
}

func TestTheControlRefusesNonsense(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for _, c := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"/control/misbehave", `{"misbehaviour":"be_nice","times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"","times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge"}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"scenario":"sandbox-nothing","times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"scenario":"sandbox-lost","misbehaviour":"huge","times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"scenario":"sandbox-lost","misbehaviour":"nothing","times":1}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge","times":1000001}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge","times":1,"method":"PUT"}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge","times":1,"path_prefix":"/control/"}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge","times":1,"reference":"a b"}`, 422, "invalid_rule"},
		{"/control/misbehave", `{"misbehaviour":"huge","time":1}`, 422, "invalid_document"},
		{"/control/misbehave", `{"misbehaviour":"huge","times":"1"}`, 422, "invalid_document"},
		{"/control/misbehave", `{`, 400, "malformed_request"},
		{"/control/chaos", `{"level":"some"}`, 422, "invalid_level"},
		{"/control/chaos", `{"level":"low","seed":-1}`, 422, "invalid_document"},
	} {
		response, text := s.call("POST", c.path, c.body)
		wantError(t, response, text, c.status, c.code)
	}
	for _, path := range []string{"/control/misbehaviours", "/control/references/ref-1"} {
		response, text := s.call("GET", path, "", func(r *http.Request) { r.Header.Del("Authorization") })
		wantError(t, response, text, 401, "unauthenticated")
	}
	response, text := s.call("PUT", "/control/misbehave", "{}")
	wantError(t, response, text, 405, "method_not_allowed")
	if allow := response.Header.Get("Allow"); allow != "DELETE, POST" {
		t.Errorf("Allow %q", allow)
	}
	if got := s.control("GET", "/control/misbehaviours", "", 200); len(got.Forced) != 0 || got.Chaos.Level != "off" {
		t.Errorf("%+v", got)
	}
}

// busy submits documents to a provider sandbox in chaos, looks each up several times, and returns the result of each
// call.
func busy(t *testing.T, seed uint64, run string) (ends []string, happened map[fakeprovider.Misbehaviour]int) {
	t.Helper()
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) {
		o.Chaos, o.ChaosSeed, o.Silence = fakeprovider.ChaosHigh, seed, time.Millisecond
	})
	for n := range 60 {
		reference := fmt.Sprintf("%s-%d", run, n)
		doc := document(t, reference, func(invoice map[string]any) { invoice["invoice_number"] = fmt.Sprintf("INV-%d", n) })
		for k := range 5 {
			method, path, body := "GET", "/v1/documents/"+reference, ""
			if k == 0 {
				method, path, body = "POST", "/v1/documents", doc
			}
			response, text, err := s.try(method, path, body)
			end := fmt.Sprint(err != nil)
			if response != nil {
				end = fmt.Sprintf("%d %t %s", response.StatusCode, json.Valid([]byte(text)), response.Header.Get("Location"))
			}
			ends = append(ends, strings.ReplaceAll(end, reference, "reference"))
			s.clock.advance(time.Second)
		}
	}
	return ends, s.MisbehaviourCounts()
}

// TestAChaoticRunCanBeRepeated checks that the same calls go wrong in the same way, even with other references.
func TestAChaoticRunCanBeRepeated(t *testing.T) {
	ends, happened := busy(t, 42, "first")
	again, _ := busy(t, 42, "second")
	for n := range ends {
		// The target of redirect_to_service has another port in every run.
		a, b := ends[n], again[n]
		if a != b && !(strings.Contains(a, "http://127") && strings.Contains(b, "http://127")) {
			t.Errorf("call %d: %s, then %s", n, a, b)
		}
	}
	other, _ := busy(t, 43, "first")
	if slices.Equal(ends, other) {
		t.Error("another seed changes nothing")
	}
	sum := 0
	for _, times := range happened {
		sum += times
	}
	if sum < 60 || sum > 150 {
		t.Errorf("%d of 300 calls went wrong: %v", sum, happened)
	}
}

// TestChaosLeavesMagicRecipientsAlone checks that chaos does not affect magic recipients, and begins and ends when the
// control says so.
func TestChaosLeavesMagicRecipientsAlone(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Silence = time.Millisecond })
	got := s.control("POST", "/control/chaos", `{"level":"high","seed":9}`, 200)
	if got.Chaos.Level != "high" || got.Chaos.Seed != 9 {
		t.Errorf("%+v", got)
	}
	for n := range 60 {
		reference := fmt.Sprintf("ref-%d", n)
		s.submit(reference, http.StatusOK, recipient("sandbox-accepted"))
		s.status(reference)
	}
	sum := func() (all int) {
		for _, times := range s.MisbehaviourCounts() {
			all += times
		}
		return all
	}
	if sum() != 0 {
		t.Errorf("%v", s.MisbehaviourCounts())
	}
	for range 60 {
		_, _, _ = s.try("GET", "/v1/purchases", "") // it may be dropped
	}
	before := sum()
	if before < 8 || before > 35 {
		t.Errorf("%d of 60 went wrong", before)
	}
	if got := s.control("POST", "/control/chaos", `{"level":"off"}`, 200); got.Chaos.Level != "off" ||
		got.Chaos.Seed != 9 {
		t.Errorf("%+v", got)
	}
	for range 60 {
		if response, _ := s.call("GET", "/v1/purchases", ""); response.StatusCode != 200 {
			t.Fatal(response.StatusCode)
		}
	}
	if sum() != before {
		t.Errorf("%v", s.MisbehaviourCounts())
	}
}
