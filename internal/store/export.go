package store

import (
	"bytes"
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"quittance/api"
)

// exportFormat names the form of an exported file.
const exportFormat = "quittance-evidence-v2"

// export is everything retained about one invoice, or one incoming e-invoice, in a form that verifies without the
// database. docs/operations.md says how.
type export struct {
	Format      string             `json:"format"`
	InvoiceID   *ID                `json:"invoice_id,omitempty"`
	Submissions []exportSubmission `json:"submissions,omitempty"`
	Incoming    *exportIncoming    `json:"incoming,omitempty"`
	// Digest covers what no chain does: the documents that were sent, and where each chain ends.
	Digest hexDigest `json:"digest"`
}

type exportSubmission struct {
	ID       ID     `json:"id"`
	Number   string `json:"invoice_number"`
	Document string `json:"document"`
	// Count and Head are the number of entries and the digest of the last, as they stand outside the chain.
	Count   int64         `json:"count"`
	Head    hexDigest     `json:"head"`
	Entries []exportEntry `json:"entries"`
}

type exportEntry struct {
	ID         ID        `json:"id"`
	Ordinal    int64     `json:"ordinal"`
	ReceivedAt time.Time `json:"received_at"`
	Call       string    `json:"call"`
	HTTPStatus int       `json:"http_status"`
	MediaType  string    `json:"media_type"`
	Body       []byte    `json:"body,omitempty"` // absent when withheld
	SHA256     hexDigest `json:"sha256"`
	Truncated  bool      `json:"truncated"`
	Withheld   bool      `json:"withheld"`
	// Words is the text that the digest covers, JSON in a string, so that nobody who formats the file changes it.
	Words    string    `json:"words"`
	Previous hexDigest `json:"previous"`
	Digest   hexDigest `json:"digest"`
}

type exportIncoming struct {
	ID                 ID               `json:"id"`
	ProviderDocumentID string           `json:"provider_document_id"`
	Count              int64            `json:"count"`
	Head               hexDigest        `json:"head"`
	Revisions          []exportRevision `json:"revisions"`
}

type exportRevision struct {
	Revision          int64        `json:"revision"`
	RetainedAt        time.Time    `json:"retained_at"`
	DocumentType      *string      `json:"document_type"`
	InvoiceNumber     *string      `json:"invoice_number"`
	SupplierName      *string      `json:"supplier_name"`
	SupplierNetworkID *string      `json:"supplier_network_id"`
	IssueDate         *string      `json:"issue_date"`
	DueDate           *string      `json:"due_date"`
	Currency          *string      `json:"currency"`
	TotalAmount       *api.Decimal `json:"total_amount"`
	ClaimedSHA256     *string      `json:"claimed_sha256"`
	ReceivedAt        *time.Time   `json:"received_at"`
	Size              *int64       `json:"size"`
	MediaType         string       `json:"media_type"`
	Body              []byte       `json:"body,omitempty"`     // absent when not retained, or withheld
	Metadata          []byte       `json:"metadata,omitempty"` // absent when withheld
	SHA256            hexDigest    `json:"sha256"`
	MetadataSHA256    hexDigest    `json:"metadata_sha256"`
	Retained          bool         `json:"retained"`
	Withheld          bool         `json:"withheld"`
	Previous          hexDigest    `json:"previous"`
	Digest            hexDigest    `json:"digest"`
}

// hexDigest is a digest that is lower-case hexadecimal in JSON.
type hexDigest [32]byte

// MarshalText returns the digits.
func (d hexDigest) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(d[:])), nil }

// UnmarshalText reads exactly 64 digits.
func (d *hexDigest) UnmarshalText(text []byte) error {
	if len(text) != hex.EncodedLen(len(d)) {
		return errors.New("not a digest of 32 bytes")
	}
	_, err := hex.Decode(d[:], text)
	return err
}

// digest covers what no chain does.
func (x *export) digest() [32]byte {
	hash := newChain("quittance/export/v2")
	if x.InvoiceID != nil {
		hash.field(x.InvoiceID[:])
	}
	for _, s := range x.Submissions {
		hash.field(s.ID[:])
		hash.field([]byte(s.Number))
		hash.field([]byte(s.Document))
		hash.number(s.Count)
		hash.field(s.Head[:])
	}
	if x.Incoming != nil {
		hash.field(x.Incoming.ID[:])
		hash.number(x.Incoming.Count)
		hash.field(x.Incoming.Head[:])
	}
	return hash.sum()
}

