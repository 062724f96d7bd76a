package store

import (
	"crypto/sha256"
	"encoding/binary"
	"hash"
)

// chain computes the digest of an entry of a chain: SHA-256 (FIPS 180-4) over the entry's fields, each preceded by its
// length in eight bytes, so that no two entries have the same encoding. The first field names the kind of chain.
type chain struct{ hash hash.Hash }

func newChain(kind string) chain {
	c := chain{hash: sha256.New()}
	c.field([]byte(kind))
	return c
}

func (c chain) field(part []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	c.hash.Write(size[:])
	c.hash.Write(part)
}

func (c chain) number(n int64) {
	c.field(binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // the bits are hashed
}

// optional keeps what is absent apart from what is empty.
func (c chain) optional(text *string) {
	if text == nil {
		c.number(0)
		return
	}
	c.number(1)
	c.field([]byte(*text))
}

func (c chain) sum() [32]byte { return [32]byte(c.hash.Sum(nil)) }
