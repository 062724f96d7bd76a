// Package docs serves the documentation site: the API reference, the guides and the changelog.
//
// Its invariants: all pages are made when the server starts, from files that are part of the program, so that the server
// does not start with a broken page; no page loads anything from another host, has inline scripts or styles, or contains
// HTML of a guide; answers depend on the path alone.
//
// Start reading at [New], then render in markdown.go.
package docs

import (
	"bytes"
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"quittance/internal/asset"
)

// The files of the pages. Vendored files stay compressed; assets/VENDORED.md lists them.
//
//go:embed assets/page.html assets/docs.css assets/reference.css assets/reference.js
//go:embed assets/swagger-ui/swagger-ui-bundle.js.gz assets/swagger-ui/swagger-ui.css.gz
var assets embed.FS

// The paths that are not derived from the name of a guide.
const (
	indexPath     = "/docs"
	referencePath = "/docs/reference"
	changelogPath = "/changelog"
	assetsPath    = "/docs/assets/"
)

// The content security policies of the pages. Guides need only a style sheet. The reference runs the viewer, which fetches
// the API document, calls this server, and has icons in data URLs.
const (
	guidePolicy     = "default-src 'none'; style-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
	referencePolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)

// Site serves the documentation. It is safe for concurrent use.
type Site struct {
	resources map[string]resource
	missing   resource
}

// resource is a file with its headers.
type resource struct {
	asset.File
	policy, cache string
}

// New returns the site of some documents: CHANGELOG.md and the guides in docs. It fails when a document is missing or links
// to an unknown document.
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
		file, err := asset.Pack(html.Bytes(), "text/html; charset=utf-8")
		return resource{file, policy, asset.Revalidate}, err
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
	s.missing, err = show(page{Title: "Page not found"}, guidePolicy)
	return s, err
}

// addAssets adds the style sheets and scripts and returns their paths by name.
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
		file := asset.Packed(text, mediaType)
		if !packed {
			if file, err = asset.Pack(text, mediaType); err != nil {
				return nil, err
			}
		}
		links[name] = file.Path(assetsPath, name)
		s.resources[links[name]] = resource{file, guidePolicy, asset.Immutable}
	}
	return links, nil
}

// ServeHTTP answers a GET or HEAD request. Unknown paths get a page with status 404.
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
	found.Serve(w, r, status)
}
