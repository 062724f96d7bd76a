package invoice

import (
	"strconv"
	"strings"
	"unicode"

	"github.com/go-json-experiment/json/jsontext"
)

// Remark is something that a provider says to people, beside the states: why it rejected a document, for instance. It
// decides nothing, and no state is read from it.
type Remark struct {
	// Code is the provider's name for it, "" when it has none.
	Code string
	// Text is what it says, "" when there is only a code. Both are the provider's own words, at most 1,000 characters, with
	// spaces for control characters.
	Text string
}

// The most remarks that are read of one body, and the most characters of each part.
const (
	maxRemarks = 20
	maxRemark  = 1_000
)

// Discovery is the code of a remark that is the result of looking for the receiver: found, not_found or timed_out.
const Discovery = "discovery"

// ReadRemarks reads what a retained body says to people, where the provider protocol has its place: the members messages,
// discovery and error. A body, or a part of one, that is of another form says nothing.
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

// remarkText reads a text for people; "" when there is none.
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
