package api

import "time"

// DocumentUnreadable is the document type of a document that the provider listed and that could not be read or fetched.
// It is retained all the same.
const DocumentUnreadable = "unreadable"

// IncomingInvoice is the latest revision of a purchase document that was retained from the provider.
type IncomingInvoice struct {
	ID                 string `json:"id" format:"uuid" doc:"Identifier."`
	ProviderDocumentID string `json:"provider_document_id" doc:"The provider's identifier of the document; sha256: and a digest if the provider gave no usable one." example:"P-2026-000017"`
	IncomingRevision
}

// IncomingRevision is one revision of an incoming e-invoice. The values of the provider's metadata are verbatim; a
// value that is absent or malformed is null. None of them is read from the document.
type IncomingRevision struct {
	Revision          int               `json:"revision" minimum:"1" doc:"Number of the revision, from 1. Its bytes differ from those of the previous revision." example:"1"`
	DocumentType      *string           `json:"document_type" doc:"The provider's document type; unreadable if the metadata or the document could not be read or fetched." example:"invoice"`
	InvoiceNumber     *string           `json:"invoice_number" doc:"Invoice number (EN 16931 BT-1), at most 64 characters." example:"SUP-4711"`
	SupplierName      *string           `json:"supplier_name" doc:"Seller name (BT-27), at most 256 characters." example:"Palm Trading LLC"`
	SupplierNetworkID *string           `json:"supplier_network_id" doc:"Seller identifier in the e-invoicing network (BT-34), at most 64 characters." example:"1234567890"`
	IssueDate         *string           `json:"issue_date" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-01"`
	DueDate           *string           `json:"due_date" format:"date" doc:"Payment due date (BT-9), YYYY-MM-DD." example:"2026-03-31"`
	Currency          *string           `json:"currency" doc:"Currency code (BT-5), three capital letters." example:"AED"`
	TotalAmount       *Decimal          `json:"total_amount" doc:"Invoice total with tax (BT-112), at most 18 digits." example:"1050.00"`
	ReceivedAt        *time.Time        `json:"received_at" doc:"When the provider received it, according to the provider (UTC)."`
	SHA256            string            `json:"sha256" doc:"Lowercase hex SHA-256 of the document's bytes, or of the provider's metadata if the document was not received completely." example:"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	Evidence          RetentionEvidence `json:"evidence" doc:"How the revision was retained."`
}

// RetentionEvidence describes how a revision was retained. The digests of the revisions of an incoming e-invoice are a
// chain: each covers the previous one.
type RetentionEvidence struct {
	RetainedAt       time.Time `json:"retained_at" doc:"When it was retained (UTC)."`
	MediaType        string    `json:"media_type" doc:"Content-Type of the document as it was sent, or else as the metadata claim; empty if unknown." example:"application/xml"`
	Size             *int64    `json:"size" minimum:"0" doc:"Size of the document in bytes; null if it was not received completely." example:"18234"`
	DocumentRetained bool      `json:"document_retained" doc:"True if the document's bytes are retained. Of a document of more than 10 MiB, only metadata and digest are."`
	Withheld         bool      `json:"withheld" doc:"True if document or metadata contain our credential; both are then sealed and never shown."`
	MetadataSHA256   string    `json:"metadata_sha256" doc:"Lowercase hex SHA-256 of the provider's metadata as received, which are retained too."`
	ClaimedSHA256    *string   `json:"claimed_sha256" doc:"The digest that the provider's metadata claim. If sha256 differs, sha256 is correct."`
	Previous         string    `json:"previous" doc:"Chain digest of the previous revision; all zeros for the first."`
	Digest           string    `json:"digest" doc:"Chain digest: SHA-256 over this revision and previous."`
}
