package purchase_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/providertest"
)

// TestEvents checks that each event about a submission is retained as evidence in the provider's own bytes, sets only
// the state that its word belongs to, and is deleted; and that an announced document is retained.
func TestEvents(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newQueueBench(t, engine)
		s := b.submit(t, "INV-1", api.OutcomeAcknowledged)
		for _, step := range []struct{ word, want string }{
			{"no_action_taken", "- no_action_taken - -"},
			{"succeeded", "- succeeded! - -"},
			{"started", "- succeeded! - -"}, // a word that no source describes
			{"cleared", "- succeeded! cleared -"},
			{"in_process", "- succeeded! cleared in_process"},
			{"rejected", "- succeeded! cleared rejected"},
			{"accepted", "- succeeded! cleared accepted"},
		} {
			before := b.now(t, s)
			b.Report(s.ID.String(), step.word)
			if wait := b.sync(t); wait != interval {
				t.Errorf("%s: the next run is after %s", step.word, wait)
			}
			after := b.now(t, s)
			if words(after) != step.want || after.Evidence != before.Evidence+1 || after.Outcome != api.OutcomeAcknowledged ||
				!after.DueAt.Equal(*before.DueAt) {
				t.Errorf("%s: %s, want %s; %d entries after %d, due %s", step.word, words(after), step.want, after.Evidence,
					before.Evidence, after.DueAt)
			}
		}
		text := "<Invoice/>"
		guid := b.Receive(b.LegalEntity, []byte(text))
		b.sync(t)
		got := b.retained(t)[guid]
		if len(b.retained(t)) != 1 || got.SHA256 != hashed(text) || got.Evidence.MediaType != "application/xml" ||
			got.DocumentType != nil {
			t.Errorf("incoming %+v", got)
		}
		if len(b.Deleted()) != 8 || len(b.Waiting()) != 0 {
			t.Errorf("deleted %q, waiting %q", b.Deleted(), b.Waiting())
		}
		if kinds := b.kinds(t); kinds[api.EventStatusChanged] != 6 || kinds[api.EventIncomingReceived] != 1 {
			t.Errorf("events %v", kinds)
		}
		page, err := view.Of(b.tenant).EvidenceHistory(t.Context(), view.OfInvoice(s.Invoice), 1, 100)
		kit.Must(t, err)
		if last := page.Entries[len(page.Entries)-1]; last.Call != "event" || last.HTTPStatus != http.StatusOK {
			t.Errorf("evidence %+v", last)
		}
		b.wantProven(t)
	})
}

// TestRetainThenDelete checks that nothing is deleted before it is retained, and that an event whose deletion is lost
// is deleted when it is handed out again, and changes nothing.
func TestRetainThenDelete(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newQueueBench(t, engine)
		s := b.submit(t, "INV-1", api.OutcomeAcknowledged)
		first := b.now(t, s).Evidence
		b.Report(s.ID.String(), "succeeded")
		guid := b.Receive(b.LegalEntity, []byte("<Invoice/>"))
		lost := map[string]int{}
		b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
			if r.Method != http.MethodDelete {
				return false
			}
			if found := b.now(t, s); found.Evidence != first+1 || words(found) != "- succeeded! - -" {
				t.Errorf("an event is deleted that is not retained: %s", words(found))
			}
			if len(lost) > 0 && len(b.retained(t)) != 1 && lost[r.URL.Path] == 0 && len(b.Deleted()) > 0 {
				t.Error("an event is deleted whose document is not retained")
			}
			if lost[r.URL.Path]++; lost[r.URL.Path] == 3 {
				return false
			}
			w.WriteHeader(http.StatusBadGateway)
			return true
		})
		for range 6 {
			b.sync(t)
		}
		kinds := b.kinds(t)
		if found := b.now(t, s); found.Evidence != first+1 || len(b.Waiting()) != 0 || kinds[api.EventStatusChanged] != 1 ||
			kinds[api.EventIncomingReceived] != 1 || b.retained(t)[guid].Revision != 1 {
			t.Errorf("%d entries, waiting %q, events %v", found.Evidence, b.Waiting(), kinds)
		}
		b.wantProven(t)
	})
}

