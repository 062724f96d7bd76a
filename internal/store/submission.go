package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
)

// OutcomeNotSent is the outcome of a submission of which the provider certainly took nothing. Its invoice is a draft
// again and the row keeps the permanent reference for the next try; customers never see it.
const OutcomeNotSent api.Outcome = "not_sent"

// Submission is one regulated submission of an invoice: the service's own knowledge of it, and the provider's words.
type Submission struct {
	ID             ID
	Invoice        ID
	Connection     ID
	Ordinal        int64
	Current        bool
	Number         string
	Outcome        api.Outcome
	AttemptedAt    time.Time
	SentAt         time.Time // when it was last handed to the provider; the same as AttemptedAt unless it was sent again
	ResendOrdered  bool      // an administrator has decided that it is to be sent again
	ResendUnderWay bool      // that decision is being carried out: no answer to the repeat has been recorded yet
	Reference      *string   // the provider's own identifier
	Sequence       *int64    // the highest provider sequence merged into States
	LastCheckedAt  *time.Time
	LastStatus     int      // HTTP status of the previous answer, 0 before the first
	LastSHA256     [32]byte // digest of the previous answer
	PollWait       time.Duration
	MissingSince   *time.Time // when the provider first said that it has no such document
	MissingCount   int        // how often in a row it has said so
	TerminalAt     *time.Time
	Evidence       int64      // number of evidence entries
	DueAt          *time.Time // when it is work, or its lease ends
	NextCheckAt    *time.Time // when the provider is asked next, as it was decided; a claim does not move it
	// Resolved is what an administrator has decided while the outcome was unknown; nil when nobody had to.
	Resolved *Resolution
	States   invoice.States

	// origins say where the words of States come from, by dimension.
	origins map[invoice.Dimension]origin

	tenant ID
	lease  int64
	head   []byte
	// heldUntil is when the connection, being in trouble, is tried again; nil when it is well.
	heldUntil *time.Time
	// version and updatedAt are those of its invoice after [SubmissionLease.Record]; zero elsewhere.
	version   int64
	updatedAt time.Time

	account       ID
	begunAt       sql.Null[int64] // when it was first begun; null for one of before
	earlierEvents []byte
	unresolved    resolution // what its columns hold where Resolved is nil: nothing, unless somebody has written there
	sealed        []byte     // what seals it
	was           seal       // what the seal covers, as it was read or written
}

// What stands in the column resend: nothing, an administrator's decision to send again, or that decision while the repeat has
// no recorded answer. The last is kept apart, so that a repeat that was refused is not taken for one that the provider's own
// answers had justified.
const (
	resendNone     = 0
	resendOrdered  = 1
	resendUnderWay = 2
)

// resend is what the column holds for a submission.
func (s *Submission) resend() int64 {
	switch {
	case s.ResendOrdered:
		return resendOrdered
	case s.ResendUnderWay:
		return resendUnderWay
	}
	return resendNone
}

// MaybeSent tells whether the submission may have reached the provider.
func (s *Submission) MaybeSent() bool { return s.Outcome != OutcomeNotSent }

// submissionColumns are a submission and what belongs to it: a line for each dimension of which the provider has said
// something (no word holds a control character; see [restoreStates]), and until when its connection is held. The document, the largest part by far,
// is read by [Tenant.document] where it is sent.
func (e *engine) submissionColumns() string {
	return `tenant_id, account_id, id, invoice_id, connection_id, ordinal, current, number, outcome, attempted_at,
	sent_at, resend, provider_reference, sequence, last_checked_at, last_status, last_sha256, poll_wait, missing_since, missing_count,
	terminal_at, evidence_count, evidence_head, due_at, next_check_at, lease, begun_at, earlier_events, evidence_seal, ` + resolutionColumns + `,
	(select string_agg(w.dimension || ' ' || w.terminal || ' ' || coalesce(w.meaning, '') || ' ' || w.changed_at || ' ' || ` + e.stateEvidence + ` || ' ' || w.word, '
') from states w where w.tenant_id = submissions.tenant_id and w.submission_id = submissions.id),
	(select retry_at from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id)`
}

