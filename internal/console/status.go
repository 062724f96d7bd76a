package console

import (
	"strconv"

	"quittance/internal/invoice"
	"quittance/internal/view"
	"quittance/sdk/go/api"
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
		out = append(out, stateView{Dimension: string(dimension), Value: stored.Value, Final: stored.Terminal, Meaning: stored.Meaning})
	}
	return out
}

// Class returns the style class of the published meaning, or "" without one.
func (s stateView) Class() string {
	if s.Meaning == "" {
		return ""
	}
	return " means-" + string(s.Meaning)
}

// badge is an icon with a text.
type badge struct {
	// Class is the style class, Shape the name of the icon, and Title a tooltip or "".
	Class, Shape, Title, Text string
}

// notifications returns the badge that says whether the webhooks of a company received the events of a resource.
func (c catalogue) notifications(t view.NotificationSummary) (badge, error) {
	undelivered := t.Failed + t.Blocked
	deliveries := t.Delivered + t.Pending + undelivered
	switch {
	case undelivered > 0:
		text, err := c.plural("notifications.failed", undelivered)
		return badge{Class: "delivery failed", Shape: "bad", Text: text}, err
	case t.Pending > 0:
		return badge{Class: "delivery pending", Shape: "wait", Text: c.textOr("notifications.pending", "")}, nil
	case deliveries > 0:
		title, err := c.text("notifications.delivered.text", grouped(strconv.Itoa(t.Delivered)), grouped(strconv.Itoa(deliveries)))
		return badge{Class: "delivery delivered", Shape: "good", Title: title, Text: c.textOr("notifications.delivered", "")}, err
	case t.Events > 0:
		return badge{Class: "state none", Shape: "none", Text: c.textOr("notifications.unsubscribed", "")}, nil
	}
	return badge{Class: "state none", Shape: "none", Text: c.textOr("notifications.none", "")}, nil
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
	return badge{Class: "delivery " + string(state), Shape: shape, Text: c.textOr("delivery."+string(state), string(state))}
}
