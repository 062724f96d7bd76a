package invoices_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestStates: each dimension has its own row, which refers to its evidence. A dimension that was never reported has no
// row, and the value of another dimension changes nothing.
func TestStates(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		call := f.Submit(t, "INV-1")
		fixture.Record(t, call, fixture.Words{invoice.DimensionSubmission: {Value: "taken"},
			invoice.DimensionReceiver: {Value: "delivered", Terminal: true}})
		changed := f.Clock.Advance(time.Minute)
		fixture.Record(t, call, fixture.Words{invoice.DimensionSubmission: {Value: "valid", Terminal: true}})
		chain, err := fixture.EvidenceOf(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		want := map[string][]any{
			"submission_state": {"valid", int64(1), chain[1].ID, changed.UnixMicro()},
			"receiver_state":   {"delivered", int64(1), chain[0].ID, changed.Add(-time.Minute).UnixMicro()},
		}
		for dimension, row := range want {
			var word string
			var terminal, at int64
			var evidence base.ID
			kit.Must(t, f.Raw.QueryRowContext(ctx,
				`select word, terminal, evidence_id, changed_at from states where submission_id = $1 and dimension = $2`,
				call.Submission.ID, dimension).Scan(&word, &terminal, &evidence, &at))
			if word != row[0] || terminal != row[1] || evidence != row[2] || at != row[3] {
				t.Errorf("%s is %q %d from %s at %d, want %v", dimension, word, terminal, evidence, at, row)
			}
		}
		if n := f.Number(t, `select count(*) from states where tenant_id = $1`, f.Tenant.ID()); n != 2 {
			t.Errorf("%d dimensions have a row, want 2", n)
		}
		kept, err := invoices.FindSubmission(ctx, f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "states", kept.States.Wire(), api.States{SubmissionState: new("valid"),
			ReceiverState: new("delivered")})
	})
}

// TestRecorded: Record returns what is stored.
func TestRecorded(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		at := f.Clock.Advance(time.Minute)
		after := fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
			d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventTerminal)
			d.MissingSince, d.MissingCount, d.LastSHA256 = &now, 3, [32]byte{9}
			return d
		})
		kept, err := invoices.FindSubmission(t.Context(), f.Tenant, call.Submission.ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the stored submission", kept, after)
		if kept.LastCheckedAt == nil || !kept.LastCheckedAt.Equal(at) || kept.TerminalAt == nil ||
			!kept.TerminalAt.Equal(at) || kept.PollWait != time.Second ||
			*kept.ProviderReference != "P-1" || *kept.Sequence != 1 || kept.Evidence != 1 || kept.LastStatus != 200 ||
			kept.LastSHA256 != [32]byte{9} || !kept.States.AllTerminal() {
			t.Errorf("kept %s", fixture.Shown(kept))
		}
		// A repeated answer moves the time of the last check, and nothing that customers see as a change.
		before, err := invoices.Find(t.Context(), f.Tenant, kept.Invoice)
		kit.Must(t, err)
		later := f.Clock.Advance(time.Minute)
		fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
			d := fixture.Outcome(s, s.Outcome)
			d.Responded, d.LastStatus, d.LastSHA256 = true, s.LastStatus, s.LastSHA256
			return d
		})
		unchanged, err := invoices.Find(t.Context(), f.Tenant, kept.Invoice)
		kit.Must(t, err)
		if unchanged.Version != before.Version || !unchanged.UpdatedAt.Equal(before.UpdatedAt) ||
			!unchanged.Submission.LastCheckedAt.Equal(later) || unchanged.Submission.Evidence != 1 {
			t.Errorf("a repeated answer changed\n%+v to\n%+v", before, unchanged)
		}
	})
}

// TestLostLease: a response that arrives after the lease has passed to another worker is kept, but does not change the
// schedule.
func TestLostLease(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		late := f.Submit(t, "INV-1")
		f.Clock.Advance(fixture.LeaseDuration)
		claimed := f.ClaimSubmissions(t, 10)
		if len(claimed) != 1 || len(f.ClaimSubmissions(t, 10)) != 0 {
			t.Fatalf("%d submissions were claimed", len(claimed))
		}
		due := claimed[0].Submission.DueAt
		after, err := late.Record(t.Context(),
			func(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
				if held {
					t.Error("the late call still has the lease")
				}
				return fixture.Reported(s, now, fixture.AllFour("accepted", false), api.EventSubmissionUpdated), nil
			})
		kit.Must(t, err)
		if after.DueAt == nil || !after.DueAt.Equal(*due) || after.Evidence != 1 || after.Outcome != api.OutcomeAcknowledged {
			t.Errorf("a late answer leads to %s", fixture.Shown(after))
		}
		after, err = claimed[0].Record(t.Context(), func(s invoices.Submission, held bool, now time.Time) (invoices.Decision,
			error) {
			if !held {
				t.Error("the late answer took the lease")
			}
			return fixture.Reported(s, now, fixture.AllFour("accepted", false)), nil
		})
		kit.Must(t, err)
		if want := f.Clock.Now().Add(time.Second); after.DueAt == nil || !after.DueAt.Equal(want) || after.Evidence != 2 {
			t.Errorf("the holder's answer leads to %s", fixture.Shown(after))
		}
	})
}

