package strictjson_test

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"quittance/client/api"
	"quittance/internal/platform/strictjson"
)

// sample has every kind of field and every rule.
type sample struct {
	Must    *string       `json:"must" required:"true" minLength:"2" maxLength:"4"`
	Plain   string        `json:"plain"`
	Country *string       `json:"country" pattern:"[A-Z]{2}|eu" patternDescription:"two capital letters"`
	Kind    kind          `json:"kind" enum:"full,partial"`
	Date    *string       `json:"date" format:"date"`
	Multi   *string       `json:"multi" text:"multi"`
	Any     *string       `json:"any" text:"any"`
	Amount  *api.Decimal  `json:"amount" minimum:"-1.50" maximum:"10"`
	Price   api.Decimal   `json:"price" minimum:"0"`
	Above   api.Decimal   `json:"above" exclusiveMinimum:"0"`
	Flag    *bool         `json:"flag"`
	On      bool          `json:"on"`
	Count   *int          `json:"count" minimum:"1" maximum:"100"`
	Size    int           `json:"size"`
	Lines   []line        `json:"lines" minItems:"1" maxItems:"3"`
	Events  []string      `json:"events" maxItems:"2" enum:"a,b"`
	Numbers []api.Decimal `json:"numbers" maxItems:"2"`
	Inner   inner         `json:"inner"`
	Pointer *inner        `json:"pointer"`
	embedded
	Ignored string `json:"-"`
	hidden  string
}

type kind string

type line struct {
	Name *string      `json:"name" required:"true"`
	Rate *api.Decimal `json:"rate" required:"true" minimum:"0"`
}

type inner struct {
	Deep *string `json:"deep" required:"true" maxLength:"3"`
}

type embedded struct {
	Flat *string `json:"flat" maxLength:"1"`
}

var sampleDecoder = strictjson.For[sample]()

// rules formats faults as "path: rule, rule" in the order of the paths.
func rules(faults api.Faults) string {
	var out []string
	for _, path := range slices.Sorted(maps.Keys(faults)) {
		var names []string
		for _, fault := range faults[path] {
			names = append(names, fault.Rule)
		}
		out = append(out, path+": "+strings.Join(names, ", "))
	}
	return strings.Join(out, "; ")
}

