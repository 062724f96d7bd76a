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

// Cost is what one password hash costs: the parameters of argon2id (RFC 9106, section 3.1), which every hash carries.
type Cost struct {
	// Memory is in KiB, Passes over it from 1, Lanes that work on it in parallel from 1.
	Memory, Passes uint32
	Lanes          uint8
}

// DefaultCost is the least that OWASP recommends: 19 MiB and two passes, some 25 ms.
func DefaultCost() Cost { return Cost{Memory: 19 * 1024, Passes: 2, Lanes: 1} }

// The bounds of a cost. Every stored hash is held to the upper ones before any memory is taken for it, so that a row that
// somebody has altered asks for no more than that. The lower ones hold what is configured to the weakest of the equivalent
// settings in OWASP's list (7 MiB and five passes).
const (
	maxMemory      = 1 << 18 // KiB: 256 MiB
	maxWork        = 1 << 20 // KiB written in all passes: 1 GiB, about a second
	maxLanes       = 16
	leastMemory    = 7 * 1024
	leastWork      = 5 * leastMemory
	laneMemory     = 8 // KiB that each lane needs
	saltLength     = 16
	keyLength      = 32
	maxHashLength  = 512
	mostEncodedLen = 64 // bytes of a salt or a key that is read
)

// work is how much memory is written in all passes, in KiB. The time of a hash is proportional to it.
func (c Cost) work() uint64 { return uint64(c.Memory) * uint64(c.Passes) }

// readable tells whether a stored hash of this cost may be computed.
func (c Cost) readable() bool {
	return c.Passes >= 1 && c.Lanes >= 1 && c.Lanes <= maxLanes && c.Memory >= laneMemory*uint32(c.Lanes) && c.Memory <= maxMemory && c.work() <= maxWork
}

// Check refuses a cost that is too low for new passwords, or higher than a stored hash may be.
func (c Cost) Check() error {
	if !c.readable() || c.Memory < leastMemory || c.work() < leastWork {
		return fmt.Errorf("want argon2id parameters like %v: m from %d to %d KiB, m times t from %d to %d, p from 1 to %d",
			DefaultCost(), leastMemory, maxMemory, leastWork, maxWork, maxLanes)
	}
	return nil
}

// beyond is the rest of this cost when a part was spent on a hash of another; false when there is none worth computing.
func (c Cost) beyond(spent Cost) (Cost, bool) {
	if spent.work() >= c.work() {
		return Cost{}, false
	}
	memory := (c.work() - spent.work()) / uint64(c.Passes)
	rest := Cost{Memory: uint32(memory), Passes: c.Passes, Lanes: c.Lanes} //nolint:gosec // below c.Memory
	return rest, rest.readable()
}

// String is the cost as it stands in a hash: m=19456,t=2,p=1.
func (c Cost) String() string { return fmt.Sprintf("m=%d,t=%d,p=%d", c.Memory, c.Passes, c.Lanes) }

var costForm = regexp.MustCompile(`^m=([1-9][0-9]{0,8}),t=([1-9][0-9]{0,8}),p=([1-9][0-9]{0,2})$`)

// errForm says that a stored hash is none that this package can compute.
var errForm = errors.New("stored password hash has an unknown form, or costs more than is allowed")

// UnmarshalText reads what [Cost.String] writes.
func (c *Cost) UnmarshalText(text []byte) error {
	found := costForm.FindSubmatch(text)
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

// Hash returns the hash of a password in the PHC string format, with a salt of its own. It waits for no turn: what serves
// many asks a [Hasher].
func (c Cost) Hash(password string) (string, error) {
	salt, err := newSalt(rand.Reader)
	if err != nil {
		return "", err
	}
	return stored{Cost: c, salt: salt, key: derive(c, password, salt, keyLength)}.String(), nil
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

// stored is a password hash as it stands in the database.
type stored struct {
	Cost
	salt, key []byte
}

// String is the hash in the PHC string format.
func (s stored) String() string {
	return fmt.Sprintf("$argon2id$v=%d$%v$%s$%s", argon2.Version, s.Cost, base64.RawStdEncoding.EncodeToString(s.salt), base64.RawStdEncoding.EncodeToString(s.key))
}

var hashForm = regexp.MustCompile(`^\$argon2id\$v=19\$([mtp=,0-9]+)\$([A-Za-z0-9+/]+)\$([A-Za-z0-9+/]+)$`)

// readHash reads a hash with whatever parameters it carries, within the bounds.
func readHash(text string) (stored, error) {
	if len(text) > maxHashLength {
		return stored{}, errForm
	}
	found := hashForm.FindStringSubmatch(text)
	if found == nil {
		return stored{}, errForm
	}
	var out stored
	salt, saltErr := base64.RawStdEncoding.DecodeString(found[2])
	key, keyErr := base64.RawStdEncoding.DecodeString(found[3])
	if err := errors.Join(out.UnmarshalText([]byte(found[1])), saltErr, keyErr); err != nil {
		return stored{}, fmt.Errorf("%w: %w", errForm, err)
	}
	out.salt, out.key = salt, key
	if !out.readable() || len(salt) < saltLength/2 || len(key) < keyLength/2 || len(salt) > mostEncodedLen || len(key) > mostEncodedLen {
		return stored{}, errForm
	}
	return out, nil
}
