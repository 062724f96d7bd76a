package store

import (
	"bytes"
	"context"
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
)

// EvidenceError is a place where retained evidence, or what the service shows of it, is not what was retained.
type EvidenceError struct {
	// Tenant is whose it is; zero in an exported file, which does not say.
	Tenant ID
	// Kind is what has the chain, one of the Kind constants.
	Kind string
	// Of identifies the submission, or the incoming e-invoice.
	Of ID
	// Ordinal is the first bad place in the chain, from 1; 0 when every entry is as it was and the fault is in what stands
	// outside of them.
	Ordinal int64
	// Field is what of it is wrong, as the API or the database calls it; empty when it is the whole.
	Field string
	What  string
}

// The kinds of what is verified.
const (
	KindSubmission = "submission"
	KindIncoming   = "incoming e-invoice"
	// KindTenant is what belongs to a company as a whole, such as the number of its events; Of is the tenant.
	KindTenant = "tenant"
	// KindDatabase is what belongs to no company; Of is zero.
	KindDatabase = "database"
)

func (f EvidenceError) Error() string {
	where := "evidence of " + f.Kind
	switch {
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

// Verified is what a verification has found.
type Verified struct {
	// Chains is how many submissions and incoming e-invoices were looked at, Entries how many of their entries are what
	// was retained.
	Chains, Entries int
	// AuditEntries is how many entries of the audit log are what was recorded.
	AuditEntries int
	// Faults has the first fault of every chain that has one, and those of what is no chain's.
	Faults []EvidenceError
}

func (v *Verified) add(found Verified) {
	v.Chains, v.Entries, v.Faults = v.Chains+found.Chains, v.Entries+found.Entries, append(v.Faults, found.Faults...)
}

// VerifyEvidence proves the evidence of every tenant; see [Tenant.VerifyEvidence]. It fails with the faults of the keys and
// the database; what is wrong with the evidence is in what it returns.
func (db *DB) VerifyEvidence(ctx context.Context, replay Replay) (Verified, error) {
	return db.verifyThrough(withoutQueryDeadline(ctx), db.reader, replay)
}

func (db *DB) verifyThrough(ctx context.Context, q querier, replay Replay) (Verified, error) {
	var out Verified
	if err := db.verifyRecord(ctx, q, &out); err != nil {
		return out, db.classify(err)
	}
	tenants, err := collect(ctx, q, func(row scanner) (*Tenant, error) {
		t, senseless := db.scanTenant(row)
		if senseless != nil {
			t = nil
		}
		return t, nil
	}, `select id, account_id from tenants order by id`)
	if err != nil {
		return out, db.classify(err)
	}
	for _, t := range tenants {
		if t == nil {
			out.Faults = append(out.Faults, EvidenceError{Kind: KindDatabase, Field: "tenants", What: whatUnreadable})
			continue
		}
		found, err := t.verifyThrough(ctx, q, replay)
		if err != nil {
			return out, db.classify(err)
		}
		out.add(found)
	}
	if err := db.verifyAudit(ctx, &out); err != nil {
		return out, err
	}
	return out, db.classify(db.verifyStrays(ctx, q, &out))
}

// verifyRecord verifies that this database is one whose evidence is sealed.
func (db *DB) verifyRecord(ctx context.Context, q querier, out *Verified) error {
	var strange int64
	if err := q.QueryRowContext(ctx, `select count(*) from sealed_settings where id <> $1 and id <> $2`, settingEvidence(), settingRemoved()).Scan(&strange); err != nil {
		return err
	}
	if strange > 0 {
		out.Faults = append(out.Faults, EvidenceError{Kind: KindDatabase, Field: "sealed_settings", What: "there is a setting that is none"})
	}
	_, err := db.evidenceRecord(ctx, q)
	var what string
	switch {
	case err == nil:
		return nil
	case errors.Is(err, ErrNotSealed):
		what = "the evidence of this database was never sealed, or the record of it is gone"
	case errors.Is(err, errRecord):
		what = "the record of when it was sealed does not open"
	default:
		return err
	}
	out.Faults = append(out.Faults, EvidenceError{Kind: KindDatabase, Field: "sealed_settings", What: what})
	return nil
}

// verifyStrays looks for rows of evidence that belong to no tenant.
func (db *DB) verifyStrays(ctx context.Context, q querier, out *Verified) error {
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
			out.Faults = append(out.Faults, EvidenceError{Kind: KindDatabase, Field: stray.table, What: fmt.Sprintf("%d rows belong to no tenant", n)})
		}
	}
	return nil
}

