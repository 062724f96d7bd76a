package identity_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// wantNoNotification fails the test if a notification has arrived. It checks nothing where there can be replicas,
// because the database sends every notification to all of them, its sender included, with a delay.
func wantNoNotification(t *testing.T, f *fixture.Fixture, notified <-chan struct{}) {
	t.Helper()
	if !f.SingleServer() {
		return
	}
	select {
	case <-notified:
		t.Fatal("a notification without work")
	default:
	}
}

// TestNotifications: a commit that makes work due notifies the subscribers of that kind of work. Transactions that roll
// back, or make no work due, notify nobody.
func TestNotifications(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		deliveries, end := f.DB.Subscribe(base.WorkDeliveries)
		defer end()
		fixture.Record(t, call, fixture.AllFour("accepted", false), api.EventSubmissionUpdated)
		wantNoNotification(t, f, deliveries) // there is no webhook subscription
		f.Subscribe(t, api.EventStatusChanged)
		_, err := call.Record(t.Context(), func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision, error) {
			d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventStatusChanged)
			d.DueAt = nil
			return d, nil
		})
		kit.Must(t, err)
		kit.Receive(t, deliveries, "a notification of deliveries")
		wantNoNotification(t, f, deliveries)

		failing := errors.New("failing")
		_, err = call.Record(t.Context(), func(invoices.Submission, bool, time.Time) (invoices.Decision,
			error) {
			return invoices.Decision{}, failing
		})
		fixture.WantErr(t, err, failing)
		wantNoNotification(t, f, deliveries)

		submissions, endSubmissions := f.DB.Subscribe(base.WorkSubmissions)
		purchases, endPurchases := f.DB.Subscribe(base.WorkPurchases)
		defer endPurchases()
		_, err = invoices.ActivateConnection(t.Context(), f.DB, f.Connection.ID)
		kit.Must(t, err)
		kit.Receive(t, submissions, "a notification of submissions")
		kit.Receive(t, purchases, "a notification of purchases")
		endSubmissions()
		select {
		case <-submissions: // it came before the end
		default:
		}
		_, err = invoices.ActivateConnection(t.Context(), f.DB, f.Connection.ID)
		kit.Must(t, err)
		kit.Receive(t, purchases, "a notification of purchases")
		select {
		case <-submissions:
			t.Error("a notification arrived after the end of the subscription")
		default:
		}
	})
}

// TestNotificationsToReplicas: on PostgreSQL a commit also notifies other replicas, once they listen.
func TestNotificationsToReplicas(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		if f.SingleServer() {
			return // a database that one process serves has no replicas
		}
		replica := f.Again(t)
		notified, end := replica.Subscribe(base.WorkPurchases)
		defer end()
		kit.Until(t, "a notification of the replica", func() bool { // which begins to listen in its own time
			_, err := invoices.ActivateConnection(t.Context(), f.DB, f.Connection.ID)
			kit.Must(t, err)
			return len(notified) > 0
		})
	})
}

// TestEngineNames checks what the store reports about each engine.
func TestEngineNames(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		if want := map[string]bool{ledgertest.SQLite: true,
			ledgertest.Postgres: false}; f.SingleServer() != want[f.Engine()] ||
			(f.Path != "") != f.SingleServer() {
			t.Errorf("engine %q, exclusive %v", f.Engine(), f.SingleServer())
		}
		kit.Must(t, f.Ping(t.Context()))
		kit.Must(t, ledger.Migrate(t.Context(), f.DB)) // again
	})
}
