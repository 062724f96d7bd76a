package protocol_test

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/url"
	"slices"
	"strings"
)

// echoForms write a credential in the forms that [provider.Response].Echoed promises to detect. Each gets the
// neighbouring text, because base64 mixes a credential with its neighbours.
var echoForms = []func(before, credential, after string) string{
	func(_, c, _ string) string { return c },
	func(_, c, _ string) string { return strings.ToUpper(c) },
	func(_, c, _ string) string { return hex.EncodeToString([]byte(c)) },
	func(_, c, _ string) string { return strings.ToUpper(hex.EncodeToString([]byte(c))) },
	func(b, c, a string) string { return base64.StdEncoding.EncodeToString([]byte(b + c + a)) },
	func(b, c, a string) string { return base64.RawURLEncoding.EncodeToString([]byte(b + c + a)) },
	func(b, c, a string) string {
		return url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(b + c + a)))
	},
	func(_, c, _ string) string { return base64.StdEncoding.EncodeToString([]byte("Bearer " + c)) },
	func(_, c, _ string) string { return url.QueryEscape(c) },
	func(_, c, _ string) string { return url.PathEscape(c) },
	func(_, c, _ string) string { return strings.ReplaceAll(c, "/", `\/`) },
	func(_, c, _ string) string { return escapeEach(c, `\u%04x`) },
	func(_, c, _ string) string { return escapeEach(c, `\u%04X`) },
	func(_, c, _ string) string { return escapeEach(c, "%%%02x") },
	func(_, c, _ string) string { return escapeEach(c, "&#x%x;") },
	func(_, c, _ string) string { return escapeEach(c, "&#%d;") },
	func(_, c, _ string) string { return c[:5] + escapeEach(c[5:9], `\u%04x`) + c[9:] },
	func(_, c, _ string) string {
		r := []byte(c)
		slices.Reverse(r)
		return string(r)
	},
}

func escapeEach(text, format string) string {
	var out strings.Builder
	for i := range len(text) {
		fmt.Fprintf(&out, format, text[i])
	}
	return out.String()
}
