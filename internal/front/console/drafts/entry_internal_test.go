package drafts

import (
	"encoding/json"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/test/consoletest"
	"quittance/test/drafttest"
)

// TestEntryFields checks that the form has every list of the API with its size and every field of its entries, that
// each field has a label in every language, and that its code list exists.
func TestEntryFields(t *testing.T) {
	t.Parallel()
	for _, table := range []struct {
		in    reflect.Type
		lists []*entryList
	}{{reflect.TypeFor[api.Draft](), draftLists}, {reflect.TypeFor[api.Item](), lineLists}} {
		left := len(table.lists)
		for field := range table.in.Fields() {
			if field.Type.Kind() != reflect.Slice || field.Type == reflect.TypeFor[[]api.Item]() {
				continue
			}
			list := listNamed(table.lists, field.Tag.Get("json"))
			if list == nil {
				t.Errorf("the form lacks %s", field.Name)
				continue
			}
			left--
			if field.Tag.Get("maxItems") != strconv.Itoa(list.Max) {
				t.Errorf("%s may have %s entries", list.Name, field.Tag.Get("maxItems"))
			}
			var shown []string
			for _, spec := range list.Fields {
				shown = append(shown, spec.Name)
				for _, tongue := range []language.Tag{language.English, language.Arabic} {
					words := consoletest.Words(t, tongue)
					if _, known := words.Messages.Lookup("field." + spec.Name); !known {
						t.Errorf("%s: no label in %s", spec.Name, tongue)
					}
					if spec.codes != "" && words.Codes[spec.codes] == nil {
						t.Errorf("%s: no code list %q", spec.Name, spec.codes)
					}
				}
			}
			want := leaves(field.Type.Elem())
			slices.Sort(want)
			slices.Sort(shown)
			if !slices.Equal(shown, want) {
				t.Errorf("the API has %q, and the form %q", want, shown)
			}
			if codes := SpecNamed(list.Fields, "reason_code").codes; codes != "" && codes != list.Kind+"-reasons" {
				t.Errorf("%s have the reasons %s", list.Name, codes)
			}
		}
		if left > 0 {
			t.Errorf("%d lists of %s are not in the API", left, table.in)
		}
	}
}

// sent returns the form as a browser sends it.
func sent(form Form) url.Values {
	out := url.Values{}
	for name, text := range form.Fields {
		out.Set(name, text)
	}
	add := func(line string, all []entry) {
		for _, e := range all {
			out.Add("entries.line", line)
			out.Add("entries.kind", e.List.Kind)
			for _, spec := range e.List.Fields {
				out.Add(entryPrefix+spec.Name, e.Fields[spec.Name])
			}
		}
	}
	add("", form.Entries)
	for n, item := range form.Items {
		for _, spec := range ItemFields {
			out.Add(itemPrefix+spec.Name, item.Fields[spec.Name])
		}
		add(strconv.Itoa(n), item.Entries)
	}
	return out
}

// TestEntriesKeepTheirOrder checks that a form with many entries, as a browser sends it, makes the draft that it was
// made of, in every language.
func TestEntriesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	amount := func(n int) *api.Decimal { return new(api.MustDecimal(strconv.Itoa(n) + ".50")) }
	for n := range 12 {
		d.Allowances = append(d.Allowances, api.Allowance{Amount: amount(n), Reason: new("a" + strconv.Itoa(n))})
		d.Charges = append(d.Charges, api.Allowance{ReasonCode: new("FC"), VATRate: amount(n)}, api.Allowance{})
		d.PrecedingInvoices = append(d.PrecedingInvoices, api.PrecedingInvoice{IssueDate: new("2026-01-02")},
			api.PrecedingInvoice{Number: new("p" + strconv.Itoa(n))})
		item := &d.Items[n%2]
		item.Attributes = append(item.Attributes, api.Attribute{}, api.Attribute{Value: new("v" + strconv.Itoa(n))})
		item.Allowances = append(item.Allowances, api.LineAllowance{Percent: amount(n), BaseAmount: amount(1000 * n)})
		item.Charges = append(item.Charges, api.LineAllowance{}, api.LineAllowance{Reason: new("c" + strconv.Itoa(n))})
	}
	for _, tongue := range []language.Tag{language.English, language.Arabic} {
		words := consoletest.Words(t, tongue)
		values, unread, err := readInput(words, readDraftForm(sent(showInput(words, draftFormOf(d)))))
		if err != nil || len(unread) > 0 {
			t.Fatal(unread, err)
		}
		got, faults, err := values.draft()
		if err != nil || len(faults) > 0 {
			t.Fatal(faults, err)
		}
		if want, got := asText(t, d), asText(t, got); want != got {
			t.Errorf("%s:\n%s instead of\n%s", tongue, got, want)
		}
		if differs := values.differences(draftFormOf(d)); len(differs) > 0 {
			t.Errorf("%s: the same form differs in %q", tongue, differs)
		}
	}
}

