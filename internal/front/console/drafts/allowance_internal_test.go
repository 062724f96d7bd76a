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

// TestAllowanceFields checks that the form has every field of allowances and charges, that each
// has a label in every language, that its code list exists, and that the lists have the sizes of the API.
func TestAllowanceFields(t *testing.T) {
	t.Parallel()
	for _, table := range []struct {
		of, in reflect.Type
		lists  []*allowanceList
	}{
		{reflect.TypeFor[api.Allowance](), reflect.TypeFor[api.Draft](), draftLists},
		{reflect.TypeFor[api.LineAllowance](), reflect.TypeFor[api.Item](), lineLists},
	} {
		for _, list := range table.lists {
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
			want := leaves(table.of)
			slices.Sort(want)
			slices.Sort(shown)
			if !slices.Equal(shown, want) {
				t.Errorf("the API has %q, and the form %q", want, shown)
			}
			for field := range table.in.Fields() {
				if field.Tag.Get("json") == list.Name && field.Tag.Get("maxItems") != strconv.Itoa(list.Max) {
					t.Errorf("%s may have %s entries", list.Name, field.Tag.Get("maxItems"))
				}
			}
			if codes := SpecNamed(list.Fields, "reason_code").codes; codes != list.Kind+"-reasons" {
				t.Errorf("%s have the reasons %s", list.Name, codes)
			}
		}
	}
}

// sent returns the form as a browser sends it.
func sent(form Form) url.Values {
	out := url.Values{}
	for name, text := range form.Fields {
		out.Set(name, text)
	}
	add := func(line string, all []allowance) {
		for _, a := range all {
			out.Add("allowances.line", line)
			out.Add("allowances.kind", a.List.Kind)
			for _, spec := range a.List.Fields {
				out.Add(allowancePrefix+spec.Name, a.Fields[spec.Name])
			}
		}
	}
	add("", form.Allowances)
	for n, item := range form.Items {
		for _, spec := range ItemFields {
			out.Add(itemPrefix+spec.Name, item.Fields[spec.Name])
		}
		add(strconv.Itoa(n), item.Allowances)
	}
	return out
}

// TestAllowancesKeepTheirOrder checks that a form with many allowances and charges, as a browser sends it, makes the
// draft that it was made of, in every language.
func TestAllowancesKeepTheirOrder(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	amount := func(n int) *api.Decimal { return new(api.MustDecimal(strconv.Itoa(n) + ".50")) }
	for n := range 12 {
		d.Allowances = append(d.Allowances, api.Allowance{Amount: amount(n), Reason: new("a" + strconv.Itoa(n))})
		d.Charges = append(d.Charges, api.Allowance{ReasonCode: new("FC"), VATRate: amount(n)}, api.Allowance{})
		item := &d.Items[n%2]
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

// TestAllowanceDifferences checks which paths two forms differ at.
func TestAllowanceDifferences(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	mine := draftFormOf(d)
	d.Charges[0].Reason, d.Allowances, d.Items[1].Charges[0].Percent = new("x"), nil, new(api.MustDecimal("9"))
	want := []string{"allowances", "charges[0].reason", "items[1].charges[0].percent"}
	if got := mine.differences(draftFormOf(d)); !slices.Equal(got, want) {
		t.Errorf("%q instead of %q", got, want)
	}
}

// shapeOf shows which allowances (-) and charges (+) the invoice and the lines of a form have, by their amounts.
func shapeOf(form *Form) string {
	var out strings.Builder
	write := func(all []allowance) {
		for _, a := range all {
			out.WriteString(map[string]string{doAllowance: "-", doCharge: "+"}[a.List.Kind] + a.Fields["amount"])
		}
	}
	write(form.Allowances)
	for _, item := range form.Items {
		out.WriteString(" " + item.Fields["name"])
		write(item.Allowances)
	}
	return out.String()
}

// TestMoveAllowances checks that allowances and charges can be added and removed, go with their line, and never to
// another one, and where the focus goes.
func TestMoveAllowances(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a", "b", "c"}, "items.vat_category": {"", "", "Z"},
		"allowances.line":   {"", "", "0", "2", "2", "-1", "999999", "x", "1.0", "3"},
		"allowances.kind":   {"allowance", "charge", "charge", "allowance", "charge", "charge", "charge", "charge"},
		"allowances.amount": {"1", "2", "3", "4", "5", "6", "7", "8", "9", "0"}})
	if got, want := shapeOf(&form), "-1+2 a+3 b c-4+5"; got != want {
		t.Fatalf("%q instead of %q", got, want)
	}
	for _, step := range []struct {
		do, want string
		at       focus
	}{
		{"down:0", "-1+2 b a+3 c-4+5", focus{Do: doDown, Line: 1}},
		{"up:2", "-1+2 b c-4+5 a+3", focus{Do: doUp, Line: 1}},
		{"charge:0", "-1+2 b+ c-4+5 a+3", focus{Path: "items[0].charges[0].amount"}},
		{"allowance:1", "-1+2 b+ c-4+5- a+3", focus{Path: "items[1].allowances[1].amount"}},
		{"allowance:", "-1+2- b+ c-4+5- a+3", focus{Path: "allowances[1].amount"}},
		{"drop:.0", "+2- b+ c-4+5- a+3", focus{Do: "drop:.0"}},
		{"drop:1.2", "+2- b+ c-4+5 a+3", focus{Do: "drop:1.1"}},
		{"drop:0.0", "+2- b c-4+5 a+3", focus{Path: "items[0].name"}},
		{"remove:1", "+2- b a+3", focus{Do: doRemove, Line: 1}},
		{"drop:0.0", "+2- b a+3", focus{}},
		{"drop:1.-1", "+2- b a+3", focus{}},
		{"drop:x.9", "+2- b a+3", focus{}},
		{"drop:", "+2- b a+3", focus{}},
		{"allowance:7", "+2- b a+3", focus{}},
		{"charge:-1", "+2- b a+3", focus{}},
		{"drop:.0", "- b a+3", focus{Do: "drop:.0"}},
		{"drop:.0", " b a+3", focus{Path: "prepaid_amount"}},
	} {
		if at, known := form.apply(step.do); at != step.at || !known || shapeOf(&form) != step.want {
			t.Errorf("%s: %q %+v %v", step.do, shapeOf(&form), at, known)
		}
	}
}

