// Package asset serves static files that are part of the program or are made when it starts, such as style sheets, scripts
// and pages.
//
// Its invariants: a path with a tag always has the same bytes, so that browsers can cache it indefinitely; files are
// compressed once and served compressed to clients that accept gzip; files made by [Pack] also keep their plain text, so
// that other clients cost no decompression; an answer contains nothing that the client sent.
//
// Start reading at [Pack] and [File.Serve].
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// Immutable is the Cache-Control header for the paths of [File.Path], and Revalidate that for files that may change.
const (
	Immutable  = "public, max-age=31536000, immutable"
	Revalidate = "no-cache"
)

// File is a static file. The zero File is empty.
type File struct {
	packed         []byte
	text           []byte // nil if only the compressed bytes are kept
	mediaType, tag string
}

// Pack returns a file with the given text and a media type such as text/css; charset=utf-8.
func Pack(text []byte, mediaType string) (File, error) {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	if _, err := writer.Write(text); err != nil {
		return File{}, fmt.Errorf("asset: compress: %w", err)
	}
	if err := writer.Close(); err != nil {
		return File{}, fmt.Errorf("asset: compress: %w", err)
	}
	file := Packed(packed.Bytes(), mediaType)
	file.text = text
	return file, nil
}

// Packed returns a file whose bytes are already compressed with gzip.
func Packed(packed []byte, mediaType string) File {
	sum := sha256.Sum256(packed)
	return File{packed: packed, mediaType: mediaType, tag: hex.EncodeToString(sum[:8])}
}

// Path returns the path of the file below a prefix that ends with a slash. It contains the tag, which changes with the
// bytes.
func (f File) Path(prefix, name string) string { return prefix + f.tag + "/" + name }

// Serve answers with the file, or with 304 if the status is 200 and the client has the file. The caller sets the headers
// for security and caching. Serve ignores write errors, because a client may disconnect.
func (f File) Serve(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	// The tag is weak, because the bytes depend on the encoding (RFC 9110, section 8.8.3).
	header.Set("ETag", `W/"`+f.tag+`"`)
	if status == http.StatusOK && matches(r.Header.Get("If-None-Match"), f.tag) {
		w.WriteHeader(http.StatusNotModified)
		return
	}
	header.Set("Content-Type", f.mediaType)
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		header.Set("Content-Length", strconv.Itoa(len(f.packed)))
		w.WriteHeader(status)
		_, _ = w.Write(f.packed)
		return
	}
	if f.text != nil {
		header.Set("Content-Length", strconv.Itoa(len(f.text)))
		w.WriteHeader(status)
		_, _ = w.Write(f.text)
		return
	}
	text, err := gzip.NewReader(bytes.NewReader(f.packed))
	if err != nil {
		w.WriteHeader(http.StatusInternalServerError)
		return
	}
	w.WriteHeader(status)
	_, _ = io.Copy(w, text) //nolint:gosec // the bytes are part of the program, or were made by Pack
}

// matches reports whether If-None-Match contains the tag (RFC 9110, section 13.1.2).
func matches(header, tag string) bool {
	for candidate := range strings.SplitSeq(header, ",") {
		candidate = strings.TrimSpace(candidate)
		if candidate == "*" || strings.TrimPrefix(candidate, "W/") == `"`+tag+`"` {
			return true
		}
	}
	return false
}

// AcceptsGzip reports whether an Accept-Encoding header accepts gzip (RFC 9110, section 12.5.3).
func AcceptsGzip(header string) bool {
	for coding := range strings.SplitSeq(header, ",") {
		name, parameter, _ := strings.Cut(coding, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			weight, given := strings.CutPrefix(strings.TrimSpace(parameter), "q=")
			return !given || strings.Trim(weight, "0.") != ""
		}
	}
	return false
}
