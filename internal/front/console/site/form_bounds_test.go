package site_test

import (
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/ops/service"
)

// many returns a form with the given number of fields.
func many(fields int) string {
	form := url.Values{}
	for n := range fields {
		form.Add("items.name", fmt.Sprintf("line %d", n))
	}
	return form.Encode()
}

// TestFormsAreBounded checks that forms have one media type and bounded sizes and numbers of fields. Only a POST has a
// form.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	stranger, user := s.visitor(t), s.loggedIn(t)
	const multipart = "multipart/form-data; boundary=x"
	file := "--x\r\nContent-Disposition: form-data; name=\"email\"; filename=\"f\"\r\n\r\n" +
		strings.Repeat("y", 100<<10) + "\r\n--x--\r\n"
	for _, test := range []struct {
		name, method, path, mediaType, body string
		who                                 *visitor
		status                              int
	}{
		{"a file for a page", http.MethodGet, "/login", multipart, file, stranger, http.StatusOK},
		{"a form for a page", http.MethodGet, "/login", "application/x-www-form-urlencoded", "next=%2Faccount", stranger,
			http.StatusOK},
		{"a file to the login", http.MethodPost, "/login", multipart, file, stranger, http.StatusUnsupportedMediaType},
		{"JSON to the login", http.MethodPost, "/login", "application/json", "{}", stranger, http.StatusUnsupportedMediaType},
		{"a long form to the login", http.MethodPost, "/login", "application/x-www-form-urlencoded",
			"email=" + strings.Repeat("x", 70<<10), stranger, http.StatusRequestEntityTooLarge},
		{"many fields to the login", http.MethodPost, "/login", "application/x-www-form-urlencoded", many(1_001), stranger,
			http.StatusBadRequest},
		{"a file for a draft", http.MethodPost, "/invoices/new", multipart, file, user, http.StatusUnsupportedMediaType},
		{"a file for a draft, logged out", http.MethodPost, "/invoices/new", multipart, file, stranger,
			http.StatusUnsupportedMediaType},
		{"too many fields for a draft", http.MethodPost, "/invoices/new", "application/x-www-form-urlencoded",
			many(1_000*(reflect.TypeFor[api.Item]().NumField()+2) + 7*console.MaxEntries + 1), user, http.StatusBadRequest},
	} {
		got := test.who.do(test.method, test.path, test.body, "Content-Type", test.mediaType)
		if got.status != test.status {
			t.Errorf("%s: %d, want %d", test.name, got.status, test.status)
		}
		if strings.Contains(got.body, `value="/account"`) {
			t.Errorf("%s: the body of a GET was read", test.name)
		}
	}
}

// TestPreservedFormsAreBounded checks that a form whose session has ended is preserved up to a size. Larger ones get a
// page that says what to do. Each counts against its source by its size.
func TestPreservedFormsAreBounded(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond, func(c *service.Config) { c.AnonymousRate = 40 })
	v := s.visitor(t)
	if got := v.do(http.MethodPost, "/invoices/new", many(2_400)); got.status != http.StatusUnauthorized ||
		strings.Count(got.body, "<textarea") != 2_400 {
		t.Errorf("a form of 200 lines: %d with %d fields", got.status, strings.Count(got.body, "<textarea"))
	}
	for name, body := range map[string]string{"fields": many(2_501),
		"bytes": "description=" + strings.Repeat("x", 130<<10)} {
		got := v.do(http.MethodPost, "/invoices/new", body)
		if got.status != http.StatusRequestEntityTooLarge || !strings.Contains(got.body, "too large to keep") ||
			!strings.Contains(got.body, "use your browser") || len(got.body) > 8<<10 {
			t.Errorf("a form with too many %s: %d with %d bytes", name, got.status, len(got.body))
		}
	}
	kept := 0
	for range 10 {
		got := v.do(http.MethodPost, "/invoices/new", many(2_400))
		if got.status == http.StatusTooManyRequests {
			break
		}
		kept++
	}
	if kept >= 4 {
		t.Errorf("%d large forms were accepted; want each to count as ten requests", kept)
	}
}
