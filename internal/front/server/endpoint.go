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

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/fairlimit"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
	"quittance/internal/platform/tracing"
)

// call is one request to the API.
type call struct {
	*Server
	request *http.Request
	// session is that of the caller; zero on public routes.
	session base.Session
	// path holds the values of the route's {parameters}.
	path map[string]string
	// body is the parsed body and raw its bytes, if hasBody.
	body    strictjson.Value
	raw     []byte
	hasBody bool
	// idempotency is nil unless the call has an idempotency key.
	idempotency *idempotency
	// header is that of the response.
	header http.Header
	// ticket bounds the resources that the request uses.
	ticket *ticket
	// span traces the request; nil if it is not traced.
	span *tracing.Span
}

// id returns a path parameter as an identifier. A text that is not an identifier is as unknown as another company's
// identifier.
func (c *call) id(name string) (base.ID, error) {
	id, err := base.ParseID(c.path[name])
	if err != nil || id.IsZero() { // the ledger binds no zero identifier
		return base.ID{}, base.ErrNotFound
	}
	return id, nil
}

// checkExists returns [base.ErrNotFound] unless the resources that the path names exist.
func (c *call) checkExists(ctx context.Context) error {
	for name := range c.path {
		id, err := c.id(name)
		if err != nil {
			return err
		}
		switch name {
		case "invoice_id":
			_, err = invoices.Find(ctx, c.session.Tenant, id)
		case "credit_note_id":
			_, err = invoices.FindCreditNote(ctx, c.session.Tenant, id)
		case "subscription_id":
			_, err = events.FindSubscription(ctx, c.session.Tenant, id)
		case "delivery_id":
			_, err = events.FindDelivery(ctx, c.session.Tenant, id)
		case "api_key_id":
			_, err = identity.FindAPIKey(ctx, c.session.Tenant, id)
		case "user_id":
			_, err = identity.FindUser(ctx, c.session.Tenant, id)
		case "session_id":
			_, err = identity.FindSessionRecord(ctx, c.session.Tenant, c.session, id)
		case "customer_id":
			_, err = invoices.Customers(c.session.Tenant).Entry(ctx, id)
		case "item_id":
			_, err = invoices.Items(c.session.Tenant).Entry(ctx, id)
		case "invitation_id":
			_, err = identity.FindInvitation(ctx, c.session.Tenant, id)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// operation is an endpoint without its types, as the route table holds it.
type operation struct {
	in, out reflect.Type
	// patch means that the body is a merge patch of in.
	patch bool
	serve func(ctx context.Context, c *call) (status int, body any, err error)
}

// noBody is the type of a request body for operations that take none.
type noBody struct{}

// withFaults makes an operation of a handler that gets its decoded body and all faults of it. The handler reports them
// with [problem.Kind.In], after it has looked up the resources that the request names: unknown identifiers are reported
// first.
func withFaults[In, Out any](handle func(c *call, ctx context.Context, body In, faults api.Faults) (status int, out Out,
	err error)) operation {
	decoder := strictjson.For[In]()
	return operation{
		in: reflect.TypeFor[In](), out: reflect.TypeFor[Out](),
		serve: func(ctx context.Context, c *call) (int, any, error) {
			var body In
			faults := api.Faults{}
			if c.hasBody { // readBody has rejected a request without a body that needs one
				body, faults = decoder.Decode(c.body)
			}
			return handle(c, ctx, body, faults)
		},
	}
}

// withBody makes an operation of a handler that gets a valid body.
func withBody[In, Out any](handle func(c *call, ctx context.Context, body In) (status int, out Out,
	err error)) operation {
	return withFaults(func(c *call, ctx context.Context, body In, faults api.Faults) (int, Out, error) {
		if err := problem.For(api.CodeValidationFailed).In(faults); err != nil {
			var zero Out
			return 0, zero, err
		}
		return handle(c, ctx, body)
	})
}

// withoutBody makes an operation of a handler that takes no body. If a request has one, it must be an empty object.
// Unknown identifiers are reported before faults of the body.
func withoutBody[Out any](handle func(c *call, ctx context.Context) (status int, out Out, err error)) operation {
	return withFaults(func(c *call, ctx context.Context, _ noBody, faults api.Faults) (int, Out, error) {
		if err := problem.For(api.CodeValidationFailed).In(faults); err != nil {
			var zero Out
			if unknown := c.checkExists(ctx); unknown != nil {
				err = unknown
			}
			return 0, zero, err
		}
		return handle(c, ctx)
	})
}

// withPatch makes an operation whose body is a merge patch of a Target. The handler applies it to the stored resource.
func withPatch[Target, Out any](handle func(c *call, ctx context.Context) (status int, out Out, err error)) operation {
	return operation{
		in: reflect.TypeFor[Target](), out: reflect.TypeFor[Out](), patch: true,
		serve: func(ctx context.Context, c *call) (int, any, error) { return handle(c, ctx) },
	}
}

// run checks a request and calls the handler of its route. The errors come in this order, which clients rely on: 401,
// 429, 403, 415, 413, 400, then 404, 422 and 409 from the handler.
func (s *Server) run(ctx context.Context, rt *route, c *call) (status int, body any, err error) {
	if rt.needs == access.Public {
		err = c.ticket.acquire(ctx)
	} else {
		c.session, err = s.authenticate(ctx, c)
	}
	if err != nil {
		return 0, nil, err
	}
	ctx = base.WithActor(ctx, identity.Actor(c.session, base.MeansAPI, s.source(c.request),
		c.header.Get(api.HeaderRequestID)))
	if rt.needs != access.Public {
		limit, err := s.calls.Spend(c.session.Digest)
		c.setLimitHeaders(limit)
		if err != nil {
			return 0, nil, err
		}
		if !c.session.Permissions.Has(rt.needs) {
			return 0, nil, problem.For(api.CodeForbidden)
		}
		c.session = c.session.For(rt.needs)
	}
	if rt.takesBody() {
		if err := c.readBody(ctx, rt); err != nil {
			return 0, nil, err
		}
	}
	if err := c.refuseMisplacedKey(); err != nil {
		return 0, nil, err
	}
	if err := checkQuery(c.request, rt.query); err != nil {
		return 0, nil, err
	}
	if !rt.idempotent {
		return rt.operation.serve(ctx, c)
	}
	key, err := c.idempotencyKey()
	if err != nil {
		return 0, nil, err
	}
	if key == "" {
		return rt.operation.serve(ctx, c)
	}
	return c.serveIdempotent(ctx, rt, key)
}

// readBody reads and parses the body: 415, 413, 400.
func (c *call) readBody(ctx context.Context, rt *route) error {
	needsBody := rt.operation.in != reflect.TypeFor[noBody]()
	most := c.MaxBody
	if rt.takesFile() {
		most = tabular.MaxBytes
	}
	body := http.MaxBytesReader(nil, c.request.Body, most)
	var first [1]byte
	c.ticket.release()
	n, err := io.ReadFull(body, first[:])
	if n == 0 && (err == nil || errors.Is(err, io.EOF)) {
		if needsBody && !rt.takesFile() {
			_, err := strictjson.Parse(nil)
			return malformedBody(err)
		}
		return c.ticket.acquire(ctx)
	}
	if !hasMediaType(c.request.Header, rt.bodyTypes()) {
		return problem.For(api.CodeUnsupportedMediaType)
	}
	if c.request.ContentLength > most {
		return problem.For(api.CodePayloadTooLarge)
	}
	raw, restErr := c.ticket.read(io.MultiReader(bytes.NewReader(first[:]), body), c.request.ContentLength)
	if _, tooLarge := errors.AsType[*http.MaxBytesError](restErr); tooLarge {
		return problem.For(api.CodePayloadTooLarge)
	}
	if errors.Is(restErr, fairlimit.ErrFull) {
		return restErr
	}
	if err := errors.Join(err, restErr); err != nil {
		return problem.For(api.CodeMalformedRequest).Because(err) // the client disconnected
	}
	if err := c.ticket.acquire(ctx); err != nil {
		return err
	}
	if c.raw = raw; rt.takesFile() {
		return nil
	}
	if c.body, err = strictjson.Parse(c.raw); err != nil {
		return malformedBody(err)
	}
	c.hasBody = true
	return nil
}

// hasMediaType reports whether the Content-Type is one of the accepted types, without an encoding and, for a text, in
// UTF-8.
func hasMediaType(header http.Header, accepted []string) bool {
	values := header.Values("Content-Type")
	if len(values) != 1 || header.Get("Content-Encoding") != "" && !strings.EqualFold(header.Get("Content-Encoding"),
		"identity") {
		return false
	}
	mediaType, parameters, err := mime.ParseMediaType(values[0])
	if err != nil {
		return false
	}
	if charset, ok := parameters["charset"]; ok && !strings.EqualFold(charset, "utf-8") {
		return false
	}
	return slices.Contains(accepted, mediaType)
}

// checkQuery rejects a query that cannot be parsed, and a parameter that is repeated or unknown: a misspelled filter
// must not return the whole list.
func checkQuery(r *http.Request, known []string) error {
	if r.URL.RawQuery == "" {
		return nil
	}
	values, err := parseQuery(r.URL.RawQuery)
	if err != nil {
		return err
	}
	for _, name := range slices.Sorted(maps.Keys(values)) { // sorted, so that the same error is returned each time
		switch {
		case !slices.Contains(known, name):
			return malformedQuery(name, "unknown_parameter", "is not a parameter of this operation")
		case len(values[name]) != 1:
			return malformedQuery(name, "repeated", "must be given once")
		}
	}
	return nil
}

// positiveInt returns a query value that is an integer from 1, or fallback if the query does not have it.
func (c *call) positiveInt(name string, fallback int) (int, error) {
	values := c.request.URL.Query()
	if !values.Has(name) {
		return fallback, nil
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
