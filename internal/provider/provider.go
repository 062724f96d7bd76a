package provider

import (
	"context"
	"time"

	"quittance/internal/invoice"
)

// Adapter is one provider connection. It is safe for concurrent use. No method panics or returns later than the
// adapter's time-out, whatever the other side does.
type Adapter interface {
	// Submit sends one document. It never sends a document twice.
	Submit(ctx context.Context, doc Document) Response
	// Status queries what the provider has under a reference.
	Status(ctx context.Context, reference string) Response
	// Purchases requests the purchase documents after a cursor; "" is the beginning. limit is the maximum number of
	// entries, from 1 to 100; other values are moved into that range. The page is empty unless the response is
	// [Complete].
	Purchases(ctx context.Context, cursor string, limit int) (PurchasePage, Response)
	// PurchaseDocument requests the bytes of one purchase document.
	PurchaseDocument(ctx context.Context, id string) Response
	// Profile says how the adapter's responses are read.
	Profile() Profile
}

// Document is the document that a submission sends.
type Document struct {
	// Reference is the permanent reference: the submission id.
	Reference string
	// Body is the JSON text {reference, invoice, seller}. The caller makes it once, so that every resend of a reference
	// carries the same bytes.
	Body []byte
}

// Profile is what an adapter declares about itself.
type Profile struct {
	// Vocabulary says where a retained body holds the state values, and what they mean.
	Vocabulary invoice.Vocabulary
	// Idempotent says that the provider responds to a repeated reference with the document that it already has. Without it, a
	// document is sent again only if an administrator orders it.
	Idempotent bool
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
	// Refused is 401, 403 or 429. By the protocol, the provider sends these before it reads a document.
	Refused
	// Complete means that the response is complete: a body for invoice.ReadReport from Submit (200, 202) and Status (200), a
	// readable page from Purchases, the bytes from PurchaseDocument. The body of any other response is not read. The reader
	// decides whether the body is a report.
	Complete
	// UnknownReference is 404 with the code unknown_reference in response to a GET: the provider has no such document.
	UnknownReference
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
	default:
		return "unclear"
	}
}

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
	// Duration is the time from the call to the last byte read.
	Duration time.Duration
}

// PurchasePage is one page of the provider's purchase documents.
type PurchasePage struct {
	// Purchases holds every entry of the page in the provider's order, the unreadable ones included.
	Purchases []Purchase
	// NextCursor is the cursor of the next page: the given cursor if the provider named none.
	NextCursor string
	// HasMore says that there is more after NextCursor. It is false if the cursor did not move, so that a caller cannot loop
	// over one page endlessly.
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
