package proof

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// EvidenceError is a place where the retained evidence, or what the service shows of it, was changed.
type EvidenceError struct {
	// Tenant is the owner; it is zero for an exported file, which does not name the owner.
	Tenant base.ID
	// Kind is what has the fault, one of the Kind constants.
	Kind string
	// Of identifies the submission or the incoming e-invoice.
	Of base.ID
	// Ordinal is the first bad position in the chain, from 1; 0 if all entries are intact and the fault is outside of
	// them.
	Ordinal int64
	// Field is the bad field, named as in the API or the database; empty if the fault is not in a single field.
	Field string
	// What describes the fault.
	What string
}

// The kinds of verified things.
const (
	KindSubmission = "submission"
	KindIncoming   = "incoming e-invoice"
	// KindTenant is for what belongs to a company as a whole, such as the number of its events; Of is the tenant.
	KindTenant = "tenant"
	// KindDatabase is for what belongs to no company; Of is zero.
	KindDatabase = "database"
	// KindAccess is for rows that decide who may act; Field has the table and the row.
	KindAccess = "access"
)

func (f EvidenceError) Error() string {
	where := "evidence of " + f.Kind
	switch {
	case f.Kind == KindAccess:
		where = "who may act"
	case f.Kind == kindAudit && f.Of.IsZero():
		where = "audit log of the installation"
	case f.Kind == kindAudit:
		where = "audit log of account " + f.Of.String()
	case !f.Of.IsZero():
		where += " " + f.Of.String()
	}
	if !f.Tenant.IsZero() && f.Tenant != f.Of {
		where += fmt.Sprintf(" (tenant %s)", f.Tenant)
	}
	if f.Ordinal > 0 {
		where += fmt.Sprintf(", entry %d", f.Ordinal)
	}
	if f.Field != "" {
		where += ", " + f.Field
	}
	return where + ": " + f.What
}

// Verified is the result of a verification.
type Verified struct {
	// Chains is the number of submissions and incoming e-invoices that were verified; Entries is the number of their
	// intact entries.
	Chains, Entries int
	// AuditEntries is the number of intact entries of the audit log.
	AuditEntries int
	// Faults has the first fault of each chain, and the faults outside of chains.
	Faults []EvidenceError
}

func (v *Verified) add(found Verified) {
	v.Chains, v.Entries, v.Faults = v.Chains+found.Chains, v.Entries+found.Entries, append(v.Faults, found.Faults...)
}

func (v *Verified) databaseFault(field, what string) {
	v.Faults = append(v.Faults, EvidenceError{Kind: KindDatabase, Field: field, What: what})
}

// Verify verifies the evidence of every tenant and the audit log; see [verifyTenantThrough]. The error is a
// failure of the database or the keys; faults of the evidence are in the result.
func Verify(ctx context.Context, db *base.DB, replay Replay) (Verified, error) {
	return verifyThrough(sqldb.WithoutQueryDeadline(ctx), db, db.Querier(), replay)
}

func verifyThrough(ctx context.Context, db *base.DB, q base.Querier, replay Replay) (Verified, error) {
	var out Verified
	if err := verifyRecord(ctx, db, q, &out); err != nil {
		return out, db.Classify(err)
	}
	tenants, err := base.Collect(ctx, q, func(row base.Row) (*base.Tenant, error) {
		t, err := db.ScanTenant(row)
		if err != nil {
			return nil, nil //nolint:nilerr,nilnil // an unreadable row is a fault, reported below
		}
		return t, nil
	}, `select id, account_id from tenants order by id`)
	if err != nil {
		return out, db.Classify(err)
	}
	for _, t := range tenants {
		if t == nil {
			out.databaseFault("tenants", whatUnreadable)
			continue
		}
		found, err := verifyTenantThrough(ctx, t, q, replay)
		if err != nil {
			return out, db.Classify(err)
		}
		out.add(found)
	}
	if err := verifyAudit(ctx, db, &out); err != nil {
		return out, err
	}
	if err := verifyAccess(ctx, db, q, &out); err != nil {
		return out, db.Classify(err)
	}
	return out, db.Classify(verifyStrays(ctx, q, &out))
}