// text is the file.
func (x *export) text() ([]byte, error) { return json.MarshalIndent(x, "", "  ") }

// ExportEvidence returns everything retained about one invoice, or one incoming e-invoice, as JSON, and the digest of the
// file as [VerifyExport] gives it. Withheld bodies stay here: the digests stand for them.
func (db *DB) ExportEvidence(ctx context.Context, id ID) (text []byte, digest [32]byte, err error) {
	incoming := false
	tenant, err := db.holder(ctx, func(t *Tenant) error {
		_, err := t.Invoice(ctx, id)
		if errors.Is(err, ErrNotFound) {
			_, err = t.IncomingInvoice(ctx, id)
			incoming = err == nil
		}
		return err
	})
	if err != nil {
		return nil, digest, err
	}
	out := export{Format: exportFormat}
	err = tenant.read(func(q querier) error {
		if incoming {
			return tenant.exportIncoming(ctx, q, id, &out)
		}
		return tenant.exportInvoice(ctx, q, id, &out)
	})
	if err != nil {
		return nil, digest, err
	}
	out.Digest = out.digest()
	text, err = out.text()
	return text, out.Digest, err
}

// exportInvoice adds the chains of all submissions of an invoice, each as far as its head says: what is appended
// meanwhile belongs to the next export.
func (t *Tenant) exportInvoice(ctx context.Context, q querier, id ID, out *export) error {
	out.InvoiceID = &id
	submissions, err := collect(ctx, q, scanSubmission, `select `+t.db.submissionColumns()+` from submissions where tenant_id = $1 and invoice_id = $2 order by ordinal`, t.id, id)
	if err != nil {
		return err
	}
	for _, s := range submissions {
		document, err := t.document(ctx, q, s.ID)
		if err != nil {
			return err
		}
		part := exportSubmission{ID: s.ID, Number: s.Number, Document: string(document), Count: s.Evidence}
		copy(part.Head[:], s.head)
		part.Entries, err = collect(ctx, q, scanExportEntry,
			`select `+evidenceColumns+`, body from evidence where tenant_id = $1 and submission_id = $2 and ordinal <= $3 order by ordinal`, t.id, s.ID, s.Evidence)
		if err != nil {
			return err
		}
		out.Submissions = append(out.Submissions, part)
	}
	return nil
}

func scanExportEntry(row scanner) (exportEntry, error) {
	var body []byte
	e, err := scanEvidence(row, &body)
	if e.Withheld {
		body = nil
	}
	return exportEntry{ID: e.ID, Ordinal: e.Ordinal, ReceivedAt: e.ReceivedAt, Call: e.Call, HTTPStatus: e.HTTPStatus, MediaType: e.MediaType,
		Body: body, SHA256: e.SHA256, Truncated: e.Truncated, Withheld: e.Withheld, Words: e.words, Previous: e.Previous, Digest: e.Digest}, err
}

// exportIncoming is the same for an incoming e-invoice.
func (t *Tenant) exportIncoming(ctx context.Context, q querier, id ID, out *export) error {
	part := exportIncoming{ID: id}
	var head []byte
	if err := q.QueryRowContext(ctx, `select provider_document_id, revision, head from incoming where tenant_id = $1 and id = $2`, t.id, id).
		Scan(&part.ProviderDocumentID, &part.Count, &head); err != nil {
		return err
	}
	copy(part.Head[:], head)
	var err error
	part.Revisions, err = collect(ctx, q, scanExportRevision, `select `+revisionColumns+`, r.body, r.metadata`+fromRevisions+
		`i.id = $2 and r.revision <= $3 order by r.revision`, t.id, id, part.Count)
	out.Incoming = &part
	return err
}

func scanExportRevision(row scanner) (exportRevision, error) {
	var body, metadata []byte
	r, err := scanRevision(row, &body, &metadata)
	if r.Withheld {
		body, metadata = nil, nil
	}
	return exportRevision{Revision: r.Revision, RetainedAt: r.RetainedAt, DocumentType: r.DocumentType, InvoiceNumber: r.InvoiceNumber,
		SupplierName: r.SupplierName, SupplierNetworkID: r.SupplierNetworkID, IssueDate: r.IssueDate, DueDate: r.DueDate, Currency: r.Currency,
		TotalAmount: r.TotalAmount, ClaimedSHA256: r.ClaimedSHA256, ReceivedAt: r.ReceivedAt, Size: r.Size, MediaType: r.MediaType,
		Body: body, Metadata: metadata, SHA256: r.SHA256, MetadataSHA256: r.MetadataSHA256, Retained: r.Retained, Withheld: r.Withheld,
		Previous: r.Previous, Digest: r.Digest}, err
}

