package server

import (
	"context"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strconv"
	"strings"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
	"quittance/internal/source"
	"quittance/internal/store"
)

// ServeHTTP answers one request and writes its line into the log.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	started := s.Now()
	id := s.requestID(r)
	header := w.Header()
	setCommon(header, id)
	c := &call{Server: s, request: r, header: header, stay: stay{room: s.room}}
	defer c.stay.leave()
	if s.servePage(w, r, c, started) {
		return
	}
	rt, status, body, err := s.answer(r.Context(), c)
	var code api.Code
	if err != nil {
		shown := failures(err)
		code = shown.code
		status, body = statuses[code].status, errorBody(shown)
		for name, value := range shown.header {
			header.Set(name, value)
		}
		if status == http.StatusUnauthorized && code == api.CodeUnauthenticated {
			header.Set("WWW-Authenticate", `Bearer realm="quittance"`) // RFC 6750, section 3
		}
	}
	if c.stay.holder.IsZero() {
		c.stay.leave() // what strangers are told is short: they may take as long as they like to read it
	}
	written := s.write(w, r, status, body)
	s.record(r, rt, c, status, code, written, s.Now().Sub(started), err)
}

// setCommon sets the header fields of every answer.
func setCommon(header http.Header, requestID string) {
	header.Set(api.HeaderRequestID, requestID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
}

// answer routes a request and runs it. A panic costs this request alone.
func (s *Server) answer(ctx context.Context, c *call) (rt *route, status int, body any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if !exempt(c.request) {
		if err := c.stay.enter(); err != nil {
			return nil, 0, nil, err
		}
	}
	if s.documented(c.request.URL.EscapedPath()) {
		return nil, 0, nil, &refusal{code: api.CodeMethodNotAllowed, header: map[string]string{"Allow": "GET, HEAD"}}
	}
	rt, allowed, path := match(s.routes, c.request.Method, c.request.URL.EscapedPath())
	if rt == nil {
		if len(allowed) == 0 {
			return nil, 0, nil, refuse(api.CodeNotFound)
		}
		return nil, 0, nil, &refusal{code: api.CodeMethodNotAllowed, header: map[string]string{"Allow": strings.Join(allowed, ", ")}}
	}
	c.path = path
	if rt.deprecated() {
		c.header.Set("Deprecation", "@"+strconv.FormatInt(rt.deprecatedSince.Unix(), 10)) // RFC 9745, section 2.1
		c.header.Set("Link", "<"+rt.successor+`>; rel="successor-version"`)               // RFC 5829, section 3.1
	}
	status, body, err = s.run(ctx, rt, c)
	return rt, status, body, err
}

func errorBody(shown *refusal) api.ErrorBody {
	details := shown.details
	if details == nil {
		details = map[string]any{}
	}
	return api.ErrorBody{Error: api.Error{Code: shown.code, Message: statuses[shown.code].message, Details: details}}
}

// asJSON writes instants in RFC 3339 with microseconds, always.
var asJSON = json.JoinOptions( //nolint:gochecknoglobals // constant options
	json.WithMarshalers(json.MarshalToFunc(func(encoder *jsontext.Encoder, at time.Time) error {
		return encoder.WriteToken(jsontext.String(at.UTC().Format(store.TimestampLayout)))
	})),
	json.Deterministic(true),
	jsontext.AllowDuplicateNames(true), // what is written has no name twice: nothing needs to remember them
)

// write sends the answer and returns the number of bytes of its body.
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, body any) int {
	var text []byte
	if raw, ok := body.(jsontext.Value); ok {
		text = raw
	} else {
		var err error
		if text, err = json.Marshal(body, asJSON); err != nil {
			s.Log.ErrorContext(r.Context(), "an answer cannot be written as JSON", "error", err)
			status = http.StatusInternalServerError
			text = []byte(`{"error":{"code":"internal","message":"Something went wrong here. Quote the request id to support.","details":{}}}`)
		}
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(text)+1))
	w.WriteHeader(status)
	n, err := w.Write(append(text, '\n'))
	if err != nil {
		s.Log.DebugContext(r.Context(), "the client did not take the answer", "error", err)
	}
	return n
}

// record writes the request's line into the log.
func (s *Server) record(r *http.Request, rt *route, c *call, status int, code api.Code, written int, duration time.Duration, err error) {
	name := ""
	if rt != nil {
		name = rt.path
	}
	s.Observe(name, r.Method, status, duration)
	level := slog.LevelInfo
	attributes := []slog.Attr{
		slog.String("request_id", c.header.Get(api.HeaderRequestID)), slog.String("method", r.Method), slog.String("route", name),
		slog.Int("status", status), slog.Int("bytes", written), slog.Int64("duration_us", duration.Microseconds()),
		slog.String("source", s.source(r)),
	}
	if !c.session.User.IsZero() {
		attributes = append(attributes, slog.Any("account", c.session.Account.ID), slog.Any("user", c.session.User))
	}
	if code != "" {
		attributes = append(attributes, slog.String("code", string(code)))
	}
	if status >= http.StatusInternalServerError {
		level = slog.LevelError
		attributes = append(attributes, slog.Any("error", err))
	}
	s.Log.LogAttrs(r.Context(), level, "request", attributes...)
}

// requestID keeps a caller's own id when it is fit for logs, otherwise makes one.
func (s *Server) requestID(r *http.Request) string {
	if given := r.Header.Get(api.HeaderRequestID); 1 <= len(given) && len(given) <= 128 && strings.Trim(given,
		"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-") == "" {
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

// source is the address the request came from: the peer's, or the last untrusted one of X-Forwarded-For when the peer
// is a trusted proxy. Some proxies write ports behind the addresses.
func (s *Server) source(r *http.Request) string {
	host, known := source.ParseAddr(r.RemoteAddr)
	if !known {
		return r.RemoteAddr
	}
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for n := len(forwarded) - 1; n >= 0 && trusted(s.TrustedProxies, host); n-- {
		next, ok := source.ParseAddr(strings.TrimSpace(forwarded[n]))
		if !ok {
			break
		}
		host = next
	}
	return host.String()
}

// trusted tells whether an address is a trusted proxy's.
func trusted(proxies []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range proxies {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}
