package invoices_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// meant is a value with a published meaning, or without one.
func meant(value string, meaning api.Meaning) invoice.StoredState {
	return invoice.StoredState{Value: value, Meaning: meaning, Terminal: meaning == api.MeaningPositive}
}

// wantTabs checks how many invoices are in the tabs: those that need attention, in progress, accepted and drafts.
func wantTabs(t *testing.T, tenant *base.Tenant, attention, inProgress, accepted, drafts int) {
	t.Helper()
	counts, err := view.Of(tenant).TabCounts(t.Context())
	kit.Must(t, err)
	got := map[view.Tab]int{}
	for _, tab := range view.Tabs {
		got[tab] = counts[tab].Invoices
	}
	fixture.WantEqual(t, "tabs", got, map[view.Tab]int{view.TabAll: attention + inProgress + accepted + drafts,
		view.TabAttention:  attention,
		view.TabInProgress: inProgress, view.TabAccepted: accepted, view.TabDrafts: drafts})
}

// TestTabCounts follows invoices through the tabs.
func TestTabCounts(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		wantTabs(t, f.Tenant, 0, 0, 0, 0)
		first, gone := f.Create(t, "INV-1"), f.Create(t, "INV-2")
		wantTabs(t, f.Tenant, 0, 0, 0, 2)
		kit.Must(t, invoices.Delete(ctx, f.Tenant, gone.ID, fixture.AnyVersion))
		call := f.Begin(t, first.ID)
		wantTabs(t, f.Tenant, 0, 1, 0, 0) // the call is under way
		fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.KeepUntil = s.DueAt
			return d
		})
		wantTabs(t, f.Tenant, 0, 1, 0, 0)
		f.Clock.Advance(view.AttentionAfter + time.Minute)
		wantTabs(t, f.Tenant, 1, 0, 0, 0)
		late := call
		for _, step := range []struct {
			report              fixture.Words
			attention, accepted int
		}{
			// the provider has the document, and nothing more
			{fixture.Words{invoice.DimensionSubmission: meant("taken", api.MeaningPositive)}, 0, 0},
			{fixture.Words{invoice.DimensionTaxAuthority: meant("ok", "")}, 0, 0}, // no published meaning
			{fixture.Words{invoice.DimensionTaxAuthority: meant("ok", api.MeaningPositive)}, 0, 1},
			{fixture.Words{invoice.DimensionReceiver: meant("asked", api.MeaningWaiting)}, 0, 0},
			{fixture.Words{invoice.DimensionReceiver: meant("no", api.MeaningNegative)}, 1, 0},
			{fixture.Words{invoice.DimensionReceiver: meant("yes", api.MeaningPositive)}, 0, 1},
		} {
			fixture.Record(t, late, step.report)
			wantTabs(t, f.Tenant, step.attention, 1-step.attention-step.accepted, step.accepted, 0)
		}
		counts, err := view.Of(f.Tenant).TabCounts(ctx)
		kit.Must(t, err)
		fixture.WantEqual(t, "sums", counts[view.TabAccepted].Sums, []view.Sum{{Currency: "AED", Amount: "1050"}})
	})
}

// TestSumsAreExact: sums are exact beyond what a number of the database or a float holds, with either sign.
func TestSumsAreExact(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		for n, amount := range []string{"999999999999999999", "999999999999.999999", "0.000001", "-0.5", "999999999999999999",
			"7"} {
			d := fixture.Draft(fmt.Sprint("INV-", n))
			d.TotalAmount = fixture.Dec(amount)
			if amount == "7" {
				d.Currency = nil
			}
			_, err := invoices.Create(t.Context(), f.Tenant, d)
			kit.Must(t, err)
		}
		counts, err := view.Of(f.Tenant).TabCounts(t.Context())
		kit.Must(t, err)
		fixture.WantEqual(t, "sums", counts[view.TabDrafts].Sums,
			[]view.Sum{{Currency: "", Amount: "7"}, {Currency: "AED", Amount: "2000000999999999997.5"}})
	})
}

// TestCountersEqualRecount: whatever companies, providers and administrators do, and however it is committed, the
// counters equal a full count afterwards.
func TestCountersEqualRecount(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		for seed := range uint64(4) {
			w := &counterWorld{t: t, f: f, random: rand.New(rand.NewPCG(seed, 7)), calls: map[base.ID]invoices.SubmissionLease{}}
			for range 60 {
				w.step()
				f.Clock.Advance(time.Duration(w.random.IntN(int(2 * time.Hour))))
			}
			w.checkTabs()
			fixture.CheckCounters(t, f.DB)
		}
	})
}

