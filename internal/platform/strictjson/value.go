package strictjson

import (
	"bytes"
	"errors"
	"iter"

	"github.com/go-json-experiment/json/jsontext"
)

// MaxDepth is the deepest nesting of a body: an array or object at the top is depth 1.
const MaxDepth = 32

// ErrMalformed means that a body is not a single JSON text; [MalformedError] has the position.
var ErrMalformed = errors.New("strictjson: malformed JSON")

// Value is a part of a body that [Parse] has accepted: valid JSON text without white space around it. It is read in
// place and copies nothing, so the body must not be changed while it is in use. The zero value is no JSON value.
type Value struct{ text []byte }

// Parse reads a body: one JSON text (RFC 8259) within the limits of RFC 7493. It returns a [*MalformedError] for an
// empty body, anything after the text, a byte order mark, invalid UTF-8, an unpaired surrogate escape, two members of
// one name (compared without their escapes), and nesting deeper than [MaxDepth].
func Parse(body []byte) (Value, error) {
	// Check the depth first: it needs no memory and rejects deep nesting before the parser recurses into it.
	if deep := tooDeep(body); deep >= 0 {
		return Value{}, malformedAt(body, deep)
	}
	if !jsontext.Value(body).IsValid() {
		return Value{}, malformedAt(body, syntaxErrorOffset(body))
	}
	return Value{text: bytes.Trim(body, " \t\r\n")}, nil
}

// tooDeep returns the offset of the first array or object that is nested deeper than MaxDepth, -1 if there is none. The
// result is arbitrary for a body that is not JSON.
func tooDeep(body []byte) int {
	if bytes.Count(body, []byte{'{'})+bytes.Count(body, []byte{'['}) <= MaxDepth {
		return -1 // true for most bodies; counting is many times faster than the loop below
	}
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == '\\' && quoted:
			i++ // skip the escaped character
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{' || c == '[':
			if depth++; depth > MaxDepth {
				return i
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return -1
}

// Kind returns the first byte of the value, with '0' for every number: n, f, t, ", 0, { or [; 0 for the zero Value.
func (v Value) Kind() jsontext.Kind { return jsontext.Value(v.text).Kind() }

// Raw returns the JSON text of the value. It is a part of the body: do not change it.
func (v Value) Raw() []byte { return v.text }

// Text returns the content of a JSON string without quotes and escapes, and "" for every other kind.
func (v Value) Text() string {
	if v.Kind() != '"' {
		return ""
	}
	return string(unquote(v.text))
}

// Members yields the members of an object in their order, names without escapes and in their exact case. It yields
// nothing for every other kind. A name is valid until the next one and must not be changed.
func (v Value) Members() iter.Seq2[[]byte, Value] {
	return func(yield func([]byte, Value) bool) {
		if v.Kind() != '{' {
			return
		}
		for i := next(v.text, 1); v.text[i] != '}'; i = next(v.text, i) {
			nameEnd := endOfString(v.text, i)
			start := next(v.text, nameEnd)
			end := endOfValue(v.text, start)
			if !yield(unquote(v.text[i:nameEnd]), Value{text: v.text[start:end]}) {
				return
			}
			i = end
		}
	}
}

// Elements yields the elements of an array in their order, and nothing for every other kind.
func (v Value) Elements() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		if v.Kind() != '[' {
			return
		}
		for i := next(v.text, 1); v.text[i] != ']'; i = next(v.text, i) {
			end := endOfValue(v.text, i)
			if !yield(Value{text: v.text[i:end]}) {
				return
			}
			i = end
		}
	}
}

// The functions below scan text that the parser has accepted. They only find the ends of tokens and validate nothing.

// next returns the position at or after i of the next token, past white space, commas and colons.
func next(text []byte, i int) int {
	for {
		switch text[i] {
		case ' ', '\t', '\r', '\n', ',', ':':
			i++
		default:
			return i
		}
	}
}

// endOfString returns the position after the string that begins at i.
func endOfString(text []byte, i int) int {
	for i++; text[i] != '"'; i++ {
		if text[i] == '\\' {
			i++
		}
	}
	return i + 1
}

// endOfValue returns the position after the value that begins at i.
func endOfValue(text []byte, i int) int {
	switch text[i] {
	case '"':
		return endOfString(text, i)
	case '{', '[':
		return endOfContainer(text, i)
	}
	for { // the value is in an array or object, so another token follows
		switch text[i] {
		case ',', ']', '}', ' ', '\t', '\r', '\n':
			return i
		}
		i++
	}
}

// endOfContainer returns the position after the array or object that begins at i.
func endOfContainer(text []byte, i int) int {
	for depth := 0; ; {
		switch text[i] {
		case '"':
			i = endOfString(text, i)
			continue
		case '{', '[':
			depth++
		case '}', ']':
			if depth--; depth == 0 {
				return i + 1
			}
		}
		i++
	}
}

// unquote returns the content of a JSON string, as a part of it when there is nothing to unescape.
func unquote(text []byte) []byte {
	inner := text[1 : len(text)-1]
	if bytes.IndexByte(inner, '\\') < 0 {
		return inner
	}
	// AppendUnquote cannot fail: the parser has accepted this string.
	out, _ := jsontext.AppendUnquote(nil, text)
	return out
}
