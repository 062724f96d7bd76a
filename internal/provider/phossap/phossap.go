// Package phossap is the adapter of Peppol access points that run phoss-ap (docs/providers/phoss-ap.md).
package phossap

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/internal/document"
	"quittance/internal/document/envelope"
	"quittance/internal/document/invoice"
	"quittance/internal/provider"
	"quittance/internal/provider/httpcall"
)

// Adapter speaks the HTTP API of phoss-ap, an open-source Peppol access point (https://github.com/phax/phoss-ap). The
// file and line numbers in this package are those of its version 0.12.0-SNAPSHOT, commit ba7e36b.
//
// Our reference is the SBDH instance identifier, by which the access point finds a transaction again. It does not
// refuse a second transaction with the same identifier, so a document is never sent again without an order.
type Adapter struct {
	*httpcall.Client
	provider.SendOnly

	sender  string // a participant identifier such as 0235:1234567890; "" for that of the company profile
	country string // an ISO 3166-1 code; "" for that of the company profile
}

var _ provider.Adapter = (*Adapter)(nil)

// The options of the adapter.
const (
	optionSender  = "sender"
	optionCountry = "country"
)

var (
	participantForm = regexp.MustCompile(`^[0-9]{4}:[0-9A-Za-z:._~-]{1,50}$`)
	countryCode     = regexp.MustCompile(`^[A-Z]{2}$`)
	// referenceForm is what a reference can be. The access point itself takes any text, but a web server refuses some
	// characters in a path.
	referenceForm = regexp.MustCompile(`^[0-9A-Za-z][0-9A-Za-z._~-]{0,127}$`)
)

// Describe returns the description of the adapter.
func Describe() provider.Description {
	return provider.Description{
		Kind: "phoss-ap", Summary: "A Peppol access point that runs phoss-ap.",
		Profiles: document.Profiles[:], RequiresProfile: true, CreditNotes: true,
		Addresses: func(p provider.Participant, _ map[string]string) bool {
			return participantForm.MatchString(participantText(p))
		},
		Options: []provider.Option{
			{Name: optionSender,
				Summary: "the participant identifier of the sender, if it is not the endpoint of the company profile",
				Rule:    "four digits, a colon and 1 to 50 letters, digits or . _ ~ : -, such as 0235:1234567890",
				Valid:   participantForm.MatchString},
			{Name: optionCountry, Summary: "the country of the sender (C1), if it is not that of the company profile",
				Rule: "two capital letters (ISO 3166-1 alpha-2)", Valid: countryCode.MatchString},
		},
		Lookup: "GET /api/outbound/status/{sbdhInstanceID}: 404 without a body says that the access point has no such transaction, or more than one. " +
			"A document is never sent again without an administrator's order.",
		Vocabularies: func() []invoice.Vocabulary {
			return []invoice.Vocabulary{statusVocabulary(), reportVocabulary()}
		},
		Open: func(config provider.Config) (provider.Adapter, error) { return New(config) },
	}
}

// New returns an adapter and opens no connection. The options must be valid. It returns [provider.ErrBaseURL],
// [provider.ErrCredential] or [provider.ErrConfig].
func New(config provider.Config) (*Adapter, error) {
	c, err := httpcall.New(config, "X-Token", "", http.StatusUnauthorized) // ApiTokenFilter.java:36, 50-60
	if err != nil {
		return nil, err
	}
	return &Adapter{Client: c, sender: config.Options[optionSender], country: config.Options[optionCountry]}, nil
}

// Profile returns the profile of the access point.
func (p *Adapter) Profile() provider.Profile {
	return provider.Profile{Vocabulary: statusVocabulary(), Steps: 2, EchoesCredential: p.ContainsCredential}
}

