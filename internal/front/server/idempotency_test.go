package server_test

import (
	"context"
	"net/http"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// TestIdempotencyKeysDoNotBlock checks that, while a write of another company is in progress, calls with an idempotency
// key that write nothing get responses: rejected calls and repetitions. So does a preflight. A call with an effect
// waits for its turn.
func TestIdempotencyKeysDoNotBlock(t *testing.T) {
	onEngines(t, nil, func(t *testing.T, s *system) {
		c, other := s.company(t), s.company(t)
		token := c.token(t)
		// A call that waits for the writer gets 503 after a while.
		send := func(path, key, body string) response {
			a, err := s.try(t.Context(), request{method: http.MethodPost, path: path, body: body, token: token,
				header: http.Header{"Idempotency-Key": {key}}})
			if err != nil {
				t.Error(err)
			}
			return a
		}
		first := send(invoicesPath, "first", least)
		first.want(t, http.StatusCreated, "")
		tenant, err := s.db.Tenant(t.Context(), other.id)
		if err != nil {
			t.Fatal(err)
		}
		holding, held, ended := make(chan struct{}), make(chan struct{}), make(chan error, 1)
		release := sync.OnceFunc(func() { close(held) })
		t.Cleanup(release)
		go func() {
			_, _, err := invoices.Idempotent(context.WithoutCancel(t.Context()), tenant, "held", [32]byte{}, time.Hour,
				func(context.Context, *base.Tenant) (invoices.IdempotentResponse, error) {
					close(holding)
					<-held
					return invoices.IdempotentResponse{Status: http.StatusOK, Body: []byte("{}")}, nil
				})
			ended <- err
		}()
		<-holding
		send(invoicesPath, "refused", `{"invoice_number":7}`).want(t, http.StatusUnprocessableEntity,
			api.CodeValidationFailed)
		s.send(t, request{method: http.MethodPost, path: invoicesPath + "/preflight", body: least, token: token}).want(t,
			http.StatusOK, "")
		send(invoicesPath, "first", least+" ").want(t, http.StatusConflict, api.CodeIdempotencyKeyReused)
		if again := send(invoicesPath, "first", least); again.header.Get("Idempotency-Replayed") != "true" ||
			again.text != first.text {
			t.Errorf("the repetition returned %s, the first call %s", again.text, first.text)
		}
		waiting := make(chan response, 1)
		go func() { waiting <- send(invoicesPath, "second", least) }()
		release()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		a := <-waiting
		a.want(t, http.StatusCreated, "")
		if a.header.Get("Idempotency-Replayed") != "" {
			t.Error("the first call with a key got the response of a repetition")
		}
	})
}
