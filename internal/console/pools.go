package console

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// What a page is made with is used again for the next one: a compressor alone is a megabyte that would have to be cleared.

// buffers are what pages are written into. The zero value can be used.
type bufferPool struct{ pool sync.Pool }

// largestKept is the size in bytes of the largest buffer that is kept; one page of a thousand lines is not to stay for ever.
const maxPooledBuffer = 1 << 20

// get returns an empty buffer, which has to be put back once nobody reads it any more.
func (b *bufferPool) get() *bytes.Buffer {
	if kept, ok := b.pool.Get().(*bytes.Buffer); ok {
		return kept
	}
	return &bytes.Buffer{}
}

func (b *bufferPool) put(buffer *bytes.Buffer) {
	if buffer.Cap() <= maxPooledBuffer {
		buffer.Reset()
		b.pool.Put(buffer)
	}
}

// packers compress pages. The zero value can be used.
type gzipPool struct{ pool sync.Pool }

// pack compresses text into another writer.
func (g *gzipPool) compress(into io.Writer, text []byte) error {
	writer, ok := g.pool.Get().(*gzip.Writer)
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
	g.pool.Put(writer)
	return nil
}
