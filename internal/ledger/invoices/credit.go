package invoices

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"time"

	jsonv2 "github.com/go-json-experiment/json"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// NewCreditNote holds the values of a new credit note.
type NewCreditNote struct {
	Number    string
	IssueDate string
	Reason    string
	// ReasonCode is the coded reason; nil if there is none.
	ReasonCode *string
	Credit     invoice.Credit
}

// CreditNote credits an invoice. It counts against the invoice until it is voided.
type CreditNote struct {
	NewCreditNote
	ID       base.ID
	Invoice  base.ID
	Currency string
	// Version counts the changes, from 1.
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// VoidedAt is nil while the credit note counts against its invoice.
	VoidedAt *time.Time
	// Submission is the current submission; nil for a draft.
	Submission *Submission
}

// States returns the four states of the current submission, all unreported for a draft.
func (n CreditNote) States() invoice.States {
	if n.Submission == nil {
		return invoice.States{}
	}
	return n.Submission.States
}

// CreateCreditNote stores a credit note of an invoice. build makes it from the invoice and its live credits, which
// cannot change before the end of the transaction, so concurrent credit notes cannot exceed the invoice together. build
// may run more than once.
func CreateCreditNote(ctx context.Context, t *base.Tenant, invoiceID base.ID,
	build func(draft *api.Draft, live []invoice.Credit) (NewCreditNote, error)) (CreditNote, error) {
	var created CreditNote
	err := t.Write(ctx, "create credit note", func(ctx context.Context, tx *base.Tx) error {
		credited, err := creditedInvoice(ctx, t, tx, invoiceID)
		if err != nil {
			return err
		}
		live, err := liveCredits(ctx, t, tx, invoiceID)
		if err != nil {
			return err
		}
		made, err := build(&credited.Draft, live) //planted:credit-notes-ignore-each-other
		if err != nil {
			return err
		}
		id, err := base.NewID(tx.Now(), t.DB().Random())
		if err != nil {
			return err
		}
		now := tx.Now()
		created = CreditNote{NewCreditNote: made, ID: id, Invoice: invoiceID, Currency: *credited.Draft.Currency, Version: 1,
			CreatedAt: now, UpdatedAt: now}
		if err := t.Audit(tx, created.act("credit_note.create", nil)); err != nil {
			return err
		}
		return insertCreditNote(ctx, t, tx, &created)
	})
	return created, err
}

// act returns an act on a credit note.
func (n *CreditNote) act(name string, details map[string]string) base.Act {
	act := base.Act{Name: name, SubjectType: "credit_note", Subject: n.ID.String(),
		Details: map[string]string{"credit_note_number": n.Number, "invoice": n.Invoice.String()}}
	maps.Copy(act.Details, details)
	return act
}

// creditedInvoice reads the draft of an invoice and locks it until the end of the transaction.
func creditedInvoice(ctx context.Context, t *base.Tenant, tx *base.Tx, id base.ID) (Invoice, error) {
	return scanInvoice(tx.QueryRowContext(ctx, `select `+invoiceColumns+
		` from invoices i where i.tenant_id = $1 and i.id = $2`+t.DB().Dialect().ForUpdate(), t.ID(), id))
}

func insertCreditNote(ctx context.Context, t *base.Tenant, tx *base.Tx, n *CreditNote) error {
	items, err := jsonv2.Marshal(n.Credit.Items, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return fmt.Errorf("credit note: %w", err)
	}
	if err := t.WithinQuotas(ctx, tx, 0); err != nil {
		return err
	}
	tx.Use(t.ID(), base.Usage{Bytes: int64(len(items))})
	var position int64
	if err := tx.QueryRowContext(ctx,
		`update tenants set credit_notes = credit_notes + 1 where id = $1 and frozen_at is null
		returning credit_notes`, t.ID()).Scan(&position); err != nil {
		return err
	}
	statement, args := base.Insert("credit_notes", creditNoteRow{Tenant: t.ID(), ID: n.ID, Position: position,
		Invoice: n.Invoice, Number: n.Number, IssueDate: n.IssueDate, Reason: n.Reason, Kind: string(n.Credit.Kind),
		Currency: n.Currency, Total: string(n.Credit.Total), Items: string(items), CreatedAt: base.Micros(n.CreatedAt),
		ReasonCode: n.ReasonCode, UpdatedAt: base.Micros(n.CreatedAt), ItemCount: len(n.Credit.Items)})
	_, err = tx.Exec(ctx, statement, args...)
	return err
}

// creditNoteRow is a new credit note.
type creditNoteRow struct {
	Tenant     base.ID `db:"tenant_id"`
	ID         base.ID `db:"id"`
	Position   int64   `db:"position"`
	Invoice    base.ID `db:"invoice_id"`
	Number     string  `db:"number"`
	IssueDate  string  `db:"issue_date"`
	Reason     string  `db:"reason"`
	Kind       string  `db:"kind"`
	Currency   string  `db:"currency"`
	Total      string  `db:"total"`
	Items      string  `db:"items"`
	CreatedAt  int64   `db:"created_at"`
	ReasonCode *string `db:"reason_code"`
	UpdatedAt  int64   `db:"updated_at"`
	ItemCount  int     `db:"item_count"`
}

