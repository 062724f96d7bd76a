package base

import (
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"sync"
)

// packedFrom is the length in bytes from which the response for an idempotency key is stored compressed: the response
// to a large draft repeats the draft, and is hardly ever read again.
const packedFrom = 4 << 10

// gzipMagic begins compressed data (RFC 1952). No response begins with it, because responses are JSON.
var gzipMagic = []byte{0x1f, 0x8b} //nolint:gochecknoglobals // a constant

// Packer compresses responses for idempotency keys. It is safe for concurrent use. It reuses its compressors, because a
// new one allocates 1.2 MB, which takes ten times as long as compressing a response of 15 kB.
type Packer struct{ compressors sync.Pool }

// Pack returns a response as it is stored.
func (p *Packer) Pack(body []byte) ([]byte, error) {
	if len(body) < packedFrom {
		return body, nil
	}
	var out bytes.Buffer
	writer, reused := p.compressors.Get().(*gzip.Writer)
	if reused {
		writer.Reset(&out)
	} else {
		var err error
		if writer, err = gzip.NewWriterLevel(&out, gzip.BestSpeed); err != nil {
			return nil, fmt.Errorf("compress the response: %w", err)
		}
	}
	if _, err := writer.Write(body); err != nil {
		return nil, fmt.Errorf("compress the response: %w", err)
	}
	if err := writer.Close(); err != nil {
		return nil, fmt.Errorf("compress the response: %w", err)
	}
	p.compressors.Put(writer)
	return out.Bytes(), nil
}

// Unpack returns a stored response as it was sent.
func Unpack(stored []byte) (body []byte, err error) {
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
