package docs_test

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"golang.org/x/net/html"

	"quittance"
	"quittance/internal/front/docs"
	"quittance/internal/front/server"
)

// paths lists all pages.
var paths = slices.Concat(referencePaths, guidePaths())

// guideFiles returns the documents that have a page: all but those for readers of the source.
func guideFiles() (names []string) {
	err := fs.WalkDir(quittance.Documents(), ".", func(name string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() && !slices.Contains([]string{"docs/benchmarks.md", "docs/reliability.md"}, name) {
			names = append(names, name)
		}
		return err
	})
	if err != nil {
		panic(err)
	}
	return names
}

// guidePaths returns the paths of the pages of documents.
func guidePaths() (paths []string) {
	for _, name := range guideFiles() {
		paths = append(paths, strings.TrimSuffix(strings.Replace("/"+name, "/CHANGELOG", "/changelog", 1), ".md"))
	}
	return paths
}

// referencePaths lists the index and the pages of the reference.
var referencePaths = []string{
	"/docs", "/docs/reference", "/docs/reference/authentication", "/docs/reference/api-keys", "/docs/reference/users",
	"/docs/reference/invoices", "/docs/reference/credit-notes", "/docs/reference/incoming-e-invoices",
	"/docs/reference/customers-and-items", "/docs/reference/webhooks", "/docs/reference/audit-log",
	"/docs/reference/webhook-events", "/docs/reference/errors",
}

// quiet is a log that nobody reads.
var quiet = slog.New(slog.DiscardHandler)

func newSite() *docs.Site {
	return docs.New(quittance.Documents(), openapi, quiet)
}

// get requests a path of the site.
func get(site http.Handler, path string, header ...string) *http.Response {
	request := httptest.NewRequest(http.MethodGet, path, nil)
	for n := 0; n < len(header); n += 2 {
		request.Header.Set(header[n], header[n+1])
	}
	answer := httptest.NewRecorder()
	site.ServeHTTP(answer, request)
	return answer.Result()
}

