package invoices

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
)

// Decision is what one provider response changes. Package submission makes it, because it alone turns evidence into
// states. This package commits it in one transaction.
type Decision struct {
	// Evidence is appended to the chain; nil if there was no response, or one that is identical to the previous one.
	// Earlier are the responses that the same call received before; they are appended first, and nothing follows from
	// them.
	Evidence *NewEvidence
	Earlier  []NewEvidence
	// Responded is true if the provider responded at all. It sets LastCheckedAt, LastStatus and LastSHA256.
	Responded  bool
	LastStatus int
	LastSHA256 [32]byte
	// Outcome, ProviderReference, Sequence, MissingSince and MissingCount replace those of the submission.
	Outcome           api.Outcome
	ProviderReference *string
	Sequence          *int64
	MissingSince      *time.Time
	MissingCount      int
	// ResendOrdered says that an administrator's order to send again is still valid. It is ignored if the lease is lost.
	ResendOrdered bool
	// SentAt is when the document was last sent.
	SentAt time.Time
	// States are the merged states. WriteStates lists the dimensions whose rows change; each row refers to the new
	// evidence.
	States      invoice.States
	WriteStates []invoice.Dimension
	// PollWait and DueAt say when to poll again; a nil DueAt means never. They are ignored if the lease is lost.
	PollWait time.Duration
	DueAt    *time.Time
	// KeepUntil is when the lease ends that the caller keeps for the next step; nil to release it. It is ignored if the
	// lease is lost.
	KeepUntil *time.Time
	// FailureReason says why the response shows a failing connection, "" if it shows a working one. RetryAfter is the wait
	// that the provider asked for. Both apply to the connection even if the lease is lost.
	FailureReason string
	RetryAfter    time.Duration
	// Events are recorded in this order, each with a delivery for every active subscription to its kind.
	Events []api.EventKind
	// Contradicts says that the provider has a document that an administrator had resolved by rejecting it.
	Contradicts bool
}

// Unchanged returns a decision that leaves s as it is, except that a lease is released and the submission is not due
// again.
func (s *Submission) Unchanged() Decision {
	return Decision{Outcome: s.Outcome, SentAt: s.SentAt, ProviderReference: s.ProviderReference, Sequence: s.Sequence,
		MissingSince: s.MissingSince, MissingCount: s.MissingCount, ResendOrdered: s.ResendOrdered, States: s.States,
		LastStatus: s.LastStatus, LastSHA256: s.LastSHA256}
}

// Record locks the submission, calls decide with it and commits the decision in the same transaction: evidence, states,
// outcome, events and deliveries. held says whether the caller still has the lease. If not, the response is still
// recorded, but the schedule belongs to the worker that has the lease.
//
// It locks the invoice before its submission, and decides only then, so that two responses are merged one after the
// other, each with what the one before has left. The circuit breaker of the connection comes next, because its row is
// shared by all submissions of the connection; what the decision changes is last. See [WriteDecision] for the
// order of that.
func (l SubmissionLease) Record(ctx context.Context,
	decide func(s Submission, held bool, now time.Time) (Decision, error)) (Submission, error) {
	t := l.Tenant //planted:event-outside-the-transaction
	var after Submission
	var turned *circuitTurn
	err := t.Write(ctx, "record answer", func(ctx context.Context, tx *base.Tx) error {
		s, failures, err := l.Lock(ctx, tx)
		if err != nil {
			return err
		}
		held := s.fencingToken == l.Submission.fencingToken
		decision, err := decide(s, held, tx.Now())
		if err != nil {
			return err
		}
		if turned, err = l.updateCircuit(ctx, tx, &s, failures, decision); err != nil {
			return err
		}
		if err := WriteDecision(ctx, t, tx, &s, decision, held); err != nil {
			return err
		}
		after = s
		after.held = held
		return nil
	})
	if err == nil && turned != nil {
		l.logCircuit(ctx, *turned)
	}
	return after, err
}

// Lock locks the submission and returns it as it is now, with the connection's failures.
func (l SubmissionLease) Lock(ctx context.Context, tx *base.Tx) (s Submission, failures int64, err error) {
	t := l.Tenant
	// The invoice is locked first, as in every transaction that changes more of a submission than its lease
	// (docs/decisions/018-order-of-locks.md). The same statement reads the connection's failures: usually there are none,
	// and nothing has to be written.
	var version, updated int64
	was, err := scanCounted(tx.QueryRowContext(ctx, `select `+countedColumns+
		`, version, updated_at, (select failures from connections where account_id = $3 and id = $4)
		from invoices where tenant_id = $1 and id = $2`+t.DB().Dialect().ForUpdate(), t.ID(), l.Submission.Invoice, t.Account(), l.Submission.Connection), &version, &updated, &failures)
	if err != nil {
		return s, 0, err
	}
	if note := l.Submission.CreditNote; !note.IsZero() {
		if err := tx.QueryRowContext(ctx,
			`select version, coalesce(updated_at, created_at) from credit_notes where tenant_id = $1 and id = $2`,
			t.ID(), note).Scan(&version, &updated); err != nil {
			return s, 0, err
		}
	}
	if s, err = ReadSubmission(ctx, t, tx, l.Submission.ID, t.DB().Dialect().ForUpdate()); err != nil {
		return s, 0, err
	}
	s.version, s.updatedAt, s.counted = version, base.Instant(updated), was
	return s, failures, nil
}

