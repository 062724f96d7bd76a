package invoice

import (
	"bytes"
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/google/go-cmp/cmp"

	"quittance/client/api"
)

const wholeReport = `{
	"reference": "0198", "provider_reference": "P-7", "status": "accepted", "sequence": 3,
	"reported_at": "2026-03-01T12:00:00.5+04:00",
	"states": {
		"submission_state": {"value": "accepted_by_provider", "terminal": true},
		"provider_invoice_state": {"value": "accepted", "terminal": false},
		"tax_authority_state": {"value": null, "terminal": true},
		"receiver_state": {"value": "paid"}
	},
	"messages": [{"code": "X", "text": "rejected"}], "discovery": {"result": "found"}
}`

// wantEqual fails the test unless two values are equal, unexported fields included, and shows their differences.
func wantEqual(t testing.TB, what string, got, want any) {
	t.Helper()
	if d := cmp.Diff(want, got, cmp.Exporter(func(reflect.Type) bool { return true })); d != "" {
		t.Errorf("%s (-want +got):\n%s", what, d)
	}
}

func TestReadReport(t *testing.T) {
	got, err := ReadReport([]byte(wholeReport), testVocabulary())
	if err != nil {
		t.Fatal(err)
	}
	want := Report{
		Reference: "0198", ProviderReference: "P-7", Status: Accepted, Sequence: 3,
		ReportedAt: time.Date(2026, 3, 1, 8, 0, 0, 500_000_000, time.UTC),
		States: RestoreStates(map[Dimension]StoredState{
			DimensionSubmission:      {Value: "accepted_by_provider", Terminal: true},
			DimensionProviderInvoice: {Value: "accepted"},
			DimensionReceiver:        {Value: "paid", Terminal: true, Meaning: api.MeaningPositive},
		}),
	}
	wantEqual(t, "the report", got, want)
}

// TestNothingIsInferred: a report on the document alone leaves all four dimensions unreported, for any status.
func TestNothingIsInferred(t *testing.T) {
	for _, status := range []string{"accepted", "processing", "rejected"} {
		for _, states := range []string{``, `, "states": null`, `, "states": {}`,
			`, "states": {"receiver_state": null, "submission_state": {}}`} {
			report, err := ReadReport([]byte(`{"reference":"r","status":"`+status+`"`+states+`}`), testVocabulary())
			if err != nil || report.States != (States{}) || string(report.Status) != status {
				t.Errorf("%s%s: %+v, %v", status, states, report, err)
			}
		}
	}
}

