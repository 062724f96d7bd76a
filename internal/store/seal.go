package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quittance/internal/secret"
)

// A chain of evidence shows that its entries were not changed. It does not cover its own end, its row, and the values
// that the service has derived from it. A seal covers these: a value that is encrypted and authenticated with a key of
// the key file, bound to the row, and replaced in every transaction that changes any of them. Nobody can make one
// without the key file.
//
// The old seal is verified before it is replaced. If the row was changed outside of the service, the transaction
// continues, because a provider's response must not be lost, but the new seal and all later ones have the mark
// sealAltered.

// seal is the content of the seal of a chain.
type seal struct {
	chainEnd
	// subject is the digest of the subject of the chain, such as the document that was sent; zero if there is none.
	subject [32]byte
	// row is the digest of the row that the chain belongs to, and of the values that were derived from the chain.
	row [32]byte
	// history describes the earlier seals of the chain.
	history sealHistory
}

// sealHistory is a set of marks that every later seal of the chain keeps.
type sealHistory byte

const (
	// sealAltered says that the row or chain did not match its seal, or had none, when something was added.
	sealAltered sealHistory = 1 << iota
	// sealFound says that [DB.SealEvidence] sealed the chain as it was found.
	sealFound
)

// sealVersion is the first byte of the plain text of a seal. A plain text of 40 bytes has the old form, which begins
// with a count.
const (
	sealVersion  = 2
	sealLength   = 2 + 8 + 3*32
	sealV1Length = 8 + 32
)

// seal encrypts s for a binding.
func (s seal) seal(keys *sealer, at secret.Binding) ([]byte, error) {
	text := make([]byte, 0, sealLength)
	text = append(text, sealVersion, byte(s.history))
	text = binary.BigEndian.AppendUint64(text, uint64(s.count)) //nolint:gosec // entries count from 0
	text = append(text, s.head[:]...)
	text = append(text, s.subject[:]...)
	return keys.Seal(append(text, s.row[:]...), at)
}

// sealForm is the form of the value in the column of a seal.
type sealForm int

const (
	sealNone   sealForm = iota // no value
	sealBroken                 // a value that this installation did not make for this binding
	sealEnd                    // a seal of the old form, which covers only the end of the chain
	sealWhole                  // a complete seal
)

// openSeal opens the value in the column of a seal. For [sealEnd], the result has only the end of the chain. The error
// is a failure of the keys; [secret.ErrUnknownKey] means that this process lacks the key, so the value may or may not
// be a seal.
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

// continueSeal compares the seal of a row with the row as it was read, and returns the content of the next seal: the
// same subject and history, and the mark sealAltered if they differ. It calls subject only if there is no complete seal
// to take the subject from.
func continueSeal(keys *sealer, sealed []byte, at secret.Binding, read seal,
	subject func() ([32]byte, error)) (seal, error) {
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
