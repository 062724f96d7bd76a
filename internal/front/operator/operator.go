// Package operator serves the pages on which the people of the owner of the service see the accounts of all companies
// and decide what companies cannot decide themselves. It has a listener of its own.
//
// Its invariants: nothing but the pages for the login and the enrolment is shown without the session of an operator,
// which needs a password and a second factor; such a session is a type of its own, which no page of the console
// accepts, and no session of a user is accepted here; every act has a reason, is recorded in the audit log as that of
// the operator, and is done by the function that the command line calls; no page shows a credential, a secret or more
// of an invoice than a decision needs.
//
// Start reading at [New] and [Pages.ServeHTTP], then routes in routes.go. The pages are
// made with package page, as those of the console; their own texts are in messages/en.json.
package operator

import (
	"context"
	"embed"
	"io"
	"log/slog"
	"net/http"
	"net/netip"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/router"
	"quittance/internal/platform/source"
)

//go:embed templates/*.html messages/en.json
var files embed.FS

// Config configures the pages.
type Config struct {
	DB       *base.DB
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
	kit    *page.Kit
	router *router.Router[route]
	slots  chan struct{}
}

// New returns the pages. It fails when a template or a message cannot be read.
func New(config Config) (*Pages, error) {
	kit, err := page.New(page.Config{Files: files, Languages: page.Languages()[:1], Cookie: "quittance-operator",
		Environment: config.Environment, Secure: config.Secure})
	if err != nil {
		return nil, err
	}
	return &Pages{Config: config, kit: kit, slots: make(chan struct{}, maxRequests),
		router: router.New(routes(), func(r *route) (method, path string) { return r.method, r.path })}, nil
}

// largestForm bounds the forms.
var largestForm = page.FormBounds{Bytes: 64 << 10, Fields: 1_000} //nolint:gochecknoglobals // a constant

// ServeHTTP responds to one request.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if p.kit.ServeAsset(w, r) {
		return
	}
	begun := p.Now()
	req := &request{Pages: p, Request: page.Request{Kit: p.kit, Pages: p.kit.For(r), W: w, R: r,
		Source: source.OfRequest(r, p.TrustedProxies)}}
	req.Frame = req.frame
	err := req.Serve(req.serve)
	attributes := []any{"method", r.Method, "route", req.route, "status", req.Status,
		"duration_us", p.Now().Sub(begun).Microseconds(), "operator", req.session.Email, "source", req.Source,
		"request_id", w.Header().Get(api.HeaderRequestID)}
	if err != nil {
		p.Log.ErrorContext(r.Context(), "operator request", append(attributes, "error", err)...)
		return
	}
	p.Log.InfoContext(r.Context(), "operator request", attributes...)
}

// serve runs a request. A request has no place among those that are served before its form is there, so that clients
// who send slowly keep no place from others.
func (req *request) serve() error {
	id, err := req.DB.NewID()
	if err != nil {
		return err
	}
	req.W.Header().Set(api.HeaderRequestID, id.String())
	if err := req.CheckOrigin(); err != nil {
		return err
	}
	if req.R.Method == http.MethodPost {
		if err := req.ReadForm(largestForm, req.readBody); err != nil {
			return err
		}
	}
	select {
	case req.slots <- struct{}{}:
		defer func() { <-req.slots }()
	default:
		return problem.For(api.CodeUnavailable)
	}
	return req.dispatch()
}

// readBody reads the body of a form of at most the given number of bytes.
func (req *request) readBody(_ context.Context, most int64) ([]byte, error) {
	return io.ReadAll(http.MaxBytesReader(req.W, req.R.Body, most))
}

// dispatch rejects, in this order: callers who are not logged in, whatever they ask for, and unknown routes.
func (req *request) dispatch() error {
	if err := req.authenticate(); err != nil {
		return err
	}
	req.R = req.R.WithContext(base.WithActor(req.R.Context(),
		req.session.Actor(req.Source, req.W.Header().Get(api.HeaderRequestID))))
	found, values, allowed := req.router.Find(req.R.Method, req.R.URL.EscapedPath())
	if !req.loggedIn() && (found == nil || !found.public) {
		return req.Redirect(loginPath)
	}
	switch {
	case found == nil && len(allowed) > 0:
		return problem.MethodNotAllowed(allowed...)
	case found == nil:
		return problem.For(api.CodeNotFound)
	}
	req.route, req.Values = found.path, values
	return found.serve(req)
}
