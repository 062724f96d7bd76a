package strictjson_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"testing"

	"pgregory.net/rapid"

	"quittance/internal/platform/strictjson"
)

// TestMergeFollowsRFC7396 checks the examples of RFC 7396, appendix A and section 3.
func TestMergeFollowsRFC7396(t *testing.T) {
	tests := []struct{ target, patch, want string }{
		{`{"a":"b"}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"b"}`, `{"b":"c"}`, `{"a":"b","b":"c"}`},
		{`{"a":"b"}`, `{"a":null}`, `{}`},
		{`{"a":"b","b":"c"}`, `{"a":null}`, `{"b":"c"}`},
		{`{"a":["b"]}`, `{"a":"c"}`, `{"a":"c"}`},
		{`{"a":"c"}`, `{"a":["b"]}`, `{"a":["b"]}`},
		{`{"a":{"b":"c"}}`, `{"a":{"b":"d","c":null}}`, `{"a":{"b":"d"}}`},
		{`{"a":[{"b":"c"}]}`, `{"a":[1]}`, `{"a":[1]}`},
		{`["a","b"]`, `["c","d"]`, `["c","d"]`},
		{`{"a":"b"}`, `["c"]`, `["c"]`},
		{`{"a":"foo"}`, `null`, `null`},
		{`{"a":"foo"}`, `"bar"`, `"bar"`},
		{`{"e":null}`, `{"a":1}`, `{"e":null,"a":1}`},
		{`[1,2]`, `{"a":"b","c":null}`, `{"a":"b"}`},
		{`{}`, `{"a":{"bb":{"ccc":null}}}`, `{"a":{"bb":{}}}`},
		{
			`{"title":"Goodbye!","author":{"givenName":"John","familyName":"Doe"},"tags":["example","sample"],"content":"This will be unchanged"}`,
			`{"title":"Hello!","phoneNumber":"+01-123-456-7890","author":{"familyName":null},"tags":["example"]}`,
			`{"title":"Hello!","author":{"givenName":"John"},"tags":["example"],"content":"This will be unchanged","phoneNumber":"+01-123-456-7890"}`,
		},
		// Further cases: the text of values is kept, names are compared without their escapes, nulls inside arrays are
		// values.
		{`{ "n" : 10.00 , "x":1e2, "y":0.10 }`, `{"x":2.50, "z": 123456789012345678901234567890}`,
			`{"n":10.00,"x":2.50,"y":0.10,"z":123456789012345678901234567890}`},
		{`{"a":1,"b":2}`, `{"\u0061":3}`, `{"a":3,"b":2}`},
		{`{"a\n\"":1}`, `{"b":{"A":1}}`, `{"a\n\"":1,"b":{"A":1}}`},
		{`{"a":[1]}`, `{"a":[null,{"b":null}]}`, `{"a":[null,{"b":null}]}`},
		{`{"a":{"b":{"c":1}}}`, `{}`, `{"a":{"b":{"c":1}}}`},
	}
	for _, test := range tests {
		got, err := strictjson.Merge([]byte(test.target), parse(t, test.patch))
		if err != nil || string(got) != test.want {
			t.Errorf("%s + %s = %s, %v, want %s", test.target, test.patch, got, err, test.want)
		}
	}
}

func TestMergeRejectsAnInvalidTarget(t *testing.T) {
	for _, target := range []string{"", "{", `{"a":1,"a":2}`} {
		if out, err := strictjson.Merge([]byte(target), parse(t, "{}")); !errors.Is(err, strictjson.ErrMalformed) ||
			out != nil {
			t.Errorf("%q: %q, %v, want ErrMalformed", target, out, err)
		}
	}
}

// mergePatch is the algorithm of RFC 7396, section 2, on decoded values.
func mergePatch(target, patch any) any {
	changes, ok := patch.(map[string]any)
	if !ok {
		return patch
	}
	old, _ := target.(map[string]any)
	out := map[string]any{}
	maps.Copy(out, old)
	for name, change := range changes {
		if change == nil {
			delete(out, name)
		} else {
			out[name] = mergePatch(out[name], change)
		}
	}
	return out
}

func TestMergeAgreesWithTheOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		target, patch := []byte(jsonTexts(3).Draw(t, "target")), []byte(jsonTexts(3).Draw(t, "patch"))
		change, err := strictjson.Parse(patch)
		if err != nil {
			t.Fatal(err)
		}
		merged, err := strictjson.Merge(target, change)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := strictjson.Parse(merged); err != nil || !json.Valid(merged) {
			t.Fatalf("%s is not accepted again: %v", merged, err)
		}
		wantEqual(t, fmt.Sprintf("%s merged into %s", patch, target), generic(t, merged),
			mergePatch(generic(t, target), generic(t, patch)))
	})
}
