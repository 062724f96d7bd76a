package pdf

import (
	"slices"
	"strings"
	"testing"
)

// setter returns a typesetter.
func setter(t *testing.T) *typesetter {
	t.Helper()
	s, err := newTypesetter()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// forms returns the presentation forms whose glyphs a text is shown with, in the order of reading.
func forms(t *testing.T, text string) string {
	t.Helper()
	s := setter(t)
	names := map[uint16]rune{}
	for r := rune(0xFE70); r <= 0xFEFC; r++ {
		if glyph, ok := s.faces[arabic].NominalGlyph(r); ok {
			names[uint16(glyph)] = r
		}
	}
	var out []rune
	for _, r := range s.wrap(text, style{size: 10}, 1000, 1)[0].runs {
		for _, g := range r.glyphs {
			if name := names[g.id]; name != 0 {
				out = append(out, name)
			}
		}
	}
	slices.Reverse(out)
	return string(out)
}

// TestShapes: Arabic letters have the forms of their places in the word, and lam with alef is a ligature.
func TestShapes(t *testing.T) {
	for text, want := range map[string]string{
		"بيت":  "\uFE91\uFEF4\uFE96",       // initial, medial and final
		"لا":   "\uFEFB",                   // a ligature
		"سلام": "\uFEB3\uFEFC\uFEE1",       // and a final one, before an isolated letter
		"فاتو": "\uFED3\uFE8E\uFE97\uFEEE", // letters that do not join to the left
	} {
		if got := forms(t, text); got != want && !isolatedAsLetter(got, want) {
			t.Errorf("%s is shown as %+q, want %+q", text, got, want)
		}
	}
}

// isolatedAsLetter allows that a font shows an isolated form with the glyph of the letter, which has no presentation
// form.
func isolatedAsLetter(got, want string) bool { return got == strings.ReplaceAll(want, "\uFEE1", "") }

// order returns the text of a line from left to right, each glyph with the first of its characters.
func order(l line) string {
	var b strings.Builder
	for _, r := range l.runs {
		for _, g := range r.glyphs {
			b.WriteString(g.text)
		}
	}
	return b.String()
}

// TestDirections: words of both directions and numbers have the order of the Unicode bidirectional algorithm (UAX #9).
func TestDirections(t *testing.T) {
	for text, want := range map[string]string{
		"abc":               "abc",
		"ابج":               "جبا",
		"ab ابج 12 دهو cd":  "ab وهد 12 جبا cd", // the number is between the Arabic words
		"ابج 12 دهو":        "وهد 12 جبا",
		"ab ابج 12 cd":      "ab 12 جبا cd", // the number belongs to the Arabic word before it
		"ab ابج 1,200.50":   "ab 1,200.50 جبا",
		"ab ٣ ابج":          "ab جبا ٣",
		"ab 12 ابج":         "ab 12 جبا",
		"ابج ab cd دهو":     "وهد ab cd جبا",
		"ابج (ab) دهو":      "وهد )ab( جبا", // with mirrored glyphs, which stand for the brackets as written
		"ab (ابج) 7":        "ab (جبا) 7",
		"\u202Eab\u202C cd": "ab cd", // overrides are left out
	} {
		lines := setter(t).wrap(text, style{size: 10}, 1000, 1)
		if got := order(lines[0]); got != want {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
	}
}

// TestWrap: no line is wider than allowed, no text is lost, and a text of too many lines ends with an ellipsis.
func TestWrap(t *testing.T) {
	text := strings.Repeat("Consulting and workshops ", 20) + strings.Repeat("W", 100)
	var all strings.Builder
	for _, l := range setter(t).wrap(text, style{size: 9}, 120, 100) {
		if l.width > 120.01 {
			t.Errorf("a line is %.2f wide", l.width)
		}
		all.WriteString(order(l))
	}
	if all.String() != text {
		t.Errorf("lines: %q", all.String())
	}
	cut := setter(t).wrap(text, style{size: 9}, 120, 3)
	if len(cut) != 3 || !strings.HasSuffix(order(cut[2]), ellipsis) {
		t.Errorf("%d lines, the last is %q", len(cut), order(cut[len(cut)-1]))
	}
	if long := setter(t).wrap(strings.Repeat("i", 1<<20), style{size: 7}, contentWidth, 60); len(long) != 60 ||
		long[0].width < contentWidth-7 || !strings.HasSuffix(order(long[59]), ellipsis) {
		t.Errorf("a text that is far too long has %d lines", len(long))
	}
	if got := setter(t).wrap(" \n\t\r\n", style{size: 9}, 120, 3); len(got) != 0 {
		t.Errorf("lines of nothing: %v", got)
	}
	if got := setter(t).wrap("a\nb\n\nc", style{size: 9}, 120, 2); len(got) != 2 ||
		!strings.HasSuffix(order(got[1]), ellipsis) {
		t.Errorf("paragraphs: %d", len(got))
	}
}

// TestReplacement: a character that no font has is a visible glyph and not the glyph for none, and is copied as itself.
func TestReplacement(t *testing.T) {
	s := setter(t)
	want, _ := s.faces[latin].NominalGlyph(replacement)
	l := s.wrap("小", style{size: 9}, 100, 1)[0]
	if g := l.runs[0].glyphs[0]; uint32(g.id) != uint32(want) || g.id == 0 || g.text != "小" {
		t.Errorf("glyph %d for %q, want %d", g.id, g.text, want)
	}
}