func asText(t *testing.T, v any) string {
	t.Helper()
	text, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestEntryDifferences checks which paths two forms differ at.
func TestEntryDifferences(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	mine := draftFormOf(d)
	d.Charges[0].Reason, d.Allowances, d.Items[1].Charges[0].Percent = new("x"), nil, new(api.MustDecimal("9"))
	d.PrecedingInvoices[0].IssueDate, d.Items[0].Attributes = nil, append(d.Items[0].Attributes, api.Attribute{})
	want := []string{"preceding_invoices[0].issue_date", "allowances", "charges[0].reason", "items[0].attributes",
		"items[1].charges[0].percent"}
	if got := mine.differences(draftFormOf(d)); !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}

// shapeOf shows which allowances (-), charges (+), preceding invoices (<) and attributes (=) the invoice and the lines
// of a form have, by their first fields.
func shapeOf(form *Form) string {
	var out strings.Builder
	write := func(all []entry) {
		for _, e := range all {
			out.WriteString(map[string]string{"allowance": "-", "charge": "+", "preceding_invoice": "<",
				"attribute": "="}[e.List.Kind] + e.Fields[e.List.Fields[0].Name])
		}
	}
	write(form.Entries)
	for _, item := range form.Items {
		out.WriteString(" " + item.Fields["name"])
		write(item.Entries)
	}
	return out.String()
}

// TestMoveEntries checks that entries can be added and removed, go with their line, and never to another one, and where
// the focus goes.
func TestMoveEntries(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a", "b", "c"}, "items.vat_category": {"", "", "Z"},
		"entries.line": {"", "", "", "0", "2", "2", "2", "-1", "999999", "x", "1.0", "3", "0", "", "1"},
		"entries.kind": {"preceding_invoice", "allowance", "charge", "charge", "allowance", "attribute", "charge", "charge",
			"charge", "charge", "charge", "attribute", "preceding_invoice", "attribute", "charges"},
		"entries.amount": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "0"}, "entries.name": {"colour", "lost"},
		"entries.number": {"p"}})
	if got, want := shapeOf(&form), "<p-1+2 a+3 b c-4=colour+5"; got != want {
		t.Fatalf("%q instead of %q", got, want)
	}
	for _, step := range []struct {
		do, want string
		at       focus
	}{
		{"down:0", "<p-1+2 b a+3 c-4=colour+5", focus{Do: doDown, Line: 1}},
		{"up:2", "<p-1+2 b c-4=colour+5 a+3", focus{Do: doUp, Line: 1}},
		{"charge:0", "<p-1+2 b+ c-4=colour+5 a+3", focus{Path: "items[0].charges[0].amount"}},
		{"allowance:1", "<p-1+2 b+ c-4=colour+5- a+3", focus{Path: "items[1].allowances[1].amount"}},
		{"attribute:0", "<p-1+2 b+= c-4=colour+5- a+3", focus{Path: "items[0].attributes[0].name"}},
		{"allowance:", "<p-1+2- b+= c-4=colour+5- a+3", focus{Path: "allowances[1].amount"}},
		{"preceding_invoice:", "<p-1+2-< b+= c-4=colour+5- a+3", focus{Path: "preceding_invoices[1].number"}},
		{"drop:allowances[0]", "<p+2-< b+= c-4=colour+5- a+3", focus{Do: "drop:charges[0]"}},
		{"drop:preceding_invoices[0]", "+2-< b+= c-4=colour+5- a+3", focus{Do: "drop:preceding_invoices[0]"}},
		{"drop:preceding_invoices[0]", "+2- b+= c-4=colour+5- a+3", focus{Path: "external_id"}},
		{"drop:items[1].allowances[1]", "+2- b+= c-4=colour+5 a+3", focus{Do: "drop:items[1].charges[0]"}},
		{"drop:items[1].attributes[0]", "+2- b+= c-4+5 a+3", focus{Do: "drop:items[1].charges[0]"}},
		{"drop:items[0].charges[0]", "+2- b= c-4+5 a+3", focus{Do: "drop:items[0].attributes[0]"}},
		{"drop:items[0].attributes[0]", "+2- b c-4+5 a+3", focus{Path: "items[0].name"}},
		{"remove:1", "+2- b a+3", focus{Do: doRemove, Line: 1}},
		{"drop:items[0].charges[0]", "+2- b a+3", focus{}},
		{"drop:items[1].charges[-1]", "+2- b a+3", focus{}},
		{"drop:items[x].charges[0]", "+2- b a+3", focus{}},
		{"drop:items[7].charges[0]", "+2- b a+3", focus{}},
		{"drop:", "+2- b a+3", focus{}},
		{"allowance:7", "+2- b a+3", focus{}},
		{"charge:-1", "+2- b a+3", focus{}},
		{"attribute:", "+2- b a+3", focus{}},
		{"preceding_invoice:0", "+2- b a+3", focus{}},
		{"drop:charges[0]", "- b a+3", focus{Do: "drop:allowances[0]"}},
		{"drop:allowances[0]", " b a+3", focus{Path: "prepaid_amount"}},
	} {
		if at, known := form.apply(step.do); at != step.at || !known || shapeOf(&form) != step.want {
			t.Errorf("%s: %q %+v %v", step.do, shapeOf(&form), at, known)
		}
	}
	if _, known := form.apply("entry:0"); known {
		t.Error("there is no such button")
	}
}