// counterWorld makes random writes.
type counterWorld struct {
	t        *testing.T
	f        *fixture.Fixture
	random   *rand.Rand
	number   int
	invoices []base.ID
	calls    map[base.ID]invoices.SubmissionLease
}

func (w *counterWorld) draft() *api.Draft {
	w.number++
	d := fixture.Draft(fmt.Sprintf("R-%d-%d", w.random.Uint64(), w.number))
	d.Currency = new([]string{"AED", "EUR", "USD"}[w.random.IntN(3)])
	d.TotalAmount = fixture.Dec(fmt.Sprintf("%d.%06d", w.random.Int64N(100_000_000_000), w.random.IntN(1_000_000)))
	if w.random.IntN(4) == 0 {
		d.TotalAmount = nil
	}
	return d
}

// pick returns one of the invoices.
func (w *counterWorld) pick() (base.ID, bool) {
	if len(w.invoices) == 0 {
		return base.ID{}, false
	}
	return w.invoices[w.random.IntN(len(w.invoices))], true
}

// refusals are the errors of writes that are not possible in the state of an invoice.
var refusals = []error{invoices.ErrNotEditable, invoices.ErrSubmissionInProgress, base.ErrNotFound,
	invoices.ErrOutcomeKnown, base.ErrLeaseLost}

// try fails the test for every error that is no refusal.
func (w *counterWorld) try(err error) {
	w.t.Helper()
	if err != nil && !slices.ContainsFunc(refusals, func(refusal error) bool { return errors.Is(err, refusal) }) {
		w.t.Fatal(err)
	}
}

func (w *counterWorld) step() {
	ctx, f := w.t.Context(), w.f
	id, some := w.pick()
	switch n := w.random.IntN(12); {
	case !some || n < 2:
		w.createTogether(1 + w.random.IntN(8))
	case n < 3:
		changed := w.draft()
		_, err := invoices.Update(ctx, f.Tenant, id, fixture.AnyVersion,
			func([]byte) (api.Draft, error) { return *changed, nil })
		w.try(err)
	case n < 4:
		w.try(invoices.Delete(ctx, f.Tenant, id, fixture.AnyVersion))
	case n < 6:
		call, begun, err := invoices.BeginSubmission(ctx, f.Tenant, id, fixture.Intent())
		if w.try(err); begun {
			w.calls[id] = call
		}
	case n < 7:
		if call, ok := w.calls[id]; ok {
			_, err := invoices.ResolveAnySubmission(ctx, f.DB, call.Submission.ID,
				[]string{invoices.DecisionReject, invoices.DecisionResend}[w.random.IntN(2)], "because")
			w.try(err)
		}
	case n < 8:
		if w.random.IntN(10) == 0 {
			_, err := ledger.MarkRestored(ctx, f.DB)
			w.try(err)
		}
		_, err := invoices.ApplyRetention(ctx, f.DB, invoices.Retention{Events: time.Hour, Attempts: time.Hour})
		w.try(err)
	case n < 9:
		for _, call := range f.ClaimSubmissions(w.t, 5) {
			w.calls[call.Submission.Invoice] = call
		}
	default:
		if call, ok := w.calls[id]; ok {
			w.respond(call)
		}
	}
}

// createTogether creates drafts at the same time, which are committed together.
func (w *counterWorld) createTogether(n int) {
	drafts, created, errs := make([]*api.Draft, n), make([]base.ID, n), make([]error, n)
	for i := range drafts {
		drafts[i] = w.draft()
	}
	fixture.Race(n, func(i int) {
		made, err := invoices.Create(w.t.Context(), w.f.Tenant, drafts[i])
		created[i], errs[i] = made.ID, err
	})
	kit.Must(w.t, errors.Join(errs...))
	w.invoices = append(w.invoices, created...)
}

