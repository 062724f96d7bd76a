package asset

import (
	"bytes"
	"compress/gzip"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
)

// get requests a file with one header.
func get(t *testing.T, f File, status int, name, value string) *http.Response {
	t.Helper()
	request := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", http.NoBody)
	request.Header.Set(name, value)
	recorder := httptest.NewRecorder()
	f.Serve(recorder, request, status)
	return recorder.Result()
}

// TestServe: clients that accept gzip get the compressed bytes, and others the text. Both have the same weak tag. A
// client that has the file gets 304, unless the status is an error.
func TestServe(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("p { color: red }\n", 100)
	f := New([]byte(text), "text/css; charset=utf-8")
	for _, accept := range []string{"gzip", "br, GZIP;q=0.5", "", "identity", "gzip;q=0"} {
		response := get(t, f, http.StatusOK, "Accept-Encoding", accept)
		body, err := io.ReadAll(response.Body)
		if err != nil {
			t.Fatal(err)
		}
		if packed := response.Header.Get("Content-Encoding") == "gzip"; packed {
			if response.Header.Get("Content-Length") != strconv.Itoa(len(body)) || len(body) >= len(text) {
				t.Errorf("%q: %d bytes, Content-Length %s", accept, len(body), response.Header.Get("Content-Length"))
			}
			reader, err := gzip.NewReader(bytes.NewReader(body))
			if err != nil {
				t.Fatal(err)
			}
			if body, err = io.ReadAll(reader); err != nil {
				t.Fatal(err)
			}
		}
		if string(body) != text || response.StatusCode != http.StatusOK ||
			response.Header.Get("Content-Type") != "text/css; charset=utf-8" ||
			response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: %d %v with %d bytes", accept, response.StatusCode, response.Header, len(body))
		}
	}
	tag := get(t, f, http.StatusOK, "Accept-Encoding", "").Header.Get("ETag")
	for header, status := range map[string]int{tag: http.StatusNotModified,
		strings.TrimPrefix(tag, "W/"): http.StatusNotModified, "*": http.StatusNotModified,
		`"x", ` + tag: http.StatusNotModified, `"x"`: http.StatusOK, "": http.StatusOK} {
		if got := get(t, f, http.StatusOK, "If-None-Match", header); got.StatusCode != status ||
			got.Header.Get("ETag") != tag {
			t.Errorf("If-None-Match %s: %d %s", header, got.StatusCode, got.Header.Get("ETag"))
		}
	}
	if got := get(t, f, http.StatusNotFound, "If-None-Match", tag); got.StatusCode != http.StatusNotFound {
		t.Errorf("an error with a matching tag: %d", got.StatusCode)
	}
}

// TestPath: other bytes have another path.
func TestPath(t *testing.T) {
	t.Parallel()
	one, two := New([]byte("one"), "text/plain"), New([]byte("two"), "text/plain")
	if again := New([]byte("one"), "text/css"); again.Path("/a/", "x.css") != one.Path("/a/", "x.css") {
		t.Errorf("the same bytes at %s and %s", again.Path("/a/", "x.css"), one.Path("/a/", "x.css"))
	}
	if at := one.Path("/a/", "x.css"); at == two.Path("/a/", "x.css") || !strings.HasPrefix(at, "/a/") ||
		!strings.HasSuffix(at, "/x.css") {
		t.Errorf("other bytes at %s", at)
	}
}

// TestAcceptsGzip: a coding is accepted unless its weight is 0.
func TestAcceptsGzip(t *testing.T) {
	t.Parallel()
	for header, want := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false,
		"gzip; q=0.0": false, "gzip;q=0.001": true, "identity": false, "br": false, "deflate,gzip , br": true,
		"xgzip": false} {
		if got := AcceptsGzip(header); got != want {
			t.Errorf("%q: %v", header, got)
		}
	}
}
