package backup

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash"
	"io"

	"github.com/klauspost/compress/zstd"
	"golang.org/x/sync/errgroup"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// uploads is how many parts are compressed and written at the same time. Each takes up to twice [partSize] of memory.
const uploads = 3

// Options say how a backup is written.
type Options struct {
	// Program is the release that writes it.
	Program string
	// Keys seal the manifest: those of the database.
	Keys *secret.Keyring
	// Random is the source of the name.
	Random io.Reader
}

// errSlow says that a backup took so long that [Retain] may remove its parts.
var errSlow = fmt.Errorf("the backup took longer than %v, the most that it may", abandonedAfter-completion)

// Write writes a backup of db to a place. It is complete when Write returns without an error. Otherwise it has no
// manifest, and [Retain] removes it later, unless only the place's answer about the manifest was lost.
func Write(ctx context.Context, db *base.DB, place Place, options Options) (*Manifest, error) {
	m := &Manifest{Format: formatVersion, Program: options.Program, At: db.Now()}
	var err error
	if m.Name, err = NewName(m.At, options.Random); err != nil {
		return nil, err
	}
	if m.Database, err = ledger.BackupIdentity(ctx, db); err != nil {
		return nil, err
	}
	if err := writeParts(ctx, db, place, m); err != nil {
		return nil, fmt.Errorf("back up to %s: %w", place, err)
	}
	m.End = db.Now()
	if err := complete(ctx, place, m, options.Keys); err != nil {
		return nil, fmt.Errorf("back up to %s: %w", place, err)
	}
	return m, nil
}

// complete writes the manifest, if the place has all parts and keeps them.
func complete(ctx context.Context, place Place, m *Manifest, keys *secret.Keyring) error {
	if m.End.Sub(m.At) > abandonedAfter-completion {
		return errSlow
	}
	ctx, cancel := context.WithTimeout(ctx, completion)
	defer cancel()
	if err := checkParts(ctx, place, m); err != nil {
		return err
	}
	text, err := m.encode(keys)
	if err != nil {
		return err
	}
	if len(text) > maxManifest {
		return fmt.Errorf("the manifest would have %d bytes, and %d are the most: the database is too large for this command",
			len(text), maxManifest)
	}
	if err := place.Put(ctx, m.Name, manifestFile, text); err != nil {
		return fmt.Errorf("the manifest: %w", err)
	}
	return nil
}

// writeParts writes the parts of all streams and describes them in the manifest.
func writeParts(ctx context.Context, db *base.DB, place Place, m *Manifest) error {
	encoder, err := zstd.NewWriter(nil, zstd.WithEncoderConcurrency(uploads), zstd.WithEncoderLevel(zstd.SpeedDefault))
	if err != nil {
		return err
	}
	defer encoder.Close() //nolint:errcheck // it has no stream
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(uploads)
	c := &cutter{ctx: ctx, place: place, name: m.Name, encoder: encoder, group: group}
	content, keys, err := ledger.CopyOut(ctx, db, c.open)
	// The error of an upload is the cause of the others.
	if uploaded := group.Wait(); uploaded != nil {
		return uploaded
	}
	if err != nil {
		return err
	}
	m.Content, m.Keys = content, keys
	for _, stream := range c.streams {
		described := Stream{Name: stream.name, Bytes: stream.bytes, SHA256: digest(stream.sum.Sum(nil)),
			Parts: make([]Part, len(stream.parts))}
		for n, part := range stream.parts {
			described.Parts[n] = *part
		}
		m.Streams = append(m.Streams, described)
	}
	return nil
}

// checkParts returns an error unless the place has all parts: an upload that a place has lost must not be noticed by a
// restore only.
func checkParts(ctx context.Context, place Place, m *Manifest) error {
	sizes, err := place.Files(ctx, m.Name)
	if err != nil {
		return err
	}
	for _, stream := range m.Streams {
		for _, part := range stream.Parts {
			file := partFile(part.Number)
			if size, found := sizes[file]; !found || size != part.Bytes {
				return fmt.Errorf("%s is missing or has %d bytes instead of %d, although it was written", file, size, part.Bytes)
			}
		}
	}
	return nil
}

// cutter cuts streams into parts.
type cutter struct {
	ctx     context.Context //nolint:containedctx // the cutter lives for one call
	place   Place
	name    string
	encoder *zstd.Encoder
	group   *errgroup.Group
	streams []*cutStream
	parts   int // of all streams
}

// cutStream is a stream that is being cut.
type cutStream struct {
	cutter *cutter
	name   string
	bytes  int64
	sum    hash.Hash
	plain  []byte // of the next part
	parts  []*Part
}

// open begins the next stream.
func (c *cutter) open(stream string) (io.WriteCloser, error) {
	s := &cutStream{cutter: c, name: stream, sum: sha256.New()}
	c.streams = append(c.streams, s)
	return s, nil
}

// Write implements [io.Writer].
func (s *cutStream) Write(text []byte) (written int, err error) {
	for len(text) > 0 {
		if err := s.cutter.ctx.Err(); err != nil {
			return written, err
		}
		if s.plain == nil {
			s.plain = make([]byte, 0, partSize)
		}
		n := min(len(text), partSize-len(s.plain))
		s.plain = append(s.plain, text[:n]...)
		text, written = text[n:], written+n
		if len(s.plain) == partSize {
			s.cut()
		}
	}
	return written, nil
}

// Close writes the last part.
func (s *cutStream) Close() error {
	if len(s.plain) > 0 {
		s.cut()
	}
	return s.cutter.ctx.Err()
}

// cut writes what there is of the next part, as soon as one of the uploads has ended.
func (s *cutStream) cut() {
	plain := s.plain
	s.plain = nil
	s.bytes += int64(len(plain))
	s.sum.Write(plain)
	c := s.cutter
	c.parts++
	part := &Part{Number: c.parts, Plain: int64(len(plain))}
	s.parts = append(s.parts, part)
	c.group.Go(func() error {
		packed := c.encoder.EncodeAll(plain, make([]byte, 0, len(plain)/2))
		part.Bytes, part.SHA256 = int64(len(packed)), sha256.Sum256(packed)
		if err := c.place.Put(c.ctx, c.name, partFile(part.Number), packed); err != nil {
			return fmt.Errorf("%s: %w", partFile(part.Number), err)
		}
		return nil
	})
}
