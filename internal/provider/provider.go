package provider

import (
	"context"
	"time"

	"quittance/internal/invoice"
)

// Adapter is one provider connection. It is safe for concurrent use. No method panics or returns later than the
// adapter's time-out, whatever the other side does.
type Adapter interface {
	// Submit sends one document. It never sends it twice.
	Submit(ctx context.Context, doc Document) Response
	// Status asks what the provider has under a reference.
	Status(ctx context.Context, reference string) Response
	// Purchases asks for the purchase documents behind a cursor; "" is the beginning. limit is the largest number
	// wanted, from 1 to 100; other values are moved into that range. The page is empty unless the answer is [Answered].
	Purchases(ctx context.Context, cursor string, limit int) (PurchasePage, Response)
	// PurchaseDocument asks for the bytes of one purchase document.
	PurchaseDocument(ctx context.Context, id string) Response
	// Profile declares how the adapter's answers are to be read.
	Profile() Profile
}

// Document is what a submission sends.
type Document struct {
	// Reference is the permanent reference: the submission id.
	Reference string
	// Body is the JSON text {reference, invoice, seller}. It is made once by the caller, so that every repeat of a
	// reference carries the same bytes.
	Body []byte
}

// Profile is what an adapter declares about itself.
type Profile struct {
	// Vocabulary says where in a retained body the words stand and what they mean.
	Vocabulary invoice.Vocabulary
	// Idempotent tells that a repeat of a reference is answered with the document it has. Without it nothing is ever
	// sent again by itself.
	Idempotent bool
	// EchoesCredential tells whether a text holds the connection's credential in one of the forms of [Response].Echoed; nil where
	// there is no credential. What is read from an echoed answer has to be asked about before it is kept.
	EchoesCredential func(text string) bool
}

// Kind is what the protocol says about one call.
type Kind int

// The kinds of an answer. The zero value is the one that claims least.
const (
	// Ambiguous is everything that is none of the others: the request may have been read and acted upon.
	Ambiguous Kind = iota
	// NotSent means that certainly no byte of the request left this process.
	NotSent
	// Refused is 401, 403 or 429, which the protocol answers before it reads a document.
	Refused
	// Answered means that the answer came whole: for Submit (200, 202) and Status (200) a body for
	// invoice.ReadReport, for Purchases a readable page, for PurchaseDocument the bytes. Only then is the body worth
	// reading; whether it is a document is for the reader to say.
	Answered
	// UnknownReference is 404 with the code unknown_reference, on a question: the provider has no such document.
	UnknownReference
)

// String returns the kind's name for logs and metrics.
func (k Kind) String() string {
	switch k {
	case NotSent:
		return "not_sent"
	case Refused:
		return "refused"
	case Answered:
		return "answered"
	case UnknownReference:
		return "unknown_reference"
	default:
		return "unclear"
	}
}

// ErrorClass says at which stage a call went wrong; it is the only thing that is told about a failure.
type ErrorClass string

// The error classes.
const (
	// ClassNone is a call that got a whole HTTP answer, whatever its status.
	ClassNone ErrorClass = ""
	// ClassDNS is a name that was not resolved.
	ClassDNS ErrorClass = "dns"
	// ClassConnect is a connection that was not made.
	ClassConnect ErrorClass = "connect"
	// ClassTLS is a handshake that failed, an untrusted certificate included.
	ClassTLS ErrorClass = "tls"
	// ClassTimeout is a call that took longer than the adapter's time-out or the caller's deadline.
	ClassTimeout ErrorClass = "timeout"
	// ClassProtocol is a connection that broke, or an answer that is not what the protocol says.
	ClassProtocol ErrorClass = "protocol"
	// ClassCanceled is a call that its caller gave up.
	ClassCanceled ErrorClass = "canceled"
	// ClassTooLarge is an answer larger than what is retained.
	ClassTooLarge ErrorClass = "too_large"
	// ClassRedirect is an answer 3xx; redirects are not followed.
	ClassRedirect ErrorClass = "redirect"
)

// The bounds of an answer.
const (
	// MaxResponse is the largest retained answer in bytes, purchase documents aside (contract, section 11).
	MaxResponse = 1 << 20
	// MaxPurchaseDocument is the largest retained purchase document in bytes (contract, section 11).
	MaxPurchaseDocument = 10 << 20
	// MaxPurchaseScan bounds how many bytes of a larger purchase document are read for its digest alone.
	MaxPurchaseScan = 64 << 20
	// MaxRetryAfter is the longest wait a provider can ask for.
	MaxRetryAfter = time.Hour
	// MaxPurchasePage is the largest number of purchases in one page.
	MaxPurchasePage = 100
)

// Response is what came back from one call. It is evidence: it says nothing beyond what was seen.
type Response struct {
	// Kind is what the protocol says about the call.
	Kind Kind
	// HTTPStatus is the status code, 0 when no answer came.
	HTTPStatus int
	// MediaType is the Content-Type as sent: visible ASCII of at most 255 bytes, "" otherwise.
	MediaType string
	// Body holds the retained bytes, at most [MaxResponse] ([MaxPurchaseDocument] for a purchase document).
	Body []byte
	// Size is the number of bytes that were read, which is more than len(Body) for an answer that is too large.
	Size int64
	// SHA256 is the lowercase hex digest of the whole answer body, "" when its end was not seen.
	SHA256 string
	// Truncated tells that Body is not the whole answer. A purchase document beyond [MaxPurchaseDocument] is
	// Answered, Truncated and [ClassTooLarge] with a nil Body: its Size and SHA256 are all that is kept, and SHA256 is
	// "" beyond [MaxPurchaseScan]. Any other truncated answer is Ambiguous or Refused.
	Truncated bool
	// RetryAfter is the wait the provider asked for, from 0 to [MaxRetryAfter].
	RetryAfter time.Duration
	// ErrorClass says what went wrong.
	ErrorClass ErrorClass
	// Echoed tells that the status line, the headers or the body hold our credential in one of the forms of
	// [secret.NewEcho]. Such a body must be sealed, and never shown.
	Echoed bool
	// Duration is the time from the call to the last byte read.
	Duration time.Duration
}

// PurchasePage is one page of the provider's purchase documents.
type PurchasePage struct {
	// Purchases holds every entry of the page in the provider's order, the unreadable ones included.
	Purchases []Purchase
	// NextCursor is where to go on: the given cursor when the provider named none.
	NextCursor string
	// HasMore tells that more is waiting behind NextCursor. It is false when the cursor did not move, so that a page
	// cannot be asked for in an endless loop.
	HasMore bool
}

// Purchase is the provider's metadata of one purchase document, verbatim; "" means absent.
type Purchase struct {
	ID                string // the provider's identifier; "" when the entry has none that can be read
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
	// Unreadable tells that the entry is no object, has a member twice, or a member of the wrong type. What could be
	// read of it is filled in all the same.
	Unreadable bool
	// Echoed tells that the entry holds our credential, as [Response].Echoed does. It is then Unreadable, and of its values
	// only an ID that does not hold it is filled in. Raw must be sealed.
	Echoed bool
	// Raw is the entry as it came.
	Raw []byte
}
