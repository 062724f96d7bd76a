package tabular_test

import (
	"archive/zip"
	"bytes"
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"maps"
	"runtime"
	"runtime/metrics"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/internal/document/tabular"
	"quittance/test/kit"
)

// The parts of a small workbook.
const (
	rootPart     = "_rels/.rels"
	workbookPart = "xl/workbook.xml"
	relationPart = "xl/_rels/workbook.xml.rels"
	stylesPart   = "xl/styles.xml"
	sharedPart   = "xl/sharedStrings.xml"
	sheetPart    = "xl/worksheets/sheet1.xml"
)

// relationships returns a part of relationships: pairs of a type and a target, with the identifiers r1, r2 and so on.
func relationships(pairs ...string) string {
	var out strings.Builder
	out.WriteString(`<Relationships>`)
	for n := 0; n < len(pairs); n += 2 {
		fmt.Fprintf(&out,
			`<Relationship Id="r%d" Type="http://schemas.openxmlformats.org/officeDocument/2006/relationships/%s" Target="%s"/>`,
			n/2+1, pairs[n], pairs[n+1])
	}
	return out.String() + `</Relationships>`
}

// sheetOf returns a worksheet with rows.
func sheetOf(rows string) string {
	return `<worksheet><sheetData>` + rows + `</sheetData></worksheet>`
}

// inline returns a row of texts.
func inline(texts ...string) string {
	return `<row><c t="str"><v>` + strings.Join(texts, `</v></c><c t="str"><v>`) + `</v></c></row>`
}

