package proof

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// anchorFormat names the format of an entry of an anchor file.
const anchorFormat = "quittance-anchor-v1"

// anchorEntry is a line of an anchor file: the ends of all chains of a database at one time, as one digest for each
// tenant. It is signed, and chained to the previous line. Its size depends only on the number of companies.
type anchorEntry struct {
	Format string `json:"format"`
	// At is the time of the entry. The digests cover everything that was retained before it.
	At time.Time `json:"at"`
	// Previous is the SHA-256 digest of the previous line; zeros in the first line.
	Previous hexDigest      `json:"previous"`
	Tenants  []anchorTenant `json:"tenants"`
	// Audit covers the audit log of all accounts.
	Audit     anchorAudit `json:"audit"`
	PublicKey hexBytes    `json:"public_key"`
	// Signature signs the line with zeros in place of the signature.
	Signature hexBytes `json:"signature"`
}

// anchorTenant is the evidence of a company at the time of an anchor.
type anchorTenant struct {
	ID          base.ID `json:"id"`
	Submissions int64   `json:"submissions"`
	Incoming    int64   `json:"incoming"`
	// Entries is the number of retained responses and revisions.
	Entries int64     `json:"entries"`
	Head    hexDigest `json:"head"`
}

// anchorAudit is the audit log at the time of an anchor.
type anchorAudit struct {
	Entries int64     `json:"entries"`
	Head    hexDigest `json:"head"`
}

// text returns the line of an entry, without the line feed.
func (a *anchorEntry) text() ([]byte, error) { return json.Marshal(a) }

// signedText returns the line with zeros in place of the signature.
func (a *anchorEntry) signedText() ([]byte, error) {
	plain := *a
	plain.Signature = make(hexBytes, ed25519.SignatureSize)
	return plain.text()
}

// Anchors is the content of an anchor file.
type Anchors struct {
	// Entries is the number of entries, and At the time of the last; zero without entries.
	Entries int
	At      time.Time

	last *anchorEntry
	sum  [32]byte // of the last line
}

// The errors of an anchor file.
var (
	// ErrAnchorTorn says that the last line of an anchor file is incomplete, because writing it was interrupted.
	ErrAnchorTorn = errors.New("the last line of the anchor file is incomplete: remove it")
	errAnchor     = errors.New("it is not an entry of an anchor file of this database")
)

// ReadAnchors reads an anchor file. It verifies the signature of every entry, and that each follows the previous one.
func ReadAnchors(ctx context.Context, db *base.DB, file []byte) (Anchors, error) {
	var out Anchors
	if len(file) == 0 {
		return out, nil
	}
	record, err := db.EvidenceRecord(ctx, db.Querier())
	if err != nil {
		return out, db.Classify(err)
	}
	public := record.PublicKey()
	if file[len(file)-1] != '\n' {
		return out, ErrAnchorTorn
	}
	for line := range bytes.Lines(file) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		var entry anchorEntry
		err := json.Unmarshal(line, &entry)
		again, textErr := entry.text()
		signed, signedErr := entry.signedText()
		out.Entries++
		if err != nil || textErr != nil || signedErr != nil || !bytes.Equal(again, line) || entry.Format != anchorFormat ||
			entry.Previous != hexDigest(out.sum) ||
			!public.Equal(ed25519.PublicKey(entry.PublicKey)) || !ed25519.Verify(public, signed, entry.Signature) {
			return out, fmt.Errorf("line %d: %w", out.Entries, errAnchor)
		}
		out.At, out.last, out.sum = entry.At, &entry, sha256.Sum256(line)
	}
	return out, nil
}

// Anchor returns the next line of an anchor file, with its line feed. On PostgreSQL it leaves the additions of the last
// half minute to the next line, because their transactions may not be committed yet.
func Anchor(ctx context.Context, db *base.DB, after Anchors) ([]byte, error) {
	ctx = sqldb.WithoutQueryDeadline(ctx)
	record, err := db.EvidenceRecord(ctx, db.Querier())
	if err != nil {
		return nil, db.Classify(err)
	}
	public := record.PublicKey()
	entry := anchorEntry{Format: anchorFormat, Previous: after.sum, PublicKey: hexBytes(public), Tenants: []anchorTenant{}}
	if entry.At, err = anchorMoment(ctx, db); err != nil {
		return nil, err
	}
	tenants, err := db.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	for _, t := range tenants {
		anchored, err := anchored(ctx, t, db.Querier(), entry.At)
		if err != nil {
			return nil, db.Classify(err)
		}
		entry.Tenants = append(entry.Tenants, anchored)
	}
	if entry.Audit, err = anchoredAudit(ctx, db.Querier(), entry.At); err != nil {
		return nil, db.Classify(err)
	}
	signed, err := entry.signedText()
	if err != nil {
		return nil, err
	}
	entry.Signature = ed25519.Sign(record.Key, signed)
	line, err := entry.text()
	return append(line, '\n'), err
}

// anchorMoment returns a time such that all transactions from before it are committed.
func anchorMoment(ctx context.Context, db *base.DB) (at time.Time, err error) {
	if !db.SingleServer() {
		return db.Now().Add(-base.WriteTimeout - 5*time.Second), nil
	}
	// There is one writer at a time, so everything from before this write is committed.
	err = db.Write(ctx, "anchor", func(_ context.Context, t *base.Tx) error {
		at = t.Now()
		return nil
	})
	return at, err
}