func TestEveryRule(t *testing.T) {
	tests := []struct{ member, want string }{
		// required
		{`"must":null`, "must: required"},
		{`"must":""`, "must: required"},
		{`"must":" \t\u00a0\u2003"`, "must: required"},
		{`"Must":"abc"`, "Must: unknown_field; must: required"},
		{`"lines":[{"name":"a"},{"rate":1},{}]`,
			"lines[0].rate: required; lines[1].name: required; lines[2].name: required; lines[2].rate: required"},
		{`"inner":{}`, "inner.deep: required"},
		{`"pointer":{"deep":null}`, "pointer.deep: required"},
		{`"pointer":null,"inner":null,"plain":null,"price":null,"on":null,"size":null,"lines":null,"events":null,"amount":null`, ""},
		// type
		{`"must":1`, "must: type"}, {`"must":true`, "must: type"}, {`"must":[]`, "must: type"}, {`"must":{}`, "must: type"},
		{`"plain":1`, "plain: type"}, {`"amount":"1.00"`, ""}, {`"amount":"one"`, "amount: type"},
		{`"amount":""`, "amount: type"}, {`"amount":" 1"`, "amount: type"}, {`"amount":"11"`, "amount: maximum"},
		{`"amount":"1e-7"`, "amount: decimal"}, {`"amount":true`, "amount: type"}, {`"price":{}`, "price: type"},
		{`"flag":"true"`, "flag: type"}, {`"on":1`, "on: type"}, {`"count":"1"`, "count: type"},
		{`"count":1.0`, "count: type"}, {`"count":1e1`, "count: type"}, {`"size":1E0`, "size: type"},
		{`"lines":{}`, "lines: type"}, {`"lines":"x"`, "lines: type"}, {`"lines":[1,null,"x",[]]`, "lines: max_items"},
		{`"lines":[1,null,[]]`, "lines[0]: type; lines[1]: type; lines[2]: type"}, {`"events":["a",1]`, "events[1]: type"},
		{`"events":[null]`, "events[0]: type"}, {`"numbers":[1,"2"]`, ""}, {`"numbers":[1,"two"]`, "numbers[1]: type"},
		{`"inner":[]`, "inner: type"}, {`"pointer":"x"`, "pointer: type"},
		{`"flat":1`, "flat: type"},
		// unknown_field
		{`"nope":1`, "nope: unknown_field"}, {`"nope":null`,
			"nope: unknown_field"}, {`"ignored":1,"Ignored":2,"hidden":3,"embedded":{},"-":4`,
			"-: unknown_field; Ignored: unknown_field; embedded: unknown_field; hidden: unknown_field; ignored: unknown_field"},
		{`"inner":{"deep":"a","x":1}`, "inner.x: unknown_field"},
		{`"lines":[{"name":"a","rate":1,"Rate":2}]`, "lines[0].Rate: unknown_field"},
		// lengths, in code points
		{`"must":"a"`, "must: min_length"}, {`"must":"é"`, "must: min_length"}, {`"must":"ab"`, ""}, {`"must":"abcd"`,
			""}, {`"must":"😀😀😀😀"`, ""}, {`"must":"\ud83d\ude00\ud83d\ude00\ud83d\ude00\ud83d\ude00"`, ""},
		{`"must":"abcde"`, "must: max_length"}, {`"flat":""`, ""}, {`"flat":"ab"`, "flat: max_length"},
		{`"pointer":{"deep":"abcd"}`, "pointer.deep: max_length"},
		// pattern
		{`"country":"AE"`, ""}, {`"country":"eu"`, ""}, {`"country":"ae"`, "country: pattern"}, {`"country":"AEx"`,
			"country: pattern"}, {`"country":"xeu"`, "country: pattern"}, {`"country":""`, "country: pattern"},
		{`"country":"AE\n"`, "country: control_characters, pattern"},
		// enum
		{`"kind":"full"`, ""}, {`"kind":"Full"`, "kind: enum"}, {`"kind":""`, "kind: enum"}, {`"kind":"full,partial"`,
			"kind: enum"}, {`"events":["a","b"]`, ""}, {`"events":["c","a"]`, "events[0]: enum"},
		// date
		{`"date":"2024-02-29"`, ""}, {`"date":"0001-01-01"`, ""}, {`"date":"9999-12-31"`, ""}, {`"date":"2023-02-29"`,
			"date: date"}, {`"date":"1900-02-29"`, "date: date"}, {`"date":"0000-01-01"`, "date: date"},
		{`"date":"2024-13-01"`, "date: date"}, {`"date":"2024-00-10"`, "date: date"}, {`"date":"2024-04-31"`, "date: date"},
		{`"date":"2024-1-01"`, "date: date"}, {`"date":"24-01-01"`, "date: date"}, {`"date":""`, "date: date"},
		{`"date":"2024-01-01T00:00:00Z"`, "date: date"}, {`"date":" 2024-01-01"`, "date: date"},
		{`"date":"+024-01-01"`, "date: date"}, {`"date":"12024-01-01"`, "date: date"}, {`"date":"20240101"`, "date: date"},
		{`"date":"2024/01/01"`, "date: date"}, {`"date":"２０24-01-01"`, "date: date"},
		// control characters
		{`"plain":"a\u0000"`, "plain: control_characters"}, {`"plain":"\t"`,
			"plain: control_characters"}, {`"plain":"\u001f"`, "plain: control_characters"},
		{`"plain":"\u007f"`, "plain: control_characters"}, {`"plain":"\u0080"`, "plain: control_characters"},
		{`"plain":"\u009f"`, "plain: control_characters"},
		{"\"plain\":\"\u0085\"", "plain: control_characters"},
		{`"plain":"\u00a0\u200e\u200f\u202a\u202e\u2066\u2069\u061c"`, ""},
		{`"multi":"a\tb\nc\rd"`, ""}, {`"multi":"\u000b"`, "multi: control_characters"},
		{`"multi":"\u0000"`, "multi: control_characters"}, {`"multi":"\u0085"`, "multi: control_characters"},
		{`"any":"\u0001\u007f\u0085\n"`, ""}, {`"any":"\u0000"`, "any: control_characters"},
		{`"must":"a\nbcdef"`, "must: max_length, control_characters"},
		// decimal
		{`"price":123456789012.345678`, ""}, {`"price":123456789012345678`, ""}, {`"price":1234567890123456789`,
			"price: decimal"}, {`"price":0.1234567`, "price: decimal"}, {`"price":1e19`, "price: decimal"},
		{`"price":1e-7`, "price: decimal"}, {`"price":1E+2`, ""}, {`"price":0e999999999999`, ""},
		{`"count":1234567890123456789`, "count: decimal"}, {`"size":99999999999999999999999`, "size: decimal"},
		{`"size":-123456789012345678`, ""}, {`"size":-0`, ""},
		// minimum and maximum, by value
		{`"amount":-1.5`, ""}, {`"amount":-1.50`, ""}, {`"amount":-1.500001`, "amount: minimum"}, {`"amount":-2`,
			"amount: minimum"}, {`"amount":-10`, "amount: minimum"}, {`"amount":-1.49`, ""}, {`"amount":10.000000`, ""},
		{`"amount":10.000001`, "amount: maximum"}, {`"amount":11`, "amount: maximum"}, {`"amount":9.999999`, ""},
		{`"amount":100`, "amount: maximum"}, {`"above":0.01`, ""}, {`"above":0.00`, "above: exclusive_minimum"},
		{`"above":-1`, "above: exclusive_minimum"}, {`"price":-0.00`, ""}, {`"price":-0.01`, "price: minimum"},
		{`"lines":[{"name":"a","rate":-1}]`, "lines[0].rate: minimum"}, {`"count":0`, "count: minimum"}, {`"count":1`, ""},
		{`"count":100`, ""}, {`"count":101`, "count: maximum"},
		{`"count":-5`, "count: minimum"},
		// items
		{`"lines":[]`, "lines: min_items"}, {`"lines":[{},{},{},{}]`, "lines: max_items"}, {`"events":[]`,
			""}, {`"events":["a","b","x"]`, "events: max_items"},
	}
	for _, test := range tests {
		body := "{" + test.member + "}"
		if !strings.Contains(strings.ToLower(test.member), `"must"`) {
			body = `{"must":"abc",` + test.member + "}"
		}
		_, faults := sampleDecoder.Decode(parse(t, body))
		if got := rules(faults); got != test.want || faults == nil {
			t.Errorf("%s\n got %s\nwant %s", body, got, test.want)
		}
	}
}

