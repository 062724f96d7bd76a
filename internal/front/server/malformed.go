package server

import (
	"errors"
	"net/url"
	"strings"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// malformedQuery returns the error for a query parameter or a header field. Its details have the name, the broken rule,
// and what the rule requires.
func malformedQuery(name, rule, message string) *problem.Problem {
	return problem.For(api.CodeMalformedRequest).With(
		map[string]any{shortName(name): []api.Fault{{Rule: rule, Message: message}}})
}

// shortName returns the caller's name of a parameter as valid UTF-8, cut to the length of the longest possible name of
// a parameter.
func shortName(name string) string {
	const longest = 64
	name = strings.ToValidUTF8(name, "\uFFFD")
	switch {
	case name == "":
		return "query" // the parameter has no name
	case len(name) <= longest:
		return name
	}
	end := longest
	for !utf8.RuneStart(name[end]) {
		end--
	}
	return name[:end] + "…"
}

// malformedBody returns the error for a body that is not one JSON text. Its details have the line and the column, both
// from 1, where the body ceases to be JSON.
func malformedBody(err error) *problem.Problem {
	r := problem.For(api.CodeMalformedRequest).Because(err)
	if at, ok := errors.AsType[*strictjson.MalformedError](err); ok {
		r.Details = map[string]any{"line": at.Line, "column": at.Column}
	}
	return r
}

// parseQuery parses a query string. Unlike [url.ParseQuery] it rejects names and values that are not UTF-8 text without
// NUL, and its error names the first invalid pair.
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
