package invoices

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// Row is the digest of a submission's row and its states: of every column but those that only say when the provider is
// asked next, and by whom. The document has a digest of its own, which the seal holds as well.
func (s *Submission) Row() [32]byte {
	hash := base.NewDigester("quittance/submission/v1")
	for _, id := range []base.ID{s.Account, s.ID, s.Invoice, s.Connection} {
		hash.Field(id[:])
	}
	for _, number := range []int64{s.Ordinal, base.Flag(s.Current), base.Micros(s.AttemptedAt), base.Micros(s.SentAt),
		s.resend(), int64(s.LastStatus), int64(s.MissingCount), s.Evidence} {
		hash.Number(number)
	}
	hash.Field([]byte(s.Number))
	hash.Field([]byte(s.Outcome))
	hash.Optional(s.ProviderReference)
	hash.OptionalNumber(s.Sequence)
	for _, at := range []*int64{base.MicrosOrNil(s.LastCheckedAt), base.MicrosOrNil(s.MissingSince),
		base.MicrosOrNil(s.TerminalAt), base.NumberOrNil(s.BegunAt)} {
		hash.OptionalNumber(at)
	}
	hash.Field(s.LastSHA256[:])
	hash.Field(s.Head)
	hash.Field(s.EarlierEvents)
	resolved := s.resolution()
	hash.OptionalNumber(base.NumberOrNil(resolved.at))
	hash.OptionalNumber(base.NumberOrNil(resolved.contradicted))
	for _, text := range []sql.Null[string]{resolved.by, resolved.decision, resolved.reason} {
		hash.Optional(base.TextOrNil(text))
	}
	for _, dimension := range invoice.Dimensions {
		word, from := s.States.Stored(dimension), s.Origins[dimension]
		hash.Field([]byte(word.Value))
		hash.Number(base.Flag(word.Terminal))
		hash.Field([]byte(word.Meaning))
		hash.Field(from.Evidence[:])
		hash.Number(base.Micros(from.ReportedAt))
	}
	// a submission of an invoice is sealed as it was before there were others
	if c := s.credited; c != (creditedColumns{}) {
		hash.Field(c.note.V[:])
		hash.OptionalNumber(base.NumberOrNil(c.ordinal))
		hash.Optional(base.TextOrNil(c.number))
		hash.Number(s.place)
	}
	return hash.Sum()
}

// resolution is what the columns of a resolution hold for a submission.
func (s *Submission) resolution() resolution {
	if s.Resolved == nil {
		return s.strayResolution
	}
	text := func(value string) sql.Null[string] { return sql.Null[string]{V: value, Valid: true} }
	instant := func(at time.Time) sql.Null[int64] { return sql.Null[int64]{V: base.Micros(at), Valid: true} }
	r := resolution{at: instant(s.Resolved.At), by: text(s.Resolved.By), decision: text(s.Resolved.Decision),
		reason: text(s.Resolved.Reason)}
	if s.Resolved.ContradictedAt != nil {
		r.contradicted = instant(*s.Resolved.ContradictedAt)
	}
	return r
}

// End is where the chain of a submission ends.
func (s *Submission) End() base.ChainEnd {
	e := base.ChainEnd{Count: s.Evidence}
	copy(e.Head[:], s.Head)
	return e
}

// asRead is what the seal of a submission covers, as the row was read.
func (s *Submission) asRead() base.Seal { return base.Seal{ChainEnd: s.End(), Row: s.Row()} }

// verifySeal checks the seal of a submission against its row as it was read, and returns what the next one says.
func verifySeal(ctx context.Context, t *base.Tenant, q base.Querier, s *Submission) (base.Seal, error) {
	return base.ContinueSeal(t.DB().Sealer(), s.Sealed, base.SubmissionSealBinding(t.ID(), s.ID), s.was,
		func() ([32]byte, error) {
			document, err := readDocument(ctx, t, q, s.ID)
			return sha256.Sum256(document), err
		})
}

// SealAs seals the current row of a submission. next carries the history over from the previous seal; see
// [verifySeal].
func SealAs(t *base.Tenant, s *Submission, next base.Seal) error {
	s.was = s.asRead()
	next.ChainEnd, next.Row = s.was.ChainEnd, s.was.Row
	var err error
	s.Sealed, err = next.Sealed(t.DB().Sealer(), base.SubmissionSealBinding(t.ID(), s.ID))
	return err
}

// savedRow are the columns of a submission that change without a provider response.
type savedRow struct {
	Tenant       base.ID          `db:"tenant_id,key"`
	ID           base.ID          `db:"id,key"`
	Current      int64            `db:"current"`
	Outcome      api.Outcome      `db:"outcome"`
	SentAt       int64            `db:"sent_at"`
	Resend       int64            `db:"resend"`
	MissingSince *int64           `db:"missing_since"`
	MissingCount int              `db:"missing_count"`
	DueAt        *int64           `db:"due_at"`
	NextCheckAt  *int64           `db:"next_check_at"`
	Lease        int64            `db:"lease"`
	Seal         []byte           `db:"evidence_seal"`
	ResolvedAt   sql.Null[int64]  `db:"resolved_at"`
	ResolvedBy   sql.Null[string] `db:"resolved_by"`
	Decision     sql.Null[string] `db:"resolved_decision"`
	Reason       sql.Null[string] `db:"resolved_reason"`
}

// SaveSubmission writes what of a submission changes without a provider response, and seals it. The invoice is locked,
// and s was read since.
func SaveSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission) error {
	next, err := verifySeal(ctx, t, tx, s)
	if err != nil {
		return err
	}
	if err := SealAs(t, s, next); err != nil {
		return err
	}
	r := s.resolution()
	statement, args := base.Update("submissions", savedRow{Tenant: t.ID(), ID: s.ID, Current: s.storedCurrent(),
		Outcome: storedOutcome(s.Outcome), SentAt: base.Micros(s.SentAt), Resend: s.resend(),
		MissingSince: base.MicrosOrNil(s.MissingSince), MissingCount: s.MissingCount, DueAt: base.MicrosOrNil(s.DueAt),
		NextCheckAt: base.MicrosOrNil(s.NextCheckAt), Lease: s.fencingToken, Seal: s.Sealed, ResolvedAt: r.at,
		ResolvedBy: r.by, Decision: r.decision, Reason: r.reason})
	return tx.ExecDeferred(ctx, statement, args...)
}

// retireSubmission ends the time of the current submission of an invoice that is locked, if it has one: it belongs to
// the history from now on, and the next one gets a reference of its own.
func retireSubmission(ctx context.Context, t *base.Tenant, tx *base.Tx, invoiceID base.ID) error {
	current, err := currentSubmission(ctx, t, tx, invoiceID)
	if err != nil || current == nil {
		return err
	}
	current.Current = false
	return SaveSubmission(ctx, t, tx, current)
}

// DocumentLink is the first link of a submission's chain: what the digest of the first entry is continued from.
func DocumentLink(submission base.ID, document [32]byte) [32]byte {
	hash := base.NewDigester("quittance/document/v1")
	hash.Field(submission[:])
	hash.Field(document[:])
	return hash.Sum()
}