// TestEventsResolveUnknownOutcomes checks that an event which repeats our reference says that the provider has the
// document after a lost response, and that it is not sent again. An event under the provider's guid alone does not.
func TestEventsResolveUnknownOutcomes(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		b := newQueueBench(t, engine)
		b.Play(providertest.StorecoveLosesResponse)
		s := b.submit(t, "INV-1", api.OutcomeUnknown)
		b.Report(s.ID.String(), "succeeded")
		b.sync(t)
		found := b.now(t, s)
		if found.Outcome != api.OutcomeAcknowledged || found.ProviderReference == nil || words(found) != "- succeeded! - -" ||
			len(b.Taken(s.ID.String())) != 1 {
			t.Errorf("%+v", found)
		}
		b.Push(fmt.Sprintf(`{"event_type":"document_submission","event":"accepted","guid":%q}`, *found.ProviderReference))
		b.sync(t)
		if found := b.now(t, s); words(found) != "- succeeded! - accepted" {
			t.Errorf("an event without our reference: %s", words(found))
		}
		b.wantProven(t)
	})
}

// TestUnroutedEvents checks that an event that is about nothing of a connection changes nothing, is left in the queue
// for others for an hour, and is then retained for the operator before it is deleted. Those behind it are handled.
func TestUnroutedEvents(t *testing.T) {
	for name, push := range map[string]func(b *queueBench, s invoices.Submission){
		"another submission": func(b *queueBench, _ invoices.Submission) {
			b.Push(
				`{"event_type":"document_submission","event":"succeeded","guid":"8a4b0c6e-9999-4222-8333-000000000001","idempotencyGuid":"0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60"}`)
		},
		"our reference with another guid": func(b *queueBench, s invoices.Submission) {
			b.Push(
				fmt.Sprintf(
					`{"event_type":"document_submission","event":"succeeded","guid":"8a4b0c6e-9999-4222-8333-000000000001","idempotencyGuid":%q}`, s.ID))
		},
		"our guid with another reference": func(b *queueBench, s invoices.Submission) {
			b.Push(
				fmt.Sprintf(
					`{"event_type":"document_submission","event":"succeeded","guid":%q,"idempotencyGuid":"0195b1ef-9a10-7c55-8f0e-2b7d1c3e4f60"}`, *s.ProviderReference))
		},
		"no reference": func(b *queueBench, _ invoices.Submission) {
			b.Push(`{"event_type":"document_submission","event":"succeeded"}`)
		},
		"another kind": func(b *queueBench, s invoices.Submission) {
			b.Push(fmt.Sprintf(`{"event_type":"other","guid":%q}`, *s.ProviderReference))
		},
		"not JSON": func(b *queueBench, _ invoices.Submission) { b.Push(`<html>`) },
		"empty":    func(b *queueBench, _ invoices.Submission) { b.Push(``) },
		"a member twice": func(b *queueBench, s invoices.Submission) {
			b.Push(fmt.Sprintf(`{"event_type":"document_submission","event":"failed","event":"succeeded","guid":%q,"guid":"x"}`,
				*s.ProviderReference))
		},
		"another company's document":    func(b *queueBench, _ invoices.Submission) { b.Receive(4712, []byte("<Invoice/>")) },
		"a document of no legal entity": func(b *queueBench, _ invoices.Submission) { b.Receive(0, []byte("<Invoice/>")) },
	} {
		t.Run(name, func(t *testing.T) {
			b := newQueueBench(t, ledgertest.SQLite)
			s := b.submit(t, "INV-1", api.OutcomeAcknowledged)
			push(b, s)
			b.Report(s.ID.String(), "succeeded")
			var waited time.Duration
			for len(b.Deleted()) == 0 {
				if found := b.now(t, s); found.Evidence != s.Evidence || len(b.retained(t)) != 0 {
					t.Fatalf("the event has changed something: %+v", found)
				}
				if waited += b.sync(t); waited > 2*time.Hour {
					t.Fatal("the queue is blocked")
				}
			}
			unrouted, err := incoming.UnroutedEvents(t.Context(), b.bench.Store.DB, b.connection.Account, 10)
			kit.Must(t, err)
			if waited < time.Hour || len(unrouted) != 1 || !strings.Contains(string(unrouted[0].Body), `"body"`) ||
				unrouted[0].ID != b.Deleted()[0] {
				t.Errorf("after %s: %+v", waited, unrouted)
			}
			if found := b.now(t, s); words(found) != "- succeeded! - -" || found.Evidence != s.Evidence+1 ||
				len(b.retained(t)) != 0 {
				t.Errorf("%s, %d incoming", words(found), len(b.retained(t)))
			}
			b.wantProven(t)
		})
	}
}

