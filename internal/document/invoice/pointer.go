package invoice

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"
)

// maxDepth is the maximum nesting of arrays and objects in a report.
const maxDepth = 32

// strict checks that text is exactly one JSON document in UTF-8 without duplicate keys (jsontext checks both by
// default) and without excessive nesting. The decoder's error text quotes the document, so the error contains only the
// position.
func strict(text []byte) error {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(text))
	for {
		if _, err := decoder.ReadToken(); err != nil {
			return fmt.Errorf("%w: not strict JSON at byte %d", ErrUnreadable, decoder.InputOffset())
		}
		depth := decoder.StackDepth()
		if depth > maxDepth {
			return fmt.Errorf("%w: nested deeper than %d at byte %d", ErrUnreadable, maxDepth, decoder.InputOffset())
		}
		if depth == 0 {
			break
		}
	}
	if _, err := decoder.ReadToken(); !errors.Is(err, io.EOF) {
		return fmt.Errorf("%w: more than one JSON document at byte %d", ErrUnreadable, decoder.InputOffset())
	}
	return nil
}

// find returns the value at a pointer (RFC 6901) in a document that strict has accepted, or nil if it or a value on the
// way to it is absent or null. It returns an error if the pointer leads through a string, a number or a boolean,
// because the document then does not have the form that the vocabulary describes.
func find(document jsontext.Value, at jsontext.Pointer) (jsontext.Value, error) {
	value := document
	for name := range at.Tokens() {
		var err error
		switch value.Kind() {
		case jsontext.KindBeginObject:
			value, err = member(value, name)
		case jsontext.KindBeginArray:
			value, err = element(value, name)
		default:
			return nil, errNoMembers
		}
		if err != nil {
			return nil, err
		}
		if value == nil || value.Kind() == jsontext.KindNull {
			return nil, nil
		}
	}
	return value, nil
}

// errNoMembers says that a pointer leads through a value that has no such kind of members.
var errNoMembers = errors.New("leads through a value of another form")

// member returns the value of an object's member, or nil.
func member(object jsontext.Value, name string) (jsontext.Value, error) {
	decoder := within(object)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for decoder.PeekKind() != jsontext.KindEndObject {
		key, err := decoder.ReadToken()
		if err != nil {
			return nil, err
		}
		if key.String() == name {
			return decoder.ReadValue()
		}
		if err := decoder.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}

// within reads a part of a document that strict has accepted, so that it need not be held to the same rules again for
// every pointer: on a large hostile body that is most of the work.
func within(part jsontext.Value) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(part), jsontext.AllowDuplicateNames(true), jsontext.AllowInvalidUTF8(true))
}

// element returns an array's element by its decimal index, or nil.
func element(array jsontext.Value, name string) (jsontext.Value, error) {
	index, err := strconv.ParseUint(name, 10, 32)
	if err != nil {
		return nil, errNoMembers
	}
	decoder := within(array)
	if _, err := decoder.ReadToken(); err != nil {
		return nil, err
	}
	for ; decoder.PeekKind() != jsontext.KindEndArray; index-- {
		if index == 0 {
			return decoder.ReadValue()
		}
		if err := decoder.SkipValue(); err != nil {
			return nil, err
		}
	}
	return nil, nil
}
