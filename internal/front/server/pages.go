package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// isDocsPath reports whether a path belongs to the documentation.
func (s *Server) isDocsPath(path string) bool {
	return s.Docs != nil && (path == "/docs" || strings.HasPrefix(path, "/docs/") && path != "/docs/" ||
		path == "/changelog")
}

// isAPIPath reports whether a path belongs to the API. The console never gets requests for such paths.
func isAPIPath(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || path == "/openapi.json" || path == "/collection.json" ||
		path == "/healthz" || path == "/readyz"
}

// Console serves the pages for people.
type Console interface {
	// Session returns the digest of the session that a request presents; presented is false if it has none.
	Session(r *http.Request) (digest [32]byte, presented bool)
	// Serve responds to a request. source is the address of the client.
	Serve(w http.ResponseWriter, r *http.Request, source string, admission PageAdmission) Served
}

// PageAdmission bounds what one request to the console uses. Its errors are [fairlimit.ErrFull], after which the caller
// should retry, and [*account.LimitedError].
type PageAdmission struct{ c *call }

// Authenticate returns the session of a digest and takes a slot for its company; [base.ErrNotFound] if there is none.
func (p PageAdmission) Authenticate(ctx context.Context, digest [32]byte) (base.Session, error) {
	return p.c.ticket.authenticate(ctx, credential{digest: digest, presented: true}, p.c.DB.Authenticate)
}

// Acquire takes a slot for the request, unless it holds one.
func (p PageAdmission) Acquire(ctx context.Context) error { return p.c.ticket.acquire(ctx) }

// ReadBody reads the body and holds no slot meanwhile. The error is a [*http.MaxBytesError] if it has more than limit
// bytes.
func (p PageAdmission) ReadBody(ctx context.Context, limit int64) ([]byte, error) {
	return p.c.ticket.readForm(ctx, p.c.request, limit)
}

// Reserve reserves memory until the request ends or releases it.
func (p PageAdmission) Reserve(bytes int) error { return p.c.ticket.reserveBytes(bytes) }

// Release releases reserved bytes before the request ends.
func (p PageAdmission) Release(bytes int) { p.c.ticket.releaseBytes(bytes) }

// Charge counts expensive work for a client that is not logged in as several requests.
func (p PageAdmission) Charge(requests int64) error { return p.c.ticket.charge(requests) }

// Remember records the company of a new credential, so that the next requests with it do not count as anonymous.
func (p PageAdmission) Remember(digest [32]byte, company base.ID) {
	p.c.admission.credentials.add(digest, company)
}

// credentialOf returns the credential of a request: a session of the console, or a token or key of the API.
func (s *Server) credentialOf(r *http.Request) (presented credential, console bool) {
	path := r.URL.EscapedPath()
	if s.Console == nil || isAPIPath(path) || s.isDocsPath(path) {
		return bearer(r), false
	}
	presented.digest, presented.presented = s.Console.Session(r)
	return presented, true
}

// serveConsole passes the request to the console; responded is false if the console has no such page. The request
// releases its slot with the first byte of the response.
func (s *Server) serveConsole(w *responseWriter, c *call, started time.Time) (responded bool) {
	w.onStart = c.ticket.release
	served := s.Console.Serve(w, c.request, s.source(c.request), PageAdmission{c})
	if !served.Found {
		return false
	}
	c.session.User, c.session.Account.ID = served.User, served.Account
	s.logRequest(c.request, &route{path: served.Route}, c, w.status, "", w.written, s.Now().Sub(started), served.Err)
	if served.Broken {
		panic(http.ErrAbortHandler) // ends the connection
	}
	return true
}

// writeErrorPage sends a short HTML page for a request that was not admitted.
func (s *Server) writeErrorPage(w http.ResponseWriter, p *problem.Problem) (status, written int) {
	p.SetHeader(w.Header())
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	reported := problem.For(p.Code())
	status = reported.Status()
	w.WriteHeader(status)
	written, err := io.WriteString(w, "<!doctype html><title>"+http.StatusText(status)+"</title><p>"+
		reported.Error()+"</p>\n")
	if err != nil {
		s.Log.Debug("the client did not read the response", "error", err)
	}
	return status, written
}

// isSafeMethod reports whether a method only reads.
func isSafeMethod(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// servePage serves requests for the documentation and the console. responded is false if the request is for the API.
func (s *Server) servePage(w *responseWriter, c *call, started time.Time) (responded bool) {
	r := c.request
	path := r.URL.EscapedPath()
	switch {
	case s.isDocsPath(path):
		if isSafeMethod(r.Method) {
			s.serveDocs(w, c, started)
			return true
		}
	case s.Docs != nil && isSafeMethod(r.Method) && (path == "/docs/" || path == "/" && s.Console == nil):
		http.Redirect(w, r, "/docs", http.StatusSeeOther) // the page that a person who types the address expects
		s.logRequest(r, &route{path: path}, c, http.StatusSeeOther, "", 0, s.Now().Sub(started), nil)
		return true
	case s.Console != nil && !isAPIPath(path):
		return s.serveConsole(w, c, started)
	}
	return false
}

// serveDocs serves a page of the documentation. All pages are one route in the log and the metrics, because their paths
// are text of the caller.
func (s *Server) serveDocs(w *responseWriter, c *call, started time.Time) {
	s.Docs.ServeHTTP(w, c.request)
	s.logRequest(c.request, &route{path: "/docs"}, c, w.status, "", w.written, s.Now().Sub(started), nil)
}