// TestAllowanceTax checks that a new allowance on the invoice has the tax of the last line, and one on a line none.
func TestAllowanceTax(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a", "b"}, "items.vat_category": {"S", "Z"},
		"items.vat_rate": {"5", "0"}})
	form.apply("charge:")
	form.apply("charge:0")
	if got := form.Allowances[0].Fields; got["vat_category"] != "Z" || got["vat_rate"] != "0" {
		t.Errorf("on the invoice: %v", got)
	}
	if got := form.Items[0].Allowances[0].Fields; len(got) > 0 {
		t.Errorf("on the line: %v", got)
	}
}

// TestManyAllowances checks that a form has no more allowances and charges than the API takes, that one more is a fault
// at its list, and that a form with very many is refused before it costs much.
func TestManyAllowances(t *testing.T) {
	t.Parallel()
	form := readDraftForm(url.Values{"items.name": {"a"}})
	for range 120 {
		form.apply("allowance:")
		form.apply("charge:0")
	}
	if got, of := len(form.Allowances), len(form.Items[0].Allowances); got != 100 || of != 20 {
		t.Errorf("%d on the invoice, and %d on the line", got, of)
	}
	form.Allowances = append(form.Allowances, form.Allowances[0])
	form.Items[0].Allowances = append(form.Items[0].Allowances, form.Items[0].Allowances[0])
	_, faults, err := form.draft()
	for _, path := range []string{"allowances", "items[0].charges"} {
		if err != nil || len(faults[path]) != 1 || faults[path][0].Rule != "max_items" {
			t.Errorf("%s: %v %v", path, faults, err)
		}
	}
	most := url.Values{"items.name": {"a"}, "allowances.line": slices.Repeat([]string{"0"}, 100_000)}
	if form := readDraftForm(most); !form.tooMany || form.countAllowances() > 0 {
		t.Errorf("%d are read", form.countAllowances())
	}
}

// TestCopiesHaveNoPayments checks that the copy of an invoice has its allowances, and not what was paid of it.
func TestCopiesHaveNoPayments(t *testing.T) {
	t.Parallel()
	d, _ := drafttest.Every(t)
	form := draftFormOf(d)
	form.prepareCopy(time.Date(2026, time.March, 1, 0, 0, 0, 0, time.UTC))
	if form.Fields["prepaid_amount"]+form.Fields["rounding_amount"] != "" {
		t.Error("the copy was paid already")
	}
	if len(form.Allowances) != 2 || len(form.Items[0].Allowances) != 2 {
		t.Error("the copy lacks allowances")
	}
}

// TestSpecAt checks that every path of a draft has the description of its field.
func TestSpecAt(t *testing.T) {
	t.Parallel()
	for path, want := range map[string]string{"due_date": "due_date", "items[2].vat_rate": "vat_rate",
		"allowances[0].vat_category": "vat_category", "items[0].charges[3].amount": "amount", "items[0].charges": "",
		"charges[1]": "", "items[0]": "", "delivery.city": "delivery.city", "items[9].period.start": "period.start",
		"others[0].amount": "", "items[0].charges[0].vat_rate": ""} {
		if got := specAt(path).Name; got != want {
			t.Errorf("%s: %q instead of %q", path, got, want)
		}
	}
	if codes := specAt("items[0].charges[0].reason_code").codes; codes != "charge-reasons" {
		t.Errorf("charges have the reasons %q", codes)
	}
}
