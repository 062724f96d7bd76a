package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// TestRequestID checks that every response has a request id: the caller's if it is safe for a log line, otherwise a new
// one.
func TestRequestID(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		kept := []string{"a", "0", ".", "-", "_", "..", "A-b_c.9", strings.Repeat("x", 128),
			"019f0000-0000-7000-8000-000000000000"}
		replaced := []string{"", " ", "a b", "a\tb", strings.Repeat("x", 129), strings.Repeat("x", 5000), "a/b", "a:b", "a,b",
			`a"b`, "<b>", "a=b", "é", "\xff", "a;b", "${jndi}", "%0a", "a%20b", "'--", "\u200b"}
		seen := map[string]bool{}
		for _, path := range []string{"/healthz", "/no/such/path", invoicesPath} { // a success and two failures
			for _, id := range kept {
				a := s.send(t, request{method: http.MethodGet, path: path, header: http.Header{"X-Request-Id": {id}}})
				if got := a.header.Get(api.HeaderRequestID); got != id {
					t.Errorf("%s: %q became %q", path, id, got)
				}
			}
			for _, id := range replaced {
				a := s.send(t, request{method: http.MethodGet, path: path, header: http.Header{"X-Request-Id": {id}}})
				got := a.header.Get(api.HeaderRequestID)
				if got == strings.TrimSpace(id) || seen[got] {
					t.Errorf("%s: %q got %q, not a new one", path, id, got)
				}
				seen[got] = true
			}
		}
		first := s.send(t, request{method: http.MethodGet, path: "/healthz",
			header: http.Header{"X-Request-Id": {"one", "two"}}})
		if got := first.header.Values(api.HeaderRequestID); len(got) != 1 {
			t.Errorf("a request with two ids got %q", got)
		}
	})
}

// raw sends a request line unchanged; a client library would normalize it.
func (s *system) raw(t *testing.T, method, target string) response {
	t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(s.base, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: quittance.example\r\nConnection: close\r\n\r\n", method,
		target); err != nil {
		t.Fatal(err)
	}
	got, err := http.ReadResponse(bufio.NewReader(conn), &http.Request{Method: method})
	if err != nil {
		t.Fatalf("%s %.200s: %v", method, target, err)
	}
	defer got.Body.Close()
	text, err := io.ReadAll(got.Body)
	if err != nil {
		t.Fatal(err)
	}
	a := response{request: request{method: method, path: target}, status: got.StatusCode, header: got.Header,
		text: string(text)}
	checkResponse(t, a)
	return a
}

