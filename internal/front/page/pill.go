package page

import (
	"fmt"

	"quittance/client/api"
)

// Pill is a short status. Its colour is a meaning that somebody published, and never a guess.
type Pill struct {
	// Meaning is neutral, waiting, positive, negative or unknown.
	Meaning string
	// Shape is the name of an icon, or "" for none.
	Shape string
	Text  string
	// Tip is the tooltip: the provider's own word, or what explains the text. It is "" if there is nothing to add.
	Tip string
}

// NewPill returns a pill for a template: its meaning, its shape or "", its text, and its tooltip or "".
func NewPill(meaning, shape, text, tip string) (Pill, error) {
	switch meaning {
	case "neutral", "waiting", "positive", "negative", "unknown":
		return Pill{Meaning: meaning, Shape: shape, Text: text, Tip: tip}, nil
	}
	return Pill{}, fmt.Errorf("page: a pill has no meaning %q", meaning)
}

// Badge is an icon with a text.
type Badge struct {
	// Class is the style class, Shape the name of the icon, and Title a tooltip or "".
	Class, Shape, Title, Text string
}

// Outcome returns the badge of a submission's outcome, or of a draft: draft, in_progress, acknowledged, rejected,
// resolved_rejected or unknown.
func (t Texts) Outcome(name string) Badge {
	shape := "unknown"
	switch name {
	case "draft", string(api.OutcomeUnknown):
		shape = name
	case string(api.OutcomeInProgress):
		shape = "wait"
	case string(api.OutcomeAcknowledged):
		shape = "good"
	case string(api.OutcomeRejected), string(api.OutcomeResolvedRejected):
		shape = "bad"
	}
	return Badge{Class: "outcome " + name, Shape: shape, Text: t.TextOr("outcome."+name, name)}
}

// Delivery returns the badge of a delivery's state.
func (t Texts) Delivery(state api.DeliveryState) Badge {
	shape := "wait"
	switch state {
	case api.DeliveryDelivered:
		shape = "good"
	case api.DeliveryFailed:
		shape = "bad"
	case api.DeliveryBlocked:
		shape = "blocked"
	case api.DeliveryPending:
	}
	return Badge{Class: "delivery " + string(state), Shape: shape,
		Text: t.TextOr("delivery."+string(state), string(state))}
}
