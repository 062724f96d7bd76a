package api

import "time"

// DocumentUnreadable is the document type of what the provider listed and could not be read or fetched. It is retained
// all the same (contract, section 8).
const DocumentUnreadable = "unreadable"

// IncomingInvoice is a purchase document that was retained from the provider, as its latest revision has it
// (specification, part 2.6; contract, section 8).
type IncomingInvoice struct {
	ID                 string `json:"id" format:"uuid" doc:"Identifier."`
	ProviderDocumentID string `json:"provider_document_id" doc:"The provider's identifier of the document; sha256: and a digest when it gave none that can be used." example:"P-2026-000017"`
	IncomingRevision
}

// IncomingRevision is one state of an incoming e-invoice. What the provider's metadata says is in its own
// words; a value that is absent, or has not the form of its field, is null. None of it is read from the document.
type IncomingRevision struct {
	Revision          int               `json:"revision" minimum:"1" doc:"Number of the revision, from 1; each has other bytes than the one before." example:"1"`
	DocumentType      *string           `json:"document_type" doc:"The provider's word for what it is; unreadable when the metadata or the document could not be read or fetched." example:"invoice"`
	InvoiceNumber     *string           `json:"invoice_number" doc:"Invoice number (EN 16931 BT-1), at most 64 characters." example:"SUP-4711"`
	SupplierName      *string           `json:"supplier_name" doc:"Seller name (BT-27), at most 256 characters." example:"Palm Trading LLC"`
	SupplierNetworkID *string           `json:"supplier_network_id" doc:"Seller identifier in the e-invoicing network (BT-34), at most 64 characters." example:"1234567890"`
	IssueDate         *string           `json:"issue_date" format:"date" doc:"Issue date (BT-2), YYYY-MM-DD." example:"2026-03-01"`
	DueDate           *string           `json:"due_date" format:"date" doc:"Payment due date (BT-9), YYYY-MM-DD." example:"2026-03-31"`
	Currency          *string           `json:"currency" doc:"Currency code (BT-5), three capital letters." example:"AED"`
	TotalAmount       *Decimal          `json:"total_amount" doc:"Invoice total with tax (BT-112), at most 18 digits." example:"1050.00"`
	ReceivedAt        *time.Time        `json:"received_at" doc:"When the provider received it, as it says (UTC)."`
	SHA256            string            `json:"sha256" doc:"Lowercase hex SHA-256 of the document's bytes; of the provider's metadata when the bytes were not had in full." example:"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"`
	Evidence          RetentionEvidence `json:"evidence" doc:"How the revision was retained."`
}

// RetentionEvidence describes how a revision was retained. The digests of an incoming e-invoice's revisions are a chain:
// each covers the one before.
type RetentionEvidence struct {
	RetainedAt       time.Time `json:"retained_at" doc:"When it was retained (UTC)."`
	MediaType        string    `json:"media_type" doc:"Content-Type of the document as it was sent, else as the metadata claims; empty when unknown." example:"application/xml"`
	Size             *int64    `json:"size" minimum:"0" doc:"Bytes of the document; null when they were not had in full." example:"18234"`
	DocumentRetained bool      `json:"document_retained" doc:"True when the document's bytes are kept; of more than 10 MiB only metadata and digest are."`
	Withheld         bool      `json:"withheld" doc:"True when document or metadata echo our credential: both are sealed and never shown."`
	MetadataSHA256   string    `json:"metadata_sha256" doc:"Lowercase hex SHA-256 of the provider's metadata as it came, which is kept too."`
	ClaimedSHA256    *string   `json:"claimed_sha256" doc:"The digest the provider's metadata claims; where sha256 differs, that is the truth."`
	Previous         string    `json:"previous" doc:"Chain digest of the revision before, all zeros for the first."`
	Digest           string    `json:"digest" doc:"Chain digest: SHA-256 over this revision and previous."`
}
