package httpcall

import (
	"bytes"
	"errors"
	"io"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrForm says that a text is not the JSON that its reader expects.
var ErrForm = errors.New("provider: not the JSON of the protocol")

// lenientDecoder returns a decoder that passes an invalid entry as a raw value. The error appears when the entry is
// read.
func lenientDecoder(value []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(value), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// ReadObject reads the members of a JSON object. unique is false if a name occurs twice. None of its values is then
// returned, because it is unclear which one was meant.
func ReadObject(value []byte) (fields map[string]jsontext.Value, unique bool, err error) {
	decoder := lenientDecoder(value)
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '{' {
		return nil, false, errors.Join(ErrForm, err)
	}
	fields, seen := map[string]jsontext.Value{}, map[string]bool{}
	for decoder.PeekKind() != '}' {
		name, err := decoder.ReadToken()
		if err != nil {
			return nil, false, err
		}
		key := name.String()
		member, err := decoder.ReadValue()
		if err != nil {
			return nil, false, err
		}
		if seen[key] {
			delete(fields, key)
			continue
		}
		seen[key] = true
		fields[key] = member.Clone()
	}
	return fields, len(fields) == len(seen), readEnd(decoder)
}

// ReadArray reads the elements of a JSON array.
func ReadArray(value []byte) ([]jsontext.Value, error) {
	decoder := lenientDecoder(value)
	if opening, err := decoder.ReadToken(); err != nil || opening.Kind() != '[' {
		return nil, errors.Join(ErrForm, err)
	}
	var out []jsontext.Value
	for decoder.PeekKind() != ']' {
		element, err := decoder.ReadValue()
		if err != nil {
			return nil, err
		}
		out = append(out, element.Clone())
	}
	return out, readEnd(decoder)
}

// readEnd reads the closing token and checks that nothing follows it.
func readEnd(decoder *jsontext.Decoder) error {
	if _, err := decoder.ReadToken(); err != nil {
		return err
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return ErrForm
	}
	return nil
}

// ReadString reads a JSON string. An absent member and null are "". ok is false for any other value, and for invalid
// UTF-8.
func ReadString(value jsontext.Value) (text string, ok bool) {
	switch value.Kind() {
	case jsontext.KindInvalid, 'n':
		return "", true
	case '"':
		unquoted, err := jsontext.AppendUnquote(nil, value)
		return string(unquoted), err == nil
	default:
		return "", false
	}
}
