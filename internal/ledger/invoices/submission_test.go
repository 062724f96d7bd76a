package invoices_test

import (
	"bytes"
	"errors"
	"maps"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestBeginSubmission: the whole intent is committed, under a permanent reference, before the provider is called.
func TestBeginSubmission(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		created := f.Create(t, "INV-1")
		at := f.Clock.Advance(time.Minute)
		call := f.Begin(t, created.ID)
		kept, err := invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the stored submission", kept, call.Submission)
		if kept.Outcome != api.OutcomeInProgress || !kept.AttemptedAt.Equal(at) || !kept.SentAt.Equal(at) ||
			kept.DueAt == nil || !kept.DueAt.Equal(at.Add(fixture.LeaseDuration)) ||
			kept.Ordinal != 1 || !kept.Current || kept.Number != "INV-1" || kept.Invoice != created.ID ||
			kept.States.AllTerminal() {
			t.Errorf("intent %s", fixture.Shown(kept))
		}
		document, err := invoices.SubmittedDocument(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		rendered, _, err := fixture.Intent().Render(invoices.Source{Draft: &created.Draft,
			Reference: call.Submission.ID.String()})
		kit.Must(t, err)
		if want := string(rendered); string(document) != want || string(call.Document) != want {
			t.Errorf("document %s, to be sent %s, want %s", document, call.Document, want)
		}
		if call.Connection.ID != f.Connection.ID || call.Tenant.ID() != f.Tenant.ID() {
			t.Errorf("call over %s for %s", call.Connection.ID, call.Tenant.ID())
		}
		opened, err := invoices.Credential(f.DB, call.Connection)
		kit.Must(t, err)
		if opened.Reveal() != fixture.Credential {
			t.Error("the call's connection opens another credential")
		}
		invoice, err := invoices.Find(ctx, f.Tenant, created.ID)
		kit.Must(t, err)
		if invoice.Submission == nil || invoice.Submission.ID != kept.ID || invoice.Version != 2 ||
			!invoice.UpdatedAt.Equal(at) {
			t.Errorf("submitted invoice %+v", invoice)
		}
	})
}

// TestRefusals: the errors have the stated order. An invoice with every problem gets the first error, and each problem
// that is fixed leads to the next one. A refused submission leaves nothing behind.
func TestRefusals(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		production := func() base.ID {
			add := fixture.SandboxConnection()
			add.Environment = "production"
			c, err := invoices.AddConnection(ctx, f.DB, f.Account.ID, add)
			kit.Must(t, err)
			return c.ID
		}
		change := func(_ invoices.Connection, err error) { t.Helper(); kit.Must(t, err) }
		release := "R-1"
		try := func(id base.ID, complete bool) (invoices.SubmissionLease, bool, error) {
			i := fixture.Intent()
			i.Environment, i.Release = "production", release
			if !complete {
				i.Render = func(invoices.Source) ([]byte, api.Faults, error) {
					return nil, api.Faults{"due_date": {{Rule: "required"}}}, nil
				}
			}
			return invoices.BeginSubmission(ctx, f.Tenant, id, i)
		}
		recorded, running, wrong := f.Create(t, "INV-1"), f.Create(t, "INV-2"), f.Create(t, "INV-2")
		done := f.Begin(t, recorded.ID)
		fixture.Record(t, done, fixture.AllFour("accepted", false))
		f.Begin(t, running.ID)
		change(invoices.DisableConnection(ctx, f.DB, f.Connection.ID))
		before := f.Dump(t, f.Company)

		call, begun, err := try(recorded.ID, false)
		kit.Must(t, err)
		if begun || call.Submission.ID != done.Submission.ID || call.Submission.Outcome != api.OutcomeAcknowledged {
			t.Errorf("begun %v, recorded %s", begun, fixture.Shown(call.Submission))
		}
		_, _, err = try(running.ID, false)
		fixture.WantErr(t, err, invoices.ErrSubmissionInProgress)

		_, _, err = try(wrong.ID, false)
		var incomplete *invoices.IncompleteError
		if !errors.As(err, &incomplete) || !slices.Equal(slices.Collect(maps.Keys(incomplete.Missing)),
			[]string{"due_date"}) {
			t.Fatalf("error %v, want what is missing", err)
		}
		_, _, err = try(wrong.ID, true)
		fixture.WantErr(t, err, invoices.ErrConnectionRequired)
		if f.Dump(t, f.Company) != before {
			t.Error("a refusal has left something behind")
		}
		change(invoices.ActivateConnection(ctx, f.DB, f.Connection.ID)) // a sandbox connection makes no production
		_, _, err = try(wrong.ID, true)
		fixture.WantErr(t, err, invoices.ErrNotApproved)
		change(invoices.DisableConnection(ctx, f.DB, f.Connection.ID))
		id := production()
		change(invoices.ActivateConnection(ctx, f.DB, id))
		_, _, err = try(wrong.ID, true)
		fixture.WantErr(t, err, invoices.ErrNotApproved)
		change(invoices.ApproveConnection(ctx, f.DB, id, "Ann", "C-1", "R-1"))
		for _, release = range []string{"R-2", "", "R-1 ", "R"} { // approved for another release
			_, _, err = try(wrong.ID, true)
			fixture.WantErr(t, err, invoices.ErrNotApproved)
		}
		change(invoices.ApproveConnection(ctx, f.DB, id, "Ann", "C-1",
			"R-1 R-2")) // beside each other during an upgrade
		release = "R-2"
		_, _, err = invoices.BeginSubmission(ctx, f.Tenant, wrong.ID,
			fixture.Intent()) // an approved production connection in the sandbox
		fixture.WantErr(t, err, invoices.ErrNotApproved)
		before = f.Dump(t, f.Company)
		_, _, err = try(wrong.ID, true)
		wantDuplicate(t, err, running.ID)
		if f.Dump(t, f.Company) != before {
			t.Error("a refusal has left something behind")
		}
		_, _, err = try(base.ID{1}, true)
		fixture.WantErr(t, err, base.ErrNotFound)
	})
}

