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

// reads tells whether a method only reads.
func reads(method string) bool { return method == http.MethodGet || method == http.MethodHead }

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
