package tabular

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// The limits of an XLSX file beside those of every file. Each is checked while a part is read, before anything is
// made of it.
const (
	// maxParts is how many parts the archive may have, and maxNamed how many worksheets and relationships a part may name.
	maxParts = 10_000
	maxNamed = 1_000
	// maxStyles is how many formats of cells and of numbers a workbook may have. Excel allows 65,490.
	maxStyles = 70_000
	// maxShared is the largest size in bytes of the texts that cells share.
	maxShared = 32 << 20
	// lastRow is the number of the last row of a worksheet.
	lastRow = 1 << 20
)

// The rules that a cell of an XLSX file can break.
const (
	ruleFormula = "formula_without_value"
	ruleError   = "error_value"
	ruleDigits  = "too_many_digits"
)

// unreadable is the error for a file that is no workbook.
func unreadable() error {
	return &Error{Rule: ruleFormat, Message: "is not a readable XLSX workbook: " +
		"open it in a spreadsheet program and save it as XLSX again"}
}

// unreadableUnless returns the error of a context that has ended, otherwise that for a file that is no workbook.
func unreadableUnless(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("read a workbook: %w", err)
	}
	return unreadable()
}

// tooMany is the error for a file with more than a limit allows.
func tooMany(most int, what string) error {
	return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d %s", most, what)}
}

// book is a workbook. Only the parts are read that a worksheet needs: relationships, workbook, number formats, shared
// texts, and the worksheet itself (ECMA-376, part 1, clause 18, and part 2 for the archive).
type book struct {
	budget *budget
	// parts are the parts of the archive by their names in lower case.
	parts map[string]*zip.File
	// from1904 reports that days count from 1 January 1904.
	from1904 bool
	sheets   []sheet
	// formats are those of the cells by the number of their style.
	formats []format
	shared  sharedTexts
}

// sheet is a worksheet that a workbook names.
type sheet struct {
	name, part string
	hidden     bool
}

// readXLSX reads a worksheet of a workbook: the one of the name, or the first that is visible.
func readXLSX(ctx context.Context, file []byte, name string) (*Table, error) {
	parts, err := partsOf(ctx, file)
	if err != nil {
		return nil, err
	}
	b := &book{parts: parts, budget: &budget{ctx: ctx, bytes: MaxUnpacked, elements: maxElements}}
	if err := b.readWorkbook(); err != nil {
		return nil, err
	}
	at := slices.IndexFunc(b.sheets, func(s sheet) bool { return strings.EqualFold(s.name, name) })
	switch {
	case name == "":
		at = max(0, slices.IndexFunc(b.sheets, func(s sheet) bool { return !s.hidden }))
	case at < 0:
		return nil, &Error{Rule: ruleSheet, Message: fmt.Sprintf("has no worksheet %q", name)}
	}
	if len(b.sheets) == 0 {
		return nil, unreadable()
	}
	r := &sheetReader{book: b, table: &Table{Sheet: b.sheets[at].name}}
	if err := r.read(b.sheets[at].part); err != nil {
		return nil, err
	}
	return r.table.checked()
}

// partsOf returns the parts of an archive by their names in lower case. Their sizes are those that the archive
// states, so they are not believed.
func partsOf(ctx context.Context, file []byte) (map[string]*zip.File, error) {
	// Each entry of the directory begins like this. The library makes something much larger of each.
	if bytes.Count(file, []byte("PK\x01\x02")) > maxParts {
		return nil, tooMany(maxParts, "parts")
	}
	archive, err := zip.NewReader(cancelled{ctx, bytes.NewReader(file)}, int64(len(file)))
	if err != nil {
		return nil, unreadableUnless(ctx)
	}
	parts := make(map[string]*zip.File, len(archive.File))
	for _, part := range archive.File {
		name := partName("", part.Name)
		if parts[name] != nil { // programs differ in which of two they read
			return nil, unreadable()
		}
		parts[name] = part
	}
	return parts, nil
}

// cancelled is a file that is no longer read when the context has ended. A part that unpacks to nothing keeps the
// library busy without returning.
type cancelled struct {
	ctx  context.Context //nolint:containedctx // io.ReaderAt has no parameter for it
	file *bytes.Reader
}

// ReadAt implements [io.ReaderAt].
func (c cancelled) ReadAt(into []byte, at int64) (int, error) {
	if err := c.ctx.Err(); err != nil {
		return 0, err //nolint:wrapcheck // whoever reads says what
	}
	return c.file.ReadAt(into, at) //nolint:wrapcheck // likewise
}

