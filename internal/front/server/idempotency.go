package server

import (
	"context"
	"crypto/sha256"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// The headers of an idempotent call (IETF draft-ietf-httpapi-idempotency-key-header).
const (
	headerIdempotencyKey      = "Idempotency-Key"
	headerIdempotencyReplayed = "Idempotency-Replayed"
)

// maxIdempotencyKey is the largest length of a key in characters.
const maxIdempotencyKey = 255

// idempotencyKey returns the key of a call, or "" if it has none.
func (c *call) idempotencyKey() (string, error) {
	values := c.request.Header.Values(headerIdempotencyKey)
	if len(values) == 0 {
		return "", nil
	}
	key := values[0]
	if len(values) > 1 || key == "" || len(key) > maxIdempotencyKey {
		return "", malformedQuery(headerIdempotencyKey, "idempotency_key",
			"must be one header field of 1 to 255 visible ASCII characters")
	}
	for _, character := range []byte(key) {
		if character <= ' ' || character > '~' {
			return "", malformedQuery(headerIdempotencyKey, "idempotency_key",
				"must be one header field of 1 to 255 visible ASCII characters")
		}
	}
	return key, nil
}

// idempotency is the state of a call with an idempotency key.
type idempotency struct {
	key         string
	fingerprint [32]byte
	// replayed is the stored response of an earlier call; nil if this call performs the operation.
	replayed *invoices.IdempotentResponse
}

// serveIdempotent serves an operation under an idempotency key. A stored response is sent again before any other work.
// Otherwise the operation is prepared outside of any transaction, and its effect and its response are committed
// together: see [perform].
func (c *call) serveIdempotent(ctx context.Context, rt *route, key string) (status int, body any, err error) {
	hash := sha256.New()
	resource := c.request.URL.Path
	if query := c.request.URL.RawQuery; query != "" {
		resource += "?" + query
	}
	for _, part := range [][]byte{[]byte(c.request.Method), []byte(resource), c.raw} {
		fmt.Fprintf(hash, "%d:%s", len(part), part)
	}
	c.idempotency = &idempotency{key: key, fingerprint: [32]byte(hash.Sum(nil))}
	if c.idempotency.replayed, err = invoices.FindIdempotentResponse(ctx, c.session.Tenant, key,
		c.idempotency.fingerprint); err != nil {
		return 0, nil, err
	}
	if c.idempotency.replayed == nil {
		if status, body, err = rt.operation.serve(ctx, c); err != nil {
			return 0, nil, err
		}
	}
	reply := c.idempotency.replayed
	if reply == nil {
		return status, body, nil
	}
	c.header.Set(headerIdempotencyReplayed, "true")
	if reply.EntityTag != "" {
		c.header.Set("ETag", reply.EntityTag)
	}
	return reply.Status, jsontext.Value(reply.Body), nil
}

// perform runs the effect of an operation, after the operation has checked and computed as much as possible. With an
// idempotency key, the effect and the stored response are one transaction: do gets a tenant whose operations join the
// transaction, and must write only through it. If another call with the same key has finished meanwhile, do is not
// called, and the stored response replaces the result of perform.
func perform[Out any](ctx context.Context, c *call, do func(ctx context.Context, t *base.Tenant) (status int, out Out,
	err error)) (status int, out Out, err error) {
	if c.idempotency == nil {
		return do(ctx, c.session.Tenant)
	}
	reply, replayed, err := invoices.Idempotent(ctx, c.session.Tenant, c.idempotency.key, c.idempotency.fingerprint,
		c.IdempotencyTTL,
		func(ctx context.Context, t *base.Tenant) (invoices.IdempotentResponse, error) {
			if status, out, err = do(ctx, t); err != nil {
				return invoices.IdempotentResponse{}, err
			}
			text, err := json.Marshal(storable(out), asJSON)
			if err != nil {
				return invoices.IdempotentResponse{}, fmt.Errorf("encode the response: %w", err)
			}
			return invoices.IdempotentResponse{Status: status, EntityTag: c.header.Get("ETag"), Body: text}, nil
		})
	if err != nil {
		var zero Out
		return 0, zero, err
	}
	if replayed {
		c.idempotency.replayed = &reply
	}
	return status, out, nil
}

// storable returns a response without values that are shown only once: signing secrets, API keys and the links of
// invitations are not stored in clear text, so a repeat has none.
func storable(body any) any {
	switch created := body.(type) {
	case api.Data[api.NewSubscription]:
		created.Data.Secret = ""
		return created
	case api.Data[api.NewAPIKey]:
		created.Data.Key = ""
		return created
	case api.Data[api.NewInvitation]:
		created.Data.URL = ""
		return created
	}
	return body
}
