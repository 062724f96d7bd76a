package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// What a page is made with is used again for the next one: a compressor alone is a megabyte that would have to be cleared.

// buffers are what pages are written into. The zero value can be used.
type buffers struct{ pool sync.Pool }

// largestKept is the size in bytes of the largest buffer that is kept; one page of a thousand lines is not to stay for ever.
const largestKept = 1 << 20

// get returns an empty buffer, which has to be put back once nobody reads it any more.
func (b *buffers) get() *bytes.Buffer {
	if kept, ok := b.pool.Get().(*bytes.Buffer); ok {
		return kept
	}
	return &bytes.Buffer{}
}

func (b *buffers) put(buffer *bytes.Buffer) {
	if buffer.Cap() <= largestKept {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}

// packers compress pages. The zero value can be used.
type packers struct{ pool sync.Pool }

// pack compresses text into another writer.
func (p *packers) pack(into io.Writer, text []byte) error {
	writer, ok := p.pool.Get().(*gzip.Writer)
	if !ok {
		var err error
		if writer, err = gzip.NewWriterLevel(into, gzip.BestSpeed); err != nil {
			return err
		}
	}
	writer.Reset(into)
	if _, err := writer.Write(text); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	p.pool.Put(writer)
	return nil
}
