package invoice

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Remark is a message of the provider for people, such as the reason for a rejection. It has no effect, and no state is
// read from it.
type Remark struct {
	// Code is the provider's code for the remark, "" if there is none.
	Code string
	// Text is the message, "" if there is only a code. Both are the provider's text, at most 1,000 characters, with spaces
	// in place of control characters.
	Text string
}

// The maximum number of remarks that are read from one body, and the maximum length of each part.
const (
	maxRemarks = 20
	maxRemark  = 1_000
)

// Discovery is the code of a remark that holds the result of the search for the receiver: found, not_found or
// timed_out.
const Discovery = "discovery"

// ReadRemarks reads the messages for people from a retained body of the provider protocol: its members messages,
// discovery and error. It ignores a body or a part that has another form.
func ReadRemarks(evidence []byte) []Remark {
	if strict(evidence) != nil {
		return nil
	}
	var out []Remark
	add := func(value jsontext.Value, code, text jsontext.Pointer) {
		if r := (Remark{Code: remarkText(value, code), Text: remarkText(value, text)}); r != (Remark{}) {
			out = append(out, r)
		}
	}
	if list, err := find(evidence, "/messages"); err == nil && list.Kind() == jsontext.KindBeginArray {
		for n := range maxRemarks {
			value, err := find(list, jsontext.Pointer("/"+strconv.Itoa(n)))
			if err != nil || value == nil {
				break
			}
			add(value, "/code", "/text")
		}
	}
	add(evidence, "/error/code", "/error/message")
	if result := remarkText(evidence, "/discovery/result"); result != "" {
		out = append(out, Remark{Code: Discovery, Text: result})
	}
	return out
}

// remarkText reads a text for people, or returns "" if there is none.
func remarkText(document jsontext.Value, at jsontext.Pointer) string {
	value, err := find(document, at)
	if err != nil || value.Kind() != jsontext.KindString {
		return ""
	}
	raw, err := jsontext.AppendUnquote(nil, value)
	if err != nil {
		return ""
	}
	text := []rune(strings.TrimSpace(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, string(raw))))
	if len(text) > maxRemark {
		return string(text[:maxRemark-1]) + "…"
	}
	return string(text)
}
