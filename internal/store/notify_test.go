package store_test

import (
	"errors"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
	"quittance/test/storetest"
)

// wantNoNotification fails the test if a notification has arrived. It checks nothing where there can be replicas,
// because the database sends every notification to all of them, its sender included, with a delay.
func (f *fixture) wantNoNotification(t *testing.T, notified <-chan struct{}) {
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		deliveries, end := f.Subscribe(store.WorkDeliveries)
		defer end()
		record(t, call, allFour("accepted", false), api.EventSubmissionUpdated)
		f.wantNoNotification(t, deliveries) // there is no webhook subscription
		f.subscribe(t, api.EventStatusChanged)
		_, err := call.Record(t.Context(), func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
			d := reported(s, now, allFour("accepted", true), api.EventStatusChanged)
			d.DueAt = nil
			return d, nil
		})
		kit.Must(t, err)
		kit.Receive(t, deliveries, "a notification of deliveries")
		f.wantNoNotification(t, deliveries)

		failing := errors.New("failing")
		_, err = call.Record(t.Context(), func(store.Submission, bool, time.Time) (store.Decision,
			error) {
			return store.Decision{}, failing
		})
		wantErr(t, err, failing)
		f.wantNoNotification(t, deliveries)

		submissions, endSubmissions := f.Subscribe(store.WorkSubmissions)
		purchases, endPurchases := f.Subscribe(store.WorkPurchases)
		defer endPurchases()
		_, err = f.ActivateConnection(t.Context(), f.connection.ID)
		kit.Must(t, err)
		kit.Receive(t, submissions, "a notification of submissions")
		kit.Receive(t, purchases, "a notification of purchases")
		endSubmissions()
		select {
		case <-submissions: // it came before the end
		default:
		}
		_, err = f.ActivateConnection(t.Context(), f.connection.ID)
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		if f.SingleServer() {
			return // a database that one process serves has no replicas
		}
		replica := f.Again(t)
		notified, end := replica.Subscribe(store.WorkPurchases)
		defer end()
		kit.Until(t, "a notification of the replica", func() bool { // which begins to listen in its own time
			_, err := f.ActivateConnection(t.Context(), f.connection.ID)
			kit.Must(t, err)
			return len(notified) > 0
		})
	})
}

// TestEngineNames checks what the store reports about each engine.
func TestEngineNames(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		if want := map[string]bool{storetest.SQLite: true, storetest.Postgres: false}; f.SingleServer() != want[f.Engine()] ||
			(f.Path != "") != f.SingleServer() {
			t.Errorf("engine %q, exclusive %v", f.Engine(), f.SingleServer())
		}
		kit.Must(t, f.Ping(t.Context()))
		kit.Must(t, f.Migrate(t.Context())) // again
	})
}
