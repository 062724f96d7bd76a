package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"fmt"
	"slices"

	"quittance/internal/secret"
)

// EvidenceError is a place where retained evidence is not what was retained.
type EvidenceError struct {
	// Tenant is whose it is; zero in an exported file, which does not say.
	Tenant ID
	// Kind is what has the chain: submission or incoming e-invoice.
	Kind string
	// Of identifies the submission, or the incoming e-invoice.
	Of ID
	// Ordinal is the first bad place in the chain, from 1; 0 when every entry is as it was and the fault is in what stands
	// outside of them.
	Ordinal int64
	What    string
}

func (f EvidenceError) Error() string {
	where := fmt.Sprintf("evidence of %s %s", f.Kind, f.Of)
	if f.Kind == kindAudit {
		where = "audit log of account " + f.Of.String()
		if f.Of.IsZero() {
			where = "audit log of the installation"
		}
	}
	if !f.Tenant.IsZero() {
		where += fmt.Sprintf(" (tenant %s)", f.Tenant)
	}
	if f.Ordinal > 0 {
		where += fmt.Sprintf(", entry %d", f.Ordinal)
	}
	return where + ": " + f.What
}

// Verified is what a verification has found.
type Verified struct {
	// Chains is how many submissions and incoming e-invoices were looked at, Entries how many of their entries are what
	// was retained.
	Chains, Entries int
	// Unsealed is how many chains have no seal, because nothing was appended to them since there are seals. In a database
	// that is younger, any at all has been tampered with.
	Unsealed int
	// AuditEntries is how many entries of the audit log are what was recorded.
	AuditEntries int
	// Faults has the first fault of every chain that has one.
	Faults []EvidenceError
}

// chainKind is one of the two kinds of chain, and where it stands.
type chainKind struct {
	name string
	// all selects the anchor of each chain of a tenant: identifier, number of entries, head, seal; one selects that of one.
	all, one string
	// lost selects the identifiers that entries and events name and that have no anchor.
	lost string
	// entries selects the entries of a chain for read.
	entries string
	read    func(t *Tenant, row scanner) link
	place   func(tenant, id ID) secret.Place
}

const (
	kindSubmission = "submission"
	kindIncoming   = "incoming e-invoice"
)

func submissionChains() chainKind {
	const anchors = `select id, evidence_count, evidence_head, evidence_seal from submissions where tenant_id = $1`
	return chainKind{
		name: kindSubmission, all: anchors + ` order by id`, one: anchors + ` and id = $2`,
		lost: `select submission_id from evidence where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'submission'
			except select id from submissions where tenant_id = $1`,
		entries: `select ` + evidenceColumns + `, ` + withheldBody + ` from evidence where tenant_id = $1 and submission_id = $2 order by ordinal`,
		read:    (*Tenant).readEvidence, place: submissionSealPlace,
	}
}

func incomingChains() chainKind {
	const anchors = `select id, revision, head, seal from incoming where tenant_id = $1`
	return chainKind{
		name: kindIncoming, all: anchors + ` order by id`, one: anchors + ` and id = $2`,
		lost: `select incoming_id from revisions where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'incoming_invoice'
			except select id from incoming where tenant_id = $1`,
		entries: `select ` + revisionColumns + `, ` + withheldDocument + `, ` + withheldMetadata + fromRevisions + `i.id = $2 order by r.revision`,
		read:    (*Tenant).readRevision, place: incomingSealPlace,
	}
}

// VerifyEvidence verifies the evidence of every tenant, and the audit log.
func (db *DB) VerifyEvidence(ctx context.Context) (Verified, error) {
	var out Verified
	tenants, err := db.tenants(ctx)
	if err != nil {
		return out, err
	}
	for _, t := range tenants {
		found, err := t.VerifyEvidence(ctx)
		if err != nil {
			return out, err
		}
		out.Chains, out.Entries, out.Unsealed = out.Chains+found.Chains, out.Entries+found.Entries, out.Unsealed+found.Unsealed
		out.Faults = append(out.Faults, found.Faults...)
	}
	return out, db.verifyAudit(ctx, &out)
}

// VerifyEvidence recomputes every digest of the tenant's evidence, of submissions and of incoming e-invoices: bodies,
// entries, chains; and compares them with the heads and seals that stand outside the tables. Entries may be appended
// meanwhile.
func (t *Tenant) VerifyEvidence(ctx context.Context) (Verified, error) {
	ctx = unlimited(ctx) // it reads everything there is
	var out Verified
	err := t.read(func(q querier) error {
		for _, kind := range []chainKind{submissionChains(), incomingChains()} {
			anchors, err := collect(ctx, q, scanAnchor, kind.all, t.id)
			if err != nil {
				return err
			}
			for _, a := range anchors {
				if err := t.verifyChain(ctx, q, kind, a, &out); err != nil {
					return err
				}
			}
			lost, err := collect(ctx, q, func(row scanner) (id ID, err error) { return id, row.Scan(&id) }, kind.lost, t.id)
			if err != nil {
				return err
			}
			for _, id := range lost {
				out.Faults = append(out.Faults, EvidenceError{t.id, kind.name, id, 0, "it is gone: entries or events of it are still here"})
			}
		}
		return nil
	})
	return out, err
}

// anchor is what stands outside a chain about the chain.
type anchor struct {
	id ID
	end
	readable bool // end is what stands there
	seal     []byte
}

