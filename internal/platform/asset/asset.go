// Package asset serves static files that are part of the program or are made when it starts, such as style sheets,
// scripts and pages.
//
// Its invariants: a path with a tag always has the same bytes, so that browsers can cache it indefinitely; a file is
// compressed once, when a client that accepts gzip first asks for it, and keeps its plain text, so that other clients
// cost no decompression; an answer contains nothing that the client sent.
//
// Start reading at [New] and [File.Serve].
package asset

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"strconv"
	"strings"
	"sync"
)

// Immutable is the Cache-Control header for the paths of [File.Path], and Revalidate that for files that may change.
const (
	Immutable  = "public, max-age=31536000, immutable"
	Revalidate = "no-cache"
)

// File is a static file. [New] makes one.
type File struct {
	text           []byte
	packed         func() []byte // the text, compressed with gzip
	mediaType, tag string
}

// New returns a file with the given text and a media type such as text/css; charset=utf-8.
func New(text []byte, mediaType string) File {
	sum := sha256.Sum256(text)
	return File{text: text, packed: sync.OnceValue(func() []byte { return compress(text) }), mediaType: mediaType,
		tag: hex.EncodeToString(sum[:8])}
}

// compress returns a text compressed with gzip. Writing to a buffer does not fail.
func compress(text []byte) []byte {
	var packed bytes.Buffer
	writer := gzip.NewWriter(&packed)
	_, _ = writer.Write(text)
	_ = writer.Close()
	return packed.Bytes()
}

// Path returns the path of the file below a prefix that ends with a slash. It contains the tag, which changes with the
// bytes.
func (f File) Path(prefix, name string) string { return prefix + f.tag + "/" + name }

// Serve answers with the file, or with 304 if the status is 200 and the client has the file. The caller sets the
// headers for security and caching. Serve ignores write errors, because a client may disconnect.
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
	body := f.text
	if AcceptsGzip(r.Header.Get("Accept-Encoding")) {
		header.Set("Content-Encoding", "gzip")
		body = f.packed()
	}
	header.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	_, _ = w.Write(body)
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
