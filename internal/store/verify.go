package store

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
)

// EvidenceError is a place where retained evidence is not what was retained.
type EvidenceError struct {
	Submission ID
	// Ordinal is the place in the chain, 0 when the fault is the chain's end.
	Ordinal int64
	What    string
}

func (f EvidenceError) Error() string {
	return fmt.Sprintf("evidence of submission %s, entry %d: %s", f.Submission, f.Ordinal, f.What)
}

// VerifyEvidence recomputes every digest of the tenant's evidence: bodies, entries, chains, and the heads that stand
// outside the table. It returns the number of entries and the first fault of every chain that has one.
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
		return nil
	})
	return entries, faults, err
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