func body(t *testing.T, response *http.Response) string {
	t.Helper()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// openapi returns the API document of the program.
var openapi = sync.OnceValues(func() ([]byte, error) { return server.OpenAPI("test") })

// element is an element of a page.
type element struct {
	name       string
	attributes map[string]string
	text       string // up to the next element
}

// parse parses a page and reports elements that are not closed in order.
func parse(t *testing.T, path, page string) []element {
	t.Helper()
	void := []string{"meta", "link", "br", "hr", "img", "input"}
	var open []string
	var out []element
	tokens := html.NewTokenizer(strings.NewReader(page))
	for {
		switch tokens.Next() {
		case html.ErrorToken:
			if !errors.Is(tokens.Err(), io.EOF) || len(open) > 0 {
				t.Fatalf("%s: %v, and open elements %v", path, tokens.Err(), open)
			}
			return out
		case html.StartTagToken:
			token := tokens.Token()
			e := element{name: token.Data, attributes: map[string]string{}}
			for _, a := range token.Attr {
				e.attributes[a.Key] = a.Val
			}
			out = append(out, e)
			if !slices.Contains(void, token.Data) {
				open = append(open, token.Data)
			}
		case html.EndTagToken:
			name := tokens.Token().Data
			if len(open) == 0 || open[len(open)-1] != name {
				t.Fatalf("%s: </%s> closes %v", path, name, open)
			}
			open = open[:len(open)-1]
		case html.TextToken:
			if len(out) > 0 {
				out[len(out)-1].text += string(tokens.Text())
			}
		case html.SelfClosingTagToken:
			t.Fatalf("%s: %s is no HTML", path, tokens.Raw())
		default: // the doctype
		}
	}
}

// Pages load nothing from other hosts, have no inline scripts or styles, and forbid both
// by policy.
func TestPagesLoadNothingForeign(t *testing.T) {
	site := newSite()
	for _, path := range paths {
		response := get(site, path)
		header := response.Header
		policy := header.Get("Content-Security-Policy")
		if response.StatusCode != http.StatusOK || !strings.HasPrefix(policy, "default-src 'none'; ") ||
			!strings.Contains(policy, "frame-ancestors 'none'") ||
			strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") ||
			header.Get("X-Content-Type-Options") != "nosniff" ||
			header.Get("Referrer-Policy") != "no-referrer" || header.Get("X-Frame-Options") != "DENY" ||
			header.Get("Content-Type") != "text/html; charset=utf-8" {
			t.Errorf("%s: %d %v", path, response.StatusCode, header)
		}
		for _, e := range parse(t, path, body(t, response)) {
			if e.name == "script" && strings.TrimSpace(e.text) != "" || e.name == "style" || e.name == "iframe" ||
				e.attributes["style"] != "" {
				t.Errorf("%s: <%s> %v %q", path, e.name, e.attributes, e.text)
			}
			for name, value := range e.attributes {
				if strings.HasPrefix(name, "on") {
					t.Errorf("%s: <%s %s>", path, e.name, name)
				}
				if fetched := name == "src" || name == "href" && e.name != "a"; fetched &&
					!strings.HasPrefix(value, "/docs/assets/") {
					t.Errorf("%s: <%s> fetches %s", path, e.name, value)
				}
			}
		}
	}
}

// Every link leads to a page, to a heading on it, to the API document, or to a known external site.
func TestLinksResolve(t *testing.T) {
	site := newSite()
	anchors := map[string]bool{"/openapi.json": true, "/collection.json": true}
	links := map[string][]string{}
	for _, path := range paths {
		anchors[path] = true
		for _, e := range parse(t, path, body(t, get(site, path))) {
			if id := e.attributes["id"]; id != "" {
				if anchors[path+"#"+id] {
					t.Errorf("%s: id %s is there twice", path, id)
				}
				anchors[path+"#"+id] = true
			}
			if href, ok := e.attributes["href"]; ok && e.name == "a" {
				links[path] = append(links[path], href)
			}
		}
	}
	for path, list := range links {
		for _, link := range list {
			target := link
			if strings.HasPrefix(link, "#") {
				target = path + link
			}
			if !anchors[target] && !strings.HasPrefix(link, "https://") {
				t.Errorf("%s links to %s", path, link)
			}
		}
	}
	if len(links["/docs/guide"]) < 20 {
		t.Errorf("only %d links", len(links["/docs/guide"]))
	}
}

// A guide cannot add HTML, a script link or a broken link to the site.
func TestHostileDocuments(t *testing.T) {
	with := func(text string) fs.FS {
		documents := fstest.MapFS{}
		for _, name := range guideFiles() {
			documents[name] = &fstest.MapFile{Data: []byte("# Title\n\n")}
		}
		documents["docs/guide.md"].Data = []byte("# Title\n\n" + text + "\n")
		return documents
	}
	site := docs.New(with("<script>alert(1)</script>\n\n<b onclick=x>b</b>\n\n| a |\n|:-:|\n| 1 |"), openapi, quiet)
	if page := body(t, get(site, "/docs/guide")); strings.Contains(page, "alert(") || strings.Contains(page, "onclick") ||
		strings.Contains(page, "style=") {
		t.Error(page)
	}
	for _, link := range []string{"nowhere.md", "javascript:alert(1)", "http://plain.example", "/docs/guide",
		"../README.md", "//elsewhere.example"} {
		if got := get(docs.New(with("[text]("+link+")"), openapi, quiet),
			"/docs/guide"); got.StatusCode != http.StatusInternalServerError {
			t.Errorf("a link to %s passes: %d", link, got.StatusCode)
		}
	}
	if got := get(docs.New(fstest.MapFS{}, openapi, quiet), "/docs"); got.StatusCode != http.StatusInternalServerError {
		t.Errorf("a site without documents: %d", got.StatusCode)
	}
	site = docs.New(with("[text](webhooks.md#a) [log](../CHANGELOG.md)"), openapi, quiet)
	if page := body(t, get(site, "/docs/guide")); !strings.Contains(page, `href="/docs/webhooks#a"`) ||
		!strings.Contains(page, `href="/changelog">log`) {
		t.Error(page)
	}
}

// Browsers may cache assets indefinitely under paths that change with their bytes, and must revalidate pages.
func TestCaching(t *testing.T) {
	site := newSite()
	assets := regexp.MustCompile(`/docs/assets/[0-9a-f]{16}/[\w.-]+`).FindAllString(body(t, get(site, "/docs/reference")),
		-1)
	if len(assets) != 3 {
		t.Fatal(assets)
	}
	for _, path := range append(assets, paths...) {
		response := get(site, path)
		tag, cache := response.Header.Get("ETag"), response.Header.Get("Cache-Control")
		if strings.HasPrefix(path, "/docs/assets/") != strings.Contains(cache, "immutable") || tag == "" ||
			response.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %v", path, response.StatusCode, response.Header)
		}
		for _, known := range []string{tag, `"other", ` + tag, strings.TrimPrefix(tag, "W/"), "*"} {
			again := get(site, path, "If-None-Match", known)
			if again.StatusCode != http.StatusNotModified || body(t, again) != "" || again.Header.Get("ETag") != tag {
				t.Errorf("%s with %s: %d", path, known, again.StatusCode)
			}
		}
		if again := get(site, path, "If-None-Match", `"other"`); again.StatusCode != http.StatusOK {
			t.Errorf("%s with another tag: %d", path, again.StatusCode)
		}
	}
}

