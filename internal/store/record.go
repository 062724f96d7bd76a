package store

import (
	"context"
	"errors"
	"maps"
	"slices"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
)

// Decision is what one answer of the provider changes. It is made by the submission package, which alone turns
// evidence into states; this package commits it whole.
type Decision struct {
	// Evidence is appended to the chain; nil when nothing was returned, or exactly what was returned before.
	Evidence *NewEvidence
	// Answered is true when the provider answered at all: LastCheckedAt moves, and LastStatus and LastSHA256 are these.
	Answered   bool
	LastStatus int
	LastSHA256 [32]byte
	// Outcome, Reference, Sequence, MissingSince and MissingCount replace those of the submission.
	Outcome      api.Outcome
	Reference    *string
	Sequence     *int64
	MissingSince *time.Time
	MissingCount int
	// ResendOrdered tells that an administrator's decision to send again stands. It is ignored when the lease is lost.
	ResendOrdered bool
	// SentAt is when the document was last handed to the provider; zero when that has not changed.
	SentAt time.Time
	// States are the merged states; WriteStates names the dimensions whose rows change. A row names the new evidence.
	States      invoice.States
	WriteStates []invoice.Dimension
	// PollWait and DueAt are when to ask again; nil for never. They are ignored when the lease is lost. KeepLease keeps the
	// lease for the caller's next step instead.
	PollWait  time.Duration
	DueAt     *time.Time
	KeepLease bool
	// FailureReason names what kept the call from a usable answer, "" when it had one; RetryAfter is the wait that the provider
	// asked for. They are about the connection, whatever becomes of the lease.
	FailureReason string
	RetryAfter    time.Duration
	// Events are recorded in this order, each with a delivery for every active subscription to its kind.
	Events []api.EventKind
	// Contradicts tells that the provider has a document that an administrator resolved by rejecting it.
	Contradicts bool
}

// Record locks a submission, has decide make a decision from it, and commits that in the same transaction: evidence,
// states, outcome, events and deliveries. leased tells decide whether the caller's lease still stands; if not, an
// answer is still kept, but the schedule belongs to somebody else.
func (c SubmissionLease) Record(ctx context.Context, decide func(s Submission, leased bool, now time.Time) (Decision, error)) (Submission, error) {
	t := c.Tenant
	var after Submission
	err := t.write(ctx, "record answer", func(ctx context.Context, tx *tx) error {
		// The invoice is locked first, as everywhere, so that two transactions cannot wait for each other. How the
		// connection fares is read on the way: mostly it is well, and nothing has to be written.
		var version, updated, failures int64
		if err := tx.QueryRowContext(ctx, `select version, updated_at, (select failures from connections where account_id = $3 and id = $4)
			from invoices where tenant_id = $1 and id = $2`+t.db.lock, t.id, c.Submission.Invoice, t.account, c.Submission.Connection).Scan(&version, &updated, &failures); err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, c.Submission.ID, t.db.lock)
		if err != nil {
			return err
		}
		s.version, s.updatedAt = version, instant(updated)
		leased := s.lease == c.Submission.lease
		decision, err := decide(s, leased, tx.now())
		if err != nil {
			return err
		}
		if err := c.updateCircuit(ctx, tx, &s, failures, decision); err != nil {
			return err
		}
		if err := t.apply(ctx, tx, &s, decision, leased); err != nil {
			return err
		}
		after = s
		return nil
	})
	return after, err
}

// lockInvoice keeps every other writer from an invoice, and what belongs to it, until the transaction ends.
func (t *Tenant) lockInvoice(ctx context.Context, tx *tx, id ID) error {
	var version int64
	return tx.QueryRowContext(ctx, `select version from invoices where tenant_id = $1 and id = $2`+t.db.lock, t.id, id).Scan(&version)
}

