package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
)

// Hasher hashes passwords, a few at a time, by turns: a hash takes 19 MiB and some 25 ms, which a flood of logins would
// multiply. It is safe for concurrent use.
type Hasher struct {
	cost   Cost
	turns  *turns
	random io.Reader
	derive func(c Cost, password string, salt []byte, length uint32) []byte
	decoy  string
}

// NewHasher returns a hasher that works on at most parallel passwords at once, from 1, and makes hashes of the given cost.
func NewHasher(parallel int, cost Cost) *Hasher {
	h := &Hasher{cost: cost, turns: newTurns(parallel, mostWaiting, longestWait), random: rand.Reader, derive: derive}
	// A hash of the right cost that no password has: its key is of zeros.
	h.decoy = stored{Cost: cost, salt: make([]byte, saltLength), key: make([]byte, keyLength)}.String()
	return h
}

// Hash returns the hash of a password in the PHC string format. [ErrBusy] says that its turn has not come.
func (h *Hasher) Hash(ctx context.Context, turn Turn, password string) (string, error) {
	salt, err := newSalt(h.random)
	if err != nil {
		return "", err
	}
	leave, err := h.turns.take(ctx, turn)
	if err != nil {
		return "", err
	}
	defer leave()
	return stored{Cost: h.cost, salt: salt, key: h.derive(h.cost, password, salt, keyLength)}.String(), nil
}

// Matches tells whether password has this hash, of whatever cost. An empty hash is no user's: the answer is no. Every no
// costs the same work, which is that of a hash of the hasher's own cost; a hash of a higher cost takes its own. [ErrBusy]
// says that its turn has not come: nothing was compared.
func (h *Hasher) Matches(ctx context.Context, turn Turn, hash, password string) (bool, error) {
	user := hash != ""
	if !user {
		hash = h.decoy
	}
	want, err := readHash(hash)
	if err != nil {
		return false, err
	}
	leave, err := h.turns.take(ctx, turn)
	if err != nil {
		return false, err
	}
	defer leave()
	got := h.derive(want.Cost, password, want.salt, uint32(len(want.key))) //nolint:gosec // at most mostEncodedLen
	right := subtle.ConstantTimeCompare(got, want.key) == 1 && user
	if rest, more := h.cost.beyond(want.Cost); more && !right {
		h.derive(rest, password, want.salt, keyLength) // a cheaper hash of a user must not show by its time that there is one
	}
	return right, nil
}

// Outdated tells whether a hash is of a lower cost than the hasher's own.
func (h *Hasher) Outdated(hash string) bool {
	read, err := readHash(hash)
	return err == nil && read.work() < h.cost.work()
}
