package receiver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"quittance/api"
	"quittance/client/receiver"
)

// A service that takes callbacks, queues each event once, and works through the queue later.
func ExampleHandler() {
	queue := make(chan receiver.Event, 100)
	verifier := receiver.Verifier{
		Secrets: []string{secret},                                                         // from your secret store
		Now:     func() time.Time { return time.Date(2026, 3, 1, 9, 31, 0, 0, time.UTC) }, // leave it out
	}
	enqueue := func(ctx context.Context, event receiver.Event) error {
		select {
		case queue <- event:
			return nil
		case <-ctx.Done():
			return ctx.Err() // answered 500, and delivered again later
		}
	}
	mux := http.NewServeMux()
	mux.Handle("/quittance", receiver.Handler(verifier, receiver.Once(10_000, enqueue)))

	// The same event arrives twice, as it does when an answer got lost.
	for range 2 {
		callback := httptest.NewRequest(http.MethodPost, "/quittance", strings.NewReader(body))
		callback.Header = headers()
		answer := httptest.NewRecorder()
		mux.ServeHTTP(answer, callback)
		fmt.Println("answered", answer.Code)
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
	// answered 204
	// answered 204
	// einvoice.status.changed INV-2026-0001 accepted_by_provider
}
