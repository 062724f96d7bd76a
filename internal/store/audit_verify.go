package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
)

// kindAudit is the kind of an [EvidenceError] about the audit log; what it is about is an account, or zero for the chain of
// what belongs to none.
const kindAudit = "audit"

// verifyAudit recomputes every digest of the audit log and compares its chains with their seals. Acts may be audited
// meanwhile: each chain is read by one statement.
func (db *DB) verifyAudit(ctx context.Context, out *Verified) error {
	ctx = withoutQueryDeadline(ctx)
	// Ends are read before entries: entries never go, so a chain that had some then has them later.
	heads, err := collect(ctx, db.reader, scanAuditHead, `select h.chain, `+auditEndColumns+` from audit_heads h order by h.chain`)
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
	lost, err := collect(ctx, db.reader, scanChain, `select distinct chain from audit where chain not in (select chain from audit_heads) order by chain`)
	if err != nil {
		return db.classify(err)
	}
	for _, chain := range lost {
		out.auditFault(chain, 0, "its end is gone: entries of it are still here")
	}
	return db.classify(db.verifyAuditChains(ctx, out))
}

// scanChain reads which chain an entry is of; zero when that makes no sense.
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

// auditHead is the row of a chain.
type auditHead struct {
	chain ID
	storedAuditEnd
	readable bool
}

// scanAuditHead reads whatever stands there: what makes no sense is a fault of one chain, not the end of a verification.
func scanAuditHead(row scanner) (auditHead, error) {
	var out auditHead
	end, err := scanAuditEnd(row, &out.chain)
	out.storedAuditEnd, out.readable = end, err == nil
	return out, nil
}

// verifyAuditChain walks one chain. Its first fault ends the walk.
func (db *DB) verifyAuditChain(ctx context.Context, head auditHead, out *Verified) (err error) {
	chain, stored := head.chain, head.storedAuditEnd
	rows, err := db.reader.QueryContext(ctx, `select `+auditEndColumns+`, `+auditColumns+` from audit_heads h join audit using (chain)
		where h.chain = $1 order by ordinal`, chain[:])
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	var at chainEnd
	for rows.Next() {
		var e AuditEntry
		if e, stored, err = scanAuditWithEnd(rows); err != nil {
			out.auditFault(chain, at.count+1, "it cannot be read")
			return nil
		}
		next := chainLink{ordinal: e.place, previous: e.previous, digest: e.digest}
		if e.sum() != e.digest {
			next.fault = "it is not what was recorded: its digest differs"
		}
		if what := at.advance(next, stored.chainEnd); what != "" {
			out.auditFault(chain, at.count+1, what)
			return nil
		}
		out.AuditEntries++
	}
	if err := rows.Err(); err != nil {
		return err
	}
	if what := at.missing(stored.chainEnd); what != "" {
		out.auditFault(chain, at.count+1, what)
		return nil
	}
	switch sealed, err := unsealAuditEnd(db.keys, stored.seal, chain); {
	case len(stored.seal) == 0:
		out.auditFault(chain, 0, "its end has no seal")
	case err != nil:
		out.auditFault(chain, 0, "the seal of its end does not open")
	case sealed != stored.auditEnd:
		out.auditFault(chain, 0, "it does not end where the seal says")
	}
	return nil
}

// verifyAuditChains compares how many chains there are with how many were begun.
func (db *DB) verifyAuditChains(ctx context.Context, out *Verified) error {
	var seal []byte
	var chains, begun int64
	err := db.reader.QueryRowContext(ctx, `select seal, (select count(*) from audit_heads) - 1, chains from audit_heads where chain = $1`, make([]byte, len(ID{}))).Scan(&seal, &chains, &begun)
	if errors.Is(err, sql.ErrNoRows) {
		var traces int64
		if err := db.reader.QueryRowContext(ctx, `select (select count(*) from audit_heads) + (select count(*) from settings where key = $1)`, settingAuditBegun).Scan(&traces); err != nil {
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