// Submit implements [provider.Adapter] by POST /api/outbound/submit/…, which names the document type and the process
// that the document itself names. submit-auto finds them out by a table of its own, and sends 400 also after it has
// read the document.
func (p *Adapter) Submit(ctx context.Context, doc provider.Document) provider.Response {
	path, body, err := p.submitRequest(doc)
	if err != nil {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	response := p.Do(ctx, httpcall.Spec{
		Method: http.MethodPost, Path: path, Query: url.Values{"sbdhInstanceID": {doc.Reference}}.Encode(),
		ContentType: "application/xml", Body: body, MaxRetained: provider.MaxResponse, MaxRead: provider.MaxResponse,
		AcceptsStatus: func(status int) bool { return status == http.StatusOK || status == http.StatusUnprocessableEntity },
		Refuses:       refusesBeforeReading,
	})
	if response.Kind != provider.Complete {
		return response
	}
	switch sent, ok := readSendingReport(response.Body, doc.Reference); {
	case !ok:
		response.Kind, response.ErrorClass = provider.Ambiguous, provider.ClassProtocol
	case sent && response.HTTPStatus == http.StatusOK:
		response.Vocabulary = new(reportVocabulary())
	default:
		// The transaction exists. Its status alone says whether the access point tries again or not.
		response.Kind, response.Next = provider.Inconclusive, provider.NextStatus
	}
	return response
}

// Status implements [provider.Adapter] by GET /api/outbound/status/{sbdhInstanceID}. Completed transactions move to the
// archive.
func (p *Adapter) Status(ctx context.Context, query provider.Query) provider.Response {
	if !referenceForm.MatchString(query.Reference) {
		return provider.Response{Kind: provider.NotSent, ErrorClass: provider.ClassProtocol}
	}
	call := httpcall.Get("/api/outbound/status/" + httpcall.EscapeSegment(query.Reference))
	call.Query = "includeArchive=true"
	call.SaysUnknown = isEmptyNotFound
	return p.Do(ctx, call)
}

// noTransaction is a reference that no transaction has: the nil UUID (RFC 9562).
const noTransaction = "00000000-0000-0000-0000-000000000000"

// Check implements [provider.Adapter] by asking for a transaction that does not exist. Only the access point itself
// says so in its own form, and only to a caller with its token.
func (p *Adapter) Check(ctx context.Context) provider.Response {
	response := p.Status(ctx, provider.Query{Reference: noTransaction})
	if response.Kind == provider.UnknownReference {
		response.Kind = provider.Complete
	}
	return response
}

// Recipient implements [provider.Adapter]: the access point cannot say.
func (p *Adapter) Recipient(ctx context.Context, _ provider.Participant) (provider.Recipient, provider.Response) {
	return provider.Recipient{}, p.Check(ctx)
}

// isEmptyNotFound reports whether a response is the access point's own 404, which has no body. That of a wrong address
// has one. OutboundController.java:304-308 (submit) and 932-936 (status): "return ResponseEntity.notFound ().build
// ();".
func isEmptyNotFound(status int, body []byte) bool {
	return status == http.StatusNotFound && len(body) == 0
}

// notSubmitted is the body of a 422 that comes before there is a transaction. OutboundController.java:402-406: "if (aTx
// == null) … unprocessableContent ().body (… "Failed to submit outbound transaction")".
// OutboundOrchestrator.java:244-245: "null if the document could not be stored or verification failed".
const notSubmitted = `"Failed to submit outbound transaction"`

// refusesBeforeReading reports whether a response to submit is sent only before the access point takes the document:
//
//   - 404 without a body: "Sending is disabled in the configuration" (OutboundController.java:265-267, 304-308);
//   - 400 with a JSON string: an identifier is invalid (260-261, 310-380), which is checked before the document is read
//     (383);
//   - 422 with notSubmitted.
func refusesBeforeReading(status int, body []byte) bool {
	switch status {
	case http.StatusNotFound:
		return isEmptyNotFound(status, body)
	case http.StatusBadRequest:
		value := jsontext.Value(bytes.TrimSpace(body))
		return value.Kind() == jsontext.KindString && value.IsValid()
	case http.StatusUnprocessableEntity:
		return string(bytes.TrimSpace(body)) == notSubmitted
	}
	return false
}

// readSendingReport reads the sending report on a reference, and reports whether the document was sent and receipt
// confirmed. ok is false if the body is not one.
func readSendingReport(body []byte, reference string) (sent, ok bool) {
	fields, unique, err := httpcall.ReadObject(body)
	if err != nil || !unique {
		return false, false
	}
	about, ok := httpcall.ReadString(fields["sbdhInstanceIdentifier"])
	if !ok || about != reference {
		return false, false
	}
	switch fields["overallSuccess"].Kind() {
	case jsontext.KindTrue:
		return true, true
	case jsontext.KindFalse:
		return false, true
	default:
		return false, false
	}
}

var errNotForPhossAP = errors.New("provider: the access point cannot carry this document")

// submitRequest returns the path and the body of the request that submits a document.
func (p *Adapter) submitRequest(doc provider.Document) (path string, body []byte, err error) {
	sent, err := envelope.Read(doc.Body)
	if err != nil {
		return "", nil, err
	}
	if sent.Reference != doc.Reference || !referenceForm.MatchString(doc.Reference) || sent.Document == nil {
		return "", nil, errNotForPhossAP
	}
	documentType, process, err := peppolIdentifiers(sent.Document)
	if err != nil {
		return "", nil, err
	}
	sender, receiver, country := p.sender, participantText(provider.Receiver(sent)), p.country
	if sender == "" {
		sender = participantText(provider.Sender(sent))
	}
	if country == "" {
		country = provider.TextOf(sent.Seller.Country)
	}
	if !participantForm.MatchString(sender) || !participantForm.MatchString(receiver) ||
		!countryCode.MatchString(country) {
		return "", nil, errNotForPhossAP
	}
	segments := []string{participantScheme + sender, participantScheme + receiver, documentType, process, country}
	for i, segment := range segments {
		segments[i] = httpcall.EscapeSegment(segment)
	}
	return "/api/outbound/submit/" + strings.Join(segments, "/"), sent.Document.Body, nil
}

// participantText returns a participant identifier without its scheme, such as 0235:1234567890.
func participantText(p provider.Participant) string { return p.Scheme + ":" + p.ID }

// The schemes of Peppol identifiers (Peppol Policy for use of Identifiers 4.4, policies 5, 16 and 24).
const (
	participantScheme      = "iso6523-actorid-upis::"
	documentTypeScheme     = "busdox-docid-qns::"
	wildcardDocumentScheme = "peppol-doctype-wildcard::"
	processScheme          = "cenbii-procid-ubl::"
	ublVersion             = "2.1"
)

// peppolIdentifiers returns the Peppol document type identifier and process identifier of a UBL document, which repeat
// its root element, its CustomizationID and its ProfileID. PINT documents have the scheme of wildcards: a sender names
// its document exactly, and the receiver may have registered for a family of them.
func peppolIdentifiers(file *envelope.File) (documentType, process string, err error) {
	var head struct {
		XMLName       xml.Name
		Customization string `xml:"urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2 CustomizationID"`
		Profile       string `xml:"urn:oasis:names:specification:ubl:schema:xsd:CommonBasicComponents-2 ProfileID"`
	}
	if err := xml.Unmarshal(file.Body, &head); err != nil {
		return "", "", fmt.Errorf("provider: read the document: %w", err)
	}
	if head.XMLName.Space == "" || head.Customization == "" || head.Profile == "" {
		return "", "", errNotForPhossAP
	}
	scheme := documentTypeScheme
	if file.Profile == string(document.PINTAE) {
		scheme = wildcardDocumentScheme
	}
	return scheme + head.XMLName.Space + "::" + head.XMLName.Local + "##" + head.Customization + "::" + ublVersion,
		processScheme + head.Profile, nil
}
