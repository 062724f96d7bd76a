package proof

import (
	"context"
	"crypto/sha256"
	"database/sql"
	"errors"
	"strconv"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
)

// ErrSealed says that the evidence of this database is already sealed.
var ErrSealed = errors.New("the evidence of this database is already sealed")

// SealedEvidence is the result of [SealEvidence].
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
// fault. SealEvidence returns [ErrSealed] if the database is already sealed, and [base.ErrRecordGone] if somebody has
// removed the record. Servers of this version may run meanwhile, and an interrupted run can be repeated.
func SealEvidence(ctx context.Context, db *base.DB, replay Replay) (SealedEvidence, error) {
	var out SealedEvidence
	switch _, err := db.EvidenceRecord(ctx, db.Querier()); {
	case err == nil:
		return out, ErrSealed
	case !errors.Is(err, base.ErrNotSealed):
		return out, db.Classify(err)
	}
	if sealed, err := db.RemembersEvidence(ctx); err != nil {
		return out, err
	} else if sealed {
		return out, base.ErrRecordGone
	}
	tenants, err := db.Tenants(ctx)
	if err != nil {
		return out, err
	}
	for _, t := range tenants {
		if err := sealEvidence(ctx, t, replay, &out); err != nil {
			return out, err
		}
	}
	err = db.Write(ctx, "record evidence", func(ctx context.Context, t *base.Tx) error {
		if err := t.RecordEvidence(ctx); err != nil {
			return err
		}
		return t.Audit(base.Act{Name: "evidence.seal", SubjectType: "database",
			Details: map[string]string{"sealed": strconv.Itoa(out.Sealed), "faults": strconv.Itoa(len(out.Faults))}})
	})
	if err != nil {
		return out, err
	}
	return out, db.RememberEvidence(ctx)
}

// sealEvidence seals the evidence of one tenant.
func sealEvidence(ctx context.Context, t *base.Tenant, replay Replay, out *SealedEvidence) error {
	var missing int64
	for _, s := range subjects() {
		for after := []byte{}; ; {
			ids, err := base.Collect(ctx, t.DB().Querier(), base.ScanValue[base.ID], s.page, t.ID(), after, sealBatch)
			if err != nil {
				return t.DB().Classify(err)
			}
			if len(ids) == 0 {
				break
			}
			after = ids[len(ids)-1][:]
			done, gone, err := sealSubjects(ctx, t, replay, s, ids)
			if err != nil {
				return err
			}
			out.Sealed, out.Faults, missing = out.Sealed+done.Sealed, append(out.Faults, done.Faults...), missing+gone
		}
	}
	return sealEvents(ctx, t, missing)
}

// sealSubjects seals a batch in one transaction. missing is the number of events that the chains name and that were
// removed.
func sealSubjects(ctx context.Context, t *base.Tenant, replay Replay, s subject,
	ids []base.ID) (done SealedEvidence, missing int64, err error) {
	err = t.DB().Write(ctx, "seal evidence", func(ctx context.Context, tx *base.Tx) (err error) {
		done, missing = SealedEvidence{}, 0
		v := &verification{t: t, q: tx, replay: replay, accept: true}
		if v.removed, err = t.DB().EventsRemoved(ctx, tx); err != nil {
			return err
		}
		for _, id := range ids {
			v.missing, v.unnamed = 0, nil
			sealed, err := s.accept(v, ctx, tx, id)
			if err != nil {
				return err
			}
			done.Sealed += int(base.Flag(sealed))
			missing += v.missing
		}
		done.Faults = v.out.Faults
		return nil
	})
	return done, missing, err
}

