package strictjson_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/platform/strictjson"
)

func parse(t testing.TB, body string) strictjson.Value {
	t.Helper()
	v, err := strictjson.Parse([]byte(body))
	if err != nil {
		t.Fatalf("%s: %v", body, err)
	}
	return v
}

func TestParseRejectsInvalidJSON(t *testing.T) {
	deep := strings.Repeat("[", strictjson.MaxDepth+1) + strings.Repeat("]", strictjson.MaxDepth+1)
	bodies := map[string]string{
		"empty": "", "white space": " \n\t", "word": "hello", "upper-case literal": "True", "single quotes": "{'a':1}",
		"trailing value": "{} {}", "trailing comma": "[1,]", "trailing brace": "{}}", "trailing NUL": "{}\x00",
		"trailing text": "1 x", "byte order mark": "\ufeff{}", "UTF-16": "\xff\xfe{\x00}\x00", "comment": "{/* */}",
		"leading zero": "01", "plus": "+1", "point": "1.", "infinity": "Infinity", "not a number": "NaN", "hex": "0x10",
		"open string": `"abc`, "open object": `{"a":1`, "open array": "[1", "key without value": `{"a"}`,
		"key not a string": "{1:2}", "two commas": "[1,,2]", "mismatched": "[1}", "raw control character": "\"a\nb\"",
		"raw NUL": "\"\x00\"", "unknown escape": `"\x41"`, "short escape": `"\u12"`, "vertical tab": "\v1",
		"no-break space": "\u00a01", "duplicate key": `{"a":1,"a":2}`, "duplicate key inside": `{"x":[{"a":1,"b":2,"a":3}]}`,
		"duplicate key by escape": `{"a":1,"\u0061":2}`, "invalid UTF-8": "\"\xff\"", "overlong UTF-8": "\"\xc0\x80\"",
		"surrogate in UTF-8": "\"\xed\xa0\x80\"", "cut UTF-8": "\"\xe2\x82\"", "invalid UTF-8 in key": "{\"\xff\":1}",
		"high surrogate alone": `"\ud800"`, "low surrogate alone": `"\udc00"`, "surrogates reversed": `"\udc00\ud800"`,
		"high surrogate and letter": `"\ud800a"`,
		"lone surrogate in key":     `{"\ud800":1}`,
		"too deep":                  deep, "too deep in objects": strings.Repeat(`{"a":`, strictjson.MaxDepth+1) + "1" +
			strings.Repeat("}", strictjson.MaxDepth+1),
		"a mebibyte of brackets": strings.Repeat("[", 1<<20), "a mebibyte of objects": strings.Repeat(`{"a":`, 1<<18),
	}
	for name, body := range bodies {
		if v, err := strictjson.Parse([]byte(body)); !errors.Is(err, strictjson.ErrMalformed) || v.Kind() != 0 {
			t.Errorf("%s: %v, want ErrMalformed", name, err)
		}
	}
}

func TestParseAccepts(t *testing.T) {
	deepest := strings.Repeat("[", strictjson.MaxDepth) + strings.Repeat("]", strictjson.MaxDepth)
	bodies := map[string]struct {
		body string
		kind byte
	}{
		"object": {`{}`, '{'}, "array": {`[]`, '['}, "string": {`"a"`, '"'}, "number": {`-1.5e+3`, '0'},
		"true": {`true`, 't'}, "false": {`false`, 'f'}, "null": {`null`, 'n'}, "white space": {" \r\n\t{ } \n", '{'},
		"deepest": {deepest, '['}, "brackets in strings": {`["` + strings.Repeat("[{", 100) + `\"[["]`, '['},
		"brackets behind an escaped quote": {`["\\\"` + strings.Repeat("[{", 100) + `"]`, '['},
		"keys that differ by case":         {`{"a":1,"A":2}`, '{'}, "pair of surrogates": {`"\ud83d\ude00"`, '"'},
		"escaped NUL": {`"\u0000"`, '"'}, "bidirectional mark": {"\"\u202e\"", '"'},
		"many siblings": {"[" + strings.Repeat("[],", 1000) + "[]]", '['}, "long number": {strings.Repeat("9", 1000), '0'},
	}
	for name, test := range bodies {
		v, err := strictjson.Parse([]byte(test.body))
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if byte(v.Kind()) != test.kind {
			t.Errorf("%s: kind %v, want %c", name, v.Kind(), test.kind)
		}
		if got, want := string(v.Raw()), strings.TrimSpace(test.body); got != want {
			t.Errorf("%s: raw %q, want %q", name, got, want)
		}
	}
}

