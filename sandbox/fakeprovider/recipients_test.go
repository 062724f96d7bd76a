package fakeprovider_test

import (
	"net/http"
	"strings"
	"testing"

	"quittance/sandbox/fakeprovider"
)

// TestRecipientsAreLookedUp looks up every kind of recipient: the answer is that of receiver discovery for a document
// to it.
func TestRecipientsAreLookedUp(t *testing.T) {
	s := start(t, t.TempDir(), nil)
	for id, want := range map[string]string{
		"1234567890":                  `{"found":true,"profiles":["pint-ae","bis3"]}`,
		"sandbox-accepted":            `{"found":true,"profiles":["pint-ae","bis3"]}`,
		"sandbox-rejected-validation": `{"found":true,"profiles":["pint-ae","bis3"]}`,
		"sandbox-receiver-not-found":  `{"found":false,"profiles":[]}`,
		"sandbox-discovery-timed-out": `{"found":null,"profiles":[]}`,
	} {
		for range 2 {
			if response, text := s.call("POST", "/v1/recipients/lookup",
				`{"scheme":"0235","id":"`+id+`","later":1}`); response.StatusCode != http.StatusOK || text != want {
				t.Errorf("%s: %d %s, want %s", id, response.StatusCode, text, want)
			}
		}
	}
	for body, want := range map[string]struct {
		status int
		code   string
	}{
		`{"scheme":"0235","id":""}`:                                   {422, "invalid_recipient"},
		`{"id":"1234567890"}`:                                         {422, "invalid_recipient"},
		`{"scheme":"235","id":"1"}`:                                   {422, "invalid_recipient"},
		`{"scheme":"02E5","id":"1"}`:                                  {422, "invalid_recipient"},
		`{"scheme":"0235","id":"a\nb"}`:                               {422, "invalid_recipient"},
		`{"scheme":"0235","id":"` + strings.Repeat("x", 257) + `"}`:   {422, "invalid_recipient"},
		`{"scheme":"0235","scheme":"0088","id":"1"}`:                  {400, "malformed_request"},
		`{"scheme":"0235","id":1}`:                                    {422, "invalid_document"},
		`{"scheme":"0235","id":"1"`:                                   {400, "malformed_request"},
		`{"scheme":"0235","id":"` + strings.Repeat("x", 4<<10) + `"}`: {413, "payload_too_large"},
	} {
		response, text := s.call("POST", "/v1/recipients/lookup", body)
		wantError(t, response, text, want.status, want.code)
	}
	response, text := s.call("POST", "/v1/recipients/lookup",
		`{"scheme":"0235","id":"1"}`, func(r *http.Request) { r.Header.Del("Authorization") })
	wantError(t, response, text, http.StatusUnauthorized, "unauthenticated")
	response, text = s.call("GET", "/v1/recipients/lookup", "")
	wantError(t, response, text, http.StatusMethodNotAllowed, "method_not_allowed")
}

// TestLookUpsGoWrongOnRequest makes look-ups fail by a rule, and never at random.
func TestLookUpsGoWrongOnRequest(t *testing.T) {
	s := start(t, t.TempDir(), func(o *fakeprovider.Options) { o.Chaos = fakeprovider.ChaosHigh })
	body := `{"scheme":"0235","id":"1234567890"}`
	for range 50 {
		if response, text := s.call("POST", "/v1/recipients/lookup", body); response.StatusCode != http.StatusOK {
			t.Fatalf("%d %s", response.StatusCode, text)
		}
	}
	if err := s.AddRule(fakeprovider.Rule{PathPrefix: "/v1/recipients", Misbehaviour: fakeprovider.UnavailableBefore,
		Times: 1}); err != nil {
		t.Fatal(err)
	}
	response, text := s.call("POST", "/v1/recipients/lookup", body)
	wantError(t, response, text, http.StatusServiceUnavailable, "unavailable")
}
