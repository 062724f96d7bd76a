package invoices

import (
	"bytes"
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"maps"
	"slices"
	"time"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/problem"
)

// Invoice is a draft with its current submission.
type Invoice struct {
	ID        base.ID
	Draft     api.Draft
	Version   int64
	CreatedAt time.Time
	UpdatedAt time.Time
	// Submission is the current submission; nil for a draft.
	Submission *Submission
	// NumberHolder is another invoice that was submitted with the same number and is not rejected, or zero.
	NumberHolder base.ID
}

// States returns the four states of the current submission, all unreported for a draft.
func (i Invoice) States() invoice.States {
	if i.Submission == nil {
		return invoice.States{}
	}
	return i.Submission.States
}

// MarshalDraft returns the stored form of a draft: JSON without absent fields and empty lists, and with decimals as
// they were sent.
func MarshalDraft(draft *api.Draft) ([]byte, error) {
	text, err := jsonv2.Marshal(withoutEmptyLists(draft), jsonv2.OmitZeroStructFields(true),
		jsontext.AllowDuplicateNames(true))
	if err != nil {
		return nil, fmt.Errorf("draft: %w", err)
	}
	return text, nil
}

// withoutEmptyLists returns a draft in which an empty list, other than that of the items, is an absent one.
func withoutEmptyLists(draft *api.Draft) *api.Draft {
	out := *draft
	out.Allowances, out.Charges = orAbsent(out.Allowances), orAbsent(out.Charges)
	out.PrecedingInvoices = orAbsent(out.PrecedingInvoices)
	cloned := false
	for n := range out.Items {
		item := &out.Items[n]
		if !isEmpty(item.Allowances) && !isEmpty(item.Charges) && !isEmpty(item.Attributes) {
			continue
		}
		if !cloned {
			out.Items, cloned = slices.Clone(out.Items), true
			item = &out.Items[n]
		}
		item.Allowances, item.Charges = orAbsent(item.Allowances), orAbsent(item.Charges)
		item.Attributes = orAbsent(item.Attributes)
	}
	return &out
}

// isEmpty reports whether a list is there and has no entry.
func isEmpty[T any](list []T) bool { return list != nil && len(list) == 0 }

// orAbsent returns a list, and nil for an empty one.
func orAbsent[T any](list []T) []T {
	if len(list) == 0 {
		return nil
	}
	return list
}

// creation is the operation of [Create]. It is shared because all drafts of a company wait for the counter
// in its row, and a company whose counter is locked for long delays only the drafts of its own group.
//
//nolint:gochecknoglobals // a constant
var creation = base.SharedOperation{Name: "create invoice", Groups: 4}

// newInvoice is a draft on its way into the database, and the invoice that it becomes.
type newInvoice struct {
	tenant  *base.Tenant
	actor   base.Actor
	draft   *api.Draft
	text    string
	summary Summary
	tally   tally
	ordinal int64 // among the drafts of the same company in the batch, from 1
	created Invoice
}

// prepareInvoice prepares a draft for [createInvoices].
func prepareInvoice(ctx context.Context, t *base.Tenant, draft *api.Draft) (*newInvoice, error) {
	text, err := MarshalDraft(draft)
	if err != nil {
		return nil, err
	}
	add := &newInvoice{tenant: t, actor: t.Actor(ctx), draft: draft, text: string(text), tally: draftTally(draft)}
	add.summary, err = Summarize(draft)
	return add, err
}

// Create stores a draft. The caller has validated it.
func Create(ctx context.Context, t *base.Tenant, draft *api.Draft) (Invoice, error) {
	if t.DB() == nil {
		return Invoice{}, base.ErrNoTenant
	}
	add, err := prepareInvoice(ctx, t, draft)
	if err != nil {
		return Invoice{}, err
	}
	// Read before the write, because an error after the commit would hide that the draft was stored.
	holder, err := NumberHolder(ctx, t, *draft.InvoiceNumber)
	if err != nil {
		return Invoice{}, err
	}
	if err := base.WriteShared(ctx, t, t.ID(), creation, add, len(add.text)+len(add.summary.Text),
		createAuthorized); err != nil {
		return Invoice{}, err
	}
	add.created.NumberHolder = holder
	return add.created, nil
}

// createAuthorized is [createInvoices] for drafts whose callers are not known yet to be allowed to write. If there are
// several drafts and one of the callers is not, each is then tried in its own transaction.
func createAuthorized(ctx context.Context, tx *base.Tx, add []*newInvoice) error {
	for _, a := range add {
		if err := a.tenant.Authorize(ctx, tx); err != nil {
			return err
		}
	}
	return createInvoices(ctx, tx, add)
}

