package proof

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

func (v *Verified) accessFault(table, row, what string) {
	v.Faults = append(v.Faults, EvidenceError{Kind: KindAccess, Field: table + " " + row, What: what})
}

// AccessSealed reports whether rows that decide who may act need their seals. If not, [ledger.SealAccess] waits for
// servers of an earlier release.
func AccessSealed(db *base.DB) bool { return db.Sealer().Access.Load() }

// AccessFaults returns what [Verify] finds of the rows that decide who may act.
func AccessFaults(ctx context.Context, db *base.DB) ([]EvidenceError, error) {
	var found Verified
	err := verifyAccess(sqldb.WithoutQueryDeadline(ctx), db, db.Querier(), &found)
	return found.Faults, db.Classify(err)
}

// verifyAccess verifies the seals of the rows that decide who may act, the set of companies, and that both are what the
// audit log says.
func verifyAccess(ctx context.Context, db *base.DB, q base.Querier, out *Verified) error {
	if gone, err := db.AccessRecordGone(ctx); err != nil || gone {
		if gone {
			out.accessFault("sealing_keys", "all", "the record that who may act is sealed was removed")
		}
		return err
	}
	if !AccessSealed(db) {
		return nil
	}
	for _, table := range base.SealedTables {
		if err := db.WalkSealed(ctx, q, table, ` where `+table.NeedsSeal(), func(r *base.SealedRecord) {
			switch {
			case len(r.Seal) == 0:
				out.accessFault(table.Name, r.Name(), "it has no seal: it was written outside of the service")
			case !r.Sealed(db.Sealer()):
				out.accessFault(table.Name, r.Name(), "it is not what was sealed: it was changed outside of the service")
			}
		}); err != nil {
			return err
		}
	}
	if err := verifyTenantSet(ctx, db, q, out); err != nil {
		return err
	}
	if err := verifyCompanies(ctx, q, out); err != nil {
		return err
	}
	return verifyAccessLogs(ctx, db, q, out)
}

// verifyTenantSet compares the tenants with the sealed set. One statement reads both, because companies may be added
// meanwhile.
func verifyTenantSet(ctx context.Context, db *base.DB, q base.Querier, out *Verified) (err error) {
	var sealed []byte
	var sets int64
	if err := q.QueryRowContext(ctx,
		`select (select count(*) from sealed_sets), (select value from sealed_sets where name = $1 limit 1)`,
		base.SetTenants).Scan(&sets, &sealed); err != nil {
		return err
	}
	if sets > 1 {
		out.accessFault("sealed_sets", "all", "there is an unknown record")
	}
	recorded, err := base.OpenTenantSet(db.Sealer(), sealed)
	if errors.Is(err, base.ErrNoSet) && !errors.Is(err, base.ErrNoKeys) {
		out.accessFault("sealed_sets", base.SetTenants, "the record of all companies is gone or does not open")
		return nil
	}
	if err != nil {
		return err
	}
	here := base.TenantSet{Key: recorded.Key}
	rows, err := q.QueryContext(ctx, `select (select value from sealed_sets where name = $1 limit 1), `+
		base.SealedTenants.Columns("tenants")+` from tenants`, base.SetTenants)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := base.SealedTenants.Record()
		if err := rows.Scan(append([]any{&sealed}, r.Into()...)...); err != nil {
			return err
		}
		here.Add(r, 1)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if recorded, err = base.OpenTenantSet(db.Sealer(), sealed); err != nil {
		out.accessFault("sealed_sets", base.SetTenants, "the record of all companies does not open")
	} else if here.Count != recorded.Count || subtle.ConstantTimeCompare(here.Sum[:], recorded.Sum[:]) == 0 {
		out.accessFault("tenants",
			"all",
			fmt.Sprintf(
				"%d tenants were recorded and %d are here, or they are others: a company was removed, frozen or exchanged",
				recorded.Count, here.Count))
	}
	return nil
}

// verifyCompanies finds companies of which only a part is here.
func verifyCompanies(ctx context.Context, q base.Querier, out *Verified) error {
	none := make([]byte, len(base.ID{}))
	for _, part := range []struct {
		what, query string
		args        []any
	}{
		{"it is gone: its tenant is still here",
			`select account_id from tenants where account_id not in (select id from accounts) order by account_id`, nil},
		{"it has no current tenant",
			`select id from accounts where id not in (select account_id from tenants where frozen_at is null) order by id`, nil},
		{"it is gone: the audit log has it",
			`select chain from audit_heads where octet_length(chain) = 16 and chain <> $1 and chain not in (select id from accounts) order by chain`, []any{none}},
	} {
		found, err := base.Collect(ctx, q, scanChain, part.query, part.args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			out.accessFault("accounts", id.String(), part.what)
		}
	}
	return nil
}
