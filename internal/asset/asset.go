// Package asset serves bytes that are part of the program: style sheets, scripts and pages that are made at the start.
//
// Its invariants: a path that holds a tag is of these bytes and no others, so that a browser may keep them for ever; files
// are compressed once, and go out as they are to whoever takes gzip, and those that anybody may ask for at any rate are not
// uncompressed anew for who does not; nothing that a caller sends is in an answer.
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

// ForEver is the Cache-Control of what stands at a path of [File.Path], Checked that of what may be something else tomorrow.
const (
	ForEver = "public, max-age=31536000, immutable"
	Checked = "no-cache"
)

// File is one thing that is served. The zero File serves nothing.
type File struct {
	packed         []byte
	text           []byte // nil when only the compressed bytes are kept
	mediaType, tag string
}

// Pack makes a file of text, of a media type such as text/css; charset=utf-8.
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

// Packed makes a file of bytes that are compressed with gzip already.
func Packed(packed []byte, mediaType string) File {
	sum := sha256.Sum256(packed)
	return File{packed: packed, mediaType: mediaType, tag: hex.EncodeToString(sum[:8])}
}

// Path is where a file stands below a prefix that ends with a slash: behind its tag, which changes with its bytes.
func (f File) Path(prefix, name string) string { return prefix + f.tag + "/" + name }

// Serve answers with the file, or with 304 when the status is 200 and the caller has it. The caller of Serve sets the
// headers that say how it may be used and kept. A client that hangs up is no failure of ours.
func (f File) Serve(w http.ResponseWriter, r *http.Request, status int) {
	header := w.Header()
	header.Set("Vary", "Accept-Encoding")
	// Weak, because the bytes differ with the encoding (RFC 9110, section 8.8.3).
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

// AcceptsGzip reads an Accept-Encoding header (RFC 9110, section 12.5.3).
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
