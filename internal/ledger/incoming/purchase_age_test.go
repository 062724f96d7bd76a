package incoming_test

import (
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestOldestPurchaseSync: of the active connections, the one that has waited longest for a complete sync counts, since
// it was added if it has had none.
func TestOldestPurchaseSync(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		want := func(at time.Time) {
			t.Helper()
			if got, err := incoming.OldestPurchaseSync(ctx, f.DB); err != nil || !got.Equal(at) {
				t.Errorf("the oldest is of %s, %v; want %s", got, err, at)
			}
		}
		connections, err := invoices.Connections(ctx, f.DB, nil)
		kit.Must(t, err)
		syncAll := func(at time.Time, except base.ID) {
			t.Helper()
			for _, c := range connections {
				if c.ID != except {
					f.Exec(t, `update purchase_syncs set synced_at = $1 where connection_id = $2`, at.UnixMicro(), c.ID)
				}
			}
		}
		lease := f.MustClaim(t)
		synced := f.Clock.Advance(time.Hour)
		fixture.Retain(t, lease, incoming.SyncStep{After: time.Minute, Complete: true})
		f.Clock.Advance(time.Hour)
		syncAll(f.Clock.Now(), f.Connection.ID)
		want(synced)
		fixture.Retain(t, f.MustClaim(t), incoming.SyncStep{After: time.Minute}) // without an end
		want(synced)
		added := f.NewCompany(t, "late@example.com").Connection.CreatedAt
		want(synced)
		syncAll(f.Clock.Advance(time.Hour), base.ID{})
		want(added) // it has had none
		connections, err = invoices.Connections(ctx, f.DB, nil)
		kit.Must(t, err)
		for _, c := range connections {
			_, err := invoices.DisableConnection(ctx, f.DB, c.ID)
			kit.Must(t, err)
		}
		_, err = incoming.OldestPurchaseSync(ctx, f.DB)
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}
