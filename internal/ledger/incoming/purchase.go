package incoming

import (
	"context"
	"database/sql"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
)

// RevisionBinding is where a sealed column of a revision stands.
func RevisionBinding(tenant, incoming base.ID, revision int64, column string) secret.Binding {
	row := binary.BigEndian.AppendUint64(incoming[:], uint64(revision)) //nolint:gosec // revisions count from 1
	return secret.Binding{Tenant: tenant[:], Table: "revisions", Column: column, Row: row}
}

// DuePurchaseQueues makes one step of a scan for connections whose purchase sync is due. Every active connection has a
// row, and most are due later, so this scan goes in the order of time.
func DuePurchaseQueues(ctx context.Context, db *base.DB, from base.ScanCursor) (base.DueScan, error) {
	return db.ScanQueues(ctx, func(row base.Row) (base.DueQueue, error) {
		var account, id base.ID
		var r base.DueQueue
		err := row.Scan(&account, &id, &r.Due)
		r.Queue, r.Cursor = db.AccountQueue(account, id), base.ScanCursor{DueAt: r.Due.V, Company: account}
		return r, err
	}, `select account_id, connection_id, due_at from purchase_syncs where due_at >= $1 and (due_at > $1 or account_id > $2)
		order by due_at, account_id limit $3`, from.DueAt, from.Company[:], base.MaxCompaniesPerScan)
}

// PurchaseLease is the exclusive right to query a connection for purchase documents, until the lease expires, and where
// the purchase sync stands.
type PurchaseLease struct {
	// Tenant gets the documents.
	Tenant     *base.Tenant
	Connection invoices.Connection
	// Cursor is the provider's own text for where to go on; "" is the beginning.
	Cursor string
	// Failures counts the runs in a row in which a document behind the cursor could not be fetched and none was gained.
	Failures int
	// Wait is how long was waited after trouble the last time, 0 when there was none.
	Wait time.Duration

	fencingToken int64
}

