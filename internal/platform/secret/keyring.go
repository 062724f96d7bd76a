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
	// ErrSealed means that a value does not open: it was altered, truncated, or sealed for another binding.
	ErrSealed = errors.New("secret: sealed value does not open")
	// ErrUnknownKey means that the key of a value is missing from this keyring or not enabled, for instance because the
	// key file was changed after it was read.
	ErrUnknownKey = errors.New("secret: sealed value uses an unknown key")
	// ErrBinding means that a binding lacks its table, column or row.
	ErrBinding = errors.New("secret: incomplete binding")
	// ErrKeys means that a keyset has another format than the keysets of this package.
	ErrKeys = errors.New("secret: not a keyset of AES-256-GCM keys")
)

// Binding is the database cell that a sealed value is bound to. It is authenticated with the value but not stored in
// it.
type Binding struct {
	// Tenant identifies the account; empty for what belongs to no tenant.
	Tenant []byte
	// Table and Column name the database column.
	Table, Column string
	// Row identifies the row within its table.
	Row []byte
	// Bound holds other values of the row, in a fixed order. A value that was sealed with them opens only while they are
	// unchanged: a credential, for instance, opens only with the address it was entered for. Nil binds to the row alone.
	Bound []string
}

// Associated data begins with one of these labels, so that no other use of the same keys can produce it. The texts are
// part of the storage format.
const (
	rowLabel   = "quittance/secret/place/v1"
	boundLabel = "quittance/secret/place/v2"
)

// associatedData encodes the binding. Each part is preceded by its length in eight bytes, so that no two bindings have
// the same encoding.
func (b Binding) associatedData() ([]byte, error) {
	if b.Table == "" || b.Column == "" || len(b.Row) == 0 {
		return nil, ErrBinding
	}
	out := []byte(rowLabel)
	if b.Bound != nil {
		out = []byte(boundLabel)
	}
	for _, part := range [...][]byte{b.Tenant, []byte(b.Table), []byte(b.Column), b.Row} {
		out = binary.BigEndian.AppendUint64(out, uint64(len(part)))
		out = append(out, part...)
	}
	for _, value := range b.Bound {
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
	file    string // the path it was read from; "" for a generated keyring
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

// newKeyring rejects a keyset that holds a key of another kind than those of [Generate]: this package reads the key
// number at the start of sealed values, and every key must authenticate associated data.
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
		ring.keys = append(ring.keys, Key{ID: entry.KeyID(), Status: statusName(entry.KeyStatus()),
			Primary: entry.IsPrimary()})
	}
	sealer, err := aead.New(handle)
	if err != nil {
		return nil, ErrKeys
	}
	ring.aead = sealer
	return ring, nil
}

// statusName returns the name of a status as [Key] shows it.
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

// ErrNoKey means that a keyring has no enabled key with a number, or that the key is the primary key and cannot be
// disabled.
var ErrNoKey = errors.New("secret: no such key")

// Add returns a keyring with all keys of k and a new key, and the number of the new key, which does not seal until it
// is promoted. It does not change k.
func (k *Keyring) Add() (*Keyring, uint32, error) {
	manager := keyset.NewManagerFromHandle(k.handle)
	id, err := manager.Add(aead.AES256GCMKeyTemplate())
	if err != nil {
		return nil, 0, fmt.Errorf("secret: add key: %w", err)
	}
	added, err := k.from(manager)
	return added, id, err
}

// Promote returns a keyring with the same keys whose primary key is the one with this number. It returns [ErrNoKey] if
// k has no such enabled key. It does not change k.
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

// Disable returns a keyring in which the key with this number is disabled and opens no values. It returns [ErrNoKey] if
// k has no such enabled key, or if it is the primary key. It does not change k.
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

// from returns the keyring of a manager that was made from k.
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

// File returns the path of the key file that the keyring was read from, or "" for a generated keyring.
func (k *Keyring) File() string { return k.file }

// Same reports whether two keyrings have the same keys with the same statuses and the same primary key.
func (k *Keyring) Same(other *Keyring) bool {
	return slices.Equal(k.keys, other.keys) && k.contains(other)
}

// List describes the keys, oldest first.
func (k *Keyring) List() []Key { return append([]Key(nil), k.keys...) }

// PrimaryID returns the number of the key that seals.
func (k *Keyring) PrimaryID() uint32 { return k.primary }

// Seal encrypts plain for one binding. The result is 33 bytes longer than plain.
func (k *Keyring) Seal(plain []byte, b Binding) ([]byte, error) {
	data, err := b.associatedData()
	if err != nil {
		return nil, err
	}
	sealed, err := k.aead.Encrypt(plain, data)
	if err != nil {
		return nil, fmt.Errorf("secret: seal: %w", err)
	}
	return sealed, nil
}

// Open decrypts a value that [Keyring.Seal] sealed for the same binding. It returns [ErrSealed], which does not give
// the cause, [ErrUnknownKey] or [ErrBinding].
func (k *Keyring) Open(sealed []byte, b Binding) ([]byte, error) {
	data, err := b.associatedData()
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
func (k *Keyring) SealText(plain Text, b Binding) ([]byte, error) {
	return k.Seal([]byte(plain.Reveal()), b)
}

// OpenText is [Keyring.Open] for a secret text.
func (k *Keyring) OpenText(sealed []byte, b Binding) (Text, error) {
	plain, err := k.Open(sealed, b)
	if err != nil {
		return Text{}, err
	}
	return New(string(plain)), nil
}

// Holds reports whether the keyring has an enabled key with this number.
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

// KeyID returns the number of the key that a value was sealed with. ok is false if the bytes are not a sealed value;
// true does not mean that the value opens.
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

// NeedsReseal reports whether a value was sealed with another key than the primary one. It is also true for bytes that
// are not a sealed value, so that the caller tries to open them and sees the error.
func (k *Keyring) NeedsReseal(sealed []byte) bool {
	id, ok := KeyID(sealed)
	return !ok || id != k.primary
}
