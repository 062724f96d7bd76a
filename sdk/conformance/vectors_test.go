package conformance_test

import (
	"strings"
	"testing"

	"quittance/internal/exchange/webhook"
)

// TestVectorsAreSignedByTheServer checks that every callback of the table that an SDK must accept has the signature
// that the server makes, and that the table has one for each reason to refuse a callback.
func TestVectorsAreSignedByTheServer(t *testing.T) {
	accepted, refused := 0, map[string]int{}
	for _, c := range readTable(t) {
		for _, s := range c.Steps {
			if s.Operation != "webhooks.verify" {
				continue
			}
			if want, ok := s.Error.(map[string]any); ok {
				refused[want["reason"].(string)]++
				continue
			}
			arguments := s.Arguments.(map[string]any)
			body, ok := arguments["body"].(string)
			if !ok {
				continue // the same body as in another case, as bytes
			}
			header := map[string]string{}
			for name, value := range arguments["headers"].(map[string]any) {
				header[strings.ToLower(name)] = value.(string)
			}
			signed := false
			for _, secret := range arguments["secrets"].([]any) {
				signed = signed || webhook.Signature([]byte(secret.(string)), header["x-webhook-timestamp"],
					[]byte(body)) == header["x-webhook-signature"]
			}
			if !signed {
				t.Errorf("%s: the server would not sign it so", c.Name)
			}
			accepted++
		}
	}
	if accepted < 8 {
		t.Errorf("%d callbacks are accepted", accepted)
	}
	for _, reason := range []string{"no_secret", "signature", "timestamp", "body", "mismatch"} {
		if refused[reason] < 3 {
			t.Errorf("%d callbacks are refused as %s", refused[reason], reason)
		}
	}
}
