package api

import "time"

// SubscriptionRequest is the body of a webhook subscription's creation.
type SubscriptionRequest struct {
	URL         *string  `json:"url" required:"true" minLength:"1" doc:"HTTPS destination: at most 2048 characters, a public host, no user info, query or fragment." example:"https://hooks.example.com/quittance"`
	Events      []string `json:"events" nullable:"true" minItems:"1" maxItems:"16" enum:"einvoice.submission.updated,einvoice.status.changed,einvoice.terminal,einvoice.incoming.received,einvoice.incoming.revised" doc:"Event kinds to send; defaults to all."`
	Description *string  `json:"description" maxLength:"1024" text:"multi" doc:"A note for people."`
}

// Subscription is a webhook subscription. Its signing secret is in [NewSubscription] only.
type Subscription struct {
	ID                 string     `json:"id" format:"uuid" doc:"Identifier."`
	URL                string     `json:"url" doc:"Destination exactly as given."`
	Events             []string   `json:"events" nullable:"false" doc:"Event kinds that are sent."`
	Description        *string    `json:"description" doc:"A note for people."`
	Active             bool       `json:"active" doc:"False after deactivation, which is permanent."`
	CreatedAt          time.Time  `json:"created_at" doc:"When it was created."`
	DeactivatedAt      *time.Time `json:"deactivated_at" doc:"When it was deactivated."`
	DeactivationReason *string    `json:"deactivation_reason" doc:"requested, redirect or unsafe_address." example:"redirect"`
	// FailingSince covers attempts, not deliveries: one that is still pending may have failed twelve times.
	FailingSince *time.Time `json:"failing_since" doc:"When the first of the attempts began that have failed since one arrived; null if the last one arrived, before the first, and after deactivation."`
}

// NewSubscription is the response to the creation of a subscription, and the only one with the signing secret.
type NewSubscription struct {
	Subscription
	Secret string `json:"secret,omitempty" doc:"Signing secret, shown in this response only. The HMAC key is all its ASCII bytes, including whsec_."`
}

// EventKind is the name of a webhook event.
type EventKind string

// The event kinds.
const (
	EventSubmissionUpdated EventKind = "einvoice.submission.updated"
	EventStatusChanged     EventKind = "einvoice.status.changed"
	EventTerminal          EventKind = "einvoice.terminal"
	EventIncomingReceived  EventKind = "einvoice.incoming.received"
	EventIncomingRevised   EventKind = "einvoice.incoming.revised"
)

// EventKinds lists every event kind in the order in which the API lists them.
var EventKinds = [...]EventKind{EventSubmissionUpdated, EventStatusChanged, EventTerminal, EventIncomingReceived, EventIncomingRevised} //nolint:gochecknoglobals // a constant list

// SchemaVersion is the version of the webhook envelope.
const SchemaVersion = "service-webhook-v2"

// The request headers of a delivery.
const (
	HeaderEvent     = "X-Webhook-Event"
	HeaderDelivery  = "X-Webhook-Delivery"
	HeaderTimestamp = "X-Webhook-Timestamp"
	HeaderSignature = "X-Webhook-Signature"
)

// HeaderRequestID is on every response.
const HeaderRequestID = "X-Request-Id"

// The resource types of an event.
const (
	ResourceSubmission      = "submission"
	ResourceIncomingInvoice = "incoming_invoice"
)

// Event is the envelope of a webhook: the JSON body of a delivery. P is the payload.
type Event[P any] struct {
	SchemaVersion string    `json:"schema_version" doc:"service-webhook-v2"`
	ID            string    `json:"id" format:"uuid" doc:"Stable event UUID; equals X-Webhook-Delivery."`
	Event         EventKind `json:"event" doc:"Event kind; equals X-Webhook-Event."`
	ResourceType  string    `json:"resource_type" enum:"submission,incoming_invoice" doc:"Type of the resource that the event is about."`
	ResourceID    string    `json:"resource_id" format:"uuid" doc:"Identifier of the resource that the event is about."`
	OccurredAt    string    `json:"occurred_at" format:"date-time" doc:"Event time; equals X-Webhook-Timestamp."`
	Payload       P         `json:"payload"`
}

