package ubl

import (
	"bytes"
	"encoding/base64"
	"io"
	"regexp"
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
	return base64.NewDecoder(base64.StdEncoding, &base64Text{text})
}

// base64Text reads the characters of a text that mean something in base64. It leaves out white space, references to
// it, which some programs write at the end of every line, the marks of CDATA sections, comments and processing
// instructions.
type base64Text struct{ rest []byte }

// Read implements [io.Reader].
func (b *base64Text) Read(into []byte) (n int, err error) {
	for n < len(into) && len(b.rest) > 0 {
		character, length := characterOf(b.rest)
		if b.rest = b.rest[length:]; character != 0 {
			into[n] = character
			n++
		}
	}
	if n == 0 && len(into) > 0 {
		return 0, io.EOF
	}
	return n, nil
}

// reference matches a reference to a character at the start of a text.
var reference = regexp.MustCompile(`\A&#(?:([0-9]{1,3})|x([0-9A-Fa-f]{1,2}));`)

// characterOf returns the character at the start of a text, 0 if it means nothing, and the length of its markup.
func characterOf(text []byte) (character byte, length int) {
	switch text[0] {
	case ' ', '\t', '\r', '\n':
		return 0, 1
	case ']':
		if bytes.HasPrefix(text, []byte("]]>")) {
			return 0, len("]]>")
		}
	case '<':
		if open := "<![CDATA["; bytes.HasPrefix(text, []byte(open)) {
			return 0, len(open)
		}
		return 0, max(1, markupLength(text))
	case '&':
		found := reference.FindSubmatch(text)
		if found == nil {
			break
		}
		base, digits := 10, found[1]
		if len(digits) == 0 {
			base, digits = 16, found[2]
		}
		if code, err := strconv.ParseUint(string(digits), base, 8); err == nil {
			if code == ' ' || code == '\t' || code == '\r' || code == '\n' {
				code = 0
			}
			return byte(code), len(found[0])
		}
	}
	return text[0], 1
}
