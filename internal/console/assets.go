package console

import (
	"embed"
	"fmt"
	"net/http"
	"path"

	"quittance/internal/asset"
)

// The style sheet, the scripts and the icon. static/VENDORED.md lists the vendored files.
//
//go:embed static/console.css static/console.js static/htmx.min.js static/icon.svg
var static embed.FS

// assetsPath is the prefix of the paths of assets.
const assetsPath = "/assets/"

// assetFiles holds the assets by path, and their paths by name.
type assetFiles struct {
	byPath map[string]asset.File
	paths  map[string]string
}

func newAssets() (*assetFiles, error) {
	a := &assetFiles{byPath: map[string]asset.File{}, paths: map[string]string{}}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	entries, err := static.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	for _, entry := range entries {
		name := entry.Name()
		text, err := static.ReadFile("static/" + name)
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		file, err := asset.Pack(text, types[path.Ext(name)])
		if err != nil {
			return nil, fmt.Errorf("console: %s: %w", name, err)
		}
		a.paths[name] = file.Path(assetsPath, name)
		a.byPath[a.paths[name]] = file
	}
	return a, nil
}

// path returns the path of an asset by its name.
func (a *assetFiles) path(name string) (string, error) {
	at, ok := a.paths[name]
	if !ok {
		return "", fmt.Errorf("console: no asset %q", name)
	}
	return at, nil
}

// serve responds with an asset. It requires no login, because the login page uses assets as well.
func (a *assetFiles) serve(w http.ResponseWriter, r *http.Request) {
	found, ok := a.byPath[r.URL.EscapedPath()]
	secureHeaders(w.Header())
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, http.StatusText(http.StatusNotFound), http.StatusNotFound)
		return
	}
	w.Header().Set("Cache-Control", asset.Immutable)
	found.Serve(w, r, http.StatusOK)
}
