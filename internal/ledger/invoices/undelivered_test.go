package invoices_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestUndeliveredDeliveries: failed and blocked deliveries of all subscriptions are listed newest first, in pages,
// filtered and counted by state. Pending and delivered ones are not listed, and redelivery removes one from the list.
func TestUndeliveredDeliveries(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		read := func(state api.DeliveryState, number, perPage int) (string, view.NewestDeliveries) {
			found, err := view.Of(f.Tenant).Undelivered(ctx, state, number, perPage)
			kit.Must(t, err)
			out := ""
			for _, d := range found.Deliveries {
				out += fmt.Sprintf("%s %s; ", d.State, *d.Reason)
			}
			return out, found
		}
		if got, found := read("", 1, 10); got != "" || found.Among() != 0 {
			t.Errorf("before there is any: %s", got)
		}
		for _, reasons := range [][]string{{"refused", "attempts_exhausted"}, {"redirect"}} {
			s := f.Subscribe(t, api.EventSubmissionUpdated)
			for range len(reasons) + 1 { // one is on its way
				f.Tell(t, 1)
				f.Clock.Advance(time.Second)
			}
			for n, d := range f.ClaimDeliveries(t, s.ID, len(reasons)) {
				settlement := events.DeliveryUpdate{State: events.DeliveryFailed, Reason: reasons[n]}
				if reasons[n] == "redirect" {
					settlement.State = events.DeliveryBlocked
				}
				kit.Must(t, d.RecordAttempt(ctx, fixture.Attempt(f, 302), settlement))
			}
		}
		all, found := read("", 1, 10)
		if all != "blocked redirect; failed attempts_exhausted; failed refused; " ||
			found.Counts[events.DeliveryFailed] != 2 || found.Counts[events.DeliveryBlocked] != 1 || found.Among() != 3 {
			t.Errorf("all: %s %v", all, found.Counts)
		}
		if got, _ := read("", 2, 2); got != "failed refused; " {
			t.Errorf("the second page: %s", got)
		}
		if got, found := read(events.DeliveryBlocked, 1, 10); got != "blocked redirect; " || found.Among() != 3 {
			t.Errorf("blocked: %s", got)
		}
		if got, found := read("", 1<<40, 10); got != "" || found.Among() != 3 {
			t.Errorf("past the end: %s", got)
		}
		_, err := events.Redeliver(ctx, f.Tenant, found.Deliveries[2].ID)
		kit.Must(t, err)
		if got, _ := read("", 1, 10); got != "blocked redirect; failed attempts_exhausted; " {
			t.Errorf("after one is delivered again: %s", got)
		}
	})
}

// TestEvidenceBodies: the requested bodies are returned, except for those that are withheld, truncated or long, and
// those of another company.
func TestEvidenceBodies(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		var ids []base.ID
		for n, edit := range []func(*invoices.NewEvidence){
			func(e *invoices.NewEvidence) { e.Body = []byte(`{"messages":[]}`) },
			func(e *invoices.NewEvidence) { e.Withheld = true },
			func(e *invoices.NewEvidence) { e.Truncated = true },
			func(e *invoices.NewEvidence) { e.Body = make([]byte, 64<<10+1) },
		} {
			call := f.Submit(t, fmt.Sprintf("BODY-%d", n))
			s := fixture.Decide(t, call, func(s invoices.Submission, now time.Time) invoices.Decision {
				d := fixture.Reported(s, now, fixture.AllFour("accepted", true))
				edit(d.Evidence)
				return d
			})
			chain, err := fixture.EvidenceOf(ctx, f.Tenant, s.ID)
			kit.Must(t, err)
			ids = append(ids, chain[len(chain)-1].ID)
		}
		got, err := view.Of(f.Tenant).EvidenceBodies(ctx, ids)
		if err != nil || len(got) != 1 || string(got[ids[0]]) != `{"messages":[]}` {
			t.Errorf("%d bodies, the first %q: %v", len(got), got[ids[0]], err)
		}
		if none, err := view.Of(f.Tenant).EvidenceBodies(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
		if others, err := view.Of(f.Decoy.Tenant).EvidenceBodies(ctx, ids); err != nil || len(others) != 0 {
			t.Errorf("of another company: %v, %v", others, err)
		}
	})
}

// TestSearchCreditNotes: credit notes are found by their text, by the text of the invoice that they credit, and by
// whether they are void. Those of another company are never found.
func TestSearchCreditNotes(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		all := map[string]base.ID{}
		for _, number := range []string{"INV-100%", "INV-200"} {
			all[number] = f.Create(t, number).ID
		}
		first := f.Credit(t, all["INV-100%"], fixture.ByQuantity(0, "1"))
		second := f.Credit(t, all["INV-200"], fixture.ByQuantity(0, "1"))
		_, err := invoices.VoidCreditNote(ctx, f.Tenant, second.ID)
		kit.Must(t, err)
		one := all["INV-200"]
		for name, c := range map[string]struct {
			search view.CreditNoteFilter
			want   []base.ID
		}{
			"everything": {view.CreditNoteFilter{}, []base.ID{second.ID, first.ID}},
			// all have the same one
			"its number":              {view.CreditNoteFilter{Text: first.Number}, []base.ID{second.ID, first.ID}},
			"the invoice's number":    {view.CreditNoteFilter{Text: "inv-2"}, []base.ID{second.ID}},
			"a sign of patterns":      {view.CreditNoteFilter{Text: "100%"}, []base.ID{first.ID}},
			"another sign":            {view.CreditNoteFilter{Text: "INV_200"}, nil},
			"the recipient":           {view.CreditNoteFilter{Text: "buyer & S"}, []base.ID{second.ID, first.ID}},
			"nothing":                 {view.CreditNoteFilter{Text: "of nobody"}, nil},
			"void":                    {view.CreditNoteFilter{Void: new(true)}, []base.ID{second.ID}},
			"live":                    {view.CreditNoteFilter{Void: new(false)}, []base.ID{first.ID}},
			"live of a void one's":    {view.CreditNoteFilter{Invoice: &one, Void: new(false)}, nil},
			"of an invoice, by text":  {view.CreditNoteFilter{Invoice: &one, Text: "200"}, []base.ID{second.ID}},
			"of an invoice, in vain":  {view.CreditNoteFilter{Invoice: &one, Text: "100"}, nil},
			"what stands in a reason": {view.CreditNoteFilter{Text: first.Reason[1:]}, []base.ID{second.ID, first.ID}},
		} {
			found, err := view.Of(f.Tenant).CreditNotes(ctx, c.search, 1, 10)
			kit.Must(t, err)
			var got []base.ID
			for _, n := range found.Entries {
				got = append(got, n.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || found.Total != len(c.want) {
				t.Errorf("%s: %v of %d, want %v", name, got, found.Total, c.want)
			}
		}
		second2, err := view.Of(f.Tenant).CreditNotes(ctx, view.CreditNoteFilter{Text: "INV-"}, 2, 1)
		if err != nil || len(second2.Entries) != 1 || second2.Entries[0].ID != first.ID || second2.Total != 2 {
			t.Errorf("the second page: %+v, %v", second2, err)
		}
	})
}