func scanSubmissionWith(row scanner, more ...any) (Submission, error) {
	var s Submission
	var current, attempted, sent, resend, wait int64
	var reference, states sql.Null[string]
	var sequence, checked, status, missing, terminal, due, next, retry sql.Null[int64]
	var sum []byte
	var resolved resolution
	into := []any{&s.tenant, &s.account, &s.ID, &s.Invoice, &s.Connection, &s.Ordinal, &current, &s.Number, &s.Outcome, &attempted,
		&sent, &resend, &reference, &sequence, &checked, &status, &sum, &wait, &missing, &s.MissingCount,
		&terminal, &s.Evidence, &s.head, &due, &next, &s.lease, &s.begunAt, &s.earlierEvents, &s.sealed}
	into = append(append(into, resolved.fields()...), &states, &retry)
	if err := row.Scan(append(into, more...)...); err != nil {
		return Submission{}, err
	}
	if resolved.restore(&s); s.Resolved == nil {
		s.unresolved = resolved
	}
	s.Current, s.AttemptedAt = current == 1, instant(attempted)
	var err error
	if s.States, s.origins, err = restoreStates(states.V); err != nil {
		return Submission{}, fmt.Errorf("stored states of submission %s: %w", s.ID, err)
	}
	s.SentAt, s.ResendOrdered, s.ResendUnderWay = instant(sent), resend == resendOrdered, resend == resendUnderWay
	s.Reference, s.LastStatus, s.PollWait = textOrNil(reference), int(status.V), time.Duration(wait)*time.Microsecond
	if sequence.Valid {
		s.Sequence = &sequence.V
	}
	copy(s.LastSHA256[:], sum)
	s.LastCheckedAt, s.MissingSince = instantOrNil(checked), instantOrNil(missing)
	s.TerminalAt, s.DueAt, s.NextCheckAt = instantOrNil(terminal), instantOrNil(due), instantOrNil(next)
	s.heldUntil = instantOrNil(retry)
	s.was = s.asRead()
	return s, nil
}

// submission reads a submission.
func (t *Tenant) submission(ctx context.Context, q querier, id ID, lock string) (Submission, error) {
	return scanSubmission(q.QueryRowContext(ctx, `select `+t.db.submissionColumns()+` from submissions where tenant_id = $1 and id = $2`+lock, t.id, id))
}

// document reads what is sent, or was.
func (t *Tenant) document(ctx context.Context, q querier, submission ID) ([]byte, error) {
	var document string
	err := q.QueryRowContext(ctx, `select document from submissions where tenant_id = $1 and id = $2`, t.id, submission).Scan(&document)
	return []byte(document), err
}

func (t *Tenant) currentSubmission(ctx context.Context, q querier, invoiceID ID) (*Submission, error) {
	s, err := scanSubmission(q.QueryRowContext(ctx, `select `+t.db.submissionColumns()+`
		from submissions where tenant_id = $1 and invoice_id = $2 and current = 1`, t.id, invoiceID))
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// Submission returns one submission.
func (t *Tenant) Submission(ctx context.Context, id ID) (Submission, error) {
	var s Submission
	err := t.read(func(q querier) error {
		var err error
		s, err = t.submission(ctx, q, id, "")
		return err
	})
	return s, err
}

// Submissions returns every submission of an invoice that may have reached the provider, newest first.
func (t *Tenant) Submissions(ctx context.Context, invoiceID ID) ([]Submission, error) {
	var out []Submission
	err := t.read(func(q querier) error {
		if _, err := scanInvoice(q.QueryRowContext(ctx, `select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2`, t.id, invoiceID)); err != nil {
			return err
		}
		var err error
		out, err = collect(ctx, q, scanSubmission, `select `+t.db.submissionColumns()+` from submissions
			where tenant_id = $1 and invoice_id = $2 and outcome <> 'not_sent' order by ordinal desc`, t.id, invoiceID)
		return err
	})
	return out, err
}

// The refusals of [Tenant.BeginSubmission], in the order in which they are checked.
var (
	ErrSubmissionInProgress = errors.New("submission in progress")
	ErrConnectionRequired   = errors.New("no active provider connection")
	ErrNotApproved          = errors.New("production connection not approved")
)

// IncompleteError says what a draft still needs for submission, as JSON paths.
type IncompleteError struct{ Missing []string }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("invoice incomplete: %d fields", len(e.Missing))
}

// DuplicateNumberError names the invoice that was submitted with the same number.
type DuplicateNumberError struct{ Invoice ID }

