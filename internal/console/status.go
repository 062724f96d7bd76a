package console

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// stateView is one dimension of a submission's state.
type stateView struct {
	// Dimension is the JSON name.
	Dimension string
	// Value is the provider's state value, or "" when it has reported none.
	Value string
	// Final reports that the provider, or the published table of its adapter, calls the value final.
	Final bool
	// Meaning is the published meaning of the value, or "".
	Meaning api.Meaning
}

// Reported reports whether the provider has reported a value.
func (s stateView) Reported() bool { return s.Value != "" }

// Shape returns the name of the icon. The shape shows only whether the value is final; the colour shows its published
// meaning.
func (s stateView) Shape() string {
	switch {
	case !s.Reported():
		return "none"
	case s.Final:
		return "final"
	}
	return "open"
}

// stateViews returns the four dimensions in the order of [invoice.Dimensions].
func stateViews(states invoice.States) []stateView {
	out := make([]stateView, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		stored := states.Stored(dimension)
		out = append(out, stateView{Dimension: string(dimension), Value: stored.Value, Final: stored.Terminal,
			Meaning: stored.Meaning})
	}
	return out
}

// Label returns the provider's value as people write words: accepted_by_provider is "Accepted by provider". Nothing is
// translated or interpreted. A value with capital letters is a name or a code and is unchanged.
func (s stateView) Label() string {
	if strings.ToLower(s.Value) != s.Value {
		return s.Value
	}
	words := strings.Join(strings.FieldsFunc(s.Value, func(r rune) bool { return r == '_' || r == ' ' }), " ")
	first, size := utf8.DecodeRuneInString(words)
	if size == 0 {
		return s.Value
	}
	return string(unicode.ToUpper(first)) + words[size:]
}

// Class returns the style class of the published meaning, or "" without one.
func (s stateView) Class() string {
	if s.Meaning == "" {
		return ""
	}
	return " means-" + string(s.Meaning)
}

// pillOf returns the pill of a dimension: its colour is the published meaning of the value, and its shape says whether
// the value is final. Its tooltip has the provider's own word.
func (c catalogue) pillOf(s stateView) (pill, error) {
	finality, err := c.text("state." + s.Shape())
	if err != nil || !s.Reported() {
		return pill{Meaning: "neutral", Shape: s.Shape(), Text: finality}, err
	}
	meaning := c.textOr("state.means."+string(s.Meaning), c.textOr("state.means.unpublished", ""))
	tip, err := c.text("state.tip", s.Value, finality, meaning)
	return pill{Meaning: cmp.Or(string(s.Meaning), "unknown"), Shape: s.Shape(), Text: s.Label(), Tip: tip}, err
}

// overall returns the one pill of an invoice. It quotes the first value that the provider publishes as negative, or
// what is known of the submission, or counts the final values: it infers nothing. Its colour comes from published
// meanings alone. outcome is that of the current submission, or "draft".
func (c catalogue) overall(outcome string, states []stateView) (pill, error) {
	negative := slices.DeleteFunc(slices.Clone(states), func(s stateView) bool { return s.Meaning != api.MeaningNegative })
	switch {
	case outcome == string(api.OutcomeRejected):
		return c.overallPill("rejected", "negative", "bad")
	case outcome == string(api.OutcomeUnknown):
		return c.overallPill("unknown", "unknown", "unknown")
	case outcome == string(api.OutcomeInProgress):
		return c.overallPill("in_progress", "neutral", "wait")
	case outcome == string(api.OutcomeResolvedRejected):
		return c.overallPill("resolved_rejected", "neutral", "blocked")
	case outcome == "draft":
		return c.overallPill("draft", "neutral", "draft")
	case len(negative) > 0:
		return c.negativePill(negative)
	}
	return c.countPill(states)
}

// overallPill returns the pill of an outcome.
func (c catalogue) overallPill(key, meaning, shape string) (pill, error) {
	text, err := c.text("overall." + key)
	tip, tipErr := c.text("overall." + key + ".tip")
	return pill{Meaning: meaning, Shape: shape, Text: text, Tip: tip}, errors.Join(err, tipErr)
}

// negativePill quotes the first of the negative values.
func (c catalogue) negativePill(negative []stateView) (pill, error) {
	first := negative[0]
	dimension, err := c.text("state.in." + first.Dimension)
	if err != nil {
		return pill{}, err
	}
	text, err := c.text("overall.negative", first.Label(), dimension)
	if more := len(negative) - 1; more > 0 {
		text += " +" + strconv.Itoa(more)
	}
	tip, tipErr := c.text("overall.negative.tip", first.Value)
	return pill{Meaning: string(api.MeaningNegative), Shape: "bad", Text: text, Tip: tip}, errors.Join(err, tipErr)
}

// countPill counts the final values, none of which is negative.
func (c catalogue) countPill(states []stateView) (pill, error) {
	var final, waiting, positive int
	for _, s := range states {
		if s.Final {
			final++
		}
		switch s.Meaning {
		case api.MeaningWaiting:
			waiting++
		case api.MeaningPositive:
			positive++
		case api.MeaningNegative: // none is
		}
	}
	out := pill{Meaning: "neutral", Shape: "open"}
	switch {
	case waiting > 0:
		out.Meaning = string(api.MeaningWaiting)
	case positive == len(states) && final == len(states):
		out.Meaning = string(api.MeaningPositive)
	}
	if final == 0 {
		sent, err := c.overallPill("sent", out.Meaning, out.Shape)
		return sent, err
	}
	if final == len(states) {
		out.Shape = "final"
	}
	var err, tipErr error
	out.Text, err = c.text("overall.final", strconv.Itoa(final), strconv.Itoa(len(states)))
	out.Tip, tipErr = c.text("overall.final.tip", strconv.Itoa(positive))
	return out, errors.Join(err, tipErr)
}

// badge is an icon with a text.
type badge struct {
	// Class is the style class, Shape the name of the icon, and Title a tooltip or "".
	Class, Shape, Title, Text string
}

// outcome returns the badge of a submission's outcome, or of a draft: draft, in_progress, acknowledged, rejected,
// resolved_rejected or unknown.
func (c catalogue) outcome(name string) badge {
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
	return badge{Class: "outcome " + name, Shape: shape, Text: c.textOr("outcome."+name, name)}
}

// delivery returns the badge of a delivery's state.
func (c catalogue) delivery(state api.DeliveryState) badge {
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
	return badge{Class: "delivery " + string(state), Shape: shape,
		Text: c.textOr("delivery."+string(state), string(state))}
}
