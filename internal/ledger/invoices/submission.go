package invoices

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// OutcomeNotSent is the outcome of a submission that the provider certainly did not receive. Its invoice is a draft
// again, and the row keeps the permanent reference for the next try. Customers never see this outcome.
const OutcomeNotSent api.Outcome = "not_sent"

// Submission is one regulated submission of an invoice or a credit note: what this service knows about it, and what the
// provider has reported.
type Submission struct {
	ID         base.ID
	Invoice    base.ID // the invoice; for a credit note the credited one
	CreditNote base.ID // zero for an invoice
	Connection base.ID
	// Ordinal counts the submissions of the invoice or of the credit note, from 1.
	Ordinal int64
	Current bool
	// Number is that of the document. InvoiceNumber is that of the invoice, the credited one for a credit note.
	Number, InvoiceNumber string
	Outcome               api.Outcome
	AttemptedAt           time.Time
	SentAt                time.Time // when it was last sent; the same as AttemptedAt unless it was sent again
	ResendOrdered         bool      // an administrator has ordered a resend
	ResendUnderWay        bool      // the ordered resend has begun, and its response is not recorded yet
	ProviderReference     *string   // the provider's own identifier
	Sequence              *int64    // the highest provider sequence merged into States
	LastCheckedAt         *time.Time
	LastStatus            int      // HTTP status of the previous response, 0 before the first
	LastSHA256            [32]byte // digest of the previous response
	PollWait              time.Duration
	MissingSince          *time.Time // when the provider first said that it has no such document
	MissingCount          int        // how many responses have said so since the document was last sent
	TerminalAt            *time.Time
	Evidence              int64      // number of evidence entries
	DueAt                 *time.Time // when it is due, or its lease ends
	// when it is polled next, as decided after the last response; a claim does not change it
	NextCheckAt *time.Time
	// Resolved is what an administrator has decided while the outcome was unknown; nil without a decision.
	Resolved *api.Resolution
	States   invoice.States
	// Origins says where each state value was read, by dimension.
	Origins map[invoice.Dimension]Origin
	// HeldUntil is when the connection is probed next while its circuit breaker is open; nil while it is closed.
	HeldUntil *time.Time

	tenant       base.ID
	fencingToken int64
	Head         []byte
	// version and updatedAt are those of the invoice after [SubmissionLease.Record], and held says that the caller had the
	// lease until then; zero elsewhere.
	version   int64
	updatedAt time.Time
	held      bool
	// counted is what the invoice is counted as, in a transaction that has locked it; see [touch].
	counted counted

	// credited has the columns of a submission of a credit note, and place is the column ordinal: the same as Ordinal for
	// an invoice.
	credited creditedColumns
	place    int64

	Account       base.ID
	BegunAt       sql.Null[int64] // when it was first begun; null in rows that are older than the column
	EarlierEvents []byte
	// what the resolution columns hold if Resolved is nil: nothing, unless the row was tampered with
	strayResolution resolution
	Sealed          []byte    // the seal
	was             base.Seal // what the seal covers, as last read or written
}

// The values of the column resend: no order, an order of an administrator to send again, or such an order whose resend
// has no recorded response yet. The last value distinguishes an ordered resend that was refused from one that the
// provider's own responses had justified.
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

// SubmissionColumns returns the columns of a submission: those of its row except the document, which is by far the
// largest and is read by [readDocument]; its states ([statesColumn]); and when its connection is probed next.
func SubmissionColumns(db *base.DB) string {
	return `tenant_id, account_id, id, invoice_id, connection_id, ordinal, current, number, outcome, attempted_at,
	sent_at, resend, provider_reference, sequence, last_checked_at, last_status, last_sha256, poll_wait, missing_since, missing_count,
	terminal_at, evidence_count, evidence_head, due_at, next_check_at, lease, begun_at, earlier_events, evidence_seal, credit_note_id, credit_note_ordinal, credited_number, ` + resolutionColumns + `,
	` + statesColumn(db) + `,
	(select retry_at from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id)`
}

