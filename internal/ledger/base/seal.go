package base

import (
	"encoding/binary"
	"errors"
	"fmt"

	"quittance/internal/platform/secret"
)

// A chain of evidence shows that its entries were not changed. It does not cover its own end, its row, and the values
// that the service has derived from it. A seal covers these: a value that is encrypted and authenticated with a key of
// the key file, bound to the row, and replaced in every transaction that changes any of them. Nobody can make one
// without the key file.
//
// The old seal is verified before it is replaced. If the row was changed outside of the service, the transaction
// continues, because a provider's response must not be lost, but the new seal and all later ones have the mark
// sealAltered.

// Seal is the content of the seal of a chain.
type Seal struct {
	ChainEnd
	// Subject is the digest of the subject of the chain, such as the document that was sent; zero if there is none.
	Subject [32]byte
	// Row is the digest of the row that the chain belongs to, and of the values that were derived from the chain.
	Row [32]byte
	// History describes the earlier seals of the chain.
	History sealHistory
}

// sealHistory is a set of marks that every later seal of the chain keeps.
type sealHistory byte

const (
	// SealAltered says that the row or chain did not match its seal, or had none, when something was added.
	SealAltered sealHistory = 1 << iota
	// SealFound says that [proof.SealEvidence] sealed the chain as it was found.
	SealFound
)

// sealVersion is the first byte of the plain text of a seal. A plain text of 40 bytes has the old form, which begins
// with a count.
const (
	sealVersion  = 2
	sealLength   = 2 + 8 + 3*32
	sealV1Length = 8 + 32
)

// Sealed encrypts s for a binding.
func (s Seal) Sealed(keys *Sealer, at secret.Binding) ([]byte, error) {
	text := make([]byte, 0, sealLength)
	text = append(text, sealVersion, byte(s.History))
	text = binary.BigEndian.AppendUint64(text, uint64(s.Count)) //nolint:gosec // entries count from 0
	text = append(text, s.Head[:]...)
	text = append(text, s.Subject[:]...)
	return keys.Seal(append(text, s.Row[:]...), at)
}

// SealForm is the form of the value in the column of a seal.
type SealForm int

// The forms of a seal.
const (
	SealNone   SealForm = iota // no value
	SealBroken                 // a value that this installation did not make for this binding
	SealState                  // a seal of the old form, which covers only the end of the chain
	SealWhole                  // a complete seal
)

// OpenSeal opens the value in the column of a seal. For [SealState], the result has only the end of the chain. The
// error is a failure of the keys; [secret.ErrUnknownKey] means that this process lacks the key, so the value may or may
// not be a seal.
func OpenSeal(keys *Sealer, sealed []byte, at secret.Binding) (Seal, SealForm, error) {
	if len(sealed) == 0 {
		return Seal{}, SealNone, nil
	}
	text, err := keys.Open(sealed, at)
	switch {
	case errors.Is(err, secret.ErrSealed):
		return Seal{}, SealBroken, nil
	case err != nil:
		return Seal{}, SealBroken, err
	}
	var s Seal
	switch {
	case len(text) == sealV1Length:
		s.Count = int64(binary.BigEndian.Uint64(text)) //nolint:gosec // it was sealed from an int64
		copy(s.Head[:], text[8:])
		return s, SealState, nil
	case len(text) != sealLength || text[0] != sealVersion:
		return Seal{}, SealBroken, nil
	}
	s.History = sealHistory(text[1])
	s.Count = int64(binary.BigEndian.Uint64(text[2:])) //nolint:gosec // it was sealed from an int64
	copy(s.Head[:], text[10:])
	copy(s.Subject[:], text[42:])
	copy(s.Row[:], text[74:])
	return s, SealWhole, nil
}

// ContinueSeal compares the seal of a row with the row as it was read, and returns the content of the next seal: the
// same subject and history, and the mark sealAltered if they differ. It calls subject only if there is no complete seal
// to take the subject from.
func ContinueSeal(keys *Sealer, sealed []byte, at secret.Binding, read Seal,
	subject func() ([32]byte, error)) (Seal, error) {
	before, form, err := OpenSeal(keys, sealed, at)
	if err != nil {
		return Seal{}, fmt.Errorf("seal of %s: %w", at.Table, err)
	}
	next := Seal{ChainEnd: read.ChainEnd, Row: read.Row, Subject: before.Subject, History: before.History}
	if form != SealWhole || before.ChainEnd != read.ChainEnd || before.Row != read.Row {
		next.History |= SealAltered
	}
	if form != SealWhole {
		next.Subject, err = subject()
	}
	return next, err
}

// EventsSealBinding is where the sealed number of events of a tenant stands.
func EventsSealBinding(tenant ID) secret.Binding {
	return secret.Binding{Tenant: tenant[:], Table: "tenants", Column: "events_seal", Row: tenant[:]}
}
