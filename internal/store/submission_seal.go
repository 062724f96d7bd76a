package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"time"

	"quittance/internal/invoice"
)

// row is the digest of a submission's row and its states: of every column but those that only say when the provider is
// asked next, and by whom. The document has a digest of its own, which the seal holds as well.
func (s *Submission) row() [32]byte {
	hash := newDigester("quittance/submission/v1")
	for _, id := range []ID{s.account, s.ID, s.Invoice, s.Connection} {
		hash.field(id[:])
	}
	for _, number := range []int64{s.Ordinal, flag(s.Current), micros(s.AttemptedAt), micros(s.SentAt), s.resend(),
		int64(s.LastStatus), int64(s.MissingCount), s.Evidence} {
		hash.number(number)
	}
	hash.field([]byte(s.Number))
	hash.field([]byte(s.Outcome))
	hash.optional(s.ProviderReference)
	hash.optionalNumber(s.Sequence)
	for _, at := range []*int64{microsPointer(s.LastCheckedAt), microsPointer(s.MissingSince), microsPointer(s.TerminalAt),
		numberOrNil(s.begunAt)} {
		hash.optionalNumber(at)
	}
	hash.field(s.LastSHA256[:])
	hash.field(s.head)
	hash.field(s.earlierEvents)
	resolved := s.resolution()
	hash.optionalNumber(numberOrNil(resolved.at))
	hash.optionalNumber(numberOrNil(resolved.contradicted))
	for _, text := range []sql.Null[string]{resolved.by, resolved.decision, resolved.reason} {
		hash.optional(textOrNil(text))
	}
	for _, dimension := range invoice.Dimensions {
		word, from := s.States.Stored(dimension), s.Origins[dimension]
		hash.field([]byte(word.Value))
		hash.number(flag(word.Terminal))
		hash.field([]byte(word.Meaning))
		hash.field(from.Evidence[:])
		hash.number(micros(from.ReportedAt))
	}
	// a submission of an invoice is sealed as it was before there were others
	if c := s.credited; c != (creditedColumns{}) {
		hash.field(c.note.V[:])
		hash.optionalNumber(numberOrNil(c.ordinal))
		hash.optional(textOrNil(c.number))
		hash.number(s.place)
	}
	return hash.sum()
}

// resolution is what the columns of a resolution hold for a submission.
func (s *Submission) resolution() resolution {
	if s.Resolved == nil {
		return s.strayResolution
	}
	text := func(value string) sql.Null[string] { return sql.Null[string]{V: value, Valid: true} }
	instant := func(at time.Time) sql.Null[int64] { return sql.Null[int64]{V: micros(at), Valid: true} }
	r := resolution{at: instant(s.Resolved.At), by: text(s.Resolved.By), decision: text(s.Resolved.Decision),
		reason: text(s.Resolved.Reason)}
	if s.Resolved.ContradictedAt != nil {
		r.contradicted = instant(*s.Resolved.ContradictedAt)
	}
	return r
}

// end is where the chain of a submission ends.
func (s *Submission) end() chainEnd {
	e := chainEnd{count: s.Evidence}
	copy(e.head[:], s.head)
	return e
}

// asRead is what the seal of a submission covers, as the row was read.
func (s *Submission) asRead() seal { return seal{chainEnd: s.end(), row: s.row()} }

// verifySeal checks the seal of a submission against its row as it was read, and returns what the next one says.
func (t *Tenant) verifySeal(ctx context.Context, q querier, s *Submission) (seal, error) {
	return continueSeal(t.db.keys, s.sealed, submissionSealBinding(t.id, s.ID), s.was, func() ([32]byte, error) {
		document, err := t.document(ctx, q, s.ID)
		return sha256.Sum256(document), err
	})
}

// sealAs seals the current row of a submission. next carries the history over from the previous seal; see
// [Tenant.verifySeal].
func (t *Tenant) sealAs(s *Submission, next seal) error {
	s.was = s.asRead()
	next.chainEnd, next.row = s.was.chainEnd, s.was.row
	var err error
	s.sealed, err = next.seal(t.db.keys, submissionSealBinding(t.id, s.ID))
	return err
}

// saveSubmission writes what of a submission changes without a provider response, and seals it. The invoice is locked,
// and s was read since.
func (t *Tenant) saveSubmission(ctx context.Context, tx *tx, s *Submission) error {
	next, err := t.verifySeal(ctx, tx, s)
	if err != nil {
		return err
	}
	if err := t.sealAs(s, next); err != nil {
		return err
	}
	r := s.resolution()
	return tx.ExecDeferred(ctx,
		`update submissions set current = $3, outcome = $4, sent_at = $5, resend = $6, missing_since = $7, missing_count = $8,
		due_at = $9, next_check_at = $10, lease = $11, evidence_seal = $12, resolved_at = $13, resolved_by = $14, resolved_decision = $15,
		resolved_reason = $16 where tenant_id = $1 and id = $2`,
		t.id, s.ID, s.storedCurrent(), storedOutcome(s.Outcome), micros(s.SentAt), s.resend(), microsOrNil(s.MissingSince),
		s.MissingCount, microsOrNil(s.DueAt), microsOrNil(s.NextCheckAt), s.fencingToken, s.sealed, r.at, r.by, r.decision,
		r.reason)
}

// retireSubmission ends the time of the current submission of an invoice that is locked, if it has one: it belongs to
// the history from now on, and the next one gets a reference of its own.
func (t *Tenant) retireSubmission(ctx context.Context, tx *tx, invoiceID ID) error {
	current, err := t.currentSubmission(ctx, tx, invoiceID)
	if err != nil || current == nil {
		return err
	}
	current.Current = false
	return t.saveSubmission(ctx, tx, current)
}

// documentLink is the first link of a submission's chain: what the digest of the first entry is continued from.
func documentLink(submission ID, document [32]byte) [32]byte {
	hash := newDigester("quittance/document/v1")
	hash.field(submission[:])
	hash.field(document[:])
	return hash.sum()
}
