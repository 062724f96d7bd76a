package strictjson

import (
	"strconv"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// bodyPath is the path of faults of the body as a whole.
const bodyPath = "body"

// maxKey is the longest part of an unknown member's name that a path shows, in code points.
const maxKey = 64

// appendMember appends the path of a member to the path of its object. A name of letters, digits, _ and - is used as it
// is. Any other name is arbitrary text of the caller: it is quoted in brackets, with everything but printable ASCII
// escaped, and cut to [maxKey] code points: items[0]["no such\nkey"].
func appendMember(path, name []byte) []byte {
	if plain(name) {
		if len(path) > 0 {
			path = append(path, '.')
		}
		return append(path, name...)
	}
	short := name
	for count, i := 0, 0; i < len(name); count++ {
		if count == maxKey {
			short = append(append([]byte(nil), name[:i]...), "..."...)
			break
		}
		_, size := utf8.DecodeRune(name[i:])
		i += size
	}
	path = append(path, '[')
	path = strconv.AppendQuoteToASCII(path, string(short))
	return append(path, ']')
}

// plain reports whether a name needs no quotes in a path.
func plain(name []byte) bool {
	if len(name) == 0 || len(name) > maxKey {
		return false
	}
	for _, c := range name {
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9'
		if !letter && c != '_' && c != '-' {
			return false
		}
	}
	return true
}

// appendElement appends the path of an array element to the path of its array.
func appendElement(path []byte, index int) []byte {
	path = append(path, '[')
	path = strconv.AppendInt(path, int64(index), 10)
	return append(path, ']')
}

// appendName appends a member's name to an object's text, as JSON, with the comma before and the colon after it.
func appendName(text, name []byte) []byte {
	if text[len(text)-1] != '{' {
		text = append(text, ',')
	}
	// AppendQuote cannot fail: the parser has checked that the name is valid UTF-8.
	text, _ = jsontext.AppendQuote(text, name)
	return append(text, ':')
}
