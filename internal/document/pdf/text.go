package pdf

import (
	"slices"
	"strings"
	"unicode"

	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	"github.com/go-text/typesetting/font"
	"github.com/go-text/typesetting/shaping"
	"golang.org/x/image/math/fixed"
	"golang.org/x/text/unicode/norm"
)

// style is how a text is shown.
type style struct {
	size  float64 // in points
	bold  bool
	color color
}

// glyph is a positioned glyph. Lengths are in thousandths of the size of its text.
type glyph struct {
	id uint16
	// text is what the glyph stands for when it is copied.
	text                      string
	advance, xOffset, yOffset float64
	// silent glyphs stand for nothing: another glyph has their text.
	silent bool
}

// run is a sequence of glyphs of one typeface, from left to right.
type run struct {
	typeface int
	style    style
	glyphs   []glyph
}

// line is a line of text: runs from left to right.
type line struct {
	runs []run
	// width is in points.
	width float64
	// rightToLeft is the direction of the paragraph.
	rightToLeft bool
}

// typesetter makes lines of text. It is not safe for concurrent use.
type typesetter struct {
	faces     [typefaceCount]*font.Face
	shaper    shaping.HarfbuzzShaper
	segmenter shaping.Segmenter
	wrapper   shaping.LineWrapper
	paragraph bidi.Paragraph
	// letters and runs are how many are left of maxLetters and maxRuns.
	letters, runs int
}

// The limits of the work for a document, which whoever sends it chooses: the characters of its texts, and the runs in
// which their typeface, script and direction stay the same. The largest draft has a million characters; an invoice of a
// thousand lines in Arabic and English has some ten thousand runs. What is beyond them is cut: each text keeps
// leastLetters and leastRuns, and the attached document has it all.
const (
	maxLetters   = 3 << 19
	maxRuns      = 100_000
	leastLetters = 200
	leastRuns    = 16
)

func newTypesetter() (*typesetter, error) {
	loaded, err := typefaces()
	if err != nil {
		return nil, err
	}
	t := &typesetter{letters: maxLetters, runs: maxRuns}
	for n := range loaded {
		t.faces[n] = font.NewFace(loaded[n].font)
	}
	return t, nil
}

// weight is the typefaces of one weight. It is a [shaping.Fontmap].
type weight []*font.Face

// ResolveFace returns the face that has a character, or the first.
func (w weight) ResolveFace(r rune) *font.Face {
	for _, face := range w {
		if _, ok := face.NominalGlyph(r); ok {
			return face
		}
	}
	return w[0]
}

// has tells whether a face has a character, or it is one that no font needs to have.
func (w weight) has(r rune) bool {
	if unicode.In(r, unicode.Cf, unicode.Variation_Selector) || unicode.Is(unicode.Zs, r) {
		return true
	}
	_, ok := w.ResolveFace(r).NominalGlyph(r)
	return ok
}

func (t *typesetter) weight(bold bool) weight {
	if bold {
		return t.faces[latinBold:]
	}
	return t.faces[:latinBold]
}

// wrap breaks a text into at most a number of lines of at most a width in points. Each line of the text is a paragraph
// with a direction of its own, that of its first letter. Empty lines are left out. A text that is too long ends with an
// ellipsis.
func (t *typesetter) wrap(text string, s style, width float64, most int) []line {
	var out []line
	paragraphs := slices.DeleteFunc(strings.Split(clean(text), "\n"), func(p string) bool { return p == "" })
	for n, paragraph := range paragraphs {
		if len(out) >= most {
			break
		}
		letters, more := []rune(paragraph), n < len(paragraphs)-1
		bound := min((most-len(out))*int(lettersPerEm*width/s.size), max(leastLetters, t.letters))
		if len(letters) > bound {
			letters, more = letters[:bound], true
		}
		t.letters -= len(letters)
		out = append(out, t.breakLines(letters, s, width, most-len(out), more)...)
	}
	return out
}