// VerifyEvidence proves what is retained about a company's submissions and incoming e-invoices, and what the service shows
// of it. It recomputes every digest, compares the chains and the rows they belong to with their seals, reads every
// retained answer again, and compares what follows from them with the rows. Entries may be added meanwhile.
func (t *Tenant) VerifyEvidence(ctx context.Context, replay Replay) (Verified, error) {
	var out Verified
	err := t.read(func(q querier) error {
		var err error
		out, err = t.verifyThrough(withoutQueryDeadline(ctx), q, replay)
		return err
	})
	return out, err
}

func (t *Tenant) verifyThrough(ctx context.Context, q querier, replay Replay) (Verified, error) {
	v := verification{t: t, q: q, replay: replay}
	if err := v.begin(ctx); err != nil {
		return v.out, err
	}
	for _, subjects := range []struct {
		page  string
		check func(context.Context, ID) (*EvidenceError, error)
		last  string
	}{
		{`select id from submissions where tenant_id = $1 and id > $2 order by id limit $3`, v.submission,
			lastSubmissionSeal},
		{`select id from incoming where tenant_id = $1 and id > $2 order by id limit $3`, v.incoming,
			lastIncomingSeal},
	} {
		if err := v.each(ctx, subjects.page, func(id ID) error { return v.settle(ctx, id, subjects.check, subjects.last) }); err != nil {
			return v.out, err
		}
	}
	if err := v.lost(ctx); err != nil {
		return v.out, err
	}
	v.accountForEvents()
	return v.out, nil
}

// What tells that a subject has changed while it was verified.
const (
	lastSubmissionSeal = `select evidence_seal from submissions where tenant_id = $1 and id = $2`
	lastIncomingSeal   = `select seal from incoming where tenant_id = $1 and id = $2`
)

// verification is a verification of one tenant.
type verification struct {
	t      *Tenant
	q      querier
	replay Replay
	out    Verified

	// emitted is how many events the tenant had when the verification began, by their sealed number; gone how many of
	// them were gone when the evidence was first sealed; found how many of the rest the chains name.
	emitted, gone, found int64
	counted              bool // emitted and gone are known
	// removed is the time before which events may have been removed, in microseconds since 1970; 0 when none were.
	removed int64
	// of the subject that is being verified
	entries int64 // how many of its entries are good
	// sealedAsFound tells that it was sealed as it was found.
	sealedAsFound bool
	listed        int64 // how many events of before the verification it names
	missing       int64 // how many of these are not there any more

	// accept is for what is sealed as it is found: that it has no seal, or one of before, is no fault then, and unnamed are the
	// events that no entry names, as a row keeps them. What is sealed as a whole already has to match its seal all the same.
	accept bool
	// accepting is accept for the subject that is being verified.
	accepting bool
	unnamed   []byte
}

// take decides what is accepted of a subject whose seal was opened: everything that a seal says is compared, and a seal that was
// made of what had no whole seal, and says so, is one of before.
func (v *verification) take(sealed seal, form sealForm) {
	v.sealedAsFound = sealed.history&sealFound != 0
	v.accepting = v.accept && (form != sealWhole || sealed.history&sealAltered != 0)
}

// each calls do for every identifier that page selects, in their order. Whatever is no identifier is a fault.
func (v *verification) each(ctx context.Context, page string, do func(ID) error) error {
	const most = 500
	for after := []byte{}; ; {
		ids, err := collect(ctx, v.q, func(row scanner) (id []byte, err error) { return id, row.Scan(&id) }, page, v.t.id, after, most)
		if err != nil {
			return err
		}
		for _, raw := range ids {
			if len(raw) != len(ID{}) {
				v.fault(KindTenant, v.t.id, "id", "a row has an identifier that is none")
				continue
			}
			if err := do(ID(raw)); err != nil {
				return err
			}
		}
		if len(ids) < most {
			return nil
		}
		after = ids[len(ids)-1]
	}
}

