package provider

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document"
)

// HTTP speaks the provider protocol.
type HTTP struct{ *client }

var _ Adapter = (*HTTP)(nil)

// NewHTTP returns an adapter and opens no connection. It returns [ErrBaseURL], [ErrCredential] or [ErrConfig].
func NewHTTP(config Config) (*HTTP, error) {
	c, err := newClient(config, "Authorization", "Bearer ", http.StatusUnauthorized, http.StatusForbidden,
		http.StatusTooManyRequests)
	if err != nil {
		return nil, err
	}
	return &HTTP{client: c}, nil
}

// Profile returns the profile of the provider protocol, whose references are idempotent.
func (h *HTTP) Profile() Profile {
	return Profile{Vocabulary: ProtocolVocabulary(), Idempotent: true, EchoesCredential: h.containsCredential}
}

// Submit implements [Adapter] by POST /v1/documents.
func (h *HTTP) Submit(ctx context.Context, doc Document) Response {
	if !isHeaderToken(doc.Reference) || len(doc.Body) == 0 {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	return h.do(ctx, callSpec{
		method: http.MethodPost, path: "/v1/documents", contentType: mediaTypeJSON, key: doc.Reference, body: doc.Body,
		maxRetained: MaxResponse, maxRead: MaxResponse,
		acceptsStatus: func(status int) bool { return status == http.StatusOK || status == http.StatusAccepted },
	})
}

// Status implements [Adapter] by GET /v1/documents/{reference}.
func (h *HTTP) Status(ctx context.Context, query Query) Response {
	if query.Reference == "" {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	return h.do(ctx, protocolGet("/v1/documents/"+escapeSegment(query.Reference)))
}

// Purchases implements [Adapter] by GET /v1/purchases.
func (h *HTTP) Purchases(ctx context.Context, cursor string, limit int) (PurchasePage, Response) {
	c := protocolGet("/v1/purchases")
	query := url.Values{"limit": {strconv.Itoa(min(max(limit, 1), MaxPurchasePage))}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	c.query = query.Encode()
	response := h.do(ctx, c)
	if response.Kind != Complete {
		return PurchasePage{}, response
	}
	page, err := readPage(response.Body, cursor)
	if requested := min(max(limit, 1), MaxPurchasePage); len(page.Purchases) > requested {
		err = errNotPage // a page with more entries than requested is invalid: this service limits the work of a sync run
	}
	// A cursor is stored unencrypted, so it must not contain our credential.
	if err != nil || h.containsCredential(page.NextCursor) {
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
		return PurchasePage{}, response
	}
	for n := range page.Purchases {
		h.withhold(&page.Purchases[n])
	}
	return page, response
}

// PurchaseDocument implements [Adapter] by GET /v1/purchases/{id}/document.
func (h *HTTP) PurchaseDocument(ctx context.Context, id string) Response {
	if id == "" {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	c := protocolGet("/v1/purchases/" + escapeSegment(id) + "/document")
	c.maxRetained, c.maxRead = MaxPurchaseDocument, MaxPurchaseScan
	return h.do(ctx, c)
}

// protocolGet returns the specification of a GET request of the protocol, where a 404 with the code unknown_reference
// says that the provider has no such document.
func protocolGet(path string) callSpec {
	call := getCall(path)
	call.saysUnknown = func(status int, body []byte) bool {
		return status == http.StatusNotFound && errorCode(body) == codeUnknownReference
	}
	return call
}

// Recipient implements [Adapter] by POST /v1/recipients/lookup. A provider without that operation cannot say.
func (h *HTTP) Recipient(ctx context.Context, participant Participant) (Recipient, Response) {
	body, err := json.Marshal(recipientRequest(participant))
	if err != nil {
		return Recipient{}, Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	response := h.do(ctx, callSpec{
		method: http.MethodPost, path: "/v1/recipients/lookup", contentType: mediaTypeJSON, body: body,
		maxRetained: MaxResponse, maxRead: MaxResponse,
		acceptsStatus: func(status int) bool { return status == http.StatusOK },
	})
	if response.Kind != Complete {
		return Recipient{}, response
	}
	recipient, err := readRecipient(response.Body)
	if err != nil {
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
		return Recipient{}, response
	}
	return recipient, response
}

// recipientRequest is the body of POST /v1/recipients/lookup.
type recipientRequest struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
}

// readRecipient reads the response to POST /v1/recipients/lookup.
func readRecipient(body []byte) (Recipient, error) {
	object, unique, err := readObject(body)
	if err != nil || !unique {
		return Recipient{}, errNotPage
	}
	var recipient Recipient
	switch found := object["found"]; found.Kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		recipient.Found = new(found.Kind() == jsontext.KindTrue)
	case jsontext.KindNull:
	default:
		return Recipient{}, errNotPage
	}
	profiles, err := readArray(object["profiles"])
	if err != nil {
		return Recipient{}, err
	}
	for _, profile := range profiles {
		name, ok := readString(profile)
		if !ok {
			return Recipient{}, errNotPage
		}
		if _, known := document.ParseProfile(name); known {
			recipient.Profiles = append(recipient.Profiles, name)
		}
	}
	return recipient, nil
}

// Check implements [Adapter] by requesting one purchase document's metadata, which changes nothing.
func (h *HTTP) Check(ctx context.Context) Response {
	_, response := h.Purchases(ctx, "", 1)
	return response
}
