// Package docs serves the documentation site: the API reference, the guides and the changelog.
//
// Its invariants: the guides and the reference are made when somebody first asks for one, of files that are part of the
// program and of the OpenAPI document, so that a server that nobody asks spends nothing on them; a test makes every
// guide, so that no release has a broken one; no page loads anything from another host, has inline scripts or styles,
// or contains HTML of a document; answers depend on the path alone; every page but the search works without scripts.
//
// Start reading at [New], then render in markdown.go, and builder.referencePages in reference.go.
package docs

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"html/template"
	"io/fs"
	"log/slog"
	"maps"
	"net/http"
	"strings"
	"sync"

	"quittance/internal/platform/asset"
)

// The files of the pages.
//
//go:embed assets/*.html assets/*.css assets/*.js
var assets embed.FS

// The paths that are not derived from the name of a guide.
const (
	indexPath     = "/docs"
	referencePath = "/docs/reference"
	searchPath    = "/docs/search.json"
	changelogPath = "/changelog"
	assetsPath    = "/docs/assets/"
)

// policy is the content security policy of the pages: a style sheet, and a script that fetches the search index.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// Site serves the documentation. It is safe for concurrent use.
type Site struct {
	// guides returns the pages of the guides, with the style sheets and scripts, and reference those of the reference and
	// the search index. They are made at the first call.
	guides, reference func() (map[string]resource, error)
	log               *slog.Logger
}

// missingPath is the key of the page for unknown paths, which no request has.
const missingPath = ""

// resource is a file with its Cache-Control header.
type resource struct {
	asset.File
	cache string
}

// builder makes the pages.
type builder struct {
	layout *template.Template
	groups []group
	// advice are the causes of each error code and what to do.
	advice map[string]advice
	api    *apiDocument
	index  []searchEntry
}

// New returns a site with some documents, CHANGELOG.md and the guides in docs, and with the reference of an OpenAPI
// document. If the pages cannot be made, because a document is missing or links to an unknown one, this is logged, and
// they answer with 500.
func New(documents fs.FS, openapi func() ([]byte, error), log *slog.Logger) *Site {
	b := &builder{}
	guides := sync.OnceValues(func() (map[string]resource, error) { return b.makeGuides(documents) })
	return &Site{log: log, guides: guides, reference: sync.OnceValues(func() (map[string]resource, error) {
		if _, err := guides(); err != nil {
			return nil, err
		}
		text, err := openapi()
		if err != nil {
			return nil, err
		}
		return b.reference(text)
	})}
}

// makeGuides returns the pages of documents, the index, the page for unknown paths, and the style sheets and scripts by
// path.
func (b *builder) makeGuides(documents fs.FS) (map[string]resource, error) {
	out := map[string]resource{}
	links, err := addAssets(out)
	if err != nil {
		return nil, err
	}
	b.layout, err = template.New("page.html").Funcs(
		template.FuncMap{"asset": func(name string) string { return links[name] }}).ParseFS(assets, "assets/*.html")
	if err != nil {
		return nil, fmt.Errorf("docs: %w", err)
	}
	if b.groups, b.advice, err = render(documents); err != nil {
		return nil, err
	}
	pages := []page{{Path: indexPath, Title: "Documentation", Cards: true}, {Path: missingPath, Title: "Page not found"}}
	for _, g := range b.groups {
		pages = append(pages, g.Pages...)
	}
	for _, p := range pages {
		if out[p.Path], err = b.show(p, nil); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// show returns a page in the layout. chapters are the pages of the reference.
func (b *builder) show(p page, chapters []page) (resource, error) {
	var html bytes.Buffer
	if err := b.layout.Execute(&html, view{page: p, Groups: b.groups, Chapters: chapters}); err != nil {
		return resource{}, fmt.Errorf("docs: %s: %w", p.Path, err)
	}
	return resource{asset.New(html.Bytes(), "text/html; charset=utf-8"), asset.Revalidate}, nil
}

// reference returns the pages of the reference and the search index by path.
func (b *builder) reference(openapi []byte) (map[string]resource, error) {
	var err error
	if b.api, err = readAPI(openapi); err != nil {
		return nil, err
	}
	for _, g := range b.groups {
		for _, guide := range g.Pages {
			b.search(kindGuide, guide.Title, guide.About, guide.Path)
			for _, s := range guide.Sections {
				b.search(kindGuide, s.Title, guide.Title, guide.Path+"#"+s.ID)
			}
		}
	}
	chapters, err := b.referencePages()
	if err != nil {
		return nil, err
	}
	out := map[string]resource{}
	for _, p := range chapters {
		if out[p.Path], err = b.show(p, chapters); err != nil {
			return nil, err
		}
	}
	index, err := json.Marshal(b.index)
	if err != nil {
		return nil, fmt.Errorf("docs: search index: %w", err)
	}
	out[searchPath] = resource{asset.New(index, "application/json"), asset.Revalidate}
	b.api, b.index = nil, nil // the site keeps its pages alone
	return out, nil
}

// addAssets adds the style sheets and scripts to resources by path, and returns their paths by name.
func addAssets(to map[string]resource) (map[string]string, error) {
	links := map[string]string{}
	for name, mediaType := range map[string]string{
		"docs.css":      "text/css; charset=utf-8",
		"reference.css": "text/css; charset=utf-8",
		"docs.js":       "text/javascript; charset=utf-8",
	} {
		text, err := assets.ReadFile("assets/" + name)
		if err != nil {
			return nil, fmt.Errorf("docs: %w", err)
		}
		file := asset.New(text, mediaType)
		links[name] = file.Path(assetsPath, name)
		to[links[name]] = resource{file, asset.Immutable}
	}
	return links, nil
}

// find returns the resource at a path, and its status.
func (s *Site) find(path string) (resource, int, error) {
	guides, err := s.guides()
	pages := guides
	if err == nil && (path == referencePath || path == searchPath || strings.HasPrefix(path, referencePath+"/")) {
		pages, err = s.reference()
	}
	if err != nil {
		return resource{}, http.StatusInternalServerError, err
	}
	if found, ok := pages[path]; ok && path != missingPath {
		return found, http.StatusOK, nil
	}
	return guides[missingPath], http.StatusNotFound, nil
}

// ServeHTTP answers a GET or HEAD request. Unknown paths get a page with status 404, and those of pages that were moved
// a redirect.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	header := w.Header()
	maps.Copy(header, http.Header{"Content-Security-Policy": {policy}, "X-Frame-Options": {"DENY"},
		"X-Content-Type-Options": {"nosniff"}, "Referrer-Policy": {"no-referrer"}})
	if to, found := moved[r.URL.EscapedPath()]; found {
		http.Redirect(w, r, to, http.StatusMovedPermanently)
		return
	}
	found, status, err := s.find(r.URL.EscapedPath())
	if err != nil {
		s.log.ErrorContext(r.Context(), "cannot make the documentation", "error", err)
		http.Error(w, "An internal error occurred.", status)
		return
	}
	header.Set("Cache-Control", found.cache)
	found.Serve(w, r, status)
}
