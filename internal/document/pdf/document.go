package pdf

import (
	"context"
	"fmt"
	"runtime/debug"
	"strings"
	"time"

	"quittance/client/api"
)

// Document is what is printed.
type Document struct {
	// Content is the invoice or credit note in the terms of EN 16931. Amounts that are nil are shown as unknown.
	Content *api.ParsedDocument
	// Mark is shown beside the title, such as the state of a draft; "" for none.
	Mark string
	// Logo is the seller's logo as a data URL, see [api.Profile]; "" for none.
	Logo string
	// File is attached; nil for none.
	File *File
}

// File is an attached file.
type File struct {
	// Name is the file name, which must be safe for a file system, and Description says what the file is.
	Name, Description, MediaType string
	Content                      []byte
	// Relationship says what the file is to the pages.
	Relationship Relationship
}

// Relationship is the relationship of an associated file (ISO 32000-2, table 43).
type Relationship string

// The relationships.
const (
	// Alternative is another form of the same document.
	Alternative Relationship = "Alternative"
	// Source is what the pages were made from.
	Source Relationship = "Source"
)

// Render returns a document as a PDF file. It stops with the error of ctx when that ends. A document of a thousand
// lines takes about a second and some ten megabytes.
func Render(ctx context.Context, d *Document) (_ []byte, err error) {
	defer func() {
		if fault := recover(); fault != nil {
			err = fmt.Errorf("pdf: panic: %v\n%s", fault, debug.Stack())
		}
	}()
	setter, err := newTypesetter()
	if err != nil {
		return nil, err
	}
	fonts := &embeddedFonts{}
	if fonts.files, err = typefaces(); err != nil {
		return nil, err
	}
	layout := &layout{sheet: sheet{typesetter: setter, ctx: ctx, fonts: fonts}, Document: d, p: d.Content,
		logo: readLogo(d.Logo)}
	layout.draw()
	if layout.err != nil {
		return nil, layout.err
	}
	m := metadata{title: strings.Join(strings.Fields(clean(title(d.Content)+" "+text(d.Content.Number))), " ")}
	if issued, err := time.Parse(time.DateOnly, text(d.Content.IssueDate)); err == nil {
		m.created = issued
	}
	return write(layout.pages, fonts, layout.logo, d.File, m)
}
