package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"sync"
)

// Buffers and compressors are reused: a compressor alone has a megabyte that would have to be cleared each time.

// bufferPool holds the buffers that pages are written into. The zero value is ready to use.
type bufferPool struct{ pool sync.Pool }

// maxPooledBuffer is the capacity in bytes of the largest buffer that is kept, so that a page of a thousand lines does
// not occupy memory afterwards.
const maxPooledBuffer = 1 << 20

// get returns an empty buffer. The caller returns it with put when it is no longer used.
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

// gzipPool compresses pages. The zero value is ready to use.
type gzipPool struct{ pool sync.Pool }

// compress compresses text into a writer.
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