// lettersPerEm is more than the letters that fit into the width of an em. Those that cannot fit are not worth the work
// of shaping.
const lettersPerEm = 5

// clean leaves out what has no shape: control characters, and the invisible characters that would embed, override or
// isolate a direction. Letters and marks are composed, and each line is trimmed.
func clean(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\u2028", "\n", "\u2029",
		"\n").Replace(strings.ToValidUTF8(text, string(replacement)))
	text = strings.Map(func(r rune) rune {
		switch {
		case r == '\n':
			return r
		case unicode.IsControl(r):
			return ' '
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return -1
		default:
			return r
		}
	}, text)
	lines := strings.Split(norm.NFC.String(text), "\n")
	for n := range lines {
		lines[n] = strings.TrimSpace(lines[n])
	}
	return strings.Join(lines, "\n")
}

// ellipsis ends a text that is too long.
const ellipsis = "…"

func (t *typesetter) breakLines(original []rune, s style, width float64, most int, more bool) []line {
	faces := t.weight(s.bold)
	shown := slices.Clone(original)
	for n, r := range shown {
		if !faces.has(r) {
			shown[n] = replacement
		}
	}
	direction, base := di.DirectionLTR, bidi.LeftToRight
	if rightToLeft(shown) {
		direction, base = di.DirectionRTL, bidi.RightToLeft
	}
	levels := t.levels(shown, base)
	truncator := t.shaper.Shape(t.split([]rune(ellipsis), direction, []int{0}, faces)[0])
	inputs := t.split(shown, direction, levels, faces)
	if bound := max(leastRuns, t.runs); len(inputs) > bound {
		shown, inputs, more = shown[:inputs[bound].RunStart], inputs[:bound], true
	}
	t.runs -= len(inputs)
	outputs := make([]shaping.Output, len(inputs))
	for n := range inputs {
		outputs[n] = t.shaper.Shape(inputs[n])
	}
	config := shaping.WrapConfig{Direction: direction, TruncateAfterLines: most, Truncator: truncator, TextContinues: more,
		DisableTrailingWhitespaceTrim: true}
	wrapped, _ := t.wrapper.WrapParagraphF(config, fixed.Int26_6(width/s.size*unitsPerEm*64), shown,
		shaping.NewSliceIterator(outputs))
	out := make([]line, 0, len(wrapped))
	for _, outputs := range wrapped {
		spans := make([]span, len(outputs))
		for n := range outputs {
			spans[n] = span{Output: &outputs[n], text: original, level: levelOf(direction), end: len(original)}
			if glyphs := outputs[n].Glyphs; len(glyphs) > 0 && &glyphs[0] == &truncator.Glyphs[0] {
				spans[n].text = []rune(ellipsis)
			} else if outputs[n].Runes.Offset < len(levels) {
				spans[n].level = levels[outputs[n].Runes.Offset]
			}
		}
		trim(spans)
		out = append(out, t.line(spans, s, direction))
	}
	return out
}

// split returns the runs of a paragraph, in logical order. Each has one typeface, script and level.
func (t *typesetter) split(text []rune, direction di.Direction, levels []int, faces weight) []shaping.Input {
	var out []shaping.Input
	for _, input := range t.segmenter.Split(shaping.Input{Text: text, RunEnd: len(text), Direction: direction,
		Size: fixed.I(unitsPerEm), Language: "en"}, faces) {
		for end := input.RunEnd; input.RunStart < end; input.RunStart = input.RunEnd {
			input.RunEnd = input.RunStart + 1
			for input.RunEnd < end && levels[input.RunEnd] == levels[input.RunStart] {
				input.RunEnd++
			}
			out = append(out, input)
		}
	}
	return out
}

// span is a part of a line with the characters that its clusters count.
type span struct {
	*shaping.Output
	text  []rune
	level int
	// end is where the text of the line ends. The white space behind it has no width.
	end int
}

