package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// EvidenceError is a place where retained evidence is not what was retained.
type EvidenceError struct {
	// Of identifies the submission, or the incoming e-invoice, whose chain it is.
	Of ID
	// Ordinal is the place in the chain, 0 when the fault is the chain's end.
	Ordinal int64
	What    string
}

func (f EvidenceError) Error() string {
	return fmt.Sprintf("evidence of %s, entry %d: %s", f.Of, f.Ordinal, f.What)
}

// VerifyEvidence recomputes every digest of the tenant's evidence, of submissions and of incoming e-invoices: bodies,
// entries, chains, and the heads that stand outside the tables. It returns the number of entries and the first fault of every chain that has one.
func (t *Tenant) VerifyEvidence(ctx context.Context) (entries int, faults []EvidenceError, err error) {
	err = t.read(func(q querier) error {
		submissions, err := collect(ctx, q, scanSubmission, `select `+submissionColumns+` from submissions where tenant_id = $1 order by id`, t.id)
		if err != nil {
			return err
		}
		for _, s := range submissions {
			checked, fault, err := t.verifyChain(ctx, q, s)
			if err != nil {
				return err
			}
			entries += checked
			if fault != nil {
				faults = append(faults, *fault)
			}
		}
		checked, more, err := t.verifyIncoming(ctx, q)
		entries, faults = entries+checked, append(faults, more...)
		return err
	})
	return entries, faults, err
}

// verifyIncoming recomputes the chains of the incoming e-invoices.
func (t *Tenant) verifyIncoming(ctx context.Context, q querier) (entries int, faults []EvidenceError, err error) {
	type chain struct {
		id       ID
		revision int64
		head     []byte
	}
	chains, err := collect(ctx, q, func(row scanner) (chain, error) {
		var c chain
		err := row.Scan(&c.id, &c.revision, &c.head)
		return c, err
	}, `select id, revision, head from incoming where tenant_id = $1 order by id`, t.id)
	if err != nil {
		return 0, nil, err
	}
	for _, c := range chains {
		var body, metadata []byte
		bodies := map[int64][2][]byte{}
		revisions, err := collect(ctx, q, func(row scanner) (Revision, error) {
			r, err := scanRevision(row, &body, &metadata)
			bodies[r.Revision] = [2][]byte{body, metadata}
			body, metadata = nil, nil
			return r, err
		}, `select `+revisionColumns+`, r.body, r.metadata`+fromRevisions+`i.id = $2 order by r.revision`, t.id, c.id)
		if err != nil {
			return entries, faults, err
		}
		var previous [32]byte
		what, at := "", int64(0)
		for n := range revisions {
			r := &revisions[n]
			if what = t.checkRevision(r, bodies[r.Revision], int64(n)+1, previous); what != "" {
				at = r.Revision
				break
			}
			previous = r.Digest
		}
		if what == "" && (int64(len(revisions)) != c.revision || previous != [32]byte(c.head)) {
			what = fmt.Sprintf("the chain ends after %d revisions, %d were retained", len(revisions), c.revision)
		}
		entries += len(revisions)
		if what != "" {
			faults = append(faults, EvidenceError{c.id, at, what})
		}
	}
	return entries, faults, nil
}

// checkRevision recomputes the digests of a revision at its place in the chain and says what does not fit, "" when all
// does. stored are document and metadata as they stand: sealed when withheld.
func (t *Tenant) checkRevision(r *Revision, stored [2][]byte, revision int64, previous [32]byte) string {
	for n, column := range [...]string{"body", "metadata"} {
		if !r.Withheld {
			continue
		}
		plain, err := t.db.keys.Open(stored[n], revisionPlace(t.id, r.Incoming, r.Revision, column))
		if err != nil {
			return "the sealed " + column + " does not open"
		}
		stored[n] = plain
	}
	switch {
	case r.Revision != revision:
		return fmt.Sprintf("it stands where revision %d should", revision)
	case r.Previous != previous:
		return "it does not follow the revision before it"
	case sha256.Sum256(stored[1]) != r.MetadataSHA256:
		return "its metadata are not what was retained"
	case r.Retained && sha256.Sum256(stored[0]) != r.SHA256:
		return "its document is not what was retained"
	case !r.Intact():
		return "it is not what was retained"
	}
	return ""
}

// verifyChain recomputes one chain and returns its first fault.
func (t *Tenant) verifyChain(ctx context.Context, q querier, s Submission) (entries int, fault *EvidenceError, err error) {
	chain, err := t.chainOf(ctx, q, s.ID)
	if err != nil {
		return 0, nil, err
	}
	var previous [32]byte
	for n, e := range chain {
		plain := e.Body
		if e.Withheld {
			if plain, err = t.db.keys.Open(e.Body, evidencePlace(t.id, e.ID)); err != nil {
				return n, &EvidenceError{s.ID, e.Ordinal, "the sealed body does not open"}, nil
			}
		}
		if what := e.check(plain, int64(n)+1, previous); what != "" {
			return n, &EvidenceError{s.ID, e.Ordinal, what}, nil
		}
		previous = e.Digest
	}
	if int64(len(chain)) != s.Evidence || len(chain) > 0 && previous != [32]byte(s.head) {
		return len(chain), &EvidenceError{s.ID, 0, fmt.Sprintf("the chain ends after %d entries, %d were retained", len(chain), s.Evidence)}, nil
	}
	return len(chain), nil, nil
}

// chainOf reads a chain with the bodies as they stand: a withheld one is sealed.
func (t *Tenant) chainOf(ctx context.Context, q querier, submission ID) ([]Evidence, error) {
	return collect(ctx, q, func(row scanner) (Evidence, error) {
		var body []byte
		e, err := scanEvidence(row, &body)
		e.Body = body
		return e, err
	}, `select `+evidenceColumns+`, body from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`, t.id, submission)
}

// check recomputes the digests of an entry at its place in the chain and says what does not fit, "" when all does. The
// body is nil when it is not at hand, because it is withheld.
func (e *Evidence) check(body []byte, ordinal int64, previous [32]byte) string {
	words, err := json.Marshal(e.Words)
	switch {
	case err != nil:
		return "its words cannot be read"
	case e.Ordinal != ordinal:
		return fmt.Sprintf("it stands where entry %d should", ordinal)
	case e.Previous != previous:
		return "it does not follow the entry before it"
	case (body != nil || !e.Withheld) && sha256.Sum256(body) != e.SHA256:
		return "its body is not what was retained"
	case e.chain(words) != e.Digest:
		return "it is not what was retained"
	}
	return ""
}
