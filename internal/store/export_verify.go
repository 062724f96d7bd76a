package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// The ways in which a file as a whole is not what ExportEvidence writes.
var (
	errExport          = errors.New("not an export of evidence")
	errExportForm      = errors.New("the file is not written as it was exported: something was added, left out or formatted anew")
	errExportDigest    = errors.New("the file's digest is not that of what it says")
	errExportSignature = errors.New("the signature is not one of the public key in the file")
	// ErrExportKey says that a file is signed with another key than the expected one.
	ErrExportKey = errors.New("the file is signed with another key than the expected one")
)

// VerifiedExport is what an exported file proves.
type VerifiedExport struct {
	// Entries is how many entries are what was retained.
	Entries int
	// Digest is that of the file, PublicKey the one that has signed it.
	Digest    [32]byte
	PublicKey ed25519.PublicKey
	// Unread is how many submissions have a withheld answer of before readings were retained, so that what follows from their
	// answers was not compared.
	Unread int
}

// VerifyExport proves an exported file: every digest, the signature, and that what it shows follows from the answers in it.
// It returns the first fault. The public key tells that it comes from the installation that is known to have that key;
// expected is that key, or nil when the caller compares it.
func VerifyExport(text []byte, replay Replay, expected ed25519.PublicKey) (VerifiedExport, error) {
	var in export
	var out VerifiedExport
	if err := json.Unmarshal(text, &in); err != nil || in.Format != exportFormat || len(in.PublicKey) != ed25519.PublicKeySize {
		return out, errors.Join(errExport, err)
	}
	for n := range in.Submissions {
		if err := in.Submissions[n].verify(replay, &out); err != nil {
			return out, err
		}
	}
	if in.Incoming != nil {
		if err := in.Incoming.verify(replay, &out); err != nil {
			return out, err
		}
	}
	digest, err := in.digest()
	if err != nil || in.Digest != digest {
		return out, errors.Join(errExportDigest, err)
	}
	// Unknown, repeated and misspelt names, and whatever else two readers could read in two ways.
	if again, err := in.text(); err != nil || !bytes.Equal(again, bytes.TrimRight(text, "\n")) {
		return out, errors.Join(errExportForm, err)
	}
	out.Digest, out.PublicKey = digest, ed25519.PublicKey(in.PublicKey)
	if !ed25519.Verify(out.PublicKey, in.signedText(digest), in.Signature) {
		return out, errExportSignature
	}
	if expected != nil && !expected.Equal(out.PublicKey) {
		return out, ErrExportKey
	}
	return out, nil
}

// exportFault is a fault in a file.
func exportFault(kind string, of ID, ordinal int64, field, what string) error {
	return EvidenceError{Kind: kind, Of: of, Ordinal: ordinal, Field: field, What: what}
}

// verify proves a submission of a file.
func (x *exportSubmission) verify(replay Replay, out *VerifiedExport) error {
	s := x.submission()
	check := &submissionCheck{replay: replay, s: s, expected: newReplayed(&s.Submission)}
	begin := documentLink(x.ID, sha256.Sum256(s.document))
	if len(x.Entries) > 0 && x.Entries[0].Report == nil {
		begin = [32]byte{}
	}
	at, want := chainEnd{head: begin}, chainEnd{x.Count, x.Head}
	for _, entry := range x.Entries {
		e := entry.evidence(x.ID)
		next := e.link(entry.Body, entry.Body != nil || !entry.Withheld)
		if next.fault == "" {
			if check.field, next.fault = check.reread(e, entry.Body, entry.Body != nil || !entry.Withheld); next.fault == "" {
				check.field = ""
			}
		}
		if what := at.advance(next, want); what != "" {
			return exportFault(KindSubmission, x.ID, at.count+1, check.field, what)
		}
	}
	if what := at.missing(want); what != "" {
		return exportFault(KindSubmission, x.ID, at.count+1, "", what)
	}
	out.Entries += int(at.count)
	if check.expected.unread {
		out.Unread++
	}
	if field, what := check.expected.differs(&s.Submission, x.Found); what != "" {
		return exportFault(KindSubmission, x.ID, 0, field, what)
	}
	if at.count == 0 && x.Head != (hexDigest{}) {
		return exportFault(KindSubmission, x.ID, 0, "head", whatHead)
	}
	return nil
}