// hasLiveCredits reports whether an invoice has a credit note that is not void. A caller that depends on it has locked
// the invoice, because credit notes are created and voided only under this lock.
func hasLiveCredits(ctx context.Context, t *base.Tenant, q base.Querier, invoiceID base.ID) (bool, error) {
	var live bool
	err := q.QueryRowContext(ctx, `select exists (select 1 from credit_notes
		where tenant_id = $1 and invoice_id = $2 and voided_at is null)`, t.ID(), invoiceID).Scan(&live)
	return live, err
}

// liveCredits returns the credits of the credit notes of an invoice that are not void.
func liveCredits(ctx context.Context, t *base.Tenant, q base.Querier, invoiceID base.ID) ([]invoice.Credit, error) {
	return base.Collect(ctx, q, func(row base.Row) (invoice.Credit, error) {
		var c invoice.Credit
		var items string
		if err := row.Scan(&c.Kind, &c.Total, &items); err != nil {
			return c, err
		}
		return c, unmarshalItems(items, &c)
	}, `select kind, total, items from credit_notes where tenant_id = $1 and invoice_id = $2 and voided_at is null`,
		t.ID(), invoiceID)
}

// CreditedInvoice returns an invoice and its live credits.
func CreditedInvoice(ctx context.Context, t *base.Tenant,
	id base.ID) (found Invoice, live []invoice.Credit, err error) {
	if found, err = Find(ctx, t, id); err != nil {
		return found, nil, err
	}
	err = t.Read(func(q base.Querier) error {
		live, err = liveCredits(ctx, t, q, id)
		return err
	})
	return found, live, err
}

func unmarshalItems(text string, c *invoice.Credit) error {
	if err := json.Unmarshal([]byte(text), &c.Items); err != nil {
		return fmt.Errorf("stored items of a credit note: %w", err)
	}
	return nil
}

// CreditNoteColumns returns the columns of a credit note, with an expression for its items.
func CreditNoteColumns(items string) string {
	return `id, invoice_id, number, issue_date, reason, reason_code, kind, currency, total, ` + items +
		`, version, created_at,
		coalesce(updated_at, voided_at, created_at), voided_at`
}

func scanCreditNoteRow(row base.Row) (CreditNoteRow, error) {
	var count sql.Null[int]
	note, err := ScanCreditNote(row, &count)
	if err != nil {
		return CreditNoteRow{}, err
	}
	out := CreditNoteRow{CreditNote: note, Items: count.V}
	if !count.Valid {
		out.Items = len(note.Credit.Items)
	}
	out.Credit.Items = nil
	return out, nil
}

// ScanCreditNote reads CreditNoteColumns, and further columns into more.
func ScanCreditNote(row base.Row, more ...any) (CreditNote, error) {
	var n CreditNote
	var items string
	var created, updated int64
	var code sql.Null[string]
	var voided sql.Null[int64]
	if err := row.Scan(append([]any{&n.ID, &n.Invoice, &n.Number, &n.IssueDate, &n.Reason, &code, &n.Credit.Kind,
		&n.Currency, &n.Credit.Total, &items, &n.Version, &created, &updated, &voided}, more...)...); err != nil {
		return CreditNote{}, err
	}
	n.ReasonCode, n.CreatedAt, n.UpdatedAt, n.VoidedAt = base.TextOrNil(code), base.Instant(created),
		base.Instant(updated), base.InstantOrNil(voided)
	if items == "" {
		return n, nil // lists do not read the items
	}
	return n, unmarshalItems(items, &n.Credit)
}

// FindCreditNote returns one credit note.
func FindCreditNote(ctx context.Context, t *base.Tenant, id base.ID) (CreditNote, error) {
	const tries = 5
	var n CreditNote
	err := t.Read(func(q base.Querier) error {
		for range tries {
			var err error
			if n, err = ReadCreditNote(ctx, t, q, id); err != nil {
				return err
			}
			var version int64
			if err := q.QueryRowContext(ctx, `select version from credit_notes where tenant_id = $1 and id = $2`,
				t.ID(), id).Scan(&version); err != nil || version == n.Version {
				return err // nothing has changed between the statements
			}
		}
		return fmt.Errorf("%w: credit note %s keeps changing", base.ErrUnavailable, id)
	})
	return n, err
}

// ReadCreditNote reads a credit note and then its current submission.
func ReadCreditNote(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID) (CreditNote, error) {
	n, err := ScanCreditNote(q.QueryRowContext(ctx,
		`select `+CreditNoteColumns(`items`)+` from credit_notes where tenant_id = $1 and id = $2`, t.ID(), id))
	if err != nil {
		return CreditNote{}, err
	}
	current, err := currentCreditNoteSubmission(ctx, t, q, id)
	if err != nil {
		return CreditNote{}, err
	}
	if current != nil && current.MaybeSent() {
		n.Submission = current
	}
	return n, nil
}