// verifyRecord verifies that the evidence of this database is sealed.
func verifyRecord(ctx context.Context, db *base.DB, q base.Querier, out *Verified) error {
	var unknown int64
	if err := q.QueryRowContext(ctx, `select count(*) from sealed_settings where id <> $1 and id <> $2`, base.SettingEvidence(),
		base.SettingRemoved()).Scan(&unknown); err != nil {
		return err
	}
	if unknown > 0 {
		out.databaseFault("sealed_settings", "there is an unknown setting")
	}
	switch _, err := db.EvidenceRecord(ctx, q); {
	case errors.Is(err, base.ErrNotSealed):
		out.databaseFault("sealed_settings", "the evidence of this database was never sealed, or the record of it is gone")
	case errors.Is(err, base.ErrRecord):
		out.databaseFault("sealed_settings", "the record of when it was sealed does not open")
	default:
		return err
	}
	return nil
}

// verifyStrays finds rows of evidence that belong to no tenant.
func verifyStrays(ctx context.Context, q base.Querier, out *Verified) error {
	for _, stray := range []struct{ table, count string }{
		{"submissions", `select count(*) from submissions where tenant_id not in (select id from tenants)`},
		{"evidence", `select count(*) from evidence where tenant_id not in (select id from tenants)`},
		{"states", `select count(*) from states where tenant_id not in (select id from tenants)`},
		{"incoming", `select count(*) from incoming where tenant_id not in (select id from tenants)`},
		{"revisions", `select count(*) from revisions where tenant_id not in (select id from tenants)`},
		{"events", `select count(*) from events where tenant_id not in (select id from tenants)`},
		{"deliveries", `select count(*) from deliveries where tenant_id not in (select id from tenants)`},
	} {
		var n int64
		if err := q.QueryRowContext(ctx, stray.count).Scan(&n); err != nil {
			return err
		}
		if n > 0 {
			out.databaseFault(stray.table, fmt.Sprintf("%d rows belong to no tenant", n))
		}
	}
	return nil
}

// verifyTenantThrough verifies the evidence about a company's submissions and incoming e-invoices, and what the service
// shows of it. It recomputes every digest, compares the chains and their rows with the seals, interprets every retained
// response again, and compares the results with the rows. Entries may be added meanwhile.
func verifyTenantThrough(ctx context.Context, t *base.Tenant, q base.Querier, replay Replay) (Verified, error) {
	v := verification{t: t, q: q, replay: replay}
	if err := v.begin(ctx); err != nil {
		return v.out, err
	}
	for _, s := range subjects() {
		if err := v.verifyAll(ctx, s); err != nil {
			return v.out, err
		}
	}
	if err := v.findOrphans(ctx); err != nil {
		return v.out, err
	}
	v.accountForEvents()
	return v.out, nil
}

// subject is a kind of row that has a sealed chain.
type subject struct {
	page   string // selects at most $3 identifiers after $2
	seal   string // selects the seal of the row $2, which changes with each addition
	verify func(*verification, context.Context, base.ID) (*EvidenceError, error)
	accept func(*verification, context.Context, *base.Tx, base.ID) (sealed bool, err error)
}

func subjects() []subject { return []subject{submissionSubject(), incomingSubject()} }

func submissionSubject() subject {
	return subject{
		page:   `select id from submissions where tenant_id = $1 and id > $2 order by id limit $3`,
		seal:   `select evidence_seal from submissions where tenant_id = $1 and id = $2`,
		verify: (*verification).submission, accept: (*verification).sealSubmission,
	}
}

func incomingSubject() subject {
	return subject{
		page:   `select id from incoming where tenant_id = $1 and id > $2 order by id limit $3`,
		seal:   `select seal from incoming where tenant_id = $1 and id = $2`,
		verify: (*verification).incoming, accept: (*verification).sealIncoming,
	}
}

