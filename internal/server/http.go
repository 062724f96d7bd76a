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
func (s *Server) ServeHTTP(plain http.ResponseWriter, r *http.Request) {
	started := s.Now()
	header := plain.Header()
	s.setCommon(header, s.requestID(r))
	w := newAnswerWriter(plain, r, s.pace)
	c := &call{Server: s, request: r, header: header}
	defer func() {
		c.slot.leave()
		w.linger()
	}()
	var err error
	if c.slot, err = s.begin(r); err == nil && s.servePage(w, c, started) {
		return
	}
	var rt *route
	var status int
	var body any
	if err == nil {
		rt, status, body, err = s.answer(r.Context(), c)
	} else if wantsPage(r) {
		shown := failures(err)
		status, written := s.refuseVisit(w, shown)
		s.record(r, nil, c, status, shown.code, written, s.Now().Sub(started), err)
		return
	}
	var text []byte
	streamed, isChunked := body.(chunked)
	switch {
	case err != nil:
	case isChunked:
		err = c.answerBytes(parsedFactor * int(min(streamed.size, chunkBytes)))
	default:
		status, text = s.encode(r.Context(), status, body)
		err = c.answerBytes(len(text))
	}
	var code api.Code
	if err != nil {
		status, code, text = c.refused(err)
	}
	if c.slot.stranger() {
		c.slot.leave() // what strangers are told is short: they may take as long as they like to read it
	}
	var written int
	if isChunked && err == nil {
		if written, err = streamed.write(r.Context(), w, status); err != nil {
			s.Log.WarnContext(r.Context(), "a retained body was not answered to its end", "error", err)
		}
	} else {
		written = s.write(w, r, status, text)
	}
	s.record(r, rt, c, status, code, written, s.Now().Sub(started), err)
}

// refused is the answer to a failure, whose header fields are set.
func (c *call) refused(err error) (status int, code api.Code, text []byte) {
	shown := failures(err)
	for name, value := range shown.header {
		c.header.Set(name, value)
	}
	if shown.code == api.CodeUnauthenticated {
		c.header.Set("WWW-Authenticate", `Bearer realm="quittance"`) // RFC 6750, section 3
	}
	status, text = c.encode(c.request.Context(), statuses[shown.code].status, errorBody(shown))
	return status, shown.code, text
}

// begin asks whether a request is to be looked at. Whoever asks whether the process is well is answered however many others
// there are; [Config.Ready] bounds what that costs the database.
func (s *Server) begin(r *http.Request) (*slot, error) {
	if r.URL.Path == "/healthz" || r.URL.Path == "/readyz" {
		return &slot{admission: s.admission, exempt: true, charged: true}, nil
	}
	presented, console := s.presented(r)
	return s.admission.begin(source.Parse(s.source(r)), presented, console)
}

// wantsPage tells whether a person looks at the answer: browsers say that they take HTML.
func wantsPage(r *http.Request) bool { return strings.Contains(r.Header.Get("Accept"), "text/html") }

// setCommon sets the header fields of every answer.
func (s *Server) setCommon(header http.Header, requestID string) {
	header.Set(api.HeaderRequestID, requestID)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Cache-Control", "no-store")
	if s.Secure {
		header.Set("Strict-Transport-Security", "max-age=31536000")
	}
}

// answer routes a request and runs it. A panic costs this request alone.
func (s *Server) answer(ctx context.Context, c *call) (rt *route, status int, body any, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v\n%s", cause, debug.Stack())
		}
	}()
	if s.documented(c.request.URL.EscapedPath()) {
		return nil, 0, nil, &refusal{code: api.CodeMethodNotAllowed, header: map[string]string{"Allow": "GET, HEAD"}}
	}
	rt, path, allowed := s.router.Find(c.request.Method, c.request.URL.EscapedPath())
	if rt == nil {
		if err := c.slot.charge(1); err != nil { // nobody has asked who calls
			return nil, 0, nil, err
		}
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
func (s *Server) write(w http.ResponseWriter, r *http.Request, status int, text []byte) int {
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
	if code == api.CodeRateLimited && rt == nil {
		level = slog.LevelDebug // what a flood of strangers is told would fill the log
	}
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