// createInvoices stores drafts, which may belong to several tenants. The drafts of one tenant keep their order.
func createInvoices(ctx context.Context, tx *base.Tx, add []*newInvoice) error {
	db, now, counts := tx.DB, tx.Now(), map[base.ID]int64{}
	for _, a := range add {
		id, err := base.NewID(now, db.Random())
		if err != nil {
			return err
		}
		a.created = Invoice{ID: id, Draft: *a.draft, Version: 1, CreatedAt: now, UpdatedAt: now}
		counts[a.tenant.ID()]++
		a.ordinal = counts[a.tenant.ID()]
	}
	// One statement numbers and inserts all drafts. It locks the rows of their tenants, reads the counters in them, and
	// gives the drafts of a tenant the positions after its counter. It skips the drafts of frozen tenants and those beyond
	// a quota. It locks the table of invoices before the rows of tenants, so that nobody holds such a row while waiting
	// for a migration of the table. $1 to $6 are the columns of Values, whatever the number of rows; the rest follows from
	// $7.
	inserted, err := tx.Exec(ctx, `with new_drafts (tenant_id, id, ordinal, number, document, counted) as (`+
		db.Dialect().Values("bytea", "bytea", "bigint", "text", "text", "text")+`),
		locked_tenants as materialized (select id, invoices, drafts, stored_bytes from tenants where id in (select tenant_id from new_drafts) and frozen_at is null order by id`+db.Dialect().ForUpdate()+`)
		insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at, summarized, category, counted, counted_version)
		select d.tenant_id, d.id, t.invoices + d.ordinal, d.number, d.document, 1, $7, $7, 1, 'draft', d.counted, 1 from new_drafts d join locked_tenants t on t.id = d.tenant_id
			where t.drafts + d.ordinal <= $8 and t.stored_bytes < $9`,
		base.RowArgs(db, add, func(a *newInvoice) []any {
			return []any{a.tenant.ID(), a.created.ID, a.ordinal, *a.draft.InvoiceNumber, a.text, a.tally.text()}
		}, base.Micros(now), base.LimitOf(db.Quotas().Drafts), base.LimitOf(db.Quotas().StoredBytes))...)
	if err != nil {
		return err
	}
	if inserted < int64(len(add)) {
		// A tenant is frozen or has reached a quota. If there are several drafts, each is then tried in its own transaction.
		return cmp.Or(add[0].tenant.WithinQuotas(ctx, tx, 1), sql.ErrNoRows)
	}
	if err := insertSummaries(ctx, tx, add); err != nil {
		return err
	}
	sizes := map[base.ID]int64{}
	for _, a := range add {
		entry, err := tx.AuditAs(a.actor, base.Act{Name: "draft.create", Account: a.tenant.Account(), SubjectType: "invoice",
			Subject: a.created.ID.String(), Details: map[string]string{"invoice_number": *a.draft.InvoiceNumber}})
		if err != nil {
			return err
		}
		sizes[a.tenant.ID()] += int64(len(a.text)) + entry.Size()
		recount(tx, a.tenant.ID(), tally{}, a.tally)
	}
	tenants := slices.Collect(maps.Keys(counts))
	_, err = tx.Exec(ctx, `with added (tenant_id, drafts, bytes) as (`+db.Dialect().Values("bytea", "bigint", "bigint")+`)
		update tenants set invoices = tenants.invoices + added.drafts, drafts = tenants.drafts + added.drafts, stored_bytes = tenants.stored_bytes + added.bytes
		from added where tenants.id = added.tenant_id`,
		base.RowArgs(db, tenants, func(tenant base.ID) []any { return []any{tenant, counts[tenant], sizes[tenant]} })...)
	return err
}

const invoiceColumns = `i.id, i.document, i.version, i.created_at, i.updated_at, ` + numberHolder

func scanInvoice(row base.Row) (Invoice, error) {
	var r rawInvoice
	if err := row.Scan(r.columns()...); err != nil {
		return Invoice{}, err
	}
	return r.parse()
}

// readInvoice reads an invoice with its current submission in a transaction. lock is empty, or the engine's forUpdate
// to lock the invoice until the end of the transaction.
func readInvoice(ctx context.Context, t *base.Tenant, q base.Querier, id base.ID, lock string) (Invoice, error) {
	found, err := scanInvoice(q.QueryRowContext(ctx,
		`select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2`+lock, t.ID(), id))
	if err != nil {
		return Invoice{}, err
	}
	current, err := currentSubmission(ctx, t, q, id)
	if err != nil {
		return Invoice{}, err
	}
	if current != nil && current.MaybeSent() {
		found.Submission = current
	}
	return found, nil
}