// TestUnroutedEcho checks that an unrouted event that contains the credential is not shown.
func TestUnroutedEcho(t *testing.T) {
	b := newQueueBench(t, ledgertest.SQLite)
	b.Push(fmt.Sprintf(`{"event_type":"other","tenant_id":%q}`, credential))
	for range 100 {
		if b.sync(t); len(b.Deleted()) > 0 {
			break
		}
	}
	unrouted, err := incoming.UnroutedEvents(t.Context(), b.bench.Store.DB, b.connection.Account, 10)
	kit.Must(t, err)
	if len(unrouted) != 1 || !unrouted[0].Withheld || unrouted[0].Body != nil {
		t.Errorf("%+v", unrouted)
	}
}

// TestSharedQueue checks that two companies with one account of the provider each get their own events and nothing of
// the other.
func TestSharedQueue(t *testing.T) {
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		first := newQueueBench(t, engine)
		second := &queueBench{bench: &bench{Store: first.Store}, Storecove: first.Storecove}
		mine := first.submit(t, "INV-1", api.OutcomeAcknowledged)
		first.Storecove.LegalEntity = 4712
		second.addCompany(t, 4712)
		theirs := second.submit(t, "INV-1", api.OutcomeAcknowledged)
		for range 3 {
			first.Report(theirs.ID.String(), "failed")
			first.Report(mine.ID.String(), "succeeded")
			first.Receive(4712, []byte("<Invoice/>"))
		}
		for range 12 {
			first.sync(t)
			second.sync(t)
		}
		unrouted, err := incoming.UnroutedEvents(t.Context(), first.bench.Store.DB, first.connection.Account, 10)
		kit.Must(t, err)
		if len(first.Waiting()) != 0 || len(unrouted) != 0 || words(first.now(t, mine)) != "- succeeded! - -" ||
			words(second.now(t, theirs)) != "- failed! - -" {
			t.Errorf("waiting %q, unrouted %d: %s, %s", first.Waiting(), len(unrouted), words(first.now(t, mine)),
				words(second.now(t, theirs)))
		}
		if len(first.retained(t)) != 0 || len(second.retained(t)) != 3 {
			t.Errorf("%d and %d incoming", len(first.retained(t)), len(second.retained(t)))
		}
		first.wantProven(t)
	})
}