// CreditNoteRow is a credit note as a list reads it: its Credit has no Items.
type CreditNoteRow struct {
	CreditNote
	// Items is the number of credited lines.
	Items int
}

// VoidCreditNote voids a credit note permanently, so that it no longer counts against its invoice. It does nothing if
// the credit note is void, and returns [ErrCreditNoteNotEditable] if it is submitted and not rejected.
func VoidCreditNote(ctx context.Context, t *base.Tenant, id base.ID) (CreditNote, error) {
	var n CreditNote
	err := t.Write(ctx, "void credit note", func(ctx context.Context, tx *base.Tx) error {
		var err error
		if n, _, err = lockedCreditNote(ctx, t, tx, id); err != nil || n.VoidedAt != nil {
			return err
		}
		if err := n.editable(); err != nil {
			return err
		}
		n.voidAt(tx.Now())
		if err := t.Audit(tx, n.act("credit_note.void", nil)); err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`update credit_notes set voided_at = $3, updated_at = $3, version = $4 where tenant_id = $1 and id = $2`,
			t.ID(), id, base.Micros(n.UpdatedAt), n.Version)
		return err
	})
	return n, err
}

// UpdateCreditNote changes the date and the reasons of a credit note. It returns [ErrVersion] unless unchanged returns
// true for the version, and [ErrCreditNoteNotEditable] if the credit note is submitted and not rejected. A rejected one
// becomes a draft again: its submission stays in the history and the next one gets a new reference. change returns the
// new values for the present ones, and UpdateCreditNote returns its error unchanged.
func UpdateCreditNote(ctx context.Context, t *base.Tenant, id base.ID, unchanged func(version int64) bool,
	change func(present api.CreditNoteChange) (api.CreditNoteChange, error)) (CreditNote, error) {
	var n CreditNote
	err := t.Write(ctx, "update credit note", func(ctx context.Context, tx *base.Tx) error {
		var err error
		if n, _, err = lockedCreditNote(ctx, t, tx, id); err != nil {
			return err
		}
		if !unchanged(n.Version) {
			return ErrVersion
		}
		present := api.CreditNoteChange{IssueDate: &n.IssueDate, Reason: &n.Reason, ReasonCode: n.ReasonCode}
		changed, err := change(present)
		if err != nil {
			return err
		}
		if err := n.editable(); err != nil {
			return err
		}
		if n.Submission == nil && reflect.DeepEqual(changed, present) {
			return nil
		}
		// A changed document is never sent with the reference of the previous one.
		if err := retireCreditNoteSubmission(ctx, t, tx, id); err != nil {
			return err
		}
		details, err := n.changes(present, changed)
		if err != nil {
			return err
		}
		if err := t.Audit(tx, n.act("credit_note.update", details)); err != nil {
			return err
		}
		n.Submission = nil
		n.IssueDate, n.Reason, n.ReasonCode = *changed.IssueDate, *changed.Reason, changed.ReasonCode
		n.Version, n.UpdatedAt = n.Version+1, tx.Now()
		_, err = tx.Exec(ctx,
			`update credit_notes set issue_date = $3, reason = $4, reason_code = $5, version = $6, updated_at = $7 where tenant_id = $1 and id = $2`,
			t.ID(), id, n.IssueDate, n.Reason, n.ReasonCode, n.Version, base.Micros(n.UpdatedAt))
		return err
	})
	return n, err
}

// changes returns the details of an update of a credit note.
func (n *CreditNote) changes(present, changed api.CreditNoteChange) (map[string]string, error) {
	before, err := jsonv2.Marshal(present, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return nil, fmt.Errorf("credit note: %w", err)
	}
	after, err := jsonv2.Marshal(changed, jsonv2.OmitZeroStructFields(true))
	if err != nil {
		return nil, fmt.Errorf("credit note: %w", err)
	}
	fields, err := base.ChangedFields(before, after)
	details := map[string]string{"fields": fields}
	if n.Submission != nil {
		details["rejected_submission"] = n.Submission.ID.String()
	}
	return details, err
}

// lockedCreditNote reads a credit note with its submission and its invoice without one, and locks the invoice until the
// end of the transaction.
func lockedCreditNote(ctx context.Context, t *base.Tenant, tx *base.Tx,
	id base.ID) (n CreditNote, credited Invoice, err error) {
	var invoiceID base.ID
	if err := tx.QueryRowContext(ctx, `select invoice_id from credit_notes where tenant_id = $1 and id = $2`, t.ID(),
		id).Scan(&invoiceID); err != nil {
		return n, credited, err
	}
	if credited, err = creditedInvoice(ctx, t, tx, invoiceID); err != nil {
		return n, credited, err
	}
	n, err = ReadCreditNote(ctx, t, tx, id)
	return n, credited, err
}