// LockInvoice locks an invoice, and with it everything that belongs to it, until the transaction ends.
func LockInvoice(ctx context.Context, t *base.Tenant, tx *base.Tx, id base.ID) error {
	var version int64
	return tx.QueryRowContext(ctx, `select version from invoices where tenant_id = $1 and id = $2`+
		t.DB().Dialect().ForUpdate(), t.ID(), id).Scan(&version)
}

// WriteDecision writes a decision and updates s. The order matters:
//
//  1. Verify the seal of the row as it was read: nothing is added to a row that somebody has altered.
//  2. Prepare the events, which takes their positions: the evidence names their digests.
//  3. Append the evidence: the states refer to it.
//  4. Write the states, then apply outcome, schedule and lease to s: the events have the states of before and after.
//  5. Seal the row as it is now, and write it.
//  6. Write the document's version, then the events and their deliveries.
func WriteDecision(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, d Decision, held bool) error {
	now := tx.Now()
	next, err := verifySeal(ctx, t, tx, s)
	if err != nil {
		return err
	}
	changed := s.Outcome != d.Outcome || len(d.WriteStates) > 0 || d.Contradicts
	noticeRejection(tx, t.Account(), s, &d)
	tx.Use(t.ID(), d.usage(s))
	emitted, err := events.Prepare(ctx, tx, t, now, d.Events, api.ResourceSubmission, s.ID, s.Payload(d.States))
	if err != nil {
		return err
	}
	evidence, err := writeEvidence(ctx, t, tx, s, d, next.Subject, emitted.Digests)
	if err != nil {
		return err
	}
	if err := writeStates(ctx, t, tx, s, d, evidence, now); err != nil {
		return err
	}
	if s.applyDecision(d, now, held) {
		tx.Notify(base.WorkSubmissions) // the workers must learn when it is due
	}
	if d.Contradicts {
		if err := recordContradiction(ctx, t, tx, s, now); err != nil {
			return err
		}
	}
	if err := SealAs(t, s, next); err != nil {
		return err
	}
	if err := writeRecorded(ctx, t, tx, s); err != nil {
		return err
	}
	if changed {
		s.version, s.updatedAt = s.version+1, now
		if err := touch(ctx, t, tx, s, now); err != nil {
			return err
		}
	}
	return emitted.Write(ctx, tx)
}

// writeEvidence appends the responses of a decision to the chain of a submission, and returns the last entry, which
// the states refer to. document is the digest of the document that was sent; events are those of the events that follow
// from the last response. It returns errNoEvidence if anything follows from a decision without a response.
func writeEvidence(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, d Decision, document [32]byte,
	events []byte) (last base.ID, err error) {
	if d.Evidence == nil {
		if len(d.Events) > 0 || len(d.WriteStates) > 0 || d.Contradicts {
			return last, errNoEvidence
		}
		return last, nil
	}
	for _, earlier := range d.Earlier {
		if _, err := appendEvidence(ctx, t, tx, s, earlier, tx.Now(), document, nil); err != nil {
			return last, err
		}
	}
	return appendEvidence(ctx, t, tx, s, *d.Evidence, tx.Now(), document, events)
}

// recordedRow are the columns of a submission that a decision changes.
type recordedRow struct {
	Tenant            base.ID     `db:"tenant_id,key"`
	ID                base.ID     `db:"id,key"`
	Outcome           api.Outcome `db:"outcome"`
	ProviderReference *string     `db:"provider_reference"`
	Sequence          *int64      `db:"sequence"`
	LastCheckedAt     *int64      `db:"last_checked_at"`
	LastStatus        int         `db:"last_status"`
	LastSHA256        []byte      `db:"last_sha256"`
	PollWait          int64       `db:"poll_wait"` // microseconds
	MissingSince      *int64      `db:"missing_since"`
	MissingCount      int         `db:"missing_count"`
	TerminalAt        *int64      `db:"terminal_at"`
	Evidence          int64       `db:"evidence_count"`
	Head              []byte      `db:"evidence_head"`
	DueAt             *int64      `db:"due_at"`
	Lease             int64       `db:"lease"`
	NextCheckAt       *int64      `db:"next_check_at"`
	Seal              []byte      `db:"evidence_seal"`
	SentAt            int64       `db:"sent_at"`
	Resend            int64       `db:"resend"`
}

