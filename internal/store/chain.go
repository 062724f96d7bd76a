package store

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"hash"

	"quittance/internal/secret"
)

// digester computes the digest of an entry of a chain: SHA-256 (FIPS 180-4) over the entry's fields. The length of each
// field, in eight bytes, precedes it, so that different entries have different encodings. The first field names the
// kind of chain.
type digester struct{ hash hash.Hash }

func newDigester(kind string) digester {
	c := digester{hash: sha256.New()}
	c.field([]byte(kind))
	return c
}

func (c digester) field(part []byte) {
	var size [8]byte
	binary.BigEndian.PutUint64(size[:], uint64(len(part)))
	c.hash.Write(size[:])
	c.hash.Write(part)
}

func (c digester) number(n int64) {
	c.field(binary.BigEndian.AppendUint64(nil, uint64(n))) //nolint:gosec // the bits are hashed
}

// optional distinguishes a missing text from an empty one.
func (c digester) optional(text *string) {
	if text == nil {
		c.number(0)
		return
	}
	c.number(1)
	c.field([]byte(*text))
}

// optionalNumber distinguishes a missing number from 0.
func (c digester) optionalNumber(n *int64) {
	c.number(flag(n != nil))
	if n != nil {
		c.number(*n)
	}
}

func (c digester) sum() [32]byte { return [32]byte(c.hash.Sum(nil)) }

// chainEnd is the position at which a chain ends, or up to which it has been verified.
type chainEnd struct {
	count int64
	head  [32]byte // digest of the last entry; zero if there is none
}

func submissionSealBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "submissions", Column: "evidence_seal", Row: id[:]}
}

func incomingSealBinding(tenant, id ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "incoming", Column: "seal", Row: id[:]}
}

// flaw is something that is wrong with evidence: the field, or "" if it is not in a single field, and a description.
// The zero flaw means that nothing is wrong.
type flaw struct{ field, what string }

func (f flaw) found() bool { return f.what != "" }

// chainLink is what an entry records about its position in a chain.
type chainLink struct {
	ordinal          int64
	previous, digest [32]byte
	// flaw is what is wrong with the entry itself.
	flaw flaw
}

// advance moves e to the next entry of a chain that should end at want. It returns what is wrong with the entry.
func (e *chainEnd) advance(next chainLink, want chainEnd) flaw {
	switch position := e.count + 1; {
	case position > want.count:
		return flaw{what: fmt.Sprintf("it was never retained: the chain ended with entry %d", want.count)}
	case next.flaw.found():
		return next.flaw
	case next.ordinal != position:
		return flaw{what: fmt.Sprintf("it is missing: entry %d is in its place", next.ordinal)}
	case next.previous != e.head:
		return flaw{what: "it does not follow the entry before it"}
	case position == want.count && next.digest != want.head:
		return flaw{what: "it is not the entry with which the chain ended"}
	}
	e.count, e.head = e.count+1, next.digest
	return flaw{}
}

// missing returns what is wrong if no entry follows e.
func (e chainEnd) missing(want chainEnd) flaw {
	if e.count < want.count {
		return flaw{what: fmt.Sprintf("it is missing: %d entries were retained", want.count)}
	}
	return flaw{}
}

// parseDigest reads a stored digest.
func parseDigest(into *[32]byte, from []byte) error {
	if len(from) != len(into) {
		return fmt.Errorf("a stored digest has %d bytes", len(from))
	}
	copy(into[:], from)
	return nil
}

// parseFlag reads a stored flag, 0 or 1.
func parseFlag(stored int64) (bool, error) {
	if stored != 0 && stored != 1 {
		return false, fmt.Errorf("a stored flag is %d", stored)
	}
	return stored == 1, nil
}