// submission is what a file says of a submission.
func (x *exportSubmission) submission() *provenSubmission {
	s := &provenSubmission{document: []byte(x.Document), kind: x.ConnectionKind}
	if x.Resolved != nil {
		s.Resolved = new(api.Resolution(*x.Resolved))
	}
	s.ID, s.Number, s.Outcome, s.ProviderReference, s.Sequence = x.ID, x.Number, x.Outcome, x.ProviderReference, x.Sequence
	s.LastCheckedAt, s.LastStatus, s.LastSHA256, s.TerminalAt = x.LastCheckedAt, x.LastStatus, x.LastSHA256, x.TerminalAt
	words := map[invoice.Dimension]invoice.StoredState{}
	s.Origins = map[invoice.Dimension]Origin{}
	for name, state := range x.States {
		d := invoice.Dimension(name)
		words[d] = invoice.StoredState{Value: state.Value, Terminal: state.Final, Meaning: state.Meaning}
		s.Origins[d] = Origin{Evidence: state.EvidenceID, ReportedAt: state.ReportedAt}
	}
	s.States = invoice.RestoreStates(words)
	return s
}

// evidence is what a file says of an entry.
func (x exportEntry) evidence(submission ID) *Evidence {
	e := &Evidence{ID: x.ID, Submission: submission, Ordinal: x.Ordinal, ReceivedAt: x.ReceivedAt, SHA256: x.SHA256, Previous: x.Previous, Digest: x.Digest, stateValues: x.Words}
	e.NewEvidence = NewEvidence{Call: x.Call, HTTPStatus: x.HTTPStatus, MediaType: x.MediaType, Truncated: x.Truncated, Withheld: x.Withheld}
	if e.early = x.Report == nil || x.Events == nil; !e.early {
		e.Report, e.events = *x.Report, *x.Events
	}
	if err := json.Unmarshal([]byte(x.Words), &e.StateValues); err != nil {
		e.StateValues = nil // what it was read as says otherwise, unless it has none
	}
	return e
}

// verify proves an incoming e-invoice of a file.
func (x *exportIncoming) verify(replay Replay, out *VerifiedExport) error {
	check := &incomingCheck{replay: replay}
	var at chainEnd
	want := chainEnd{x.Count, x.Head}
	for n := range x.Revisions {
		r := x.Revisions[n].revision(x)
		atHand := x.Revisions[n].Body != nil || x.Revisions[n].Metadata != nil || !r.Withheld
		next := r.link(x.Revisions[n].Body, x.Revisions[n].Metadata, atHand)
		if next.fault == "" && atHand {
			if check.field, next.fault = check.reread(&r, x.Revisions[n].Metadata); next.fault == "" {
				check.field = ""
			}
		}
		if what := at.advance(next, want); what != "" {
			return exportFault(KindIncoming, x.ID, at.count+1, check.field, what)
		}
	}
	if what := at.missing(want); what != "" {
		return exportFault(KindIncoming, x.ID, at.count+1, "", what)
	}
	out.Entries += int(at.count)
	return nil
}

// revision is what a file says of a revision.
func (x *exportRevision) revision(of *exportIncoming) Revision {
	r := Revision{Incoming: of.ID, Revision: x.Revision, RetainedAt: x.RetainedAt, SHA256: x.SHA256, MetadataSHA256: x.MetadataSHA256,
		Previous: x.Previous, Digest: x.Digest}
	r.NewIncoming = NewIncoming{ProviderDocumentID: of.ProviderDocumentID, DocumentType: x.DocumentType, InvoiceNumber: x.InvoiceNumber,
		SupplierName: x.SupplierName, SupplierNetworkID: x.SupplierNetworkID, IssueDate: x.IssueDate, DueDate: x.DueDate, Currency: x.Currency,
		TotalAmount: x.TotalAmount, ReceivedAt: x.ReceivedAt, ClaimedSHA256: x.ClaimedSHA256, MediaType: x.MediaType, Retained: x.Retained,
		Size: x.Size, Withheld: x.Withheld}
	if x.Events != nil {
		r.events = append([]byte{}, *x.Events...)
	}
	return r
}
