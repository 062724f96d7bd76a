package ubl

import (
	"bytes"
	"encoding/base64"
	"io"
	"strconv"

	"quittance/client/api"
)

// attachments reads the supporting documents. One without a file and without an address is a mere reference to an
// object.
func (doc *Document) attachments(r *reader, e *element) {
	doc.Attachments = []api.ParsedFile{}
	for _, one := range r.entries(e, "cac:AdditionalDocumentReference", "attachments") {
		const uri = "cac:Attachment/cac:ExternalReference/cbc:URI"
		embedded := one.child("cac:Attachment/" + embeddedFile)
		if embedded == nil && textOf(one.child(uri)) == "" {
			continue
		}
		n := node{in: r, e: one, at: "attachments[" + strconv.Itoa(len(doc.Attachments)) + "]."}
		file := api.ParsedFile{ID: strconv.Itoa(len(doc.Attachments) + 1)}
		n.text("cbc:ID", "reference", &file.Reference)
		n.prose("cbc:DocumentDescription", "description", &file.Description)
		n.text(uri, "url", &file.URL)
		var content []byte
		if embedded != nil {
			file.Name, file.MediaType = r.attribute(embedded, "filename"), r.attribute(embedded, "mimeCode")
			content = embedded.file
			if file.Size = fileSize(embedded); file.Size == nil {
				r.warn("attachments["+strconv.Itoa(len(doc.Attachments))+"]", "base64",
					"The embedded file is not valid base64 and cannot be downloaded.")
			}
		}
		doc.Attachments, doc.files = append(doc.Attachments, file), append(doc.files, content)
	}
}

// fileSize returns the size of an embedded file in bytes, and nil if its text is not base64 and nothing else.
func fileSize(e *element) *int64 {
	if e.text != "" || len(e.children) > 0 {
		return nil
	}
	size, err := io.Copy(io.Discard, decodeFile(e.file))
	if err != nil {
		return nil
	}
	return &size
}

// File returns the content of the attachment with an identifier; ok is false if there is none that can be read. The
// reader decodes while it is read, and needs little memory.
func (doc *Document) File(id string) (content io.Reader, ok bool) {
	for n, attachment := range doc.Attachments {
		if attachment.ID == id && attachment.Size != nil {
			return decodeFile(doc.files[n]), true
		}
	}
	return nil, false
}

// decodeFile decodes the text of an embedded file.
func decodeFile(text []byte) io.Reader {
	return base64.NewDecoder(base64.StdEncoding, &withoutSpace{text})
}

// withoutSpace reads a text without its white space and references to white space, which some programs write at the end
// of every line.
type withoutSpace struct{ rest []byte }

// Read implements [io.Reader].
func (w *withoutSpace) Read(into []byte) (n int, err error) {
	for n < len(into) && len(w.rest) > 0 {
		if skipped := spaceLength(w.rest); skipped > 0 {
			w.rest = w.rest[skipped:]
			continue
		}
		into[n], w.rest = w.rest[0], w.rest[1:]
		n++
	}
	if n == 0 && len(into) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// spaceLength returns the length of the white space or of the reference to it at the start of a text.
func spaceLength(text []byte) int {
	switch text[0] {
	case ' ', '\t', '\r', '\n':
		return 1
	case '&':
		for _, reference := range []string{"&#13;", "&#10;", "&#9;", "&#xD;", "&#xd;", "&#xA;", "&#xa;"} {
			if bytes.HasPrefix(text, []byte(reference)) {
				return len(reference)
			}
		}
	}
	return 0
}