// TestPathsAreNotNormalized checks that a path is compared as it was sent. A path that is not exactly a route gets 404,
// not a redirect to a normalized path.
func TestPathsAreNotNormalized(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		id := "019f0000-0000-7000-8000-000000000000"
		for _, path := range []string{"//", "///", "/.", "/..", "/../", "/api", "/api/", "/api/v1", "/api/v1/",
			"/api/v1/client", "/api/v2/client/invoices",
			"/api/v1/client/invoices/", "/api/v1/client//invoices", "//api/v1/client/invoices", "/api/v1/client/./invoices",
			"/api/v1/client/x/../invoices", "/api/v1/client/invoices/../invoices", "/api/v1/client%2Finvoices",
			"/api/v1/client%2finvoices", "/api%2Fv1%2Fclient%2Finvoices", "/api/v1/client/invoices%2F" + id,
			"/api/v1/client/invoices/" + id + "/", "/api/v1/client/invoices//submit",
			"/api/v1/client/invoices/" + id + "/submit/", "/api/v1/client/invoices/" + id + "/submit/x",
			"/api/v1/client/invoices/" + id + "/Submit", "/API/v1/client/invoices", "/api/v1/client/invoices%00", "/%00",
			"/api/v1/client/%2e%2e/invoices", "/%2e%2e/%2e%2e/etc/passwd", "/api/v1/client/invoices;a=b",
			"/api/v1/client/invoices%3Fpage=1", "/api/v1/client/invoices%20", "/api/v1/client/invoices/{invoice_id}/",
			"/api/v1/client/%69nvoices", "/api/v1/client/invo\u00efces", "/%ff%fe", "/openapi.json/", "/openapi.yaml",
			"/openapi.json/..", "/healthz/", "/.git/config", "/debug/pprof/", "/metrics", "/" + strings.Repeat("a", 8<<10),
			"/" + strings.Repeat("a/", 4<<10),
			strings.Repeat("/..", 2000),
			"http://other.example/no/such/path", "/api/v1/client/invoices/" + id + "/" + strings.Repeat("%2e", 1000)} {
			for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodDelete} {
				if a := s.raw(t, method, path); a.status != http.StatusNotFound {
					t.Errorf("%s %.100s answered %d: %.200s", method, path, a.status, a.text)
				}
			}
			if a := s.raw(t, http.MethodHead, path); a.status != http.StatusNotFound {
				t.Errorf("HEAD %.100s answered %d", path, a.status)
			}
		}
		if a := s.raw(t, http.MethodGet, s.base+"/healthz"); a.status != http.StatusOK {
			t.Errorf("the absolute form of a target answered %d", a.status)
		}
		if a := s.raw(t, http.MethodOptions, "*"); a.status != http.StatusNotFound {
			t.Errorf("OPTIONS * answered %d", a.status)
		}
	})
}

// TestHead checks that HEAD gets the same response as GET, without the body. Lists may grow between the two calls,
// because events and audit entries of earlier calls are recorded meanwhile, so calls whose responses differ are
// repeated.
func TestHead(t *testing.T) {
	onFirst(t, nil, func(t *testing.T, s *system) {
		s.offerPurchase(t)
		c := s.connected(t)
		for n := range operations {
			op := &operations[n]
			method, path, _ := strings.Cut(op.route, " ")
			if method != http.MethodGet {
				continue
			}
			if op.ids != nil {
				path = fill(path, op.ids(t, c))
			}
			if path == sessions {
				path += "?page=2&per_page=100" // each call begins a session
			}
			difference := ""
			for range 5 {
				if difference = c.compareHead(t, path); difference == "" {
					break
				}
			}
			if difference != "" {
				t.Error(difference)
			}
		}
		c.send(t, request{method: http.MethodHead, path: invoicesPath}).want(t, http.StatusUnauthorized, "")
	})
}

// compareHead calls GET and HEAD and describes how the responses differ. It returns "" if they agree.
func (c *company) compareHead(t *testing.T, path string) string {
	t.Helper()
	get := c.get(t, path)
	head := c.send(t, request{method: http.MethodHead, path: path, token: c.token(t)})
	length := strconv.Itoa(len(get.text))
	if strings.HasSuffix(path, "/export") {
		length = get.header.Get("Content-Length") // a file is sent while its rows are read: only a short one has a length
	}
	if head.status != get.status || head.header.Get("Content-Length") != length ||
		head.header.Get("Content-Type") != get.header.Get("Content-Type") ||
		head.header.Get("ETag") != get.header.Get("ETag") {
		return fmt.Sprintf("%s: HEAD %d %v\nGET %d %v", path, head.status, head.header, get.status, get.header)
	}
	return ""
}

// TestErrorMessagesAreUnique checks that every code has an error status and a message of its own, which is a sentence.
func TestErrorMessagesAreUnique(t *testing.T) {
	messages := map[string]api.Code{}
	for _, code := range problem.Codes() {
		entry := problem.For(code)
		if entry.Status() < 400 || entry.Status() > 599 || !strings.HasSuffix(entry.Error(), ".") {
			t.Errorf("%s: %d %q", code, entry.Status(), entry.Error())
		}
		if other, twice := messages[entry.Error()]; twice {
			t.Errorf("%s and %s have the same message", code, other)
		}
		messages[entry.Error()] = code
	}
}