// settle verifies one subject. A fault that only comes of something that was added between two queries is none: it is
// verified again then, until nothing has moved meanwhile.
func (v *verification) settle(ctx context.Context, id ID, check func(context.Context, ID) (*EvidenceError, error), seal string) error {
	var fault *EvidenceError
	var before []byte
	for again := false; ; again = true {
		v.entries, v.listed, v.missing, v.unnamed = 0, 0, 0, nil
		var err error
		if fault, err = check(ctx, id); err != nil {
			return err
		}
		if fault == nil {
			break
		}
		now, err := v.mark(ctx, id, seal)
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

// mark is what moves whenever something is added to a subject, or more events may be removed: its seal, and the time before
// which they may.
func (v *verification) mark(ctx context.Context, id ID, seal string) ([]byte, error) {
	var now []byte
	if err := v.q.QueryRowContext(ctx, seal, v.t.id, id).Scan(&now); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return nil, err
	}
	removed, err := v.t.db.eventsRemoved(ctx, v.q)
	if err != nil && !errors.Is(err, errRecord) {
		return nil, err
	}
	v.removed = max(removed, v.removed)
	return binary.BigEndian.AppendUint64(now, uint64(v.removed)), nil //nolint:gosec // the bits are compared
}

func (v *verification) fault(kind string, of ID, field, what string) {
	v.out.Faults = append(v.out.Faults, *v.at(kind, of, 0, field, what))
}

// at is a fault.
func (v *verification) at(kind string, of ID, ordinal int64, field, what string) *EvidenceError {
	return &EvidenceError{Tenant: v.t.id, Kind: kind, Of: of, Ordinal: ordinal, Field: field, What: what}
}

// begin reads what belongs to the tenant as a whole.
func (v *verification) begin(ctx context.Context) error {
	var events any
	var sealed []byte
	err := v.q.QueryRowContext(ctx, `select events, events_seal from tenants where id = $1`, v.t.id).Scan(&events, &sealed)
	if err != nil {
		return err
	}
	count, readable := events.(int64)
	found, form, err := openSeal(v.t.db.keys, sealed, eventsSealBinding(v.t.id))
	if err := ownKeys(err); err != nil {
		return err
	}
	switch {
	case form == sealNone && readable && count == 0:
		v.counted = true
	case form != sealWhole || found.history&sealAltered != 0 || !readable || found.count != count:
		v.fault(KindTenant, v.t.id, "events", "the number of its events is not what was sealed")
	default:
		v.emitted, v.gone, v.counted = found.count, countIn(found.subject), true
	}
	v.removed, err = v.t.db.eventsRemoved(ctx, v.q)
	if errors.Is(err, errRecord) {
		v.fault(KindDatabase, ID{}, "sealed_settings", "the record of which events were removed does not open")
		return nil
	}
	return err
}

// accountForEvents finds what was removed with everything that belongs to it: its events are missing in the number of all.
func (v *verification) accountForEvents() {
	if v.counted && len(v.out.Faults) == 0 && v.found+v.gone != v.emitted {
		v.fault(KindTenant, v.t.id, "events", fmt.Sprintf("%d events were emitted, and what is here has emitted %d: a submission or an incoming e-invoice was removed",
			v.emitted, v.found+v.gone))
	}
}

// lost looks for what belongs to a submission, an incoming e-invoice or an event that is not there.
func (v *verification) lost(ctx context.Context) error {
	for _, missing := range []struct{ kind, query string }{
		{KindSubmission, `select submission_id from evidence where tenant_id = $1
			union select submission_id from states where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'submission'
			except select id from submissions where tenant_id = $1 order by 1`},
		{KindIncoming, `select incoming_id from revisions where tenant_id = $1
			union select resource_id from events where tenant_id = $1 and resource_type = 'incoming_invoice'
			except select id from incoming where tenant_id = $1 order by 1`},
		{KindTenant, `select event_id from deliveries where tenant_id = $1 except select id from events where tenant_id = $1 order by 1`},
	} {
		lost, err := collect(ctx, v.q, func(row scanner) (id []byte, err error) { return id, row.Scan(&id) }, missing.query, v.t.id)
		if err != nil {
			return err
		}
		for _, raw := range lost {
			var id ID
			copy(id[:], raw)
			what := "it is gone: what belongs to it is still here"
			if missing.kind == KindTenant {
				what = "an event is gone: deliveries of it are still here"
			}
			v.fault(missing.kind, id, "", what)
		}
	}
	var strange int64
	if err := v.q.QueryRowContext(ctx, `select count(*) from events where tenant_id = $1 and resource_type not in ('submission', 'incoming_invoice')`, v.t.id).Scan(&strange); err != nil {
		return err
	}
	if strange > 0 {
		v.fault(KindTenant, v.t.id, "events", "an event is about nothing that has events")
	}
	return nil
}

// walk reads a chain, entry by entry, until something is wrong there; read reads one. It returns where it came to.
func (v *verification) walk(ctx context.Context, query string, id ID, begin [32]byte, want chainEnd, read func(scanner, chainEnd) chainLink) (at chainEnd, what string, err error) {
	at.head = begin
	rows, err := v.q.QueryContext(ctx, query, v.t.id, id)
	if err != nil {
		return at, "", err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		next := read(rows, at)
		if err := errors.Join(rows.Err(), ctx.Err()); err != nil {
			return at, "", err // it is not the row that cannot be read
		}
		if what := at.advance(next, want); what != "" {
			return at, what, nil
		}
	}
	return at, at.missing(want), rows.Err()
}
