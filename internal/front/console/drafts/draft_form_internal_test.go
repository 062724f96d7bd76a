package drafts

import (
	"net/url"
	"reflect"
	"slices"
	"strings"
	"testing"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/test/consoletest"
)

// TestFieldsOfTheForm checks that the form has every field of the API's draft and lines once, that each has a label in
// every language, as its section has, and that its code list exists.
func TestFieldsOfTheForm(t *testing.T) {
	t.Parallel()
	placed := 0
	for _, names := range layout {
		placed += len(names)
	}
	for _, table := range []struct {
		of       reflect.Type
		fields   []FieldSpec
		sections bool
	}{{reflect.TypeFor[api.Draft](), Fields, true}, {reflect.TypeFor[api.Item](), ItemFields, false}} {
		names, shown := leaves(table.of), []string(nil)
		for _, spec := range table.fields {
			shown = append(shown, spec.Name)
			if spec.placed {
				placed--
			}
			for _, tongue := range []language.Tag{language.English, language.Arabic} {
				words := consoletest.Words(t, tongue)
				if _, known := words.Messages.Lookup("field." + spec.Name); !known {
					t.Errorf("%s: no label in %s", spec.Name, tongue)
				}
				if _, known := words.Messages.Lookup("draft.group." + spec.group); table.sections && !known {
					t.Errorf("%s: the group %q has no label in %s", spec.Name, spec.group, tongue)
				}
				if spec.codes != "" && words.Codes[spec.codes] == nil {
					t.Errorf("%s: no code list %q", spec.Name, spec.codes)
				}
			}
		}
		slices.Sort(names)
		slices.Sort(shown)
		if !slices.Equal(names, shown) {
			t.Errorf("the API has %q, and the form %q", names, shown)
		}
	}
	if placed != 0 {
		t.Errorf("the layout names %d fields that the API does not have", placed)
	}
}

// TestSpecs checks what the form reads from the tags of some fields.
func TestSpecs(t *testing.T) {
	t.Parallel()
	for _, want := range []FieldSpec{
		{Name: "invoice_number", group: "invoice", placed: true, Required: true},
		{Name: "issue_time", Kind: timeField, group: "invoice", placed: true, Optional: true},
		{Name: "due_date", Kind: dateField, group: "invoice", placed: true},
		{Name: "total_amount", Kind: NumberField, group: "invoice", placed: true, counts: console.MoneyNumber,
			Required: true},
		{Name: "buyer_subdivision", codes: "emirates", group: "buyer", placed: true, Optional: true},
		{Name: "note", Kind: multilineField, group: "notes", Optional: true},
		{Name: "vat_rate", Kind: NumberField, placed: true, counts: console.PercentNumber},
		{Name: "description", Kind: multilineField, Optional: true},
		{Name: "gross_unit_price", Kind: NumberField, counts: console.MoneyNumber, Optional: true},
	} {
		if got := SpecNamed(slices.Concat(Fields, ItemFields), want.Name); got != want {
			t.Errorf("%+v instead of %+v", got, want)
		}
	}
	if last := Fields[len(Fields)-1].Name; last != "total_amount" {
		t.Errorf("the last field is %s, and the total is below the lines", last)
	}
}

// TestRestoreLineBreaks checks that texts that differ only in line breaks keep their stored form.
func TestRestoreLineBreaks(t *testing.T) {
	t.Parallel()
	before := &api.Draft{Note: new("a\r\nb"), Items: []api.Item{{Description: new("c\r\nd")}}}
	draft := &api.Draft{Note: new("a\nb"), Items: []api.Item{{Description: new("new")}, {Description: new("c\nd")}}}
	restoreLineBreaks(draft, before)
	if *draft.Note != "a\r\nb" || *draft.Items[0].Description != "new" || *draft.Items[1].Description != "c\r\nd" {
		t.Errorf("%q %q %q", *draft.Note, *draft.Items[0].Description, *draft.Items[1].Description)
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
			out = append(out, item.Fields["name"])
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

// leaves returns the JSON paths of the fields of a type and of its groups, without lists.
func leaves(of reflect.Type) (names []string) {
	for field := range of.Fields() {
		name, t := field.Tag.Get("json"), field.Type
		switch {
		case t.Kind() == reflect.Slice:
		case t.Elem().Kind() == reflect.Struct && t != reflect.TypeFor[*api.Decimal]():
			for _, below := range leaves(t.Elem()) {
				names = append(names, name+"."+below)
			}
		default:
			names = append(names, name)
		}
	}
	return names
}
