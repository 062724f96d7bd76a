package provider

import (
	"context"
	"time"

	"quittance/internal/document/invoice"
)

// Adapter is one provider connection. It is safe for concurrent use. No method panics or returns later than the
// adapter's time-out, whatever the other side does.
type Adapter interface {
	// Submit takes the next step of sending one document: all of it, or what comes before [NextSubmit]. It never sends a
	// document twice.
	Submit(ctx context.Context, doc Document) Response
	// Status queries what the provider has of one submission.
	Status(ctx context.Context, query Query) Response
	// Purchases requests the purchase documents after a cursor; "" is the beginning. limit is the maximum number of
	// entries, from 1 to 100; other values are moved into that range. The page is empty unless the response is
	// [Complete].
	Purchases(ctx context.Context, cursor string, limit int) (PurchasePage, Response)
	// PurchaseDocument requests the bytes of one purchase document.
	PurchaseDocument(ctx context.Context, id string) Response
	// Recipient asks whether a participant can receive documents. Found is nil unless the response is [Complete].
	Recipient(ctx context.Context, participant Participant) (Recipient, Response)
	// Check makes one harmless call, which shows whether the provider responds and accepts the credential and the options.
	// It is [Complete] if so.
	Check(ctx context.Context) Response
	// Profile says how the adapter's responses are read.
	Profile() Profile
}

// Document is the document that a submission sends.
type Document struct {
	// Reference is the permanent reference: the submission id, a UUID.
	Reference string
	// ProviderReference is the provider's own identifier of the document, as it was recorded from an earlier response, or
	// "".
	ProviderReference string
	// Repeated says that the provider may have received an earlier transmission under this reference.
	Repeated bool
	// Body is the JSON text {reference, invoice, seller} and, over a connection with a document format, document. The
	// caller makes it once, so that every resend of a reference carries the same bytes. Package envelope reads it.
	Body []byte
}

// Query names a submission for a status query.
type Query struct {
	// Reference and ProviderReference are those of the [Document].
	Reference, ProviderReference string
	// Body is that of the [Document]. It is nil unless [Profile].QueriesByContent is set and ProviderReference is "".
	Body []byte
}

// Participant identifies a participant of a network, such as Peppol.
type Participant struct {
	Scheme string // of the code list EAS: four digits
	ID     string
}

// Recipient says whether a participant can receive documents.
type Recipient struct {
	// Found is nil if the provider cannot say.
	Found *bool
	// Profiles names the document formats of this service that the participant receives, as far as the provider says.
	Profiles []string
}

// Profile is what an adapter declares about itself.
type Profile struct {
	// Vocabulary says where a retained body holds the state values, and what they mean. A response may name another one.
	Vocabulary invoice.Vocabulary
	// Steps is the largest number of calls of Submit and Status that follow each other at once, because a response asks
	// for the next one with [Response].Next; 0 means 1.
	Steps int
	// QueriesByContent says that Status finds a submission without a ProviderReference by its content.
	QueriesByContent bool
	// Idempotent says that the provider responds to a repeated reference with the document that it already has. Without
	// it, a document is sent again only if an administrator orders it.
	Idempotent bool
	// GuardsSend says that the provider refuses to send a document again that it has begun to send. A document that it has
	// prepared and reports as [invoice.Unsent] is then sent again by the same rules as an idempotent reference.
	GuardsSend bool
	// EchoesCredential reports whether a text contains the connection's credential in one of the forms of
	// [Response].Echoed; nil if there is no credential. Every text that is read from an echoed response must be checked
	// before it is stored.
	EchoesCredential func(text string) bool
}

// Kind is what the protocol says about one call.
type Kind int

// The kinds of a response. The zero value claims least.
const (
	// Ambiguous is every other response: the provider may have read the request and acted on it.
	Ambiguous Kind = iota
	// NotSent means that certainly no byte of the request left this process.
	NotSent
	// Refused is a response, such as 401, that the provider sends by its own description only before it takes a
	// document.
	Refused
	// Complete means that the response is complete: a body for invoice.ReadReport from Submit and Status, a readable page
	// from Purchases, the bytes from PurchaseDocument. The body of any other response is not read. The reader decides
	// whether the body is a report.
	Complete
	// UnknownReference is a response to Status that says that the provider has no such document. In the provider protocol
	// it is 404 with the code unknown_reference.
	UnknownReference
	// Inconclusive is a response that has the form which the provider describes and does not say whether it has the
	// document.
	Inconclusive
)

// String returns the kind's name for logs and metrics.
func (k Kind) String() string {
	switch k {
	case NotSent:
		return "not_sent"
	case Refused:
		return "refused"
	case Complete:
		return "answered"
	case UnknownReference:
		return "unknown_reference"
	case Inconclusive:
		return "inconclusive"
	default:
		return "unclear"
	}
}

// Next says what a response asks the caller to do at once, under the same lease, after it has recorded the response.
type Next int

// The next steps.
const (
	// NextNone is nothing: the call is complete.
	NextNone Next = iota
	// NextSubmit is another call of Submit, with the provider's reference from this response. The provider has prepared
	// the document and sends it only when it is asked to.
	NextSubmit
	// NextStatus is a status query: the provider has responded as it describes, but not with a report ([Inconclusive]).
	NextStatus
)

// ErrorClass says at which stage a call failed. It is all that an adapter reports about a failure.
type ErrorClass string

