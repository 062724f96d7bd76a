package proof

import (
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// exportFormat names the format of an exported file.
const exportFormat = "quittance-evidence-v3"

// export is everything that is retained and shown about one invoice, one credit note or one incoming e-invoice, in a
// form that can be verified without the database; docs/ops/evidence.md describes how.
type export struct {
	Format    string   `json:"format"`
	InvoiceID *base.ID `json:"invoice_id,omitempty"`
	// CreditNoteID is the credit note; InvoiceID is then the credited invoice.
	CreditNoteID *base.ID           `json:"credit_note_id,omitempty"`
	Submissions  []exportSubmission `json:"submissions,omitempty"`
	Incoming     *exportIncoming    `json:"incoming,omitempty"`
	// PublicKey verifies Signature, which signs Digest: the SHA-256 of this file with zeros in place of both.
	PublicKey hexBytes  `json:"public_key"`
	Digest    hexDigest `json:"digest"`
	Signature hexBytes  `json:"signature"`
}

type exportSubmission struct {
	ID     base.ID `json:"id"`
	Number string  `json:"invoice_number"`
	// CreditNoteNumber is the number of the credit note that was sent, if it was one.
	CreditNoteNumber *string `json:"credit_note_number,omitempty"`
	ConnectionKind   string  `json:"connection_kind"`
	// Found reports that it was sealed by [SealEvidence].
	Found bool `json:"sealed_as_found"`
	// Document is the exact document that was sent.
	Document          string                 `json:"document"`
	Outcome           api.Outcome            `json:"outcome"`
	AttemptedAt       time.Time              `json:"attempted_at"`
	SentAt            time.Time              `json:"sent_at"`
	LastCheckedAt     *time.Time             `json:"last_checked_at"`
	LastStatus        int                    `json:"last_status"`
	LastSHA256        hexDigest              `json:"last_sha256"`
	TerminalAt        *time.Time             `json:"terminal_at"`
	ProviderReference *string                `json:"provider_reference"`
	Sequence          *int64                 `json:"sequence"`
	Resolved          *exportResolution      `json:"resolved"`
	States            map[string]exportState `json:"states"`
	// Count and Head are the number of entries and the digest of the last, from the row of the submission.
	Count   int64         `json:"count"`
	Head    hexDigest     `json:"head"`
	Entries []exportEntry `json:"entries"`
}

type exportResolution struct {
	By             string     `json:"by"`
	At             time.Time  `json:"at"`
	Decision       string     `json:"decision"`
	Reason         string     `json:"reason"`
	ContradictedAt *time.Time `json:"contradicted_at"`
}

type exportState struct {
	Value      string      `json:"value"`
	Final      bool        `json:"final"`
	Meaning    api.Meaning `json:"meaning,omitempty"`
	ReportedAt time.Time   `json:"reported_at"`
	EvidenceID base.ID     `json:"evidence_id"`
}

type exportEntry struct {
	ID         base.ID   `json:"id"`
	Ordinal    int64     `json:"ordinal"`
	ReceivedAt time.Time `json:"received_at"`
	Call       string    `json:"call"`
	HTTPStatus int       `json:"http_status"`
	MediaType  string    `json:"media_type"`
	Body       []byte    `json:"body,omitempty"` // absent when withheld
	SHA256     hexDigest `json:"sha256"`
	Truncated  bool      `json:"truncated"`
	Withheld   bool      `json:"withheld"`
	// Words is the JSON of the state values, and Report that of the report. They are strings, because the digest covers
	// their exact text, which a reformatted file would change.
	Words string `json:"words"`
	// Report and Events are null in an entry of a version that did not retain them.
	Report   *string   `json:"report"`
	Events   *hexBytes `json:"events"`
	Previous hexDigest `json:"previous"`
	Digest   hexDigest `json:"digest"`
}

type exportIncoming struct {
	ID                 base.ID          `json:"id"`
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
	Events            *hexBytes    `json:"events"` // null in a revision of a version that did not retain it
	Previous          hexDigest    `json:"previous"`
	Digest            hexDigest    `json:"digest"`
}

// hexDigest is a digest that JSON holds as lower-case hexadecimal digits.
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

// hexBytes are bytes that JSON holds as lower-case hexadecimal digits.
type hexBytes []byte

// MarshalText returns the digits.
func (b hexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText reads the digits.
func (b *hexBytes) UnmarshalText(text []byte) error {
	raw, err := hex.DecodeString(string(text))
	*b = raw
	return err
}

// text returns the file.
func (x *export) text() ([]byte, error) { return json.MarshalIndent(x, "", "  ") }

// digest returns the digest of the file; see [export].PublicKey.
func (x *export) digest() ([32]byte, error) {
	plain := *x
	plain.Digest, plain.Signature = hexDigest{}, make(hexBytes, ed25519.SignatureSize)
	text, err := plain.text()
	return sha256.Sum256(text), err
}

// signedText returns the bytes that the signature of a file covers.
func (x *export) signedText(digest [32]byte) []byte { return append([]byte(x.Format), digest[:]...) }

// Export returns everything retained about one invoice, one credit note or one incoming e-invoice, as JSON that is
// signed with the key of [base.DB.EvidenceKey], and the digest of the file; see [VerifyExport]. It verifies the
// evidence first, and returns an [EvidenceError] instead of a file if the evidence was changed. Withheld bodies are
// left out; their digests are included.
func Export(ctx context.Context, db *base.DB, id base.ID, replay Replay) (text []byte, digest [32]byte, err error) {
	subject, fill := "invoice", (*verification).exportInvoice
	tenant, err := db.FindTenant(ctx, func(t *base.Tenant) error {
		_, err := invoices.Find(ctx, t, id)
		if errors.Is(err, base.ErrNotFound) {
			if _, err = invoices.FindCreditNote(ctx, t, id); err == nil {
				subject, fill = "credit_note", (*verification).exportCreditNote
			}
		}
		if errors.Is(err, base.ErrNotFound) {
			if _, err = incoming.Find(ctx, t, id); err == nil {
				subject, fill = "incoming_invoice", (*verification).exportIncoming
			}
		}
		return err
	})
	if err != nil {
		return nil, digest, err
	}
	record, err := db.EvidenceRecord(ctx, db.Querier())
	if err != nil {
		return nil, digest, db.Classify(err)
	}
	out := export{Format: exportFormat, PublicKey: hexBytes(record.PublicKey())}
	err = tenant.Read(func(q base.Querier) error {
		v := &verification{t: tenant, q: q, replay: replay}
		if err := v.begin(ctx); err != nil {
			return err
		}
		return fill(v, ctx, id, &out)
	})
	if err != nil {
		return nil, digest, err
	}
	if digest, err = out.digest(); err != nil {
		return nil, digest, err
	}
	out.Digest, out.Signature = digest, ed25519.Sign(record.Key, out.signedText(digest))
	if text, err = out.text(); err != nil {
		return nil, digest, err
	}
	return text, digest, db.RecordAudit(ctx, base.Act{Name: "evidence.export", Account: tenant.Account(),
		SubjectType: subject, Subject: id.String(), Details: map[string]string{"digest": hex.EncodeToString(digest[:])}})
}

// verifyForExport verifies one row that will be exported.
func (v *verification) verifyForExport(ctx context.Context, s subject, id base.ID) error {
	if err := v.verifyOne(ctx, s, id); err != nil {
		return err
	}
	if len(v.out.Faults) > 0 {
		return v.out.Faults[0]
	}
	return nil
}

// exportInvoice adds the chains of all submissions of an invoice, each up to the head that its row has: entries that
// are appended meanwhile belong to the next export.
func (v *verification) exportInvoice(ctx context.Context, id base.ID, out *export) error {
	out.InvoiceID = &id
	ids, err := base.Collect(ctx, v.q, base.ScanValue[base.ID],
		`select id from submissions where tenant_id = $1 and invoice_id = $2 and credit_note_id is null order by ordinal`,
		v.t.ID(), id)
	if err != nil {
		return err
	}
	return v.exportSubmissions(ctx, ids, out)
}

// exportCreditNote adds the chains of all submissions of a credit note, as [verification.exportInvoice] does for an
// invoice.
func (v *verification) exportCreditNote(ctx context.Context, id base.ID, out *export) error {
	note, err := invoices.ReadCreditNote(ctx, v.t, v.q, id)
	if err != nil {
		return err
	}
	out.InvoiceID, out.CreditNoteID = &note.Invoice, &id
	ids, err := base.Collect(ctx, v.q, base.ScanValue[base.ID],
		`select id from submissions where tenant_id = $1 and credit_note_id = $2 order by credit_note_ordinal`, v.t.ID(), id)
	if err != nil {
		return err
	}
	return v.exportSubmissions(ctx, ids, out)
}

func (v *verification) exportSubmissions(ctx context.Context, ids []base.ID, out *export) error {
	for _, id := range ids {
		if err := v.verifyForExport(ctx, submissionSubject(), id); err != nil {
			return err
		}
		s, malformed, err := proveSubmission(ctx, v.t, v.q, id)
		if err = errors.Join(malformed, err); err != nil {
			return err
		}
		part := exportedSubmission(&s)
		part.Found = v.sealedAsFound
		part.Entries, err = base.Collect(ctx, v.q, scanExportEntry,
			`select `+invoices.EvidenceColumns+
				`, body from evidence where tenant_id = $1 and submission_id = $2 and ordinal <= $3 order by ordinal`, v.t.ID(), s.ID,
			s.Evidence)
		if err != nil {
			return err
		}
		out.Submissions = append(out.Submissions, part)
	}
	return nil
}

func exportedSubmission(s *provenSubmission) exportSubmission {
	out := exportSubmission{ID: s.ID, Number: s.InvoiceNumber, ConnectionKind: s.kind, Document: string(s.document),
		Outcome: s.Outcome, AttemptedAt: s.AttemptedAt, SentAt: s.SentAt, LastCheckedAt: s.LastCheckedAt,
		LastStatus: s.LastStatus, LastSHA256: s.LastSHA256, TerminalAt: s.TerminalAt, ProviderReference: s.ProviderReference,
		Sequence: s.Sequence, States: map[string]exportState{}, Count: s.Evidence, Head: s.End().Head}
	if !s.CreditNote.IsZero() {
		out.CreditNoteNumber = &s.Number
	}
	if r := s.Resolved; r != nil {
		out.Resolved = &exportResolution{By: r.By, At: r.At, Decision: r.Decision, Reason: r.Reason,
			ContradictedAt: r.ContradictedAt}
	}
	for _, d := range invoice.Dimensions {
		if word, from := s.States.Stored(d), s.Origins[d]; word.Value != "" {
			out.States[string(d)] = exportState{Value: word.Value, Final: word.Terminal, Meaning: word.Meaning,
				ReportedAt: from.ReportedAt, EvidenceID: from.Evidence}
		}
	}
	return out
}

func scanExportEntry(row base.Row) (exportEntry, error) {
	var body []byte
	e, err := invoices.ScanEvidence(row, &body)
	if e.Withheld {
		body = nil
	}
	out := exportEntry{ID: e.ID, Ordinal: e.Ordinal, ReceivedAt: e.ReceivedAt, Call: e.Call, HTTPStatus: e.HTTPStatus,
		MediaType: e.MediaType, Body: body, SHA256: e.SHA256, Truncated: e.Truncated, Withheld: e.Withheld,
		Words: e.StateText, Previous: e.Previous, Digest: e.Digest}
	if !e.Early {
		out.Report, out.Events = &e.Report, (*hexBytes)(&e.EventDigests)
	}
	return out, err
}

// exportIncoming adds the chain of an incoming e-invoice.
func (v *verification) exportIncoming(ctx context.Context, id base.ID, out *export) error {
	if err := v.verifyForExport(ctx, incomingSubject(), id); err != nil {
		return err
	}
	part := exportIncoming{ID: id}
	var head []byte
	if err := v.q.QueryRowContext(ctx,
		`select provider_document_id, revision, head from incoming where tenant_id = $1 and id = $2`, v.t.ID(), id).
		Scan(&part.ProviderDocumentID, &part.Count, &head); err != nil {
		return err
	}
	copy(part.Head[:], head)
	var err error
	part.Revisions, err = base.Collect(ctx, v.q, scanExportRevision,
		`select `+incoming.RevisionColumns+`, r.body, r.metadata`+incoming.FromRevisions+
			`i.id = $2 and r.revision <= $3 order by r.revision`, v.t.ID(), id, part.Count)
	out.Incoming = &part
	return err
}

func scanExportRevision(row base.Row) (exportRevision, error) {
	var body, metadata []byte
	r, err := incoming.ScanRevision(row, &body, &metadata)
	if r.Withheld {
		body, metadata = nil, nil
	}
	out := exportRevision{Revision: r.Revision, RetainedAt: r.RetainedAt, DocumentType: r.DocumentType,
		InvoiceNumber: r.InvoiceNumber, SupplierName: r.SupplierName, SupplierNetworkID: r.SupplierNetworkID,
		IssueDate: r.IssueDate, DueDate: r.DueDate, Currency: r.Currency, TotalAmount: r.TotalAmount,
		ClaimedSHA256: r.ClaimedSHA256, ReceivedAt: r.ReceivedAt, Size: r.Size, MediaType: r.MediaType, Body: body,
		Metadata: metadata, SHA256: r.SHA256, MetadataSHA256: r.MetadataSHA256, Retained: r.Retained, Withheld: r.Withheld,
		Previous: r.Previous, Digest: r.Digest}
	if r.EventDigests != nil {
		out.Events = (*hexBytes)(&r.EventDigests)
	}
	return out, err
}
