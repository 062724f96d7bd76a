package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MalformedError says where a body ceases to be the one JSON text that the contract wants. It does not say why: the parser's
// own words do not belong into an answer. It is an [ErrMalformed].
type MalformedError struct {
	// Line and Column are from 1; the column counts characters.
	Line, Column int
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%v: line %d, column %d", ErrMalformed, e.Line, e.Column)
}

// Unwrap returns [ErrMalformed].
func (e *MalformedError) Unwrap() error { return ErrMalformed }

// malformedAt returns the error of a byte offset into a body.
func malformedAt(body []byte, offset int) *MalformedError {
	before := body[:min(max(offset, 0), len(body))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return &MalformedError{Line: 1 + bytes.Count(before, []byte{'\n'}), Column: 1 + utf8.RuneCount(before[lineStart:])}
}

// offence returns the byte offset at which body ceases to be one JSON text. body is known not to be one.
func offence(body []byte) int {
	decoder := jsontext.NewDecoder(bytes.NewBuffer(body))
	for {
		_, err := decoder.ReadToken()
		if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			return int(syntactic.ByteOffset)
		}
		if errors.Is(err, io.EOF) { // white space alone
			return len(body)
		}
		if err == nil && decoder.StackDepth() == 0 { // the text has ended: something follows it
			end := int(decoder.InputOffset())
			return end + len(body[end:]) - len(bytes.TrimLeft(body[end:], " \t\r\n"))
		}
		if err != nil {
			return int(decoder.InputOffset())
		}
	}
}