func (e *DuplicateNumberError) Error() string { return "invoice number already submitted" }

// indexSubmissionNumber is what the loser of a race for a number violates; who won is read after the transaction.
const indexSubmissionNumber = "submissions_number"

// Intent is how a submission begins.
type Intent struct {
	// Environment of this service; production wants an approved production connection.
	Environment string
	// Release is that of this service; production wants an approval that covers it.
	Release string
	// Render makes the exact document for the provider, or names what is missing. It is pure.
	Render func(draft *api.Draft, seller *api.Profile, reference string) (document []byte, missing []string, err error)
	// Lease is how long the caller's provider call may take before reconciliation may look the reference up, and
	// QueryFirstLease the same for a call with [SubmissionLease.QueryFirst].
	Lease, QueryFirstLease time.Duration
}

// SubmissionLease is the right to speak to the provider about one submission.
type SubmissionLease struct {
	Tenant     *Tenant
	Submission Submission
	Connection Connection
	// Document is exactly what is to be sent; nil when the provider is only to be asked.
	Document []byte

	// QueryFirst tells that this database was restored from a backup since the invoice was created: the provider may have
	// its document, which has to be asked for before anything is sent.
	QueryFirst bool

	probe   bool    // the one call that a connection in trouble may make
	invoice Invoice // as it was left by BeginSubmission
}

// Submitted returns the invoice of a call that [Tenant.BeginSubmission] returned, with its submission as [SubmissionLease.Record]
// returned it, or as it was found: what a reader would find at that moment.
func (c SubmissionLease) Submitted(s Submission) Invoice {
	found := c.invoice
	found.Submission = &s
	if s.version > 0 {
		found.Version, found.UpdatedAt = s.version, s.updatedAt
	}
	return found
}

// BeginSubmission commits the intent to submit an invoice under a permanent reference. When a submission with an
// outcome is recorded already, it returns that and begun is false: nothing is to be sent.
func (t *Tenant) BeginSubmission(ctx context.Context, invoiceID ID, intent Intent) (call SubmissionLease, begun bool, err error) {
	err = t.write(ctx, "begin submission", func(ctx context.Context, tx *tx) error {
		call, begun = SubmissionLease{Tenant: t}, false
		found, err := t.invoice(ctx, tx, invoiceID, t.db.lock)
		if err != nil {
			return err
		}
		if s := found.Submission; s != nil {
			if s.Outcome == api.OutcomeInProgress {
				return ErrSubmissionInProgress
			}
			call.Submission, call.invoice = *s, found
			return nil
		}
		begun = true
		return t.begin(ctx, tx, found, intent, &call)
	})
	if err != nil && t != nil && t.db != nil && t.db.constraint(err) == indexSubmissionNumber {
		err = t.lostNumber(ctx, invoiceID)
	}
	return call, begun, err
}

// begin checks the draft and the connection, reserves the number and writes the intent.
func (t *Tenant) begin(ctx context.Context, tx *tx, found Invoice, intent Intent, call *SubmissionLease) error {
	g, err := t.grounds(ctx, tx, found)
	if err != nil {
		return err
	}
	s, before, err := t.nextSubmission(ctx, tx, found.ID, g)
	if err != nil {
		return err
	}
	if call.QueryFirst, err = g.restored.since(found.CreatedAt); err != nil {
		return err
	}
	document, missing, err := intent.Render(&found.Draft, &g.account.Profile, s.ID.String())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &IncompleteError{Missing: missing}
	}
	if call.Connection, err = t.usableConnection(ctx, tx, intent.Environment, intent.Release); err != nil {
		return err
	}
	if g.holder != (ID{}) {
		return &DuplicateNumberError{Invoice: g.holder}
	}
	if before != nil && s.Evidence > 0 && before.subject != sha256.Sum256(document) {
		// What the provider has answered under this reference was about another document, for instance because the profile
		// has changed: this one gets a reference of its own.
		s.Current = false
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		s, before = t.freshSubmission(found.ID, g), nil
		if document, _, err = intent.Render(&found.Draft, &g.account.Profile, s.ID.String()); err != nil {
			return err
		}
	}
	now := tx.now()
	s.Invoice, s.Connection, s.Number = found.ID, call.Connection.ID, *found.Draft.InvoiceNumber
	begun := s.AttemptedAt
	s.Outcome, s.AttemptedAt, s.SentAt, s.Current = api.OutcomeInProgress, now, now, true
	lease := intent.Lease
	if call.QueryFirst {
		lease = intent.QueryFirstLease
	}
	s.DueAt, s.PollWait = new(now.Add(lease)), 0
	s.NextCheckAt = s.DueAt
	s.lease++
	if before != nil {
		err = t.beginAgain(ctx, tx, &s, begun, *before, document)
	} else {
		err = t.insertSubmission(ctx, tx, &s, document)
	}
	if err != nil {
		return err
	}
	call.Submission, call.Document, call.invoice = s, document, found
	return t.touchInvoice(ctx, tx, found.ID, now)
}