// verification is a verification of one tenant.
type verification struct {
	t      *base.Tenant
	q      base.Querier
	replay Replay
	out    Verified

	// emitted is the sealed number of the tenant's events when the verification began; gone is how many of them were gone
	// when the evidence was first sealed; found is how many of the others the chains name.
	emitted, gone, found int64
	counted              bool // emitted and gone are known
	// removed is the time before which events may have been removed, in microseconds since 1970; 0 if none were.
	removed int64

	// The other fields are about the subject that is being verified.

	entries       int64 // number of its intact entries
	sealedAsFound bool  // it was sealed by [SealEvidence]
	listed        int64 // number of the events it names that were emitted before the verification began
	missing       int64 // number of those that no longer exist

	// accept is set by [SealEvidence]: a missing or an old seal is then no fault, and unnamed gets the events that no
	// entry names, in the form of the column earlier_events. A complete seal must match in any case.
	accept bool
	// accepting is accept for the subject that is being verified.
	accepting bool
	unnamed   []byte
}

// setSeal decides what is accepted of a subject with a given seal. A complete seal with the mark sealAltered may have
// been made over a row without a complete seal, so [SealEvidence] treats it like an old seal.
func (v *verification) setSeal(sealed base.Seal, form base.SealForm) {
	v.sealedAsFound = sealed.History&base.SealFound != 0
	v.accepting = v.accept && (form != base.SealWhole || sealed.History&base.SealAltered != 0)
}

