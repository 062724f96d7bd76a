package server

import (
	"bytes"
	"context"
	"errors"
	"io"
	"maps"
	"mime"
	"net/http"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quittance/api"
	"quittance/internal/fairlimit"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/strictjson"
)

// call is one request on its way through an endpoint.
type call struct {
	*Server
	request *http.Request
	// session is who calls; the zero value on public routes.
	session store.Session
	// path holds the values of the route's {parameters}.
	path map[string]string
	// body is the parsed body and raw its bytes; absent when there is none.
	body    strictjson.Value
	raw     []byte
	hasBody bool
	// idempotent is set when the call has an idempotency key.
	idempotent *idempotent
	// header is sent with the answer.
	header http.Header
	// slot is what the request takes of this process.
	slot *slot
}

// id returns a path parameter as an identifier. What is not one is as unknown as another company's.
func (c *call) id(name string) (store.ID, error) {
	id, err := store.ParseID(c.path[name])
	if err != nil || id.IsZero() { // the store binds no zero identifier
		return store.ID{}, store.ErrNotFound
	}
	return id, nil
}

// find looks for what the path names, and does nothing to it.
func (c *call) find(ctx context.Context) error {
	for name := range c.path {
		id, err := c.id(name)
		if err != nil {
			return err
		}
		switch name {
		case "invoice_id":
			_, err = c.session.Tenant.Invoice(ctx, id)
		case "credit_note_id":
			_, err = c.session.Tenant.CreditNote(ctx, id)
		case "subscription_id":
			_, err = c.session.Tenant.Subscription(ctx, id)
		case "delivery_id":
			_, err = c.session.Tenant.Delivery(ctx, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// operation is an endpoint without its types: what the route table holds.
type operation struct {
	in, out reflect.Type
	// patch tells that the body is a merge patch of in.
	patch bool
	serve func(ctx context.Context, c *call) (status int, body any, err error)
}

// none is the body of a request that has none.
type none struct{}

// endpoint makes an operation of a handler. in checks the body against In and reports all its faults at once; a
// handler calls it after it has found what the path names, so that an unknown identifier is refused first.
func endpoint[In, Out any](handle func(c *call, ctx context.Context, in func() (In, error)) (status int, out Out, err error)) operation {
	decoder := strictjson.For[In]()
	return operation{
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		serve: func(ctx context.Context, c *call) (int, any, error) {
			return handle(c, ctx, func() (In, error) {
				if !c.hasBody {
					var empty In
					return empty, nil // an operation that wants a body was refused before
				}
				in, faults := decoder.Decode(c.body)
				return in, invalid(api.CodeValidationFailed, faults)
			})
		},
	}
}

// bare makes an operation of a handler that takes no body. One that is sent all the same has to be an empty object; an
// unknown identifier is refused before that.
func bare[Out any](handle func(c *call, ctx context.Context) (status int, out Out, err error)) operation {
	return endpoint(func(c *call, ctx context.Context, in func() (none, error)) (int, Out, error) {
		if _, err := in(); err != nil {
			var zero Out
			if unknown := c.find(ctx); unknown != nil {
				err = unknown
			}
			return 0, zero, err
		}
		return handle(c, ctx)
	})
}

// patch makes an operation whose body is a merge patch of a Target: the handler reads it, against what it patches.
func patch[Target, Out any](handle func(c *call, ctx context.Context) (status int, out Out, err error)) operation {
	return operation{
		in: reflect.TypeFor[Target](), out: reflect.TypeFor[Out](), patch: true,
		serve: func(ctx context.Context, c *call) (int, any, error) { return handle(c, ctx) },
	}
}

// run takes a request through its route in the order of refusal (contract, section 1): 401, 429, 415, 413, 400, then
// the handler's own 404, 422 and 409.
func (s *Server) run(ctx context.Context, rt *route, c *call) (status int, body any, err error) {
	if rt.public {
		err = c.slot.enter(ctx)
	} else {
		c.session, err = s.authenticate(ctx, c)
	}
	if err != nil {
		return 0, nil, err
	}
	if !rt.public {
		limit, err := s.calls.Spend(c.session.Digest)
		c.limitHeaders(limit)
		if err != nil {
			return 0, nil, err
		}
	}
	if rt.takesBody() {
		if err := c.readBody(ctx, rt); err != nil {
			return 0, nil, err
		}
	}
	if err := checkQuery(c.request, rt.query); err != nil {
		return 0, nil, err
	}
	if !rt.keyed {
		return rt.operation.serve(ctx, c)
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return 0, nil, err
	}
	if key == "" {
		return rt.operation.serve(ctx, c)
	}
	return c.once(ctx, rt, key)
}

// authenticate finds out who calls.
func (s *Server) authenticate(ctx context.Context, c *call) (store.Session, error) {
	presented := bearer(c.request)
	if !presented.presented {
		return store.Session{}, refuse(api.CodeUnauthenticated)
	}
	session, err := c.slot.authenticate(ctx, presented.digest, s.DB.Authenticate)
	if errors.Is(err, store.ErrNotFound) {
		return store.Session{}, refuse(api.CodeUnauthenticated)
	}
	return session, err
}

// bearer is the token that a call presents (RFC 6750, section 2.1).
func bearer(r *http.Request) credential {
	values := r.Header.Values("Authorization")
	if len(values) != 1 {
		return credential{}
	}
	scheme, token, ok := strings.Cut(values[0], " ")
	if !ok || !strings.EqualFold(scheme, "Bearer") || token == "" {
		return credential{}
	}
	return credential{digest: secret.Digest(secret.New(token)), presented: true}
}

// readBody reads and parses the body: 415, 413, 400.
func (c *call) readBody(ctx context.Context, rt *route) error {
	wanted := rt.operation.in != reflect.TypeFor[none]()
	body := http.MaxBytesReader(nil, c.request.Body, c.MaxBody)
	var first [1]byte
	c.slot.pause()
	n, err := io.ReadFull(body, first[:])
	if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
		if wanted {
			_, err := strictjson.Parse(nil)
			return malformedBody(err)
		}
		return c.slot.enter(ctx)
	}
	if !jsonMediaType(c.request.Header, rt.mediaTypes) {
		return refuse(api.CodeUnsupportedMediaType)
	}
	if c.request.ContentLength > c.MaxBody {
		return refuse(api.CodePayloadTooLarge)
	}
	raw, restErr := c.slot.read(io.MultiReader(bytes.NewReader(first[:]), body), c.request.ContentLength)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](restErr); tooLarge {
		return refuse(api.CodePayloadTooLarge)
	}
	if errors.Is(restErr, fairlimit.ErrFull) {
		return restErr
	}
	if err := errors.Join(err, restErr); err != nil {
		return &refusal{code: api.CodeMalformedRequest, cause: err} // the client broke off
	}
	if err := c.slot.enter(ctx); err != nil {
		return err
	}
	c.raw = raw
	if c.body, err = strictjson.Parse(c.raw); err != nil {
		return malformedBody(err)
	}
	c.hasBody = true
	return nil
}

// jsonMediaType tells whether the body is declared as JSON in UTF-8, or as one of the further types.
func jsonMediaType(header http.Header, further []string) bool {
	values := header.Values("Content-Type")
	if len(values) != 1 || header.Get("Content-Encoding") != "" && !strings.EqualFold(header.Get("Content-Encoding"), "identity") {
		return false
	}
	mediaType, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return false
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return mediaType == "application/json" || slices.Contains(further, mediaType)
}

// checkQuery refuses a query that cannot be read, and a parameter that is repeated or that the route does not have: a
// filter with a typing error must not answer with everything.
func checkQuery(r *http.Request, known []string) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // of several the same one is named each time
		switch {
		case !slices.Contains(known, name):
			return malformedQuery(name, "unknown_parameter", "is not a parameter of this operation")
		case len(values[name]) != 1:
			return malformedQuery(name, "repeated", "must be given once")
		}
	}
	return nil
}

// positive returns a query value that is an integer from 1; absent when it is not given.
func (c *call) positive(name string, absent int) (int, error) {
	values := c.request.URL.Query()
	if !values.Has(name) {
		return absent, nil
	}
	text := values.Get(name)
	for _, digit := range text {
		if digit < '0' || digit > '9' {
			return 0, malformedQuery(name, "minimum", "must be an integer from 1")
		}
	}
	n, err := strconv.Atoi(text)
	if errors.Is(err, strconv.ErrRange) {
		return int(^uint(0) >> 1), nil // a page far past the end is an empty page
	}
	if err != nil || n < 1 {
		return 0, malformedQuery(name, "minimum", "must be an integer from 1")
	}
	return n, nil
}
