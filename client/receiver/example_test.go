package receiver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
)

// A service that receives callbacks, queues each event once, and works through the queue later.
func ExampleHandler() {
	queue := make(chan receiver.Event, 100)
	verifier := receiver.Verifier{
		Secrets: []string{secret},                                                         // from your secret store
		Now:     func() time.Time { return time.Date(2026, 3, 1, 9, 31, 0, 0, time.UTC) }, // omit it in your program
	}
	enqueue := func(ctx context.Context, event receiver.Event) error {
		select {
		case queue <- event:
			return nil
		case <-ctx.Done():
			return ctx.Err() // the response is 500, and the event is delivered again later
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/quittance", receiver.Handler(verifier, receiver.Once(10_000, enqueue)))

	// The same event arrives twice, as it does after a lost response.
	for range 2 {
		callback := httptest.NewRequest(http.MethodPost, "/quittance", strings.NewReader(body))
		callback.Header = headers()
		response := httptest.NewRecorder()
		mux.ServeHTTP(response, callback)
		fmt.Println("status", response.Code)
	}
	close(queue)
	for event := range queue {
		var payload api.SubmissionPayload
		if err := json.Unmarshal(event.Payload, &payload); err != nil {
			fmt.Println("unexpected payload:", err)
			continue
		}
		fmt.Println(event.Event, payload.InvoiceNumber, *payload.SubmissionState)
	}
	// Output:
	// status 204
	// status 204
	// einvoice.status.changed INV-2026-0001 accepted_by_provider
}

// A callback is verified without [receiver.Handler], for instance in another HTTP framework.
func ExampleVerifier_Verify() {
	verifier := receiver.Verifier{
		Secrets: []string{secret},                                                         // from your secret store
		Now:     func() time.Time { return time.Date(2026, 3, 1, 9, 31, 0, 0, time.UTC) }, // omit it in your program
	}
	event, err := verifier.Verify(headers(), []byte(body))
	fmt.Println(event.Event, err)
	_, err = verifier.Verify(headers(), []byte(body+" ")) // not the bytes that were signed
	fmt.Println(err)
	// Output:
	// einvoice.status.changed <nil>
	// receiver: the signature does not match
}

// Retries of an event that was accepted are dropped.
func ExampleOnce() {
	accept := receiver.Once(10_000, func(_ context.Context, event receiver.Event) error {
		fmt.Println("accepted", event.ID)
		return nil
	})
	for range 2 {
		if err := accept(context.Background(), receiver.Event{ID: eventID}); err != nil {
			fmt.Println(err)
		}
	}
	// Output: accepted 0195500e-7c00-7000-8000-000000000001
}

// A test of a receiver signs a callback as Quittance does.
func ExampleSignature() {
	fmt.Println(receiver.Signature([]byte("whsec_test"), "2026-03-01T09:30:00.123456Z", []byte("{}")))
	// Output: v1=15e3d0797203ef2cbc3f268c05146ee7bd60bf3d9bb7589db926993b5d4c1069
}
