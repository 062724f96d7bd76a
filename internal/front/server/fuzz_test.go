package server_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"
	"unicode/utf8"
)

// FuzzBody posts any bytes to every operation that takes a body. No response is a server error, and a created invoice
// reads as in the response to its creation.
func FuzzBody(f *testing.F) {
	for _, body := range malformed[:40] {
		f.Add([]byte(body))
	}
	for _, body := range []string{complete, least, `{"url":"https://hooks.example.com/"}`, credentials("a@b.c", "p"),
		passwords("a", "b"), credit("x"), `{"items":null}`,
		`{"invoice_number":"\u202e","recipient_name":"\ud83d\ude00","currency":"JPY","issue_date":"0001-01-01","total_amount":-1e2,"items":[{"name":"\\","quantity":1e-6,"net_unit_price":0}]}`} {
		f.Add([]byte(body))
	}
	s := start(f, "sqlite", nil)
	c := s.company(f)
	token := c.token(f)
	draft := invoicesPath + "/" + c.draft(f, complete)
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, path := range []string{invoicesPath, invoicesPath + "/preflight", creditNotes, subscriptions, draft +
			"/submit"} {
			a := s.send(t, request{method: http.MethodPost, path: path, token: token, body: string(body)})
			if a.status >= http.StatusInternalServerError {
				t.Fatalf("%s answered %d to %q: %s", path, a.status, body, a.text)
			}
			if path == invoicesPath && a.status == http.StatusCreated {
				if read := s.send(t, request{method: http.MethodGet, path: path + "/" + a.textAt(t, "/data/id"),
					token: token}); read.text != a.text {
					t.Errorf("created %s\nread    %s", a.text, read.text)
				}
			}
		}
		if a := s.send(t, request{method: http.MethodPatch, path: draft, token: token,
			body: string(body)}); a.status >= http.StatusInternalServerError {
			t.Fatalf("a patch answered %d to %q: %s", a.status, body, a.text)
		}
	})
}

// FuzzQuery checks that the lists respond to any query with 200 or 400.
func FuzzQuery(f *testing.F) {
	for _, query := range []string{"", "page=1&per_page=1", "page=0", "page=1&page=2", "per_page=99999999999999999999",
		"page=%00", "page=%ff", "page=%zz", "a;b", "=", "&", "page=1e1", "invoice_number=%F0%9F%98%80", "submitted=true",
		"submitted=TRUE", "submission_state=", "receiver_state=accepted", "page=+1", "page=\xff", "after=1&limit=2",
		"after=-0", "state=failed", "event_id=0"} {
		f.Add(query)
	}
	s := start(f, "sqlite", nil)
	token := s.company(f).token(f)
	f.Fuzz(func(t *testing.T, query string) {
		if strings.ContainsFunc(query, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '#' }) {
			return // these characters end a query
		}
		for _, path := range []string{invoicesPath, "/api/v1/webhooks/events", deliveries, subscriptions, creditNotes,
			incomingPath} {
			a := s.send(t, request{method: http.MethodGet, path: path + "?" + query, token: token})
			if a.status != http.StatusOK && a.status != http.StatusBadRequest {
				t.Fatalf("%s?%q answered %d: %s", path, query, a.status, a.text)
			}
		}
	})
}

// FuzzPath checks that no path below the root of the API causes a server error.
func FuzzPath(f *testing.F) {
	for _, path := range []string{"", "client/invoices", "client/invoices/", "client//invoices",
		"client/invoices/x/submit", "client/../webhooks/subscriptions", "%2e%2e/", "client/invoices/%00",
		"client/invoices/00000000-0000-0000-0000-000000000000", "client/evidence/019f0000-0000-7000-8000-000000000000",
		"webhooks/deliveries/%ff", "client/invoices/\xc3\xa9", "client/invoices;x"} {
		f.Add(path)
	}
	s := start(f, "sqlite", nil)
	token := s.company(f).token(f)
	f.Fuzz(func(t *testing.T, path string) {
		path = "/api/v1/" + path
		if _, err := url.ParseRequestURI(path); err != nil || strings.ContainsAny(path, "?# ") || !utf8.ValidString(path) {
			return // net/http itself rejects such a request line
		}
		for _, method := range []string{http.MethodGet, http.MethodPost, http.MethodPatch, http.MethodDelete} {
			if a := s.send(t, request{method: method, path: path, token: token}); a.status >= http.StatusInternalServerError {
				t.Fatalf("%s %q answered %d: %s", method, path, a.status, a.text)
			}
		}
	})
}
