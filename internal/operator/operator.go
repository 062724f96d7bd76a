// Package operator serves the pages on which the people of the owner of the service see the accounts of all companies
// and decide what companies cannot decide themselves. It has a listener of its own.
//
// Its invariants: nothing but the pages for the login and the enrolment is shown without the session of an operator,
// which needs a password and a second factor; such a session is a type of its own, which no page of the console
// accepts, and no session of a user is accepted here; every act has a reason, is recorded in the audit log as that of
// the operator, and is done by the function that the command line calls; no page shows a credential, a secret or more
// of an invoice than a decision needs.
//
// Start reading at [New] and [Pages.ServeHTTP], then routes in routes.go. The pages have the layout, the components and
// the assets of the console ([console.Design]); their own texts are in messages/en.json.
package operator

import (
	"embed"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/console"
	"quittance/internal/problem"
	"quittance/internal/router"
	"quittance/internal/source"
	"quittance/internal/store"
)

//go:embed templates/*.html messages/en.json
var files embed.FS

// Config configures the pages.
type Config struct {
	DB       *store.DB
	Accounts *account.Service
	// Random is the source of secrets.
	Random io.Reader
	// Now is the clock.
	Now func() time.Time
	// Environment is local, sandbox or production, and Version the release of this binary.
	Environment, Version string
	// Secure reports that browsers use TLS to reach this server or a proxy in front of it.
	Secure bool
	// TrustedProxies are the peers whose X-Forwarded-For header is trusted.
	TrustedProxies []netip.Prefix
	Log            *slog.Logger
}

// maxRequests is the number of requests that are served at a time. Operators are few.
const maxRequests = 32

// Pages serves the pages. It is safe for concurrent use.
type Pages struct {
	Config
	design  *console.Design
	router  *router.Router[route]
	origins *http.CrossOriginProtection
	slots   chan struct{}
}

// New returns the pages. It fails when a template or a message cannot be read.
func New(config Config) (*Pages, error) {
	design, err := console.NewDesign(files)
	if err != nil {
		return nil, err
	}
	return &Pages{Config: config, design: design, origins: http.NewCrossOriginProtection(),
		slots:  make(chan struct{}, maxRequests),
		router: router.New(routes(), func(r *route) (method, path string) { return r.method, r.path })}, nil
}

// maxForm is the size in bytes of the largest form.
const maxForm = 64 << 10

// ServeHTTP responds to one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.design.ServeAsset(w, r) {
		return
	}
	begun := p.Now()
	req := &request{Pages: p, w: w, r: r, source: source.OfRequest(r, p.TrustedProxies)}
	console.SecureHeaders(w.Header())
	err := req.serve()
	attributes := []any{"method", r.Method, "route", req.route, "status", req.status,
		"duration_us", p.Now().Sub(begun).Microseconds(), "operator", req.session.Email, "source", req.source,
		"request_id", w.Header().Get(api.HeaderRequestID)}
	if err != nil {
		p.Log.ErrorContext(r.Context(), "operator request", append(attributes, "error", err)...)
		return
	}
	p.Log.InfoContext(r.Context(), "operator request", attributes...)
}

// serve runs a request and responds with its error. A panic fails only this request. It returns internal errors, for
// the log.
func (req *request) serve() (err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = req.respondError(fmt.Errorf("panic: %v\n%s", cause, debug.Stack()))
		}
	}()
	id, err := req.DB.NewID()
	if err != nil {
		return req.respondError(err)
	}
	req.w.Header().Set(api.HeaderRequestID, id.String())
	if err := req.readForm(); err != nil {
		return req.respondError(err)
	}
	select {
	case req.slots <- struct{}{}:
		defer func() { <-req.slots }()
	default:
		return req.respondError(problem.For(api.CodeUnavailable))
	}
	if err := req.dispatch(); err != nil {
		return req.respondError(err)
	}
	return nil
}

// dispatch rejects, in this order: callers who are not logged in, whatever they ask for, and unknown routes.
func (req *request) dispatch() error {
	if err := req.authenticate(); err != nil {
		return err
	}
	req.r = req.r.WithContext(store.WithActor(req.r.Context(),
		req.session.Actor(req.source, req.w.Header().Get(api.HeaderRequestID))))
	found, values, allowed := req.router.Find(req.r.Method, req.r.URL.EscapedPath())
	if !req.loggedIn() && (found == nil || !found.public) {
		return req.redirect(loginPath)
	}
	switch {
	case found == nil && len(allowed) > 0:
		return problem.For(api.CodeMethodNotAllowed)
	case found == nil:
		return problem.For(api.CodeNotFound)
	}
	req.route, req.values = found.path, values
	return found.serve(req)
}

// readForm reads a form that this site's pages have sent. A request has no place among those that are served before its
// form is there, so that clients who send slowly keep no place from others.
func (req *request) readForm() error {
	if err := req.origins.Check(req.r); err != nil {
		return problem.ErrCrossSite.Because(err)
	}
	if req.r.Method != http.MethodPost {
		return nil
	}
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, maxForm)
	if err := req.r.ParseForm(); err != nil {
		kind := problem.For(api.CodeMalformedRequest)
		if _, large := errors.AsType[*http.MaxBytesError](err); large {
			kind = problem.For(api.CodePayloadTooLarge)
		}
		return kind.Because(err)
	}
	return nil
}