// beginAgain writes a further intent under a reference of which nothing was taken; begun is when the last one was.
func (t *Tenant) beginAgain(ctx context.Context, tx *tx, s *Submission, begun time.Time, before seal, document []byte) error {
	if !s.begunAt.Valid {
		s.begunAt = sql.Null[int64]{V: micros(begun), Valid: true}
	}
	before.subject = sha256.Sum256(document)
	if err := t.sealAs(s, before); err != nil {
		return err
	}
	return tx.Later(ctx, `update submissions set connection_id = $3, number = $4, document = $5, outcome = $6, attempted_at = $7,
		sent_at = $7, due_at = $8, next_check_at = $8, lease = $9, poll_wait = 0, begun_at = $10, evidence_seal = $11 where tenant_id = $1 and id = $2`,
		t.id, s.ID, s.Connection, s.Number, string(document), s.Outcome, micros(s.AttemptedAt), micros(*s.DueAt), s.lease, s.begunAt, s.sealed)
}

// insertSubmission writes the first intent under a reference. It is sealed from the start, its chain of evidence empty as it
// is.
func (t *Tenant) insertSubmission(ctx context.Context, tx *tx, s *Submission, document []byte) error {
	s.tenant, s.account, s.begunAt = t.id, t.account, sql.Null[int64]{V: micros(s.AttemptedAt), Valid: true}
	if err := t.sealAs(s, seal{subject: sha256.Sum256(document)}); err != nil {
		return err
	}
	return tx.Later(ctx, `insert into submissions (tenant_id, id, account_id, connection_id, invoice_id, ordinal, current, number,
		document, outcome, attempted_at, sent_at, poll_wait, due_at, next_check_at, lease, evidence_seal, begun_at)
		values ($1, $2, $3, $4, $5, $13, 1, $6, $7, $8, $9, $14, 0, $10, $10, $11, $12, $9)`,
		t.id, s.ID, t.account, s.Connection, s.Invoice, s.Number, string(document), s.Outcome, micros(s.AttemptedAt), micros(*s.DueAt), s.lease, s.sealed, s.Ordinal, micros(s.SentAt))
}

// grounds are what a submission begins from, beside the invoice.
type grounds struct {
	account  Account
	last     int64 // ordinal of the invoice's last submission, 0 before the first
	reserved bool  // of the last one nothing was sent
	restored restoredAt
	// holder is the invoice that was submitted with the same number, if any; or this one itself, when the provider has a
	// document of it that had been resolved by rejecting it.
	holder ID
}

// grounds reads them, for an invoice that is locked. A frozen tenant begins nothing new, even for a request that was under
// way when it was frozen.
func (t *Tenant) grounds(ctx context.Context, q querier, found Invoice) (grounds, error) {
	var g grounds
	var holder sql.Null[ID]
	account, err := scanAccount(q.QueryRowContext(ctx, `select `+accountColumns+`,
			(select coalesce(max(ordinal), 0) from submissions where tenant_id = $2 and invoice_id = $3),
			exists (select 1 from submissions where tenant_id = $2 and invoice_id = $3 and current = 1),
			(select value from settings where key = 'restored_at'),
			coalesce((select invoice_id from submissions where tenant_id = $2 and number = $4 and outcome in ('in_progress', 'acknowledged', 'unknown')),
			(select invoice_id from submissions where tenant_id = $2 and contradicted_at is not null and (number = $4 or invoice_id = $3) limit 1))
		from accounts where id = $1 and exists (select 1 from tenants where id = $2 and account_id = $1 and frozen_at is null)`,
		t.account, t.id, found.ID, *found.Draft.InvoiceNumber), &g.last, &g.reserved, &g.restored.Null, &holder)
	g.account, g.holder = account, holder.V
	return g, err
}

