package server

import (
	"net/http"
	"strings"
	"time"
)

// documented tells whether a path belongs to the documentation.
func (s *Server) documented(path string) bool {
	return s.Docs != nil && (path == "/docs" || strings.HasPrefix(path, "/docs/") && path != "/docs/" || path == "/changelog")
}

// apis tells whether a path is the API's own, which the console never sees.
func apis(path string) bool {
	return path == "/api" || strings.HasPrefix(path, "/api/") || path == "/openapi.json" || path == "/healthz" || path == "/readyz"
}

// serveConsole lets the console answer; answered is false when it has nothing there.
func (s *Server) serveConsole(w http.ResponseWriter, r *http.Request, c *call, started time.Time) (answered bool) {
	if c.stay.enter() != nil {
		return false // the API refuses it in its own way
	}
	watched := &watchedWriter{ResponseWriter: w, status: http.StatusOK}
	visit := s.Console(watched, r, s.source(r))
	if !visit.Answered {
		c.stay.pause()
		return false
	}
	c.session.User, c.session.Account.ID = visit.User, visit.Account
	s.record(r, &route{path: visit.Route}, c, watched.status, "", watched.written, s.Now().Sub(started), visit.Err)
	return true
}

// reads tells whether a method only reads.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

// servePage answers what is for people: the documentation and the console. answered is false when the request is the
// API's.
func (s *Server) servePage(w http.ResponseWriter, r *http.Request, c *call, started time.Time) (answered bool) {
	path := r.URL.EscapedPath()
	switch {
	case s.documented(path):
		if reads(r.Method) {
			s.serveDocs(w, r, c, started)
			return true
		}
	case s.Docs != nil && reads(r.Method) && (path == "/docs/" || path == "/" && s.Console == nil):
		http.Redirect(w, r, "/docs", http.StatusSeeOther) // where a person who types the address wants to go
		s.record(r, &route{path: path}, c, http.StatusSeeOther, "", 0, s.Now().Sub(started), nil)
		return true
	case s.Console != nil && !apis(path):
		return s.serveConsole(w, r, c, started)
	}
	return false
}

// serveDocs answers with a page of the documentation. Pages are one route to the log and the metrics: their paths are
// the caller's text.
func (s *Server) serveDocs(w http.ResponseWriter, r *http.Request, c *call, started time.Time) {
	watched := &watchedWriter{ResponseWriter: w, status: http.StatusOK}
	s.Docs.ServeHTTP(watched, r)
	s.record(r, &route{path: "/docs"}, c, watched.status, "", watched.written, s.Now().Sub(started), nil)
}

// watchedWriter notes what was answered, for the log.
type watchedWriter struct {
	http.ResponseWriter
	status, written int
}

// WriteHeader notes the status.
func (w *watchedWriter) WriteHeader(status int) {
	w.status = status
	w.ResponseWriter.WriteHeader(status)
}

// Write counts the bytes.
func (w *watchedWriter) Write(text []byte) (int, error) {
	n, err := w.ResponseWriter.Write(text)
	w.written += n
	return n, err
}
