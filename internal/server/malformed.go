package server

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"quittance/api"
	"quittance/internal/strictjson"
)

// malformedQuery is the refusal of a query parameter or a header field: details hold its name, the broken rule, and what the rule
// wants (contract, section 1).
func malformedQuery(name, rule, message string) *refusal {
	return &refusal{code: api.CodeMalformedRequest, details: map[string]any{shortName(name): []api.Fault{{Rule: rule, Message: message}}}}
}

// shortName is the caller's own name of a parameter as it is told back: valid UTF-8, and not longer than a name that the API
// has could be.
func shortName(name string) string {
	const longest = 64
	name = strings.ToValidUTF8(name, "\uFFFD")
	switch {
	case name == "":
		return "query" // there is none to tell back
	case len(name) <= longest:
		return name
	}
	end := longest
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// malformedBody is the refusal of a body that is not one JSON text: details hold the line and the column where it ceases to be
// one, both from 1.
func malformedBody(err error) *refusal {
	r := &refusal{code: api.CodeMalformedRequest, cause: err}
	if at, ok := errors.AsType[*strictjson.MalformedError](err); ok {
		r.details = map[string]any{"line": at.Line, "column": at.Column}
	}
	return r
}

// parseQuery reads a query string whose names and values are all UTF-8 text without NUL. It is stricter than
// [url.ParseQuery] in nothing else, and names the first pair that it cannot read.
func parseQuery(raw string) (url.Values, error) {
	values := url.Values{}
	for pair := range strings.SplitSeq(raw, "&") {
		name, value, _ := strings.Cut(pair, "=")
		text, err := url.QueryUnescape(name)
		if err != nil || strings.Contains(pair, ";") || !isText(text) {
			return nil, malformedQuery(name, "encoding", "is not a percent-encoded name in UTF-8")
		}
		decoded, err := url.QueryUnescape(value)
		if err != nil || !isText(decoded) {
			return nil, malformedQuery(text, "encoding", "is not percent-encoded UTF-8 without NUL")
		}
		if pair != "" {
			values.Add(text, decoded)
		}
	}
	return values, nil
}

func isText(text string) bool { return utf8.ValidString(text) && !strings.ContainsRune(text, 0) }