// TestHostileQueue checks that no behaviour of the queue loses or repeats anything, makes a run endless, or deletes
// what is not retained.
func TestHostileQueue(t *testing.T) {
	event := func(w http.ResponseWriter, guid, body string) bool {
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"guid":%q,"body":%q}`, guid, body)
		return true
	}
	for name, c := range map[string]struct {
		respond func(w http.ResponseWriter, r *http.Request, n int, report string) bool
		events  int64 // how many are retained about the submission
		deletes bool
		wait    time.Duration // until the next run
	}{
		"handed out forever": {func(w http.ResponseWriter, r *http.Request, _ int, report string) bool {
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusNoContent)
				return true
			}
			return event(w, "e0000000-0000-4000-8000-000000000001", report)
		}, 1, true, interval},
		"endless": {func(w http.ResponseWriter, r *http.Request, n int, report string) bool {
			if r.Method == http.MethodDelete {
				w.WriteHeader(http.StatusNoContent)
				return true
			}
			return event(w, fmt.Sprintf("e0000000-0000-4000-8000-%012d", n), report)
		}, 500, true, interval},
		"no guid": {func(w http.ResponseWriter, _ *http.Request, _ int, report string) bool { return event(w, "", report) },
			0, false, interval},
		"a path for a guid": {func(w http.ResponseWriter, _ *http.Request, _ int, report string) bool {
			return event(w, "../legal_entities/4711", report)
		}, 0, false, interval},
		"not JSON": {func(w http.ResponseWriter, _ *http.Request, _ int, _ string) bool {
			fmt.Fprint(w, "<html>")
			return true
		}, 0, false, interval},
		"100 MB": {func(w http.ResponseWriter, _ *http.Request, _ int, report string) bool {
			fmt.Fprint(w, `{"guid":"e0000000-0000-4000-8000-000000000001","body":"`)
			for range 100 {
				if _, err := w.Write(make([]byte, 1<<20)); err != nil {
					break
				}
			}
			return true
		}, 0, false, interval},
		"limited": {func(w http.ResponseWriter, _ *http.Request, _ int, _ string) bool {
			w.Header().Set("Retry-After", "1800")
			w.WriteHeader(http.StatusTooManyRequests)
			return true
		}, 0, false, 30 * time.Minute},
		"refused": {func(w http.ResponseWriter, _ *http.Request, _ int, _ string) bool {
			w.WriteHeader(http.StatusUnauthorized)
			return true
		}, 0, false, interval},
		"slow": {func(_ http.ResponseWriter, r *http.Request, _ int, _ string) bool {
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		}, 0, false, interval},
		"deletions limited": {func(w http.ResponseWriter, r *http.Request, n int, report string) bool {
			if r.Method == http.MethodDelete {
				w.Header().Set("Retry-After", "1800")
				w.WriteHeader(http.StatusNoContent)
				return true
			}
			return event(w, fmt.Sprintf("e0000000-0000-4000-8000-%012d", n), report)
		}, 1, true, 30 * time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newQueueBench(t, ledgertest.SQLite)
			s := b.submit(t, "INV-1", api.OutcomeAcknowledged)
			report := fmt.Sprintf(`{"event_type":"document_submission","event":"succeeded","guid":%q,"idempotencyGuid":%q}`,
				*s.ProviderReference, s.ID)
			if name == "slow" {
				b.serve(t, brief)
			}
			n, deletes := 0, 0
			b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if n++; r.Method == http.MethodDelete {
					deletes++
				}
				return c.respond(w, r, n, report)
			})
			wait := b.sync(t)
			if found := b.now(t, s); found.Evidence != s.Evidence+c.events || (deletes > 0) != c.deletes || wait != c.wait {
				t.Errorf("%d events, %d deletions, the next run after %s", found.Evidence-s.Evidence, deletes, wait)
			}
			b.wantProven(t)
		})
	}
}

// TestEventDocuments checks that a document that cannot be fetched blocks the events behind it only for a time, and is
// then retained as unreadable with its announcement. It is never deleted unread before.
func TestEventDocuments(t *testing.T) {
	for name, c := range map[string]struct {
		respond func(w http.ResponseWriter)
		runs    int
	}{
		"refused for good": {func(w http.ResponseWriter) { w.WriteHeader(http.StatusNotFound) }, 5},
		"failing":          {func(w http.ResponseWriter) { w.WriteHeader(http.StatusServiceUnavailable) }, 20},
		"not the package":  {func(w http.ResponseWriter) { fmt.Fprint(w, `{"ubl":7}`) }, 20},
		"not base64":       {func(w http.ResponseWriter) { fmt.Fprint(w, `{"legal_entity_id":4711,"ubl":"?"}`) }, 20},
	} {
		t.Run(name, func(t *testing.T) {
			b := newQueueBench(t, ledgertest.SQLite)
			guid := b.Receive(b.LegalEntity, []byte("<Invoice/>"))
			b.Intercept(func(w http.ResponseWriter, r *http.Request) bool {
				if !strings.Contains(r.URL.Path, "purchase_invoices") {
					return false
				}
				c.respond(w)
				return true
			})
			for run := 1; run <= c.runs; run++ {
				if len(b.Deleted()) != 0 || len(b.retained(t)) != 0 {
					t.Fatalf("given up after %d runs", run-1)
				}
				b.sync(t)
			}
			got := b.retained(t)[guid]
			if len(b.Waiting()) != 0 || got.Revision != 1 || *got.DocumentType != api.DocumentUnreadable {
				t.Errorf("waiting %q, retained %+v", b.Waiting(), got)
			}
			b.wantProven(t)
		})
	}
}
