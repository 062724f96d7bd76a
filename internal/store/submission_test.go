package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestBeginSubmission: the whole intent is committed, under a permanent reference, before the provider is called.
func TestBeginSubmission(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		created := f.create(t, "INV-1")
		at := f.Clock.Advance(time.Minute)
		call := f.begin(t, created.ID)
		kept, err := f.tenant.Submission(ctx, call.Submission.ID)
		kit.Must(t, err)
		wantEqual(t, "the stored submission", kept, call.Submission)
		if kept.Outcome != api.OutcomeInProgress || !kept.AttemptedAt.Equal(at) || !kept.SentAt.Equal(at) ||
			kept.DueAt == nil || !kept.DueAt.Equal(at.Add(leaseDuration)) ||
			kept.Ordinal != 1 || !kept.Current || kept.Number != "INV-1" || kept.Invoice != created.ID ||
			kept.States.AllTerminal() {
			t.Errorf("intent %s", shown(kept))
		}
		document, err := store.Document(ctx, f.tenant, call.Submission.ID)
		kit.Must(t, err)
		rendered, _, err := intent().Render(store.Source{Draft: &created.Draft, Reference: call.Submission.ID.String()})
		kit.Must(t, err)
		if want := string(rendered); string(document) != want || string(call.Document) != want {
			t.Errorf("document %s, to be sent %s, want %s", document, call.Document, want)
		}
		if call.Connection.ID != f.connection.ID || call.Tenant.Key() != f.tenant.Key() {
			t.Errorf("call over %s for %s", call.Connection.ID, call.Tenant.Key())
		}
		opened, err := f.Credential(call.Connection)
		kit.Must(t, err)
		if opened.Reveal() != credential {
			t.Error("the call's connection opens another credential")
		}
		invoice, err := f.tenant.Invoice(ctx, created.ID)
		kit.Must(t, err)
		if invoice.Submission == nil || invoice.Submission.ID != kept.ID || invoice.Version != 2 ||
			!invoice.UpdatedAt.Equal(at) {
			t.Errorf("submitted invoice %+v", invoice)
		}
	})
}

// shown formats the exported fields of a submission, with pointers as what they point to.
func shown(s store.Submission) string {
	var out strings.Builder
	value := reflect.ValueOf(s)
	for n := range value.NumField() {
		field := value.Type().Field(n)
		if !field.IsExported() {
			continue
		}
		content := value.Field(n)
		if content.Kind() == reflect.Pointer && !content.IsNil() {
			content = content.Elem()
		}
		fmt.Fprintf(&out, "%s=%v ", field.Name, content.Interface())
	}
	return out.String()
}

