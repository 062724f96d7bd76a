package backup

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"
	"unicode"

	"quittance/internal/ledger"
	"quittance/internal/platform/secret"
)

const (
	// formatVersion is the version of the layout. A program refuses others.
	formatVersion = 1
	// maxManifest is the maximum size of a manifest in bytes: enough for about 4 TB.
	maxManifest = 64 << 20
	// partSize is the number of bytes of a stream that one part has, before they are compressed. A part is in memory as a
	// whole.
	partSize = 8 << 20
	// maxPart is the maximum size of a compressed part in bytes: what does not compress grows a little.
	maxPart = partSize + partSize/8
)

// Manifest says what a backup contains.
type Manifest struct {
	Format int    `json:"format"`
	Name   string `json:"name"`
	// Database is the identity of the database; see [ledger.BackupIdentity].
	Database string `json:"database"`
	// Program is the release that made the backup.
	Program string `json:"program"`
	// At is a time shortly before the moment that the backup shows: everything that was committed before At is in it. End
	// is when its last part was written. Both are of the clock of the database.
	At  time.Time `json:"at"`
	End time.Time `json:"end"`
	// Keys are the numbers of the keys that are needed to open what the backup has sealed.
	Keys []uint32 `json:"keys"`
	// Content has the engine, the version of the schema, and the tables with their rows.
	Content ledger.Copied `json:"content"`
	Streams []Stream      `json:"streams"`
}

var databasePattern = regexp.MustCompile(`^[A-Z2-7]{26}$`)

// Stream is a stream of the copy, in parts.
type Stream struct {
	Name string `json:"name"`
	// Bytes and SHA256 are those of the stream before it was cut and compressed.
	Bytes  int64  `json:"bytes"`
	SHA256 digest `json:"sha256"`
	Parts  []Part `json:"parts"`
}

// Part is a file with a compressed piece of a stream.
type Part struct {
	// Number makes the name of the file: the parts of all streams are numbered from 1.
	Number int `json:"number"`
	// Bytes and SHA256 are those of the file, Plain is the number of bytes before compression.
	Bytes  int64  `json:"bytes"`
	SHA256 digest `json:"sha256"`
	Plain  int64  `json:"plain"`
}

// Size returns the number of bytes of all parts, as they are stored.
func (m *Manifest) Size() (bytes int64) {
	for _, stream := range m.Streams {
		for _, part := range stream.Parts {
			bytes += part.Bytes
		}
	}
	return bytes
}

// Plain returns the number of bytes of all streams, before compression.
func (m *Manifest) Plain() (bytes int64) {
	for _, stream := range m.Streams {
		bytes += stream.Bytes
	}
	return bytes
}

// digest is a SHA-256 digest; in JSON as hexadecimal digits.
type digest [sha256.Size]byte

// MarshalText implements [encoding.TextMarshaler].
func (d digest) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, d[:]), nil }

// UnmarshalText implements [encoding.TextUnmarshaler].
func (d *digest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return errors.New("a digest has 64 digits")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// sealedManifest is the file of a manifest: the text that was sealed, and the seal over its digest.
type sealedManifest struct {
	Manifest json.RawMessage `json:"manifest"`
	Seal     []byte          `json:"seal"`
}

// Opener decides which manifests are accepted.
type Opener struct {
	// Keys check the seals. If nil, seals are not checked, which is enough to list backups and to find accidental damage.
	Keys *secret.Keyring
}

func sealBinding(name string) secret.Binding {
	return secret.Binding{Table: "backups", Column: "manifest", Row: []byte(name)}
}

// encode returns the file of the manifest.
func (m *Manifest) encode(keys *secret.Keyring) ([]byte, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(text)
	seal, err := keys.Seal(sum[:], sealBinding(m.Name))
	if err != nil {
		return nil, fmt.Errorf("seal the manifest: %w", err)
	}
	return json.Marshal(sealedManifest{Manifest: text, Seal: seal})
}

// readManifest reads and checks the manifest of a backup. It returns [ErrMissing] and [ErrDamaged].
func readManifest(ctx context.Context, place Place, name string, open Opener) (*Manifest, error) {
	text, err := place.Get(ctx, name, manifestFile, maxManifest)
	if err != nil {
		return nil, fmt.Errorf("read the manifest of the backup %s of %s: %w", name, place, err)
	}
	m, err := open.decode(name, text)
	if err != nil {
		return nil, fmt.Errorf("%w: the manifest of %s: %w", ErrDamaged, name, err)
	}
	return m, nil
}

// decode opens the file of a manifest and checks that it describes a backup of that name.
func (o Opener) decode(name string, text []byte) (*Manifest, error) {
	var file sealedManifest
	if err := strict(text, &file); err != nil {
		return nil, err
	}
	if o.Keys != nil {
		sum, err := o.Keys.Open(file.Seal, sealBinding(name))
		if errors.Is(err, secret.ErrUnknownKey) {
			return nil, fmt.Errorf("%s lacks the key that sealed it, or it was altered: %w", o.Keys.File(), err)
		}
		if err != nil {
			return nil, fmt.Errorf("it was altered, or sealed with the keys of another database: %w", err)
		}
		if want := sha256.Sum256(file.Manifest); !bytes.Equal(sum, want[:]) {
			return nil, errors.New("it was altered after it was sealed")
		}
	}
	var m Manifest
	if err := strict(file.Manifest, &m); err != nil {
		return nil, err
	}
	return &m, m.check(name)
}

// check returns an error for a manifest that no [Write] makes.
func (m *Manifest) check(name string) error {
	if m.Format != formatVersion {
		return fmt.Errorf("it has format %d, and this program reads format %d", m.Format, formatVersion)
	}
	if m.Name != name {
		return fmt.Errorf("it is that of the backup %q", m.Name)
	}
	if !databasePattern.MatchString(m.Database) {
		return errors.New("it names no database")
	}
	if strings.ContainsFunc(m.Program+m.Content.Engine, func(r rune) bool { return !unicode.IsPrint(r) }) {
		// which a terminal would obey when somebody lists backups without a key file
		return errors.New("it has control characters")
	}
	number := 0
	for _, stream := range m.Streams {
		var plain int64
		for _, part := range stream.Parts {
			if number++; part.Number != number {
				return fmt.Errorf("part %d stands in the place of part %d", part.Number, number)
			}
			if part.Bytes < 1 || part.Bytes > maxPart || part.Plain < 1 || part.Plain > partSize {
				return fmt.Errorf("part %d has an impossible size", number)
			}
			plain += part.Plain
		}
		if plain != stream.Bytes {
			return fmt.Errorf("the parts of %s do not make it up", stream.Name)
		}
	}
	return nil
}

// strict decodes JSON without unknown fields and without anything after it.
func strict(text []byte, into any) error {
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		return fmt.Errorf("not a manifest: %w", err)
	}
	if decoder.More() {
		return errors.New("not a manifest: there is something after it")
	}
	return nil
}