// ScanSubmissionWith reads SubmissionColumns, and further columns into more.
func ScanSubmissionWith(row base.Row, more ...any) (Submission, error) {
	var s Submission
	var current, attempted, sent, resend, wait int64
	var reference sql.Null[string]
	var sequence, checked, status, missing, terminal, due, next, retry sql.Null[int64]
	var sum, states []byte
	var resolved resolution
	into := []any{&s.tenant, &s.Account, &s.ID, &s.Invoice, &s.Connection, &s.place, &current, &s.Number, &s.Outcome,
		&attempted, &sent, &resend, &reference, &sequence, &checked, &status, &sum, &wait, &missing, &s.MissingCount,
		&terminal, &s.Evidence, &s.Head, &due, &next, &s.fencingToken, &s.BegunAt, &s.EarlierEvents, &s.Sealed,
		&s.credited.note, &s.credited.ordinal, &s.credited.number}
	into = append(append(into, resolved.fields()...), &states, &retry)
	if err := row.Scan(append(into, more...)...); err != nil {
		return Submission{}, err
	}
	if resolved.restore(&s); s.Resolved == nil {
		s.strayResolution = resolved
	}
	err := s.restoreCredited(current)
	if err != nil {
		return Submission{}, err
	}
	s.AttemptedAt = base.Instant(attempted)
	if s.States, s.Origins, err = restoreStates(states); err != nil {
		return Submission{}, fmt.Errorf("stored states of submission %s: %w", s.ID, err)
	}
	if resend < resendNone || resend > resendUnderWay || len(sum) != 0 && len(sum) != len(s.LastSHA256) {
		return Submission{}, fmt.Errorf("submission %s: a stored value is impossible", s.ID)
	}
	s.SentAt, s.ResendOrdered, s.ResendUnderWay = base.Instant(sent), resend == resendOrdered, resend == resendUnderWay
	s.ProviderReference, s.LastStatus, s.PollWait = base.TextOrNil(reference), int(status.V),
		time.Duration(wait)*time.Microsecond
	if sequence.Valid {
		s.Sequence = &sequence.V
	}
	copy(s.LastSHA256[:], sum)
	s.LastCheckedAt, s.MissingSince = base.InstantOrNil(checked), base.InstantOrNil(missing)
	s.TerminalAt, s.DueAt, s.NextCheckAt = base.InstantOrNil(terminal), base.InstantOrNil(due), base.InstantOrNil(next)
	s.HeldUntil = base.InstantOrNil(retry)
	s.was = s.asRead()
	return s, nil
}

// ReadSubmission reads one submission.
func ReadSubmission(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID, lock string) (Submission, error) {
	return ScanSubmission(q.QueryRowContext(ctx,
		`select `+SubmissionColumns(t.DB())+` from submissions where tenant_id = $1 and id = $2`+lock, t.ID(), id))
}

// readDocument reads the document of a submission: the exact bytes that are sent.
func readDocument(ctx context.Context, t *base.Tenant, q base.Querier, submission base.ID) ([]byte, error) {
	var document string
	err := q.QueryRowContext(ctx, `select document from submissions where tenant_id = $1 and id = $2`, t.ID(),
		submission).Scan(&document)
	return []byte(document), err
}

// SubmittedDocument returns the document of a submission: the exact bytes that are sent.
func SubmittedDocument(ctx context.Context, t *base.Tenant, submission base.ID) ([]byte, error) {
	var document []byte
	err := t.Read(func(q base.Querier) (err error) {
		document, err = readDocument(ctx, t, q, submission)
		return err
	})
	return document, err
}