// anchored returns the evidence of a tenant from before a time. It depends only on values that never change, so it
// always returns the same.
func anchored(ctx context.Context, t *base.Tenant, q base.Querier, at time.Time) (anchorTenant, error) {
	out := anchorTenant{ID: t.ID()}
	hash := base.NewDigester("quittance/anchor/v1")
	hash.Field(out.ID[:])
	for _, chains := range []struct {
		query string
		count *int64
	}{
		{`select s.id, e.ordinal, e.digest, case when s.resolved_decision = 'reject' then s.resolved_at end from submissions s left join evidence e on e.tenant_id = s.tenant_id and e.submission_id = s.id
			and e.ordinal = (select max(m.ordinal) from evidence m where m.tenant_id = s.tenant_id and m.submission_id = s.id and m.received_at < $2)
			where s.tenant_id = $1 and coalesce(s.begun_at, s.attempted_at) < $2 order by s.id`, &out.Submissions},
		{`select i.id, r.revision, r.digest, cast(null as bigint) from incoming i left join revisions r on r.tenant_id = i.tenant_id and r.incoming_id = i.id
			and r.revision = (select max(m.revision) from revisions m where m.tenant_id = i.tenant_id and m.incoming_id = i.id and m.retained_at < $2)
			where i.tenant_id = $1 and i.created_at < $2 order by i.id`, &out.Incoming},
	} {
		if err := anchorChains(ctx, t, q, chains.query, at, &out, chains.count, hash); err != nil {
			return out, err
		}
	}
	out.Head = hash.Sum()
	return out, nil
}

func anchorChains(ctx context.Context, t *base.Tenant, q base.Querier, query string, at time.Time,
	out *anchorTenant, count *int64, hash base.Digester) (err error) {
	rows, err := q.QueryContext(ctx, query, t.ID(), base.Micros(at))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var id, head []byte
		var entries, resolved *int64
		if err := rows.Scan(&id, &entries, &head, &resolved); err != nil {
			return err
		}
		if resolved != nil && *resolved >= base.Micros(at) {
			resolved = nil // the decision is later than the anchor
		}
		*count++
		if entries != nil {
			out.Entries += *entries
		}
		hash.Field(id)
		hash.OptionalNumber(entries)
		hash.Field(head)
		hash.OptionalNumber(resolved)
	}
	return rows.Err()
}

// anchoredAudit returns the audit log from before a time; see [anchored].
func anchoredAudit(ctx context.Context, q base.Querier, at time.Time) (out anchorAudit, err error) {
	rows, err := q.QueryContext(ctx, `select chain, ordinal, digest from audit where at < $1 order by chain, ordinal`,
		base.Micros(at))
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	hash := base.NewDigester("quittance/anchor/audit/v1")
	for rows.Next() {
		var chain, digest []byte
		var ordinal int64
		if err := rows.Scan(&chain, &ordinal, &digest); err != nil {
			return out, err
		}
		hash.Field(chain)
		hash.Number(ordinal)
		hash.Field(digest)
		out.Entries++
	}
	out.Head = hash.Sum()
	return out, rows.Err()
}

// VerifyAnchor compares the database with the last entry of an anchor file: everything that it covers must still be
// there. This detects a database that was restored to an earlier state, and removed submissions and incoming
// e-invoices.
func VerifyAnchor(ctx context.Context, db *base.DB, anchors Anchors) ([]EvidenceError, error) {
	return verifyAnchor(ctx, db, db.Querier(), anchors)
}

func verifyAnchor(ctx context.Context, db *base.DB, q base.Querier, anchors Anchors) ([]EvidenceError, error) {
	if anchors.last == nil {
		return nil, nil
	}
	ctx = sqldb.WithoutQueryDeadline(ctx)
	var faults []EvidenceError
	for _, want := range anchors.last.Tenants {
		t := db.TenantOf(want.ID, base.ID{})
		got, err := anchored(ctx, t, q, anchors.At)
		if err != nil {
			return nil, db.Classify(err)
		}
		if got != want {
			faults = append(faults, EvidenceError{Tenant: want.ID, Kind: KindTenant, Of: want.ID, Field: "anchor",
				What: fmt.Sprintf(
					"at %s it held %d submissions and %d incoming e-invoices with %d entries; of these %d, %d and %d are here, or they are others",
					anchors.At.Format(time.RFC3339), want.Submissions, want.Incoming, want.Entries, got.Submissions, got.Incoming,
					got.Entries)})
		}
	}
	audit, err := anchoredAudit(ctx, q, anchors.At)
	if err != nil {
		return nil, db.Classify(err)
	}
	if want := anchors.last.Audit; audit != want {
		faults = append(faults, EvidenceError{Kind: kindAudit, Field: "anchor",
			What: fmt.Sprintf("at %s it held %d entries; of these %d are here, or they are others",
				anchors.At.Format(time.RFC3339), want.Entries, audit.Entries)})
	}
	return faults, nil
}
