package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/events"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
	"quittance/internal/platform/source"
)

// ServeHTTP responds to one request and writes its line into the log.
func (s *Server) ServeHTTP(plain http.ResponseWriter, r *http.Request) {
	started := s.Now()
	header := plain.Header()
	s.setCommon(header, s.requestID(r))
	w := newResponseWriter(plain, r, s.pace)
	c := &call{Server: s, request: r, header: header}
	defer func() {
		c.ticket.close()
		w.linger()
	}()
	var err error
	if c.ticket, err = s.admit(r); err == nil {
		if !c.ticket.exempt {
			r, c.span = s.Tracer.Request(r)
			c.request = r
		}
		if s.servePage(w, c, started) {
			return
		}
	}
	var rt *route
	var status int
	var body any
	if err == nil {
		rt, status, body, err = s.runRoute(r.Context(), c)
	} else if wantsPage(r) {
		p := problem.Of(err)
		status, written := s.writeErrorPage(w, p)
		s.logRequest(r, nil, c, status, p.Code(), written, s.Now().Sub(started), err)
		return
	} else {
		err = c.overLimit(err)
	}
	var text []byte
	streamed, isStreamed := body.(streamedResponse)
	switch {
	case err != nil:
	case isStreamed:
		err = c.reserveResponse(streamed.bytes())
	default:
		status, text = s.encode(r.Context(), status, body)
		err = c.reserveResponse(len(text))
	}
	var code api.Code
	if err != nil {
		status, code, text = c.errorResponse(err)
	}
	if c.ticket.anonymous() {
		c.ticket.close() // responses to anonymous requests are short and need no limit while they are read
	}
	var written int
	if isStreamed && err == nil {
		if written, err = streamed.write(r.Context(), w, status); err != nil {
			s.Log.WarnContext(r.Context(), "the response with a retained body or a file is incomplete", "error", err)
		}
	} else {
		written = s.write(w, r, status, text)
	}
	s.logRequest(r, rt, c, status, code, written, s.Now().Sub(started), err)
	if isStreamed && code == "" && err != nil {
		panic(http.ErrAbortHandler) // ends the connection, because the response looks complete otherwise
	}
}

// errorResponse returns the response for an error and sets its header fields.
func (c *call) errorResponse(err error) (status int, code api.Code, text []byte) {
	p := problem.Of(err)
	p.SetHeader(c.header)
	if p.Code() == api.CodeUnauthenticated {
		c.header.Set("WWW-Authenticate", `Bearer realm="quittance"`) // RFC 6750, section 3
	}
	status, text = c.encode(c.request.Context(), problem.For(p.Code()).Status(), errorBody(p, c.PublicURL))
	return status, p.Code(), text
}

// admit returns the ticket of a request. Health checks are exempt from all limits; [Config.Ready] bounds what they cost
// the database.
func (s *Server) admit(r *http.Request) (*ticket, error) {
	if isProbe(r) {
		return &ticket{admission: s.admission, exempt: true, charged: true}, nil
	}
	presented, console := s.credentialOf(r)
	return s.admission.admit(source.Parse(s.source(r)), presented, console)
}

// isProbe reports whether a request is a health check.
func isProbe(r *http.Request) bool { return r.URL.Path == "/healthz" || r.URL.Path == "/readyz" }