func currentSubmission(ctx context.Context, t *base.Tenant, q base.Querier, invoiceID base.ID) (*Submission, error) {
	return submissionOrNil(q.QueryRowContext(ctx, `select `+SubmissionColumns(t.DB())+`
		from submissions where tenant_id = $1 and invoice_id = $2 and current = 1`, t.ID(), invoiceID))
}

// submissionOrNil scans a submission; it returns nil if there is no row.
func submissionOrNil(row base.Row) (*Submission, error) {
	s, err := ScanSubmission(row)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return &s, nil
}

// FindSubmission returns one submission.
func FindSubmission(ctx context.Context, t *base.Tenant, id base.ID) (Submission, error) {
	return base.ReadValue(t, func(q base.Querier) (Submission, error) {
		return ReadSubmission(ctx, t, q, id, "")
	})
}

// The errors of [BeginSubmission] and [BeginCreditNoteSubmission], in the order in which they are
// checked. The next three are those of credit notes alone.
var (
	ErrSubmissionInProgress = problem.New(api.CodeSubmissionInProgress, "submission in progress")
	ErrCreditNotesDisabled  = problem.New(api.CodeCreditNoteSubmissionDisabled, "no active provider connection with a confirmation of credit notes")
	ErrCreditNoteVoid       = problem.Named("credit_note_void", api.CodeCreditNoteNotEditable, "void credit note")
	ErrNotAcknowledged      = problem.New(api.CodeInvoiceNotAcknowledged, "the provider has not acknowledged the credited invoice")
	ErrConnectionRequired   = problem.New(api.CodeProviderConnectionRequired, "no active provider connection")
	ErrNotApproved          = problem.New(api.CodeProductionNotApproved, "production connection not approved")
)

// IncompleteError says what a draft lacks for submission, by JSON path.
type IncompleteError struct{ Missing api.Faults }

func (e *IncompleteError) Error() string {
	return fmt.Sprintf("invoice incomplete: %d fields", len(e.Missing))
}

// Describe returns the problem with what is missing.
func (e *IncompleteError) Describe() *problem.Problem {
	return problem.For(api.CodeInvoiceIncomplete).WithFaults(e.Missing)
}

// DuplicateNumberError names another invoice, or another credit note, that was submitted with the same number. The
// other is zero.
type DuplicateNumberError struct{ Invoice, CreditNote base.ID }

func (e *DuplicateNumberError) Error() string { return "number already submitted" }

// Describe returns the problem with the identifier of the other document.
func (e *DuplicateNumberError) Describe() *problem.Problem {
	if !e.CreditNote.IsZero() {
		return problem.For(api.CodeDuplicateCreditNoteNumber).With(map[string]any{"credit_note_id": e.CreditNote.String()})
	}
	return problem.For(api.CodeDuplicateInvoiceNumber).With(map[string]any{"invoice_id": e.Invoice.String()})
}

// Intent says how a submission begins.
type Intent struct {
	// Environment is the environment of this service. Production requires an approved production connection.
	Environment string
	// Release is the release of this service. Production requires an approval that covers it.
	Release string
	// Render returns the exact document for the provider, or what is missing. It is a pure function.
	Render func(Source) (document []byte, missing api.Faults, err error)
	// LeaseDuration is how long the caller may take before the submission is polled.
	LeaseDuration time.Duration
}

// Source is what the document of a submission is made of.
type Source struct {
	Invoice base.ID
	Draft   *api.Draft
	// Credit is the credit note of the invoice; nil for the invoice itself.
	Credit    *CreditNote
	Seller    *api.Profile
	Reference string
	// Kind is the kind of the connection, and Format its document format. Kind is "" if there is no connection, Format if
	// it has none.
	Kind, Format string
	// Options are the options of the connection, by name.
	Options map[string]string
}

