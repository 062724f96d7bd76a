package invoices

import (
	"context"

	"quittance/client/api"
	"quittance/internal/ledger/base"
)

// SelectSubmissions returns submissions with their states.
func SelectSubmissions(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Submission, error) {
	return base.Collect(ctx, r.Rows, ScanSubmission, `select `+SubmissionColumns(r.Tenant.DB())+
		` from submissions where tenant_id = $1 and (`+condition+`) `+order, r.Args(args)...)
}

// SelectEvidence returns retained responses without their bodies.
func SelectEvidence(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Evidence, error) {
	return base.Collect(ctx, r.Rows, func(row base.Row) (Evidence, error) { return ScanEvidence(row) },
		`select `+EvidenceColumns+` from evidence where tenant_id = $1 and (`+condition+`) `+order, r.Args(args)...)
}

// SelectCreditNotes returns credit notes without their items and with their current submissions and states, with two
// queries.
func SelectCreditNotes(ctx context.Context, r base.Reader, condition, order string,
	args ...any) ([]CreditNoteRow, error) {
	// Only a note of the version before, which kept no count, is read with its items.
	out, err := base.Collect(ctx, r.Rows, scanCreditNoteRow,
		`select `+CreditNoteColumns(`case when item_count is null then items else '' end`)+`, item_count
		from credit_notes where tenant_id = $1 and (`+condition+`) `+order, r.Args(args)...)
	if err != nil || len(out) == 0 {
		return out, err
	}
	byNote := make(map[base.ID]int, len(out))
	ids := make([]base.ID, len(out))
	for n := range out {
		ids[n], byNote[out[n].ID] = out[n].ID, n
	}
	list, idArgs := idList(r.Tenant, ids)
	submissions, err := SelectSubmissions(ctx, r, `credit_note_id in (`+list+`) and current = 2 and outcome <> 'not_sent'`,
		``, idArgs[1:]...)
	for n := range submissions {
		out[byNote[submissions[n].CreditNote]].Submission = &submissions[n]
	}
	return out, err
}

// SelectCustomers returns entries of the customer book.
func SelectCustomers(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Customer, error) {
	return bookEntries[api.CustomerFields](ctx, r, condition, order, args)
}

// SelectCatalogueItems returns entries of the item catalogue.
func SelectCatalogueItems(ctx context.Context, r base.Reader, condition, order string,
	args ...any) ([]CatalogueItem, error) {
	return bookEntries[api.CatalogueItemFields](ctx, r, condition, order, args)
}

func bookEntries[F BookFields](ctx context.Context, r base.Reader, condition, order string,
	args []any) ([]BookEntry[F], error) {
	return base.Collect(ctx, r.Rows, scanBookEntry[F], `select `+bookColumns+` from book_entries where tenant_id = $1 and (`+
		condition+`) `+order, r.Args(args)...)
}