// TestRefusals: the errors have the stated order. An invoice with every problem gets the first error, and each problem
// that is fixed leads to the next one. A refused submission leaves nothing behind.
func TestRefusals(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		production := func() store.ID {
			add := sandboxConnection()
			add.Environment = "production"
			c, err := f.AddConnection(ctx, f.account.ID, add)
			kit.Must(t, err)
			return c.ID
		}
		change := func(_ store.Connection, err error) { t.Helper(); kit.Must(t, err) }
		release := "R-1"
		try := func(id store.ID, complete bool) (store.SubmissionLease, bool, error) {
			i := intent()
			i.Environment, i.Release = "production", release
			if !complete {
				i.Render = func(store.Source) ([]byte, api.Faults, error) {
					return nil, api.Faults{"due_date": {{Rule: "required"}}}, nil
				}
			}
			return f.tenant.BeginSubmission(ctx, id, i)
		}
		recorded, running, wrong := f.create(t, "INV-1"), f.create(t, "INV-2"), f.create(t, "INV-2")
		done := f.begin(t, recorded.ID)
		record(t, done, allFour("accepted", false))
		f.begin(t, running.ID)
		change(f.DisableConnection(ctx, f.connection.ID))
		before := f.dump(t, f.company)

		call, begun, err := try(recorded.ID, false)
		kit.Must(t, err)
		if begun || call.Submission.ID != done.Submission.ID || call.Submission.Outcome != api.OutcomeAcknowledged {
			t.Errorf("begun %v, recorded %s", begun, shown(call.Submission))
		}
		_, _, err = try(running.ID, false)
		wantErr(t, err, store.ErrSubmissionInProgress)

		_, _, err = try(wrong.ID, false)
		var incomplete *store.IncompleteError
		if !errors.As(err, &incomplete) || !slices.Equal(slices.Collect(maps.Keys(incomplete.Missing)),
			[]string{"due_date"}) {
			t.Fatalf("error %v, want what is missing", err)
		}
		_, _, err = try(wrong.ID, true)
		wantErr(t, err, store.ErrConnectionRequired)
		if f.dump(t, f.company) != before {
			t.Error("a refusal has left something behind")
		}
		change(f.ActivateConnection(ctx, f.connection.ID)) // a sandbox connection makes no production
		_, _, err = try(wrong.ID, true)
		wantErr(t, err, store.ErrNotApproved)
		change(f.DisableConnection(ctx, f.connection.ID))
		id := production()
		change(f.ActivateConnection(ctx, id))
		_, _, err = try(wrong.ID, true)
		wantErr(t, err, store.ErrNotApproved)
		change(f.ApproveConnection(ctx, id, "Ann", "C-1", "R-1"))
		for _, release = range []string{"R-2", "", "R-1 ", "R"} { // approved for another release
			_, _, err = try(wrong.ID, true)
			wantErr(t, err, store.ErrNotApproved)
		}
		change(f.ApproveConnection(ctx, id, "Ann", "C-1", "R-1 R-2")) // beside each other during an upgrade
		release = "R-2"
		_, _, err = f.tenant.BeginSubmission(ctx, wrong.ID, intent()) // an approved production connection in the sandbox
		wantErr(t, err, store.ErrNotApproved)
		before = f.dump(t, f.company)
		_, _, err = try(wrong.ID, true)
		wantDuplicate(t, err, running.ID)
		if f.dump(t, f.company) != before {
			t.Error("a refusal has left something behind")
		}
		_, _, err = try(store.ID{1}, true)
		wantErr(t, err, store.ErrNotFound)
	})
}

func wantDuplicate(t *testing.T, err error, invoice store.ID) {
	t.Helper()
	var duplicate *store.DuplicateNumberError
	if !errors.As(err, &duplicate) || duplicate.Invoice != invoice {
		t.Fatalf("error %v (%+v), want a duplicate of %s", err, duplicate, invoice)
	}
}

// TestRenderFails: a draft that cannot be rendered is not submitted.
func TestRenderFails(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		created, broken := f.create(t, "INV-1"), errors.New("broken")
		before := f.dump(t, f.company)
		i := intent()
		i.Render = func(store.Source) ([]byte, api.Faults, error) { return nil, nil, broken }
		_, _, err := f.tenant.BeginSubmission(t.Context(), created.ID, i)
		wantErr(t, err, broken)
		if f.dump(t, f.company) != before {
			t.Error("a failed rendering has left something behind")
		}
	})
}

// TestOneSubmission: of many simultaneous submissions of one invoice, exactly one begins.
func TestOneSubmission(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		created := f.create(t, "INV-1")
		var begun atomic.Int32
		race(50, func(int) {
			_, mine, err := f.tenant.BeginSubmission(t.Context(), created.ID, intent())
			switch {
			case err == nil && mine:
				begun.Add(1)
			case !errors.Is(err, store.ErrSubmissionInProgress):
				t.Errorf("begun %v, error %v", mine, err)
			}
		})
		all, err := view.Of(f.tenant).SubmissionHistory(t.Context(), view.OfInvoice(created.ID), 1, 10)
		kit.Must(t, err)
		if begun.Load() != 1 || all.Total != 1 {
			t.Errorf("%d have begun, %d submissions are kept", begun.Load(), all.Total)
		}
	})
}

