package sandbox

import "fmt"

// The levels of chaos.
const (
	ChaosOff  = "off"
	ChaosLow  = "low"
	ChaosHigh = "high"
)

// The chance that a call goes wrong, from 0 to 1.
const (
	lowChance  = 0.05
	highChance = 0.3
)

// Chaos returns how calls go wrong by chance at a level: never (nil), now and then as a real provider does, or often
// and badly. random returns numbers from 0 to below 1 and is safe for concurrent use.
func Chaos(level string, random func() float64) (func(Call) Misbehaviour, error) {
	usual := []Misbehaviour{TooMany, UnavailableBefore, DropBefore, DropAfter, UnavailableAfter}
	switch level {
	case ChaosOff:
		return nil, nil
	case ChaosLow:
		return misbehave(lowChance, usual, random), nil
	case ChaosHigh:
		return misbehave(highChance, append(usual, Redirect, Silence, Garbage, Truncated, Echo), random), nil
	}
	return nil, fmt.Errorf("unknown level of chaos %q: want off, low or high", level)
}

func misbehave(chance float64, ways []Misbehaviour, random func() float64) func(Call) Misbehaviour {
	return func(Call) Misbehaviour {
		if random() >= chance {
			return Behave
		}
		return ways[int(random()*float64(len(ways)))]
	}
}
