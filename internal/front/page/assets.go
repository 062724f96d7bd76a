package page

import (
	"embed"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"regexp"

	"quittance/internal/platform/asset"
)

// The style sheet, the fonts, the scripts and the icons. static/VENDORED.md lists the vendored files.
//
//go:embed static/css/*.css static/fonts/*.woff2 static/console.js static/htmx.min.js static/*.svg
var static embed.FS

// styleSheet is the name of the style sheet, which is made of the files in static/css in the order of their names.
const styleSheet = "console.css"

// assetsPath is the prefix of the paths of assets.
const assetsPath = "/assets/"

// assetFiles holds the assets by path, and their paths by name.
type assetFiles struct {
	byPath map[string]asset.File
	paths  map[string]string
}

func newAssets() (*assetFiles, error) {
	a := &assetFiles{byPath: map[string]asset.File{}, paths: map[string]string{}}
	var style []byte
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		if path.Ext(name) == ".css" {
			style = append(style, text...)
			return nil
		}
		a.add(path.Base(name), text)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("page: %w", err)
	}
	if style, err = a.addressed(style); err != nil {
		return nil, err
	}
	a.add(styleSheet, style)
	return a, nil
}

// add adds an asset of the given name.
func (a *assetFiles) add(name string, text []byte) {
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8",
		".svg": "image/svg+xml", ".woff2": "font/woff2"}
	file := asset.New(text, types[path.Ext(name)])
	a.paths[name] = file.Path(assetsPath, name)
	a.byPath[a.paths[name]] = file
}

// addressed replaces every asset(NAME) of the style sheet with the address of that asset.
func (a *assetFiles) addressed(style []byte) ([]byte, error) {
	var failed error
	reference := regexp.MustCompile(`asset\(([^)]*)\)`)
	out := reference.ReplaceAllFunc(style, func(found []byte) []byte {
		at, err := a.path(string(reference.FindSubmatch(found)[1]))
		if err != nil {
			failed = err
		}
		return []byte(`url("` + at + `")`)
	})
	return out, failed
}

// path returns the path of an asset by its name.
func (a *assetFiles) path(name string) (string, error) {
	at, ok := a.paths[name]
	if !ok {
		return "", fmt.Errorf("page: no asset %q", name)
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
