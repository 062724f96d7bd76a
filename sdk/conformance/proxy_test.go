package conformance_test

import (
	"bytes"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/http/httptest"
	"path"
	"slices"
	"strings"
	"sync"
	"time"
)

// fault is something that goes wrong with one request.
type fault struct {
	On      string            `json:"on"` // method and path, in which * stands for a segment; "" for any request
	Do      string            `json:"do"`
	Always  bool              `json:"always"` // for every further request that it hits, even if there is none
	Status  int               `json:"status"`
	Headers map[string]string `json:"headers"`
	Body    any               `json:"body"`
}

// hits reports whether a fault is one of a request.
func (f fault) hits(r *http.Request) bool {
	if f.On == "" {
		return true
	}
	method, pattern, _ := strings.Cut(f.On, " ")
	matched, err := path.Match(pattern, r.URL.Path)
	return err == nil && matched && method == r.Method
}

// arrival is a request that has arrived at a proxy.
type arrival struct {
	method, path, query string
	header              http.Header
	body                []byte
	sincePrevious       time.Duration // since the answer to the request before
	requestID           string        // of the answer
}

// proxy stands before the service for one call of an SDK, and makes the faults of a step.
type proxy struct {
	*httptest.Server
	target string
	prefix string

	mu       sync.Mutex
	faults   []fault // those to come
	arrivals []*arrival
	answered time.Time // when the last answer began, or the connection was closed
	failure  error     // of the proxy itself
}

// newProxy starts a proxy for the service at target, below a prefix of its own.
func newProxy(target, prefix string, faults []fault) *proxy {
	p := &proxy{target: target, prefix: prefix, faults: faults}
	p.Server = httptest.NewUnstartedServer(p)
	// A connection for each request. Otherwise some HTTP clients repeat a request by themselves if a connection that they
	// use again is closed.
	p.Config.SetKeepAlivesEnabled(false)
	p.Start()
	return p
}

func (p *proxy) close() {
	p.CloseClientConnections()
	p.Close()
}

// ServeHTTP implements [http.Handler].
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		panic(http.ErrAbortHandler) // the SDK has given up
	}
	f, a := p.arrive(r, body)
	switch f.Do {
	case "", "pass":
		p.forward(a).write(p, w)
	case "drop_before":
	case "drop_after":
		p.forward(a)
	case "truncate":
		p.forward(a).truncate(w)
	case "hang":
		<-r.Context().Done()
	case "hang_after":
		p.forward(a)
		<-r.Context().Done()
	case "answer":
		f.answer(a).write(p, w)
	case "replace":
		p.forward(a)
		f.answer(a).write(p, w)
	default:
		p.fail(fmt.Errorf("there is no fault %q", f.Do))
	}
	if slices.Contains([]string{"", "pass", "answer", "replace"}, f.Do) {
		return
	}
	p.leave()
	panic(http.ErrAbortHandler) // closes the connection
}

// arrive records a request and returns the fault that hits it.
func (p *proxy) arrive(r *http.Request, body []byte) (fault, *arrival) {
	p.mu.Lock()
	defer p.mu.Unlock()
	a := &arrival{method: r.Method, path: r.URL.EscapedPath(), query: r.URL.RawQuery, header: r.Header, body: body}
	if !p.answered.IsZero() {
		a.sincePrevious = time.Since(p.answered)
	}
	p.arrivals = append(p.arrivals, a)
	if len(p.faults) > 0 && p.faults[0].hits(r) {
		f := p.faults[0]
		if !f.Always {
			p.faults = p.faults[1:]
		}
		return f, a
	}
	return fault{}, a
}

// leave records that a request is answered.
func (p *proxy) leave() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.answered = time.Now()
}

func (p *proxy) fail(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.failure = err
}

// response is a whole response.
type response struct {
	status int
	header http.Header
	body   []byte
}

// forward sends a request to the service. It does not matter whether the SDK still waits.
func (p *proxy) forward(a *arrival) response {
	target := p.target + strings.TrimPrefix(a.path, p.prefix)
	if a.query != "" {
		target += "?" + a.query
	}
	request, err := http.NewRequest(a.method, target, bytes.NewReader(a.body))
	if err != nil {
		p.fail(err)
		return response{status: http.StatusBadGateway}
	}
	request.Header = a.header.Clone()
	got, err := http.DefaultTransport.RoundTrip(request)
	if err != nil {
		p.fail(err)
		return response{status: http.StatusBadGateway}
	}
	defer got.Body.Close()
	body, err := io.ReadAll(got.Body)
	if err != nil {
		p.fail(err)
	}
	a.requestID = got.Header.Get("X-Request-Id")
	return response{got.StatusCode, got.Header, body}
}

// answer returns the response of a fault.
func (f fault) answer(a *arrival) response {
	r := response{status: f.Status, header: http.Header{}}
	switch body := f.Body.(type) {
	case nil:
	case string:
		r.body = []byte(body)
	default:
		r.body = []byte(show(body))
		r.header.Set("Content-Type", "application/json")
	}
	for name, value := range f.Headers {
		r.header.Set(name, value)
	}
	a.requestID = r.header.Get("X-Request-Id")
	return r
}

// write sends a response. The time counts from here, so that a wait is never measured too short.
func (r response) write(p *proxy, w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.Header().Del("Content-Length")
	p.leave()
	w.WriteHeader(r.status)
	if _, err := w.Write(r.body); err != nil {
		panic(http.ErrAbortHandler) // the SDK has given up
	}
}

// truncate sends the first half of a response.
func (r response) truncate(w http.ResponseWriter) {
	w.Header().Set("Content-Type", r.header.Get("Content-Type"))
	w.Header().Set("Content-Length", fmt.Sprint(len(r.body)))
	w.WriteHeader(r.status)
	if _, err := w.Write(r.body[:len(r.body)/2]); err != nil {
		panic(http.ErrAbortHandler)
	}
	if err := http.NewResponseController(w).Flush(); err != nil {
		panic(http.ErrAbortHandler)
	}
}
