package pdf

import (
	"github.com/go-text/typesetting/bidi"
	"github.com/go-text/typesetting/di"
	classes "golang.org/x/text/unicode/bidi"
)

// rightToLeft tells whether the first letter of a paragraph is one of a script from right to left (UAX #9, P2 and P3).
func rightToLeft(paragraph []rune) bool {
	for _, r := range paragraph {
		switch class(r) {
		case classes.L:
			return false
		case classes.R, classes.AL:
			return true
		default: // no letter
		}
	}
	return false
}

// class is the bidirectional class of a character.
func class(r rune) classes.Class {
	properties, _ := classes.LookupRune(r)
	return properties.Class()
}

// levelOf is the embedding level of a paragraph (UAX #9, P3).
func levelOf(direction di.Direction) int {
	if direction == di.DirectionRTL {
		return 1
	}
	return 0
}

// levels returns the embedding level of each character of a paragraph, which has no character that embeds or isolates.
// The library's own order of runs puts a number behind an Arabic word into the wrong place if the paragraph is Latin:
// it knows only directions, and its levels only where a direction begins. Level 2, that of such numbers, is found here.
func (t *typesetter) levels(text []rune, base bidi.Direction) []int {
	out := make([]int, 0, len(text))
	runs := t.paragraph.Segment(text, base)
	for n := range runs.NumRuns() {
		r := runs.Run(n)
		for range r.End - r.Start {
			out = append(out, int(r.Level))
		}
	}
	if base == bidi.RightToLeft {
		return out
	}
	letter := classes.L // the letter before
	for n, r := range text {
		c := class(r)
		if c == classes.L || c == classes.R || c == classes.AL {
			letter = c
		}
		if out[n]%2 == 0 {
			out[n] = 0
			if belongsToNumber(text, out, n, c, letter) {
				out[n] = 2
			}
		}
	}
	return out
}

// belongsToNumber tells whether the character n of a Latin paragraph is part of a number that has a level of its own
// (UAX #9, W1 to W7 and I1): an Arabic number, or a European one that follows an Arabic letter. Scripts from right to
// left other than Arabic have more such characters; the fonts do not have these scripts.
func belongsToNumber(text []rune, levels []int, n int, c, letter classes.Class) bool {
	behind := n > 0 && levels[n-1] == 2
	switch c {
	case classes.AN:
		return true
	case classes.EN:
		return letter != classes.L
	case classes.NSM, classes.BN:
		return behind
	case classes.CS:
		return behind && n+1 < len(text) && isNumber(text[n+1])
	default:
		return false
	}
}

func isNumber(r rune) bool {
	c := class(r)
	return c == classes.EN || c == classes.AN
}
