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

// once serves an operation under an idempotency key: its effect and its answer are one transaction.
func (c *call) once(ctx context.Context, rt *route, key string) (status int, body any, err error) {
	hash := sha256.New()
	for _, part := range [][]byte{[]byte(c.request.Method), []byte(c.request.URL.Path), c.raw} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	var fresh any
	reply, replayed, err := c.session.Tenant.Idempotent(ctx, key, [32]byte(hash.Sum(nil)), c.IdempotencyTTL,
		func(ctx context.Context, t *store.Tenant) (store.Reply, error) {
			joined := *c
			joined.session.Tenant = t
			status, body, err := rt.operation.serve(ctx, &joined)
			if err != nil {
				return store.Reply{}, err
			}
			fresh = body
			text, err := json.Marshal(keepable(body), asJSON)
			if err != nil {
				return store.Reply{}, fmt.Errorf("answer: %w", err)
			}
			return store.Reply{Status: status, EntityTag: c.header.Get("ETag"), Body: text}, nil
		})
	if err != nil {
		return 0, nil, err
	}
	if !replayed {
		return reply.Status, fresh, nil
	}
	c.header.Set(headerIdempotencyReplayed, "true")
	if reply.EntityTag != "" {
		c.header.Set("ETag", reply.EntityTag)
	}
	return reply.Status, jsontext.Value(reply.Body), nil
}

// keepable is an answer without what is shown once: a signing secret is not kept in clear, so that a repeat has none.
func keepable(body any) any {
	if created, ok := body.(api.Data[api.NewSubscription]); ok {
		created.Data.Secret = ""
		return created
	}
	return body
}
