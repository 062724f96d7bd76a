package store

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// packedFrom is the length in bytes from which an answer is kept compressed: the answer to a large draft repeats it, and is
// hardly ever read again.
const packedFrom = 4 << 10

// gzipMagic begins what is compressed (RFC 1952), and no answer: those are JSON, or the text of an identifier.
var gzipMagic = []byte{0x1f, 0x8b} //nolint:gochecknoglobals // a constant

// packed is an answer as it is kept.
func packed(body []byte) ([]byte, error) {
	if len(body) < packedFrom {
		return body, nil
	}
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	if _, err := writer.Write(body); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("answer: %w", err)
	}
	return out.Bytes(), nil
}

// unpacked is an answer as it was given.
func unpacked(kept []byte) (body []byte, err error) {
	if !bytes.HasPrefix(kept, gzipMagic) {
		return kept, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(kept))
	if err != nil {
		return nil, fmt.Errorf("kept answer: %w", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if body, err = io.ReadAll(reader); err != nil {
		return nil, fmt.Errorf("kept answer: %w", err)
	}
	return body, nil
}
