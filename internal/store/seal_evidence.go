package store

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strconv"
)

// ErrSealed says that the evidence of this database is already sealed.
var ErrSealed = errors.New("the evidence of this database is already sealed")

// SealedEvidence is the result of [DB.SealEvidence].
type SealedEvidence struct {
	// Sealed is the number of submissions and incoming e-invoices that were sealed.
	Sealed int
	// Faults are the reasons why others were not; every verification finds them.
	Faults []EvidenceError
}

// sealBatch is how many chains one transaction seals, so that other writes do not wait long.
const sealBatch = 20

// SealEvidence seals the evidence of a database that is older than seals. It trusts every chain that is intact, and
// seals it as it is found. Then it records that the database is sealed; from then on, evidence without a seal is a
// fault. SealEvidence returns [ErrSealed] if the database is already sealed, and [ErrRecordGone] if somebody has
// removed the record. Servers of this version may run meanwhile, and an interrupted run can be repeated.
func (db *DB) SealEvidence(ctx context.Context, replay Replay) (SealedEvidence, error) {
	var out SealedEvidence
	switch _, err := db.evidenceRecord(ctx, db.reader); {
	case err == nil:
		return out, ErrSealed
	case !errors.Is(err, ErrNotSealed):
		return out, db.classify(err)
	}
	if sealed, err := db.remembersEvidence(ctx); err != nil {
		return out, err
	} else if sealed {
		return out, ErrRecordGone
	}
	tenants, err := db.tenants(ctx)
	if err != nil {
		return out, err
	}
	for _, t := range tenants {
		if err := t.sealEvidence(ctx, replay, &out); err != nil {
			return out, err
		}
	}
	err = db.write(ctx, "record evidence", func(ctx context.Context, t *tx) error {
		if err := t.recordEvidence(ctx); err != nil {
			return err
		}
		return t.audit(Act{Name: "evidence.seal", SubjectType: "database",
			Details: map[string]string{"sealed": strconv.Itoa(out.Sealed), "faults": strconv.Itoa(len(out.Faults))}})
	})
	if err != nil {
		return out, err
	}
	return out, db.rememberEvidence(ctx)
}

// sealEvidence seals the evidence of one tenant.
func (t *Tenant) sealEvidence(ctx context.Context, replay Replay, out *SealedEvidence) error {
	var missing int64
	for _, s := range subjects() {
		for after := []byte{}; ; {
			ids, err := collect(ctx, t.db.reader, scanValue[ID], s.page, t.id, after, sealBatch)
			if err != nil {
				return t.db.classify(err)
			}
			if len(ids) == 0 {
				break
			}
			after = ids[len(ids)-1][:]
			done, gone, err := t.sealSubjects(ctx, replay, s, ids)
			if err != nil {
				return err
			}
			out.Sealed, out.Faults, missing = out.Sealed+done.Sealed, append(out.Faults, done.Faults...), missing+gone
		}
	}
	return t.sealEvents(ctx, missing)
}

// sealSubjects seals a batch in one transaction. missing is the number of events that the chains name and that were
// removed.
func (t *Tenant) sealSubjects(ctx context.Context, replay Replay, s subject,
	ids []ID) (done SealedEvidence, missing int64, err error) {
	err = t.db.write(ctx, "seal evidence", func(ctx context.Context, tx *tx) (err error) {
		done, missing = SealedEvidence{}, 0
		v := &verification{t: t, q: tx, replay: replay, accept: true}
		if v.removed, err = t.db.eventsRemoved(ctx, tx); err != nil {
			return err
		}
		for _, id := range ids {
			v.missing, v.unnamed = 0, nil
			sealed, err := s.accept(v, ctx, tx, id)
			if err != nil {
				return err
			}
			done.Sealed += int(flag(sealed))
			missing += v.missing
		}
		done.Faults = v.out.Faults
		return nil
	})
	return done, missing, err
}

