// Package einvoicebe is the adapter of the Peppol access point e-invoice.be (docs/providers/e-invoice-be.md).
package einvoicebe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/document/ubl"
	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Adapter speaks the API of e-invoice.be, as its OpenAPI description 1.1.0 has it (docs/providers/e-invoice-be.md).
//
// A document is sent in two steps. Creating it makes a draft, which the provider never sends by itself; sending names
// the draft by the identifier that the provider gave it. So a draft whose creation got no response is at most an unused
// draft, and a document is sent only under an identifier that was recorded before.
type Adapter struct {
	*httpcall.Client
	provider.SendOnly
}

var _ provider.Adapter = (*Adapter)(nil)

// New returns an adapter and opens no connection. It returns [provider.ErrBaseURL], [provider.ErrCredential] or
// [provider.ErrConfig].
func New(config provider.Config) (*Adapter, error) {
	// components.securitySchemes: HTTPBearer
	c, err := httpcall.New(config, "Authorization", "Bearer ", http.StatusUnauthorized)
	if err != nil {
		return nil, err
	}
	return &Adapter{Client: c}, nil
}

// Describe returns the description of the adapter.
func Describe() provider.Description {
	return provider.Description{
		Kind: "e-invoice-be", Summary: "The Peppol access point e-invoice.be.",
		Profiles: []document.Profile{
			document.BIS3,
		}, RequiresProfile: true, Currencies: strings.Fields(knownCurrencies),
		CreditNotes: true, Recipients: true,
		Lookup: "GET /api/documents/{id} once the provider's identifier is known; before that the drafts and the outbox, searched for the one document " +
			"with the same number, type, date, currency, total and receiver.",
		Vocabularies: func() []invoice.Vocabulary { return []invoice.Vocabulary{publishedVocabulary()} },
		Open:         func(config provider.Config) (provider.Adapter, error) { return New(config) },
	}
}

// knownCurrencies are the values of the schema CurrencyCode. A response about a document in another currency could
// not be written.
const knownCurrencies = "EUR USD GBP JPY CHF CAD AUD NZD CNY INR SEK NOK DKK SGD HKD"

// publishedVocabulary returns the table of the schema DocumentResponse, which create, send and get return. The states
// are those of the schema DocumentState. Their meaning is published in skills/peppol-cli/references/documents.md of the
// provider's repository e-invoice-be/peppol-cli, and their order in
// https://docs.e-invoice.be/api-reference/schemas/document. Both are quoted below.
func publishedVocabulary() invoice.Vocabulary {
	return invoice.Vocabulary{
		Name:              "e-invoice-be/document/1",
		ProviderReference: "/id",
		Status:            "/state",
		Statuses: map[string]invoice.Status{
			"DRAFT":   invoice.Unsent,     // "Created, not yet sent"
			"TRANSIT": invoice.Processing, // "Being delivered via Peppol"
			"SENT":    invoice.Accepted,   // "Successfully delivered"
			// "Delivery failed". "Documents in TRANSIT state use an exponential backoff retry strategy over 24 hours before
			// transitioning to FAILED." Only another call to send would deliver it, and this adapter makes none.
			"FAILED": invoice.Rejected,
			// RECEIVED is "Received from another participant": no state of a document that we sent.
		},
		ProviderInvoice: invoice.StatePointers{
			Value: "/state",
			// FAILED is not terminal: "Documents in FAILED state can be retried by calling POST /api/documents/{id}/send again,
			// which will transition them back to TRANSIT". Somebody may do that in the provider's own application.
			TerminalValues: []string{"SENT"},
			Meanings: map[string]api.Meaning{
				"DRAFT": api.MeaningWaiting, "TRANSIT": api.MeaningWaiting, "SENT": api.MeaningPositive,
				"FAILED": api.MeaningNegative,
			},
		},
	}
}

// Profile implements [provider.Adapter]. The provider does not know our references, and sends a draft once: send
// returns "405 Method Not Allowed: Document is not in draft state".
func (e *Adapter) Profile() provider.Profile {
	return provider.Profile{Vocabulary: publishedVocabulary(), Steps: 3, QueriesByContent: true, GuardsSend: true,
		EchoesCredential: e.ContainsCredential}
}