// SubmissionPayload is the payload of the three submission events: the four states, each null until reported.
type SubmissionPayload struct {
	States
	InvoiceID        string `json:"invoice_id" format:"uuid" doc:"Identifier of the invoice; for a credit note that of the credited invoice."`
	InvoiceNumber    string `json:"invoice_number" doc:"Number of that invoice."`
	CreditNoteID     string `json:"credit_note_id,omitempty" format:"uuid" doc:"Identifier of the credit note; absent for an invoice."`
	CreditNoteNumber string `json:"credit_note_number,omitempty" doc:"Number of the credit note; absent for an invoice."`
}

// IncomingPayload is the payload of the two incoming e-invoice events.
type IncomingPayload struct {
	IncomingInvoiceID  string `json:"incoming_invoice_id" format:"uuid" doc:"Identifier of the incoming e-invoice."`
	Revision           int    `json:"revision" minimum:"1" doc:"Number of the revision, from 1."`
	ProviderDocumentID string `json:"provider_document_id" doc:"The provider's identifier of the document."`
	SHA256             string `json:"sha256" doc:"Lowercase hex digest of the retained bytes."`
}

// Delivery is the delivery of one event to one subscription. A delivery that was received proves nothing about network
// exchange, authority reporting or receiver acceptance.
type Delivery struct {
	ID             string        `json:"id" format:"uuid" doc:"Identifier of the delivery."`
	EventID        string        `json:"event_id" format:"uuid" doc:"UUID of the event, as in X-Webhook-Delivery."`
	Event          EventKind     `json:"event" doc:"Event kind."`
	SubscriptionID string        `json:"subscription_id" format:"uuid" doc:"The subscription."`
	State          DeliveryState `json:"state" enum:"pending,delivered,failed,blocked" doc:"State of the delivery. blocked: this delivery deactivated its subscription."`
	Reason         *string       `json:"reason" doc:"Why it failed or was blocked: refused, attempts_exhausted, subscription_inactive, subscription_changed, redirect, unsafe_address." example:"refused"`
	AttemptCount   int           `json:"attempt_count" minimum:"0" doc:"Attempts so far."`
	NextAttemptAt  *time.Time    `json:"next_attempt_at" doc:"When the next attempt is made; null if there is none."`
	CreatedAt      time.Time     `json:"created_at" doc:"When the event was recorded (UTC)."`
	UpdatedAt      time.Time     `json:"updated_at" doc:"When it last changed (UTC)."`
}

// DeliveryState is the state of a delivery.
type DeliveryState string

// The states of a delivery.
const (
	DeliveryPending   DeliveryState = "pending"
	DeliveryDelivered DeliveryState = "delivered"
	DeliveryFailed    DeliveryState = "failed"
	DeliveryBlocked   DeliveryState = "blocked"
)

// DeliveryDetail is a delivery with every attempt, oldest first.
type DeliveryDetail struct {
	Delivery
	Attempts []Attempt `json:"attempts" nullable:"false" doc:"Every attempt, oldest first."`
}

// Attempt is one HTTP request of a delivery.
type Attempt struct {
	StartedAt  time.Time `json:"started_at" doc:"When it began (UTC)."`
	DurationMS float64   `json:"duration_ms" minimum:"0" doc:"How long it took, in milliseconds."`
	HTTPStatus *int      `json:"http_status" doc:"HTTP status of the response; null if there was none."`
	ErrorClass *string   `json:"error_class" doc:"Why there was no response: dns, connect, tls, timeout, unsafe_address, protocol, canceled; abandoned if the service stopped before it could record the response." example:"timeout"`
	Answer     string    `json:"answer" doc:"The first 1024 bytes of the response body, with bytes that are not UTF-8 replaced; empty if they contain the signing secret."`
}