func TestReadReportParts(t *testing.T) {
	body := func(rest string) string { return `{"reference":"r","status":"accepted"` + rest + `}` }
	word := func(value string) string { return body(`,"states":{"receiver_state":{"value":` + value + `}}`) }
	ok := func(*testing.T, Report) {}
	receiver := func(want StoredState) func(*testing.T, Report) {
		return func(t *testing.T, r Report) {
			wantEqual(t, "states", storedStates(r.States), map[Dimension]StoredState{DimensionReceiver: want})
		}
	}
	long := strings.Repeat("ß", 256)
	tests := []struct {
		name, body string
		check      func(*testing.T, Report) // nil wants ErrUnreadable
	}{
		{"white space around", " \n" + body("") + "\t\n", ok},
		{"empty body", "", nil},
		{"not JSON", "<html>accepted</html>", nil},
		{"cut short", `{"reference":"r","status":"accepted"`, nil},
		{"two documents", body("") + body(""), nil},
		{"something after it", body("") + "x", nil},
		{"an array", `[` + body("") + `]`, nil},
		{"a string", `"accepted"`, nil},
		{"null", `null`, nil},
		{"byte order mark", "\ufeff" + body(""), nil},
		{"duplicate key", body(`,"status":"rejected"`), nil},
		{"duplicate key far away", body(`,"x":[{"a":1,"\u0061":2}]`), nil},
		{"invalid UTF-8", body(`,"x":"` + "\xff" + `"`), nil},
		{"half a surrogate pair", word(`"\ud800"`), nil},
		{"nested 32 deep", body(`,"x":` + strings.Repeat("[", 31) + strings.Repeat("]", 31)), ok},
		{"nested 33 deep", body(`,"x":` + strings.Repeat("[", 32) + strings.Repeat("]", 32)), nil},
		{"nested without end", strings.Repeat("[", 1<<16), nil},

		{"no reference", `{"status":"accepted"}`, nil},
		{"reference null", `{"reference":null,"status":"accepted"}`, nil},
		{"reference a number", `{"reference":1,"status":"accepted"}`, nil},
		{"reference empty", `{"reference":"","status":"accepted"}`, nil},
		{"no status", `{"reference":"r"}`, nil},
		{"status unknown", `{"reference":"r","status":"Accepted"}`, nil},
		{"status not text", `{"reference":"r","status":true}`, nil},
		{"provider reference null", body(`,"provider_reference":null`), ok},
		{"provider reference empty", body(`,"provider_reference":""`), ok},
		{"provider reference a number", body(`,"provider_reference":12`), nil},
		{"provider reference with NUL", body(`,"provider_reference":"a\u0000"`), nil},

		{"sequence null", body(`,"sequence":null`), func(t *testing.T, r Report) {
			if r.Sequence != 0 {
				t.Errorf("sequence %d", r.Sequence)
			}
		}},
		{"largest sequence", body(`,"sequence":9223372036854775807`), func(t *testing.T, r Report) {
			if r.Sequence != 9223372036854775807 {
				t.Errorf("sequence %d", r.Sequence)
			}
		}},
		{"sequence too large", body(`,"sequence":9223372036854775808`), nil},
		{"sequence below 0", body(`,"sequence":-1`), nil},
		{"sequence a fraction", body(`,"sequence":1.5`), nil},
		{"sequence a string", body(`,"sequence":"1"`), nil},

		{"time unreadable", body(`,"reported_at":"yesterday"`), func(t *testing.T, r Report) {
			if !r.ReportedAt.IsZero() {
				t.Errorf("time %v", r.ReportedAt)
			}
		}},
		{"time out of reach", body(`,"reported_at":"9999-12-31T23:00:00-23:00"`), func(t *testing.T, r Report) {
			if !r.ReportedAt.IsZero() {
				t.Errorf("time %v", r.ReportedAt)
			}
		}},
		{"time a number", body(`,"reported_at":12`), func(t *testing.T, r Report) {
			if !r.ReportedAt.IsZero() {
				t.Errorf("time %v", r.ReportedAt)
			}
		}},

		{"unknown word", word(`"Ünknown – wörd"`), receiver(StoredState{Value: "Ünknown – wörd"})},
		{"word with escapes", word(`"\u0061\"\/"`), receiver(StoredState{Value: `a"/`})},
		{"word in the table", word(`"refused"`),
			receiver(StoredState{Value: "refused", Terminal: true, Meaning: api.MeaningNegative})},
		{"the report before the table", word(`"refused","terminal":false`),
			receiver(StoredState{Value: "refused", Meaning: api.MeaningNegative})},
		{"the report does not say", word(`"refused","terminal":null`),
			receiver(StoredState{Value: "refused", Terminal: true, Meaning: api.MeaningNegative})},
		{"longest word", word(`"` + long + `"`), receiver(StoredState{Value: long})},
		{"word too long", word(`"` + long + `a"`), nil},
		{"empty word", word(`""`), nil},
		{"word a number", word(`1`), nil},
		{"word an object", word(`{}`), nil},
		{"word with a line feed", word(`"a\n"`), nil},
		{"word with NUL", word(`"\u0000"`), nil},
		{"word with a C1 control", word(`"\u0085"`), nil},
		{"flag a string", word(`"a","terminal":"true"`), nil},
		{"flag a number", word(`"a","terminal":1`), nil},
		{"a state that is only a word", body(`,"states":{"receiver_state":"accepted"}`), nil},
		{"states in an array", body(`,"states":[]`), nil},
		{"one bad word of two", body(`,"states":{"submission_state":{"value":"fine"},"receiver_state":{"value":7}}`), nil},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			report, err := ReadReport([]byte(tt.body), testVocabulary())
			if tt.check == nil {
				if !errors.Is(err, ErrUnreadable) || report != (Report{}) {
					t.Fatalf("got %+v, %v; want only ErrUnreadable", report, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			tt.check(t, report)
		})
	}
}

// TestErrorsQuoteNothing: errors contain nothing of the provider's response, which may echo our credential, because
// errors are logged.
func TestErrorsQuoteNothing(t *testing.T) {
	const secret = "s3cr3t"
	for _, body := range []string{
		secret, `{"` + secret + `":1,"` + secret + `":2}`, `{"a":"` + secret + "\xff\"}",
		`{"reference":"r","status":"` + secret + `"}`, `{"reference":"r","status":"accepted","sequence":"` + secret + `"}`,
		`{"reference":"r","status":{"` + secret + `":1}}`,
		`{"reference":"` + secret + `\n","status":"accepted"}`, `{} ` + secret, `{"states":"` + secret + `"}`,
	} {
		if _, err := ReadReport([]byte(body), testVocabulary()); !errors.Is(err, ErrUnreadable) ||
			strings.Contains(err.Error(), secret) {
			t.Errorf("%s: error %v", body, err)
		}
	}
}

// TestFind: find follows the examples of RFC 6901, section 5, and treats null as absent.
func TestFind(t *testing.T) {
	const document = `{"foo":["bar",{"baz":[10,[20]]}],"":0,"a/b":1,"m~n":8," ":7,"null":null,"k\"l":6,"~1":5}`
	tests := []struct {
		at    jsontext.Pointer
		want  string // "" is absent
		fault bool
	}{
		{"/foo/0", `"bar"`, false},
		{"/foo/1/baz", `[10,[20]]`, false},
		{"/foo/1/baz/1/0", `20`, false},
		{"/", `0`, false},
		{"/a~1b", `1`, false},
		{"/m~0n", `8`, false},
		{"/~01", `5`, false},
		{"/ ", `7`, false},
		{`/k"l`, `6`, false},
		{"/foo/2", "", false},
		{"/nothing", "", false},
		{"/nothing/below", "", false},
		{"/null", "", false},
		{"/null/below", "", false},
		{"/foo/x", "", true},
		{"/foo/-1", "", true},
		{"/foo/0/x", "", true},
		{"/a~1b/x", "", true},
	}
	if err := strict([]byte(document)); err != nil {
		t.Fatal(err)
	}
	for _, tt := range tests {
		got, err := find([]byte(document), tt.at)
		if string(got) != tt.want || (err != nil) != tt.fault {
			t.Errorf("%s: %s, %v; want %s, fault %t", tt.at, got, err, tt.want, tt.fault)
		}
	}
}

// TestMeanings: a value means what the report says, and otherwise what the adapter's table says. A meaning that is not
// in the list counts as absent, in any form, and the report is still read. No value has a meaning by itself.
func TestMeanings(t *testing.T) {
	for _, tt := range []struct {
		state string // of the receiver, whose words the table knows
		want  api.Meaning
	}{
		{`{"value":"paid"}`, api.MeaningPositive}, {`{"value":"refused"}`, api.MeaningNegative},
		{`{"value":"paid","meaning":null}`, api.MeaningPositive},
		{`{"value":"paid","meaning":"negative"}`, api.MeaningNegative},
		{`{"value":"on its way","meaning":"waiting"}`, api.MeaningWaiting},
		{`{"value":"on its way","meaning":"positive","terminal":false}`, api.MeaningPositive},
		{`{"value":"accepted"}`, ""}, {`{"value":"rejected"}`, ""}, {`{"value":"positive"}`, ""},
		{`{"value":"paid","meaning":"good"}`, ""}, {`{"value":"paid","meaning":"POSITIVE"}`, ""},
		{`{"value":"paid","meaning":""}`, ""}, {`{"value":"paid","meaning":" positive"}`, ""},
		{`{"value":"paid","meaning":true}`, ""}, {`{"value":"paid","meaning":1}`, ""},
		{`{"value":"paid","meaning":["positive"]}`, ""}, {`{"value":"paid","meaning":{"positive":true}}`, ""},
	} {
		report, err := ReadReport([]byte(`{"reference":"r","status":"accepted","states":{"receiver_state":`+tt.state+
			`,"tax_authority_state":{"value":"paid","meaning":"positive"}}}`), testVocabulary())
		if err != nil {
			t.Errorf("%s: %v", tt.state, err)
			continue
		}
		if got := report.States.Receiver.Meaning(); got != tt.want {
			t.Errorf("%s means %q, want %q", tt.state, got, tt.want)
		}
		if got := report.States.TaxAuthority.Meaning(); got != "" { // its place declares no meaning
			t.Errorf("%s: the other dimension means %q", tt.state, got)
		}
	}
}

func TestUndeclaredParts(t *testing.T) {
	v := Vocabulary{Reference: "/0", Status: "/1", Statuses: map[string]Status{"ok": Accepted},
		TaxAuthority: StatePointers{Value: "/2", TerminalValues: []string{"done"}}}
	got, err := ReadReport([]byte(`["r","ok","done"]`), v)
	want := Report{Reference: "r", Status: Accepted,
		States: RestoreStates(map[Dimension]StoredState{DimensionTaxAuthority: {Value: "done", Terminal: true}})}
	if err != nil {
		t.Fatal(err)
	}
	wantEqual(t, "the report", got, want)
	if _, err := ReadReport([]byte(`{"reference":"r","status":"accepted"}`), Vocabulary{}); !errors.Is(err,
		ErrUnreadable) {
		t.Errorf("a vocabulary that declares nothing read a report: %v", err)
	}
}

// stringsIn collects every text of a JSON value, with another decoder than the code's.
func stringsIn(value any) []string {
	var found []string
	switch v := value.(type) {
	case string:
		found = append(found, v)
	case []any:
		for _, element := range v {
			found = append(found, stringsIn(element)...)
		}
	case map[string]any:
		for _, member := range v {
			found = append(found, stringsIn(member)...)
		}
	}
	return found
}

// FuzzReadReport: no body causes a panic, and every returned value occurs in the body as a text.
func FuzzReadReport(f *testing.F) {
	for _, seed := range []string{
		wholeReport, `{}`, `null`, `[`, `"accepted"`, `{"reference":"r","status":"rejected"}`,
		`{"reference":"r","status":"accepted","states":{"receiver_state":{"value":"\ud83d\ude00"}}}`,
		`{"reference":"r","status":"accepted","status":"rejected"}`,
		`{"reference":"r","status":"accepted","sequence":1e400,"states":[]}`,
		`{"reference":"r","status":"accepted","x":1e700}`,
	} {
		f.Add([]byte(seed))
	}
	v := testVocabulary()
	f.Fuzz(func(t *testing.T, body []byte) {
		report, err := ReadReport(body, v)
		if err != nil {
			if !errors.Is(err, ErrUnreadable) || report != (Report{}) {
				t.Fatalf("%+v, %v", report, err)
			}
			return
		}
		var document any
		decoder := json.NewDecoder(bytes.NewReader(body))
		decoder.UseNumber() // a number outside of every float is JSON too
		if err := decoder.Decode(&document); err != nil {
			t.Fatalf("read what is no JSON: %v", err)
		}
		texts := stringsIn(document)
		for d, word := range storedStates(report.States) {
			if !slices.Contains(texts, word.Value) {
				t.Fatalf("%s %q does not stand in the body", d, word.Value)
			}
		}
		if !slices.Contains(texts, report.Reference) || report.Sequence < 0 {
			t.Fatalf("%+v does not stand in the body", report)
		}
		if merged, _ := (States{}).Merge(report, 0); merged != report.States {
			t.Fatalf("merged into no states: %+v, want %+v", merged, report.States)
		}
	})
}

// TestReportWithinAString checks that a report in a string of the body is read like one that is the body, and as
// strictly, and that a value of a shared pointer sets only the dimension that it belongs to.
func TestReportWithinAString(t *testing.T) {
	v := Vocabulary{Within: "/body", Reference: "/ref", Implied: Processing,
		Receiver:     StatePointers{Value: "/word", Values: []string{"paid"}},
		TaxAuthority: StatePointers{Value: "/word", Values: []string{"cleared"}, TerminalValues: []string{"cleared"}}}
	for inner, want := range map[string]map[Dimension]StoredState{
		`{"ref":"r","word":"paid"}`:    {DimensionReceiver: {Value: "paid"}},
		`{"ref":"r","word":"cleared"}`: {DimensionTaxAuthority: {Value: "cleared", Terminal: true}},
		`{"ref":"r","word":"other"}`:   {},
		`{"ref":"r"}`:                  {},
	} {
		got, err := ReadReport([]byte(`{"ref":"outer","word":"paid","body":`+strconv.Quote(inner)+`}`), v)
		if err != nil || got.Reference != "r" {
			t.Errorf("%s: %+v, %v", inner, got, err)
		}
		wantEqual(t, inner, got.States, RestoreStates(want))
	}
	for _, body := range []string{`{"ref":"r"}`, `{"body":null}`, `{"body":{"ref":"r"}}`, `{"body":""}`, `{"body":"{"}`,
		`{"body":"{\"ref\":\"r\",\"ref\":\"r\"}"}`, `{"body":"{\"ref\":\"r\",\"word\":7}"}`} {
		if got, err := ReadReport([]byte(body), v); !errors.Is(err, ErrUnreadable) {
			t.Errorf("%s: %+v, %v", body, got, err)
		}
	}
}
