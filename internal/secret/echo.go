package secret

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"html"
	"slices"
	"strconv"
	"strings"
)

const (
	// minBase64 is the shortest base64 text that is taken for a secret's; shorter ones occur by chance.
	minBase64 = 8
	// minTail is how much of a form must stand at the end of a truncated answer to count.
	minTail = 8
)

// NewEcho returns a function that tells whether a text holds the secret in one of these forms, in upper or lower case:
// verbatim, reversed, base64 or base64url (at each alignment, with or without padding), hex, or with any of its
// characters written as JSON, URL or HTML escapes. A truncated text also counts when it ends in the beginning of one.
//
// It is a function, because a struct with the forms in it could be printed. Nothing holds an empty secret.
func NewEcho(t Text) func(text []byte, truncated bool) bool {
	forms := echoForms(t.Reveal())
	return func(text []byte, truncated bool) bool {
		for _, reading := range readings(text) {
			for _, form := range forms {
				if bytes.Contains(reading, form) || truncated && beginsAtEnd(reading, form) {
					return true
				}
			}
		}
		return false
	}
}

// echoForms lists the forms of a secret in ASCII lower case.
func echoForms(value string) [][]byte {
	if value == "" {
		return nil
	}
	reversed := []byte(value)
	slices.Reverse(reversed)
	forms := [][]byte{[]byte(value), reversed, []byte(hex.EncodeToString([]byte(value)))}
	for alignment := range 3 {
		for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
			if core := base64Core(encoding, value, alignment); len(core) >= minBase64 {
				forms = append(forms, core)
			}
		}
	}
	for i := range forms {
		forms[i] = lower(forms[i])
	}
	return forms
}

// base64Core returns the characters that every base64 text of something holding the value has, when the
// value begins at the given offset of a group of three bytes: whole groups only, for the characters at both
// edges also depend on the neighbours.
func base64Core(encoding *base64.Encoding, value string, alignment int) []byte {
	skip := (3 - alignment) % 3
	if len(value) < skip {
		return nil
	}
	inner := value[skip:]
	return []byte(encoding.EncodeToString([]byte(inner[:len(inner)/3*3])))
}

// readings returns a text as it is, and with its JSON, URL and HTML escapes undone one after the other, all in ASCII
// lower case.
func readings(text []byte) [][]byte {
	out := [][]byte{lower(text)}
	for _, undo := range []func([]byte) []byte{undoJSON, undoURL, undoHTML} {
		if plain := undo(text); !bytes.Equal(plain, text) {
			text = plain
			out = append(out, lower(plain))
		}
	}
	return out
}

// undoJSON replaces \uXXXX of ASCII characters, and the escapes of a slash, a backslash and a quote.
func undoJSON(text []byte) []byte {
	return undo(text, '\\', func(rest []byte) (byte, int) {
		if len(rest) >= 2 && strings.IndexByte(`/\"`, rest[1]) >= 0 {
			return rest[1], 2
		}
		if len(rest) >= 6 && (rest[1] == 'u' || rest[1] == 'U') {
			return parseByte(rest[2:6], 6)
		}
		return 0, 0
	})
}

// undoURL replaces %XX.
func undoURL(text []byte) []byte {
	return undo(text, '%', func(rest []byte) (byte, int) {
		if len(rest) < 3 {
			return 0, 0
		}
		return parseByte(rest[1:3], 3)
	})
}

func undoHTML(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}

// undo replaces what read recognises at each mark by one byte; read returns the length of the escape, 0 for none.
func undo(text []byte, mark byte, read func(rest []byte) (byte, int)) []byte {
	if bytes.IndexByte(text, mark) < 0 {
		return text
	}
	out := make([]byte, 0, len(text))
	for len(text) > 0 {
		if text[0] == mark {
			if b, n := read(text); n > 0 {
				out, text = append(out, b), text[n:]
				continue
			}
		}
		out, text = append(out, text[0]), text[1:]
	}
	return out
}

// parseByte reads hex digits as one byte of an escape of the given length; length 0 says that they are none.
func parseByte(digits []byte, length int) (byte, int) {
	value, err := strconv.ParseUint(string(digits), 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(value), length
}

// lower returns a copy of text with its ASCII letters in lower case; other bytes stay what they are.
func lower(text []byte) []byte {
	out := bytes.Clone(text)
	for i, b := range out {
		if 'A' <= b && b <= 'Z' {
			out[i] = b + 'a' - 'A'
		}
	}
	return out
}

// beginsAtEnd tells whether text ends in at least [minTail] characters of the beginning of form.
func beginsAtEnd(text, form []byte) bool {
	for n := min(len(form), len(text)); n >= minTail; n-- {
		if bytes.HasSuffix(text, form[:n]) {
			return true
		}
	}
	return false
}
