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
	"embed"
	"fmt"
	"html/template"
	"io/fs"
	"net/http"
	"path"
	"strings"

	"quittance/internal/asset"
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

// Site serves the documentation. It is safe for concurrent use.
type Site struct {
	resources map[string]resource
	missing   resource
}

// resource is one thing that is served.
type resource struct {
	asset.File
	policy, cache string
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
		file, err := asset.Pack(html.Bytes(), "text/html; charset=utf-8")
		return resource{file, policy, asset.Checked}, err
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
		file := asset.Packed(text, mediaType)
		if !packed {
			if file, err = asset.Pack(text, mediaType); err != nil {
				return nil, err
			}
		}
		links[name] = file.Path(assetsPath, name)
		s.resources[links[name]] = resource{file, guidePolicy, asset.ForEver}
	}
	return links, nil
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
	found.Serve(w, r, status)
}
