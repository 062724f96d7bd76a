package client

import (
	"errors"
	"math"
	"testing"
	"time"

	"quittance/client/api"
)

// FuzzResponse checks that every response is a success, an error with a code, or reported as unreadable.
func FuzzResponse(f *testing.F) {
	f.Add(200, `{"data":{"id":"i","items":[],"total_amount":1e2}}`, "")
	f.Add(201, `{"data":null}`, "5")
	f.Add(202, `{"data":{"submission":{"outcome":"unknown"}},"data":[]}`, "")
	f.Add(302, ``, "Sun, 01 Mar 2026 09:30:00 GMT")
	f.Add(422, `{"error":{"code":"validation_failed","message":"","details":{"items[0].name":[{"rule":"required"}]}}}`,
		"-1")
	f.Add(429, `{"error":{"code":"rate_limited"}}`, "99999999999999999999")
	f.Add(503, `[`, "soon")
	f.Fuzz(func(t *testing.T, status int, body, after string) {
		wait := api.ParseRetryAfter(after, time.Date(2026, 3, 1, 9, 30, 0, 0, time.UTC), math.MaxInt64)
		if wait < 0 {
			t.Fatalf("Retry-After %q is %s", after, wait)
		}
		a := response{operation: "GET /", status: status, retryAfter: wait, body: []byte(body)}
		err := a.check()
		if err == nil {
			if status < 200 || status > 299 {
				t.Fatalf("status %d is a success", status)
			}
			return // TestUnreadableResponses checks the rest
		}
		response, ok := errors.AsType[*ResponseError](err)
		if !ok || response.Status != status || response.Error() == "" {
			t.Fatalf("%T: %v", err, err)
		}
		if readable := response.Err != nil; readable == errors.Is(err, ErrUnreadable) || readable && response.Err.Code == "" {
			t.Fatalf("%v", err)
		}
	})
}
