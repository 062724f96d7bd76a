package pdf

import (
	"encoding/binary"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"unicode/utf16"

	"github.com/go-text/typesetting/font/opentype"
	"github.com/pdfcpu/pdfcpu/pkg/pdfcpu/types"
)

// embeddedFonts are the fonts of one document.
type embeddedFonts struct {
	files [typefaceCount]typeface
	used  [typefaceCount]*embeddedFont
}

// use returns the font of a typeface, which is then part of the document.
func (e *embeddedFonts) use(n int) *embeddedFont {
	if e.used[n] == nil {
		e.used[n] = &embeddedFont{typeface: &e.files[n], codes: map[character]int{}}
	}
	return e.used[n]
}

// character is a glyph and what it stands for. The same glyph can stand for different texts.
type character struct {
	glyph uint16
	text  string
}

// embeddedFont is a font with the characters that are used. A character's code is its position from 1; code 0 is never
// shown.
type embeddedFont struct {
	*typeface
	codes      map[character]int
	characters []character
	widths     []float64
}

// code returns the code of a glyph and its width in the font.
func (f *embeddedFont) code(g *glyph) (code int, width float64) {
	c := character{g.id, g.text}
	code, known := f.codes[c]
	if !known {
		f.characters = append(f.characters, c)
		f.widths = append(f.widths, f.advance(g.id))
		code = len(f.characters)
		f.codes[c] = code
	}
	return code, f.widths[code-1]
}

// advance is the width of a glyph in the table hmtx.
func (f *embeddedFont) advance(glyph uint16) float64 {
	// numberOfHMetrics; later glyphs are as wide as the last
	last := int(binary.BigEndian.Uint16(f.tables["hhea"][34:])) - 1
	return float64(binary.BigEndian.Uint16(f.tables["hmtx"][4*min(int(glyph), last):]))
}

// subset returns a font file with the outlines of the used glyphs and those that they are composed of. Glyphs keep
// their numbers.
func (f *embeddedFont) subset() []byte {
	outlines, long := f.tables["glyf"], binary.BigEndian.Uint16(f.tables["head"][50:]) == 1
	bounds := func(glyph int) (from, to int) {
		if long {
			return int(binary.BigEndian.Uint32(f.tables["loca"][4*glyph:])),
				int(binary.BigEndian.Uint32(f.tables["loca"][4*glyph+4:]))
		}
		return 2 * int(binary.BigEndian.Uint16(f.tables["loca"][2*glyph:])),
			2 * int(binary.BigEndian.Uint16(f.tables["loca"][2*glyph+2:]))
	}
	kept := map[int]bool{0: true}
	var keep func(glyph int)
	keep = func(glyph int) {
		if kept[glyph] {
			return
		}
		kept[glyph] = true
		from, to := bounds(glyph)
		for _, part := range components(outlines[from:to]) {
			keep(part)
		}
	}
	for _, c := range f.characters {
		keep(int(c.glyph))
	}
	count := int(binary.BigEndian.Uint16(f.tables["maxp"][4:]))
	var glyf, loca []byte
	for glyph := range count {
		loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf))) //nolint:gosec // smaller than the embedded file
		if from, to := bounds(glyph); kept[glyph] {
			glyf = pad(append(glyf, outlines[from:to]...))
		}
	}
	loca = binary.BigEndian.AppendUint32(loca, uint32(len(glyf))) //nolint:gosec // as above
	head := slices.Clone(f.tables["head"])
	binary.BigEndian.PutUint16(head[50:], 1) // long offsets
	replaced := map[string][]byte{"glyf": glyf, "loca": loca, "head": head}
	tables := make([]opentype.Table, 0, len(embeddedTables))
	for _, name := range embeddedTables {
		content := f.tables[name]
		if replaced[name] != nil {
			content = replaced[name]
		}
		tables = append(tables, opentype.Table{Tag: opentype.MustNewTag(name), Content: pad(slices.Clone(content))})
	}
	return opentype.WriteTTF(tables)
}

// pad appends zeros to a multiple of four bytes.
func pad(b []byte) []byte { return append(b, make([]byte, (4-len(b)%4)%4)...) }

// The flags of a part of a composite glyph (OpenType, table glyf).
const (
	wordArguments  = 0x0001
	scaled         = 0x0008
	moreComponents = 0x0020
	scaledXY       = 0x0040
	transformed    = 0x0080
)