// The ways in which a file as a whole is not what ExportEvidence writes.
var (
	errExport       = errors.New("not an export of evidence")
	errExportForm   = errors.New("the file is not written as it was exported: something was added, left out or formatted anew")
	errExportDigest = errors.New("the file's digest is not that of what it says: a document or the end of a chain was altered, or a submission added, moved or left out")
)

// VerifyExport recomputes every digest of an exported file and returns the number of entries and the digest of the file,
// or the first fault. Only what whoever holds the file knows from elsewhere, be it this digest, tells it from one that
// somebody else wrote as a whole.
func VerifyExport(text []byte) (entries int, digest [32]byte, err error) {
	var in export
	if err := json.Unmarshal(text, &in); err != nil || in.Format != exportFormat {
		return 0, digest, errors.Join(errExport, err)
	}
	for _, s := range in.Submissions {
		if entries, err = verifyExported(entries, kindSubmission, s.ID, end{s.Count, s.Head}, s.Entries, func(e exportEntry) link { return e.link(s.ID) }); err != nil {
			return entries, digest, err
		}
	}
	if i := in.Incoming; i != nil {
		if entries, err = verifyExported(entries, kindIncoming, i.ID, end{i.Count, i.Head}, i.Revisions, func(r exportRevision) link { return r.link(i) }); err != nil {
			return entries, digest, err
		}
	}
	if in.Digest != in.digest() {
		return entries, digest, errExportDigest
	}
	// Unknown, repeated and misspelt names, and whatever else two readers could read in two ways.
	if again, err := in.text(); err != nil || !bytes.Equal(again, bytes.TrimRight(text, "\n")) {
		return entries, digest, errors.Join(errExportForm, err)
	}
	return entries, in.Digest, nil
}

// verifyExported verifies one chain of a file and returns the number of good entries, those before it included.
func verifyExported[E any](before int, kind string, of ID, want end, chain []E, read func(E) link) (entries int, err error) {
	var at end
	what := ""
	for _, e := range chain {
		if what = at.take(read(e), want); what != "" {
			break
		}
	}
	if what == "" {
		what = at.short(want)
	}
	entries = before + int(at.count)
	if what != "" {
		return entries, EvidenceError{Kind: kind, Of: of, Ordinal: at.count + 1, What: what}
	}
	return entries, nil
}

func (x exportEntry) link(submission ID) link {
	e := Evidence{ID: x.ID, Submission: submission, Ordinal: x.Ordinal, ReceivedAt: x.ReceivedAt, SHA256: x.SHA256, Previous: x.Previous, Digest: x.Digest, words: x.Words}
	e.NewEvidence = NewEvidence{Call: x.Call, HTTPStatus: x.HTTPStatus, MediaType: x.MediaType, Truncated: x.Truncated, Withheld: x.Withheld}
	return e.link(x.Body, x.Body != nil || !x.Withheld)
}

func (x exportRevision) link(of *exportIncoming) link {
	r := Revision{Incoming: of.ID, Revision: x.Revision, RetainedAt: x.RetainedAt, SHA256: x.SHA256, MetadataSHA256: x.MetadataSHA256,
		Previous: x.Previous, Digest: x.Digest}
	r.NewIncoming = NewIncoming{ProviderDocumentID: of.ProviderDocumentID, DocumentType: x.DocumentType, InvoiceNumber: x.InvoiceNumber,
		SupplierName: x.SupplierName, SupplierNetworkID: x.SupplierNetworkID, IssueDate: x.IssueDate, DueDate: x.DueDate, Currency: x.Currency,
		TotalAmount: x.TotalAmount, ReceivedAt: x.ReceivedAt, ClaimedSHA256: x.ClaimedSHA256, MediaType: x.MediaType, Retained: x.Retained,
		Size: x.Size, Withheld: x.Withheld}
	return r.link(x.Body, x.Metadata, x.Body != nil || x.Metadata != nil || !x.Withheld)
}