// nextSubmission returns the submission that an invoice begins next, with its reference. A submission of which nothing was
// sent lends its reference to the next try; before is then what its seal says.
func (t *Tenant) nextSubmission(ctx context.Context, tx *tx, invoiceID ID, g grounds) (s Submission, before *seal, err error) {
	if !g.reserved {
		return t.freshSubmission(invoiceID, g), nil, nil
	}
	current, err := t.currentSubmission(ctx, tx, invoiceID)
	if err != nil {
		return s, nil, err
	}
	found, err := t.continueSubmission(ctx, tx, current)
	return *current, &found, err
}

// freshSubmission is the one after the last of an invoice.
func (t *Tenant) freshSubmission(invoiceID ID, g grounds) Submission {
	return Submission{ID: reference(t.id, invoiceID, g.last+1), Ordinal: g.last + 1}
}

// touchInvoice moves the version of an invoice of which something has changed.
func (t *Tenant) touchInvoice(ctx context.Context, tx *tx, id ID, now time.Time) error {
	return tx.Later(ctx, `update invoices set version = version + 1, updated_at = $3 where tenant_id = $1 and id = $2`, t.id, id, micros(now))
}

// usableConnection returns the active connection of the tenant's account, if the environment lets it submit.
func (t *Tenant) usableConnection(ctx context.Context, q querier, environment, release string) (Connection, error) {
	c, err := scanConnection(q.QueryRowContext(ctx, `select `+connectionColumns+` from connections where account_id = $1 and state = 'active'`, t.account))
	if errors.Is(err, sql.ErrNoRows) {
		return Connection{}, ErrConnectionRequired
	}
	if err != nil {
		return Connection{}, err
	}
	if !c.Allowed(environment, release) {
		return Connection{}, fmt.Errorf("%w: connection %s of environment %s, for release %s", ErrNotApproved, c.ID, c.Environment, release)
	}
	return c, nil
}

// lostNumber names the invoice that took the number of invoiceID at the same time.
func (t *Tenant) lostNumber(ctx context.Context, invoiceID ID) error {
	return t.read(func(q querier) error {
		var holder ID
		err := q.QueryRowContext(ctx, `select s.invoice_id from invoices i join submissions s on s.tenant_id = i.tenant_id and s.number = i.number
			where i.tenant_id = $1 and i.id = $2 and s.outcome in ('in_progress', 'acknowledged', 'unknown')`, t.id, invoiceID).Scan(&holder)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrSubmissionInProgress // the winner has been refused meanwhile: the caller may try again
		}
		if err != nil {
			return err
		}
		return &DuplicateNumberError{Invoice: holder}
	})
}

// BeginResend commits the intent to send a submission again under its reference, before any byte of it leaves. What
// was heard about a missing document counts from anew, and an administrator's decision is used up unless the repeat turns out
// not to have been taken. [ErrLeaseLost] says that it is somebody else's turn.
func (c SubmissionLease) BeginResend(ctx context.Context, lease time.Duration) (SubmissionLease, error) {
	t := c.Tenant
	err := t.write(ctx, "begin resend", func(ctx context.Context, tx *tx) error {
		// As everywhere, so that the states are those that stand with the row.
		if err := t.lockInvoice(ctx, tx, c.Submission.Invoice); err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, c.Submission.ID, t.db.lock)
		if err != nil {
			return err
		}
		if s.lease != c.Submission.lease || s.Outcome != api.OutcomeUnknown {
			return ErrLeaseLost
		}
		if c.Document, err = t.document(ctx, tx, s.ID); err != nil {
			return err
		}
		now := tx.now()
		s.SentAt, s.MissingSince, s.MissingCount, s.DueAt = now, nil, 0, new(now.Add(lease))
		s.ResendOrdered, s.ResendUnderWay = false, s.ResendOrdered
		s.lease++
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		c.Submission = s
		return nil
	})
	return c, err
}

// scanSubmission scans a submission and nothing more.
func scanSubmission(row scanner) (Submission, error) { return scanSubmissionWith(row) }