// components returns the glyphs that a glyph is composed of.
func components(outline []byte) []int {
	const header = 10
	if len(outline) < header || int16(binary.BigEndian.Uint16(outline)) >= 0 { //nolint:gosec // the sign says that it is composite
		return nil
	}
	var out []int
	for at := header; ; {
		flags := binary.BigEndian.Uint16(outline[at:])
		out = append(out, int(binary.BigEndian.Uint16(outline[at+2:])))
		at += 6
		if flags&wordArguments != 0 {
			at += 2
		}
		switch {
		case flags&scaled != 0:
			at += 2
		case flags&scaledXY != 0:
			at += 4
		case flags&transformed != 0:
			at += 8
		}
		if flags&moreComponents == 0 {
			return out
		}
	}
}

// write adds the font to a file (ISO 32000-1, 9.7) and returns its reference.
func (f *embeddedFont) write(w *file) (types.IndirectRef, error) {
	name := types.Name(f.tag() + "+" + f.name)
	program := f.subset()
	head, hhea := f.tables["head"], f.tables["hhea"]
	signed := func(table []byte, at int) types.Integer {
		return types.Integer(int16(binary.BigEndian.Uint16(table[at:]))) //nolint:gosec // a signed field
	}
	glyphs, widths := make([]byte, 2, 2+2*len(f.characters)), make(types.Array, 0, len(f.characters))
	for n, c := range f.characters {
		glyphs = binary.BigEndian.AppendUint16(glyphs, c.glyph)
		widths = append(widths, types.Integer(f.widths[n]))
	}
	var failed error
	stream := func(d types.Dict, content []byte) types.IndirectRef {
		ref, err := w.stream(d, content)
		if failed == nil {
			failed = err
		}
		return ref
	}
	descriptor := w.add(types.Dict{
		"Type": types.Name("FontDescriptor"), "FontName": name, "Flags": types.Integer(4), // symbolic
		"FontBBox":    types.Array{signed(head, 36), signed(head, 38), signed(head, 40), signed(head, 42)},
		"ItalicAngle": types.Integer(0), "Ascent": signed(hhea, 4), "Descent": signed(hhea, 6),
		"CapHeight": types.Integer(714), "StemV": types.Integer(80),
		"FontFile2": stream(types.Dict{"Length1": types.Integer(len(program))}, program),
	})
	descendant := w.add(types.Dict{
		"Type": types.Name("Font"), "Subtype": types.Name("CIDFontType2"), "BaseFont": name, "FontDescriptor": descriptor,
		"CIDSystemInfo": types.Dict{"Registry": types.StringLiteral("Adobe"), "Ordering": types.StringLiteral("Identity"),
			"Supplement": types.Integer(0)},
		"CIDToGIDMap": stream(types.Dict{}, glyphs), "DW": types.Integer(0), "W": types.Array{types.Integer(1), widths},
	})
	return w.add(types.Dict{
		"Type": types.Name("Font"), "Subtype": types.Name("Type0"), "BaseFont": name, "Encoding": types.Name("Identity-H"),
		"DescendantFonts": types.Array{descendant}, "ToUnicode": stream(types.Dict{}, f.toUnicode()),
	}), failed
}

// tag is six letters that tell subsets of one font apart (ISO 32000-1, 9.6.4).
func (f *embeddedFont) tag() string {
	hash := fnv.New64a()
	for _, c := range f.characters {
		fmt.Fprintf(hash, "%d,", c.glyph)
	}
	sum := hash.Sum64()
	letters := make([]byte, 6)
	for n := range letters {
		letters[n] = byte('A' + sum%26)
		sum /= 26
	}
	return string(letters)
}

// toUnicode maps codes to text (ISO 32000-1, 9.10.3).
func (f *embeddedFont) toUnicode() []byte {
	const most = 100 // entries of a block
	var b strings.Builder
	b.WriteString(
		"/CIDInit /ProcSet findresource begin\n12 dict begin\nbegincmap\n/CIDSystemInfo << /Registry (Adobe) /Ordering (UCS) /Supplement 0 >> def\n" +
			"/CMapName /Adobe-Identity-UCS def\n/CMapType 2 def\n1 begincodespacerange\n<0000> <FFFF>\nendcodespacerange\n")
	texts := map[int]string{}
	for n, c := range f.characters {
		if c.text != "" {
			texts[n+1] = c.text
		}
	}
	for block := range slices.Chunk(slices.Sorted(maps.Keys(texts)), most) {
		fmt.Fprintf(&b, "%d beginbfchar\n", len(block))
		for _, code := range block {
			fmt.Fprintf(&b, "<%04X> <", code)
			for _, unit := range utf16.Encode([]rune(texts[code])) {
				fmt.Fprintf(&b, "%04X", unit)
			}
			b.WriteString(">\n")
		}
		b.WriteString("endbfchar\n")
	}
	b.WriteString("endcmap\nCMapName currentdict /CMap defineresource pop\nend\nend\n")
	return []byte(b.String())
}
