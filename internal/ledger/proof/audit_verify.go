package proof

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// kindAudit is the kind of an [EvidenceError] about the audit log. Its Of is an account, or zero for the chain of no
// account.
const kindAudit = "audit"

// verifyAudit recomputes every digest of the audit log and compares its chains with their seals. Entries may be added
// meanwhile, because one statement reads each chain with its end.
func verifyAudit(ctx context.Context, db *base.DB, out *Verified) error {
	ctx = sqldb.WithoutQueryDeadline(ctx)
	// The ends are read first: entries are never removed, so the entries of each end are still there when they are read.
	heads, err := base.Collect(ctx, db.Querier(), base.ScanAuditHead,
		`select `+base.AuditHeadColumns+` from audit_heads h order by h.chain`)
	if err != nil {
		return db.Classify(err)
	}
	for _, head := range heads {
		if !head.Readable {
			out.auditFault(head.Chain, 0, "its end cannot be read")
			continue
		}
		if err := verifyAuditChain(ctx, db, head, out); err != nil {
			return db.Classify(err)
		}
	}
	lost, err := base.Collect(ctx, db.Querier(), scanChain,
		`select distinct chain from audit where chain not in (select chain from audit_heads) order by chain`)
	if err != nil {
		return db.Classify(err)
	}
	for _, chain := range lost {
		out.auditFault(chain, 0, "its end is gone: entries of it are still here")
	}
	return db.Classify(verifyAuditChains(ctx, db, out))
}

// scanChain reads the identifier of a chain; zero if it is malformed.
func scanChain(row base.Row) (chain base.ID, err error) {
	var raw []byte
	err = row.Scan(&raw)
	if len(raw) == len(chain) {
		chain = base.ID(raw)
	}
	return chain, err
}

func (v *Verified) auditFault(chain base.ID, ordinal int64, what string) {
	v.Faults = append(v.Faults, EvidenceError{Kind: kindAudit, Of: chain, Ordinal: ordinal, What: what})
}

// verifyAuditChain verifies one chain up to its first fault.
func verifyAuditChain(ctx context.Context, db *base.DB, head base.AuditHead, out *Verified) (err error) {
	rows, err := db.Querier().QueryContext(ctx, `select `+base.AuditHeadColumns+`, `+base.AuditColumns+
		` from audit_heads h join audit using (chain)
		where h.chain = $1 order by ordinal`, head.Chain[:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var at base.ChainEnd
	for rows.Next() {
		var e base.AuditEntry
		if err := e.Scan(rows, head.Fields()...); err != nil {
			out.auditFault(head.Chain, at.Count+1, whatUnreadable)
			return nil
		}
		next := base.ChainLink{Ordinal: e.Ordinal, Previous: e.Previous, Digest: e.Digest}
		if e.ComputeDigest() != e.Digest {
			next.Flaw.What = "it is not what was recorded: its digest differs"
		}
		if f := at.Advance(next, head.ChainEnd); f.Found() {
			out.auditFault(head.Chain, at.Count+1, f.What)
			return nil
		}
		out.AuditEntries++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if f := at.Missing(head.ChainEnd); f.Found() {
		out.auditFault(head.Chain, at.Count+1, f.What)
		return nil
	}
	switch sealed, err := base.UnsealAuditEnd(db.Sealer(), head.Seal, head.Chain); {
	case len(head.Seal) == 0:
		out.auditFault(head.Chain, 0, "its end has no seal")
	case err != nil:
		out.auditFault(head.Chain, 0, "the seal of its end does not open")
	case sealed != head.AuditEnd:
		out.auditFault(head.Chain, 0, "it does not end where the seal says")
	}
	return nil
}

// verifyAuditChains compares the number of chains with the number that were begun.
func verifyAuditChains(ctx context.Context, db *base.DB, out *Verified) error {
	var seal []byte
	var chains, begun int64
	err := db.Querier().QueryRowContext(ctx,
		`select seal, (select count(*) from audit_heads) - 1, chains from audit_heads where chain = $1`,
		make([]byte, len(base.ID{}))).Scan(&seal, &chains, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		var traces int64
		if err := db.Querier().QueryRowContext(ctx,
			`select (select count(*) from audit_heads) + (select count(*) from settings where key = $1)`,
			base.SettingAuditBegun).Scan(&traces); err != nil {
			return err
		}
		if traces > 0 {
			out.auditFault(base.ID{}, 0, "it is gone: what began with it is still here")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if chains != begun {
		out.auditFault(base.ID{}, 0, fmt.Sprintf("%d chains were begun and %d are here", begun, chains))
	}
	return nil
}
