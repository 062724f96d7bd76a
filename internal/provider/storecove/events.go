package storecove

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"net/http"
	"regexp"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Queue is a [Adapter] whose account has its webhooks in pull mode: "GET a WebhookInstance from the queue.
// After processing it successfully, DELETE it and GET the next one. When a 204 is received, the queue is empty".
//
// The body of an event is "the webhook body that would have been pushed if this were a push-mode webhook". The OpenAPI
// document does not describe it further; docs/providers/storecove.md says where its members are from. An event that has
// other members is about nothing.
type Queue struct{ *Adapter }

var _ provider.EventQueue = Queue{}

// The members of an event that say what it is about.
const (
	submissionEvent = "document_submission"
	receivedEvent   = "received_document" // "the \"document_guid\" property of the \"received_document\" webhook"
)

// maxStorecovePackage is the size of the largest PurchaseInvoiceUbl that is read, in bytes: a document in base64 and
// the members around it.
const maxStorecovePackage = provider.MaxPurchaseDocument/3*4 + 64<<10

// anyGUID is the form of the provider's own identifiers: "format": "uuid".
var anyGUID = regexp.MustCompile(`^[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}$`)

// NextEvent implements [provider.EventQueue] by GET /webhook_instances/.
func (q Queue) NextEvent(ctx context.Context) (provider.Event, provider.Response) {
	call := httpcall.Get("/webhook_instances/")
	call.AcceptsStatus = func(status int) bool { return status == http.StatusOK || status == http.StatusNoContent }
	response := q.Do(ctx, call)
	if response.Kind != provider.Complete || response.HTTPStatus == http.StatusNoContent {
		return provider.Event{}, response
	}
	event, named := ReadEvent(response.Body)
	if event.ID == "" || q.ContainsCredential(event.ID) {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return provider.Event{}, response
	}
	if event.Document != nil {
		q.Withhold(event.Document)
	}
	table := eventVocabulary(named)
	response.Vocabulary = &table
	return event, response
}

// DeleteEvent implements [provider.EventQueue] by DELETE /webhook_instances/{guid}. "Not Found" is an event that was
// deleted before.
func (q Queue) DeleteEvent(ctx context.Context, id string) provider.Response {
	response := q.Do(
		ctx,
		httpcall.Spec{Method: http.MethodDelete, Path: "/webhook_instances/" + httpcall.EscapeSegment(id),
			MaxRetained: provider.MaxResponse, MaxRead: provider.MaxResponse,
			AcceptsStatus: func(status int) bool { return status == http.StatusNoContent }},
	)
	if response.Kind == provider.Ambiguous && response.ErrorClass == provider.ClassNone && isNotFound(response) {
		response.Kind = provider.Complete
	}
	return response
}

// EventDocument implements [provider.EventQueue] by GET /purchase_invoices/{guid}/ubl/original, "Get Purchase invoice
// data as JSON with a Base64-encoded UBL string". It is used and not GET /received_documents/{guid}/{format}, because
// that is "EXPERIMENTAL: use only for orders", and does not name the "legal_entity_id", "the id of the LegalEntity the
// invoice was received for".
func (q Queue) EventDocument(ctx context.Context, event provider.Event) (response provider.Response, foreign bool) {
	if event.Recipient != "" && event.Recipient != q.legalEntity {
		return provider.Response{}, true
	}
	call := httpcall.Get("/purchase_invoices/" + httpcall.EscapeSegment(event.Document.ID) + "/ubl/original")
	call.MaxRetained, call.MaxRead = maxStorecovePackage, maxStorecovePackage
	response = q.Do(ctx, call)
	if response.Kind != provider.Complete {
		return response, false
	}
	fields, unique, err := httpcall.ReadObject(response.Body)
	encoded, ok := httpcall.ReadString(fields["ubl"])
	document, wrong := base64.StdEncoding.DecodeString(encoded)
	recipient := numberText(fields["legal_entity_id"])
	switch {
	case err != nil || !unique || !ok || wrong != nil || len(document) == 0:
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return response, false
	case recipient == "" && event.Recipient == "", recipient != "" && recipient != q.legalEntity:
		return provider.Response{}, true
	}
	return q.unpacked(response, document), false
}

// unpacked returns a response with the document that it contains as its body.
func (q Queue) unpacked(response provider.Response, document []byte) provider.Response {
	digest := sha256.Sum256(document)
	response.MediaType, response.Body, response.Size, response.SHA256 = "application/xml", document, int64(
		len(document),
	),
		hex.EncodeToString(
			digest[:],
		)
	response.Echoed = response.Echoed || q.ContainsCredential(string(document))
	if len(document) > provider.MaxPurchaseDocument {
		response.Body, response.Truncated, response.ErrorClass = nil, true, provider.ClassTooLarge
	}
	return response
}

// numberText returns the digits of an id of the API, or "".
func numberText(value jsontext.Value) string {
	text, _ := httpcall.ReadString(value)
	if value.Kind() == jsontext.KindNumber {
		text = string(value)
	}
	if !legalEntityForm.MatchString(text) {
		return ""
	}
	return text
}

// ReadEvent reads a WebhookInstance: "guid: The GUID of the WebhookInstance. Use this to delete it", and body.
// The event is zero if there is no such guid. named says that it names the submission by our reference.
func ReadEvent(instance []byte) (event provider.Event, named bool) {
	outer, unique, err := httpcall.ReadObject(instance)
	if err != nil || !unique {
		return provider.Event{}, false
	}
	guid, _ := httpcall.ReadString(outer["guid"])
	if !anyGUID.MatchString(guid) {
		return provider.Event{}, false
	}
	event.ID = guid
	body, _ := httpcall.ReadString(outer["body"])
	inner, unique, err := httpcall.ReadObject([]byte(body))
	if err != nil || !unique {
		return event, false
	}
	switch kind, _ := httpcall.ReadString(inner["event_type"]); kind {
	case submissionEvent:
		event.ProviderReference, _ = httpcall.ReadString(inner["guid"])
		event.Reference, _ = httpcall.ReadString(inner["idempotencyGuid"])
		if event.ProviderReference == "" || event.Reference != "" && !guidForm.MatchString(event.Reference) {
			event.Reference, event.ProviderReference = "", "" // it does not have the form of a submission's event
		}
	case receivedEvent:
		if document, _ := httpcall.ReadString(inner["document_guid"]); anyGUID.MatchString(document) {
			event.Document = &provider.Purchase{ID: document, Raw: bytes.Clone(instance)}
			event.Recipient = numberText(inner["legal_entity_id"])
		}
	}
	return event, event.Reference != ""
}
