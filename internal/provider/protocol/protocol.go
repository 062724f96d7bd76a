// Package protocol is the adapter of providers that speak the provider protocol (docs/provider-protocol.md).
package protocol

import (
	"context"
	"net/http"
	"net/url"
	"strconv"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Adapter speaks the provider protocol.
type Adapter struct{ *httpcall.Client }

var _ provider.Adapter = (*Adapter)(nil)

// New returns an adapter and opens no connection. It returns [provider.ErrBaseURL], [provider.ErrCredential] or
// [provider.ErrConfig].
func New(config provider.Config) (*Adapter, error) {
	c, err := httpcall.New(config, "Authorization", "Bearer ", http.StatusUnauthorized, http.StatusForbidden,
		http.StatusTooManyRequests)
	if err != nil {
		return nil, err
	}
	return &Adapter{Client: c}, nil
}

// Profile returns the profile of the provider protocol, whose references are idempotent.
func (h *Adapter) Profile() provider.Profile {
	return provider.Profile{Vocabulary: Vocabulary(), Idempotent: true, EchoesCredential: h.ContainsCredential}
}

// Submit implements [provider.Adapter] by POST /v1/documents.
func (h *Adapter) Submit(ctx context.Context, doc provider.Document) provider.Response {
	if !provider.IsHeaderToken(doc.Reference) || len(doc.Body) == 0 {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	return h.Do(ctx, httpcall.Spec{
		Method: http.MethodPost, Path: "/v1/documents", ContentType: httpcall.MediaTypeJSON, Key: doc.Reference,
		Body: doc.Body, MaxRetained: provider.MaxResponse, MaxRead: provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == http.StatusOK || status == http.StatusAccepted },
	})
}

// Status implements [provider.Adapter] by GET /v1/documents/{reference}.
func (h *Adapter) Status(ctx context.Context, query provider.Query) provider.Response {
	if query.Reference == "" {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	return h.Do(ctx, get("/v1/documents/"+httpcall.EscapeSegment(query.Reference)))
}

// Purchases implements [provider.Adapter] by GET /v1/purchases.
func (h *Adapter) Purchases(
	ctx context.Context,
	cursor string,
	limit int,
) (provider.PurchasePage, provider.Response) {
	c := get("/v1/purchases")
	query := url.Values{"limit": {strconv.Itoa(min(max(limit, 1), provider.MaxPurchasePage))}}
	if cursor != "" {
		query.Set("cursor", cursor)
	}
	c.Query = query.Encode()
	response := h.Do(ctx, c)
	if response.Kind != provider.Complete {
		return provider.PurchasePage{}, response
	}
	page, err := readPage(response.Body, cursor)
	if requested := min(max(limit, 1), provider.MaxPurchasePage); len(page.Purchases) > requested {
		// A page with more entries than requested is invalid: this service limits the work of a sync run.
		err = httpcall.ErrForm
	}
	// A cursor is stored unencrypted, so it must not contain our credential.
	if err != nil || h.ContainsCredential(page.NextCursor) {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return provider.PurchasePage{}, response
	}
	for n := range page.Purchases {
		h.Withhold(&page.Purchases[n])
	}
	return page, response
}

// PurchaseDocument implements [provider.Adapter] by GET /v1/purchases/{id}/document.
func (h *Adapter) PurchaseDocument(ctx context.Context, id string) provider.Response {
	if id == "" {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	c := get("/v1/purchases/" + httpcall.EscapeSegment(id) + "/document")
	c.MaxRetained, c.MaxRead = provider.MaxPurchaseDocument, provider.MaxPurchaseScan
	return h.Do(ctx, c)
}

// get returns the specification of a GET request of the protocol, where a 404 with the code unknown_reference
// says that the provider has no such document.
func get(path string) httpcall.Spec {
	call := httpcall.Get(path)
	call.SaysUnknown = func(status int, body []byte) bool {
		return status == http.StatusNotFound && errorCode(body) == codeUnknownReference
	}
	return call
}

// Recipient implements [provider.Adapter] by POST /v1/recipients/lookup. A provider without that operation cannot say.
func (h *Adapter) Recipient(
	ctx context.Context,
	participant provider.Participant,
) (provider.Recipient, provider.Response) {
	body, err := json.Marshal(recipientRequest(participant))
	if err != nil {
		return provider.Recipient{}, provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	response := h.Do(ctx, httpcall.Spec{
		Method: http.MethodPost, Path: "/v1/recipients/lookup", ContentType: httpcall.MediaTypeJSON, Body: body,
		MaxRetained: provider.MaxResponse, MaxRead: provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == http.StatusOK },
	})
	if response.Kind != provider.Complete {
		return provider.Recipient{}, response
	}
	recipient, err := readRecipient(response.Body)
	if err != nil {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return provider.Recipient{}, response
	}
	return recipient, response
}

// recipientRequest is the body of POST /v1/recipients/lookup.
type recipientRequest struct {
	Scheme string `json:"scheme"`
	ID     string `json:"id"`
}

// readRecipient reads the response to POST /v1/recipients/lookup.
func readRecipient(body []byte) (provider.Recipient, error) {
	object, unique, err := httpcall.ReadObject(body)
	if err != nil || !unique {
		return provider.Recipient{}, httpcall.ErrForm
	}
	var recipient provider.Recipient
	switch found := object["found"]; found.Kind() {
	case jsontext.KindTrue, jsontext.KindFalse:
		recipient.Found = new(found.Kind() == jsontext.KindTrue)
	case jsontext.KindNull:
	default:
		return provider.Recipient{}, httpcall.ErrForm
	}
	profiles, err := httpcall.ReadArray(object["profiles"])
	if err != nil {
		return provider.Recipient{}, err
	}
	for _, profile := range profiles {
		name, ok := httpcall.ReadString(profile)
		if !ok {
			return provider.Recipient{}, httpcall.ErrForm
		}
		if _, known := document.ParseProfile(name); known {
			recipient.Profiles = append(recipient.Profiles, name)
		}
	}
	return recipient, nil
}

// Check implements [provider.Adapter] by requesting one purchase document's metadata, which changes nothing.
func (h *Adapter) Check(ctx context.Context) provider.Response {
	_, response := h.Purchases(ctx, "", 1)
	return response
}

// Describe returns the description of the provider protocol's adapter.
func Describe() provider.Description {
	return provider.Description{
		Kind: "http", Summary: "A gateway to a provider that speaks Quittance's own provider protocol.",
		Profiles: document.Profiles[:], Idempotent: true, CreditNotes: true, Purchases: true, Recipients: true,
		Lookup: "GET /v1/documents/{reference}: 404 with the code unknown_reference says that the provider has no such document.",
		Vocabularies: func() []invoice.Vocabulary {
			return []invoice.Vocabulary{Vocabulary(), provider.WithoutMeanings(Vocabulary(), "http/1")}
		},
		Open: func(config provider.Config) (provider.Adapter, error) { return New(config) },
	}
}
