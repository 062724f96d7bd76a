package console

import (
	"fmt"
	"strings"
)

// pill is a short status. Its colour is a meaning that somebody published, and never a guess.
type pill struct {
	// Meaning is neutral, waiting, positive, negative or unknown.
	Meaning string
	// Shape is the name of an icon, or "" for none.
	Shape string
	Text  string
	// Tip is the tooltip: the provider's own word, or what explains the text. It is "" if there is nothing to add.
	Tip string
}

// newPill returns a pill for a template: its meaning, its shape or "", its text, and its tooltip or "".
func newPill(meaning, shape, text, tip string) (pill, error) {
	switch meaning {
	case "neutral", "waiting", "positive", "negative", "unknown":
		return pill{Meaning: meaning, Shape: shape, Text: text, Tip: tip}, nil
	}
	return pill{}, fmt.Errorf("console: a pill has no meaning %q", meaning)
}

// dotsText returns the tooltip of the four dimensions: a line with the name, the provider's word and its finality of
// each.
func (c catalogue) dotsText(states []stateView) (string, error) {
	lines := make([]string, 0, len(states))
	for _, state := range states {
		name := c.textOr("state."+state.Dimension, state.Dimension)
		shape, err := c.text("state." + state.Shape())
		if err != nil {
			return "", err
		}
		if !state.Reported() {
			lines = append(lines, name+": "+shape)
			continue
		}
		line, err := c.text("state.dot", name, state.Value, shape)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}
