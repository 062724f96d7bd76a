// Package docs is the documentation site of a running server: the API reference, the guides and the changelog.
//
// Its invariants: everything is made when the server starts, from files that are part of the program, so that a page
// that cannot be made is a server that does not start; no page asks anything of another host, holds a script or a style
// of its own, or passes HTML of a guide through; and what it serves depends on nothing but the path.
//
// Start reading at [New], then render in markdown.go.
package docs

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"html/template"
	"io"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// The files of the pages themselves. What others wrote is kept compressed; assets/VENDORED.md says what it is.
//
//go:embed assets/page.html assets/docs.css assets/reference.css assets/reference.js
//go:embed assets/swagger-ui/swagger-ui-bundle.js.gz assets/swagger-ui/swagger-ui.css.gz
var assets embed.FS

// The paths that are not made of a guide's name.
const (
	indexPath     = "/docs"
	referencePath = "/docs/reference"
	changelogPath = "/changelog"
	assetsPath    = "/docs/assets/"
)

// The policies of the pages (Content Security Policy, level 3). A guide needs a style sheet and nothing else. The
// reference runs the viewer, which fetches the API document, tries calls on this server, and has its icons in data URLs.
const (
	guidePolicy     = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// How long a browser keeps what it got. The path of an asset changes with its bytes; a page is asked for again.
const (
	cacheForEver = "public, max-age=31536000, immutable"
	cacheChecked = "no-cache"
)

// Site serves the documentation. It is safe for concurrent use.
type Site struct {
	resources map[string]resource
	missing   resource
}

// resource is one thing that is served. Only its compressed bytes are kept.
type resource struct {
	packed                   []byte
	mediaType, policy, cache string
	tag                      string
}

// New makes the site of documents, which hold CHANGELOG.md and, under docs, the guides. It fails when one of them is
// not there, or links to a document that is none of them.
func New(documents fs.FS) (*Site, error) {
	s := &Site{resources: map[string]resource{}}
	links, err := s.addAssets()
	if err != nil {
		return nil, err
	}
	layout, err := template.New("page.html").Funcs(template.FuncMap{"asset": func(name string) string { return links[name] }}).ParseFS(assets, "assets/page.html")
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	pages, err := render(documents)
	if err != nil {
		return nil, err
	}
	show := func(p page, policy string) (resource, error) {
		var html bytes.Buffer
		if err := layout.Execute(&html, view{page: p, All: pages}); err != nil {
			return resource{}, fmt.Errorf("docs: %s: %w", p.Path, err)
		}
		packed, err := pack(html.Bytes())
		return newResource(packed, "text/html; charset=utf-8", policy, cacheChecked), err
	}
	for _, p := range pages {
		if s.resources[p.Path], err = show(p, guidePolicy); err != nil {
			return nil, err
		}
	}
	for _, p := range []page{
		{Path: indexPath, Title: "Documentation", Viewer: true, Cards: true},
		{Path: referencePath, Title: "API reference", Viewer: true},
	} {
		if s.resources[p.Path], err = show(p, referencePolicy); err != nil {
			return nil, err
		}
	}
	s.missing, err = show(page{Title: "There is nothing at this address"}, guidePolicy)
	return s, err
}

// addAssets adds the style sheets and scripts, and returns their paths by name.
func (s *Site) addAssets() (map[string]string, error) {
	links := map[string]string{}
	for name, mediaType := range map[string]string{
		"docs.css":                           "text/css; charset=utf-8",
		"reference.css":                      "text/css; charset=utf-8",
		"reference.js":                       "text/javascript; charset=utf-8",
		"swagger-ui/swagger-ui.css.gz":       "text/css; charset=utf-8",
		"swagger-ui/swagger-ui-bundle.js.gz": "text/javascript; charset=utf-8",
	} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		name, packed := strings.CutSuffix(path.Base(name), ".gz")
		if !packed {
			if text, err = pack(text); err != nil {
				return nil, err
			}
		}
		added := newResource(text, mediaType, guidePolicy, cacheForEver)
		links[name] = assetsPath + added.tag + "/" + name
		s.resources[links[name]] = added
	}
	return links, nil
}

func newResource(packed []byte, mediaType, policy, cache string) resource {
	sum := sha256.Sum256(packed)
	return resource{packed: packed, mediaType: mediaType, policy: policy, cache: cache, tag: hex.EncodeToString(sum[:8])}
}

// pack compresses text.
func pack(text []byte) ([]byte, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		return nil, fmt.Errorf("docs: compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("docs: compress: %w", err)
	}
	return packed.Bytes(), nil
}

// ServeHTTP answers a GET or HEAD of a path of the site; for any other path, with 404 and a page that says so.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := s.resources[r.URL.EscapedPath()]
	status := http.StatusOK
	if !ok {
		found, status = s.missing, http.StatusNotFound
	}
	header := w.Header()
	header.Set("Content-Security-Policy", found.policy)
	header.Set("X-Frame-Options", "DENY")
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", found.cache)
	header.Set("Vary", "Accept-Encoding")
	// Weak, because the bytes differ with the encoding (RFC 9110, section 8.8.3).
	header.Set("ETag", `W/"`+found.tag+`"`)
	if ok && matches(r.Header.Get("If-None-Match"), found.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", found.mediaType)
	found.send(w, status, acceptsGzip(r.Header.Get("Accept-Encoding")))
}

// send writes the body. A client that hangs up is no failure of ours.
func (found resource) send(w http.ResponseWriter, status int, compressed bool) {
	if compressed {
		w.Header().Set("Content-Encoding", "gzip")
		w.Header().Set("Content-Length", strconv.Itoa(len(found.packed)))
		w.WriteHeader(status)
		_, _ = w.Write(found.packed)
		return
	}
	plain, err := gzip.NewReader(bytes.NewReader(found.packed))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = io.Copy(w, plain) //nolint:gosec // the bytes are part of the program, or were made by pack
}

// matches tells whether If-None-Match names the tag (RFC 9110, section 13.1.2).
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == `"`+tag+`"` {
			return true
		}
	}
	return false
}

// acceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3).
func acceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight, given := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			return !given || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}
