package incoming

import (
	"context"

	"quittance/internal/ledger/base"
)

// SelectRevisions returns revisions r of incoming e-invoices i without their documents.
func SelectRevisions(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Revision, error) {
	return base.Collect(ctx, r.Rows, func(row base.Row) (Revision, error) { return ScanRevision(row) },
		`select `+RevisionColumns+FromRevisions+`(`+condition+`) `+order, r.Args(args)...)
}

// Select returns incoming e-invoices i in their latest revisions r.
func Select(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Incoming, error) {
	return base.Collect(ctx, r.Rows, scanIncoming, `select `+RevisionColumns+FromRevisions+`r.revision = i.revision and (`+
		condition+`) `+order, r.Args(args)...)
}
