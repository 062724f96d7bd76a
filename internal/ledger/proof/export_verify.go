package proof

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
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
func exportedLinks[E any](entries []E, begin [32]byte, want base.ChainEnd,
	link func(*E) base.ChainLink) (base.ChainEnd, base.Flaw) {
	at := base.ChainEnd{Head: begin}
	for n := range entries {
		if f := at.Advance(link(&entries[n]), want); f.Found() {
			return at, f
		}
	}
	return at, at.Missing(want)
}

// verify verifies a submission of a file.
func (x *exportSubmission) verify(replay Replay, out *VerifiedExport) error {
	s := x.submission()
	check := &submissionCheck{replay: replay, s: s, expected: newReplayed(&s.Submission)}
	begin := invoices.DocumentLink(x.ID, sha256.Sum256(s.document))
	if len(x.Entries) > 0 && x.Entries[0].Report == nil {
		begin = [32]byte{}
	}
	at, f := exportedLinks(x.Entries, begin, base.ChainEnd{Count: x.Count, Head: x.Head},
		func(entry *exportEntry) base.ChainLink {
			return check.link(entry.evidence(x.ID), entry.Body, entry.Body != nil || !entry.Withheld)
		})
	if f.Found() {
		return EvidenceError{Kind: KindSubmission, Of: x.ID, Ordinal: at.Count + 1, Field: f.Field, What: f.What}
	}
	out.Entries += int(at.Count)
	if check.expected.unread {
		out.Unread++
	}
	f = check.expected.differs(&s.Submission, x.Found)
	if !f.Found() && at.Count == 0 && x.Head != (hexDigest{}) {
		f = base.Flaw{Field: "head", What: whatHead}
	}
	if f.Found() {
		return EvidenceError{Kind: KindSubmission, Of: x.ID, Field: f.Field, What: f.What}
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
	s.Origins = map[invoice.Dimension]invoices.Origin{}
	for name, state := range x.States {
		d := invoice.Dimension(name)
		words[d] = invoice.StoredState{Value: state.Value, Terminal: state.Final, Meaning: state.Meaning}
		s.Origins[d] = invoices.Origin{Evidence: state.EvidenceID, ReportedAt: state.ReportedAt}
	}
	s.States = invoice.RestoreStates(words)
	return s
}

// evidence returns the entry in a file.
func (x exportEntry) evidence(submission base.ID) *invoices.Evidence {
	e := &invoices.Evidence{ID: x.ID, Submission: submission, Ordinal: x.Ordinal, ReceivedAt: x.ReceivedAt,
		SHA256: x.SHA256, Previous: x.Previous, Digest: x.Digest, StateText: x.Words}
	e.NewEvidence = invoices.NewEvidence{Call: x.Call, HTTPStatus: x.HTTPStatus, MediaType: x.MediaType,
		Truncated: x.Truncated, Withheld: x.Withheld}
	if e.Early = x.Report == nil || x.Events == nil; !e.Early {
		e.Report, e.EventDigests = *x.Report, *x.Events
	}
	if err := json.Unmarshal([]byte(x.Words), &e.StateValues); err != nil {
		e.StateValues = nil // the replay detects this if the report has state values
	}
	return e
}

// verify verifies an incoming e-invoice of a file.
func (x *exportIncoming) verify(replay Replay, out *VerifiedExport) error {
	check := &incomingCheck{replay: replay}
	at, f := exportedLinks(x.Revisions, [32]byte{}, base.ChainEnd{Count: x.Count, Head: x.Head},
		func(revision *exportRevision) base.ChainLink {
			r := revision.revision(x)
			return check.link(&r, revision.Body, revision.Metadata, revision.Body != nil || revision.Metadata != nil ||
				!r.Withheld)
		})
	if f.Found() {
		return EvidenceError{Kind: KindIncoming, Of: x.ID, Ordinal: at.Count + 1, Field: f.Field, What: f.What}
	}
	out.Entries += int(at.Count)
	return nil
}

// revision returns the revision in a file.
func (x *exportRevision) revision(of *exportIncoming) incoming.Revision {
	r := incoming.Revision{Incoming: of.ID, Revision: x.Revision, RetainedAt: x.RetainedAt, SHA256: x.SHA256,
		MetadataSHA256: x.MetadataSHA256, Previous: x.Previous, Digest: x.Digest}
	r.NewIncoming = incoming.NewIncoming{ProviderDocumentID: of.ProviderDocumentID, DocumentType: x.DocumentType,
		InvoiceNumber: x.InvoiceNumber, SupplierName: x.SupplierName, SupplierNetworkID: x.SupplierNetworkID,
		IssueDate: x.IssueDate, DueDate: x.DueDate, Currency: x.Currency, TotalAmount: x.TotalAmount,
		ReceivedAt: x.ReceivedAt, ClaimedSHA256: x.ClaimedSHA256, MediaType: x.MediaType, Retained: x.Retained, Size: x.Size,
		Withheld: x.Withheld}
	if x.Events != nil {
		r.EventDigests = append([]byte{}, *x.Events...)
	}
	return r
}
