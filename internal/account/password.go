package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"io"
)

// Hasher hashes passwords, a few at a time: a hash takes 19 MiB and about 25 ms, which a flood of logins would
// multiply. Waiting holders take turns. It is safe for concurrent use.
type Hasher struct {
	cost   Cost
	turns  *turns
	random io.Reader
	derive func(c Cost, password string, salt []byte, length uint32) []byte
	decoy  string
}

// NewHasher returns a hasher that works on at most parallel passwords at a time, at least 1, and creates hashes of the
// given cost.
func NewHasher(parallel int, cost Cost) *Hasher {
	h := &Hasher{cost: cost, turns: newTurns(parallel, maxWaiting, maxWait), random: rand.Reader, derive: derive}
	// A hash of the configured cost that matches no password: its key is all zeros.
	h.decoy = passwordHash{Cost: cost, salt: make([]byte, saltLength), key: make([]byte, keyLength)}.String()
	return h
}

// Hash returns the hash of a password in the PHC string format. It returns [ErrBusy] if too many passwords wait.
func (h *Hasher) Hash(ctx context.Context, turn Turn, password string) (string, error) {
	salt, err := newSalt(h.random)
	if err != nil {
		return "", err
	}
	release, err := h.turns.acquire(ctx, turn)
	if err != nil {
		return "", err
	}
	defer release()
	return passwordHash{Cost: h.cost, salt: salt, key: h.derive(h.cost, password, salt, keyLength)}.String(), nil
}

// Matches reports whether password has this hash, which can have any cost. An empty hash, for an unknown user, matches
// nothing. Every mismatch costs the work of a hash of the configured cost, or of the hash itself if that is higher. The
// error is [ErrBusy] if too many passwords wait; then nothing was compared.
func (h *Hasher) Matches(ctx context.Context, turn Turn, hash, password string) (bool, error) {
	user := hash != ""
	if !user {
		hash = h.decoy
	}
	want, err := parseHash(hash)
	if err != nil {
		return false, err
	}
	release, err := h.turns.acquire(ctx, turn)
	if err != nil {
		return false, err
	}
	defer release()
	got := h.derive(want.Cost, password, want.salt, uint32(len(want.key))) //nolint:gosec // at most maxEncodedLength
	right := subtle.ConstantTimeCompare(got, want.key) == 1 && user
	if rest, more := h.cost.remaining(want.Cost); more && !right {
		h.derive(rest, password, want.salt, keyLength) // the time of a cheaper hash must not reveal that the user exists
	}
	return right, nil
}

// Outdated reports whether a hash has a lower cost than is configured.
func (h *Hasher) Outdated(hash string) bool {
	read, err := parseHash(hash)
	return err == nil && read.work() < h.cost.work()
}