// The error classes.
const (
	// ClassNone is a call that received a complete HTTP response with any status.
	ClassNone ErrorClass = ""
	// ClassDNS is a name that was not resolved.
	ClassDNS ErrorClass = "dns"
	// ClassConnect is a connection that was not made.
	ClassConnect ErrorClass = "connect"
	// ClassTLS is a handshake that failed, an untrusted certificate included.
	ClassTLS ErrorClass = "tls"
	// ClassTimeout is a call that took longer than the adapter's time-out or the caller's deadline.
	ClassTimeout ErrorClass = "timeout"
	// ClassProtocol is a connection that broke, or a response that violates the protocol.
	ClassProtocol ErrorClass = "protocol"
	// ClassCanceled is a call that its caller cancelled.
	ClassCanceled ErrorClass = "canceled"
	// ClassTooLarge is a response that is larger than what is retained.
	ClassTooLarge ErrorClass = "too_large"
	// ClassRedirect is a 3xx response; redirects are not followed.
	ClassRedirect ErrorClass = "redirect"
)

// The limits of a response.
const (
	// MaxResponse is the size of the largest retained response in bytes, except purchase documents.
	MaxResponse = 1 << 20
	// MaxPurchaseDocument is the size of the largest retained purchase document in bytes.
	MaxPurchaseDocument = 10 << 20
	// MaxPurchaseScan limits how many bytes of a larger purchase document are read for its digest.
	MaxPurchaseScan = 64 << 20
	// MaxRetryAfter is the longest wait that a provider can ask for.
	MaxRetryAfter = time.Hour
	// MaxPurchasePage is the largest number of purchases in one page.
	MaxPurchasePage = 100
)

// Response is the response to one call. It is evidence: it says nothing beyond what was seen.
type Response struct {
	// Kind is what the protocol says about the call.
	Kind Kind
	// HTTPStatus is the status code, 0 without an HTTP response.
	HTTPStatus int
	// MediaType is the Content-Type as sent: visible ASCII of at most 255 bytes, "" otherwise.
	MediaType string
	// Body holds the retained bytes, at most [MaxResponse] ([MaxPurchaseDocument] for a purchase document).
	Body []byte
	// Size is the number of bytes that were read. It exceeds len(Body) if the response is too large.
	Size int64
	// SHA256 is the lowercase hex digest of the whole body, "" if its end was not seen.
	SHA256 string
	// Truncated says that Body is not the whole body. A purchase document beyond [MaxPurchaseDocument] is
	// Complete, Truncated and [ClassTooLarge] with a nil Body: its Size and SHA256 are all that is kept, and SHA256 is
	// "" beyond [MaxPurchaseScan]. Any other truncated response is Ambiguous or Refused.
	Truncated bool
	// RetryAfter is the wait that the provider asked for, from 0 to [MaxRetryAfter].
	RetryAfter time.Duration
	// ErrorClass says what went wrong.
	ErrorClass ErrorClass
	// Echoed says that the status line, the headers or the body contain our credential in one of the forms of
	// [secret.NewEcho]. Such a body must be sealed and never shown.
	Echoed bool
	// Vocabulary is the table to read the body with if it is not that of the [Profile]; nil if it is.
	Vocabulary *invoice.Vocabulary
	// Next says what follows at once.
	Next Next
	// Settled says that no later response can say more about a document that the provider has taken. It is then polled
	// once a day, and later responses that are settled too are not retained, even if they differ, for instance in a signed
	// address.
	Settled bool
	// Earlier holds the responses to the other requests that the adapter made in the same call, oldest first. They are
	// retained as evidence, and nothing is read from them. They are not retained again as long as the response itself
	// stays the same, so it is the one that says most.
	Earlier []Response
	// Duration is the time from the call to the last byte read.
	Duration time.Duration
}

// After returns the response with the responses to the other requests of the same call.
func (r Response) After(earlier ...Response) Response {
	r.Earlier = earlier
	for i := range earlier {
		r.Duration += earlier[i].Duration
	}
	return r
}

// PurchasePage is one page of the provider's purchase documents.
type PurchasePage struct {
	// Purchases holds every entry of the page in the provider's order, the unreadable ones included.
	Purchases []Purchase
	// NextCursor is the cursor of the next page: the given cursor if the provider named none.
	NextCursor string
	// HasMore says that there is more after NextCursor. It is false if the cursor did not move, so that a caller cannot
	// loop over one page endlessly.
	HasMore bool
}

// Purchase is the provider's metadata of one purchase document, verbatim; "" means absent.
type Purchase struct {
	ID                string // the provider's identifier; "" if the entry has no readable one
	DocumentType      string
	InvoiceNumber     string
	SupplierName      string
	SupplierNetworkID string
	IssueDate         string
	DueDate           string
	Currency          string
	TotalAmount       string // the text of the JSON number
	SHA256            string // the digest as the provider claims it
	MediaType         string
	ReceivedAt        string
	// Unreadable says that the entry is not an object, has a member twice, or a member of the wrong type. The members that
	// could be read are filled in.
	Unreadable bool
	// Echoed says that the entry contains our credential, like [Response].Echoed. The entry is then Unreadable, only an ID
	// without the credential is filled in, and Raw must be sealed.
	Echoed bool
	// Raw is the entry as received.
	Raw []byte
}