// TestParseIsLinear gives Parse and the walk large bodies that take a naive parser quadratic time, which would not end
// within the time of the test.
func TestParseIsLinear(t *testing.T) {
	var keys strings.Builder
	keys.WriteByte('{')
	for i := range 100_000 {
		if i > 0 {
			keys.WriteByte(',')
		}
		keys.WriteString(`"` + strconv.Itoa(i) + `":0`)
	}
	keys.WriteByte('}')
	bodies := map[string]struct {
		body     string
		children int
	}{
		"keys":     {keys.String(), 100_000},
		"elements": {"[" + strings.Repeat("0,", 1<<19) + "0]", 1<<19 + 1},
		"escapes":  {`["` + strings.Repeat(`\"`, 1<<19) + `"]`, 1},
		"nested":   {strings.Repeat("[", 31) + strings.Repeat("[],", 1<<18) + "0" + strings.Repeat("]", 31), 1},
	}
	for name, test := range bodies {
		v, children := parse(t, test.body), 0
		for range v.Members() {
			children++
		}
		for range v.Elements() {
			children++
		}
		if children != test.children {
			t.Errorf("%s: %d children, want %d", name, children, test.children)
		}
	}
}

func TestWalkYieldsEveryValue(t *testing.T) {
	v := parse(t, ` { "a" : [ 1 , "x,]}\"" , { } , [ ] , null,-0.50e1 ] , "B\n\u00e9" : { "c" : "}" } , "" : true } `)
	var got []string
	for name, member := range v.Members() {
		got = append(got, string(name)+"="+string(member.Raw()))
		for element := range member.Elements() {
			got = append(got, string(element.Raw()))
		}
		for name, inner := range member.Members() {
			got = append(got, string(name)+":"+inner.Text())
		}
	}
	want := []string{
		`a=[ 1 , "x,]}\"" , { } , [ ] , null,-0.50e1 ]`, "1", `"x,]}\""`, "{ }", "[ ]", "null", "-0.50e1",
		"B\né={ \"c\" : \"}\" }", "c:}", "=true",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("walked over\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	for range v.Members() {
		break // stopping early is allowed
	}
	for range v.Elements() {
		t.Error("an object has elements")
	}
	if v.Text() != "" {
		t.Error("an object has a text")
	}
}

// jsonTexts generates JSON texts with unusual white space, escapes and nesting. The keys of an object are distinct.
func jsonTexts(depth int) *rapid.Generator[string] {
	scalar := rapid.OneOf(
		rapid.SampledFrom([]string{"null", "true", "false", "0", "-0", "1.50", "1e400", "-12.5E-3", `""`, `"\""`, `"\\"`,
			`"\u0000{"`, `"[,]"`, `"\ud83d\ude00"`}),
		rapid.Custom(func(t *rapid.T) string {
			out, err := json.Marshal(rapid.String().Draw(t, "text"))
			if err != nil {
				t.Fatal(err)
			}
			return string(out)
		}),
	)
	if depth == 0 {
		return scalar
	}
	space := rapid.SampledFrom([]string{"", "", " ", "\n\t", "\r"})
	container := rapid.Custom(func(t *rapid.T) string {
		object := rapid.Bool().Draw(t, "object")
		var parts []string
		for i := range rapid.IntRange(0, 4).Draw(t, "n") {
			part := space.Draw(t, "space") + jsonTexts(depth-1).Draw(t, "value") + space.Draw(t, "space")
			if object {
				name := rapid.SampledFrom([]string{`"k%"`, `"\u006b%"`, `"é\n%"`, `"%"`}).Draw(t, "name")
				part = space.Draw(t, "space") + strings.ReplaceAll(name, "%", strconv.Itoa(i)) + space.Draw(t, "space") + ":" + part
			}
			parts = append(parts, part)
		}
		if object {
			return "{" + space.Draw(t, "space") + strings.Join(parts, ",") + "}"
		}
		return "[" + space.Draw(t, "space") + strings.Join(parts, ",") + "]"
	})
	return rapid.OneOf(scalar, container)
}

// rebuild writes a value from the results of the walk, which shows that the walk is complete and correct.
func rebuild(t interface{ Fatal(...any) }, v strictjson.Value) []byte {
	var out bytes.Buffer
	switch v.Kind() {
	case '{':
		out.WriteByte('{')
		for name, member := range v.Members() {
			if out.Len() > 1 {
				out.WriteByte(',')
			}
			quoted, err := json.Marshal(string(name))
			if err != nil {
				t.Fatal(err)
			}
			out.Write(quoted)
			out.WriteByte(':')
			out.Write(rebuild(t, member))
		}
		out.WriteByte('}')
	case '[':
		out.WriteByte('[')
		for element := range v.Elements() {
			if out.Len() > 1 {
				out.WriteByte(',')
			}
			out.Write(rebuild(t, element))
		}
		out.WriteByte(']')
	case '"':
		quoted, err := json.Marshal(v.Text())
		if err != nil {
			t.Fatal(err)
		}
		out.Write(quoted)
	default:
		out.Write(v.Raw())
	}
	return out.Bytes()
}

// generic decodes JSON with the standard library into an any, with numbers as text.
func generic(t interface{ Fatalf(string, ...any) }, text []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	var out any
	if err := decoder.Decode(&out); err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return out
}
