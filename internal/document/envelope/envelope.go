// Package envelope has the form in which every submission is stored and given to an adapter: what the customer wrote,
// who sold, and the rendered document. [Envelope.Marshal] writes it, [Read] reads it, and [ReadSent] says what was
// sent.
package envelope

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document"
)

// Envelope is the body of the provider protocol's POST /v1/documents, and the form in which every submission is stored:
// what the customer wrote, the company profile of that moment and, over a connection with a document format, the
// document in that format.
type Envelope struct {
	Reference string `json:"reference"`
	// Invoice is the invoice; for a credit note the credited one, as it was submitted.
	Invoice *api.Draft   `json:"invoice"`
	Seller  *api.Profile `json:"seller"`
	// CreditNote is the credit note; nil for an invoice.
	CreditNote *CreditNote `json:"credit_note,omitempty"`
	// Document is the rendered document; nil over a connection without a document format.
	Document *File `json:"document,omitempty"`
}

// CreditNote is a credit note as the provider protocol carries it. Its fields are those of [api.CreditNote].
type CreditNote struct {
	Number      string               `json:"credit_note_number"`
	IssueDate   string               `json:"issue_date"`
	Reason      string               `json:"reason"`
	ReasonCode  *string              `json:"reason_code"`
	Kind        api.CreditKind       `json:"kind"`
	TotalAmount api.Amount           `json:"total_amount"`
	Items       []api.CreditNoteItem `json:"items"`
}

// File is a document in a document format.
type File struct {
	// Profile names the document format, such as pint-ae.
	Profile   string `json:"profile"`
	MediaType string `json:"media_type"`
	Body      []byte `json:"body_base64"`
	// SHA256 is the lowercase hex digest of Body.
	SHA256 string `json:"sha256"`
}

// NewXMLFile returns an XML document in a document format, with its digest.
func NewXMLFile(profile document.Profile, body []byte) *File {
	return &File{Profile: string(profile), MediaType: "application/xml", Body: body, SHA256: digest(body)}
}

// digest returns the lowercase hex SHA-256 of a body.
func digest(body []byte) string {
	sum := sha256.Sum256(body)
	return hex.EncodeToString(sum[:])
}

// Marshal returns the envelope as JSON, the same bytes for the same envelope.
func (e Envelope) Marshal() ([]byte, error) {
	return json.Marshal(e, json.OmitZeroStructFields(true), json.WithMarshalers(json.MarshalToFunc(marshalItem)))
}

// marshalItem writes an item of a credit note with all of its fields, because position 0 is a value.
func marshalItem(out *jsontext.Encoder, item api.CreditNoteItem) error {
	return json.MarshalEncode(out, item, json.OmitZeroStructFields(false), json.WithMarshalers(nil))
}

// The errors of [Read].
var (
	errNoInvoice = errors.New("the document contains no invoice")
	errDigest    = errors.New("the digest of the document does not match")
)

// Read is the reverse of [Envelope.Marshal]. It returns an error if there is no invoice, or if the digest of
// the document does not match. Seller is never nil.
func Read(text []byte) (Envelope, error) {
	e := Envelope{Seller: &api.Profile{}}
	if err := json.Unmarshal(text, &e); err != nil {
		return Envelope{}, fmt.Errorf("read the document: %w", err)
	}
	if e.Invoice == nil {
		return Envelope{}, errNoInvoice
	}
	if e.Seller == nil {
		e.Seller = &api.Profile{}
	}
	if e.Document != nil && digest(e.Document.Body) != e.Document.SHA256 {
		return Envelope{}, errDigest
	}
	return e, nil
}

// Credit returns the credit note of an envelope, with the fields that a document has; nil for an invoice.
func (e Envelope) Credit() *api.CreditNote {
	n := e.CreditNote
	if n == nil {
		return nil
	}
	note := &api.CreditNote{CreditNoteNumber: n.Number, IssueDate: n.IssueDate, Reason: n.Reason,
		ReasonCode: n.ReasonCode, Kind: n.Kind, TotalAmount: n.TotalAmount, Items: n.Items}
	if e.Invoice.Currency != nil {
		note.Currency = *e.Invoice.Currency
	}
	return note
}

// Sent is what a submission sent.
type Sent struct {
	// Invoice is the invoice; for a credit note the credited one.
	Invoice *api.Draft
	Seller  *api.Profile
	// Credit is the credit note with the fields that a document has; nil for an invoice.
	Credit *api.CreditNote
	// Format names the document format of Text, which is the rendered document. Both are empty if the connection had no
	// format.
	Format string
	Text   []byte
}

// ReadSent returns what the document of a submission contains. The errors are those of [Read].
func ReadSent(text []byte) (Sent, error) {
	e, err := Read(text)
	if err != nil {
		return Sent{}, err
	}
	sent := Sent{Invoice: e.Invoice, Seller: e.Seller, Credit: e.Credit()}
	if d := e.Document; d != nil {
		sent.Format, sent.Text = d.Profile, d.Body
	}
	return sent, nil
}
