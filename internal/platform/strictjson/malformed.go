package strictjson

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// MalformedError is the position where a body ceases to be a single JSON text. It does not give the
// reason, because messages of the parser must not appear in responses. It is an [ErrMalformed].
type MalformedError struct {
	// Line and Column count from 1; Column counts characters.
	Line, Column int
}

func (e *MalformedError) Error() string {
	return fmt.Sprintf("%v: line %d, column %d", ErrMalformed, e.Line, e.Column)
}

// Unwrap returns [ErrMalformed].
func (e *MalformedError) Unwrap() error { return ErrMalformed }

// malformedAt returns the error for a byte offset in a body.
func malformedAt(body []byte, offset int) *MalformedError {
	before := body[:min(max(offset, 0), len(body))]
	lineStart := bytes.LastIndexByte(before, '\n') + 1
	return &MalformedError{Line: 1 + bytes.Count(before, []byte{'\n'}), Column: 1 + utf8.RuneCount(before[lineStart:])}
}

// syntaxErrorOffset returns the byte offset at which body, which is not a single JSON text, ceases to be one.
func syntaxErrorOffset(body []byte) int {
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
