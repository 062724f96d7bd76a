package invoices_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestReset checks that the account gets a new tenant, and that nothing of the old one can be accessed or sent any
// more, or is lost. Users, profile and connection stay.
func TestReset(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 2)
		call := f.Submit(t, "INV-OPEN")
		digest := f.Token(t, 1, time.Hour)
		inFlight := f.ClaimDeliveries(t, s.ID, 1)[0]

		fresh, err := invoices.ResetTenant(t.Context(), f.DB, f.Account.ID)
		kit.Must(t, err)
		if fresh.ID() == f.Tenant.ID() || fresh.Account() != f.Account.ID {
			t.Error("the tenant is not a new one of the account")
		}
		_, err = f.Authenticate(t.Context(), digest)
		fixture.WantErr(t, err, base.ErrNotFound)
		f.Clock.Advance(48 * time.Hour)
		if _, due := f.DeliveryQueue(t, s.ID); due {
			t.Error("a delivery of the old tenant is due")
		}
		if _, due := f.SubmissionQueue(t, f.Connection.ID); due {
			t.Error("a submission of the old tenant is due")
		}
		// Results of work in progress are still recorded, and start nothing.
		fixture.WantErr(t, inFlight.RecordAttempt(t.Context(), fixture.Attempt(f, 200),
			events.DeliveryUpdate{State: events.DeliveryDelivered}), base.ErrLeaseLost)
		if after := fixture.Record(t, call, fixture.AllFour("accepted", false), api.EventStatusChanged); after.DueAt != nil ||
			after.Evidence != 1 {
			t.Errorf("after a late response: %+v", after)
		}
		if _, due := f.DeliveryQueue(t, s.ID); due {
			t.Error("a late response made a delivery due")
		}
		if _, err := invoices.Create(t.Context(), f.Tenant, fixture.Draft("INV-LATE")); err == nil {
			t.Error("the frozen tenant accepted a draft")
		}
		page, err := view.Of(fresh).Invoices(t.Context(), view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if page.Total != 0 {
			t.Errorf("the fresh tenant has %d invoices", page.Total)
		}
		connections, err := invoices.Connections(t.Context(), f.DB, &f.Account.ID)
		kit.Must(t, err)
		if len(connections) != 1 || connections[0].State != invoices.ConnectionActive {
			t.Errorf("connections %+v", connections)
		}
		_, err = f.UserByEmail(t.Context(), "owner@example.com")
		kit.Must(t, err)
	})
}

// TestResetKeepsOutOfProduction checks that neither a production database nor an account with a production connection
// is reset.
func TestResetKeepsOutOfProduction(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		kit.Must(t, invoices.RecordEnvironment(t.Context(), f.DB, "sandbox"))
		kit.Must(t, invoices.RecordEnvironment(t.Context(), f.DB, "local"))
		if err := invoices.RecordEnvironment(t.Context(), f.DB, "production"); err == nil {
			t.Error("a sandbox became production")
		}
		_, err := invoices.AddConnection(t.Context(), f.DB, f.Account.ID, invoices.NewConnection{Kind: "http",
			Environment: "production", BaseURL: fixture.ProviderURL, Credential: secret.New(fixture.Credential)})
		kit.Must(t, err)
		_, err = invoices.ResetTenant(t.Context(), f.DB, f.Account.ID)
		fixture.WantErr(t, err, invoices.ErrProductionConnection)
	})
}

// TestKeyRotation checks that a rotation reseals everything under the new key, that an interrupted one can be resumed,
// and that a store with the old keys reads the key file again.
func TestKeyRotation(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		s := f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 1)
		rotated := f.Rotated(t)
		reloads := 0
		again := *f.Store
		again.Options.ReloadKeys = func() (*secret.Keyring, error) { reloads++; return rotated, nil }
		old := again.Again(t)
		again.Options.Keys, again.Options.ReloadKeys = rotated, nil
		fresh := again.Again(t)

		resealed, err := ledger.Reseal(t.Context(), fresh)
		kit.Must(t, err)
		if resealed < 2 {
			t.Errorf("%d values were resealed", resealed)
		}
		if more, err := ledger.Reseal(t.Context(), fresh); err != nil || more != 0 {
			t.Errorf("reseal again: %d, %v", more, err)
		}
		connection, err := invoices.FindConnection(t.Context(), old, f.Connection.ID)
		kit.Must(t, err)
		text, err := invoices.Credential(old, connection)
		if err != nil || text.Reveal() != fixture.Credential || reloads != 1 {
			t.Errorf("the store with the old keys: %v after %d reloads", err, reloads)
		}
		scan, err := events.DueDeliveryQueues(t.Context(), fresh, base.ScanCursor{})
		kit.Must(t, err)
		queue, due := fixture.FindQueue(scan.Queues, s.ID)
		if !due {
			t.Fatal("no delivery is due")
		}
		claimed, err := events.ClaimDeliveries(t.Context(), queue, 1, fixture.LeaseDuration)
		if err != nil || claimed[0].Secret.Reveal() != fixture.SigningSecret {
			t.Errorf("the signing secret does not open: %v", err)
		}
		if _, err := invoices.Credential(f.DB, connection); !errors.Is(err, secret.ErrUnknownKey) {
			t.Errorf("without a function that reads the keys again: %v", err)
		}
	})
}
