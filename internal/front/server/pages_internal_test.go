package server

import (
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance"
	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// documentation replaces the handler of the documentation. It responds with the path, and with 404 below /docs/none.
func documentation(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-cache")
	if strings.HasPrefix(r.URL.Path, "/docs/none") {
		w.WriteHeader(http.StatusNotFound)
	}
	fmt.Fprint(w, r.URL.Path)
}

// TestDocumentationIsServed checks that the documentation responds to GET and HEAD of its paths, and that all other
// requests go to the API, with its envelope and its order of errors. Each request has an id and a line in the log.
func TestDocumentationIsServed(t *testing.T) {
	var log strings.Builder
	running, _ := newTestServer(t, &log)
	bare := running.Config.Handler
	documented := *bare.(*Server)
	documented.Docs = http.HandlerFunc(documentation)
	for _, test := range []struct {
		handler      http.Handler
		method, path string
		status       int
		page         bool
	}{
		{&documented, http.MethodGet, "/docs", 200, true},
		{&documented, http.MethodGet, "/docs/guide", 200, true},
		{&documented, http.MethodHead, "/docs/guide", 200, true},
		{&documented, http.MethodGet, "/changelog", 200, true},
		{&documented, http.MethodGet, "/docs/none", 404, true},
		{&documented, http.MethodPost, "/docs", 405, false},
		{&documented, http.MethodDelete, "/changelog", 405, false},
		{&documented, http.MethodGet, "/docsx", 404, false},
		{&documented, http.MethodGet, "/changelog/x", 404, false},
		{&documented, http.MethodGet, "/%64ocs", 404, false},
		{&documented, http.MethodGet, "/api/v1/client/account", 401, false},
		{bare, http.MethodGet, "/docs", 404, false},
		{bare, http.MethodPost, "/changelog", 404, false},
	} {
		log.Reset()
		recorder := httptest.NewRecorder()
		request := httptest.NewRequest(test.method, test.path, nil)
		request.Header.Set(api.HeaderRequestID, "mine")
		test.handler.ServeHTTP(recorder, request)
		response := recorder.Result()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		name := test.method + " " + test.path
		if response.StatusCode != test.status || response.Header.Get(api.HeaderRequestID) != "mine" {
			t.Errorf("%s: %d %v", name, response.StatusCode, response.Header)
		}
		if page := string(text) == test.path; page != test.page ||
			page == strings.Contains(string(text), `{"error":{"code":`) {
			t.Errorf("%s: %s", name, text)
		}
		if allow := response.Header.Get("Allow"); (allow == "GET, HEAD") != (test.status == 405) {
			t.Errorf("%s: Allow: %q", name, allow)
		}
		wanted := fmt.Sprintf(`"status":%d,`, test.status)
		if line := log.String(); strings.Count(line, "\n") != 1 || !strings.Contains(line, wanted) ||
			test.page != strings.Contains(line, `"route":"/docs","`+wanted[1:]) ||
			test.page && !strings.Contains(line, fmt.Sprintf(`"bytes":%d,`, len(text))) ||
			!strings.Contains(line, `"request_id":"mine"`) {
			t.Errorf("%s: logged %s", name, line)
		}
	}
}

// TestGuideListsTheErrorCatalogue checks that the page about errors lists exactly the codes of the error catalogue,
// with their statuses.
func TestGuideListsTheErrorCatalogue(t *testing.T) {
	text, err := fs.ReadFile(quittance.Documents(), "docs/errors.md")
	if err != nil {
		t.Fatal(err)
	}
	listed := map[api.Code]bool{}
	for _, row := range regexp.MustCompile("(?m)^\\| ([0-9]{3}) \\| `([a-z_]+)` \\|").FindAllStringSubmatch(string(text),
		-1) {
		code := api.Code(row[2])
		known := problem.For(code)
		if known == nil || fmt.Sprint(known.Status()) != row[1] || listed[code] {
			t.Errorf("docs/errors.md has %s %s, which the catalogue has not", row[1], code)
		}
		listed[code] = true
	}
	for _, code := range problem.Codes() {
		kind := problem.For(code)
		if !listed[code] {
			t.Errorf("%d %s is not in docs/errors.md", kind.Status(), code)
		}
	}
}

// TestRootLeadsToTheDocumentation checks that a person who opens the address of the server without a console is
// redirected to the guides.
func TestRootLeadsToTheDocumentation(t *testing.T) {
	s := New(Config{Now: time.Now, Log: slog.New(slog.DiscardHandler), Docs: http.NotFoundHandler(), MaxBody: 1 << 20,
		Observe: func(string, string, int, time.Duration) {}})
	for _, path := range []string{"/", "/docs/"} {
		request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody)
		request.Header.Set(api.HeaderRequestID, "root-1")
		recorder := httptest.NewRecorder()
		s.ServeHTTP(recorder, request)
		if recorder.Code != http.StatusSeeOther || recorder.Header().Get("Location") != "/docs" ||
			recorder.Header().Get(api.HeaderRequestID) != "root-1" {
			t.Errorf("%s: %d to %q", path, recorder.Code, recorder.Header().Get("Location"))
		}
	}
}