// partName returns the name of the part that a target names in a part of a directory. Some programs write backslashes.
func partName(directory, target string) string {
	target = strings.ToLower(strings.ReplaceAll(target, `\`, "/"))
	if !strings.HasPrefix(target, "/") {
		target = directory + "/" + target
	}
	return strings.TrimPrefix(path.Clean("/"+target), "/")
}

// relation says which part another one uses, and as what: the last element of the type's address.
type relation struct{ kind, part string }

// relations are those of a part by their identifiers, and the first part of each kind.
type relations struct {
	byID  map[string]relation
	first map[string]string
}

// relations returns those of a part, or of the archive for "".
func (b *book) relations(name string) (relations, error) {
	directory, base := path.Split(name)
	directory = strings.TrimSuffix(directory, "/")
	out := relations{map[string]relation{}, map[string]string{}}
	err := b.elements(path.Join(directory, "_rels", base+".rels"), func(_ *part, e xml.StartElement) error {
		if e.Name.Local != "Relationship" || attribute(e, "TargetMode") == "External" {
			return nil
		}
		id, kind := attribute(e, "Id"), attribute(e, "Type")
		switch _, repeated := out.byID[id]; {
		case repeated:
			return unreadable()
		case len(out.byID) == maxNamed:
			return tooMany(maxNamed, "relationships")
		}
		r := relation{kind[strings.LastIndex(kind, "/")+1:], partName(directory, attribute(e, "Target"))}
		if out.byID[id] = r; out.first[r.kind] == "" {
			out.first[r.kind] = r.part
		}
		return nil
	})
	return out, err
}

// readWorkbook reads what the worksheets share.
func (b *book) readWorkbook() error {
	of, err := b.relations("")
	if err != nil {
		return err
	}
	workbook := of.first["officeDocument"]
	if of, err = b.relations(workbook); err != nil {
		return err
	}
	err = b.elements(workbook, func(p *part, e xml.StartElement) error {
		switch e.Name.Local {
		case "workbookPr":
			b.from1904 = isTrue(attribute(e, "date1904"))
		case "sheets":
			return p.children(func(e xml.StartElement) error { return b.readSheet(e, of) })
		}
		return nil
	})
	if err != nil {
		return err
	}
	if styles := of.first["styles"]; styles != "" {
		if b.formats, err = b.readFormats(styles); err != nil {
			return err
		}
	}
	if shared := of.first["sharedStrings"]; shared != "" {
		return b.elements(shared, b.readShared)
	}
	return nil
}

// readSheet reads the name of a sheet in the workbook. One that is no worksheet, such as a chart, is left out.
func (b *book) readSheet(e xml.StartElement, of relations) error {
	r := of.byID[relationOf(e)]
	if e.Name.Local != "sheet" || r.kind != "worksheet" {
		return nil
	}
	if len(b.sheets) == maxNamed {
		return tooMany(maxNamed, "worksheets")
	}
	state := attribute(e, "state")
	b.sheets = append(b.sheets, sheet{attribute(e, "name"), r.part, state == "hidden" || state == "veryHidden"})
	return nil
}

// isTrue reports whether an attribute is true as XML Schema writes it.
func isTrue(text string) bool { return text == "1" || text == "true" }

// sharedTexts are the texts that cells name by their number: one text, and where each of them ends.
type sharedTexts struct {
	text strings.Builder
	ends []int
}

// at returns a text; false if there is none of the number.
func (s *sharedTexts) at(number string) (string, bool) {
	n, err := strconv.Atoi(number)
	if err != nil || n < 0 || n >= len(s.ends) {
		return "", false
	}
	start := 0
	if n > 0 {
		start = s.ends[n-1]
	}
	return s.text.String()[start:s.ends[n]], true
}

// readShared reads an element of the shared texts.
func (b *book) readShared(p *part, e xml.StartElement) error {
	if e.Name.Local != "si" {
		return nil
	}
	text, err := p.richText()
	if err != nil {
		return err
	}
	if b.shared.text.Len()+len(text) > maxShared {
		return &Error{Rule: ruleSize, Message: fmt.Sprintf("must have at most %d MiB of texts", maxShared>>20)}
	}
	b.shared.text.WriteString(text)
	b.shared.ends = append(b.shared.ends, b.shared.text.Len())
	return nil
}