// writeRecorded writes the columns of a submission that a decision changes.
func writeRecorded(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission) error {
	statement, args := base.Update("submissions", recordedRow{Tenant: t.ID(), ID: s.ID,
		Outcome: storedOutcome(s.Outcome), ProviderReference: s.ProviderReference, Sequence: s.Sequence,
		LastCheckedAt: base.MicrosOrNil(s.LastCheckedAt), LastStatus: s.LastStatus, LastSHA256: s.LastSHA256[:],
		PollWait: s.PollWait.Microseconds(), MissingSince: base.MicrosOrNil(s.MissingSince), MissingCount: s.MissingCount,
		TerminalAt: base.MicrosOrNil(s.TerminalAt), Evidence: s.Evidence, Head: s.Head, DueAt: base.MicrosOrNil(s.DueAt),
		Lease: s.fencingToken, NextCheckAt: base.MicrosOrNil(s.NextCheckAt), Seal: s.Sealed, SentAt: base.Micros(s.SentAt),
		Resend: s.resend()})
	return tx.ExecDeferred(ctx, statement, args...)
}

// Payload returns the payload of an event about a submission with the given states.
func (s *Submission) Payload(states invoice.States) api.SubmissionPayload {
	out := api.SubmissionPayload{States: states.Wire(), InvoiceID: s.Invoice.String(), InvoiceNumber: s.InvoiceNumber}
	if !s.CreditNote.IsZero() {
		out.CreditNoteID, out.CreditNoteNumber = s.CreditNote.String(), s.Number
	}
	return out
}

// usage returns what a decision about s adds to the company's usage: the retained bytes, and one draft less once the
// outcome of an invoice is recorded.
func (d Decision) usage(s *Submission) (add base.Usage) {
	if d.Evidence != nil {
		add.Bytes = int64(len(d.Evidence.Body))
		for _, earlier := range d.Earlier {
			add.Bytes += int64(len(earlier.Body))
		}
	}
	if s.countsAsDraft() && d.Outcome != api.OutcomeInProgress && d.Outcome != OutcomeNotSent {
		add.Drafts = -1
	}
	return add
}

// errNoEvidence says that a decision changes states or records events without evidence.
var errNoEvidence = errors.New("a state or an event without evidence")

// applyDecision updates s with a decision, and reports whether the decision's schedule applies.
func (s *Submission) applyDecision(d Decision, now time.Time, held bool) (scheduled bool) {
	s.Outcome, s.ProviderReference, s.Sequence, s.States = d.Outcome, d.ProviderReference, d.Sequence, d.States
	s.MissingSince, s.MissingCount = d.MissingSince, d.MissingCount
	if !d.SentAt.IsZero() {
		s.SentAt = d.SentAt
	}
	if d.Responded {
		s.LastCheckedAt, s.LastStatus, s.LastSHA256 = &now, d.LastStatus, d.LastSHA256
	}
	released := held && d.KeepUntil == nil
	// If polling has ended, nobody holds a lease, and a late response may open a state again: its schedule applies.
	scheduled = released || !held && s.NextCheckAt == nil
	if scheduled {
		s.PollWait, s.DueAt, s.NextCheckAt = d.PollWait, d.DueAt, d.DueAt
	}
	if held && d.KeepUntil != nil {
		s.DueAt, s.NextCheckAt = d.KeepUntil, d.KeepUntil
	}
	if released {
		s.ResendOrdered, s.ResendUnderWay = d.ResendOrdered, false
		s.fencingToken++ // a second response under the lease finds it lost
	}
	if slices.Contains(d.Events, api.EventTerminal) {
		s.TerminalAt = &now
	}
	return scheduled
}

// writeStates writes the rows of the dimensions that changed, and updates their origins in s.
func writeStates(ctx context.Context, t *base.Tenant, tx *base.Tx, s *Submission, d Decision, evidence base.ID,
	now time.Time) error {
	var rows [][]any
	origins := maps.Clone(s.Origins)
	if origins == nil {
		origins = map[invoice.Dimension]Origin{}
	}
	for _, dimension := range d.WriteStates {
		state := d.States.Stored(dimension)
		if state.Value == "" {
			continue // a dimension that was never reported has no row
		}
		var meaning any
		if state.Meaning != "" {
			meaning = string(state.Meaning)
		}
		rows = append(rows, []any{t.ID(), s.ID, dimension, state.Value, base.Flag(state.Terminal), meaning, evidence,
			base.Micros(now)})
		origins[dimension] = Origin{Evidence: evidence, ReportedAt: now}
	}
	s.Origins = origins
	return tx.Insert(ctx,
		`insert into states (tenant_id, submission_id, dimension, word, terminal, meaning, evidence_id, changed_at) values`,
		rows,
		` on conflict (tenant_id, submission_id, dimension) do update set word = excluded.word, terminal = excluded.terminal,
			meaning = excluded.meaning, evidence_id = excluded.evidence_id, changed_at = excluded.changed_at`)
}

// noticeRejection counts a rejection if a decision about s is one.
func noticeRejection(t *base.Tx, account base.ID, s *Submission, d *Decision) {
	if invoice.CategoryOf(s.Outcome, s.States) != invoice.CategoryAttention &&
		invoice.CategoryOf(d.Outcome, d.States) == invoice.CategoryAttention {
		identity.Notify(t, account, identity.NoticeRejection)
	}
}