// partsFile returns a workbook of one row whose parts are exchanged for others.
func partsFile(t testing.TB, others map[string]string) []byte {
	t.Helper()
	parts := map[string]string{
		rootPart:     relationships("officeDocument", workbookPart),
		workbookPart: `<workbook xmlns:r="http://schemas.openxmlformats.org/officeDocument/2006/relationships"><sheets><sheet name="First" r:id="r1"/></sheets></workbook>`,
		relationPart: relationships("worksheet", "worksheets/sheet1.xml", "styles", "styles.xml", "sharedStrings",
			"/xl/sharedStrings.xml"),
		stylesPart: `<styleSheet/>`, sharedPart: `<sst/>`, sheetPart: sheetOf(inline("name") + inline("x")),
	}
	maps.Copy(parts, others)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	for name, text := range parts {
		part, err := w.Create(name)
		if err == nil {
			_, err = part.Write([]byte(text))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// heap returns the size of the objects in memory in bytes, those included that the collector has not removed yet.
func heap() uint64 {
	sample := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

// peakOf returns by how many bytes the objects in memory grow while work is done.
func peakOf(work func()) uint64 {
	runtime.GC()
	before, most := heap(), uint64(0)
	done := make(chan struct{})
	go func() {
		defer close(done)
		work()
	}()
	for {
		most = max(most, heap())
		select {
		case <-done:
			return max(most, heap()) - before
		default:
			time.Sleep(time.Millisecond)
		}
	}
}

// hostileFiles are small files that a careless reader makes gigabytes of, or works on for minutes, with the rule that
// they break; "" for one that is read.
func hostileFiles(t testing.TB) map[string]struct {
	file []byte
	rule string
} {
	t.Helper()
	type hostile = struct {
		file []byte
		rule string
	}
	part := func(name, text string) []byte { return partsFile(t, map[string]string{name: text}) }
	wideRow := `<row><c r="A1" t="str"><v>x</v></c><c r="XFD1" t="str"><v> </v></c></row>`
	emptyRow := `<row><c r="XFD1" t="str"><v> </v></c></row>`
	namesIn := func(part string) string {
		return strings.Replace(part, `<sheets>`, `<definedNames>`+strings.Repeat(`<definedName/>`, 1_000_000)+
			`</definedNames><sheets>`, 1)
	}
	workbook := `<workbook xmlns:r="r"><sheets><sheet name="S" r:id="r1"/></sheets></workbook>`
	columns := strings.Split(strings.TrimSpace(someColumns), ",")
	long := func(shared string, rows int) []byte {
		row := `<row><c><v>1</v></c>` + strings.Repeat(`<c t="s"><v>0</v></c>`, len(columns)-1) + `</row>`
		return partsFile(t, map[string]string{sharedPart: `<sst><si><t>` + shared + `</t></si></sst>`,
			sheetPart: sheetOf(inline(columns...) + strings.Repeat(row, rows))})
	}
	wrong := inline(columns...) + strings.Repeat(inline("1", "&#9;x", "x", "x", "x", "&#9;x", "x", "x", "x"), 9_999)
	var spaces, attributes strings.Builder
	for n := range 10_000 {
		fmt.Fprintf(&attributes, ` a%d=""`, n)
		fmt.Fprintf(&spaces, ` xmlns:a%d="u"`, n)
	}
	return map[string]hostile{
		"rows as wide as a sheet": {part(sheetPart, sheetOf(strings.Repeat(wideRow, 9_999))), ""},
		"rows that are empty":     {part(sheetPart, sheetOf(strings.Repeat(emptyRow, 100_000))), "file_rows"},
		"more elements than allowed": {part(sheetPart, sheetOf(`<row>`+strings.Repeat(`<c/>`, 3_000_001)+`</row>`)),
			"file_size"},
		"a million rows":        {part(sheetPart, sheetOf(strings.Repeat(`<row/>`, 1<<20+1))), "file_format"},
		"names in the workbook": {part(workbookPart, namesIn(workbook)), ""},
		"a sheet that is the workbook": {partsFile(t, map[string]string{rootPart: relationships("officeDocument", sheetPart),
			sheetPart: namesIn(workbook), "xl/worksheets/_rels/sheet1.xml.rels": relationships("worksheet", "sheet1.xml")}),
			"file_rows"},
		"formats of cells": {part(stylesPart,
			`<styleSheet><cellXfs>`+strings.Repeat(`<xf/>`, 950_000)+`</cellXfs></styleSheet>`), "file_size"},
		"number formats": {part(stylesPart,
			`<styleSheet><numFmts>`+manyFormats(70_001)+`</numFmts></styleSheet>`), "file_size"},
		"shared texts without a text": {part(sharedPart, `<sst>`+strings.Repeat(`<si/>`, 1_000_000)+`</sst>`), ""},
		"many shared texts": {part(sharedPart,
			`<sst>`+strings.Repeat(`<si><t>`+strings.Repeat("y", 8_000)+`</t></si>`, 4_300)+`</sst>`), "file_size"},
		"one long text": {part(sharedPart, `<sst><si><t>`+strings.Repeat("y", 4<<20)+`</t></si></sst>`),
			"file_cell"},
		"one long text in pieces": {part(sharedPart,
			`<sst><si><t>`+strings.Repeat(strings.Repeat("y", 1_000)+`<!---->`, 1_000)+`</t></si></sst>`), "file_cell"},
		"a long attribute": {part(sheetPart, sheetOf(`<row r="`+strings.Repeat("1", 4<<20)+`"/>`)), "file_cell"},
		"many attributes": {part(sheetPart, sheetOf(strings.Repeat(`<row`+attributes.String()+`/>`, 50))),
			"file_format"},
		"many name spaces": {part(sheetPart, sheetOf(strings.Repeat(`<row`+spaces.String()+`>`, 50))),
			"file_format"},
		"deep elements": {part(sheetPart, sheetOf(strings.Repeat(`<a>`, 500_000))), "file_format"},
		"entities": {part(sheetPart, `<!DOCTYPE a [<!ENTITY x "y">]>`+sheetOf(inline("&x;"))),
			"file_format"},
		"spaces": {part(sheetPart, sheetOf(strings.Repeat(strings.Repeat(" ", 200_000)+`<row/>`, 400))),
			"file_size"},
		"one text in all cells":        {long(strings.Repeat("y", 8_000), 9_999), "file_size"},
		"texts that JSON doubles":      {long(strings.Repeat(`"`, 1_900), 1_000), ""},
		"texts that JSON makes longer": {long(strings.Repeat(`_x0001_`, 1_900), 1_000), ""},
		"a fault in each cell":         {part(sheetPart, sheetOf(wrong)), ""},
		"many relationships": {part(relationPart,
			relationships(slices.Repeat([]string{"worksheet", "worksheets/sheet1.xml"}, 1_001)...)), "file_size"},
		"a relationship that repeats": {part(relationPart,
			`<Relationships>`+strings.Repeat(`<Relationship Id="r1" Type="/worksheet" Target="worksheets/sheet1.xml"/>`, 999)+
				`</Relationships>`), "file_format"},
		"many sheets": {part(workbookPart, strings.Replace(workbook,
			`<sheet name="S" r:id="r1"/>`, strings.Repeat(`<sheet name="S" r:id="r1"/>`, 5_000), 1)), "file_size"},
		"an odd target": {part(relationPart, relationships("worksheet", "../../../etc/passwd")),
			"file_format"},
		"a directory of entries": {[]byte("PK\x03\x04" + strings.Repeat("PK\x01\x02"+strings.Repeat("\x00", 42),
			170_000)), "file_size"},
		"two parts of one name":   {partsFile(t, map[string]string{"XL/workbook.xml": workbook}), "file_format"},
		"CSV: columns":            {[]byte(strings.Repeat(",", tabular.MaxBytes)), "file_columns"},
		"CSV: empty columns":      {[]byte(strings.Repeat("x"+strings.Repeat(",", 16_383)+"\n", 511)), ""},
		"CSV: one cell":           {[]byte(strings.Repeat("x", tabular.MaxBytes)), "file_cell"},
		"CSV: one cell in quotes": {[]byte(`"` + strings.Repeat("x\n", tabular.MaxBytes/2-1) + `"`), "file_cell"},
		"CSV: quotation marks":    {[]byte(strings.Repeat(`"`, tabular.MaxBytes)), "file_cell"},
		"CSV: control characters": {[]byte(someColumns +
			strings.Repeat("1,"+strings.Repeat("\x01", 8_000)+",1,AED,2026-03-01,x,1,1,\n", 1_000)), ""},
		"CSV: allowances of a thousand lines": {[]byte(listColumns +
			strings.Repeat(line("x", "", "", "", "1", "2", "y")+strings.Repeat(more("", "", "", "1", "2", "y"), 9), 999)), ""},
		"CSV: allowances of one line": {[]byte(listColumns + line("x") + strings.Repeat(more(strings.Repeat("1,", 5)+
			strings.Repeat(`"`, 800)), 9_998)), ""},
		"CSV: empty rows": {[]byte(strings.Repeat(",\n", tabular.MaxBytes/2)), "file_rows"},
	}
}

// manyFormats returns number formats with different identifiers.
func manyFormats(count int) string {
	var out strings.Builder
	for n := range count {
		fmt.Fprintf(&out, `<numFmt numFmtId="%d" formatCode="0"/>`, n)
	}
	return out.String()
}

// mostMemory is by how many bytes the objects in memory may grow while a file is read, whatever is in it, with what
// the collector has not removed yet.
const mostMemory = 200 << 20

// TestHostileFilesAreBounded checks that no file takes more memory than it may, and that each is refused with its
// rule or read.
func TestHostileFilesAreBounded(t *testing.T) {
	for name, hostile := range hostileFiles(t) {
		t.Run(name, func(t *testing.T) {
			rule := ""
			peak := peakOf(func() {
				table, err := tabular.Read(t.Context(), hostile.file, "")
				if err == nil {
					_, err = tabular.Drafts(t.Context(), table, nil)
				}
				if refused, ok := errors.AsType[*tabular.Error](err); ok {
					rule, err = refused.Rule, nil
				}
				if err != nil {
					t.Error(err)
				}
			})
			if rule != hostile.rule {
				t.Errorf("rule %q, want %q", rule, hostile.rule)
			}
			if peak > mostMemory {
				t.Errorf("%d bytes of the file took %d MiB of memory", len(hostile.file), peak>>20)
			}
		})
	}
}

// countedContext ends when it was asked for its error a number of times.
type countedContext struct {
	context.Context //nolint:containedctx // this is a context
	after           int64
	asked           atomic.Int64
}

func (c *countedContext) Err() error {
	if c.asked.Add(1) > c.after {
		return context.Canceled
	}
	return nil
}

// TestReadingEndsWithItsContext checks that reading asks for the end of its context all along, and goes no further
// then.
func TestReadingEndsWithItsContext(t *testing.T) {
	valid := []byte(someColumns + strings.Repeat("A,B,1,AED,2026-03-01,x,1,1,\n", 500))
	for name, file := range map[string][]byte{
		"rows": partsFile(t, map[string]string{sheetPart: sheetOf(strings.Repeat(inline("x", "y"), 5_000))}), "CSV": valid,
		"names": partsFile(t,
			map[string]string{workbookPart: `<workbook>` + strings.Repeat(`<definedName/>`, 100_000) + `</workbook>`}),
		"empty blocks": emptyBlocks(t),
		"texts": partsFile(t, map[string]string{sharedPart: `<sst>` + strings.Repeat(`<si><t>x</t></si>`, 50_000) +
			`</sst>`}),
	} {
		for _, after := range []int64{0, 1, 5} {
			limited := &countedContext{Context: t.Context(), after: after}
			if _, err := tabular.Read(limited, file, ""); !errors.Is(err, context.Canceled) || limited.asked.Load() > after+3 {
				t.Errorf("%s after %d: error %v, asked %d times", name, after, err, limited.asked.Load())
			}
		}
	}
	table, err := tabular.Read(t.Context(), valid, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, after := range []int64{0, 100, 700} {
		limited := &countedContext{Context: t.Context(), after: after}
		if _, err := tabular.Drafts(limited, table, nil); !errors.Is(err, context.Canceled) ||
			limited.asked.Load() > after+3 {
			t.Errorf("drafts after %d: error %v, asked %d times", after, err, limited.asked.Load())
		}
	}
}

// emptyBlocks returns a workbook whose list of relationships begins with a megabyte that unpacks to nothing: stored
// blocks of DEFLATE with the length 0 (RFC 1951, section 3.2.4).
func emptyBlocks(t testing.TB) []byte {
	t.Helper()
	packed := append(bytes.Repeat([]byte("\x00\x00\x00\xff\xff"), 200_000), "\x01\x04\x00\xfb\xff<a/>"...)
	var out bytes.Buffer
	w := zip.NewWriter(&out)
	part, err := w.CreateRaw(&zip.FileHeader{Name: rootPart, Method: zip.Deflate,
		CRC32: crc32.ChecksumIEEE([]byte("<a/>")), CompressedSize64: uint64(len(packed)), UncompressedSize64: 4})
	kit.Must(t, err)
	_, err = part.Write(packed)
	kit.Must(t, err)
	kit.Must(t, w.Close())
	return out.Bytes()
}

// FuzzParts puts any text into any part that is read of a valid workbook, which mutated bytes of an archive hardly
// ever reach.
func FuzzParts(f *testing.F) {
	names := []string{sheetPart, sharedPart, stylesPart, workbookPart, relationPart, rootPart}
	for at, text := range []string{
		sheetOf(
			`<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c></row><row r="2"><c t="s"><v>0</v></c><c r="XFD2"><f>1</f></c></row>`),
		`<sst><si><t>_x0041_</t></si><si><r><t>a</t></r><rPh><t>b</t></rPh></si></sst>`,
		`<styleSheet><numFmts><numFmt numFmtId="200" formatCode="yyyy"/></numFmts><cellXfs><xf numFmtId="200"/></cellXfs></styleSheet>`,
		`<workbook><workbookPr date1904="1"/><sheets><sheet name="a" state="hidden" id="r1"/></sheets></workbook>`,
		relationships("worksheet", "/xl/worksheets/sheet1.xml", "styles", `..\xl\styles.xml`),
		relationships("officeDocument", "xl/workbook.xml"),
	} {
		f.Add(uint8(at), []byte(text))
	}
	f.Fuzz(func(t *testing.T, at uint8, text []byte) {
		readAny(t, partsFile(t, map[string]string{names[int(at)%len(names)]: string(text)}))
	})
}
