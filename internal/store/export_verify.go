package store

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"quittance/client/api"
	"quittance/internal/invoice"
)

// The errors of a file as a whole.
var (
	errExport     = errors.New("not an export of evidence")
	errExportForm = errors.New(
		"the file is not formatted as it was exported: something was added, left out or reformatted")
	errExportDigest    = errors.New("the file's digest does not match its content")
	errExportSignature = errors.New("the signature was not made with the public key in the file")
	// ErrExportKey says that a file is not signed with the expected key.
	ErrExportKey = errors.New("the file is not signed with the expected key")
)

// VerifiedExport is the result of verifying an exported file.
type VerifiedExport struct {
	// Entries is the number of intact entries.
	Entries int
	// Digest is the digest of the file; PublicKey verifies its signature.
	Digest    [32]byte
	PublicKey ed25519.PublicKey
	// Unread is the number of submissions whose states could not be compared with their responses, because one of these is
	// withheld and was retained without its interpretation.
	Unread int
}

// VerifyExport verifies an exported file: every digest, the signature, and that what it shows follows from the
// responses in it. It returns the first fault. The public key identifies the installation; expected is the key of the
// known installation, or nil if the caller compares it.
func VerifyExport(text []byte, replay Replay, expected ed25519.PublicKey) (VerifiedExport, error) {
	var in export
	var out VerifiedExport
	if err := json.Unmarshal(text, &in); err != nil || in.Format != exportFormat ||
		len(in.PublicKey) != ed25519.PublicKeySize {
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
	// This excludes unknown, repeated and misspelt names, and everything else that two JSON parsers could read
	// differently.
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

// exportedLinks verifies a chain of an exported file. link returns the link of an entry.
func exportedLinks[E any](entries []E, begin [32]byte, want chainEnd, link func(*E) chainLink) (chainEnd, flaw) {
	at := chainEnd{head: begin}
	for n := range entries {
		if f := at.advance(link(&entries[n]), want); f.found() {
			return at, f
		}
	}
	return at, at.missing(want)
}

// verify verifies a submission of a file.
func (x *exportSubmission) verify(replay Replay, out *VerifiedExport) error {
	s := x.submission()
	check := &submissionCheck{replay: replay, s: s, expected: newReplayed(&s.Submission)}
	begin := documentLink(x.ID, sha256.Sum256(s.document))
	if len(x.Entries) > 0 && x.Entries[0].Report == nil {
		begin = [32]byte{}
	}
	at, f := exportedLinks(x.Entries, begin, chainEnd{x.Count, x.Head}, func(entry *exportEntry) chainLink {
		return check.link(entry.evidence(x.ID), entry.Body, entry.Body != nil || !entry.Withheld)
	})
	if f.found() {
		return EvidenceError{Kind: KindSubmission, Of: x.ID, Ordinal: at.count + 1, Field: f.field, What: f.what}
	}
	out.Entries += int(at.count)
	if check.expected.unread {
		out.Unread++
	}
	f = check.expected.differs(&s.Submission, x.Found)
	if !f.found() && at.count == 0 && x.Head != (hexDigest{}) {
		f = flaw{"head", whatHead}
	}
	if f.found() {
		return EvidenceError{Kind: KindSubmission, Of: x.ID, Field: f.field, What: f.what}
	}
	return nil
}

// submission returns the submission in a file.
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

// evidence returns the entry in a file.
func (x exportEntry) evidence(submission ID) *Evidence {
	e := &Evidence{ID: x.ID, Submission: submission, Ordinal: x.Ordinal, ReceivedAt: x.ReceivedAt, SHA256: x.SHA256,
		Previous: x.Previous, Digest: x.Digest, stateValues: x.Words}
	e.NewEvidence = NewEvidence{Call: x.Call, HTTPStatus: x.HTTPStatus, MediaType: x.MediaType, Truncated: x.Truncated,
		Withheld: x.Withheld}
	if e.early = x.Report == nil || x.Events == nil; !e.early {
		e.Report, e.events = *x.Report, *x.Events
	}
	if err := json.Unmarshal([]byte(x.Words), &e.StateValues); err != nil {
		e.StateValues = nil // the replay detects this if the report has state values
	}
	return e
}

// verify verifies an incoming e-invoice of a file.
func (x *exportIncoming) verify(replay Replay, out *VerifiedExport) error {
	check := &incomingCheck{replay: replay}
	at, f := exportedLinks(x.Revisions, [32]byte{}, chainEnd{x.Count, x.Head}, func(revision *exportRevision) chainLink {
		r := revision.revision(x)
		return check.link(&r, revision.Body, revision.Metadata, revision.Body != nil || revision.Metadata != nil ||
			!r.Withheld)
	})
	if f.found() {
		return EvidenceError{Kind: KindIncoming, Of: x.ID, Ordinal: at.count + 1, Field: f.field, What: f.what}
	}
	out.Entries += int(at.count)
	return nil
}

// revision returns the revision in a file.
func (x *exportRevision) revision(of *exportIncoming) Revision {
	r := Revision{Incoming: of.ID, Revision: x.Revision, RetainedAt: x.RetainedAt, SHA256: x.SHA256,
		MetadataSHA256: x.MetadataSHA256, Previous: x.Previous, Digest: x.Digest}
	r.NewIncoming = NewIncoming{ProviderDocumentID: of.ProviderDocumentID, DocumentType: x.DocumentType,
		InvoiceNumber: x.InvoiceNumber, SupplierName: x.SupplierName, SupplierNetworkID: x.SupplierNetworkID,
		IssueDate: x.IssueDate, DueDate: x.DueDate, Currency: x.Currency, TotalAmount: x.TotalAmount,
		ReceivedAt: x.ReceivedAt, ClaimedSHA256: x.ClaimedSHA256, MediaType: x.MediaType, Retained: x.Retained, Size: x.Size,
		Withheld: x.Withheld}
	if x.Events != nil {
		r.events = append([]byte{}, *x.Events...)
	}
	return r
}
