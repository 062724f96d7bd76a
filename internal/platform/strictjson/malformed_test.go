package strictjson_test

import (
	"errors"
	"strings"
	"testing"

	"quittance/internal/platform/strictjson"
)

// TestMalformedBodiesHaveAPosition checks the line and the column, counted in characters, at which a text is no longer
// JSON.
func TestMalformedBodiesHaveAPosition(t *testing.T) {
	for body, want := range map[string]strictjson.MalformedError{
		"":                                   {Line: 1, Column: 1},
		"  \n ":                              {Line: 2, Column: 2},
		"{":                                  {Line: 1, Column: 2},
		"}":                                  {Line: 1, Column: 1},
		`{"a":1`:                             {Line: 1, Column: 7},
		`{"a" 1}`:                            {Line: 1, Column: 6},
		`{'a':1}`:                            {Line: 1, Column: 2},
		"{\n  \"a\": 1,\n  \"b\": NaN\n}":    {Line: 3, Column: 8},
		"{\n  \"aé\": 1,,\n}":                {Line: 2, Column: 11},
		"{\"a\":1}\n\n  {}":                  {Line: 3, Column: 3},
		"{} x":                               {Line: 1, Column: 4},
		"{\"a\":1,\n\"a\":2}":                {Line: 2, Column: 1},
		"[\n" + strings.Repeat("[", 40):      {Line: 2, Column: 32},
		strings.Repeat("[", 33) + "\n" + "]": {Line: 1, Column: 33},
		"\ufeff{}":                           {Line: 1, Column: 1},
	} {
		_, err := strictjson.Parse([]byte(body))
		at, ok := errors.AsType[*strictjson.MalformedError](err)
		if !ok || !errors.Is(err, strictjson.ErrMalformed) || *at != want {
			t.Errorf("%q: %v, want line %d, column %d", body, err, want.Line, want.Column)
		}
	}
}
