package base

import (
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

// NewID makes an identifier from an instant and 74 random bits.
func NewID(now time.Time, random io.Reader) (ID, error) {
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
		return nil, errors.New("ledger: zero identifier in a statement")
	}
	return id[:], nil
}

// Scan reads the sixteen bytes.
func (id *ID) Scan(value any) error {
	raw, ok := value.([]byte)
	if !ok || len(raw) != len(id) {
		return fmt.Errorf("ledger: %T of unexpected length is not an identifier", value)
	}
	copy(id[:], raw)
	return nil
}

// NewID makes an identifier from the database's clock and randomness, for what is kept elsewhere, such as a request id.
func (db *DB) NewID() (ID, error) { return NewID(db.Now(), db.random) }

// OldestID returns the smallest identifier that can be created at a time.
func OldestID(at time.Time) ID {
	var stamp [8]byte
	binary.BigEndian.PutUint64(stamp[:], uint64(at.UnixMilli()))
	var id ID
	copy(id[:6], stamp[2:])
	return id
}
