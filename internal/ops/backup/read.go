package backup

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"

	"github.com/klauspost/compress/zstd"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
)

// Source is a complete backup that can be read.
type Source struct {
	place    Place
	manifest *Manifest
}

// Find returns the backup of a name, or the latest complete one if name is "". It returns [ErrNone], [ErrDamaged] if
// the manifest of that backup is not accepted, because it never goes back to an earlier one by itself, and [ErrSeveral]
// if the latest one is wanted and another is of another database.
func Find(ctx context.Context, place Place, name string, open Opener) (*Source, error) {
	if name != "" {
		if !namePattern.MatchString(name) {
			return nil, fmt.Errorf("%q is not the name of a backup, such as 20260131T220000.250Z-4f1c22ab", name)
		}
		return find(ctx, place, name, open)
	}
	names, err := place.Names(ctx)
	if err != nil {
		return nil, fmt.Errorf("list %s: %w", place, err)
	}
	for n, latest := range slices.Backward(names) {
		source, err := find(ctx, place, latest, open)
		if errors.Is(err, ErrNone) {
			continue
		}
		if err != nil {
			return nil, err
		}
		return source, source.alone(ctx, names[:n], open)
	}
	return nil, fmt.Errorf("%w in %s", ErrNone, place)
}

// alone returns [ErrSeveral] if one of the earlier backups is of another database.
func (s *Source) alone(ctx context.Context, earlier []string, open Opener) error {
	for _, name := range earlier {
		m, err := readManifest(ctx, s.place, name, open)
		if errors.Is(err, ErrMissing) || errors.Is(err, ErrDamaged) {
			continue
		}
		if err != nil {
			return err
		}
		if m.Database != s.manifest.Database {
			return fmt.Errorf("%s: %w (%s is of %s, and %s of %s)", s.place, ErrSeveral, s.manifest.Name, s.manifest.Database,
				name, m.Database)
		}
	}
	return nil
}

func find(ctx context.Context, place Place, name string, open Opener) (*Source, error) {
	manifest, err := readManifest(ctx, place, name, open)
	if errors.Is(err, ErrMissing) {
		return nil, fmt.Errorf("%w: %s of %s has no manifest", ErrNone, name, place)
	}
	if err != nil {
		return nil, err
	}
	return &Source{place: place, manifest: manifest}, nil
}

// Manifest says what the backup contains.
func (s *Source) Manifest() *Manifest { return s.manifest }

// Verify reads every byte of the backup and returns [ErrDamaged] unless all of it is what the manifest says.
func (s *Source) Verify(ctx context.Context) error {
	for _, stream := range s.manifest.Streams {
		reader, err := s.Read(ctx, stream.Name)
		if err != nil {
			return err
		}
		if _, err := io.Copy(io.Discard, reader); err != nil {
			return err
		}
	}
	return nil
}

// Restore restores the backup into the database at address; see [ledger.Restore]. It returns the number of open
// submissions.
func (s *Source) Restore(ctx context.Context, address string, options base.Options) (open int64, err error) {
	for _, key := range s.manifest.Keys {
		if !options.Keys.Holds(key) {
			return 0,
				fmt.Errorf("%s lacks key %d, which the backup needs: use the key file of the time of the backup, or a later one",
					options.Keys.File(), key)
		}
	}
	return ledger.Restore(ctx, address, options, s.manifest.Content, s.manifest.Name,
		func(stream string) (io.Reader, error) { return s.Read(ctx, stream) })
}

// Read returns the content of a stream. The reader returns [ErrDamaged] instead of the first byte that is not as it was
// written, and [io.EOF] only after the whole stream.
func (s *Source) Read(ctx context.Context, stream string) (io.Reader, error) {
	for _, described := range s.manifest.Streams {
		if described.Name != stream {
			continue
		}
		// The size of a part bounds what decompression may take.
		decoder, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(partSize),
			zstd.WithDecoderMaxWindow(partSize))
		if err != nil {
			return nil, err
		}
		return &streamReader{ctx: ctx, source: s, stream: described, decoder: decoder, sum: sha256.New()}, nil
	}
	return nil, fmt.Errorf("%w: it has no %s", ErrDamaged, stream)
}

// streamReader reads one part after the other.
type streamReader struct {
	ctx     context.Context //nolint:containedctx // the reader lives for one call
	source  *Source
	stream  Stream
	decoder *zstd.Decoder
	sum     hash.Hash
	next    int    // index of the part to read next
	plain   []byte // what is left of the present part
	failed  error
}

// Read implements [io.Reader].
func (r *streamReader) Read(into []byte) (int, error) {
	for len(r.plain) == 0 {
		if r.failed == nil {
			r.failed = r.advance()
		}
		if r.failed != nil {
			r.decoder.Close()
			return 0, r.failed
		}
	}
	n := copy(into, r.plain)
	r.plain = r.plain[n:]
	return n, nil
}

// advance reads the next part, or returns [io.EOF] after the last.
func (r *streamReader) advance() error {
	if r.next == len(r.stream.Parts) {
		if digest(r.sum.Sum(nil)) != r.stream.SHA256 {
			return fmt.Errorf("%w: the parts of %s do not have its digest", ErrDamaged, r.stream.Name)
		}
		return io.EOF
	}
	part := r.stream.Parts[r.next]
	name, file := r.source.manifest.Name, partFile(part.Number)
	packed, err := r.source.place.Get(r.ctx, name, file, part.Bytes)
	if errors.Is(err, ErrMissing) {
		return fmt.Errorf("%w: %s of %s is missing", ErrDamaged, file, name)
	}
	if err != nil {
		return fmt.Errorf("read %s of the backup %s of %s: %w", file, name, r.source.place, err)
	}
	if int64(len(packed)) != part.Bytes || digest(sha256.Sum256(packed)) != part.SHA256 {
		return fmt.Errorf("%w: %s of %s was altered or shortened", ErrDamaged, file, name)
	}
	plain, err := r.decoder.DecodeAll(packed, make([]byte, 0, part.Plain))
	if err != nil {
		return fmt.Errorf("%w: %s of %s does not decompress: %w", ErrDamaged, file, name, err)
	}
	if int64(len(plain)) != part.Plain {
		return fmt.Errorf("%w: %s of %s decompresses to %d bytes instead of %d", ErrDamaged, file, name, len(plain),
			part.Plain)
	}
	r.sum.Write(plain)
	r.next++
	r.plain = plain
	return nil
}