// trim finds the white space at the end of a line of spans in logical order.
func trim(spans []span) {
	if len(spans) == 0 {
		return
	}
	last := &spans[len(spans)-1]
	last.end = min(last.Runes.Offset+last.Runes.Count, len(last.text))
	for last.end > 0 && unicode.IsSpace(last.text[last.end-1]) {
		last.end--
	}
}

// line puts spans into visual order (UAX #9, L2).
func (t *typesetter) line(spans []span, s style, direction di.Direction) line {
	highest := 0
	for _, p := range spans {
		highest = max(highest, p.level)
	}
	for level := highest; level > 0; level-- {
		for from := 0; from < len(spans); from++ {
			to := from
			for to < len(spans) && spans[to].level >= level {
				to++
			}
			slices.Reverse(spans[from:to])
			from = to
		}
	}
	out := line{rightToLeft: direction == di.DirectionRTL}
	for _, p := range spans {
		r := run{typeface: slices.Index(t.faces[:], p.Face), style: s, glyphs: p.glyphs()}
		for _, g := range r.glyphs {
			out.width += g.advance * s.size / unitsPerEm
		}
		out.runs = append(out.runs, r)
	}
	return out
}

// glyphs returns the glyphs of a span, with the text that each stands for.
func (p *span) glyphs() []glyph {
	out := make([]glyph, 0, len(p.Glyphs))
	for n := 0; n < len(p.Glyphs); {
		count := min(max(1, p.Glyphs[n].GlyphsCount()), len(p.Glyphs)-n)
		cluster := make([]glyph, count)
		for k := range cluster {
			from := &p.Glyphs[n+k]
			cluster[k] = glyph{id: uint16(from.GlyphID), advance: units(from.Advance), xOffset: units(from.XOffset), yOffset: units(from.YOffset)} //nolint:gosec // TrueType has 16 bits
		}
		text := p.text[p.Glyphs[n].TextIndex():][:p.Glyphs[n].RunesCount()]
		if p.Direction == di.DirectionRTL {
			cluster = p.backwards(cluster, text)
		} else {
			label(cluster, text)
		}
		if p.Glyphs[n].TextIndex() >= p.end {
			for k := range cluster {
				cluster[k].advance = 0
			}
		}
		out = append(out, cluster...)
		n += count
	}
	return out
}

// label says what the glyphs of a cluster, in logical order, stand for. If there are as many glyphs as characters, each
// stands for one; otherwise the first stands for all.
func label(cluster []glyph, text []rune) {
	if len(cluster) != len(text) {
		cluster[0].text = string(text)
		for n := range cluster[1:] {
			cluster[n+1].silent = true
		}
		return
	}
	for n := range cluster {
		cluster[n].text = string(text[n])
	}
}

// backwards arranges a cluster of a script from right to left so that programs read the text correctly. They sort
// characters by their place and reverse them, so the characters of a ligature, and marks on a letter, would be in the
// wrong order. Therefore each character of the cluster stands on a place of its own: the last one on the glyph, the
// others on empty glyphs to the right of it.
func (p *span) backwards(cluster []glyph, text []rune) []glyph {
	empty, ok := p.Face.NominalGlyph(' ')
	if len(text) < 2 || !ok {
		slices.Reverse(cluster)
		label(cluster, text)
		slices.Reverse(cluster)
		return cluster
	}
	width := 0.0
	for n := range cluster {
		width += cluster[n].advance
		cluster[n].silent = n < len(cluster)-1 // the letter is the last from left to right
	}
	cluster[len(cluster)-1].text = string(text[len(text)-1])
	for n := len(text) - 2; n >= 0; n-- {
		at := width * float64(len(text)-1-n) / float64(len(text))
		cluster = append(cluster, glyph{id: uint16(empty), text: string(text[n]), xOffset: at - width}) //nolint:gosec // TrueType has 16 bits
	}
	return cluster
}

func units(v fixed.Int26_6) float64 { return float64(v) / 64 }