// DraftText returns the document of an invoice in the form that [Update] passes to change.
func DraftText(ctx context.Context, t *base.Tenant, id base.ID) ([]byte, error) {
	found, err := Find(ctx, t, id)
	if err != nil {
		return nil, err
	}
	return MarshalDraft(&found.Draft)
}

// ErrNotEditable says that the document of an invoice cannot change, because it is submitted and not rejected, or has
// credit notes that are not void.
var ErrNotEditable = problem.New(api.CodeInvoiceNotEditable, "invoice not editable")

// ErrVersion says that the invoice has changed since the caller read it.
var ErrVersion = problem.New(api.CodePreconditionFailed, "version differs")

// Update changes the document of a draft, or of an invoice that the provider rejected, which becomes a draft
// again: its submission stays in the history and the next one gets a new reference. unchanged reports whether version
// is the one that the caller expects; if not, Update returns [ErrVersion]. change returns the new document for
// the current one; its error is returned as it is.
func Update(ctx context.Context, t *base.Tenant, id base.ID, unchanged func(version int64) bool,
	change func(current []byte) (api.Draft, error)) (Invoice, error) {
	var updated Invoice
	err := t.Write(ctx, "update invoice", func(ctx context.Context, tx *base.Tx) error {
		found, err := readInvoice(ctx, t, tx, id, t.DB().Dialect().ForUpdate())
		if err != nil {
			return err
		}
		if !unchanged(found.Version) {
			return ErrVersion
		}
		current, err := MarshalDraft(&found.Draft)
		if err != nil {
			return err
		}
		draft, err := change(current)
		if err != nil {
			return err
		}
		credited, err := hasLiveCredits(ctx, t, tx, id)
		if err != nil {
			return err
		}
		if credited || found.Submission != nil && !found.Submission.Correctable() { //planted:submitted-invoice-changed
			return ErrNotEditable
		}
		text, err := MarshalDraft(&draft)
		if err != nil {
			return err
		}
		if found.Submission == nil && bytes.Equal(text, current) {
			updated = found // nothing changes
			return nil
		}
		// A changed document is never sent with the reference of the previous one.
		if err := retireSubmission(ctx, t, tx, id); err != nil {
			return err
		}
		updated = Invoice{ID: id, Draft: draft, Version: found.Version + 1, CreatedAt: found.CreatedAt, UpdatedAt: tx.Now()}
		if err := auditUpdate(t, tx, &found, *draft.InvoiceNumber, current, text); err != nil {
			return err
		}
		used := base.Usage{Bytes: int64(len(text) - len(current))}
		if used.Bytes > 0 {
			if err := t.WithinQuotas(ctx, tx, 0); err != nil {
				return err
			}
		}
		if found.Submission != nil {
			used.Drafts = 1
		}
		tx.Use(t.ID(), used)
		if err := insertSummary(ctx, t, tx, &updated); err != nil {
			return err
		}
		before, err := lockCounted(ctx, t, tx, id)
		if err != nil {
			return err
		}
		after := draftTally(&draft)
		recount(tx, t.ID(), before.tally, after)
		if updated.NumberHolder, err = readNumberHolder(ctx, t, tx, *draft.InvoiceNumber); err != nil {
			return err
		}
		_, err = tx.Exec(ctx,
			`update invoices set document = $3, number = $4, version = $5, updated_at = $6, summarized = summarized + 1,
			category = $7, counted = $8, counted_version = $5 where tenant_id = $1 and id = $2`,
			t.ID(), id, string(text), *draft.InvoiceNumber, updated.Version, base.Micros(updated.UpdatedAt), after.category,
			after.text())
		return err
	})
	return updated, err
}

// auditUpdate records that the document of an invoice was changed from before to after, in which it has the given
// number.
func auditUpdate(t *base.Tenant, tx *base.Tx, found *Invoice, number string, before, after []byte) error {
	fields, err := base.ChangedFields(before, after)
	if err != nil {
		return err
	}
	details := map[string]string{"invoice_number": number, "fields": fields}
	if found.Submission != nil {
		details["rejected_submission"] = found.Submission.ID.String()
	}
	return t.Audit(tx, base.Act{Name: "draft.update", SubjectType: "invoice", Subject: found.ID.String(),
		Details: details})
}