func wantDuplicate(t *testing.T, err error, invoice base.ID) {
	t.Helper()
	var duplicate *invoices.DuplicateNumberError
	if !errors.As(err, &duplicate) || duplicate.Invoice != invoice {
		t.Fatalf("error %v (%+v), want a duplicate of %s", err, duplicate, invoice)
	}
}

// TestRenderFails: a draft that cannot be rendered is not submitted.
func TestRenderFails(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		created, broken := f.Create(t, "INV-1"), errors.New("broken")
		before := f.Dump(t, f.Company)
		i := fixture.Intent()
		i.Render = func(invoices.Source) ([]byte, api.Faults, error) { return nil, nil, broken }
		_, _, err := invoices.BeginSubmission(t.Context(), f.Tenant, created.ID, i)
		fixture.WantErr(t, err, broken)
		if f.Dump(t, f.Company) != before {
			t.Error("a failed rendering has left something behind")
		}
	})
}

// TestOneSubmission: of many simultaneous submissions of one invoice, exactly one begins.
func TestOneSubmission(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		created := f.Create(t, "INV-1")
		var begun atomic.Int32
		fixture.Race(50, func(int) {
			_, mine, err := invoices.BeginSubmission(t.Context(), f.Tenant, created.ID, fixture.Intent())
			switch {
			case err == nil && mine:
				begun.Add(1)
			case !errors.Is(err, invoices.ErrSubmissionInProgress):
				t.Errorf("begun %v, error %v", mine, err)
			}
		})
		all, err := view.Of(f.Tenant).SubmissionHistory(t.Context(), view.OfInvoice(created.ID), 1, 10)
		kit.Must(t, err)
		if begun.Load() != 1 || all.Total != 1 {
			t.Errorf("%d have begun, %d submissions are kept", begun.Load(), all.Total)
		}
	})
}

// TestOneNumber: of many invoices with one number that are submitted simultaneously, exactly one begins, and the errors
// of the others name it.
func TestOneNumber(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		const contenders = 50
		var ids [contenders]base.ID
		for n := range ids {
			ids[n] = f.Create(t, "INV-1").ID
		}
		var winner atomic.Pointer[base.ID]
		var refused [contenders]error
		fixture.Race(contenders, func(n int) {
			_, begun, err := invoices.BeginSubmission(t.Context(), f.Tenant, ids[n], fixture.Intent())
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		notSent := fixture.Decide(t, call, func(s invoices.Submission,
			_ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})
		if notSent.MaybeSent() || notSent.DueAt != nil {
			t.Errorf("not sent: %s", fixture.Shown(notSent))
		}
		again, err := invoices.Find(ctx, f.Tenant, call.Submission.Invoice)
		kit.Must(t, err)
		history, err := view.Of(f.Tenant).SubmissionHistory(ctx, view.OfInvoice(call.Submission.Invoice), 1, 10)
		kit.Must(t, err)
		if again.Submission != nil || history.Total != 0 {
			t.Errorf("a draft again with submission %v and a history of %d", again.Submission, history.Total)
		}
		other := f.Submit(t, "INV-1")
		_, _, err = invoices.BeginSubmission(ctx, f.Tenant, call.Submission.Invoice, fixture.Intent())
		wantDuplicate(t, err, other.Submission.Invoice)
		fixture.Decide(t, other, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, invoices.OutcomeNotSent)
		})

		at := f.Clock.Advance(time.Hour)
		second := f.Begin(t, call.Submission.Invoice)
		if second.Submission.ID != call.Submission.ID || second.Submission.Ordinal != 1 ||
			!second.Submission.AttemptedAt.Equal(at) {
			t.Errorf("the second try is %s", fixture.Shown(second.Submission))
		}
		_, err = call.Record(ctx, func(s invoices.Submission, held bool, _ time.Time) (invoices.Decision, error) {
			if held {
				t.Error("the first try still has the lease")
			}
			return fixture.Outcome(s, s.Outcome), nil
		})
		kit.Must(t, err)
	})
}

