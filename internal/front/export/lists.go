package export

import (
	"context"
	"iter"
	"slices"
	"strconv"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/document/tabular"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

// Selected returns the identifiers of rows that a person has selected.
func Selected(ids []base.ID) func(context.Context) ([]base.ID, error) {
	return func(context.Context) ([]base.ID, error) { return ids, nil }
}

// InvoiceIDs returns the identifiers of the invoices of a filtered list.
func (x *Exporter) InvoiceIDs(t *base.Tenant, filter view.InvoiceFilter) func(context.Context) ([]base.ID, error) {
	return func(ctx context.Context) ([]base.ID, error) { return x.of(t).InvoiceIDs(ctx, filter) }
}

// Invoices returns invoices, one row for each.
func (x *Exporter) Invoices(t *base.Tenant, ids func(context.Context) ([]base.ID, error)) List {
	summary := func(i invoices.InvoiceRow) api.InvoiceSummary { return view.InvoiceSummary(i, view.Seller{}) }
	return byID("invoices", invoiceFields(), ids, present(summary, x.of(t).InvoicesByID))
}

// invoiceFields are the columns of invoices. Their order is that of a file format, so fields of a draft that have no
// place in it follow at the end.
func invoiceFields() []field[api.InvoiceSummary] {
	type row = api.InvoiceSummary
	all := structFields[row]()
	named := func(names ...string) []field[row] {
		out := make([]field[row], len(names))
		for n, name := range names {
			out[n] = all[slices.IndexFunc(all, func(f field[row]) bool { return f.name == name })]
		}
		return out
	}
	first, others := []string{"id", "invoice_number", "external_id", "recipient_name", "recipient_network_id",
		"buyer_tax_id", "issue_date", "due_date", "currency", "total_amount", "item_count", "order_reference",
		"submitted"}, []string(nil)
	for _, field := range invoice.FieldsOf[api.Draft]() {
		if !slices.Contains(first, field.Name) {
			others = append(others, invoice.FlatName(field.Name))
		}
	}
	return slices.Concat(named(first...),
		[]field[row]{{"outcome", tabular.Text, func(i *row) string { return outcome(i.Submission) }}},
		stateFields(func(i *row) api.StateDetails { return i.Details }),
		named("submitted_at", "created_at", "updated_at"), named(others...), named("amount_due"))
}

// InvoiceItems returns the items of invoices, one row for each, in the columns of an import. Further allowances and
// charges have rows of their own, which the limit of rows does not count: it is there to bound what is read.
func (x *Exporter) InvoiceItems(t *base.Tenant, ids func(context.Context) ([]base.ID, error)) List {
	return List{Name: "invoice-items", Columns: tabular.Columns(),
		Rows: func(ctx context.Context) (iter.Seq2[[]string, error], error) {
			selected, err := ids(ctx)
			if err != nil {
				return nil, err
			}
			items := 0
			for batch := range slices.Chunk(selected, view.MaxBatch) {
				count, err := x.of(t).ItemCount(ctx, batch)
				if err != nil {
					return nil, err
				}
				if items += count; items > x.maxRows {
					return nil, &view.TooManyRowsError{Limit: x.maxRows}
				}
			}
			return itemRows(ctx, t, selected), nil
		}}
}

// itemRows returns the items of invoices. It reads one document after the other.
func itemRows(ctx context.Context, t *base.Tenant, ids []base.ID) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for _, id := range ids {
			var rows [][]string
			unlimited := func(int) error { return nil } // there are few exports, and each has one document in memory
			err := invoices.EachDraft(ctx, t, []base.ID{id}, unlimited,
				func(_ base.ID, draft *api.Draft) { rows = tabular.Rows(draft) })
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}

// CreditNoteIDs returns the identifiers of the credit notes of a filtered list.
func (x *Exporter) CreditNoteIDs(t *base.Tenant,
	filter view.CreditNoteFilter) func(context.Context) ([]base.ID, error) {
	return func(ctx context.Context) ([]base.ID, error) { return x.of(t).CreditNoteIDs(ctx, filter) }
}

// creditNote is a credit note with the number of the credited invoice.
type creditNote struct {
	api.CreditNoteSummary
	invoiceNumber string
}

// CreditNotes returns credit notes, one row for each.
func (x *Exporter) CreditNotes(t *base.Tenant, ids func(context.Context) ([]base.ID, error)) List {
	return byID("credit-notes", creditFields(), ids, func(ctx context.Context, ids []base.ID) ([]creditNote, error) {
		notes, err := x.of(t).CreditNotesByID(ctx, ids)
		if err != nil {
			return nil, err
		}
		var invoices []base.ID
		for _, note := range notes {
			invoices = append(invoices, note.Invoice)
		}
		numbers, err := x.of(t).InvoiceNumbers(ctx, invoices)
		out := make([]creditNote, len(notes))
		for n, note := range notes {
			out[n] = creditNote{view.CreditNoteSummary(note), numbers[note.Invoice]}
		}
		return out, err
	})
}

func creditFields() []field[creditNote] {
	type row = creditNote
	return slices.Concat([]field[row]{
		{"id", tabular.Text, func(c *row) string { return c.ID }},
		{"credit_note_number", tabular.Text, func(c *row) string { return c.CreditNoteNumber }},
		{"invoice_id", tabular.Text, func(c *row) string { return c.InvoiceID }},
		{"invoice_number", tabular.Text, func(c *row) string { return c.invoiceNumber }},
		{"issue_date", tabular.Date, func(c *row) string { return c.IssueDate }},
		{"kind", tabular.Text, func(c *row) string { return string(c.Kind) }},
		{"reason", tabular.Text, func(c *row) string { return c.Reason }},
		{"reason_code", tabular.Text, func(c *row) string { return optional(c.ReasonCode) }},
		{"currency", tabular.Text, func(c *row) string { return c.Currency }},
		{"total_amount", tabular.Decimal, func(c *row) string { return string(c.TotalAmount) }},
		{"item_count", tabular.Decimal, func(c *row) string { return strconv.Itoa(c.ItemCount) }},
		{"submitted", tabular.Text, func(c *row) string { return strconv.FormatBool(c.Submitted) }},
		{"outcome", tabular.Text, func(c *row) string { return outcome(c.Submission) }},
	}, stateFields(func(c *row) api.StateDetails { return c.Details }), []field[row]{
		{"submitted_at", tabular.Time, func(c *row) string { return optionalMoment(c.SubmittedAt) }},
		{"voided_at", tabular.Time, func(c *row) string { return optionalMoment(c.VoidedAt) }},
		{"created_at", tabular.Time, func(c *row) string { return moment(c.CreatedAt) }},
		{"updated_at", tabular.Time, func(c *row) string { return moment(c.UpdatedAt) }},
	})
}

// Incoming returns incoming e-invoices in their latest revisions, those of a filtered list.
func (x *Exporter) Incoming(t *base.Tenant, filter view.IncomingFilter) List {
	type row = api.IncomingInvoice
	ids := func(ctx context.Context) ([]base.ID, error) { return x.of(t).IncomingIDs(ctx, filter) }
	return byID("incoming-invoices", []field[row]{
		{"id", tabular.Text, func(i *row) string { return i.ID }},
		{"provider_document_id", tabular.Text, func(i *row) string { return i.ProviderDocumentID }},
		{"revision", tabular.Decimal, func(i *row) string { return strconv.Itoa(i.Revision) }},
		{"document_type", tabular.Text, func(i *row) string { return optional(i.DocumentType) }},
		{"invoice_number", tabular.Text, func(i *row) string { return optional(i.InvoiceNumber) }},
		{"supplier_name", tabular.Text, func(i *row) string { return optional(i.SupplierName) }},
		{"supplier_network_id", tabular.Text, func(i *row) string { return optional(i.SupplierNetworkID) }},
		{"issue_date", tabular.Date, func(i *row) string { return optional(i.IssueDate) }},
		{"due_date", tabular.Date, func(i *row) string { return optional(i.DueDate) }},
		{"currency", tabular.Text, func(i *row) string { return optional(i.Currency) }},
		{"total_amount", tabular.Decimal, func(i *row) string { return decimal(i.TotalAmount) }},
		{"received_at", tabular.Time, func(i *row) string { return optionalMoment(i.ReceivedAt) }},
		{"retained_at", tabular.Time, func(i *row) string { return moment(i.Evidence.RetainedAt) }},
		{"document_retained", tabular.Text, func(i *row) string { return strconv.FormatBool(i.Evidence.DocumentRetained) }},
		{"withheld", tabular.Text, func(i *row) string { return strconv.FormatBool(i.Evidence.Withheld) }},
		{"sha256", tabular.Text, func(i *row) string { return i.SHA256 }},
	}, ids, present(view.IncomingInvoice, x.of(t).IncomingByID))
}

// Deliveries returns the webhook deliveries of a filtered list.
func (x *Exporter) Deliveries(t *base.Tenant, filter view.DeliveryFilter) List {
	type row = api.Delivery
	ids := func(ctx context.Context) ([]base.ID, error) { return x.of(t).DeliveryIDs(ctx, filter) }
	return byID("deliveries", []field[row]{
		{"id", tabular.Text, func(d *row) string { return d.ID }},
		{"event_id", tabular.Text, func(d *row) string { return d.EventID }},
		{"event", tabular.Text, func(d *row) string { return string(d.Event) }},
		{"subscription_id", tabular.Text, func(d *row) string { return d.SubscriptionID }},
		{"state", tabular.Text, func(d *row) string { return string(d.State) }},
		{"reason", tabular.Text, func(d *row) string { return optional(d.Reason) }},
		{"attempt_count", tabular.Decimal, func(d *row) string { return strconv.Itoa(d.AttemptCount) }},
		{"next_attempt_at", tabular.Time, func(d *row) string { return optionalMoment(d.NextAttemptAt) }},
		{"created_at", tabular.Time, func(d *row) string { return moment(d.CreatedAt) }},
		{"updated_at", tabular.Time, func(d *row) string { return moment(d.UpdatedAt) }},
	}, ids, present(view.Delivery, x.of(t).DeliveriesByID))
}

// Subscriptions returns all webhook subscriptions.
func (x *Exporter) Subscriptions(t *base.Tenant) List {
	type row = api.Subscription
	return byID("subscriptions", []field[row]{
		{"id", tabular.Text, func(s *row) string { return s.ID }},
		{"url", tabular.Text, func(s *row) string { return s.URL }},
		{"description", tabular.Text, func(s *row) string { return optional(s.Description) }},
		{"events", tabular.Text, func(s *row) string { return list(s.Events) }},
		{"active", tabular.Text, func(s *row) string { return strconv.FormatBool(s.Active) }},
		{"created_at", tabular.Time, func(s *row) string { return moment(s.CreatedAt) }},
		{"deactivated_at", tabular.Time, func(s *row) string { return optionalMoment(s.DeactivatedAt) }},
		{"deactivation_reason", tabular.Text, func(s *row) string { return optional(s.DeactivationReason) }},
		{"failing_since", tabular.Time, func(s *row) string { return optionalMoment(s.FailingSince) }},
	}, x.of(t).SubscriptionIDs, present(view.Subscription, x.of(t).SubscriptionsByID))
}

// Users returns the users of the company.
func (x *Exporter) Users(t *base.Tenant) List {
	type row = api.User
	return whole("users", []field[row]{
		{"id", tabular.Text, func(u *row) string { return u.ID }},
		{"email", tabular.Text, func(u *row) string { return u.Email }},
		{"name", tabular.Text, func(u *row) string { return u.Name }},
		{"role", tabular.Text, func(u *row) string { return string(u.Role) }},
		{"active", tabular.Text, func(u *row) string { return strconv.FormatBool(u.Active) }},
		{"created_at", tabular.Time, func(u *row) string { return moment(u.CreatedAt) }},
	}, func(ctx context.Context) ([]row, error) {
		users, total, err := identity.Users(ctx, t, 1, x.maxRows)
		return presentAll(view.User, users), x.bound(total, err)
	})
}

// APIKeys returns the API keys of the company, as of now. Only their last characters are known.
func (x *Exporter) APIKeys(t *base.Tenant, now time.Time) List {
	type row = api.APIKey
	return whole("api-keys", []field[row]{
		{"id", tabular.Text, func(k *row) string { return k.ID }},
		{"name", tabular.Text, func(k *row) string { return k.Name }},
		{"prefix", tabular.Text, func(k *row) string { return k.Prefix }},
		{"last_four", tabular.Text, func(k *row) string { return k.LastFour }},
		{"scopes", tabular.Text, func(k *row) string { return list(k.Scopes) }},
		{"networks", tabular.Text, func(k *row) string { return list(k.Networks) }},
		{"state", tabular.Text, func(k *row) string { return k.State }},
		{"expires_at", tabular.Time, func(k *row) string { return optionalMoment(k.ExpiresAt) }},
		{"created_at", tabular.Time, func(k *row) string { return moment(k.CreatedAt) }},
		{"created_by", tabular.Text, func(k *row) string { return optional(k.CreatedBy) }},
		{"last_used_at", tabular.Time, func(k *row) string { return optionalMoment(k.LastUsedAt) }},
		{"last_used_from", tabular.Text, func(k *row) string { return optional(k.LastUsedFrom) }},
		{"revoked_at", tabular.Time, func(k *row) string { return optionalMoment(k.RevokedAt) }},
	}, func(ctx context.Context) ([]row, error) {
		keys, err := identity.APIKeys(ctx, t)
		return presentAll(func(k identity.APIKey) row { return view.APIKey(k, now) }, keys), err
	})
}

// Audit returns the entries of the audit log of a filtered list. The caller makes their cells, which have names of
// people.
func (x *Exporter) Audit(t *base.Tenant, filter view.AuditFilter, columns []tabular.Column,
	cells func(entries []base.AuditEntry) [][]string) List {
	return List{Name: "activity", Columns: columns, Rows: func(ctx context.Context) (iter.Seq2[[]string, error], error) {
		ids, err := x.of(t).AuditIDs(ctx, filter)
		if err != nil {
			return nil, err
		}
		return batches(ctx, ids, func(ctx context.Context, ids []base.ID) ([][]string, error) {
			entries, err := x.of(t).AuditByID(ctx, ids)
			return cells(entries), err
		}), nil
	}}
}
