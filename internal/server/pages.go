package server

import (
	"context"
	"io"
	"net/http"
	"strings"
	"time"

	"quittance/internal/store"
)

// documented tells whether a path belongs to the documentation.
func (s *Server) documented(path string) bool {
	return s.Docs != nil && (path == "/docs" || strings.HasPrefix(path, "/docs/") && path != "/docs/" || path == "/changelog")
}

// isAPIPath tells whether a path is the API's own, which the console never sees.
func isAPIPath(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || path == "/openapi.json" || path == "/healthz" || path == "/readyz"
}

// Console is the pages for people.
type Console interface {
	// Session returns the digest of the session that a request presents; false when it presents none.
	Session(r *http.Request) (digest [32]byte, presented bool)
	// Serve answers a request. source is the caller's address.
	Serve(w http.ResponseWriter, r *http.Request, source string, admission PageAdmission) Visit
}

// PageAdmission bounds what one request to the console takes. Its errors are [fairlimit.ErrFull], of which the caller is told to
// try again, and [*account.LimitedError].
type PageAdmission struct{ c *call }

// Authenticate returns the session of a digest, and takes a place for its company; [store.ErrNotFound] when it is none.
func (p PageAdmission) Authenticate(ctx context.Context, digest [32]byte) (store.Session, error) {
	return p.c.slot.authenticate(ctx, digest, p.c.DB.Authenticate)
}

// Enter takes a place for whoever asks, unless the request has one.
func (p PageAdmission) Enter(ctx context.Context) error { return p.c.slot.enter(ctx) }

// ReadBody reads the body of at most so many bytes, without a place meanwhile; [*http.MaxBytesError] when there are more.
func (p PageAdmission) ReadBody(ctx context.Context, most int64) ([]byte, error) {
	return p.c.slot.readForm(ctx, p.c.request, most)
}

// Reserve takes memory for so many bytes until the request ends, or until they are released.
func (p PageAdmission) Reserve(bytes int) error { return p.c.slot.reserve(bytes) }

// Release gives so many reserved bytes back before the request ends.
func (p PageAdmission) Release(bytes int) { p.c.slot.release(bytes) }

// Charge counts work for somebody who is not logged in as that of so many requests.
func (p PageAdmission) Charge(requests int64) error { return p.c.slot.charge(requests) }

// Remember counts the next requests with a credential that was just given out as those of its company.
func (p PageAdmission) Remember(digest [32]byte, company store.ID) {
	p.c.admission.credentials.add(digest, company)
}

// presented is the credential of a request: the session of a person, or the token of a program.
func (s *Server) presented(r *http.Request) (presented credential, console bool) {
	path := r.URL.EscapedPath()
	if s.Console == nil || isAPIPath(path) || s.documented(path) {
		return bearer(r), false
	}
	presented.digest, presented.presented = s.Console.Session(r)
	return presented, true
}

// serveConsole lets the console answer; answered is false when it has nothing there. The place of the request ends with the
// first byte of the answer.
func (s *Server) serveConsole(w *answerWriter, c *call, started time.Time) (answered bool) {
	w.begun = c.slot.pause
	visit := s.Console.Serve(w, c.request, s.source(c.request), PageAdmission{c})
	if !visit.Answered {
		return false
	}
	c.session.User, c.session.Account.ID = visit.User, visit.Account
	s.record(c.request, &route{path: visit.Route}, c, w.status, "", w.written, s.Now().Sub(started), visit.Err)
	return true
}

// refuseVisit tells a person in few bytes that a request was refused before anything was done for it.
func (s *Server) refuseVisit(w http.ResponseWriter, shown *refusal) (status, written int) {
	for name, value := range shown.header {
		w.Header().Set(name, value)
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	status = statuses[shown.code].status
	w.WriteHeader(status)
	written, err := io.WriteString(w, "<!doctype html><title>"+http.StatusText(status)+"</title><p>"+statuses[shown.code].message+"</p>\n")
	if err != nil {
		s.Log.Debug("the client did not take the answer", "error", err)
	}
	return status, written
}

// reads tells whether a method only reads.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// servePage answers what is for people: the documentation and the console. answered is false when the request is the
// API's.
func (s *Server) servePage(w *answerWriter, c *call, started time.Time) (answered bool) {
	r := c.request
	path := r.URL.EscapedPath()
	switch {
	case s.documented(path):
		if reads(r.Method) {
			s.serveDocs(w, c, started)
			return true
		}
	case s.Docs != nil && reads(r.Method) && (path == "/docs/" || path == "/" && s.Console == nil):
		http.Redirect(w, r, "/docs", http.StatusSeeOther) // where a person who types the address wants to go
		s.record(r, &route{path: path}, c, http.StatusSeeOther, "", 0, s.Now().Sub(started), nil)
		return true
	case s.Console != nil && !isAPIPath(path):
		return s.serveConsole(w, c, started)
	}
	return false
}

// serveDocs answers with a page of the documentation. Pages are one route to the log and the metrics: their paths are
// the caller's text.
func (s *Server) serveDocs(w *answerWriter, c *call, started time.Time) {
	s.Docs.ServeHTTP(w, c.request)
	s.record(c.request, &route{path: "/docs"}, c, w.status, "", w.written, s.Now().Sub(started), nil)
}