// scanAnchor reads whatever stands there: what makes no sense is a fault of one chain, not the end of a verification.
func scanAnchor(row scanner) (anchor, error) {
	var a anchor
	var count any
	var head []byte
	if err := row.Scan(&a.id, &count, &head, &a.seal); err != nil {
		return anchor{}, err
	}
	a.count, a.readable = count.(int64)
	switch len(head) {
	case len(a.head):
		copy(a.head[:], head)
	case 0:
		a.readable = a.readable && a.count == 0
	default:
		a.readable = false
	}
	return a, nil
}

// verifyChain verifies one chain and adds to out what is found. A fault that only comes from an entry that was appended
// between two queries is not one: the anchor has moved then.
func (t *Tenant) verifyChain(ctx context.Context, q querier, kind chainKind, a anchor, out *Verified) error {
	for {
		at, fault, err := t.checkChain(ctx, q, kind, a)
		if err != nil {
			return err
		}
		if fault != nil {
			now, err := scanAnchor(q.QueryRowContext(ctx, kind.one, t.id, a.id))
			if err != nil && !errors.Is(err, sql.ErrNoRows) {
				return err
			}
			if err == nil && (now.end != a.end || !slices.Equal(now.seal, a.seal)) {
				a = now
				continue
			}
			out.Faults = append(out.Faults, *fault)
		}
		out.Chains++
		out.Entries += int(at.count)
		if len(a.seal) == 0 {
			out.Unsealed++
		}
		return nil
	}
}

// checkChain recomputes one chain and returns how far it is what was retained, and its first fault.
func (t *Tenant) checkChain(ctx context.Context, q querier, kind chainKind, a anchor) (at end, fault *EvidenceError, err error) {
	want, opens := a.end, true
	if len(a.seal) > 0 {
		var sealed end
		if sealed, opens = unseal(t.db.keys, a.seal, kind.place(t.id, a.id)); opens {
			want = sealed
		}
	}
	at, what, err := t.walk(ctx, q, kind, a.id, want)
	if err != nil {
		return at, nil, err
	}
	place := at.count + 1
	if what == "" {
		place = 0
		switch {
		case !opens:
			what = "the seal of its end does not open"
		case !a.readable || a.end != want:
			what = "the head beside it is not where it ends"
		default:
			return at, nil, nil
		}
	}
	return at, &EvidenceError{t.id, kind.name, a.id, place, what}, nil
}

// walk reads a chain entry by entry until something is wrong there.
func (t *Tenant) walk(ctx context.Context, q querier, kind chainKind, id ID, want end) (at end, what string, err error) {
	rows, err := q.QueryContext(ctx, kind.entries, t.id, id)
	if err != nil {
		return at, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		next := kind.read(t, rows)
		if err := errors.Join(rows.Err(), ctx.Err()); err != nil {
			return at, "", err // it is not the row that cannot be read
		}
		if what := at.take(next, want); what != "" {
			return at, what, nil
		}
	}
	return at, at.short(want), rows.Err()
}

// readEvidence reads an entry of a submission's chain with its body.
func (t *Tenant) readEvidence(row scanner) link {
	var body []byte
	e, err := scanEvidence(row, &body)
	if err != nil {
		return link{fault: "it cannot be read: " + err.Error()}
	}
	if e.Withheld {
		if body, err = t.db.keys.Open(body, evidencePlace(t.id, e.ID)); err != nil {
			return link{fault: "its sealed body does not open"}
		}
	}
	return e.link(body, true)
}

// link recomputes the digests of an entry. body counts when it is at hand.
func (e *Evidence) link(body []byte, atHand bool) link {
	out := link{ordinal: e.Ordinal, previous: e.Previous, digest: e.Digest}
	switch {
	case atHand && sha256.Sum256(body) != e.SHA256:
		out.fault = "its body is not what was retained"
	case e.chain() != e.Digest:
		out.fault = "it is not what was retained"
	}
	return out
}

// readRevision reads an entry of an incoming e-invoice's chain with its document and metadata.
func (t *Tenant) readRevision(row scanner) link {
	var body, metadata []byte
	r, err := scanRevision(row, &body, &metadata)
	if err != nil {
		return link{fault: "it cannot be read: " + err.Error()}
	}
	if r.Withheld {
		var errs [2]error
		body, errs[0] = t.db.keys.Open(body, revisionPlace(t.id, r.Incoming, r.Revision, "body"))
		metadata, errs[1] = t.db.keys.Open(metadata, revisionPlace(t.id, r.Incoming, r.Revision, "metadata"))
		if errors.Join(errs[:]...) != nil {
			return link{fault: "its sealed document or metadata do not open"}
		}
	}
	return r.link(body, metadata, true)
}

// link recomputes the digests of a revision. body and metadata count when they are at hand.
func (r *Revision) link(body, metadata []byte, atHand bool) link {
	out := link{ordinal: r.Revision, previous: r.Previous, digest: r.Digest}
	switch {
	case atHand && sha256.Sum256(metadata) != r.MetadataSHA256:
		out.fault = "its metadata are not what was retained"
	case atHand && r.Retained && sha256.Sum256(body) != r.SHA256:
		out.fault = "its document is not what was retained"
	case atHand && !r.Retained && len(body) > 0:
		out.fault = "it has a document, and none was retained"
	case !r.Intact():
		out.fault = "it is not what was retained"
	}
	return out
}
