package drafts

import (
	"net/url"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/test/consoletest"
)

// TestFieldTables checks that the form has every field of the API's draft and lines, with the same kind and the same
// required fields. No submission needs an optional field.
func TestFieldTables(t *testing.T) {
	t.Parallel()
	missing := strings.Join(invoice.Missing(&api.Draft{Items: []api.Item{{}}}), " ")
	for _, table := range []struct {
		of     reflect.Type
		fields []FieldSpec
		prefix string
	}{{reflect.TypeFor[api.Draft](), Fields, ""}, {reflect.TypeFor[api.Item](), ItemFields, "items[0]."}} {
		known := map[string]FieldSpec{}
		for _, field := range table.fields {
			known[field.Name] = field
		}
		count := 0
		for field := range table.of.Fields() {
			name := field.Tag.Get("json")
			if name == "items" {
				continue
			}
			count++
			spec, ok := known[name]
			if !ok {
				t.Errorf("the form has no %s", name)
			}
			if decimal := field.Type == reflect.TypeFor[*api.Decimal](); decimal != (spec.Kind == NumberField) {
				t.Errorf("%s: decimal %v", name, decimal)
			}
			if date := field.Tag.Get("format") == "date"; date != (spec.Kind == dateField) {
				t.Errorf("%s: date %v", name, date)
			}
			if several := field.Tag.Get("text") == "multi"; several != (spec.Kind == multilineField) {
				t.Errorf("%s: several lines %v", name, several)
			}
			if required := field.Tag.Get("required") == "true"; required != spec.Required {
				t.Errorf("%s: required %v", name, required)
			}
			if needed := strings.Contains(" "+missing+" ", " "+table.prefix+name+" "); needed == spec.Optional {
				t.Errorf("%s: needed for submission %v", name, needed)
			}
			if spec.codes != "" && consoletest.Words(t, language.English).Codes[spec.codes] == nil {
				t.Errorf("%s: no code list %q", name, spec.codes)
			}
		}
		if count != len(table.fields) {
			t.Errorf("%d fields, %d in the form", count, len(table.fields))
		}
	}
}

// TestMoveLines checks that lines can be added, removed and moved, and the focus stays on the button, so that it can be
// pressed again.
func TestMoveLines(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a", "b", "c"}})
	names := func() string {
		var out []string
		for _, item := range form.Items {
			out = append(out, item["name"])
		}
		return strings.Join(out, "")
	}
	for _, step := range []struct {
		do, want string
		at       focus
		known    bool
	}{
		{"down:0", "bac", focus{Do: doDown, Line: 1}, true},
		{"down:1", "bca", focus{Do: doUp, Line: 2}, true},
		{"up:1", "cba", focus{Do: doDown, Line: 0}, true},
		{"up:0", "cba", focus{}, true},
		{"down:2", "cba", focus{}, true},
		{"remove:7", "cba", focus{}, true},
		{"remove:-1", "cba", focus{}, true},
		{"remove:2", "cb", focus{Do: doRemove, Line: 1}, true},
		{"remove:0", "b", focus{Do: doRemove, Line: 0}, true},
		{"remove:0", "", focus{Do: doRemove, Line: -1}, true},
		{"add", "", focus{Path: "items[0].name"}, true},
		{"keep", "", focus{}, true},
		{"save", "", focus{}, false},
		{"", "", focus{}, false},
	} {
		if at, known := form.apply(step.do); at != step.at || known != step.known || names() != step.want {
			t.Errorf("%s: %q %+v %v", step.do, names(), at, known)
		}
	}
}