// ClaimPurchases claims the purchase sync of a connection for the duration; it returns none if the sync is not due.
func ClaimPurchases(ctx context.Context, q base.Queue, duration time.Duration) ([]PurchaseLease, error) {
	if q.DB() == nil {
		return nil, base.ErrNoTenant
	}
	var leases []PurchaseLease
	err := q.DB().Write(ctx, "claim purchases", func(ctx context.Context, tx *base.Tx) error {
		leases = nil
		now := tx.Now()
		rows, err := base.Collect(ctx, tx, func(row base.Row) (PurchaseLease, error) {
			var l PurchaseLease
			var cursor []byte
			var wait int64
			err := row.Scan(&cursor, &l.Failures, &wait, &l.fencingToken)
			l.Cursor, l.Wait = string(cursor), time.Duration(wait)*time.Microsecond
			return l, err
		}, `update purchase_syncs set lease = lease + 1, due_at = $4
			where account_id = $1 and connection_id = $2 and due_at <= $3 returning cursor, failures, wait, lease`,
			q.Account(), q.Key(), base.Micros(now), base.Micros(now.Add(duration)))
		if err != nil || len(rows) == 0 {
			return err
		}
		lease := rows[0]
		if lease.Connection, err = invoices.ScanConnection(tx.QueryRowContext(ctx, `select `+invoices.ConnectionColumns+
			` from connections where account_id = $1 and id = $2`, q.Account(), q.Key())); err != nil {
			return err
		}
		if lease.Tenant, err = q.DB().CurrentTenant(ctx, tx, q.Account()); err != nil {
			return err
		}
		leases = []PurchaseLease{lease}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return leases, nil
}

// SyncStep is where a purchase sync stands after what was retained.
type SyncStep struct {
	// Cursor, Failures and Wait replace those of the lease.
	Cursor   string
	Failures int
	Wait     time.Duration
	// After is when to go on. Hold renews the lease until then; otherwise the lease is released and the sync is due then.
	After time.Duration
	Hold  bool
	// Complete says that the provider has nothing more for now.
	Complete bool
	// Event is the provider's event that is retained in this step; "" if there is none.
	Event string
}

// RetainPurchases retains what is new among documents, records the events and moves the sync on, in one transaction. It
// returns the lease as it is then and how many documents and revisions were new. [base.ErrLeaseLost] says that the sync
// was claimed again, its connection disabled or its tenant frozen since: nothing was written.
func (l PurchaseLease) RetainPurchases(ctx context.Context, docs []NewIncoming,
	step SyncStep) (after PurchaseLease, stored int, err error) {
	t := l.Tenant
	err = t.Write(ctx, "retain purchases", func(ctx context.Context, tx *base.Tx) error {
		var err error
		if after, err = l.move(ctx, tx, step); err != nil {
			return err
		}
		stored, err = retainAll(ctx, t, tx, docs)
		return err
	})
	if errors.Is(err, base.ErrNotFound) { // the tenant was frozen: its leases are void
		err = base.ErrLeaseLost
	}
	return after, stored, err
}

// move moves the sync on. It returns [base.ErrLeaseLost] if the lease is lost.
func (l PurchaseLease) move(ctx context.Context, tx *base.Tx, step SyncStep) (after PurchaseLease, err error) {
	now := tx.Now()
	after = l
	after.Cursor, after.Failures, after.Wait = step.Cursor, step.Failures, step.Wait
	if !step.Hold {
		after.fencingToken++ // the lease is released: a second step under it finds it lost
	}
	var synced any
	if step.Complete {
		synced = base.Micros(now)
	}
	changed, err := tx.Exec(ctx, `update purchase_syncs set cursor = $4, failures = $5, wait = $6, due_at = $7, lease = $8,
			synced_at = coalesce(cast($9 as bigint), synced_at)
		where account_id = $1 and connection_id = $2 and lease = $3`, l.Connection.Account, l.Connection.ID, l.fencingToken,
		[]byte(step.Cursor), step.Failures, step.Wait.Microseconds(), base.Micros(now.Add(step.After)),
		after.fencingToken, synced)
	switch {
	case err != nil:
		return after, err
	case changed == 0:
		return after, base.ErrLeaseLost
	case step.Event == "":
		return after, nil
	}
	return after, insertProviderEvent(ctx, tx, &l, step.Event)
}

// OldestPurchaseSync returns when the active connection that has waited longest for a complete purchase sync has had
// its last one, or was added if it has had none; [base.ErrNotFound] if no connection is active.
func OldestPurchaseSync(ctx context.Context, db *base.DB) (time.Time, error) {
	var oldest sql.Null[int64]
	// The columns are those of an index, whose ends answer the first part; few connections are in the second part.
	err := db.Querier().QueryRowContext(ctx, `select min(synced) from (
			select (select min(synced_at) from purchase_syncs where due_at is not null and synced_at is not null) as synced
			union all
			select min(c.created_at) from purchase_syncs s join connections c on c.account_id = s.account_id and c.id = s.connection_id
				where s.due_at is not null and s.synced_at is null) times`).Scan(&oldest)
	switch {
	case err != nil:
		return time.Time{}, db.Classify(err)
	case !oldest.Valid:
		return time.Time{}, base.ErrNotFound
	}
	return base.Instant(oldest.V), nil
}

// Known returns, of the given provider document ids, those that are retained in the bytes that the provider announces,
// if it announces any, each with the digest of the metadata of its latest revision.
func (l PurchaseLease) Known(ctx context.Context, ids []string) (map[string][32]byte, error) {
	t := l.Tenant
	known := make(map[string][32]byte, len(ids))
	err := t.Read(func(q base.Querier) error {
		for _, id := range ids {
			found, err := base.Collect(ctx, q, func(row base.Row) (Revision, error) { return ScanRevision(row) },
				`select `+RevisionColumns+FromRevisions+`i.provider_document_id = $2 and r.revision = i.revision`, t.ID(), id)
			if err != nil {
				return err
			}
			for _, r := range found {
				if !r.Retained || r.ClaimedSHA256 == nil || *r.ClaimedSHA256 == hex.EncodeToString(r.SHA256[:]) {
					known[id] = r.MetadataSHA256
				}
			}
		}
		return nil
	})
	return known, err
}
