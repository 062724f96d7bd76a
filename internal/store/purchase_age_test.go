package store_test

import (
	"testing"
	"time"

	"quittance/internal/store"
	"quittance/test/kit"
)

// TestOldestPurchaseSync: of the active connections, the one that has waited longest for a complete sync counts, since
// it was added if it has had none.
func TestOldestPurchaseSync(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		want := func(at time.Time) {
			t.Helper()
			if got, err := f.OldestPurchaseSync(ctx); err != nil || !got.Equal(at) {
				t.Errorf("the oldest is of %s, %v; want %s", got, err, at)
			}
		}
		connections, err := f.Connections(ctx, nil)
		kit.Must(t, err)
		syncAll := func(at time.Time, except store.ID) {
			t.Helper()
			for _, c := range connections {
				if c.ID != except {
					f.exec(t, `update purchase_syncs set synced_at = $1 where connection_id = $2`, at.UnixMicro(), c.ID)
				}
			}
		}
		lease := f.mustClaim(t)
		synced := f.Clock.Advance(time.Hour)
		retain(t, lease, store.SyncStep{After: time.Minute, Complete: true})
		f.Clock.Advance(time.Hour)
		syncAll(f.Clock.Now(), f.connection.ID)
		want(synced)
		retain(t, f.mustClaim(t), store.SyncStep{After: time.Minute}) // without an end
		want(synced)
		added := f.newCompany(t, "late@example.com").connection.CreatedAt
		want(synced)
		syncAll(f.Clock.Advance(time.Hour), store.ID{})
		want(added) // it has had none
		connections, err = f.Connections(ctx, nil)
		kit.Must(t, err)
		for _, c := range connections {
			_, err := f.DisableConnection(ctx, c.ID)
			kit.Must(t, err)
		}
		_, err = f.OldestPurchaseSync(ctx)
		wantErr(t, err, store.ErrNotFound)
	})
}
