package account

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/argon2"
	"golang.org/x/sync/semaphore"
)

// The cost of a password hash: argon2id with the second choice of RFC 9106, section 4, scaled to what a small machine
// bears (OWASP's minimum of 19 MiB and two passes).
const (
	argonTime    = 2
	argonMemory  = 19 * 1024 // KiB
	argonThreads = 1
	argonKey     = 32
	argonSalt    = 16
)

// Hasher hashes passwords, a few at a time: a hash costs 19 MiB and some 25 ms, which a flood of logins would multiply.
type Hasher struct {
	slots  *semaphore.Weighted
	random io.Reader
	decoy  string
}

// NewHasher returns a hasher that works on at most parallel passwords at once, from 1.
func NewHasher(parallel int64) *Hasher {
	h := &Hasher{slots: semaphore.NewWeighted(parallel), random: rand.Reader}
	// A hash of the right cost that no password has: its key is of zeros.
	h.decoy = encodeHash(make([]byte, argonSalt), make([]byte, argonKey))
	return h
}

// Hash returns the hash of a password in the PHC string format.
func (h *Hasher) Hash(ctx context.Context, password string) (string, error) {
	salt := make([]byte, argonSalt)
	if _, err := io.ReadFull(h.random, salt); err != nil {
		return "", fmt.Errorf("salt: %w", err)
	}
	key, err := h.key(ctx, password, salt)
	if err != nil {
		return "", err
	}
	return encodeHash(salt, key), nil
}

// Matches tells whether password has this hash. An empty hash is no user's: the work is the same, the answer is no.
func (h *Hasher) Matches(ctx context.Context, hash, password string) (bool, error) {
	user := hash != ""
	if !user {
		hash = h.decoy
	}
	salt, want, err := decodeHash(hash)
	if err != nil {
		return false, err
	}
	got, err := h.key(ctx, password, salt)
	if err != nil {
		return false, err
	}
	return subtle.ConstantTimeCompare(got, want) == 1 && user, nil
}

func (h *Hasher) key(ctx context.Context, password string, salt []byte) ([]byte, error) {
	if err := h.slots.Acquire(ctx, 1); err != nil {
		return nil, fmt.Errorf("wait to hash a password: %w", err)
	}
	defer h.slots.Release(1)
	return argon2.IDKey([]byte(password), salt, argonTime, argonMemory, argonThreads, argonKey), nil
}

// hashPrefix names the algorithm, its version and its cost.
const hashPrefix = "$argon2id$v=19$m=19456,t=2,p=1$"

func encodeHash(salt, key []byte) string {
	return hashPrefix + base64.RawStdEncoding.EncodeToString(salt) + "$" + base64.RawStdEncoding.EncodeToString(key)
}

// errForm says that a stored hash is none that this package writes.
var errForm = errors.New("stored password hash has an unknown form")

func decodeHash(hash string) (salt, key []byte, err error) {
	rest, ok := strings.CutPrefix(hash, hashPrefix)
	saltText, keyText, two := strings.Cut(rest, "$")
	if !ok || !two {
		return nil, nil, errForm
	}
	if salt, err = base64.RawStdEncoding.DecodeString(saltText); err != nil {
		return nil, nil, fmt.Errorf("stored password hash: %w", err)
	}
	if key, err = base64.RawStdEncoding.DecodeString(keyText); err != nil {
		return nil, nil, fmt.Errorf("stored password hash: %w", err)
	}
	if len(key) != argonKey {
		return nil, nil, errForm
	}
	return salt, key, nil
}
