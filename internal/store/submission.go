package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// OutcomeNotSent is the outcome of a submission that the provider certainly did not receive. Its invoice is a draft again, and
// the row keeps the permanent reference for the next try. Customers never see this outcome.
const OutcomeNotSent api.Outcome = "not_sent"

// Submission is one regulated submission of an invoice: what this service knows about it, and what the provider has reported.
type Submission struct {
	ID                ID
	Invoice           ID
	Connection        ID
	Ordinal           int64
	Current           bool
	Number            string
	Outcome           api.Outcome
	AttemptedAt       time.Time
	SentAt            time.Time // when it was last sent; the same as AttemptedAt unless it was sent again
	ResendOrdered     bool      // an administrator has ordered a resend
	ResendUnderWay    bool      // the ordered resend has begun, and its response is not recorded yet
	ProviderReference *string   // the provider's own identifier
	Sequence          *int64    // the highest provider sequence merged into States
	LastCheckedAt     *time.Time
	LastStatus        int      // HTTP status of the previous response, 0 before the first
	LastSHA256        [32]byte // digest of the previous response
	PollWait          time.Duration
	MissingSince      *time.Time // when the provider first said that it has no such document
	MissingCount      int        // how many responses in a row have said so
	TerminalAt        *time.Time
	Evidence          int64      // number of evidence entries
	DueAt             *time.Time // when it is due, or its lease ends
	NextCheckAt       *time.Time // when it is polled next, as decided after the last response; a claim does not change it
	// Resolved is what an administrator has decided while the outcome was unknown; nil without a decision.
	Resolved *api.Resolution
	States   invoice.States
	// Origins says where each state value was read, by dimension.
	Origins map[invoice.Dimension]Origin
	// HeldUntil is when the connection is probed next while its circuit breaker is open; nil while it is closed.
	HeldUntil *time.Time

	tenant       ID
	fencingToken int64
	head         []byte
	// version and updatedAt are those of the invoice after [SubmissionLease.Record]; zero elsewhere.
	version   int64
	updatedAt time.Time

	account         ID
	begunAt         sql.Null[int64] // when it was first begun; null in rows that are older than the column
	earlierEvents   []byte
	strayResolution resolution // what the resolution columns hold if Resolved is nil: nothing, unless the row was tampered with
	sealed          []byte     // the seal
	was             seal       // what the seal covers, as last read or written
}

// The values of the column resend: no order, an order of an administrator to send again, or such an order whose resend has no
// recorded response yet. The last value distinguishes an ordered resend that was refused from one that the provider's own
// responses had justified.
const (
	resendNone     = 0
	resendOrdered  = 1
	resendUnderWay = 2
)

// resend returns the value of the column resend.
func (s *Submission) resend() int64 {
	switch {
	case s.ResendOrdered:
		return resendOrdered
	case s.ResendUnderWay:
		return resendUnderWay
	}
	return resendNone
}

// MaybeSent tells whether the provider may have received the submission.
func (s *Submission) MaybeSent() bool { return s.Outcome != OutcomeNotSent }

