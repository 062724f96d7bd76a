package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// exportFormat names the form of an exported file.
const exportFormat = "quittance-evidence-v1"

// export is everything retained about one invoice, in a form that verifies without the database.
type export struct {
	Format      string             `json:"format"`
	InvoiceID   ID                 `json:"invoice_id"`
	Submissions []exportSubmission `json:"submissions"`
}

type exportSubmission struct {
	ID       ID            `json:"id"`
	Number   string        `json:"invoice_number"`
	Document string        `json:"document"`
	Entries  []exportEntry `json:"entries"`
	// Head is the digest of the last entry, as it stands outside the chain.
	Head []byte `json:"head"`
}

type exportEntry struct {
	ID         ID              `json:"id"`
	Ordinal    int64           `json:"ordinal"`
	ReceivedAt time.Time       `json:"received_at"`
	Call       string          `json:"call"`
	HTTPStatus int             `json:"http_status"`
	MediaType  string          `json:"media_type"`
	Body       []byte          `json:"body,omitempty"` // absent when withheld
	SHA256     []byte          `json:"sha256"`
	Truncated  bool            `json:"truncated"`
	Withheld   bool            `json:"withheld"`
	Words      json.RawMessage `json:"words"`
	Previous   []byte          `json:"previous"`
	Digest     []byte          `json:"digest"`
}

// ExportEvidence returns everything retained about one invoice as JSON. Withheld bodies stay here: the digest stands for
// them.
func (db *DB) ExportEvidence(ctx context.Context, invoiceID ID) ([]byte, error) {
	tenant, err := db.holder(ctx, func(t *Tenant) error {
		_, err := t.Invoice(ctx, invoiceID)
		return err
	})
	if err != nil {
		return nil, err
	}
	submissions, err := tenant.Submissions(ctx, invoiceID)
	if err != nil {
		return nil, err
	}
	out := export{Format: exportFormat, InvoiceID: invoiceID}
	for _, s := range submissions {
		part := exportSubmission{ID: s.ID, Number: s.Number, Document: string(s.Document), Head: s.head}
		chain, err := tenant.chainOf(ctx, db.reader, s.ID)
		if err != nil {
			return nil, db.fail(err)
		}
		for _, e := range chain {
			entry := exportEntry{ID: e.ID, Ordinal: e.Ordinal, ReceivedAt: e.ReceivedAt, Call: e.Call, HTTPStatus: e.HTTPStatus, MediaType: e.MediaType,
				SHA256: e.SHA256[:], Truncated: e.Truncated, Withheld: e.Withheld, Previous: e.Previous[:], Digest: e.Digest[:]}
			if !e.Withheld {
				entry.Body = e.Body
			}
			if entry.Words, err = json.Marshal(e.Words); err != nil {
				return nil, fmt.Errorf("export: %w", err)
			}
			part.Entries = append(part.Entries, entry)
		}
		out.Submissions = append(out.Submissions, part)
	}
	return json.MarshalIndent(out, "", "  ")
}

// errExport says that a file is none that ExportEvidence writes.
var errExport = errors.New("not an export of evidence")

// VerifyExport recomputes every digest of an exported file and returns the number of entries, or the first fault.
func VerifyExport(text []byte) (entries int, err error) {
	var in export
	if err := json.Unmarshal(text, &in); err != nil || in.Format != exportFormat {
		return 0, errors.Join(errExport, err)
	}
	for _, s := range in.Submissions {
		var previous [32]byte
		for n, part := range s.Entries {
			e := Evidence{ID: part.ID, Submission: s.ID, Ordinal: part.Ordinal, ReceivedAt: part.ReceivedAt}
			e.NewEvidence = NewEvidence{Call: part.Call, HTTPStatus: part.HTTPStatus, MediaType: part.MediaType, Truncated: part.Truncated, Withheld: part.Withheld}
			if copy(e.SHA256[:], part.SHA256) != 32 || copy(e.Previous[:], part.Previous) != 32 || copy(e.Digest[:], part.Digest) != 32 {
				return entries, EvidenceError{s.ID, part.Ordinal, "a digest is not 32 bytes"}
			}
			if err := json.Unmarshal(part.Words, &e.Words); err != nil {
				return entries, EvidenceError{s.ID, part.Ordinal, "its words cannot be read"}
			}
			if what := e.check(part.Body, int64(n)+1, previous); what != "" {
				return entries, EvidenceError{s.ID, part.Ordinal, what}
			}
			previous = e.Digest
			entries++
		}
		if len(s.Entries) > 0 && string(previous[:]) != string(s.Head) {
			return entries, EvidenceError{s.ID, 0, "the chain does not end where it ended when it was exported"}
		}
	}
	return entries, nil
}

// VerifyEvidence verifies the evidence of every tenant.
func (db *DB) VerifyEvidence(ctx context.Context) (entries int, faults []EvidenceError, err error) {
	tenants, err := db.tenants(ctx)
	if err != nil {
		return 0, nil, err
	}
	for _, t := range tenants {
		checked, found, err := t.VerifyEvidence(ctx)
		if err != nil {
			return entries, faults, err
		}
		entries, faults = entries+checked, append(faults, found...)
	}
	return entries, faults, nil
}
