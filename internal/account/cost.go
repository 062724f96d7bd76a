package account

import (
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"

	"golang.org/x/crypto/argon2"
)

// Cost is the cost of a password hash: the parameters of argon2id (RFC 9106, section 3.1), which every hash carries.
type Cost struct {
	// Memory is in KiB, Passes over it from 1, Lanes that work on it in parallel from 1.
	Memory, Passes uint32
	Lanes          uint8
}

// DefaultCost is the minimum that OWASP recommends: 19 MiB and two passes, about 25 ms.
func DefaultCost() Cost { return Cost{Memory: 19 * 1024, Passes: 2, Lanes: 1} }

// The limits of a cost. The upper limits are checked for every stored hash before memory is allocated, so that an
// altered row cannot exhaust it. The lower limits are for the configuration: the weakest of the equivalent settings
// that OWASP lists (7 MiB and five passes).
const (
	maxMemory        = 1 << 18 // KiB: 256 MiB
	maxWork          = 1 << 20 // KiB written in all passes: 1 GiB, about a second
	maxLanes         = 16
	minMemory        = 7 * 1024
	minWork          = 5 * minMemory
	laneMemory       = 8 // KiB that each lane needs
	saltLength       = 16
	keyLength        = 32
	maxHashLength    = 512
	maxEncodedLength = 64 // bytes of the salt or the key of a stored hash
)

// work returns how much memory all passes write, in KiB. The time of a hash is proportional to it.
func (c Cost) work() uint64 { return uint64(c.Memory) * uint64(c.Passes) }

// valid reports whether a stored hash may have this cost.
func (c Cost) valid() bool {
	return c.Passes >= 1 && c.Lanes >= 1 && c.Lanes <= maxLanes && c.Memory >= laneMemory*uint32(c.Lanes) &&
		c.Memory <= maxMemory && c.work() <= maxWork
}

// Check returns an error for a cost that is too low for new passwords, or higher than that of a stored hash may be.
func (c Cost) Check() error {
	if !c.valid() || c.Memory < minMemory || c.work() < minWork {
		return fmt.Errorf("want argon2id parameters like %v: m from %d to %d KiB, m times t from %d to %d, p from 1 to %d",
			DefaultCost(), minMemory, maxMemory, minWork, maxWork, maxLanes)
	}
	return nil
}

// remaining returns the rest of this cost after a hash of another cost; false if the rest is too small to compute.
func (c Cost) remaining(spent Cost) (Cost, bool) {
	if spent.work() >= c.work() {
		return Cost{}, false
	}
	memory := (c.work() - spent.work()) / uint64(c.Passes)
	rest := Cost{Memory: uint32(memory), Passes: c.Passes, Lanes: c.Lanes} //nolint:gosec // below c.Memory
	return rest, rest.valid()
}

// String returns the cost as hashes contain it: m=19456,t=2,p=1.
func (c Cost) String() string { return fmt.Sprintf("m=%d,t=%d,p=%d", c.Memory, c.Passes, c.Lanes) }

var costPattern = regexp.MustCompile(`^m=([1-9][0-9]{0,8}),t=([1-9][0-9]{0,8}),p=([1-9][0-9]{0,2})$`)

// errHashFormat means that this package cannot verify a stored hash.
var errHashFormat = errors.New("the stored password hash has an unknown format or too high a cost")

// UnmarshalText parses the format of [Cost.String].
func (c *Cost) UnmarshalText(text []byte) error {
	found := costPattern.FindSubmatch(text)
	if found == nil {
		return fmt.Errorf("%q: want argon2id parameters like %v", text, DefaultCost())
	}
	memory, memoryErr := strconv.ParseUint(string(found[1]), 10, 32)
	passes, passesErr := strconv.ParseUint(string(found[2]), 10, 32)
	lanes, lanesErr := strconv.ParseUint(string(found[3]), 10, 8)
	if err := errors.Join(memoryErr, passesErr, lanesErr); err != nil {
		return err
	}
	*c = Cost{Memory: uint32(memory), Passes: uint32(passes), Lanes: uint8(lanes)}
	return nil
}

// Hash returns the hash of a password in the PHC string format, with a new salt. Unlike a
// [Hasher] it does not limit concurrent hashes.
func (c Cost) Hash(password string) (string, error) {
	salt, err := newSalt(rand.Reader)
	if err != nil {
		return "", err
	}
	return passwordHash{Cost: c, salt: salt, key: derive(c, password, salt, keyLength)}.String(), nil
}

func newSalt(random io.Reader) ([]byte, error) {
	salt := make([]byte, saltLength)
	if _, err := io.ReadFull(random, salt); err != nil {
		return nil, fmt.Errorf("salt: %w", err)
	}
	return salt, nil
}

func derive(c Cost, password string, salt []byte, length uint32) []byte {
	return argon2.IDKey([]byte(password), salt, c.Passes, c.Memory, c.Lanes, length)
}

// passwordHash is a decoded password hash.
type passwordHash struct {
	Cost
	salt, key []byte
}

// String returns the hash in the PHC string format.
func (s passwordHash) String() string {
	return fmt.Sprintf("$argon2id$v=%d$%v$%s$%s", argon2.Version, s.Cost, base64.RawStdEncoding.EncodeToString(s.salt),
		base64.RawStdEncoding.EncodeToString(s.key))
}

var hashPattern = regexp.MustCompile(`^\$argon2id\$v=19\$([mtp=,0-9]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$`)

// parseHash parses a hash with any parameters within the limits.
func parseHash(text string) (passwordHash, error) {
	if len(text) > maxHashLength {
		return passwordHash{}, errHashFormat
	}
	found := hashPattern.FindStringSubmatch(text)
	if found == nil {
		return passwordHash{}, errHashFormat
	}
	var out passwordHash
	salt, saltErr := base64.RawStdEncoding.DecodeString(found[2])
	key, keyErr := base64.RawStdEncoding.DecodeString(found[3])
	if err := errors.Join(out.UnmarshalText([]byte(found[1])), saltErr, keyErr); err != nil {
		return passwordHash{}, fmt.Errorf("%w: %w", errHashFormat, err)
	}
	out.salt, out.key = salt, key
	if !out.valid() || len(salt) < saltLength/2 || len(key) < keyLength/2 || len(salt) > maxEncodedLength ||
		len(key) > maxEncodedLength {
		return passwordHash{}, errHashFormat
	}
	return out, nil
}
