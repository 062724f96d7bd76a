package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quittance/internal/secret"
)

// A chain of evidence proves what was retained. The row that it belongs to, where the chain ends, and what the service has
// concluded from it stand outside of the chain, and so a seal covers them: one value, encrypted and authenticated with the
// key file and bound to its row, that is made anew in every transaction that changes any of it. Nobody without the key file
// can make one.
//
// Whoever makes a seal anew first checks the one that stands there. A row that was altered behind the service's back is
// not refused, because what a provider has answered must not be lost, but its new seal says for ever that it was.

// seal is what the seal of a chain covers.
type seal struct {
	// end is where the chain ends.
	chainEnd
	// subject is the digest of what the chain is about, such as the document that was sent; zero where there is nothing.
	subject [32]byte
	// row is the digest of the row that the chain belongs to, and of what follows from the chain.
	row [32]byte
	// history is what is known about earlier seals of the chain.
	history sealHistory
}

// sealHistory is a set of facts about the earlier seals of a chain. A fact is never forgotten.
type sealHistory byte

const (
	// sealAltered says that row or chain were not what was sealed, or had no seal, when something was added.
	sealAltered sealHistory = 1 << iota
	// sealFound says that the chain was sealed as it was found; see [DB.SealEvidence].
	sealFound
)

// sealVersion is the first byte of the text of a seal. A text of 40 bytes, which begins with a count, is of the form before.
const (
	sealVersion  = 2
	sealLength   = 2 + 8 + 3*32
	sealV1Length = 8 + 32
)

// seal seals s for a binding.
func (s seal) seal(keys *sealer, at secret.Binding) ([]byte, error) {
	text := make([]byte, 0, sealLength)
	text = append(text, sealVersion, byte(s.history))
	text = binary.BigEndian.AppendUint64(text, uint64(s.count)) //nolint:gosec // entries count from 0
	text = append(text, s.head[:]...)
	text = append(text, s.subject[:]...)
	return keys.Seal(append(text, s.row[:]...), at)
}

// sealForm says what stands in the column of a seal.
type sealForm int

const (
	sealNone   sealForm = iota // nothing
	sealBroken                 // bytes that this installation did not make for this binding
	sealEnd                    // a seal of the form before, which covers the end of the chain alone
	sealWhole                  // a seal
)

// openSeal opens what stands in the column of a seal. Of the form before it has the end alone. The error is one of the keys:
// [secret.ErrUnknownKey] says that this process lacks the key, and nothing about the value.
func openSeal(keys *sealer, sealed []byte, at secret.Binding) (seal, sealForm, error) {
	if len(sealed) == 0 {
		return seal{}, sealNone, nil
	}
	text, err := keys.Open(sealed, at)
	switch {
	case errors.Is(err, secret.ErrSealed):
		return seal{}, sealBroken, nil
	case err != nil:
		return seal{}, sealBroken, err
	}
	var s seal
	switch {
	case len(text) == sealV1Length:
		s.count = int64(binary.BigEndian.Uint64(text)) //nolint:gosec // it was sealed from an int64
		copy(s.head[:], text[8:])
		return s, sealEnd, nil
	case len(text) != sealLength || text[0] != sealVersion:
		return seal{}, sealBroken, nil
	}
	s.history = sealHistory(text[1])
	s.count = int64(binary.BigEndian.Uint64(text[2:])) //nolint:gosec // it was sealed from an int64
	copy(s.head[:], text[10:])
	copy(s.subject[:], text[42:])
	copy(s.row[:], text[74:])
	return s, sealWhole, nil
}

// continueSeal checks the seal that stands in a row against the row as it was read, and returns what the next seal of the
// row has to say: the same subject, and whether all was well. subject is asked for only when no seal tells it.
func continueSeal(keys *sealer, sealed []byte, at secret.Binding, read seal, subject func() ([32]byte, error)) (seal, error) {
	before, form, err := openSeal(keys, sealed, at)
	if err != nil {
		return seal{}, fmt.Errorf("seal of %s: %w", at.Table, err)
	}
	next := seal{chainEnd: read.chainEnd, row: read.row, subject: before.subject, history: before.history}
	if form != sealWhole || before.chainEnd != read.chainEnd || before.row != read.row {
		next.history |= sealAltered
	}
	if form != sealWhole {
		next.subject, err = subject()
	}
	return next, err
}
