package store_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestReset checks that the account gets a new tenant, and that nothing of the old one can be accessed or sent any
// more, or is lost. Users, profile and connection stay.
func TestReset(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 2)
		call := f.submit(t, "INV-OPEN")
		digest := f.token(t, 1, time.Hour)
		inFlight := f.claimDeliveries(t, s.ID, 1)[0]

		fresh, err := f.ResetTenant(t.Context(), f.account.ID)
		kit.Must(t, err)
		if fresh.Key() == f.tenant.Key() || fresh.Account() != f.account.ID {
			t.Error("the tenant is not a new one of the account")
		}
		_, err = f.Authenticate(t.Context(), digest)
		wantErr(t, err, store.ErrNotFound)
		f.Clock.Advance(48 * time.Hour)
		if _, due := f.deliveryQueue(t, s.ID); due {
			t.Error("a delivery of the old tenant is due")
		}
		if _, due := f.submissionQueue(t, f.connection.ID); due {
			t.Error("a submission of the old tenant is due")
		}
		// Results of work in progress are still recorded, and start nothing.
		wantErr(t, inFlight.RecordAttempt(t.Context(), attempt(f, 200), store.DeliveryUpdate{State: store.DeliveryDelivered}),
			store.ErrLeaseLost)
		if after := record(t, call, allFour("accepted", false), api.EventStatusChanged); after.DueAt != nil ||
			after.Evidence != 1 {
			t.Errorf("after a late response: %+v", after)
		}
		if _, due := f.deliveryQueue(t, s.ID); due {
			t.Error("a late response made a delivery due")
		}
		if _, err := f.tenant.CreateInvoice(t.Context(), draft("INV-LATE")); err == nil {
			t.Error("the frozen tenant accepted a draft")
		}
		page, err := view.Of(fresh).Invoices(t.Context(), view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if page.Total != 0 {
			t.Errorf("the fresh tenant has %d invoices", page.Total)
		}
		connections, err := f.Connections(t.Context(), &f.account.ID)
		kit.Must(t, err)
		if len(connections) != 1 || connections[0].State != store.ConnectionActive {
			t.Errorf("connections %+v", connections)
		}
		_, err = f.UserByEmail(t.Context(), "owner@example.com")
		kit.Must(t, err)
	})
}

// TestResetKeepsOutOfProduction checks that neither a production database nor an account with a production connection
// is reset.
func TestResetKeepsOutOfProduction(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		kit.Must(t, f.RecordEnvironment(t.Context(), "sandbox"))
		kit.Must(t, f.RecordEnvironment(t.Context(), "local"))
		if err := f.RecordEnvironment(t.Context(), "production"); err == nil {
			t.Error("a sandbox became production")
		}
		_, err := f.AddConnection(t.Context(), f.account.ID, store.NewConnection{Kind: "http", Environment: "production",
			BaseURL: providerURL, Credential: secret.New(credential)})
		kit.Must(t, err)
		_, err = f.ResetTenant(t.Context(), f.account.ID)
		wantErr(t, err, store.ErrProductionConnection)
	})
}

// TestKeyRotation checks that a rotation reseals everything under the new key, that an interrupted one can be resumed,
// and that a store with the old keys reads the key file again.
func TestKeyRotation(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 1)
		rotated := f.Rotated(t)
		reloads := 0
		again := *f.Store
		again.Options.ReloadKeys = func() (*secret.Keyring, error) { reloads++; return rotated, nil }
		old := again.Again(t)
		again.Options.Keys, again.Options.ReloadKeys = rotated, nil
		fresh := again.Again(t)

		resealed, err := fresh.Reseal(t.Context())
		kit.Must(t, err)
		if resealed < 2 {
			t.Errorf("%d values were resealed", resealed)
		}
		if more, err := fresh.Reseal(t.Context()); err != nil || more != 0 {
			t.Errorf("reseal again: %d, %v", more, err)
		}
		connection, err := old.Connection(t.Context(), f.connection.ID)
		kit.Must(t, err)
		text, err := old.Credential(connection)
		if err != nil || text.Reveal() != credential || reloads != 1 {
			t.Errorf("the store with the old keys: %v after %d reloads", err, reloads)
		}
		scan, err := fresh.DueDeliveryQueues(t.Context(), store.ScanCursor{})
		kit.Must(t, err)
		queue, due := findQueue(scan.Queues, s.ID)
		if !due {
			t.Fatal("no delivery is due")
		}
		claimed, err := queue.ClaimDeliveries(t.Context(), 1, leaseDuration)
		if err != nil || claimed[0].Secret.Reveal() != signingSecret {
			t.Errorf("the signing secret does not open: %v", err)
		}
		if _, err := f.Credential(connection); !errors.Is(err, secret.ErrUnknownKey) {
			t.Errorf("without a function that reads the keys again: %v", err)
		}
	})
}
