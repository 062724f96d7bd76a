package ubl

import (
	"encoding/xml"
	"errors"
	"io"
	"iter"
)

// Tokens returns the start tags, end tags and texts of an XML document in their order. The text of an embedded file
// comes as it is in the document, undecoded. A token is valid until the next one. If the document is malformed, has a
// document type declaration or exceeds a limit, the last pair has an [Error]. Whether the document is an invoice is
// left to the caller.
func Tokens(document []byte) iter.Seq2[xml.Token, error] {
	return func(yield func(xml.Token, error) bool) {
		d, err := newDecoder(document)
		if err != nil {
			yield(nil, err)
			return
		}
		for {
			token, err := d.next()
			if errors.Is(err, io.EOF) {
				return
			}
			if !yield(token, err) || err != nil {
				return
			}
			if tag, ok := token.(xml.StartElement); !ok || prefixed(tag.Name) != embeddedFile {
				continue
			}
			if file := d.skipFile(); len(file) > 0 && !yield(xml.CharData(file), nil) {
				return
			}
		}
	}
}
