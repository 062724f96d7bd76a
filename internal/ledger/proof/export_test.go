package proof

import (
	"context"
	"database/sql"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// rawTx makes a querier of a transaction past the ledger.
type rawTx struct{ *sql.Tx }

func (t rawTx) QueryContext(ctx context.Context, query string, args ...any) (sqldb.Rows, error) {
	return t.Tx.QueryContext(ctx, query, args...) //nolint:rowserrcheck // the caller checks it
}

func (t rawTx) QueryRowContext(ctx context.Context, query string, args ...any) sqldb.Row {
	return t.Tx.QueryRowContext(ctx, query, args...)
}

// VerifyThrough is [Verify] within a transaction.
func VerifyThrough(ctx context.Context, db *base.DB, tx *sql.Tx, replay Replay) (Verified, error) {
	return verifyThrough(sqldb.WithoutQueryDeadline(ctx), db, rawTx{tx}, replay)
}

// VerifyAnchorThrough is [VerifyAnchor] within a transaction.
func VerifyAnchorThrough(ctx context.Context, db *base.DB, tx *sql.Tx, file []byte) ([]EvidenceError, error) {
	anchors, err := ReadAnchors(ctx, db, file)
	if err != nil {
		return nil, err
	}
	return verifyAnchor(ctx, db, rawTx{tx}, anchors)
}

// VerifyTenant verifies one company.
func VerifyTenant(ctx context.Context, t *base.Tenant, replay Replay) (Verified, error) {
	return base.ReadValue(t, func(q base.Querier) (Verified, error) {
		return verifyTenantThrough(sqldb.WithoutQueryDeadline(ctx), t, q, replay)
	})
}
