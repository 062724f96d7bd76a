package drafts

import (
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// A form is converted to the JSON of the equivalent API request and validated by the API's decoder, so that each rule
// exists once. An empty field is absent from the JSON.

// JSONObject builds a JSON object member by member and leaves out empty values.
type JSONObject struct{ out []byte }

// addRaw adds a member whose value is JSON.
func (object *JSONObject) addRaw(name string, value []byte) {
	separator := byte(',')
	if len(object.out) == 0 {
		separator = '{'
	}
	object.out = append(object.out, separator, '"')
	object.out = append(append(object.out, name...), '"', ':')
	object.out = append(object.out, value...)
}

// addText adds a text, unless it is empty.
func (object *JSONObject) addText(name, typed string) {
	if typed != "" {
		object.addRaw(name, quoted(typed))
	}
}

// addNumber adds a decimal digit for digit, unless it is empty. Invalid input stays a text, so that the decoder reports
// what is wrong with it.
func (object *JSONObject) addNumber(name, typed string) {
	trimmed := strings.TrimSpace(typed)
	if trimmed == "" {
		return
	}
	if value := jsontext.Value(trimmed); value.Kind() == '0' && value.IsValid() {
		object.addRaw(name, value)
		return
	}
	object.addRaw(name, quoted(typed))
}

// Encoded returns the object.
func (object *JSONObject) Encoded() []byte {
	if len(object.out) == 0 {
		return []byte("{}")
	}
	return append(object.out, '}')
}

// quoted returns a text as JSON. Large forms are known to be UTF-8.
func quoted(text string) []byte {
	out, err := jsontext.AppendQuote(nil, text)
	if err != nil {
		return []byte(`""`)
	}
	return out
}

// jsonArray returns an array of JSON values.
func jsonArray(values [][]byte) []byte {
	out := []byte{'['}
	for n, value := range values {
		if n > 0 {
			out = append(out, ',')
		}
		out = append(out, value...)
	}
	return append(out, ']')
}
