package documents

import (
	"cmp"
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
)

// StateView is one dimension of a submission's state.
type StateView struct {
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
func (s StateView) Reported() bool { return s.Value != "" }

// Shape returns the name of the icon. The shape shows only whether the value is final; the colour shows its published
// meaning.
func (s StateView) Shape() string {
	switch {
	case !s.Reported():
		return "none"
	case s.Final:
		return "final"
	}
	return "open"
}

// StateViews returns the four dimensions in the order of [invoice.Dimensions].
func StateViews(states invoice.States) []StateView {
	out := make([]StateView, 0, len(invoice.Dimensions))
	for _, dimension := range invoice.Dimensions {
		stored := states.Stored(dimension)
		out = append(out, StateView{Dimension: string(dimension), Value: stored.Value, Final: stored.Terminal,
			Meaning: stored.Meaning})
	}
	return out
}

// Label returns the provider's value as people write words: accepted_by_provider is "Accepted by provider". Nothing is
// translated or interpreted. A value with capital letters is a name or a code and is unchanged.
func (s StateView) Label() string {
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
func (s StateView) Class() string {
	if s.Meaning == "" {
		return ""
	}
	return " means-" + string(s.Meaning)
}

// pillOf returns the pill of a dimension: its colour is the published meaning of the value, and its shape says whether
// the value is final. Its tooltip has the provider's own word.
func pillOf(c console.Catalogue, s StateView) (page.Pill, error) {
	finality, err := c.Text("state." + s.Shape())
	if err != nil || !s.Reported() {
		return page.Pill{Meaning: "neutral", Shape: s.Shape(), Text: finality}, err
	}
	meaning := c.TextOr("state.means."+string(s.Meaning), c.TextOr("state.means.unpublished", ""))
	tip, err := c.Text("state.tip", s.Value, finality, meaning)
	return page.Pill{Meaning: cmp.Or(string(s.Meaning), "unknown"), Shape: s.Shape(), Text: s.Label(), Tip: tip}, err
}

// overall returns the one pill of an invoice. It quotes the first value that the provider publishes as negative, or
// what is known of the submission, or counts the final values: it infers nothing. Its colour comes from published
// meanings alone. outcome is that of the current submission, or "draft".
func overall(c console.Catalogue, outcome string, states []StateView) (page.Pill, error) {
	negative := slices.DeleteFunc(slices.Clone(states), func(s StateView) bool { return s.Meaning != api.MeaningNegative })
	switch {
	case outcome == string(api.OutcomeRejected):
		return overallPill(c, "rejected", "negative", "bad")
	case outcome == string(api.OutcomeUnknown):
		return overallPill(c, "unknown", "unknown", "unknown")
	case outcome == string(api.OutcomeInProgress):
		return overallPill(c, "in_progress", "neutral", "wait")
	case outcome == string(api.OutcomeResolvedRejected):
		return overallPill(c, "resolved_rejected", "neutral", "blocked")
	case outcome == "draft":
		return overallPill(c, "draft", "neutral", "draft")
	case len(negative) > 0:
		return negativePill(c, negative)
	}
	return countPill(c, states)
}

// overallPill returns the pill of an outcome.
func overallPill(c console.Catalogue, key, meaning, shape string) (page.Pill, error) {
	text, err := c.Text("overall." + key)
	tip, tipErr := c.Text("overall." + key + ".tip")
	return page.Pill{Meaning: meaning, Shape: shape, Text: text, Tip: tip}, errors.Join(err, tipErr)
}

// negativePill quotes the first of the negative values.
func negativePill(c console.Catalogue, negative []StateView) (page.Pill, error) {
	first := negative[0]
	dimension, err := c.Text("state.in." + first.Dimension)
	if err != nil {
		return page.Pill{}, err
	}
	text, err := c.Text("overall.negative", first.Label(), dimension)
	if more := len(negative) - 1; more > 0 {
		text += " +" + strconv.Itoa(more)
	}
	tip, tipErr := c.Text("overall.negative.tip", first.Value)
	return page.Pill{Meaning: string(api.MeaningNegative), Shape: "bad", Text: text, Tip: tip}, errors.Join(err, tipErr)
}

// countPill counts the final values, none of which is negative.
func countPill(c console.Catalogue, states []StateView) (page.Pill, error) {
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
	out := page.Pill{Meaning: "neutral", Shape: "open"}
	switch {
	case waiting > 0:
		out.Meaning = string(api.MeaningWaiting)
	case positive == len(states) && final == len(states):
		out.Meaning = string(api.MeaningPositive)
	}
	if final == 0 {
		sent, err := overallPill(c, "sent", out.Meaning, out.Shape)
		return sent, err
	}
	if final == len(states) {
		out.Shape = "final"
	}
	var err, tipErr error
	out.Text, err = c.Text("overall.final", strconv.Itoa(final), strconv.Itoa(len(states)))
	out.Tip, tipErr = c.Text("overall.final.tip", strconv.Itoa(positive))
	return out, errors.Join(err, tipErr)
}

// dotsText returns the tooltip of the four dimensions: a line with the name, the provider's word and its finality of
// each.
func dotsText(c console.Catalogue, states []StateView) (string, error) {
	lines := make([]string, 0, len(states))
	for _, state := range states {
		name := c.TextOr("state."+state.Dimension, state.Dimension)
		shape, err := c.Text("state." + state.Shape())
		if err != nil {
			return "", err
		}
		if !state.Reported() {
			lines = append(lines, name+": "+shape)
			continue
		}
		line, err := c.Text("state.dot", name, state.Value, shape)
		if err != nil {
			return "", err
		}
		lines = append(lines, line)
	}
	return strings.Join(lines, "\n"), nil
}
