package archtest_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// apiTags are the keys of tags that the types of the API may have: what the decoder enforces, what the reference
// shows, and what forms show. A misspelled one would be no rule, and nobody would notice.
const apiTags = " json doc example required nullable minLength maxLength pattern patternDescription enum format text " +
	"minimum maximum exclusiveMinimum minItems maxItems codelist group codes unit "

// tagKey matches a key of a tag whose values are removed.
var (
	tagValue = regexp.MustCompile(`"(?:[^"\\]|\\.)*"`)
	tagKey   = regexp.MustCompile(`^[A-Za-z]+:$`)
)

// TestTagsOfTheAPI checks the keys of all tags in client/api.
func TestTagsOfTheAPI(t *testing.T) {
	files, err := filepath.Glob("client/api/*.go")
	if err != nil || len(files) < 10 {
		t.Fatalf("%d files: %v", len(files), err)
	}
	set, tags := token.NewFileSet(), 0
	for _, name := range files {
		file, err := parser.ParseFile(set, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(node ast.Node) bool {
			field, ok := node.(*ast.Field)
			if !ok || field.Tag == nil {
				return true
			}
			for key := range strings.FieldsSeq(tagValue.ReplaceAllString(strings.Trim(field.Tag.Value, "`"), " ")) {
				tags++
				if !tagKey.MatchString(key) || !strings.Contains(apiTags, " "+strings.TrimSuffix(key, ":")+" ") {
					t.Errorf("%s: the tag %q is none that anything reads", set.Position(field.Pos()), key)
				}
			}
			return true
		})
	}
	if tags < 1000 {
		t.Errorf("only %d tags were found", tags)
	}
}