// sealEvents seals the number of a tenant's events, and how many of them were removed and are not named by a chain.
// missing is the number of those that are named and were removed.
func sealEvents(ctx context.Context, t *base.Tenant, missing int64) error {
	return t.DB().Write(ctx, "seal events", func(ctx context.Context, tx *base.Tx) error {
		var emitted, here int64
		if err := tx.QueryRowContext(ctx, `select events from tenants where id = $1`+t.DB().Dialect().ForUpdate(),
			t.ID()).Scan(&emitted); err != nil {
			return err
		}
		if err := tx.QueryRowContext(ctx, `select count(*) from events where tenant_id = $1`, t.ID()).Scan(&here); err != nil {
			return err
		}
		if emitted == 0 {
			return nil
		}
		sealed, err := base.Seal{ChainEnd: base.ChainEnd{Count: emitted}, Subject: formatCount(emitted - here - missing),
			History: base.SealFound}.Sealed(t.DB().Sealer(), base.EventsSealBinding(t.ID()))
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `update tenants set events_seal = $2 where id = $1`, t.ID(), sealed)
		return err
	})
}

// sealSubmission seals a submission as it is found, unless it has a fault or is already sealed.
func (v *verification) sealSubmission(ctx context.Context, tx *base.Tx, id base.ID) (bool, error) {
	t := v.t
	var invoiceID base.ID
	if err := tx.QueryRowContext(ctx, `select invoice_id from submissions where tenant_id = $1 and id = $2`,
		t.ID(), id).Scan(&invoiceID); err != nil {
		return false, base.IgnoreMissing(err)
	}
	if err := invoices.LockInvoice(ctx, t, tx, invoiceID); err != nil && !errors.Is(err, sql.ErrNoRows) {
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
	s, malformed, err := proveSubmission(ctx, t, tx, id)
	if err = errors.Join(malformed, err); err != nil {
		return false, err
	}
	before, form, err := base.OpenSeal(t.DB().Sealer(), s.Sealed, base.SubmissionSealBinding(t.ID(), id))
	if err != nil {
		return false, err
	}
	document := sha256.Sum256(s.document)
	if form == base.SealWhole && before.History&base.SealAltered == 0 && before.Row == s.Row() &&
		before.Subject == document &&
		v.unnamed == nil {
		return false, nil
	}
	s.EarlierEvents = append(s.EarlierEvents, v.unnamed...)
	if !s.BegunAt.Valid {
		s.BegunAt = sql.Null[int64]{V: base.Micros(s.AttemptedAt), Valid: true}
	}
	if err := invoices.SealAs(t, &s.Submission, base.Seal{Subject: document, History: base.SealFound}); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx,
		`update submissions set earlier_events = $3, begun_at = $4, evidence_seal = $5 where tenant_id = $1 and id = $2`,
		t.ID(), id, s.EarlierEvents, s.BegunAt, s.Sealed)
	return err == nil, err
}

// sealIncoming seals an incoming e-invoice as it is found, unless it has a fault or is already sealed.
func (v *verification) sealIncoming(ctx context.Context, tx *base.Tx, id base.ID) (bool, error) {
	t := v.t
	var tenant base.ID
	if err := tx.QueryRowContext(ctx, `select id from tenants where id = $1`+t.DB().Dialect().ForUpdate(),
		t.ID()).Scan(&tenant); err != nil {
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
	i, err := incoming.ScanIncomingRow(tx.QueryRowContext(ctx,
		`select `+incoming.IncomingColumns+` from incoming where tenant_id = $1 and id = $2`, t.ID(), id))
	if err != nil {
		return false, base.IgnoreMissing(err)
	}
	before, form, err := base.OpenSeal(t.DB().Sealer(), i.Sealed, base.IncomingSealBinding(t.ID(), id))
	if err != nil {
		return false, err
	}
	if form == base.SealWhole && before.History&base.SealAltered == 0 && before.Row == i.AsRead().Row && v.unnamed == nil {
		return false, nil
	}
	i.EarlierEvents = append(i.EarlierEvents, v.unnamed...)
	if err := incoming.SealIncoming(t, &i, base.Seal{History: base.SealFound}); err != nil {
		return false, err
	}
	_, err = tx.Exec(ctx, `update incoming set earlier_events = $3, seal = $4 where tenant_id = $1 and id = $2`, t.ID(),
		id, i.EarlierEvents, i.Sealed)
	return err == nil, err
}
