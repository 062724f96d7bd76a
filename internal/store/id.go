package store

import (
	"crypto/sha256"
	"database/sql/driver"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"time"
)

// ID is the identifier of a row: a UUIDv7 (RFC 9562, section 5.7), stored as sixteen bytes and shown as text. To
// customers it is opaque.
type ID [16]byte

// newID makes an identifier from an instant and 74 random bits.
func newID(now time.Time, random io.Reader) (ID, error) {
	var id ID
	if _, err := io.ReadFull(random, id[6:]); err != nil {
		return ID{}, fmt.Errorf("read randomness: %w", err)
	}
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(now.UnixMilli()))
	copy(id[:6], stamp[2:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant 10
	return id, nil
}

// Time returns the instant that the identifier was made from, to the millisecond.
func (id ID) Time() time.Time {
	return time.UnixMilli(int64(binary.BigEndian.Uint64(id[:8]) >> 16))
}

// reference is the identifier of an invoice's n-th submission (from 1), and so its permanent reference at the provider.
// It depends only on the tenant, the invoice and n. A database that was restored from a backup lacks the submissions
// since then, and gives the same submission the same reference again; the provider, which accepts a reference once,
// answers with the document that it has. The time stamp is that of the invoice. The other 74 bits are a digest, so that
// one company cannot guess the references of another.
func reference(tenant, invoice ID, n int64) ID {
	text := append([]byte("quittance submission reference\x00"), tenant[:]...)
	text = append(text, invoice[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(n))) //nolint:gosec // submissions count from 1
	id := invoice
	copy(id[6:], sum[:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant 10
	return id
}

// ErrBadID says that a text is not an identifier. To a customer that is an unknown identifier.
var ErrBadID = errors.New("not an identifier")

// ParseID reads the lower-case text form, the only one that is accepted: an identifier has one spelling.
func ParseID(text string) (ID, error) {
	var id ID
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return ID{}, ErrBadID
	}
	digits := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	if _, err := hex.Decode(id[:], []byte(digits)); err != nil || id.String() != text {
		return ID{}, ErrBadID
	}
	return id, nil
}

// String returns the text form of RFC 9562, section 4.
func (id ID) String() string {
	var out [36]byte
	hex.Encode(out[:8], id[:4])
	hex.Encode(out[9:13], id[4:6])
	hex.Encode(out[14:18], id[6:8])
	hex.Encode(out[19:23], id[8:10])
	hex.Encode(out[24:], id[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

// IsZero reports whether id is the zero value, which identifies no row.
func (id ID) IsZero() bool { return id == ID{} }

// MarshalText returns the text form, for logs and JSON.
func (id ID) MarshalText() ([]byte, error) { return []byte(id.String()), nil }

// UnmarshalText reads the text form.
func (id *ID) UnmarshalText(text []byte) error {
	parsed, err := ParseID(string(text))
	if err != nil {
		return err
	}
	*id = parsed
	return nil
}

// Value binds the sixteen bytes. The zero identifier is refused: a statement that forgot its tenant finds nothing
// and writes nothing.
func (id ID) Value() (driver.Value, error) {
	if id.IsZero() {
		return nil, errors.New("store: zero identifier in a statement")
	}
	return id[:], nil
}

// Scan reads the sixteen bytes.
func (id *ID) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok || len(raw) != len(id) {
		return fmt.Errorf("store: %T of unexpected length is not an identifier", value)
	}
	copy(id[:], raw)
	return nil
}

// NewID makes an identifier from the store's clock and randomness, for what is kept elsewhere, such as a request id.
func (db *DB) NewID() (ID, error) { return newID(db.Now(), db.random) }