// TestRejectedNumber: a rejection frees the number for another invoice; an unknown outcome does not.
func TestRejectedNumber(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		first, second := f.Submit(t, "INV-1"), f.Create(t, "INV-1")
		for _, held := range []api.Outcome{api.OutcomeUnknown, api.OutcomeAcknowledged} {
			fixture.Decide(t, first, func(s invoices.Submission, _ time.Time) invoices.Decision {
				return fixture.Outcome(s,
					held)
			})
			_, _, err := invoices.BeginSubmission(t.Context(), f.Tenant, second.ID, fixture.Intent())
			wantDuplicate(t, err, first.Submission.Invoice)
		}
		fixture.Decide(t, first, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeRejected)
		})
		f.Begin(t, second.ID)
		// What is recorded of the rejected one is told to whoever submits it again.
		call, begun, err := invoices.BeginSubmission(t.Context(), f.Tenant, first.Submission.Invoice, fixture.Intent())
		kit.Must(t, err)
		if begun || call.Submission.Outcome != api.OutcomeRejected {
			t.Errorf("begun %v: %s", begun, fixture.Shown(call.Submission))
		}
	})
}

// TestOrderedResend: an administrator's order is used up by the resend, is kept until the resend has a recorded
// response, and is valid again if that response says that the provider did not receive the document.
func TestOrderedResend(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.ResendOrdered, d.DueAt = true, &now
			return d
		})
		for _, taken := range []bool{false, true} {
			again, err := f.ClaimSubmissions(t, 1)[0].BeginResend(ctx, time.Minute)
			kit.Must(t, err)
			kept, err := invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
			kit.Must(t, err)
			if kept.ResendOrdered || !kept.ResendUnderWay || again.Submission.ResendOrdered || !again.Submission.ResendUnderWay {
				t.Errorf("while it is sent again the decision stands: %v, and is being carried out: %v", kept.ResendOrdered,
					kept.ResendUnderWay)
			}
			fixture.Decide(t, again, func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Outcome(s, api.OutcomeUnknown)
				d.ResendOrdered, d.DueAt = s.ResendUnderWay && !taken, &now
				return d
			})
			kept, err = invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
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
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		missing := f.Clock.Now()
		fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.MissingSince, d.MissingCount, d.DueAt = &missing, 2, &now
			return d
		})
		_, err := call.BeginResend(ctx, fixture.LeaseDuration)
		fixture.WantErr(t, err, base.ErrLeaseLost)
		claimed := f.ClaimSubmissions(t, 1)
		if len(claimed) != 1 {
			t.Fatalf("%d submissions are due", len(claimed))
		}
		at := f.Clock.Advance(time.Second)
		again, err := claimed[0].BeginResend(ctx, time.Minute)
		kit.Must(t, err)
		kept, err := invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		if !bytes.Equal(again.Document, call.Document) || claimed[0].Document != nil {
			t.Errorf("to be sent is %s, want %s, and only after this", again.Document, call.Document)
		}
		fixture.WantEqual(t, "the stored submission", kept, again.Submission)
		if kept.MissingSince != nil || kept.MissingCount != 0 || kept.ResendOrdered || !kept.SentAt.Equal(at) ||
			!kept.AttemptedAt.Equal(missing) || kept.DueAt == nil || !kept.DueAt.Equal(at.Add(time.Minute)) {
			t.Errorf("sent again as %s", fixture.Shown(kept))
		}
		_, err = claimed[0].BeginResend(ctx, time.Minute)
		fixture.WantErr(t, err, base.ErrLeaseLost)
		fixture.Record(t, again, fixture.AllFour("accepted", false))
		f.Clock.Advance(time.Hour)
		_, err = f.ClaimSubmissions(t, 1)[0].BeginResend(ctx, time.Minute)
		fixture.WantErr(t, err, base.ErrLeaseLost)
	})
}

// TestLateResponseOpensAgain checks that polling begins again if it had ended, and the response of a worker that has
// lost its lease opens a state again.
func TestLateResponseOpensAgain(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		late := f.Submit(t, "INV-1")
		ended := fixture.Decide(t, late, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("one", true))
			d.DueAt = nil
			return d
		})
		if ended.DueAt != nil || ended.NextCheckAt != nil {
			t.Fatalf("polling has not ended: %s", fixture.Shown(ended))
		}
		reopened := fixture.Decide(t, late, func(s invoices.Submission,
			now time.Time) invoices.Decision {
			return fixture.Reported(s, now, fixture.AllFour("two", false))
		})
		if reopened.DueAt == nil || reopened.NextCheckAt == nil {
			t.Errorf("the open submission is not polled: %s", fixture.Shown(reopened))
		}
	})
}