// TestOneNumber: of many invoices with one number that are submitted simultaneously, exactly one begins, and the errors
// of the others name it.
func TestOneNumber(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		const contenders = 50
		var ids [contenders]store.ID
		for n := range ids {
			ids[n] = f.create(t, "INV-1").ID
		}
		var winner atomic.Pointer[store.ID]
		var refused [contenders]error
		race(contenders, func(n int) {
			_, begun, err := f.tenant.BeginSubmission(t.Context(), ids[n], intent())
			if begun && err == nil && !winner.CompareAndSwap(nil, &ids[n]) {
				t.Errorf("both %s and %s have begun", winner.Load(), ids[n])
			}
			refused[n] = err
		})
		if winner.Load() == nil {
			t.Fatalf("none has begun: %v", refused[0])
		}
		for n, err := range refused {
			if ids[n] != *winner.Load() {
				wantDuplicate(t, err, *winner.Load())
			} else {
				kit.Must(t, err)
			}
		}
	})
}

// TestNotSent: an invoice that the provider certainly did not receive is a draft again, its number is free, and the
// next try uses the same reference.
func TestNotSent(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		notSent := decide(t, call, func(s store.Submission,
			_ time.Time) store.Decision {
			return outcome(s, store.OutcomeNotSent)
		})
		if notSent.MaybeSent() || notSent.DueAt != nil {
			t.Errorf("not sent: %s", shown(notSent))
		}
		again, err := f.tenant.Invoice(ctx, call.Submission.Invoice)
		kit.Must(t, err)
		history, err := view.Of(f.tenant).SubmissionHistory(ctx, view.OfInvoice(call.Submission.Invoice), 1, 10)
		kit.Must(t, err)
		if again.Submission != nil || history.Total != 0 {
			t.Errorf("a draft again with submission %v and a history of %d", again.Submission, history.Total)
		}
		other := f.submit(t, "INV-1")
		_, _, err = f.tenant.BeginSubmission(ctx, call.Submission.Invoice, intent())
		wantDuplicate(t, err, other.Submission.Invoice)
		decide(t, other, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, store.OutcomeNotSent) })

		at := f.Clock.Advance(time.Hour)
		second := f.begin(t, call.Submission.Invoice)
		if second.Submission.ID != call.Submission.ID || second.Submission.Ordinal != 1 ||
			!second.Submission.AttemptedAt.Equal(at) {
			t.Errorf("the second try is %s", shown(second.Submission))
		}
		_, err = call.Record(ctx, func(s store.Submission, held bool, _ time.Time) (store.Decision, error) {
			if held {
				t.Error("the first try still has the lease")
			}
			return outcome(s, s.Outcome), nil
		})
		kit.Must(t, err)
	})
}

// TestRejectedNumber: a rejection frees the number for another invoice; an unknown outcome does not.
func TestRejectedNumber(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		first, second := f.submit(t, "INV-1"), f.create(t, "INV-1")
		for _, held := range []api.Outcome{api.OutcomeUnknown, api.OutcomeAcknowledged} {
			decide(t, first, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, held) })
			_, _, err := f.tenant.BeginSubmission(t.Context(), second.ID, intent())
			wantDuplicate(t, err, first.Submission.Invoice)
		}
		decide(t, first, func(s store.Submission, _ time.Time) store.Decision { return outcome(s, api.OutcomeRejected) })
		f.begin(t, second.ID)
		// What is recorded of the rejected one is told to whoever submits it again.
		call, begun, err := f.tenant.BeginSubmission(t.Context(), first.Submission.Invoice, intent())
		kit.Must(t, err)
		if begun || call.Submission.Outcome != api.OutcomeRejected {
			t.Errorf("begun %v: %s", begun, shown(call.Submission))
		}
	})
}

