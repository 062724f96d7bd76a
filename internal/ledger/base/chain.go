package base

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"quittance/internal/platform/secret"
)

// Digester computes the digest of an entry of a chain: SHA-256 (FIPS 180-4) over the entry's fields. The length of each
// field, in eight bytes, precedes it, so that different entries have different encodings. The first field names the
// kind of chain.
type Digester struct{ hash hash.Hash }

// NewDigester returns a digester for one kind of values; other kinds have other digests of the same values.
func NewDigester(kind string) Digester {
	c := Digester{hash: sha256.New()}
	c.Field([]byte(kind))
	return c
}

// Field adds a text or bytes, with their length.
func (c Digester) Field(part []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	c.hash.Write(size[:])
	c.hash.Write(part)
}

// Number adds a number.
func (c Digester) Number(n int64) {
	c.Field(binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // the bits are hashed
}

// Optional distinguishes a missing text from an empty one.
func (c Digester) Optional(text *string) {
	if text == nil {
		c.Number(0)
		return
	}
	c.Number(1)
	c.Field([]byte(*text))
}

// OptionalNumber distinguishes a missing number from 0.
func (c Digester) OptionalNumber(n *int64) {
	c.Number(Flag(n != nil))
	if n != nil {
		c.Number(*n)
	}
}

// Sum returns the digest of what was added.
func (c Digester) Sum() [32]byte { return [32]byte(c.hash.Sum(nil)) }

// ChainEnd is the position at which a chain ends, or up to which it has been verified.
type ChainEnd struct {
	Count int64
	Head  [32]byte // digest of the last entry; zero if there is none
}

// SubmissionSealBinding is where the seal of a submission stands.
func SubmissionSealBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "submissions", Column: "evidence_seal", Row: id[:]}
}

// IncomingSealBinding is where the seal of an incoming e-invoice stands.
func IncomingSealBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "incoming", Column: "seal", Row: id[:]}
}

// Flaw is something that is wrong with evidence: the field, or "" if it is not in a single field, and a description.
// The zero flaw means that nothing is wrong.
type Flaw struct{ Field, What string }

// Found reports whether there is a flaw.
func (f Flaw) Found() bool { return f.What != "" }

// ChainLink is what an entry records about its position in a chain.
type ChainLink struct {
	Ordinal          int64
	Previous, Digest [32]byte
	// Flaw is what is wrong with the entry itself.
	Flaw Flaw
}

// Advance moves e to the next entry of a chain that should end at want. It returns what is wrong with the entry.
func (e *ChainEnd) Advance(next ChainLink, want ChainEnd) Flaw {
	switch position := e.Count + 1; {
	case position > want.Count:
		return Flaw{What: fmt.Sprintf("it was never retained: the chain ended with entry %d", want.Count)}
	case next.Flaw.Found():
		return next.Flaw
	case next.Ordinal != position:
		return Flaw{What: fmt.Sprintf("it is missing: entry %d is in its place", next.Ordinal)}
	case next.Previous != e.Head:
		return Flaw{What: "it does not follow the entry before it"}
	case position == want.Count && next.Digest != want.Head:
		return Flaw{What: "it is not the entry with which the chain ended"}
	}
	e.Count, e.Head = e.Count+1, next.Digest
	return Flaw{}
}

// Missing returns what is wrong if no entry follows e.
func (e ChainEnd) Missing(want ChainEnd) Flaw {
	if e.Count < want.Count {
		return Flaw{What: fmt.Sprintf("it is missing: %d entries were retained", want.Count)}
	}
	return Flaw{}
}

// ParseDigest reads a stored digest.
func ParseDigest(into *[32]byte, from []byte) error {
	if len(from) != len(into) {
		return fmt.Errorf("a stored digest has %d bytes", len(from))
	}
	copy(into[:], from)
	return nil
}

// ParseFlag reads a stored flag, 0 or 1.
func ParseFlag(stored int64) (bool, error) {
	if stored != 0 && stored != 1 {
		return false, fmt.Errorf("a stored flag is %d", stored)
	}
	return stored == 1, nil
}