// submissionColumns returns the columns of a submission: those of its row except the document, which is by far the largest and is
// read by [Tenant.document]; its states as one text, with a line for each reported dimension (see [restoreStates]; a state value
// contains no control character, so no newline); and when its connection is probed next.
func (db *DB) submissionColumns() string {
	return `tenant_id, account_id, id, invoice_id, connection_id, ordinal, current, number, outcome, attempted_at,
	sent_at, resend, provider_reference, sequence, last_checked_at, last_status, last_sha256, poll_wait, missing_since, missing_count,
	terminal_at, evidence_count, evidence_head, due_at, next_check_at, lease, begun_at, earlier_events, evidence_seal, ` + resolutionColumns + `,
	(select string_agg(w.dimension || ' ' || w.terminal || ' ' || coalesce(w.meaning, '') || ' ' || w.changed_at || ' ' || ` + db.dialect.Hex("w.evidence_id") + ` || ' ' || w.word, '
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
		&terminal, &s.Evidence, &s.head, &due, &next, &s.fencingToken, &s.begunAt, &s.earlierEvents, &s.sealed}
	into = append(append(into, resolved.fields()...), &states, &retry)
	if err := row.Scan(append(into, more...)...); err != nil {
		return Submission{}, err
	}
	if resolved.restore(&s); s.Resolved == nil {
		s.strayResolution = resolved
	}
	s.Current, s.AttemptedAt = current == 1, instant(attempted)
	var err error
	if s.States, s.Origins, err = restoreStates(states.V); err != nil {
		return Submission{}, fmt.Errorf("stored states of submission %s: %w", s.ID, err)
	}
	if resend < resendNone || resend > resendUnderWay || len(sum) != 0 && len(sum) != len(s.LastSHA256) {
		return Submission{}, fmt.Errorf("submission %s: a stored value is impossible", s.ID)
	}
	s.SentAt, s.ResendOrdered, s.ResendUnderWay = instant(sent), resend == resendOrdered, resend == resendUnderWay
	s.ProviderReference, s.LastStatus, s.PollWait = textOrNil(reference), int(status.V), time.Duration(wait)*time.Microsecond
	if sequence.Valid {
		s.Sequence = &sequence.V
	}
	copy(s.LastSHA256[:], sum)
	s.LastCheckedAt, s.MissingSince = instantOrNil(checked), instantOrNil(missing)
	s.TerminalAt, s.DueAt, s.NextCheckAt = instantOrNil(terminal), instantOrNil(due), instantOrNil(next)
	s.HeldUntil = instantOrNil(retry)
	s.was = s.asRead()
	return s, nil
}

// submission reads one submission.
func (t *Tenant) submission(ctx context.Context, q querier, id ID, lock string) (Submission, error) {
	return scanSubmission(q.QueryRowContext(ctx, `select `+t.db.submissionColumns()+` from submissions where tenant_id = $1 and id = $2`+lock, t.id, id))
}

// document reads the document of a submission: the exact bytes that are sent.
func (t *Tenant) document(ctx context.Context, q querier, submission ID) ([]byte, error) {
	var document string
	err := q.QueryRowContext(ctx, `select document from submissions where tenant_id = $1 and id = $2`, t.id, submission).Scan(&document)
	return []byte(document), err
}

// SubmittedDocument returns the document of a submission: the exact bytes that are sent.
func (t *Tenant) SubmittedDocument(ctx context.Context, submission ID) ([]byte, error) {
	var document []byte
	err := t.read(func(q querier) (err error) {
		document, err = t.document(ctx, q, submission)
		return err
	})
	return document, err
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
	return readValue(t, func(q querier) (Submission, error) {
		return t.submission(ctx, q, id, "")
	})
}

// The errors of [Tenant.BeginSubmission], in the order in which they are checked.
var (
	ErrSubmissionInProgress = errors.New("submission in progress")
	ErrConnectionRequired   = errors.New("no active provider connection")
	ErrNotApproved          = errors.New("production connection not approved")
)

// IncompleteError lists the fields that a draft lacks for submission, as JSON paths.
type IncompleteError struct{ Missing []string }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("invoice incomplete: %d fields", len(e.Missing))
}

// DuplicateNumberError names another invoice that was submitted with the same number.
type DuplicateNumberError struct{ Invoice ID }

func (e *DuplicateNumberError) Error() string { return "invoice number already submitted" }

// indexSubmissionNumber is the index that the loser of a race for an invoice number violates. The winner is read after the
// transaction.
const indexSubmissionNumber = "submissions_number"

// Intent says how a submission begins.
type Intent struct {
	// Environment is the environment of this service. Production requires an approved production connection.
	Environment string
	// Release is the release of this service. Production requires an approval that covers it.
	Release string
	// Render returns the exact document for the provider, or the fields that are missing. It is a pure function.
	Render func(draft *api.Draft, seller *api.Profile, reference string) (document []byte, missing []string, err error)
	// LeaseDuration is how long the caller may take before the submission is polled. QueryFirstLeaseDuration is the same for a
	// lease with [SubmissionLease.QueryFirst].
	LeaseDuration, QueryFirstLeaseDuration time.Duration
}

// SubmissionLease is the exclusive right to call the provider about one submission, until the lease expires.
type SubmissionLease struct {
	Tenant     *Tenant
	Submission Submission
	Connection Connection
	// Document holds the exact bytes to send; nil if its status is only queried.
	Document []byte

	// QueryFirst says that this database was restored from a backup after the invoice was created. The provider may have its
	// document and its status must be queried before anything is sent.
	QueryFirst bool

	isProbe bool    // this is the one call to a connection whose circuit breaker is open
	invoice Invoice // as BeginSubmission left it
}

// Submitted returns the invoice of a lease that [Tenant.BeginSubmission] returned, with a submission as
// [SubmissionLease.Record] returned it. The result is what a reader would find at that moment.
func (l SubmissionLease) Submitted(s Submission) Invoice {
	found := l.invoice
	found.Submission = &s
	if s.version > 0 {
		found.Version, found.UpdatedAt = s.version, s.updatedAt
	}
	return found
}

// BeginSubmission commits the intent to submit an invoice under a permanent reference. If a submission with an outcome is already
// recorded, BeginSubmission returns it and begun is false: the caller sends nothing.
func (t *Tenant) BeginSubmission(ctx context.Context, invoiceID ID, intent Intent) (lease SubmissionLease, begun bool, err error) {
	err = t.write(ctx, "begin submission", func(ctx context.Context, tx *tx) error {
		lease, begun = SubmissionLease{Tenant: t}, false
		found, err := t.invoice(ctx, tx, invoiceID, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		if s := found.Submission; s != nil {
			if s.Outcome == api.OutcomeInProgress {
				return ErrSubmissionInProgress
			}
			lease.Submission, lease.invoice = *s, found
			return nil
		}
		begun = true
		return t.begin(ctx, tx, found, intent, &lease)
	})
	if err != nil && t != nil && t.db != nil && t.db.database.ViolatedConstraint(err) == indexSubmissionNumber {
		err = t.duplicateNumber(ctx, invoiceID)
	}
	return lease, begun, err
}

// begin checks the draft and the connection, reserves the invoice number and writes the intent.
func (t *Tenant) begin(ctx context.Context, tx *tx, found Invoice, intent Intent, lease *SubmissionLease) error {
	p, err := t.readPreconditions(ctx, tx, found)
	if err != nil {
		return err
	}
	s, before, err := t.nextSubmission(ctx, tx, found.ID, p)
	if err != nil {
		return err
	}
	document, missing, err := intent.Render(&found.Draft, &p.account.Profile, s.ID.String())
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		return &IncompleteError{Missing: missing}
	}
	if lease.Connection, err = t.usableConnection(ctx, tx, intent.Environment, intent.Release); err != nil {
		return err
	}
	if p.numberHolder != (ID{}) {
		return &DuplicateNumberError{Invoice: p.numberHolder}
	}
	if before != nil && s.Evidence > 0 && before.subject != sha256.Sum256(document) {
		// The evidence under this reference is about another document, for instance because the company's profile has changed
		// since. The new document gets a reference of its own.
		s.Current = false
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		s, before = t.freshSubmission(found.ID, p), nil
		if document, _, err = intent.Render(&found.Draft, &p.account.Profile, s.ID.String()); err != nil {
			return err
		}
	}
	now := tx.Now()
	s.Invoice, s.Connection, s.Number = found.ID, lease.Connection.ID, *found.Draft.InvoiceNumber
	previousIntent := s.AttemptedAt
	s.Outcome, s.AttemptedAt, s.SentAt, s.Current = api.OutcomeInProgress, now, now, true
	duration := intent.LeaseDuration
	if lease.QueryFirst = p.queryFirst; lease.QueryFirst {
		duration = intent.QueryFirstLeaseDuration
	}
	s.DueAt, s.PollWait = new(now.Add(duration)), 0 //planted:no-poll-after-a-crash
	s.NextCheckAt = s.DueAt
	s.fencingToken++
	if before != nil {
		err = t.restartSubmission(ctx, tx, &s, previousIntent, *before, document)
	} else {
		err = t.insertSubmission(ctx, tx, &s, document)
	}
	if err != nil {
		return err
	}
	lease.Submission, lease.Document, lease.invoice = s, document, found
	return t.touchInvoice(ctx, tx, found.ID, now)
}

// restartSubmission writes another intent under the reference of a submission that the provider did not receive. previousIntent is the
// time of the previous intent.
func (t *Tenant) restartSubmission(ctx context.Context, tx *tx, s *Submission, previousIntent time.Time, before seal, document []byte) error {
	if !s.begunAt.Valid {
		s.begunAt = sql.Null[int64]{V: micros(previousIntent), Valid: true}
	}
	before.subject = sha256.Sum256(document)
	if err := t.sealAs(s, before); err != nil {
		return err
	}
	return tx.ExecDeferred(ctx, `update submissions set connection_id = $3, number = $4, document = $5, outcome = $6, attempted_at = $7,
		sent_at = $7, due_at = $8, next_check_at = $8, lease = $9, poll_wait = 0, begun_at = $10, evidence_seal = $11 where tenant_id = $1 and id = $2`,
		t.id, s.ID, s.Connection, s.Number, string(document), s.Outcome, micros(s.AttemptedAt), micros(*s.DueAt), s.fencingToken, s.begunAt, s.sealed)
}

// insertSubmission writes the first intent under a reference. The row is sealed from the start, although its evidence chain is
// still empty.
func (t *Tenant) insertSubmission(ctx context.Context, tx *tx, s *Submission, document []byte) error {
	s.tenant, s.account, s.begunAt = t.id, t.account, sql.Null[int64]{V: micros(s.AttemptedAt), Valid: true}
	if err := t.sealAs(s, seal{subject: sha256.Sum256(document)}); err != nil {
		return err
	}
	return tx.ExecDeferred(ctx, `insert into submissions (tenant_id, id, account_id, connection_id, invoice_id, ordinal, current, number,
		document, outcome, attempted_at, sent_at, poll_wait, due_at, next_check_at, lease, evidence_seal, begun_at)
		values ($1, $2, $3, $4, $5, $13, 1, $6, $7, $8, $9, $14, 0, $10, $10, $11, $12, $9)`,
		t.id, s.ID, t.account, s.Connection, s.Invoice, s.Number, string(document), s.Outcome, micros(s.AttemptedAt), micros(*s.DueAt), s.fencingToken, s.sealed, s.Ordinal, micros(s.SentAt))
}

// submissionPreconditions is what a submission depends on, besides the invoice.
type submissionPreconditions struct {
	account     Account
	lastOrdinal int64 // ordinal of the invoice's last submission, 0 before the first
	hasUnsent   bool  // the provider did not receive the last one, which can be restarted
	queryFirst  bool  // the database was restored from a backup after the invoice was created
	// numberHolder is the invoice that was submitted with the same number, if any. It is the invoice itself if the provider has
	// reported a document of it that an administrator had resolved by rejecting it.
	numberHolder ID
}

// readPreconditions reads what the submission of an invoice depends on. The invoice is locked. A frozen tenant begins nothing new, not even for a request that was
// in progress when the tenant was frozen.
func (t *Tenant) readPreconditions(ctx context.Context, q querier, found Invoice) (submissionPreconditions, error) {
	var p submissionPreconditions
	var holder sql.Null[ID]
	account, err := scanAccount(q.QueryRowContext(ctx, `select `+accountColumns+`,
			(select coalesce(max(ordinal), 0) from submissions where tenant_id = $2 and invoice_id = $3),
			exists (select 1 from submissions where tenant_id = $2 and invoice_id = $3 and current = 1),
			exists (select 1 from tenants where id = $2 and restored_at >= $5),
			coalesce((select invoice_id from submissions where tenant_id = $2 and number = $4 and outcome in ('in_progress', 'acknowledged', 'unknown')),
			(select invoice_id from submissions where tenant_id = $2 and contradicted_at is not null and (number = $4 or invoice_id = $3) limit 1))
		from accounts where id = $1 and exists (select 1 from tenants where id = $2 and account_id = $1 and frozen_at is null)`,
		t.account, t.id, found.ID, *found.Draft.InvoiceNumber, micros(found.CreatedAt)), &p.lastOrdinal, &p.hasUnsent, &p.queryFirst, &holder)
	p.account, p.numberHolder = account, holder.V //planted:number-checked-across-tenants
	return p, err
}

// nextSubmission returns the next submission of an invoice, with its reference. A submission that the provider did not receive is
// used again with its reference; before is then the content of its seal.
func (t *Tenant) nextSubmission(ctx context.Context, tx *tx, invoiceID ID, p submissionPreconditions) (s Submission, before *seal, err error) {
	if !p.hasUnsent {
		return t.freshSubmission(invoiceID, p), nil, nil
	}
	current, err := t.currentSubmission(ctx, tx, invoiceID)
	if err != nil {
		return s, nil, err
	}
	found, err := t.verifySeal(ctx, tx, current)
	return *current, &found, err
}

// freshSubmission returns a new submission with the next ordinal of the invoice.
func (t *Tenant) freshSubmission(invoiceID ID, p submissionPreconditions) Submission {
	return Submission{ID: reference(t.id, invoiceID, p.lastOrdinal+1), Ordinal: p.lastOrdinal + 1}
}

// touchInvoice increments the version of an invoice that has changed.
func (t *Tenant) touchInvoice(ctx context.Context, tx *tx, id ID, now time.Time) error {
	return tx.ExecDeferred(ctx, `update invoices set version = version + 1, updated_at = $3 where tenant_id = $1 and id = $2`, t.id, id, micros(now))
}

// usableConnection returns the active connection of the tenant's account if it may submit in this environment and release.
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

// duplicateNumber returns the error of an invoice whose number was taken by another one at the same time.
func (t *Tenant) duplicateNumber(ctx context.Context, invoiceID ID) error {
	return t.read(func(q querier) error {
		var holder ID
		err := q.QueryRowContext(ctx, `select s.invoice_id from invoices i join submissions s on s.tenant_id = i.tenant_id and s.number = i.number
			where i.tenant_id = $1 and i.id = $2 and s.outcome in ('in_progress', 'acknowledged', 'unknown')`, t.id, invoiceID).Scan(&holder)
		if errors.Is(err, sql.ErrNoRows) {
			return ErrSubmissionInProgress // the winner has become a draft again: the caller may try again
		}
		if err != nil {
			return err
		}
		return &DuplicateNumberError{Invoice: holder}
	})
}

// BeginResend commits the intent to send a submission again under its reference, before a byte leaves. It discards earlier
// responses that the document is missing. An administrator's order is used up, unless the provider does not receive the resend.
// BeginResend returns [ErrLeaseLost] if another worker has the lease.
func (l SubmissionLease) BeginResend(ctx context.Context, duration time.Duration) (SubmissionLease, error) {
	t := l.Tenant
	err := t.write(ctx, "begin resend", func(ctx context.Context, tx *tx) error {
		// The invoice is locked before its submission; see [SubmissionLease.Record].
		if err := t.lockInvoice(ctx, tx, l.Submission.Invoice); err != nil {
			return err
		}
		s, err := t.submission(ctx, tx, l.Submission.ID, t.db.dialect.ForUpdate())
		if err != nil {
			return err
		}
		if s.fencingToken != l.Submission.fencingToken || s.Outcome != api.OutcomeUnknown {
			return ErrLeaseLost
		}
		if l.Document, err = t.document(ctx, tx, s.ID); err != nil {
			return err
		}
		now := tx.Now()
		s.SentAt, s.MissingSince, s.MissingCount, s.DueAt = now, nil, 0, new(now.Add(duration))
		s.ResendOrdered, s.ResendUnderWay = false, s.ResendOrdered
		s.fencingToken++
		if err := t.saveSubmission(ctx, tx, &s); err != nil {
			return err
		}
		l.Submission = s
		return nil
	})
	return l, err
}

// scanSubmission scans a submission without additional columns.
func scanSubmission(row scanner) (Submission, error) { return scanSubmissionWith(row) }
