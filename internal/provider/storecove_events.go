package provider

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"
)

// StorecoveQueue is a [Storecove] whose account has its webhooks in pull mode: "GET a WebhookInstance from the queue.
// After processing it successfully, DELETE it and GET the next one. When a 204 is received, the queue is empty".
//
// The body of an event is "the webhook body that would have been pushed if this were a push-mode webhook". The OpenAPI
// document does not describe it further; docs/providers/storecove.md says where its members are from. An event that has
// other members is about nothing.
type StorecoveQueue struct{ *Storecove }

var _ EventQueue = StorecoveQueue{}

// The members of an event that say what it is about.
const (
	storecoveSubmissionEvent = "document_submission"
	storecoveReceivedEvent   = "received_document" // "the \"document_guid\" property of the \"received_document\" webhook"
)

// maxStorecovePackage is the size of the largest PurchaseInvoiceUbl that is read, in bytes: a document in base64 and
// the members around it.
const maxStorecovePackage = MaxPurchaseDocument/3*4 + 64<<10

// storecoveAnyGUID is the form of the provider's own identifiers: "format": "uuid".
var storecoveAnyGUID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// NextEvent implements [EventQueue] by GET /webhook_instances/.
func (q StorecoveQueue) NextEvent(ctx context.Context) (Event, Response) {
	call := getCall("/webhook_instances/")
	call.acceptsStatus = func(status int) bool { return status == http.StatusOK || status == http.StatusNoContent }
	response := q.do(ctx, call)
	if response.Kind != Complete || response.HTTPStatus == http.StatusNoContent {
		return Event{}, response
	}
	event, named := readStorecoveEvent(response.Body)
	if event.ID == "" || q.containsCredential(event.ID) {
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
		return Event{}, response
	}
	if event.Document != nil {
		q.withhold(event.Document)
	}
	table := storecoveEventVocabulary(named)
	response.Vocabulary = &table
	return event, response
}

// DeleteEvent implements [EventQueue] by DELETE /webhook_instances/{guid}. "Not Found" is an event that was deleted
// before.
func (q StorecoveQueue) DeleteEvent(ctx context.Context, id string) Response {
	response := q.do(ctx, callSpec{method: http.MethodDelete, path: "/webhook_instances/" + escapeSegment(id),
		maxRetained: MaxResponse, maxRead: MaxResponse,
		acceptsStatus: func(status int) bool { return status == http.StatusNoContent }})
	if response.Kind == Ambiguous && response.ErrorClass == ClassNone && isNotFound(response) {
		response.Kind = Complete
	}
	return response
}

// EventDocument implements [EventQueue] by GET /purchase_invoices/{guid}/ubl/original, "Get Purchase invoice data as
// JSON with a Base64-encoded UBL string". It is used and not GET /received_documents/{guid}/{format}, because that is
// "EXPERIMENTAL: use only for orders", and does not name the "legal_entity_id", "the id of the LegalEntity the invoice
// was received for".
func (q StorecoveQueue) EventDocument(ctx context.Context, event Event) (response Response, foreign bool) {
	if event.Recipient != "" && event.Recipient != q.legalEntity {
		return Response{}, true
	}
	call := getCall("/purchase_invoices/" + escapeSegment(event.Document.ID) + "/ubl/original")
	call.maxRetained, call.maxRead = maxStorecovePackage, maxStorecovePackage
	response = q.do(ctx, call)
	if response.Kind != Complete {
		return response, false
	}
	fields, unique, err := readObject(response.Body)
	encoded, ok := readString(fields["ubl"])
	document, wrong := base64.StdEncoding.DecodeString(encoded)
	recipient := storecoveNumber(fields["legal_entity_id"])
	switch {
	case err != nil || !unique || !ok || wrong != nil || len(document) == 0:
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
		return response, false
	case recipient == "" && event.Recipient == "", recipient != "" && recipient != q.legalEntity:
		return Response{}, true
	}
	return q.unpacked(response, document), false
}

// unpacked returns a response with the document that it contains as its body.
func (q StorecoveQueue) unpacked(response Response, document []byte) Response {
	digest := sha256.Sum256(document)
	response.MediaType, response.Body, response.Size, response.SHA256 = "application/xml", document, int64(len(document)),
		hex.EncodeToString(digest[:])
	response.Echoed = response.Echoed || q.containsCredential(string(document))
	if len(document) > MaxPurchaseDocument {
		response.Body, response.Truncated, response.ErrorClass = nil, true, ClassTooLarge
	}
	return response
}

// storecoveNumber returns the digits of an id of the API, or "".
func storecoveNumber(value jsontext.Value) string {
	text, _ := readString(value)
	if value.Kind() == jsontext.KindNumber {
		text = string(value)
	}
	if !storecoveLegalEntityForm.MatchString(text) {
		return ""
	}
	return text
}

// readStorecoveEvent reads a WebhookInstance: "guid: The GUID of the WebhookInstance. Use this to delete it", and body.
// The event is zero if there is no such guid. named says that it names the submission by our reference.
func readStorecoveEvent(instance []byte) (event Event, named bool) {
	outer, unique, err := readObject(instance)
	if err != nil || !unique {
		return Event{}, false
	}
	guid, _ := readString(outer["guid"])
	if !storecoveAnyGUID.MatchString(guid) {
		return Event{}, false
	}
	event.ID = guid
	body, _ := readString(outer["body"])
	inner, unique, err := readObject([]byte(body))
	if err != nil || !unique {
		return event, false
	}
	switch kind, _ := readString(inner["event_type"]); kind {
	case storecoveSubmissionEvent:
		event.ProviderReference, _ = readString(inner["guid"])
		event.Reference, _ = readString(inner["idempotencyGuid"])
		if event.ProviderReference == "" || event.Reference != "" && !storecoveGUID.MatchString(event.Reference) {
			event.Reference, event.ProviderReference = "", "" // it does not have the form of a submission's event
		}
	case storecoveReceivedEvent:
		if document, _ := readString(inner["document_guid"]); storecoveAnyGUID.MatchString(document) {
			event.Document = &Purchase{ID: document, Raw: bytes.Clone(instance)}
			event.Recipient = storecoveNumber(inner["legal_entity_id"])
		}
	}
	return event, event.Reference != ""
}