// sealEvents seals the number of a tenant's events, and how many of them were removed and are not named by a chain.
// missing is the number of those that are named and were removed.
func (t *Tenant) sealEvents(ctx context.Context, missing int64) error {
	return t.db.write(ctx, "seal events", func(ctx context.Context, tx *tx) error {
		var emitted, here int64
		if err := tx.QueryRowContext(ctx, `select events from tenants where id = $1`+t.db.dialect.ForUpdate(),
			t.id).Scan(&emitted); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `select count(*) from events where tenant_id = $1`, t.id).Scan(&here); err != nil {
			return err
		}
		if emitted == 0 {
			return nil
		}
		sealed, err := seal{chainEnd: chainEnd{count: emitted}, subject: formatCount(emitted - here - missing),
			history: sealFound}.seal(t.db.keys, eventsSealBinding(t.id))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update tenants set events_seal = $2 where id = $1`, t.id, sealed)
		return err
	})
}

// sealSubmission seals a submission as it is found, unless it has a fault or is already sealed.
func (v *verification) sealSubmission(ctx context.Context, tx *tx, id ID) (bool, error) {
	t := v.t
	var invoiceID ID
	if err := tx.QueryRowContext(ctx, `select invoice_id from submissions where tenant_id = $1 and id = $2`,
		t.id, id).Scan(&invoiceID); err != nil {
		return false, ignoreMissing(err)
	}
	if err := t.lockInvoice(ctx, tx, invoiceID); err != nil && !errors.Is(err, sql.ErrNoRows) {
		return false, err
	}
	fault, err := v.submission(ctx, id)
	if err != nil {
		return false, err
	}
	if fault != nil {
		v.out.Faults = append(v.out.Faults, *fault)
		return false, nil //nolint:nilerr // a fault of the evidence is a result
	}
	s, malformed, err := t.provenSubmission(ctx, tx, id)
	if err = errors.Join(malformed, err); err != nil {
		return false, err
	}
	before, form, err := openSeal(t.db.keys, s.sealed, submissionSealBinding(t.id, id))
	if err != nil {
		return false, err
	}
	document := sha256.Sum256(s.document)
	if form == sealWhole && before.history&sealAltered == 0 && before.row == s.row() && before.subject == document &&
		v.unnamed == nil {
		return false, nil
	}
	s.earlierEvents = append(s.earlierEvents, v.unnamed...)
	if !s.begunAt.Valid {
		s.begunAt = sql.Null[int64]{V: micros(s.AttemptedAt), Valid: true}
	}
	if err := t.sealAs(&s.Submission, seal{subject: document, history: sealFound}); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx,
		`update submissions set earlier_events = $3, begun_at = $4, evidence_seal = $5 where tenant_id = $1 and id = $2`,
		t.id, id, s.earlierEvents, s.begunAt, s.sealed)
	return err == nil, err
}

// sealIncoming seals an incoming e-invoice as it is found, unless it has a fault or is already sealed.
func (v *verification) sealIncoming(ctx context.Context, tx *tx, id ID) (bool, error) {
	t := v.t
	var tenant ID
	if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1`+t.db.dialect.ForUpdate(),
		t.id).Scan(&tenant); err != nil {
		return false, err
	}
	fault, err := v.incoming(ctx, id)
	if err != nil {
		return false, err
	}
	if fault != nil {
		v.out.Faults = append(v.out.Faults, *fault)
		return false, nil //nolint:nilerr // a fault of the evidence is a result
	}
	i, err := scanIncomingRow(tx.QueryRowContext(ctx,
		`select `+incomingColumns+` from incoming where tenant_id = $1 and id = $2`, t.id, id))
	if err != nil {
		return false, ignoreMissing(err)
	}
	before, form, err := openSeal(t.db.keys, i.sealed, incomingSealBinding(t.id, id))
	if err != nil {
		return false, err
	}
	if form == sealWhole && before.history&sealAltered == 0 && before.row == i.asRead().row && v.unnamed == nil {
		return false, nil
	}
	i.earlierEvents = append(i.earlierEvents, v.unnamed...)
	if err := t.sealIncoming(&i, seal{history: sealFound}); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `update incoming set earlier_events = $3, seal = $4 where tenant_id = $1 and id = $2`, t.id,
		id, i.earlierEvents, i.sealed)
	return err == nil, err
}