// apply writes a decision and brings s up to date with it.
func (t *Tenant) apply(ctx context.Context, tx *tx, s *Submission, d Decision, leased bool) error {
	now := tx.now()
	next, err := t.continueSubmission(ctx, tx, s)
	if err != nil {
		return err
	}
	changed := s.Outcome != d.Outcome || len(d.WriteStates) > 0
	tx.use(t.id, d.usage(s.Outcome))
	payload := api.SubmissionPayload{States: d.States.Wire(), InvoiceID: s.Invoice.String(), InvoiceNumber: s.Number}
	emitted, err := emit(ctx, tx, t, now, d.Events, api.ResourceSubmission, s.ID, payload)
	if err != nil {
		return err
	}
	var evidence ID
	switch {
	case d.Evidence != nil:
		if evidence, err = t.appendEvidence(ctx, tx, s, *d.Evidence, now, next.subject, emitted.digests); err != nil {
			return err
		}
	case len(d.Events) > 0 || len(d.WriteStates) > 0 || d.Contradicts:
		return errNoEvidence
	}
	if err := t.writeStates(ctx, tx, s, d, evidence, now); err != nil {
		return err
	}
	s.take(d, now, leased)
	if leased && !d.KeepLease {
		tx.notify(WorkSubmissions) // the workers have to know when it is due
	}
	if d.Contradicts {
		changed = true
		if err := t.contradicted(ctx, tx, s, now); err != nil {
			return err
		}
	}
	if err := t.sealAs(s, next); err != nil {
		return err
	}
	if err := tx.Later(ctx, `update submissions set outcome = $3, provider_reference = $4, sequence = $5, last_checked_at = $6,
		last_status = $7, last_sha256 = $8, poll_wait = $9, missing_since = $10, missing_count = $11, terminal_at = $12,
		evidence_count = $13, evidence_head = $14, due_at = $15, lease = $16, next_check_at = $17,
		evidence_seal = $18, sent_at = $19, resend = $20 where tenant_id = $1 and id = $2`,
		t.id, s.ID, storedOutcome(s.Outcome), s.Reference, s.Sequence, microsOrNil(s.LastCheckedAt), s.LastStatus, s.LastSHA256[:],
		s.PollWait.Microseconds(), microsOrNil(s.MissingSince), s.MissingCount, microsOrNil(s.TerminalAt),
		s.Evidence, s.head, microsOrNil(s.DueAt), s.lease, microsOrNil(s.NextCheckAt), s.sealed, micros(s.SentAt), s.resend()); err != nil {
		return err
	}
	if changed {
		s.version, s.updatedAt = s.version+1, now
		if err := t.touchInvoice(ctx, tx, s.Invoice, now); err != nil {
			return err
		}
	}
	return emitted.write(ctx, tx)
}

// usage is what a decision about a submission of some outcome adds to what the company uses: what is retained, and a draft less
// once something is known of the submission.
func (d Decision) usage(before api.Outcome) (add usage) {
	if d.Evidence != nil {
		add.bytes = int64(len(d.Evidence.Body))
	}
	if before == api.OutcomeInProgress && d.Outcome != api.OutcomeInProgress && d.Outcome != OutcomeNotSent {
		add.drafts = -1
	}
	return add
}

// errNoEvidence says that a decision changes states, or is to be told, without an answer that it follows from.
var errNoEvidence = errors.New("a state or an event without evidence")

// take brings s up to date with a decision.
func (s *Submission) take(d Decision, now time.Time, leased bool) {
	s.Outcome, s.Reference, s.Sequence, s.States = d.Outcome, d.Reference, d.Sequence, d.States
	s.MissingSince, s.MissingCount = d.MissingSince, d.MissingCount
	if !d.SentAt.IsZero() {
		s.SentAt = d.SentAt
	}
	if d.Answered {
		s.LastCheckedAt, s.LastStatus, s.LastSHA256 = &now, d.LastStatus, d.LastSHA256
	}
	if leased && !d.KeepLease {
		s.PollWait, s.DueAt, s.NextCheckAt = d.PollWait, d.DueAt, d.DueAt
		s.ResendOrdered, s.ResendUnderWay = d.ResendOrdered, false
		s.lease++ // the work is handed back: a second answer under the same lease finds it lost
	}
	if slices.Contains(d.Events, api.EventTerminal) {
		s.TerminalAt = &now
	}
}

// writeStates writes the rows of the dimensions that changed, and notes in s where their words come from.
func (t *Tenant) writeStates(ctx context.Context, tx *tx, s *Submission, d Decision, evidence ID, now time.Time) error {
	var rows [][]any
	origins := maps.Clone(s.origins)
	if origins == nil {
		origins = map[invoice.Dimension]origin{}
	}
	for _, dimension := range d.WriteStates {
		word := d.States.Stored(dimension)
		if word.Value == "" {
			continue // what was never reported has no row
		}
		var meaning any
		if word.Meaning != "" {
			meaning = string(word.Meaning)
		}
		rows = append(rows, []any{t.id, s.ID, dimension, word.Value, flag(word.Terminal), meaning, evidence, micros(now)})
		origins[dimension] = origin{evidence: evidence, reportedAt: now}
	}
	s.origins = origins
	return tx.insert(ctx, `insert into states (tenant_id, submission_id, dimension, word, terminal, meaning, evidence_id, changed_at) values`, rows,
		` on conflict (tenant_id, submission_id, dimension) do update set word = excluded.word, terminal = excluded.terminal,
			meaning = excluded.meaning, evidence_id = excluded.evidence_id, changed_at = excluded.changed_at`)
}

func microsOrNil(at *time.Time) any {
	if at == nil {
		return nil
	}
	return micros(*at)
}