// wantsPage reports whether the client is a browser: browsers accept HTML.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// setCommon sets the header fields of every response.
func (s *Server) setCommon(header http.Header, requestID string) {
	header.Set(api.HeaderRequestID, requestID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if s.Secure {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// runRoute finds the route of a request and runs it. A panic fails this request only.
func (s *Server) runRoute(ctx context.Context, c *call) (rt *route, status int, body any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if s.isDocsPath(c.request.URL.EscapedPath()) {
		return nil, 0, nil, problem.MethodNotAllowed(http.MethodGet, http.MethodHead)
	}
	if rt, err = c.findRoute(); err != nil {
		return nil, 0, nil, err
	}
	if rt.deprecated() {
		c.header.Set("Deprecation", "@"+strconv.FormatInt(rt.deprecatedSince.Unix(), 10)) // RFC 9745, section 2.1
		c.header.Set("Link", "<"+rt.successor+`>; rel="successor-version"`)               // RFC 5829, section 3.1
	}
	status, body, err = s.run(ctx, rt, c)
	return rt, status, body, err
}

// findRoute returns the route of the request, and reads the variables of its path.
func (c *call) findRoute() (*route, error) {
	rt, path, allowed := c.router.Find(c.request.Method, c.request.URL.EscapedPath())
	switch {
	case rt != nil:
		c.path = path
		return rt, nil
	case len(allowed) == 0:
		return nil, problem.For(api.CodeNotFound)
	}
	return nil, problem.MethodNotAllowed(allowed...)
}

// overLimit returns the error of a request that was not admitted. The rate of its source is checked first, because that
// costs nothing. Nevertheless, an unknown route, a method that is not allowed, and a missing token are reported before
// an exceeded rate: they need no work either.
func (c *call) overLimit(err error) error {
	var limited *account.LimitedError
	if !errors.As(err, &limited) || !strings.HasPrefix(c.request.URL.Path, "/api/") {
		return err
	}
	rt, unknown := c.findRoute()
	switch {
	case unknown != nil:
		return unknown
	case rt.needs != access.Public && !bearer(c.request).presented:
		return problem.For(api.CodeUnauthenticated)
	}
	c.setLimitHeaders(limited.Limit)
	return err
}

// errorBody returns the body of an error. Without a public address of the service, the address of its description is
// relative.
func errorBody(p *problem.Problem, public account.PublicURL) api.ErrorBody {
	details := p.Details
	if details == nil {
		details = map[string]any{}
	}
	return api.ErrorBody{Error: api.Error{Code: p.Code(), Message: problem.For(p.Code()).Error(),
		Details: details, DocURL: string(public) + errorsPath + "#" + string(p.Code())}}
}

// asJSON are the options of all responses: times are written in RFC 3339 with microseconds.
var asJSON = json.JoinOptions( //nolint:gochecknoglobals // constant options
	json.WithMarshalers(json.MarshalToFunc(func(encoder *jsontext.Encoder, at time.Time) error {
		return encoder.WriteToken(jsontext.String(at.UTC().Format(events.TimestampLayout)))
	})),
	json.Deterministic(true),
	jsontext.AllowDuplicateNames(true), // the types have no duplicate names, so that the encoder need not track them
)

// write sends the response and returns the number of bytes of its body that were written.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, text []byte) int {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	n, err := w.Write(append(text, '\n'))
	if err != nil {
		s.Log.DebugContext(r.Context(), "the client did not read the response", "error", err)
	}
	return n
}

// logRequest writes the log line of a request.
func (s *Server) logRequest(r *http.Request, rt *route, c *call, status int, code api.Code, written int,
	duration time.Duration, err error) {
	name := ""
	if rt != nil {
		name = rt.path
	}
	s.Observe(name, r.Method, status, duration)
	c.span.EndRequest(name, r.Method, status)
	level := slog.LevelInfo
	if code == api.CodeRateLimited && rt == nil || isProbe(r) {
		level = slog.LevelDebug // a flood of anonymous requests, and a probe every few seconds, would fill the log
	}
	attributes := []slog.Attr{
		slog.String("request_id", c.header.Get(api.HeaderRequestID)), slog.String("method", r.Method),
		slog.String("route", name), slog.Int("status", status), slog.Int("bytes", written),
		slog.Int64("duration_us", duration.Microseconds()),
		slog.String("source", s.source(r)),
	}
	switch {
	case c.session.Key != nil:
		attributes = append(attributes, slog.Any("account", c.session.Account.ID), slog.Any("key", c.session.Key.ID))
	case !c.session.User.IsZero():
		attributes = append(attributes, slog.Any("account", c.session.Account.ID), slog.Any("user", c.session.User))
	}
	if code != "" {
		attributes = append(attributes, slog.String("code", string(code)))
	}
	if status >= http.StatusInternalServerError {
		if !isProbe(r) { // whoever probes knows that the process is not ready, and the log has a line about the cause
			level = slog.LevelError
		}
		if status == http.StatusBadGateway { // a provider's failure, about whose connection the log has lines of its own
			level = slog.LevelWarn
		}
		attributes = append(attributes, slog.Any("error", err))
	}
	s.Log.LogAttrs(r.Context(), level, "request", attributes...)
}

// requestID returns the caller's own id if it is fit for logs, and otherwise a new one. An API key would be logged with
// it.
func (s *Server) requestID(r *http.Request) string {
	if given := r.Header.Get(api.HeaderRequestID); 1 <= len(given) && len(given) <= 128 && strings.Trim(given,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == "" && !secret.ContainsAPIKey([]byte(given)) {
		return given
	}
	return s.newRequestID()
}

func (s *Server) newRequestID() string {
	id, err := s.DB.NewID()
	if err != nil {
		return "unavailable"
	}
	return id.String()
}

// source returns the address of the client: that of the peer, or the last untrusted one of X-Forwarded-For if the peer
// is a trusted proxy. Some proxies write ports after the addresses.
func (s *Server) source(r *http.Request) string { return source.OfRequest(r, s.TrustedProxies) }