// TestEntryTax checks that a new allowance on the invoice has the tax of the last line, and one on a line none.
func TestEntryTax(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a", "b"}, "items.vat_category": {"S", "Z"},
		"items.vat_rate": {"5", "0"}})
	for _, button := range []string{"charge:", "preceding_invoice:", "charge:0"} {
		form.apply(button)
	}
	if got := form.Entries[0].Fields; got["vat_category"] != "Z" || got["vat_rate"] != "0" {
		t.Errorf("on the invoice: %v", got)
	}
	if len(form.Entries[1].Fields)+len(form.Items[0].Entries[0].Fields) > 0 {
		t.Errorf("what has no tax: %v %v", form.Entries[1], form.Items[0].Entries[0])
	}
}

// TestManyEntries checks that a form has no more entries than the API takes, that one more is a fault at its list, and
// that a form with very many is refused before it costs much.
func TestManyEntries(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a"}})
	for range 120 {
		for _, button := range []string{"allowance:", "preceding_invoice:", "charge:0", "attribute:0"} {
			form.apply(button)
		}
	}
	if got, of := len(form.Entries), len(form.Items[0].Entries); got != 100+100 || of != 20+20 {
		t.Errorf("%d on the invoice, and %d on the line", got, of)
	}
	form.Entries = append(form.Entries, form.Entries[:2]...)
	form.Items[0].Entries = append(form.Items[0].Entries, form.Items[0].Entries[:2]...)
	_, faults, err := form.draft()
	for _, path := range []string{"allowances", "preceding_invoices", "items[0].charges", "items[0].attributes"} {
		if err != nil || len(faults[path]) != 1 || faults[path][0].Rule != "max_items" {
			t.Errorf("%s: %v %v", path, faults, err)
		}
	}
	most := url.Values{"items.name": {"a"}, "entries.line": slices.Repeat([]string{"0"}, 100_000)}
	if form := readDraftForm(most); !form.tooMany || form.countEntries() > 0 {
		t.Errorf("%d are read", form.countEntries())
	}
}

// TestCopiesHaveNoPayments checks that the copy of an invoice has the entries of its lists, and not what was paid of
// it.
func TestCopiesHaveNoPayments(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	form := draftFormOf(d)
	form.prepareCopy(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	if form.Fields["prepaid_amount"]+form.Fields["rounding_amount"] != "" {
		t.Error("the copy was paid already")
	}
	if len(form.Entries) != len(draftLists) || len(form.Items[0].Entries) != len(lineLists) {
		t.Error("the copy lacks entries")
	}
}

// TestSpecAt checks that every path of a draft has the description of its field.
func TestSpecAt(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"due_date": "due_date", "items[2].vat_rate": "vat_rate",
		"allowances[0].vat_category": "vat_category", "items[0].charges[3].amount": "amount", "items[0].charges": "",
		"charges[1]": "", "items[0]": "", "delivery.city": "delivery.city", "items[9].period.start": "period.start",
		"others[0].amount": "", "items[0].charges[0].vat_rate": "", "items[4].attributes[3].value": "value",
		"attributes[0].value": "", "preceding_invoices[5].number": "number"} {
		if got := specAt(path).Name; got != want {
			t.Errorf("%s: %q instead of %q", path, got, want)
		}
	}
	if codes := specAt("items[0].charges[0].reason_code").codes; codes != "charge-reasons" {
		t.Errorf("charges have the reasons %q", codes)
	}
}