// wantEqual fails the test unless two values are equal, unexported fields included, and shows their differences.
func wantEqual(t interface {
	Helper()
	Errorf(format string, args ...any)
}, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestAllFaultsAreReportedAtOnce(t *testing.T) {
	body := `{"plain":5,"country":"x","kind":"?","date":"x","amount":99,"flag":0,"count":0,"lines":[{"name":" "},{"rate":"one"}],"events":["z"],"inner":{"deep":"long"},"what is this":1}`
	_, faults := sampleDecoder.Decode(parse(t, body))
	want := `["what is this"]: unknown_field; amount: maximum; count: minimum; country: pattern; date: date; events[0]: enum; flag: type; inner.deep: max_length; kind: enum; ` +
		`lines[0].name: required; lines[0].rate: required; lines[1].name: required; lines[1].rate: type; must: required; plain: type`
	if got := rules(faults); got != want {
		t.Errorf("got %s\nwant %s", got, want)
	}
}

func TestMessagesNameWhatIsWanted(t *testing.T) {
	messages := map[string]string{
		`"must":1`: "must be a string", `"amount":true`: "must be a number", `"amount":"one"`: "must be a number",
		`"above":0`: "must be above 0", `"flag":0`: "must be true or false", `"count":1.5`: "must be a whole number",
		`"lines":1`: "must be an array", `"inner":1`: "must be an object", `"must":"a"`: "must have at least 2 characters",
		`"flat":"ab"`: "must have at most 1 character", `"country":"x"`: "must be two capital letters",
		`"kind":"x"`:       "must be one of full, partial",
		`"date":"x"`:       "must be a real date, YYYY-MM-DD",
		`"plain":"\t"`:     "must not contain control characters",
		`"multi":"\u0000"`: "must not contain control characters other than TAB, LF and CR",
		`"any":"\u0000"`:   "must not contain the character NUL",
		`"price":1e-7`:     "must have at most 18 digits, at most 6 of them after the point",
		`"amount":11`:      "must be at most 10",
		`"amount":-3`:      "must be at least -1.50", `"lines":[]`: "must have at least 1 entry",
		`"events":["a","a","a"]`: "must have at most 2 entries", `"must":null`: "is required",
		`"x":1`: "is not a field of this object",
	}
	for member, want := range messages {
		_, faults := sampleDecoder.Decode(parse(t, "{"+member+"}"))
		var got []string
		for path, list := range faults {
			for _, fault := range list {
				if path != "must" || strings.HasPrefix(member, `"must"`) {
					got = append(got, fault.Message)
				}
			}
		}
		if len(got) != 1 || got[0] != want {
			t.Errorf("%s: %q, want %q", member, got, want)
		}
	}
}

func TestDecodeFillsEveryKindOfField(t *testing.T) {
	body := `{"must":"a\u0062c","plain":"p","kind":"partial","amount":-1.50,"price":10.00,"flag":false,"on":true,"count":7,"size":-3,
		"lines":[{"name":"n","rate":5}],"events":["b","a"],"numbers":[1.0,2],"inner":{"deep":"d"},"pointer":{"deep":"e"},"flat":"f"}`
	got, faults := sampleDecoder.Decode(parse(t, body))
	if len(faults) > 0 {
		t.Fatal(rules(faults))
	}
	want := sample{
		Must: new("abc"), Plain: "p", Kind: "partial", Amount: new(api.MustDecimal("-1.50")), Price: api.MustDecimal("10.00"),
		Flag: new(false), On: true, Count: new(7), Size: -3, Lines: []line{{Name: new("n"), Rate: new(api.MustDecimal("5"))}},
		Events: []string{"b", "a"}, Numbers: []api.Decimal{api.MustDecimal("1.0"), api.MustDecimal("2")},
		Inner: inner{Deep: new("d")}, Pointer: &inner{Deep: new("e")}, embedded: embedded{Flat: new("f")},
	}
	wantEqual(t, "the decoded value", got, want)
	if got.hidden != "" {
		t.Errorf("the unexported field is %q, want it untouched", got.hidden)
	}
}

func TestInvalidFieldsAreEmpty(t *testing.T) {
	body := `{"must":"toolong","plain":"\u0000","kind":"x","date":"x","amount":99,"price":-1,"flag":"x","on":"x","count":0,"size":1.5,
		"lines":[7,{"name":"kept","rate":-1}],"events":["a","x"],"numbers":[1,"x"],"inner":7,"pointer":{"deep":"long"},"flat":"xx"}`
	got, faults := sampleDecoder.Decode(parse(t, body))
	if len(faults) != 17 {
		t.Errorf("%d faults: %s", len(faults), rules(faults))
	}
	want := sample{Lines: []line{{}, {Name: new("kept")}}, Pointer: &inner{}}
	wantEqual(t, "the decoded value", got, want)
}

func TestTheBodyItselfMustBeAnObject(t *testing.T) {
	for _, body := range []string{"[]", "1", `"x"`, "null", "true"} {
		got, faults := sampleDecoder.Decode(parse(t, body))
		if rules(faults) != "body: type" {
			t.Errorf("%s: %s", body, rules(faults))
		}
		wantEqual(t, body, got, sample{})
	}
	if _, faults := sampleDecoder.Decode(strictjson.Value{}); rules(faults) != "body: type" {
		t.Errorf("no value: %s", rules(faults))
	}
}

func TestPathsOfUnusualKeysAreSafeAndShort(t *testing.T) {
	keys := map[string]string{
		`snake_case-1`:             `snake_case-1`,
		`a.b`:                      `["a.b"]`,
		`lines[0].name`:            `["lines[0].name"]`,
		``:                         `[""]`,
		`a\nb\u0000`:               `["a\nb\x00"]`,
		`\u202eevil`:               `["\u202eevil"]`,
		`q\"uote`:                  `["q\"uote"]`,
		`<script>`:                 `["<script>"]`,
		`é`:                        `["\u00e9"]`,
		strings.Repeat("k", 64):    strings.Repeat("k", 64),
		strings.Repeat("k", 65):    `["` + strings.Repeat("k", 64) + `..."]`,
		strings.Repeat("😀", 70):    `["` + strings.Repeat(`\U0001f600`, 64) + `..."]`,
		strings.Repeat("é", 64):    `["` + strings.Repeat(`\u00e9`, 64) + `"]`,
		strings.Repeat("x", 1<<20): `["` + strings.Repeat("x", 64) + `..."]`,
	}
	for key, want := range keys {
		_, faults := sampleDecoder.Decode(parse(t, `{"must":"abc","`+key+`":1}`))
		if got := rules(faults); got != want+": unknown_field" {
			t.Errorf("%.100s: %.200s, want %.200s", key, got, want)
		}
		_, faults = sampleDecoder.Decode(parse(t, `{"must":"abc","inner":{"deep":"x","`+key+`":1}}`))
		separator := "."
		if strings.HasPrefix(want, "[") {
			separator = ""
		}
		if got := rules(faults); got != "inner"+separator+want+": unknown_field" {
			t.Errorf("inner %.100s: %.200s", key, got)
		}
	}
}

func TestUnknownFieldsAreListedUpToABound(t *testing.T) {
	for _, n := range []int{strictjson.MaxUnknown, strictjson.MaxUnknown + 1, 50_000} {
		var body strings.Builder
		body.WriteByte('{')
		for i := range n {
			body.WriteString(`"u` + strconv.Itoa(i) + `":[],`)
		}
		body.WriteString(`"must":""}`)
		_, faults := sampleDecoder.Decode(parse(t, body.String()))
		if !faults.Has("must") || !faults.Has("u0") || !faults.Has(fmt.Sprintf("u%d", strictjson.MaxUnknown-1)) ||
			faults.Has(fmt.Sprintf("u%d", strictjson.MaxUnknown)) {
			t.Errorf("%d unknown fields: the wrong ones are listed", n)
		}
		if len(faults["body"]) != min(1, n-strictjson.MaxUnknown) {
			t.Errorf("%d unknown fields: body has %v", n, faults["body"])
		}
	}
}

// TestAllFaultsOfALongListAreReported checks that the bound on unknown fields does not hide other faults.
func TestAllFaultsOfALongListAreReported(t *testing.T) {
	body := `{"items":[` + strings.Repeat("{},", 999) + `{}]}`
	draft, faults := strictjson.For[api.Draft]().Decode(parse(t, body))
	if want := 3*1000 + 5; len(faults) != want || len(draft.Items) != 1000 || !faults.Has("items[999].net_unit_price") {
		t.Errorf("%d faults, want %d", len(faults), want)
	}
	body = `{"items":[` + strings.Repeat("{},", 300_000) + `{}]}`
	draft, faults = strictjson.For[api.Draft]().Decode(parse(t, body))
	if len(faults) != 6 || rules(api.Faults{"items": faults["items"]}) != "items: max_items" || draft.Items != nil {
		t.Errorf("a list that is too long: %s", rules(faults))
	}
}

func TestPatchDecodesTheMergedDocument(t *testing.T) {
	target := `{"must":"abc","amount":1.50,"lines":[{"name":"a","rate":1}],"pointer":{"deep":"x"}}`
	tests := []struct{ patch, want string }{
		{`{"amount":2.00}`, ""},
		{`{"amount":null,"lines":null}`, ""},
		{`{"must":null}`, "must: required"},
		{`{"must":5,"lines":[{}]}`, "lines[0].name: required; lines[0].rate: required; must: type"},
		{`{"nope":null}`, "nope: unknown_field"},
		{`{"nope":1,"Must":null}`, "Must: unknown_field; nope: unknown_field"},
		{`{"nope":{"a":null}}`, "nope: unknown_field"},
		{`{"pointer":{"nope":null}}`, "pointer.nope: unknown_field"},
		{`{"pointer":{"deep":null,"x":1}}`, "pointer.deep: required; pointer.x: unknown_field"},
		{`{"pointer":null,"inner":{"nope":null}}`, "inner.deep: required; inner.nope: unknown_field"},
		{`null`, "body: type"},
		{`[1]`, "body: type"},
	}
	for _, test := range tests {
		_, faults, err := sampleDecoder.Patch([]byte(target), parse(t, test.patch))
		if err != nil || rules(faults) != test.want {
			t.Errorf("%s: %s, %v, want %s", test.patch, rules(faults), err, test.want)
		}
	}
	got, _, err := sampleDecoder.Patch([]byte(target), parse(t, `{"amount":2.00,"pointer":null}`))
	if err != nil || got.Amount.String() != "2.00" || *got.Must != "abc" || len(got.Lines) != 1 || got.Pointer != nil {
		t.Errorf("patched to %+v, %v", got, err)
	}
	if _, _, err := sampleDecoder.Patch([]byte("{"), parse(t, `{}`)); err == nil {
		t.Error("a broken target is accepted")
	}
}
