package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
)

// The bound of a list page in bytes (contract, section 1). A page that is asked for by number has rows of bounded length, a
// hundred of which stay below it, so that no row is ever left out of a page; the events feed, which goes on from a cursor, ends early.
const (
	maxPageBytes = 8 << 20
	// envelopeBytes is more than what an answer has around its rows.
	envelopeBytes = 64 << 10
)

const (
	// freeAnswer is the length of an answer that takes nothing of its company's share of bytes.
	freeAnswer = 16 << 10
	// parsedFactor is how many bytes an invoice takes while it is answered, for each byte of its document: the text, and at
	// least as much again parsed.
	parsedFactor = 2
	// chunkBytes is how much of a retained body is in memory at a time: a whole number of groups of base64.
	chunkBytes = 3 * 128 << 10
)

// answerBytes takes so many bytes of the company's share until the request ends: what a company has answered at the same
// time has the same bound as what it sends. Short answers take nothing, and neither do those of a call that has done something: it
// cannot be refused any more.
func (c *call) answerBytes(n int) error {
	if n <= freeAnswer || c.slot.exempt || c.slot.stranger() || !reads(c.request.Method) {
		return nil
	}
	return c.slot.reserve(n)
}

// chunked is a retained body as it is answered: read and written a piece at a time, however long it is.
type chunked struct {
	body api.RetainedBody // without its bytes
	size int64
	read func(ctx context.Context, offset int64, size int) ([]byte, error)
}

// chunks makes an operation of a handler whose answer is a retained body.
func chunks(handle func(c *call, ctx context.Context) (int, chunked, error)) operation {
	described := bare(func(c *call, ctx context.Context) (int, api.Data[api.RetainedBody], error) {
		return 0, api.Data[api.RetainedBody]{}, nil
	})
	described.serve = bare(handle).serve
	return described
}

// write sends the answer and returns the number of bytes that were written. An error in the middle leaves the answer shorter than it
// announces: the client sees that it is not whole.
func (a chunked) write(ctx context.Context, w http.ResponseWriter, status int) (int, error) {
	head, tail, err := a.frame()
	if err != nil {
		return 0, err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.FormatInt(int64(len(head)+len(tail))+base64Length(a.size), 10))
	w.WriteHeader(status)
	written, err := w.Write(head)
	if err != nil {
		return written, fmt.Errorf("write: %w", err)
	}
	counter := &countingWriter{to: w}
	encoder := base64.NewEncoder(base64.StdEncoding, counter)
	for offset := int64(0); offset < a.size; {
		chunk, err := a.read(ctx, offset, int(min(chunkBytes, a.size-offset)))
		if err == nil && len(chunk) == 0 {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return written + counter.n, fmt.Errorf("read from %d: %w", offset, err)
		}
		if _, err := encoder.Write(chunk); err != nil {
			return written + counter.n, fmt.Errorf("write: %w", err)
		}
		offset += int64(len(chunk))
	}
	if err := encoder.Close(); err != nil {
		return written + counter.n, fmt.Errorf("write: %w", err)
	}
	n, err := w.Write(tail)
	return written + counter.n + n, err
}

// frame is the answer's text before and after the characters of base64; all of it is before them when there are none to be shown.
func (a chunked) frame() (head, tail []byte, err error) {
	text, err := json.Marshal(api.Data[api.RetainedBody]{Data: a.body}, asJSON)
	if err != nil {
		return nil, nil, fmt.Errorf("answer: %w", err)
	}
	text = append(text, '\n')
	if a.read == nil {
		return text, nil, nil
	}
	// In a string the first quotation mark would have a backslash behind the name.
	const member = `"body_base64":`
	before, after, found := bytes.Cut(text, []byte(member+"null"))
	if !found {
		return nil, nil, errors.New("answer: a retained body without its member")
	}
	return append(before, member+`"`...), append([]byte(`"`), after...), nil
}

func base64Length(size int64) int64 { return (size + 2) / 3 * 4 }

// countingWriter counts what is written.
type countingWriter struct {
	to io.Writer
	n  int
}

// Write writes and counts.
func (w *countingWriter) Write(text []byte) (int, error) {
	n, err := w.to.Write(text)
	w.n += n
	return n, err
}

// encode writes an answer as JSON.
func (s *Server) encode(ctx context.Context, status int, body any) (int, []byte) {
	if raw, ok := body.(jsontext.Value); ok {
		return status, raw
	}
	text, err := json.Marshal(body, asJSON)
	if err != nil {
		s.Log.ErrorContext(ctx, "an answer cannot be written as JSON", "error", err)
		return http.StatusInternalServerError, []byte(`{"error":{"code":"internal","message":"Something went wrong here. Quote the request id to support.","details":{}}}`)
	}
	return status, text
}