// TestKeepLease: the lease is kept for the caller's next step, or released with the response.
func TestKeepLease(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		for _, want := range []bool{true, true, false} {
			_, err := call.Record(t.Context(), func(s invoices.Submission, held bool, _ time.Time) (invoices.Decision, error) {
				if held != want {
					t.Errorf("held %v, want %v", held, want)
				}
				d := fixture.Outcome(s, api.OutcomeUnknown)
				if s.Outcome == api.OutcomeInProgress {
					d.KeepUntil = s.DueAt
				}
				return d, nil
			})
			kit.Must(t, err)
		}
	})
}

// TestFailedRecord: a transaction that fails at any step, or panics, leaves nothing behind, and the store continues to
// work.
func TestFailedRecord(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Subscribe(t, api.EventKinds[:]...)
		call, broken := f.Submit(t, "INV-1"), errors.New("broken")
		before := f.Dump(t, f.Company)
		steps := map[string]func(s invoices.Submission, now time.Time) (invoices.Decision, error){
			"deciding": func(invoices.Submission, time.Time) (invoices.Decision, error) { return invoices.Decision{}, broken },
			"states without evidence": func(s invoices.Submission, now time.Time) (invoices.Decision, error) {
				d := fixture.Reported(s, now, fixture.AllFour("accepted", true))
				d.Evidence = nil
				return d, nil
			},
			"an outcome there is not, after evidence and states": func(s invoices.Submission, now time.Time) (invoices.Decision,
				error) {
				d := fixture.Reported(s, now, fixture.AllFour("accepted", true), api.EventTerminal)
				d.Outcome = "guessed"
				return d, nil
			},
			"panic": func(invoices.Submission, time.Time) (invoices.Decision, error) { panic("in a decision") },
		}
		for name, step := range steps {
			err := func() (err error) {
				defer func() {
					if cause := recover(); cause != nil {
						err = errors.New("panicked")
					}
				}()
				_, err = call.Record(ctx, func(s invoices.Submission, _ bool, now time.Time) (invoices.Decision,
					error) {
					return step(s, now)
				})
				return err
			}()
			if err == nil || (name == "panic") != (err.Error() == "panicked") {
				t.Errorf("%s: error %v", name, err)
			}
			if f.Dump(t, f.Company) != before {
				t.Errorf("%s: something was left behind", name)
			}
		}
		fixture.Record(t, call, fixture.AllFour("accepted", true), api.EventTerminal)
		events, err := ledgertest.Events(ctx, f.Tenant, 0, 10)
		kit.Must(t, err)
		if len(events) != 1 || events[0].Position != 1 {
			t.Errorf("events %+v after the failures", events)
		}
	})
}

// TestSubmittedIsWhatAReaderFinds: the invoice that a submission returns equals the invoice that is read afterwards in
// every field that is shown: with and without a change, with an open and a closed circuit breaker, and for an invoice
// that was submitted before.
func TestSubmittedIsWhatAReaderFinds(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		same := func(what string, got invoices.Invoice) {
			t.Helper()
			found, err := invoices.Find(ctx, f.Tenant, got.ID)
			kit.Must(t, err)
			want, err := json.Marshal(view.Invoice(found, view.Seller{Profile: &f.Account.Profile}))
			kit.Must(t, err)
			if text, err := json.Marshal(view.Invoice(got, view.Seller{Profile: &f.Account.Profile})); err != nil ||
				!bytes.Equal(text, want) || got.Version != found.Version {
				t.Errorf("%s: version %d, want %d\ngot  %s\nwant %s (%v)", what, got.Version, found.Version, text, want, err)
			}
		}
		for n, step := range []func(invoices.Submission, time.Time) invoices.Decision{
			usableResponse, unusableResponse("timeout", 0), unusableResponse("timeout", 0), unusableResponse("timeout", 0),
			unusableResponse("timeout", 0), unusableResponse("timeout", time.Hour), unusableResponse("timeout", 0),
			usableResponse,
			func(s invoices.Submission, now time.Time) invoices.Decision {
				return fixture.Reported(s, now, fixture.AllFour("cleared", true))
			},
			func(s invoices.Submission, _ time.Time) invoices.Decision { return fixture.Outcome(s, s.Outcome) },
		} {
			created := f.Create(t, fmt.Sprintf("INV-%d", n))
			f.Clock.Advance(time.Millisecond)
			call := f.Begin(t, created.ID)
			f.Clock.Advance(time.Millisecond)
			call.Submission = fixture.Decide(t, call, step)
			same(fmt.Sprintf("step %d", n), call.Submitted())
		}
		created := f.Create(t, "INV-AGAIN")
		fixture.Record(t, f.Begin(t, created.ID), fixture.AllFour("pending", false))
		again, begun, err := invoices.BeginSubmission(ctx, f.Tenant, created.ID, fixture.Intent())
		kit.Must(t, err)
		if begun {
			t.Error("submitted twice")
		}
		same("submitted before", again.Submitted())
	})
}
