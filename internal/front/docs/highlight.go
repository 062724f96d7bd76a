package docs

import (
	"html/template"
	"regexp"
	"strings"
)

// The parts of a program or of JSON that are coloured: texts, comments and numbers.
var (
	hashTokens = regexp.MustCompile(
		"\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\]|\\\\.)*'|(?m:(?:^|[ \t])#[^\n]*)|\\b[0-9]+(?:\\.[0-9]+)?\\b")
	slashTokens = regexp.MustCompile(
		"\"(?:[^\"\\\\\n]|\\\\.)*\"|'(?:[^'\\\\\n]|\\\\.)*'|`[^`]*`|//[^\n]*|\\b[0-9]+(?:\\.[0-9]+)?\\b")
)

// highlight returns a program or a JSON text as HTML with its texts, comments, numbers and names of members marked.
func highlight(language, text string) template.HTML {
	tokens := slashTokens
	if language == "shell" || language == "python" {
		tokens = hashTokens
	}
	var out strings.Builder
	end := 0
	for _, at := range tokens.FindAllStringIndex(text, -1) {
		out.WriteString(template.HTMLEscapeString(text[end:at[0]]))
		token := text[at[0]:at[1]]
		end = at[1]
		class := "n"
		switch {
		case strings.ContainsAny(token[:1], "\"'`"):
			class = "s"
			if language == "json" && strings.HasPrefix(text[end:], ":") {
				class = "k"
			}
		case strings.HasPrefix(token, "//") || strings.HasPrefix(strings.TrimSpace(token), "#"):
			class = "c"
		}
		out.WriteString(`<span class="` + class + `">` + template.HTMLEscapeString(token) + `</span>`)
	}
	out.WriteString(template.HTMLEscapeString(text[end:]))
	return template.HTML(out.String()) //nolint:gosec // every part is escaped
}
