package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"

	base "quittance/internal/db"
)

// kindAudit is the kind of an [EvidenceError] about the audit log. Its Of is an account, or zero for the chain of no
// account.
const kindAudit = "audit"

// verifyAudit recomputes every digest of the audit log and compares its chains with their seals. Entries may be added
// meanwhile, because one statement reads each chain with its end.
func (db *DB) verifyAudit(ctx context.Context, out *Verified) error {
	ctx = base.WithoutQueryDeadline(ctx)
	// The ends are read first: entries are never removed, so the entries of each end are still there when they are read.
	heads, err := collect(ctx, db.reader, scanAuditHead, `select `+auditHeadColumns+` from audit_heads h order by h.chain`)
	if err != nil {
		return db.classify(err)
	}
	for _, head := range heads {
		if !head.readable {
			out.auditFault(head.chain, 0, "its end cannot be read")
			continue
		}
		if err := db.verifyAuditChain(ctx, head, out); err != nil {
			return db.classify(err)
		}
	}
	lost, err := collect(ctx, db.reader, scanChain,
		`select distinct chain from audit where chain not in (select chain from audit_heads) order by chain`)
	if err != nil {
		return db.classify(err)
	}
	for _, chain := range lost {
		out.auditFault(chain, 0, "its end is gone: entries of it are still here")
	}
	return db.classify(db.verifyAuditChains(ctx, out))
}

// scanChain reads the identifier of a chain; zero if it is malformed.
func scanChain(row scanner) (chain ID, err error) {
	var raw []byte
	err = row.Scan(&raw)
	if len(raw) == len(chain) {
		chain = ID(raw)
	}
	return chain, err
}

func (v *Verified) auditFault(chain ID, ordinal int64, what string) {
	v.Faults = append(v.Faults, EvidenceError{Kind: kindAudit, Of: chain, Ordinal: ordinal, What: what})
}

// verifyAuditChain verifies one chain up to its first fault.
func (db *DB) verifyAuditChain(ctx context.Context, head auditHead, out *Verified) (err error) {
	rows, err := db.reader.QueryContext(ctx, `select `+auditHeadColumns+`, `+auditColumns+
		` from audit_heads h join audit using (chain)
		where h.chain = $1 order by ordinal`, head.chain[:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var at chainEnd
	for rows.Next() {
		var e AuditEntry
		if err := e.scan(rows, head.fields()...); err != nil {
			out.auditFault(head.chain, at.count+1, whatUnreadable)
			return nil
		}
		next := chainLink{ordinal: e.ordinal, previous: e.previous, digest: e.digest}
		if e.computeDigest() != e.digest {
			next.flaw.what = "it is not what was recorded: its digest differs"
		}
		if f := at.advance(next, head.chainEnd); f.found() {
			out.auditFault(head.chain, at.count+1, f.what)
			return nil
		}
		out.AuditEntries++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if f := at.missing(head.chainEnd); f.found() {
		out.auditFault(head.chain, at.count+1, f.what)
		return nil
	}
	switch sealed, err := unsealAuditEnd(db.keys, head.seal, head.chain); {
	case len(head.seal) == 0:
		out.auditFault(head.chain, 0, "its end has no seal")
	case err != nil:
		out.auditFault(head.chain, 0, "the seal of its end does not open")
	case sealed != head.auditEnd:
		out.auditFault(head.chain, 0, "it does not end where the seal says")
	}
	return nil
}

// verifyAuditChains compares the number of chains with the number that were begun.
func (db *DB) verifyAuditChains(ctx context.Context, out *Verified) error {
	var seal []byte
	var chains, begun int64
	err := db.reader.QueryRowContext(ctx,
		`select seal, (select count(*) from audit_heads) - 1, chains from audit_heads where chain = $1`,
		make([]byte, len(ID{}))).Scan(&seal, &chains, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		var traces int64
		if err := db.reader.QueryRowContext(ctx,
			`select (select count(*) from audit_heads) + (select count(*) from settings where key = $1)`,
			settingAuditBegun).Scan(&traces); err != nil {
			return err
		}
		if traces > 0 {
			out.auditFault(ID{}, 0, "it is gone: what began with it is still here")
		}
		return nil
	}
	if err != nil {
		return err
	}
	if chains != begun {
		out.auditFault(ID{}, 0, fmt.Sprintf("%d chains were begun and %d are here", begun, chains))
	}
	return nil
}
