package pdf

import (
	"bytes"
	"fmt"
	"math"
	"slices"
	"strconv"
)

// The page: A4 (ISO 216), with margins. Lengths are in points, y is the distance from the upper edge.
const (
	pageWidth, pageHeight = 595.28, 841.89
	marginSide            = 48.0
	marginTop             = 46.0
	marginBottom          = 58.0
	contentWidth          = pageWidth - 2*marginSide
)

// color is a colour in sRGB: 0xRRGGBB.
type color uint32

// The colours.
const (
	ink    color = 0x171C26
	muted  color = 0x616B78
	rule   color = 0xD1D6DE
	tint   color = 0xF1F3F6
	accent color = 0x123D5C
	white  color = 0xFFFFFF
)

// parts returns red, green and blue from 0 to 1.
func (c color) parts() []float64 {
	return []float64{float64(c>>16&0xFF) / 0xFF, float64(c>>8&0xFF) / 0xFF, float64(c&0xFF) / 0xFF}
}

// page is the content of one page.
type page struct {
	content bytes.Buffer
	fonts   *embeddedFonts
}

// operate writes operands and an operator of a content stream (ISO 32000-1, annex A).
func (p *page) operate(operator string, operands ...float64) {
	for _, operand := range operands {
		p.content.WriteString(decimal(operand))
		p.content.WriteByte(' ')
	}
	p.content.WriteString(operator)
	p.content.WriteByte('\n')
}

// decimal writes a number as PDF has them, with at most three digits after the point.
func decimal(v float64) string {
	return strconv.FormatFloat(math.Round(v*1000)/1000+0, 'f', -1, 64)
}

// fill fills a rectangle.
func (p *page) fill(x, y, width, height float64, c color) {
	p.operate("rg", c.parts()...)
	p.operate("re", x, pageHeight-y-height, width, height)
	p.operate("f")
}

// image draws the logo.
func (p *page) image(x, y, width, height float64) {
	p.operate("q")
	p.operate("cm", width, 0, 0, height, x, pageHeight-y-height)
	p.content.WriteString("/Logo Do\n")
	p.operate("Q")
}

// text draws a line from x, with its baseline at y.
func (p *page) text(x, y float64, l line) {
	for n := range l.runs {
		r := &l.runs[n]
		if len(r.glyphs) == 0 {
			continue
		}
		p.content.WriteString("BT\n")
		p.operate("rg", r.style.color.parts()...)
		fmt.Fprintf(&p.content, "/F%d %s Tf\n", r.typeface, decimal(r.style.size))
		p.operate("Td", x, pageHeight-y)
		p.glyphs(r)
		p.content.WriteString("ET\n")
		for _, g := range r.glyphs {
			x += g.advance * r.style.size / unitsPerEm
		}
	}
}

// glyphs shows the glyphs of a run: first those that stand for text, and then the others, as a replacement for no text.
func (p *page) glyphs(r *run) {
	pen := p.show(r, false, 0)
	if slices.ContainsFunc(r.glyphs, func(g glyph) bool { return g.silent }) {
		p.content.WriteString("/Span <</ActualText <FEFF>>> BDC\n")
		p.show(r, true, pen)
		p.content.WriteString("EMC\n")
	}
}

// show shows the silent or the other glyphs of a run and returns the place of the pen, which is given and counted from
// the beginning of the run. The pen moves by the width of each glyph in the font; where the glyph belongs elsewhere, a
// number moves it.
func (p *page) show(r *run, silent bool, pen float64) float64 {
	font := p.fonts.use(r.typeface)
	var at, rise float64
	open := false
	end := func() {
		if open {
			p.content.WriteString("] TJ\n")
		}
		open = false
	}
	for n := range r.glyphs {
		g := &r.glyphs[n]
		place := at + g.xOffset
		at += g.advance
		if g.silent != silent {
			continue
		}
		if g.yOffset != rise {
			end()
			rise = g.yOffset
			p.operate("Ts", rise*r.style.size/unitsPerEm)
		}
		if !open {
			p.content.WriteByte('[')
			open = true
		}
		if move := place - pen; math.Abs(move) > 0.01 {
			p.content.WriteString(decimal(-move))
			pen += move
		}
		code, width := font.code(g)
		fmt.Fprintf(&p.content, "<%04X>", code)
		pen += width
	}
	end()
	if rise != 0 {
		p.operate("Ts", 0)
	}
	return pen
}