// A client gets the same text with and without compression, and compression only if it accepts it.
func TestCompression(t *testing.T) {
	site := newSite()
	for accept, compressed := range map[string]bool{"": false, "gzip": true, "br, GZIP;q=0.5": true, "gzip;q=0": false,
		"gzip; q=0.0": false, "identity": false, "br": false} {
		response := get(site, "/docs/guide", "Accept-Encoding", accept)
		text := body(t, response)
		if got := response.Header.Get("Content-Encoding") == "gzip"; got != compressed ||
			response.Header.Get("Vary") != "Accept-Encoding" {
			t.Errorf("%q: compressed %v", accept, got)
		}
		if compressed {
			if response.Header.Get("Content-Length") != fmt.Sprint(len(text)) {
				t.Errorf("%q: %s bytes announced, %d sent", accept, response.Header.Get("Content-Length"), len(text))
			}
			text = unpack(t, []byte(text))
		}
		if text != body(t, get(site, "/docs/guide")) {
			t.Errorf("%q: another text", accept)
		}
	}
}

func unpack(t *testing.T, packed []byte) string {
	t.Helper()
	reader, err := gzip.NewReader(bytes.NewReader(packed))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(reader)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// An unknown path gets a page with a link to the documentation.
func TestUnknownPath(t *testing.T) {
	for _, path := range []string{"/docs/", "/docs/nothing", "/docs/assets/x", "/docs/%67uide", "/changelog/x"} {
		response := get(newSite(), path, "If-None-Match", "*")
		if text := body(t, response); response.StatusCode != http.StatusNotFound || !strings.Contains(text, `href="/docs"`) {
			t.Errorf("%s: %d %s", path, response.StatusCode, text)
		}
	}
}

// The paths of pages that were moved lead to the page that took their place.
func TestMovedPages(t *testing.T) {
	for from, to := range map[string]string{"/docs/install": "/docs/ops/install", "/docs/monitoring": "/docs/ops/monitor",
		"/docs/operators": "/docs/ops/operators"} {
		response := get(newSite(), from)
		if response.StatusCode != http.StatusMovedPermanently || response.Header.Get("Location") != to ||
			response.Header.Get("Content-Security-Policy") == "" {
			t.Errorf("%s: %d %v", from, response.StatusCode, response.Header)
		}
		if got := get(newSite(), to); got.StatusCode != http.StatusOK {
			t.Errorf("%s: %d", to, got.StatusCode)
		}
	}
}
