package store_test

import (
	"errors"
	"testing"
	"time"

	"quittance/api"
	"quittance/internal/store"
	"quittance/internal/store/storetest"
)

func woken(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	select {
	case <-wake:
	case <-short(t).Done():
		t.Fatal("nobody was woken")
	}
}

// asleep wants that nobody was woken. Where there are replicas, that cannot be seen: the database sends every wake back
// to all of them in its own time, also to the one it came from.
func (f *fixture) asleep(t *testing.T, wake <-chan struct{}) {
	t.Helper()
	if !f.SingleServer() {
		return
	}
	select {
	case <-wake:
		t.Fatal("woken without work")
	default:
	}
}

// TestWakes: a commit that causes work wakes who waits for that kind; what does not commit, or causes none, wakes nobody.
func TestWakes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		deliveries, end := f.Subscribe(store.WorkDeliveries)
		defer end()
		record(t, call, allFour("accepted", false), api.EventSubmissionUpdated)
		f.asleep(t, deliveries) // nobody has subscribed
		f.subscribe(t, api.EventStatusChanged)
		_, err := call.Record(t.Context(), func(s store.Submission, _ bool, now time.Time) (store.Decision, error) {
			d := told(s, now, allFour("accepted", true), api.EventStatusChanged)
			d.DueAt = nil
			return d, nil
		})
		must(t, err)
		woken(t, deliveries)
		f.asleep(t, deliveries)

		failing := errors.New("failing")
		_, err = call.Record(t.Context(), func(store.Submission, bool, time.Time) (store.Decision, error) { return store.Decision{}, failing })
		wantErr(t, err, failing)
		f.asleep(t, deliveries)

		submissions, endSubmissions := f.Subscribe(store.WorkSubmissions)
		purchases, endPurchases := f.Subscribe(store.WorkPurchases)
		defer endPurchases()
		_, err = f.ActivateConnection(t.Context(), f.connection.ID)
		must(t, err)
		woken(t, submissions)
		woken(t, purchases)
		endSubmissions()
		select {
		case <-submissions: // it came before the end
		default:
		}
		_, err = f.ActivateConnection(t.Context(), f.connection.ID)
		must(t, err)
		woken(t, purchases)
		select {
		case <-submissions:
			t.Error("woken after the end")
		default:
		}
	})
}

// TestWakesReplicas: on PostgreSQL a commit wakes the workers of other replicas too, once they listen.
func TestWakesReplicas(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		if f.SingleServer() {
			return // a database that one process serves has no replicas
		}
		replica := f.Again(t)
		wake, end := replica.Subscribe(store.WorkPurchases)
		defer end()
		for range 100 { // the replica begins to listen in its own time
			_, err := f.ActivateConnection(t.Context(), f.connection.ID)
			must(t, err)
			select {
			case <-wake:
				return
			case <-time.After(100 * time.Millisecond):
			}
		}
		t.Error("the replica was not woken")
	})
}

// TestEngineNames holds the harness to the engines there are.
func TestEngineNames(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		if want := map[string]bool{storetest.SQLite: true, storetest.Postgres: false}; f.SingleServer() != want[f.Engine()] || (f.Path != "") != f.SingleServer() {
			t.Errorf("engine %q, exclusive %v", f.Engine(), f.SingleServer())
		}
		must(t, f.Ping(t.Context()))
		must(t, f.Migrate(t.Context())) // again
	})
}
