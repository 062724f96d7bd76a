package secret

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"

	"github.com/tink-crypto/tink-go/v2/aead"
	"github.com/tink-crypto/tink-go/v2/aead/aesgcm"
	"github.com/tink-crypto/tink-go/v2/keyset"
	"github.com/tink-crypto/tink-go/v2/tink"
)

// The failures of sealing and opening.
var (
	// ErrSealed says that a value does not open: it was altered, truncated, or sealed for another place.
	ErrSealed = errors.New("secret: sealed value does not open")
	// ErrUnknownKey says that a value stands under a key which this keyring does not hold enabled, for instance because the
	// key file was changed after it was read.
	ErrUnknownKey = errors.New("secret: sealed value stands under an unknown key")
	// ErrPlace says that a place has no table, no column or no row, and so would bind a value to nothing.
	ErrPlace = errors.New("secret: place is not complete")
	// ErrKeys says that a keyset is not one of ours.
	ErrKeys = errors.New("secret: not a keyset of AES-256-GCM keys")
)

// Place says where a sealed value stands. It is authenticated with the value, not stored in it.
type Place struct {
	// Tenant identifies the account; empty for what belongs to no tenant.
	Tenant []byte
	// Table and Column name the database column.
	Table, Column string
	// Row identifies the row within its table.
	Row []byte
	// Bound are other values of the row, in a fixed order. A value that was sealed with them opens only while they are what
	// they were, for instance a credential only with the address that it was meant for. Nil binds to the row alone.
	Bound []string
}

// Each label begins associated data, so that no other use of the same keys can produce it.
const (
	placeLabel = "quittance/secret/place/v1"
	boundLabel = "quittance/secret/place/v2"
)

// associatedData encodes the place. Every part is preceded by its length in eight bytes, so that no two places have the
// same encoding.
func (p Place) associatedData() ([]byte, error) {
	if p.Table == "" || p.Column == "" || len(p.Row) == 0 {
		return nil, ErrPlace
	}
	out := []byte(placeLabel)
	if p.Bound != nil {
		out = []byte(boundLabel)
	}
	for _, part := range [...][]byte{p.Tenant, []byte(p.Table), []byte(p.Column), p.Row} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	for _, value := range p.Bound {
		out = binary.BigEndian.AppendUint64(out, uint64(len(value)))
		out = append(out, value...)
	}
	return out, nil
}

// Keyring seals values at rest with its primary key and opens those sealed with any of its keys. It is immutable and
// safe for concurrent use, and it can be neither printed nor encoded; [Keyring.WriteKeyFile] is its only exit.
//
// A key seals with random nonces of 96 bits, so rotate before it has sealed 2^32 values (NIST SP 800-38D, section 8.3).
type Keyring struct {
	opaque
	handle  *keyset.Handle
	aead    tink.AEAD
	keys    []Key
	primary uint32
	file    string // it was read from; "" for one that was made
}

// Key describes a key of a keyring without its material.
type Key struct {
	// ID is the number by which sealed values name their key.
	ID uint32 `json:"id"`
	// Status is enabled, disabled, destroyed or unknown. Only an enabled key opens values.
	Status string `json:"status"`
	// Primary marks the one key that seals.
	Primary bool `json:"primary"`
}

// Generate returns a keyring with one new key. The key comes from the operating system's random source. It fails only
// when that source does.
func Generate() (*Keyring, error) {
	handle, err := keyset.NewHandle(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, fmt.Errorf("secret: generate key: %w", err)
	}
	return newKeyring(handle)
}

// newKeyring refuses every keyset that holds another kind of key than [Generate] makes: the key number that sealed
// values begin with is read by us, and associated data must be authenticated by every key.
func newKeyring(handle *keyset.Handle) (*Keyring, error) {
	primary, err := handle.Primary()
	if err != nil {
		return nil, ErrKeys
	}
	ring := &Keyring{handle: handle, primary: primary.KeyID()}
	for i := range handle.Len() {
		entry, err := handle.Entry(i)
		if err != nil {
			return nil, ErrKeys
		}
		parameters, ok := entry.Key().Parameters().(*aesgcm.Parameters)
		if !ok || parameters.KeySizeInBytes() != 32 || parameters.Variant() != aesgcm.VariantTink {
			return nil, ErrKeys
		}
		ring.keys = append(ring.keys, Key{ID: entry.KeyID(), Status: statusName(entry.KeyStatus()), Primary: entry.IsPrimary()})
	}
	sealer, err := aead.New(handle)
	if err != nil {
		return nil, ErrKeys
	}
	ring.aead = sealer
	return ring, nil
}

// statusName returns the word for a status that [Key] shows.
func statusName(status keyset.KeyStatus) string {
	switch status {
	case keyset.Enabled:
		return "enabled"
	case keyset.Disabled:
		return "disabled"
	case keyset.Destroyed:
		return "destroyed"
	default:
		return "unknown"
	}
}

// ErrNoKey says that a keyring has no enabled key of a number, or that the key is the primary one and has to stay.
var ErrNoKey = errors.New("secret: no such key")

// Add returns a keyring that holds all keys of k and a new one, which does not seal until it is promoted, and its number.
// k stays as it is.
func (k *Keyring) Add() (*Keyring, uint32, error) {
	manager := keyset.NewManagerFromHandle(k.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, 0, fmt.Errorf("secret: add key: %w", err)
	}
	added, err := k.from(manager)
	return added, id, err
}

