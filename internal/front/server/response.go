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

	"quittance/client/api"
	"quittance/internal/front/view"
)

// The limit of a list page in bytes. Pages by number have rows of bounded length, and a hundred of them stay below the
// limit, so that no row is ever omitted. A page of the events feed, which continues from a cursor, ends early instead.
const (
	maxPageBytes = 12 << 20
	// envelopeBytes is an upper bound of the size of a response without its rows.
	envelopeBytes = 64 << 10
)

const (
	// freeResponse is the largest response for which no bytes are reserved.
	freeResponse = 16 << 10
	// decodedFactor is how many bytes of memory a response with an invoice needs for each byte of its document: the text,
	// and at least as much for its decoded form.
	decodedFactor = 2
	// chunkBytes is how much of a retained body is in memory at a time. It is a multiple of three, for base64.
	chunkBytes = 3 * 128 << 10
)

// reserveResponse reserves n bytes for the response until the request ends, so that concurrent responses of a company
// have the same limit as its requests. Short responses need no reservation, nor do those of a call that has changed
// something: it is too late for that call to fail.
func (c *call) reserveResponse(n int) error {
	if n <= freeResponse || c.ticket.exempt || c.ticket.anonymous() || !isSafeMethod(c.request.Method) {
		return nil
	}
	return c.ticket.reserveBytes(n)
}

// streamedResponse is a response that is written while its content is read.
type streamedResponse interface {
	// bytes returns how much memory writing it takes, in addition to what is already reserved.
	bytes() int
	// write sends the response and returns the number of bytes that were written. After an error the connection ends, so
	// that the client notices that the response is not complete.
	write(ctx context.Context, w http.ResponseWriter, status int) (int, error)
}

// fileResponse is the response with an attachment of a document, whose memory is already reserved.
type fileResponse struct{ file view.Attachment }

func (fileResponse) bytes() int { return 0 }

func (a fileResponse) write(_ context.Context, w http.ResponseWriter, status int) (int, error) {
	header := w.Header()
	header.Set("Content-Type", a.file.MediaType)
	header.Set("Content-Disposition", a.file.Disposition())
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Length", strconv.FormatInt(a.file.Size, 10))
	w.WriteHeader(status)
	written, err := io.Copy(w, a.file.Content)
	if err != nil {
		return int(written), fmt.Errorf("write: %w", err)
	}
	return int(written), nil
}

// retainedResponse is the response with a retained body, which is read and written in chunks.
type retainedResponse struct {
	body api.RetainedBody // without the bytes of the body
	size int64
	read func(ctx context.Context, offset int64, size int) ([]byte, error)
}

// withRetainedBody makes an operation of a handler that responds with a retained body.
func withRetainedBody(handle func(c *call, ctx context.Context) (int, retainedResponse, error)) operation {
	described := withoutBody(func(c *call, ctx context.Context) (int, api.Data[api.RetainedBody], error) {
		return 0, api.Data[api.RetainedBody]{}, nil
	})
	described.serve = withoutBody(handle).serve
	return described
}

func (a retainedResponse) bytes() int { return decodedFactor * int(min(a.size, chunkBytes)) }

func (a retainedResponse) write(ctx context.Context, w http.ResponseWriter, status int) (int, error) {
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

// frame returns the text of the response before and after the base64 characters; tail is empty if there are none.
func (a retainedResponse) frame() (head, tail []byte, err error) {
	text, err := json.Marshal(api.Data[api.RetainedBody]{Data: a.body}, asJSON)
	if err != nil {
		return nil, nil, fmt.Errorf("encode the response: %w", err)
	}
	text = append(text, '\n')
	if a.read == nil {
		return text, nil, nil
	}
	// The name cannot match inside a string, where its first quotation mark would follow a backslash.
	const member = `"body_base64":`
	before, after, found := bytes.Cut(text, []byte(member+"null"))
	if !found {
		return nil, nil, errors.New("encode the response: the member body_base64 is missing")
	}
	return append(before, member+`"`...), append([]byte(`"`), after...), nil
}

func base64Length(size int64) int64 { return (size + 2) / 3 * 4 }

// countingWriter counts the bytes that are written to it.
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

// encode returns a response as JSON.
func (s *Server) encode(ctx context.Context, status int, body any) (int, []byte) {
	if raw, ok := body.(jsontext.Value); ok {
		return status, raw
	}
	text, err := json.Marshal(body, asJSON)
	if err != nil {
		s.Log.ErrorContext(ctx, "a response cannot be encoded as JSON", "error", err)
		return http.StatusInternalServerError,
			[]byte(
				`{"error":{"code":"internal","message":"An internal error occurred. Include the request id when you contact support.","details":{},"doc_url":"` + errorsPath + `#internal"}}`)
	}
	return status, text
}
