package server

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
	"quittance/internal/store"
)

// The headers of an idempotent call (IETF draft-ietf-httpapi-idempotency-key-header).
const (
	headerIdempotencyKey      = "Idempotency-Key"
	headerIdempotencyReplayed = "Idempotency-Replayed"
)

// maxIdempotencyKey is the largest length of a key in characters.
const maxIdempotencyKey = 255

// idempotencyKey returns the key of a call, "" when it has none.
func (c *call) idempotencyKey() (string, error) {
	values := c.request.Header.Values(headerIdempotencyKey)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey {
		return "", malformedQuery(headerIdempotencyKey, "idempotency_key", "must be one header field of 1 to 255 visible ASCII characters")
	}
	for _, character := range []byte(key) {
		if character <= ' ' || character > '~' {
			return "", malformedQuery(headerIdempotencyKey, "idempotency_key", "must be one header field of 1 to 255 visible ASCII characters")
		}
	}
	return key, nil
}

// idempotent is what a call with an idempotency key carries.
type idempotent struct {
	key         string
	fingerprint [32]byte
	// replayed is the answer of the call that has acted; nil when this one has.
	replayed *store.IdempotentResponse
}

// once serves an operation under an idempotency key. An answer that is kept is given again before anything else is done. Otherwise the
// operation is prepared outside of any transaction, and its effect and its answer are one: see [act].
func (c *call) once(ctx context.Context, rt *route, key string) (status int, body any, err error) {
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(c.request.Method), []byte(c.request.URL.Path), c.raw} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	c.idempotent = &idempotent{key: key, fingerprint: [32]byte(hash.Sum(nil))}
	if c.idempotent.replayed, err = c.session.Tenant.IdempotentResponse(ctx, key, c.idempotent.fingerprint); err != nil {
		return 0, nil, err
	}
	if c.idempotent.replayed == nil {
		if status, body, err = rt.operation.serve(ctx, c); err != nil {
			return 0, nil, err
		}
	}
	reply := c.idempotent.replayed
	if reply == nil {
		return status, body, nil
	}
	c.header.Set(headerIdempotencyReplayed, "true")
	if reply.EntityTag != "" {
		c.header.Set("ETag", reply.EntityTag)
	}
	return reply.Status, jsontext.Value(reply.Body), nil
}

// act does the effect of an operation, which has checked and computed before what it can. With an idempotency key that is one
// transaction with the answer that is kept: do gets a tenant whose operations join it, and writes in no other way. When another call
// with the key has acted meanwhile, do is not called and its answer is given instead of what act returns.
func act[Out any](ctx context.Context, c *call, do func(ctx context.Context, t *store.Tenant) (status int, out Out, err error)) (status int, out Out, err error) {
	if c.idempotent == nil {
		return do(ctx, c.session.Tenant)
	}
	reply, replayed, err := c.session.Tenant.Idempotent(ctx, c.idempotent.key, c.idempotent.fingerprint, c.IdempotencyTTL,
		func(ctx context.Context, t *store.Tenant) (store.IdempotentResponse, error) {
			if status, out, err = do(ctx, t); err != nil {
				return store.IdempotentResponse{}, err
			}
			text, err := json.Marshal(keepable(out), asJSON)
			if err != nil {
				return store.IdempotentResponse{}, fmt.Errorf("answer: %w", err)
			}
			return store.IdempotentResponse{Status: status, EntityTag: c.header.Get("ETag"), Body: text}, nil
		})
	if err != nil {
		var zero Out
		return 0, zero, err
	}
	if replayed {
		c.idempotent.replayed = &reply
	}
	return status, out, nil
}

// keepable is an answer without what is shown once: a signing secret is not kept in clear, so that a repeat has none.
func keepable(body any) any {
	if created, ok := body.(api.Data[api.NewSubscription]); ok {
		created.Data.Secret = ""
		return created
	}
	return body
}