// Submit implements [provider.Adapter]: it creates the document, or validates and sends the one that was created.
func (e *Adapter) Submit(ctx context.Context, doc provider.Document) provider.Response {
	sent, err := readSentUBL(doc.Reference, doc.Body)
	if err != nil || !provider.IsHeaderToken(doc.Reference) {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	if doc.ProviderReference == "" {
		return e.create(ctx, doc.Reference, sent)
	}
	return e.send(ctx, doc.ProviderReference, sent)
}

// create makes POST /api/documents/ubl. 415, "UBL file is not valid or empty", is the only status beside 401 that the
// description gives before a document is created. 422 is "Invalid response data", which may follow the creation. 403
// and 429 are not described, but the document is not sent all the same: it would be a draft without use.
func (e *Adapter) create(ctx context.Context, reference string, sent *sentUBL) provider.Response {
	body, contentType, err := formFile(reference+".xml", sent.text)
	if err != nil {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	call := postCall("/api/documents/ubl", http.StatusCreated)
	call.Body, call.ContentType = body, contentType
	call.Refuses = func(status int, body []byte) bool {
		return status == http.StatusForbidden || status == http.StatusTooManyRequests ||
			status == http.StatusUnsupportedMediaType && isError(body)
	}
	response := e.Do(ctx, call)
	if response.Kind == provider.Complete {
		response.Next = provider.NextSubmit
	}
	return response
}

// send makes POST /api/documents/{id}/validate, and POST /api/documents/{id}/send if the provider finds the document
// valid. The provider asks for this order: send returns "400 Bad Request: Document UBL is not validated yet".
func (e *Adapter) send(ctx context.Context, id string, sent *sentUBL) provider.Response {
	call := postCall("/api/documents/"+httpcall.EscapeSegment(id)+"/validate", http.StatusOK)
	// Validating sends nothing, whatever it returns.
	call.Refuses = func(status int, _ []byte) bool { return status != http.StatusOK }
	validated := e.Do(ctx, call)
	if validated.Kind != provider.Complete {
		return validated
	}
	var validation struct {
		IsValid *bool `json:"is_valid"`
	}
	if err := json.Unmarshal(validated.Body, &validation); err != nil || validation.IsValid == nil {
		validated.Kind, validated.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return validated
	}
	if !*validation.IsValid {
		validated.Kind = provider.Refused
		return validated
	}
	call = postCall("/api/documents/"+httpcall.EscapeSegment(id)+"/send", http.StatusOK)
	// "By default, the sender and receiver Peppol IDs are derived from the company (tax) IDs in the document, regardless
	// of whether the document was created from a UBL with a different endpoint ID."
	call.Query = url.Values{"sender_peppol_scheme": {sent.sender.Scheme}, "sender_peppol_id": {sent.sender.ID},
		"receiver_peppol_scheme": {sent.receiver.Scheme}, "receiver_peppol_id": {sent.receiver.ID}}.Encode()
	call.Refuses = sendRefuses
	response := e.Do(ctx, call).After(validated)
	if response.HTTPStatus == http.StatusMethodNotAllowed && response.ErrorClass == provider.ClassNone &&
		isError(response.Body) {
		// "Document is not in draft state": an earlier call has sent it.
		response.Kind, response.Next = provider.Inconclusive, provider.NextStatus
	}
	return response
}

// sendRefuses reports whether the description of send says of a status that the document is not sent:
//
//	400  Bad Request: Document UBL is not validated yet or missing Peppol information
//	404  Not Found: Document with the specified ID doesn't exist
//	406  Not Acceptable: Document can not be validated as valid UBL document
//	409  Conflict: Document is not allowed to send from the given Peppol ID
//	422  Validation Error (of the parameters, before the operation begins: the schema is HTTPValidationError)
func sendRefuses(status int, body []byte) bool {
	switch status {
	case http.StatusBadRequest, http.StatusNotFound, http.StatusNotAcceptable, http.StatusConflict,
		http.StatusUnprocessableEntity:
		return isError(body)
	}
	return false
}

// Status implements [provider.Adapter] by GET /api/documents/{id}, for which it first searches if the identifier is not
// known.
func (e *Adapter) Status(ctx context.Context, query provider.Query) provider.Response {
	ctx, cancel := context.WithTimeout(ctx, e.Timeout)
	defer cancel()
	if query.ProviderReference != "" {
		return e.get(ctx, query.ProviderReference)
	}
	sent, err := readSentUBL(query.Reference, query.Body)
	if err != nil {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	return e.find(ctx, sent)
}

// get makes GET /api/documents/{id}.
func (e *Adapter) get(ctx context.Context, id string) provider.Response {
	call := httpcall.Get("/api/documents/" + httpcall.EscapeSegment(id))
	call.SaysUnknown = func(status int, body []byte) bool {
		// A server of this kind says "Not Found" about an address that it does not have. That is no word about the document.
		detail := errorDetail(body)
		return status == http.StatusNotFound && detail != "" && detail != http.StatusText(http.StatusNotFound)
	}
	response := e.Do(ctx, call)
	var found struct {
		State string `json:"state"`
	}
	// SENT is the last word that the provider has about a document.
	response.Settled = response.Kind == provider.Complete && json.Unmarshal(response.Body, &found) == nil &&
		found.State == "SENT"
	return response
}

// billingInvoice is the Peppol document type identifier of an invoice in BIS Billing 3.0, as the schema
// SupportedDocumentType shows it. Some texts of the provider put the scheme before it.
const billingInvoice = "urn:oasis:names:specification:ubl:schema:xsd:Invoice-2::Invoice##" +
	"urn:cen.eu:en16931:2017#compliant#urn:fdc:peppol.eu:2017:poacc:billing:3.0::2.1"

// Recipient implements [provider.Adapter] by GET /api/validate/peppol-id, whose is_valid says "Whether the Peppol ID is
// valid and registered in the Peppol network". The operation GET /api/lookup has no such field: its status is that of
// the query.
func (e *Adapter) Recipient(
	ctx context.Context,
	participant provider.Participant,
) (provider.Recipient, provider.Response) {
	call := httpcall.Get("/api/validate/peppol-id")
	call.Query = url.Values{"peppol_id": {participant.Scheme + ":" + participant.ID}}.Encode()
	response := e.Do(ctx, call)
	if response.Kind != provider.Complete {
		return provider.Recipient{}, response
	}
	var validation struct {
		IsValid       *bool    `json:"is_valid"`
		DocumentTypes []string `json:"supported_document_types"`
	}
	if err := json.Unmarshal(response.Body, &validation); err != nil || validation.IsValid == nil {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return provider.Recipient{}, response
	}
	recipient := provider.Recipient{Found: validation.IsValid}
	for _, identifier := range validation.DocumentTypes {
		if _, value, ok := strings.Cut("::"+identifier, "::urn:"); ok && "urn:"+value == billingInvoice &&
			*recipient.Found {
			recipient.Profiles = []string{string(document.BIS3)}
		}
	}
	return recipient, response
}

// Check implements [provider.Adapter] by GET /api/me/, which returns the company of the credential.
func (e *Adapter) Check(ctx context.Context) provider.Response {
	response := e.Do(ctx, httpcall.Get("/api/me/"))
	if response.Kind != provider.Complete {
		return response
	}
	var company struct {
		Name *string `json:"name"`
	}
	if err := json.Unmarshal(response.Body, &company); err != nil || company.Name == nil {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
	}
	return response
}

// postCall returns the specification of a POST request without a body that success answers.
func postCall(path string, success int) httpcall.Spec {
	return httpcall.Spec{
		Method:        http.MethodPost,
		Path:          path,
		MaxRetained:   provider.MaxResponse,
		MaxRead:       provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == success },
	}
}

// isError reports whether a body is one of the schemas ErrorResponse, whose detail is a text, and HTTPValidationError,
// where it is a list.
func isError(body []byte) bool {
	fields, unique, err := httpcall.ReadObject(body)
	kind := fields["detail"].Kind()
	return err == nil && unique && (kind == jsontext.KindString || kind == jsontext.KindBeginArray)
}

// errorDetail returns the text of the schema ErrorResponse, "" if a body is not one.
func errorDetail(body []byte) string {
	var e struct {
		Detail string `json:"detail"`
	}
	if err := json.Unmarshal(body, &e); err != nil {
		return ""
	}
	return e.Detail
}

// formFile returns a multipart/form-data body with one file, as the schema Body_post_document_ubl has it. The same file
// gives the same bytes.
func formFile(name string, content []byte) (body []byte, contentType string, err error) {
	var out bytes.Buffer
	form := multipart.NewWriter(&out)
	sum := sha256.Sum256(content) // a text cannot contain its own digest
	if err := form.SetBoundary(hex.EncodeToString(sum[:])); err != nil {
		return nil, "", err
	}
	part, err := form.CreatePart(textproto.MIMEHeader{
		"Content-Disposition": {multipart.FileContentDisposition("file", name)},
		"Content-Type":        {"application/xml"},
	})
	if err != nil {
		return nil, "", err
	}
	if _, err := part.Write(content); err != nil {
		return nil, "", err
	}
	if err := form.Close(); err != nil {
		return nil, "", err
	}
	return out.Bytes(), form.FormDataContentType(), nil
}

// errNotBIS3 says that a document cannot be sent over this provider.
var errNotBIS3 = errors.New("provider: the document is not one of this provider's format with both participants")

// sentUBL is the document of a submission: the bytes, and what the provider's lists show of it.
type sentUBL struct {
	reference        string
	text             []byte
	sender, receiver provider.Participant
	*ubl.Document
}

// readSentUBL reads the document of a submission.
func readSentUBL(reference string, body []byte) (*sentUBL, error) {
	stored, err := envelope.Read(body)
	if err != nil {
		return nil, err
	}
	if stored.Reference != reference || stored.Document == nil ||
		stored.Document.Profile != string(document.BIS3) {
		return nil, errNotBIS3
	}
	parsed, err := ubl.Read(stored.Document.Body)
	if err != nil {
		return nil, err
	}
	sent := &sentUBL{reference: reference, text: stored.Document.Body, Document: parsed,
		sender: provider.Participant{
			Scheme: provider.TextOf(parsed.Seller.EndpointScheme),
			ID:     provider.TextOf(parsed.Seller.NetworkID),
		},
		receiver: provider.Participant{
			Scheme: provider.TextOf(parsed.Buyer.EndpointScheme),
			ID:     provider.TextOf(parsed.Buyer.NetworkID),
		}}
	if slices.Contains([]string{sent.sender.Scheme, sent.sender.ID, sent.receiver.Scheme, sent.receiver.ID,
		provider.TextOf(parsed.Number)}, "") {
		return nil, errNotBIS3
	}
	return sent, nil
}
