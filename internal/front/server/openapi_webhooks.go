package server

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"quittance/client/api"
)

// eventTexts describes each event.
var eventTexts = map[api.EventKind]string{ //nolint:gochecknoglobals // a constant table
	api.EventSubmissionUpdated: "A first or changed submission or validation result of the provider was retained.",
	api.EventStatusChanged:     "At least one of the four states changed.",
	api.EventTerminal:          "All four states are terminal for the first time. Sent once for each submission.",
	api.EventIncomingReceived:  "A new purchase document of the provider was retained.",
	api.EventIncomingRevised:   "The provider supplied a changed revision of a retained purchase document.",
}

// documentWebhooks describes the callbacks that customers receive, one for each event kind, with examples of some
// events.
func documentWebhooks(components schemas, events map[api.EventKind]json.RawMessage) map[string]*huma.PathItem {
	items := make(map[string]*huma.PathItem, len(api.EventKinds))
	for _, kind := range api.EventKinds {
		payload := reflect.TypeFor[api.Event[api.SubmissionPayload]]()
		if kind == api.EventIncomingReceived || kind == api.EventIncomingRevised {
			payload = reflect.TypeFor[api.Event[api.IncomingPayload]]()
		}
		body := jsonContent(components.response(payload))
		if example, ok := events[kind]; ok {
			body["application/json"].Example = example
		}
		items[string(kind)] = &huma.PathItem{Post: &huma.Operation{
			OperationID: callbackName(kind), Tags: []string{"Webhooks"}, Summary: string(kind),
			Description: eventTexts[kind] + " " + callbackText,
			Security:    []map[string][]string{}, // the signature authenticates the sender
			Parameters:  deliveryHeaders(kind),
			RequestBody: &huma.RequestBody{Required: true, Content: body},
			Responses: map[string]*huma.Response{
				"2XX": {Description: "Received. It proves nothing about network exchange, authority reporting or receiver acceptance."},
				"401": {Description: "The signature does not match. The delivery ends as failed."},
				"default": {Description: "408, 409, 425, 429 and 5xx are tried again with growing waits, `Retry-After` lengthens one. " +
					"A redirect ends the delivery and deactivates the subscription. Any other status ends the delivery as failed."},
			},
		}}
	}
	return items
}

const callbackText = "Check the signature and the timestamp, answer with a 2xx status at once, and process the event afterwards. " +
	"Deliveries can be repeated: drop those whose X-Webhook-Delivery you have seen."

// exampleEvents returns the first event of each kind in a response to listEvents.
func exampleEvents(response json.RawMessage) (map[api.EventKind]json.RawMessage, error) {
	var feed struct {
		Data []json.RawMessage `json:"data"`
	}
	if err := json.Unmarshal(response, &feed); err != nil {
		return nil, fmt.Errorf("API document: events: %w", err)
	}
	events := map[api.EventKind]json.RawMessage{}
	for _, text := range feed.Data {
		var event struct {
			Event api.EventKind `json:"event"`
		}
		if err := json.Unmarshal(text, &event); err != nil {
			return nil, fmt.Errorf("API document: event: %w", err)
		}
		events[event.Event] = text
	}
	return events, nil
}

// callbackName is the name of an event's handler in generated code: onEinvoiceStatusChanged.
func callbackName(kind api.EventKind) string {
	var name strings.Builder
	name.WriteString("on")
	for part := range strings.SplitSeq(string(kind), ".") {
		name.WriteString(strings.ToUpper(part[:1]) + part[1:])
	}
	return name.String()
}

// deliveryHeaders describes the header fields of a delivery.
func deliveryHeaders(kind api.EventKind) []*huma.Param {
	text := &huma.Schema{Type: huma.TypeString}
	var params []*huma.Param
	for _, header := range []struct {
		name, description string
		schema            *huma.Schema
	}{
		{api.HeaderEvent, "Name of the event; equals `event` in the body.",
			&huma.Schema{Type: huma.TypeString, Enum: []any{string(kind)}}},
		{api.HeaderDelivery, "Stable UUID of the event, the same in every attempt; equals `id` in the body.",
			&huma.Schema{Type: huma.TypeString, Format: "uuid"}},
		{api.HeaderTimestamp, "Time of the event (UTC), the same in every attempt; equals `occurred_at` in the body.",
			&huma.Schema{Type: huma.TypeString, Format: "date-time"}},
		{api.HeaderSignature,
			"`v1=` and the lowercase hex HMAC SHA-256 of the timestamp, a dot and the raw body, idempotent with all bytes of the signing secret.",
			&huma.Schema{Type: huma.TypeString, Pattern: "^v1=[0-9a-f]{64}$"}},
		{"User-Agent", "Names this service.", text},
	} {
		params = append(params, &huma.Param{Name: header.name, In: "header", Required: header.name != "User-Agent",
			Description: header.description, Schema: header.schema})
	}
	return params
}