// Promote returns a keyring with the same keys, of which the one with this number is the primary. It returns [ErrNoKey]
// when k does not hold it enabled. k stays as it is.
func (k *Keyring) Promote(id uint32) (*Keyring, error) {
	if !k.Holds(id) {
		return nil, fmt.Errorf("%w: %d", ErrNoKey, id)
	}
	manager := keyset.NewManagerFromHandle(k.handle)
	if err := manager.SetPrimary(id); err != nil {
		return nil, fmt.Errorf("secret: promote key %d: %w", id, err)
	}
	return k.from(manager)
}

// Disable returns a keyring in which the key with this number opens nothing any more. It returns [ErrNoKey] when k does not
// hold it enabled, or when it is the primary. k stays as it is.
func (k *Keyring) Disable(id uint32) (*Keyring, error) {
	if !k.Holds(id) || id == k.primary {
		return nil, fmt.Errorf("%w: %d", ErrNoKey, id)
	}
	manager := keyset.NewManagerFromHandle(k.handle)
	if err := manager.Disable(id); err != nil {
		return nil, fmt.Errorf("secret: disable key %d: %w", id, err)
	}
	return k.from(manager)
}

// from returns the keyring that a manager has made of k.
func (k *Keyring) from(manager *keyset.Manager) (*Keyring, error) {
	handle, err := manager.Handle()
	if err != nil {
		return nil, fmt.Errorf("secret: change keys: %w", err)
	}
	made, err := newKeyring(handle)
	if err != nil {
		return nil, err
	}
	made.file = k.file
	return made, nil
}

// File returns the path of the key file that the keyring was read from, "" for one that was made.
func (k *Keyring) File() string { return k.file }

// Same tells whether two keyrings have the same keys with the same states and the same primary.
func (k *Keyring) Same(other *Keyring) bool {
	return slices.Equal(k.keys, other.keys) && k.contains(other)
}

// List describes the keys, oldest first.
func (k *Keyring) List() []Key { return append([]Key(nil), k.keys...) }

// PrimaryID returns the number of the key that seals.
func (k *Keyring) PrimaryID() uint32 { return k.primary }

// Seal encrypts plain for one place. The result is 33 bytes longer than plain.
func (k *Keyring) Seal(plain []byte, at Place) ([]byte, error) {
	data, err := at.associatedData()
	if err != nil {
		return nil, err
	}
	sealed, err := k.aead.Encrypt(plain, data)
	if err != nil {
		return nil, fmt.Errorf("secret: seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts what [Keyring.Seal] made for the same place. It returns [ErrSealed], which does not say what is wrong,
// [ErrUnknownKey] or [ErrPlace].
func (k *Keyring) Open(sealed []byte, at Place) ([]byte, error) {
	data, err := at.associatedData()
	if err != nil {
		return nil, err
	}
	id, ok := KeyID(sealed)
	if !ok {
		return nil, ErrSealed
	}
	if !k.Holds(id) {
		return nil, ErrUnknownKey
	}
	plain, err := k.aead.Decrypt(sealed, data)
	if err != nil {
		return nil, ErrSealed
	}
	return plain, nil
}

// SealText is [Keyring.Seal] for a secret text.
func (k *Keyring) SealText(plain Text, at Place) ([]byte, error) {
	return k.Seal([]byte(plain.Reveal()), at)
}

// OpenText is [Keyring.Open] for a secret text.
func (k *Keyring) OpenText(sealed []byte, at Place) (Text, error) {
	plain, err := k.Open(sealed, at)
	if err != nil {
		return Text{}, err
	}
	return New(string(plain)), nil
}

// Holds tells whether the keyring has an enabled key of this number.
func (k *Keyring) Holds(id uint32) bool {
	for _, key := range k.keys {
		if key.ID == id && key.Status == statusName(keyset.Enabled) {
			return true
		}
	}
	return false
}

// The layout of a sealed value: a version byte, the number of its key, the nonce, the ciphertext, the tag.
const (
	sealedVersion   = 1
	sealedKeyEnd    = 5
	sealedMinLength = sealedKeyEnd + 12 + 16
)

// KeyID returns the number of the key that a value was sealed with. ok is false when the bytes are no sealed value; true
// says nothing about whether they open.
func KeyID(sealed []byte) (id uint32, ok bool) {
	if len(sealed) < sealedMinLength || sealed[0] != sealedVersion {
		return 0, false
	}
	return binary.BigEndian.Uint32(sealed[1:sealedKeyEnd]), true
}

// KeyIDOfPrefix is [KeyID] for the first bytes of a sealed value, at least five.
func KeyIDOfPrefix(begin []byte) (id uint32, ok bool) {
	if len(begin) < sealedKeyEnd || begin[0] != sealedVersion {
		return 0, false
	}
	return binary.BigEndian.Uint32(begin[1:sealedKeyEnd]), true
}

// NeedsReseal tells whether a value stands under another key than the primary. It is also true for bytes that are no
// sealed value: opening them then says so.
func (k *Keyring) NeedsReseal(sealed []byte) bool {
	id, ok := KeyID(sealed)
	return !ok || id != k.primary
}
