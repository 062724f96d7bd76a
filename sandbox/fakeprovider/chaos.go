package fakeprovider

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
)

// The levels of chaos.
const (
	ChaosOff  = "off"
	ChaosLow  = "low"
	ChaosHigh = "high"
)

// The probability that a call goes wrong, from 0 to 1.
const (
	lowSubmissions = 0.01
	lowOthers      = 0.03
	highAll        = 1.0 / 3
)

// chaos decides at random how calls go wrong. The decision is a pure function of its level, its seed and the call.
type chaos struct {
	level         string
	seed          uint64
	misbehaviours map[callKinds][]Misbehaviour // by the kind of call
}

// newChaos returns the chaos of a level: off is never, low is as rarely as with a real provider, and high is often and
// severely.
func newChaos(level string, seed uint64) (chaos, error) {
	switch level {
	case ChaosOff, ChaosLow, ChaosHigh:
	default:
		return chaos{}, fmt.Errorf("unknown level of chaos %q: want off, low or high", level)
	}
	c := chaos{level: level, seed: seed, misbehaviours: map[callKinds][]Misbehaviour{}}
	for _, way := range Misbehaviours() {
		for _, kind := range []callKinds{submission, statusQuery, purchasePages, purchaseDocument} {
			if way.chance(level)&kind != 0 {
				c.misbehaviours[kind] = append(c.misbehaviours[kind], way.Name)
			}
		}
	}
	return c, nil
}

// pick returns how the n-th call of a kind about a subject goes wrong. The subject is named by something that is the
// same in every run, so that a run can be repeated, whatever happens concurrently.
func (c chaos) pick(kind callKinds, about string, n int) Misbehaviour {
	ways := c.misbehaviours[kind]
	if len(ways) == 0 {
		return NoMisbehaviour
	}
	chance := highAll
	switch {
	case c.level == ChaosLow && kind == submission:
		chance = lowSubmissions
	case c.level == ChaosLow:
		chance = lowOthers
	}
	key := sha256.Sum256(fmt.Appendf(nil, "%d %d %d %s", c.seed, kind, n, about))
	draw := rand.New(rand.NewChaCha8(key)) //nolint:gosec // chaos is not a secret and must be repeatable
	if draw.Float64() >= chance {
		return NoMisbehaviour
	}
	return ways[draw.IntN(len(ways))]
}
