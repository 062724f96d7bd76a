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
	// minBase64 is the length of the shortest base64 text that counts as an echo; shorter texts occur by chance.
	minBase64 = 8
	// minTail is how many characters of a form at the end of a truncated response count as an echo.
	minTail = 8
)

// NewEcho returns a function that reports whether a text contains the secret in one of these forms, in upper or lower
// case: verbatim, reversed, base64 or base64url (at each alignment, with or without padding), hex, or with any of its
// characters written as JSON, URL or HTML escapes. A truncated text also counts if it ends with the beginning of a
// form. No text contains an empty secret.
//
// NewEcho returns a function because a struct with the forms in it could be printed.
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

// base64Core returns the characters that the base64 encoding of any text with the value has in common, if the value
// begins at the given offset of a group of three bytes. It encodes whole groups only, because the characters at both
// ends also depend on the surrounding bytes.
func base64Core(encoding *base64.Encoding, value string, alignment int) []byte {
	skip := (3 - alignment) % 3
	if len(value) < skip {
		return nil
	}
	inner := value[skip:]
	return []byte(encoding.EncodeToString([]byte(inner[:len(inner)/3*3])))
}

// readings returns a text, and the text with its JSON, URL and HTML escapes decoded one after the other, all in ASCII
// lower case.
func readings(text []byte) [][]byte {
	out := [][]byte{lower(text)}
	for _, unescape := range []func([]byte) []byte{unescapeJSON, unescapeURL, unescapeHTML} {
		if plain := unescape(text); !bytes.Equal(plain, text) {
			text = plain
			out = append(out, lower(plain))
		}
	}
	return out
}

// unescapeJSON replaces \uXXXX of ASCII characters, and the escapes of a slash, a backslash and a quote.
func unescapeJSON(text []byte) []byte {
	return unescape(text, '\\', func(rest []byte) (byte, int) {
		if len(rest) >= 2 && strings.IndexByte(`/\"`, rest[1]) >= 0 {
			return rest[1], 2
		}
		if len(rest) >= 6 && (rest[1] == 'u' || rest[1] == 'U') {
			return parseByte(rest[2:6], 6)
		}
		return 0, 0
	})
}

// unescapeURL replaces %XX.
func unescapeURL(text []byte) []byte {
	return unescape(text, '%', func(rest []byte) (byte, int) {
		if len(rest) < 3 {
			return 0, 0
		}
		return parseByte(rest[1:3], 3)
	})
}

func unescapeHTML(text []byte) []byte {
	if bytes.IndexByte(text, '&') < 0 {
		return text
	}
	return []byte(html.UnescapeString(string(text)))
}

// unescape replaces each escape that begins with mark by one byte. read returns that byte and the length of the escape,
// 0 if there is none.
func unescape(text []byte, mark byte, read func(rest []byte) (byte, int)) []byte {
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

// parseByte parses the hex digits of an escape of the given length; it returns length 0 if they are not hex digits.
func parseByte(digits []byte, length int) (byte, int) {
	value, err := strconv.ParseUint(string(digits), 16, 8)
	if err != nil {
		return 0, 0
	}
	return byte(value), length
}

// lower returns a copy of text with its ASCII letters in lower case; other bytes are unchanged.
func lower(text []byte) []byte {
	out := bytes.Clone(text)
	for i, b := range out {
		if 'A' <= b && b <= 'Z' {
			out[i] = b + 'a' - 'A'
		}
	}
	return out
}

// beginsAtEnd reports whether text ends with at least [minTail] characters of the beginning of form.
func beginsAtEnd(text, form []byte) bool {
	for n := min(len(form), len(text)); n >= minTail; n-- {
		if bytes.HasSuffix(text, form[:n]) {
			return true
		}
	}
	return false
}