// verifyAll verifies all rows of a subject. A malformed identifier is a fault.
func (v *verification) verifyAll(ctx context.Context, s subject) error {
	const most = 500
	for after := []byte{}; ; {
		ids, err := base.Collect(ctx, v.q, base.ScanValue[[]byte], s.page, v.t.ID(), after, most)
		if err != nil {
			return err
		}
		for _, raw := range ids {
			if len(raw) != len(base.ID{}) {
				v.fault(KindTenant, v.t.ID(), "id", "a row has a malformed identifier")
				continue
			}
			if err := v.verifyOne(ctx, s, base.ID(raw)); err != nil {
				return err
			}
		}
		if len(ids) < most {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// verifyOne verifies one row. Something that was added between two queries can look like a fault, so verifyOne repeats
// a verification with a fault until nothing has changed meanwhile.
func (v *verification) verifyOne(ctx context.Context, s subject, id base.ID) error {
	var fault *EvidenceError
	var before []byte
	for again := false; ; again = true {
		v.entries, v.listed, v.missing, v.unnamed = 0, 0, 0, nil
		var err error
		if fault, err = s.verify(v, ctx, id); err != nil {
			return err
		}
		if fault == nil {
			break
		}
		now, err := v.version(ctx, id, s.seal)
		if err != nil {
			return err
		}
		if again && bytes.Equal(now, before) {
			v.out.Faults = append(v.out.Faults, *fault)
			break
		}
		before = now
	}
	v.out.Chains++
	v.out.Entries += int(v.entries)
	v.found += v.listed
	return nil
}

// version returns a value that changes whenever something is added to a row or more events may be removed: the seal of
// the row, and the time before which events may be removed.
func (v *verification) version(ctx context.Context, id base.ID, seal string) ([]byte, error) {
	var now []byte
	if err := v.q.QueryRowContext(ctx, seal, v.t.ID(), id).Scan(&now); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	removed, err := v.t.DB().EventsRemoved(ctx, v.q)
	if err != nil && !errors.Is(err, base.ErrRecord) {
		return nil, err
	}
	v.removed = max(removed, v.removed)
	return binary.BigEndian.AppendUint64(now, uint64(v.removed)), nil //nolint:gosec // the bits are compared
}

func (v *verification) fault(kind string, of base.ID, field, what string) {
	v.out.Faults = append(v.out.Faults, *v.at(kind, of, 0, base.Flaw{Field: field, What: what}))
}

// at returns a fault of the tenant.
func (v *verification) at(kind string, of base.ID, ordinal int64, f base.Flaw) *EvidenceError {
	return &EvidenceError{Tenant: v.t.ID(), Kind: kind, Of: of, Ordinal: ordinal, Field: f.Field, What: f.What}
}

// begin verifies the number of the tenant's events.
func (v *verification) begin(ctx context.Context) error {
	var events any
	var sealed []byte
	err := v.q.QueryRowContext(ctx, `select events, events_seal from tenants where id = $1`, v.t.ID()).Scan(&events, &sealed)
	if err != nil {
		return err
	}
	count, readable := events.(int64)
	found, form, err := base.OpenSeal(v.t.DB().Sealer(), sealed, base.EventsSealBinding(v.t.ID()))
	if err := ignoreUnknownKey(err); err != nil {
		return err
	}
	switch {
	// a database whose access is sealed seals 0, too
	case form == base.SealNone && readable && count == 0 && !v.t.DB().Sealer().Access.Load():
		v.counted = true
	case form != base.SealWhole || found.History&base.SealAltered != 0 || !readable || found.Count != count:
		v.fault(KindTenant, v.t.ID(), "events", "the number of its events is not what was sealed")
	default:
		v.emitted, v.gone, v.counted = found.Count, parseCount(found.Subject), true
	}
	v.removed, err = v.t.DB().EventsRemoved(ctx, v.q)
	if errors.Is(err, base.ErrRecord) {
		v.fault(KindDatabase, base.ID{}, "sealed_settings", "the record of which events were removed does not open")
		return nil
	}
	return err
}

// accountForEvents detects that a subject was removed with everything that belongs to it: its events are then missing
// from the total.
func (v *verification) accountForEvents() {
	if v.counted && len(v.out.Faults) == 0 && v.found+v.gone != v.emitted {
		v.fault(KindTenant, v.t.ID(),
			"events",
			fmt.Sprintf(
				"%d events were emitted, and what is here has emitted %d: a submission or an incoming e-invoice was removed",
				v.emitted, v.found+v.gone))
	}
}

// findOrphans finds rows whose submission, incoming e-invoice or event does not exist.
func (v *verification) findOrphans(ctx context.Context) error {
	const whatGone = "it is gone: what belongs to it is still here"
	for _, orphans := range []struct{ kind, what, query string }{
		{KindSubmission, whatGone, `select submission_id from evidence where tenant_id = $1
			union select submission_id from states where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'submission'
			except select id from submissions where tenant_id = $1 order by 1`},
		{KindIncoming, whatGone, `select incoming_id from revisions where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'incoming_invoice'
			except select id from incoming where tenant_id = $1 order by 1`},
		{KindTenant, "an event is gone: deliveries of it are still here",
			`select event_id from deliveries where tenant_id = $1 except select id from events where tenant_id = $1 order by 1`},
	} {
		owners, err := base.Collect(ctx, v.q, base.ScanValue[[]byte], orphans.query, v.t.ID())
		if err != nil {
			return err
		}
		for _, raw := range owners {
			var id base.ID
			copy(id[:], raw)
			v.fault(orphans.kind, id, "", orphans.what)
		}
	}
	var unknown int64
	if err := v.q.QueryRowContext(ctx,
		`select count(*) from events where tenant_id = $1 and resource_type not in ('submission', 'incoming_invoice')`,
		v.t.ID()).Scan(&unknown); err != nil {
		return err
	}
	if unknown > 0 {
		v.fault(KindTenant, v.t.ID(), "events", "an event is about an unknown type of resource")
	}
	return nil
}

// walk reads the entries of a chain with read until one has a flaw. It returns the position that it reached.
func (v *verification) walk(ctx context.Context, query string, id base.ID, begin [32]byte, want base.ChainEnd,
	read func(base.Row) base.ChainLink) (at base.ChainEnd, f base.Flaw, err error) {
	at.Head = begin
	rows, err := v.q.QueryContext(ctx, query, v.t.ID(), id)
	if err != nil {
		return at, base.Flaw{}, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		next := read(rows)
		if err := errors.Join(rows.Err(), ctx.Err()); err != nil {
			return at, base.Flaw{}, err // the query failed, not the scan of the row
		}
		if f := at.Advance(next, want); f.Found() {
			return at, f, nil
		}
	}
	return at, at.Missing(want), rows.Err()
}
