package docs

import (
	"strings"
)

// The kinds of what the search finds, as the page shows them.
const (
	kindOperation = "Operation"
	kindField     = "Field"
	kindError     = "Error"
	kindEvent     = "Event"
	kindPage      = "Reference"
	kindGuide     = "Guide"
)

// searchEntry is one entry of the search index. docs.js reads it.
type searchEntry struct {
	Kind  string `json:"k"`
	Title string `json:"t"`
	// Text is searched, too; its beginning is shown.
	Text string `json:"x,omitempty"`
	URL  string `json:"u"`
}

// search adds an entry to the index.
func (b *builder) search(kind, title, text, url string) {
	b.index = append(b.index, searchEntry{Kind: kind, Title: title, Text: text, URL: url})
}

// searchFields adds the fields of an object, nested ones included.
func (b *builder) searchFields(object string, fields []field, path string) {
	for _, f := range fields {
		b.search(kindField, strings.TrimPrefix(f.ID, object+"."), object, path+"#"+f.ID)
		b.searchFields(object, f.Fields, path)
	}
}