// TestOrderedResend: an administrator's order is used up by the resend, is kept until the resend has a recorded
// response, and is valid again if that response says that the provider did not receive the document.
func TestOrderedResend(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		decide(t, call, func(s store.Submission, now time.Time) store.Decision {
			d := outcome(s, api.OutcomeUnknown)
			d.ResendOrdered, d.DueAt = true, &now
			return d
		})
		for _, taken := range []bool{false, true} {
			again, err := f.claimSubmissions(t, 1)[0].BeginResend(ctx, time.Minute)
			kit.Must(t, err)
			kept, err := f.tenant.Submission(ctx, call.Submission.ID)
			kit.Must(t, err)
			if kept.ResendOrdered || !kept.ResendUnderWay || again.Submission.ResendOrdered || !again.Submission.ResendUnderWay {
				t.Errorf("while it is sent again the decision stands: %v, and is being carried out: %v", kept.ResendOrdered,
					kept.ResendUnderWay)
			}
			decide(t, again, func(s store.Submission, now time.Time) store.Decision {
				d := outcome(s, api.OutcomeUnknown)
				d.ResendOrdered, d.DueAt = s.ResendUnderWay && !taken, &now
				return d
			})
			kept, err = f.tenant.Submission(ctx, call.Submission.ID)
			kit.Must(t, err)
			if kept.ResendOrdered == taken || kept.ResendUnderWay {
				t.Errorf("taken %v: afterwards the decision stands: %v, and is being carried out: %v", taken, kept.ResendOrdered,
					kept.ResendUnderWay)
			}
		}
	})
}

// TestBeginResend: only the holder of the lease can commit the intent to send again, and only while the outcome is
// unknown. Earlier responses that the document is missing no longer count.
func TestBeginResend(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		call := f.submit(t, "INV-1")
		missing := f.Clock.Now()
		decide(t, call, func(s store.Submission, now time.Time) store.Decision {
			d := outcome(s, api.OutcomeUnknown)
			d.MissingSince, d.MissingCount, d.DueAt = &missing, 2, &now
			return d
		})
		_, err := call.BeginResend(ctx, leaseDuration)
		wantErr(t, err, store.ErrLeaseLost)
		claimed := f.claimSubmissions(t, 1)
		if len(claimed) != 1 {
			t.Fatalf("%d submissions are due", len(claimed))
		}
		at := f.Clock.Advance(time.Second)
		again, err := claimed[0].BeginResend(ctx, time.Minute)
		kit.Must(t, err)
		kept, err := f.tenant.Submission(ctx, call.Submission.ID)
		kit.Must(t, err)
		if !bytes.Equal(again.Document, call.Document) || claimed[0].Document != nil {
			t.Errorf("to be sent is %s, want %s, and only after this", again.Document, call.Document)
		}
		wantEqual(t, "the stored submission", kept, again.Submission)
		if kept.MissingSince != nil || kept.MissingCount != 0 || kept.ResendOrdered || !kept.SentAt.Equal(at) ||
			!kept.AttemptedAt.Equal(missing) || kept.DueAt == nil || !kept.DueAt.Equal(at.Add(time.Minute)) {
			t.Errorf("sent again as %s", shown(kept))
		}
		_, err = claimed[0].BeginResend(ctx, time.Minute)
		wantErr(t, err, store.ErrLeaseLost)
		record(t, again, allFour("accepted", false))
		f.Clock.Advance(time.Hour)
		_, err = f.claimSubmissions(t, 1)[0].BeginResend(ctx, time.Minute)
		wantErr(t, err, store.ErrLeaseLost)
	})
}

// TestLateResponseOpensAgain checks that polling begins again if it had ended, and the response of a worker that has
// lost its lease opens a state again.
func TestLateResponseOpensAgain(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		late := f.submit(t, "INV-1")
		ended := decide(t, late, func(s store.Submission, now time.Time) store.Decision {
			d := reported(s, now, allFour("one", true))
			d.DueAt = nil
			return d
		})
		if ended.DueAt != nil || ended.NextCheckAt != nil {
			t.Fatalf("polling has not ended: %s", shown(ended))
		}
		reopened := decide(t, late, func(s store.Submission,
			now time.Time) store.Decision {
			return reported(s, now, allFour("two", false))
		})
		if reopened.DueAt == nil || reopened.NextCheckAt == nil {
			t.Errorf("the open submission is not polled: %s", shown(reopened))
		}
	})
}