// SubmissionLease is the exclusive right to call the provider about one submission, until the lease expires.
type SubmissionLease struct {
	Tenant     *base.Tenant
	Submission Submission
	Connection Connection
	// Document holds the exact bytes to send; nil if its status is only queried.
	Document []byte
	// Restored says that this database was restored from a backup after the invoice or the credit note was created, so
	// that the provider may have its document already. [BeginSubmission] sets it.
	Restored bool

	isProbe bool       // this is the one call to a connection whose circuit breaker is open
	invoice Invoice    // as BeginSubmission left it
	note    CreditNote // as BeginCreditNoteSubmission left it
}

// Submitted returns the invoice of a lease that [BeginSubmission] returned, with the submission that the lease has: the
// caller puts there what [SubmissionLease.Record] returned. The result is what a reader would find at that moment.
func (l SubmissionLease) Submitted() Invoice {
	found, s := l.invoice, l.Submission
	found.Submission = &s
	if s.version > 0 {
		found.Version, found.UpdatedAt = s.version, s.updatedAt
	}
	return found
}

// Kept reports whether the lease was kept by [SubmissionLease.Record], which returned s.
func (l SubmissionLease) Kept(s Submission) bool {
	return s.held && s.fencingToken == l.Submission.fencingToken
}

// Released returns what [SubmissionLease.BeginResend] takes the lease again with, after [SubmissionLease.Record] has
// released it and returned s: nobody holds a lease meanwhile, and another worker may be faster. ok is false if the
// caller had lost it before.
func (l SubmissionLease) Released(s Submission) (released SubmissionLease, ok bool) {
	l.Submission = s
	return l, s.held
}

// BeginResend commits the intent to send a submission again under its reference, before a byte leaves. It discards
// earlier responses that the document is missing. An administrator's order is used up, unless the provider does not
// receive the resend. BeginResend returns [base.ErrLeaseLost] if another worker has had the lease since l.
func (l SubmissionLease) BeginResend(ctx context.Context, duration time.Duration) (SubmissionLease, error) {
	t := l.Tenant
	err := t.Write(ctx, "begin resend", func(ctx context.Context, tx *base.Tx) error {
		// The invoice is locked before its submission; see [SubmissionLease.Record].
		if err := LockInvoice(ctx, t, tx, l.Submission.Invoice); err != nil {
			return err
		}
		s, err := ReadSubmission(ctx, t, tx, l.Submission.ID, t.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if s.fencingToken != l.Submission.fencingToken || s.Outcome != api.OutcomeUnknown {
			return base.ErrLeaseLost
		}
		if l.Document, err = readDocument(ctx, t, tx, s.ID); err != nil {
			return err
		}
		now := tx.Now()
		s.SentAt, s.MissingSince, s.MissingCount, s.DueAt = now, nil, 0, new(now.Add(duration))
		s.ResendOrdered, s.ResendUnderWay = false, s.ResendOrdered
		s.fencingToken++
		if err := SaveSubmission(ctx, t, tx, &s); err != nil {
			return err
		}
		l.Submission = s
		return nil
	})
	return l, err
}

// ScanSubmission scans a submission without additional columns.
func ScanSubmission(row base.Row) (Submission, error) { return ScanSubmissionWith(row) }

// reference is the identifier of an invoice's n-th submission (from 1), and so its permanent reference at the provider.
// It depends only on the tenant, the invoice and n. A database that was restored from a backup lacks the submissions
// since then, and gives the same submission the same reference again; the provider, which accepts a reference once,
// answers with the document that it has. The time stamp is that of the invoice. The other 74 bits are a digest, so that
// one company cannot guess the references of another.
func reference(tenant, invoice base.ID, n int64) base.ID {
	text := append([]byte("quittance submission reference\x00"), tenant[:]...)
	text = append(text, invoice[:]...)
	sum := sha256.Sum256(binary.BigEndian.AppendUint64(text, uint64(n))) //nolint:gosec // submissions count from 1
	id := invoice
	copy(id[6:], sum[:])
	id[6] = id[6]&0x0f | 0x70 // version 7
	id[8] = id[8]&0x3f | 0x80 // variant 10
	return id
}
