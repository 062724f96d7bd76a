package console

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"path"
	"strconv"
	"strings"
)

// The style sheet, the scripts and the icon. static/VENDORED.md says what is not ours.
//
//go:embed static/console.css static/console.js static/htmx.min.js static/icon.svg
var static embed.FS

// assetsPath begins the paths of assets. What follows is a digest of the bytes and their name, so that browsers may keep
// them for ever.
const assetsPath = "/assets/"

// assetFiles are the assets by path; only their compressed bytes are kept.
type assetFiles struct {
	byPath map[string]assetFile
	paths  map[string]string
}

type assetFile struct {
	packed    []byte
	mediaType string
}

func newAssets() (*assetFiles, error) {
	a := &assetFiles{byPath: map[string]assetFile{}, paths: map[string]string{}}
	types := map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
	entries, err := static.ReadDir("static")
	if err != nil {
		return nil, fmt.Errorf("console: %w", err)
	}
	for _, entry := range entries {
		text, err := static.ReadFile("static/" + entry.Name())
		if err != nil {
			return nil, fmt.Errorf("console: %w", err)
		}
		var packed bytes.Buffer
		writer := gzip.NewWriter(&packed)
		if _, err := writer.Write(text); err != nil {
			return nil, fmt.Errorf("console: compress: %w", err)
		}
		if err := writer.Close(); err != nil {
			return nil, fmt.Errorf("console: compress: %w", err)
		}
		sum := sha256.Sum256(text)
		at := assetsPath + hex.EncodeToString(sum[:8]) + "/" + entry.Name()
		a.byPath[at], a.paths[entry.Name()] = assetFile{packed.Bytes(), types[path.Ext(entry.Name())]}, at
	}
	return a, nil
}

// path is the path of an asset by its name; an unknown one is a mistake in a template.
func (a *assetFiles) path(name string) (string, error) {
	at, ok := a.paths[name]
	if !ok {
		return "", fmt.Errorf("console: no asset %q", name)
	}
	return at, nil
}

// serve answers with an asset. It needs nobody logged in: the login page looks the same.
func (a *assetFiles) serve(w http.ResponseWriter, r *http.Request) {
	found, ok := a.byPath[r.URL.EscapedPath()]
	header := w.Header()
	secureHeaders(header, false)
	if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
		http.Error(w, http.StatusText(http.StatusNotFound), http.StatusNotFound)
		return
	}
	header.Set("Cache-Control", "public, max-age=31536000, immutable")
	header.Set("Content-Type", found.mediaType)
	header.Set("Vary", "Accept-Encoding")
	if acceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", strconv.Itoa(len(found.packed)))
		_, _ = w.Write(found.packed)
		return
	}
	text, err := gzip.NewReader(bytes.NewReader(found.packed))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	_, _ = io.Copy(w, text) //nolint:gosec // the bytes are part of the program
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