// respond records a response, with a lease that may be lost, so that some responses are late.
func (w *counterWorld) respond(call invoices.SubmissionLease) {
	report := fixture.Words{}
	for _, d := range invoice.Dimensions {
		if w.random.IntN(2) == 0 {
			report[d] = meant("value", []api.Meaning{api.MeaningPositive, api.MeaningPositive, api.MeaningNegative,
				api.MeaningWaiting, ""}[w.random.IntN(5)])
		}
	}
	outcomes := []api.Outcome{api.OutcomeAcknowledged, api.OutcomeAcknowledged, api.OutcomeUnknown, api.OutcomeRejected,
		invoices.OutcomeNotSent}
	chosen := outcomes[w.random.IntN(len(outcomes))]
	_, err := call.Record(w.t.Context(), func(s invoices.Submission, held bool, now time.Time) (invoices.Decision, error) {
		if chosen == invoices.OutcomeNotSent && (!held || s.Outcome != api.OutcomeInProgress) ||
			s.Outcome == api.OutcomeResolvedRejected {
			return s.Unchanged(), nil
		}
		if chosen == invoices.OutcomeNotSent {
			return fixture.Outcome(s, chosen), nil
		}
		d := fixture.ReadAs(fixture.Reported(s, now, report, api.EventStatusChanged))
		d.Outcome = chosen
		return d, nil
	})
	w.try(err)
}

// checkTabs compares the counts and the sums of the tabs with the invoices.
func (w *counterWorld) checkTabs() {
	w.t.Helper()
	ctx := w.t.Context()
	counts, err := view.Of(w.f.Tenant).TabCounts(ctx)
	kit.Must(w.t, err)
	total := 0
	for _, tab := range view.Tabs[1:] {
		total += counts[tab].Invoices
	}
	all, err := view.Of(w.f.Tenant).Invoices(ctx, view.InvoiceFilter{}, 1, 1)
	kit.Must(w.t, err)
	if counts[view.TabAll].Invoices != all.Total || total != all.Total {
		w.t.Errorf("%d invoices are counted, and %d in the tabs, of %d", counts[view.TabAll].Invoices, total, all.Total)
	}
	for _, filter := range []view.InvoiceFilter{{}, {Order: view.OrderTotal}, {Search: "R-"}} {
		for _, filter.Tab = range view.Tabs[1:] {
			found, err := view.Of(w.f.Tenant).Invoices(ctx, filter, 1, 500)
			kit.Must(w.t, err)
			if found.Total != counts[filter.Tab].Invoices || len(found.Entries) != found.Total {
				w.t.Errorf("the list %+v has %d entries of %d, and %d are counted", filter, len(found.Entries), found.Total,
					counts[filter.Tab].Invoices)
			}
		}
	}
	attention, err := view.Of(w.f.Tenant).Invoices(ctx, view.InvoiceFilter{Attention: new(true)}, 1, 1)
	kit.Must(w.t, err)
	if d := cmp.Diff(attention.Total, counts[view.TabAttention].Invoices); d != "" {
		w.t.Errorf("attention (-list +counted): %s", d)
	}
}

// TestUncounted: what another program stores, changes or deletes is found and counted.
func TestUncounted(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for n := range 5 {
			f.Create(t, fmt.Sprint("INV-", n))
		}
		call := f.Submit(t, "INV-9")
		fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeUnknown)
		})
		// What a program does that knows no counters.
		f.Exec(t,
			`update invoices set category = '', counted = '', counted_version = 0 where tenant_id = $1 and number = 'INV-0'`,
			f.Tenant.ID())
		f.Exec(t,
			`update invoice_counters set invoices = invoices - 1, amount_middle = amount_middle - 1, amount_low = amount_low - 50000000 where tenant_id = $1 and category = 'draft'`, f.Tenant.ID())
		f.Exec(t, `update submissions set outcome = 'rejected' where tenant_id = $1 and id = $2`, f.Tenant.ID(),
			call.Submission.ID)
		f.Exec(t, `update invoices set version = version + 1 where tenant_id = $1 and id = $2`, f.Tenant.ID(),
			call.Submission.Invoice)
		counted, err := invoices.CountMissing(ctx, f.DB)
		if kit.Must(t, err); counted != 2 {
			t.Errorf("%d invoices were counted, want 2", counted)
		}
		fixture.CheckCounters(t, f.DB)
		wantTabs(t, f.Tenant, 1, 0, 0, 5)
		f.Exec(t, `delete from invoices where tenant_id = $1 and number = 'INV-1'`, f.Tenant.ID())
		f.Exec(t, `update invoices set category = 'accepted' where tenant_id = $1 and number = 'INV-2'`, f.Tenant.ID())
		faults, err := invoices.Recount(ctx, f.DB, true)
		if kit.Must(t, err); len(faults) < 3 {
			t.Errorf("faults %v, want those of an invoice and of two counters", faults)
		}
		fixture.CheckCounters(t, f.DB)
		wantTabs(t, f.Tenant, 1, 0, 0, 4)
	})
}
