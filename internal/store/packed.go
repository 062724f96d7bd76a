package store

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
)

// packedFrom is the length in bytes from which the response for an idempotency key is stored compressed: the response to a large
// draft repeats the draft, and is hardly ever read again.
const packedFrom = 4 << 10

// gzipMagic begins compressed data (RFC 1952). No response begins with it, because responses are JSON.
var gzipMagic = []byte{0x1f, 0x8b} //nolint:gochecknoglobals // a constant

// packed returns a response as it is stored.
func packed(body []byte) ([]byte, error) {
	if len(body) < packedFrom {
		return body, nil
	}
	var out bytes.Buffer
	writer, err := gzip.NewWriterLevel(&out, gzip.BestSpeed)
	if err != nil {
		return nil, fmt.Errorf("compress the response: %w", err)
	}
	if _, err := writer.Write(body); err != nil {
		return nil, fmt.Errorf("compress the response: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress the response: %w", err)
	}
	return out.Bytes(), nil
}

// unpacked returns a stored response as it was sent.
func unpacked(stored []byte) (body []byte, err error) {
	if !bytes.HasPrefix(stored, gzipMagic) {
		return stored, nil
	}
	reader, err := gzip.NewReader(bytes.NewReader(stored))
	if err != nil {
		return nil, fmt.Errorf("decompress the response: %w", err)
	}
	defer func() { err = errors.Join(err, reader.Close()) }()
	if body, err = io.ReadAll(reader); err != nil {
		return nil, fmt.Errorf("decompress the response: %w", err)
	}
	return body, nil
}
