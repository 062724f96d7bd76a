package store

import (
	"context"
	"crypto/subtle"
	"errors"
	"fmt"

	base "quittance/internal/db"
)

func (v *Verified) accessFault(table, row, what string) {
	v.Faults = append(v.Faults, EvidenceError{Kind: KindAccess, Field: table + " " + row, What: what})
}

// AccessSealed reports whether rows that decide who may act need their seals. If not, [DB.SealAccess] waits for servers
// of an earlier release.
func (db *DB) AccessSealed() bool { return db.keys.access.Load() }

// AccessFaults returns what [DB.VerifyEvidence] finds of the rows that decide who may act.
func (db *DB) AccessFaults(ctx context.Context) ([]EvidenceError, error) {
	var found Verified
	err := db.verifyAccess(base.WithoutQueryDeadline(ctx), db.reader, &found)
	return found.Faults, db.classify(err)
}

// verifyAccess verifies the seals of the rows that decide who may act, the set of companies, and that both are what the
// audit log says.
func (db *DB) verifyAccess(ctx context.Context, q querier, out *Verified) error {
	if gone, err := db.accessRecordGone(ctx); err != nil || gone {
		if gone {
			out.accessFault("sealing_keys", "all", "the record that who may act is sealed was removed")
		}
		return err
	}
	if !db.AccessSealed() {
		return nil
	}
	for _, table := range sealedTables {
		if err := db.walkSealed(ctx, q, table, ` where `+table.needsSeal(), func(r *sealedRecord) {
			switch {
			case len(r.seal) == 0:
				out.accessFault(table.name, r.name(), "it has no seal: it was written outside of the service")
			case !r.sealed(db.keys):
				out.accessFault(table.name, r.name(), "it is not what was sealed: it was changed outside of the service")
			}
		}); err != nil {
			return err
		}
	}
	if err := db.verifyTenantSet(ctx, q, out); err != nil {
		return err
	}
	if err := db.verifyCompanies(ctx, q, out); err != nil {
		return err
	}
	return db.verifyAccessLogs(ctx, q, out)
}

// verifyTenantSet compares the tenants with the sealed set. One statement reads both, because companies may be added
// meanwhile.
func (db *DB) verifyTenantSet(ctx context.Context, q querier, out *Verified) (err error) {
	var sealed []byte
	var sets int64
	if err := q.QueryRowContext(ctx,
		`select (select count(*) from sealed_sets), (select value from sealed_sets where name = $1 limit 1)`,
		setTenants).Scan(&sets, &sealed); err != nil {
		return err
	}
	if sets > 1 {
		out.accessFault("sealed_sets", "all", "there is an unknown record")
	}
	recorded, err := openTenantSet(db.keys, sealed)
	if errors.Is(err, errNoSet) && !errors.Is(err, errNoKeys) {
		out.accessFault("sealed_sets", setTenants, "the record of all companies is gone or does not open")
		return nil
	}
	if err != nil {
		return err
	}
	here := tenantSet{key: recorded.key}
	rows, err := q.QueryContext(ctx, `select (select value from sealed_sets where name = $1 limit 1), `+
		sealedTenants.columns("tenants")+` from tenants`, setTenants)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		r := sealedTenants.record()
		if err := rows.Scan(append([]any{&sealed}, r.into()...)...); err != nil {
			return err
		}
		here.add(r, 1)
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if recorded, err = openTenantSet(db.keys, sealed); err != nil {
		out.accessFault("sealed_sets", setTenants, "the record of all companies does not open")
	} else if here.count != recorded.count || subtle.ConstantTimeCompare(here.sum[:], recorded.sum[:]) == 0 {
		out.accessFault("tenants",
			"all",
			fmt.Sprintf(
				"%d tenants were recorded and %d are here, or they are others: a company was removed, frozen or exchanged",
				recorded.count, here.count))
	}
	return nil
}

// verifyCompanies finds companies of which only a part is here.
func (db *DB) verifyCompanies(ctx context.Context, q querier, out *Verified) error {
	none := make([]byte, len(ID{}))
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
		found, err := collect(ctx, q, scanChain, part.query, part.args...)
		if err != nil {
			return err
		}
		for _, id := range found {
			out.accessFault("accounts", id.String(), part.what)
		}
	}
	return nil
}
