package store_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestUndeliveredDeliveries: failed and blocked deliveries of all subscriptions are listed newest first, in pages,
// filtered and counted by state. Pending and delivered ones are not listed, and redelivery removes one from the list.
func TestUndeliveredDeliveries(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		read := func(state api.DeliveryState, number, perPage int) (string, view.NewestDeliveries) {
			found, err := view.Of(f.tenant).Undelivered(ctx, state, number, perPage)
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
			s := f.subscribe(t, api.EventSubmissionUpdated)
			for range len(reasons) + 1 { // one is on its way
				f.tell(t, 1)
				f.Clock.Advance(time.Second)
			}
			for n, d := range f.claimDeliveries(t, s.ID, len(reasons)) {
				settlement := store.DeliveryUpdate{State: store.DeliveryFailed, Reason: reasons[n]}
				if reasons[n] == "redirect" {
					settlement.State = store.DeliveryBlocked
				}
				kit.Must(t, d.RecordAttempt(ctx, attempt(f, 302), settlement))
			}
		}
		all, found := read("", 1, 10)
		if all != "blocked redirect; failed attempts_exhausted; failed refused; " ||
			found.Counts[store.DeliveryFailed] != 2 || found.Counts[store.DeliveryBlocked] != 1 || found.Among() != 3 {
			t.Errorf("all: %s %v", all, found.Counts)
		}
		if got, _ := read("", 2, 2); got != "failed refused; " {
			t.Errorf("the second page: %s", got)
		}
		if got, found := read(store.DeliveryBlocked, 1, 10); got != "blocked redirect; " || found.Among() != 3 {
			t.Errorf("blocked: %s", got)
		}
		if got, found := read("", 1<<40, 10); got != "" || found.Among() != 3 {
			t.Errorf("past the end: %s", got)
		}
		_, err := f.tenant.Redeliver(ctx, found.Deliveries[2].ID)
		kit.Must(t, err)
		if got, _ := read("", 1, 10); got != "blocked redirect; failed attempts_exhausted; " {
			t.Errorf("after one is delivered again: %s", got)
		}
	})
}

// TestEvidenceBodies: the requested bodies are returned, except for those that are withheld, truncated or long, and
// those of another company.
func TestEvidenceBodies(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		var ids []store.ID
		for n, edit := range []func(*store.NewEvidence){
			func(e *store.NewEvidence) { e.Body = []byte(`{"messages":[]}`) },
			func(e *store.NewEvidence) { e.Withheld = true },
			func(e *store.NewEvidence) { e.Truncated = true },
			func(e *store.NewEvidence) { e.Body = make([]byte, 64<<10+1) },
		} {
			call := f.submit(t, fmt.Sprintf("BODY-%d", n))
			s := decide(t, call, func(s store.Submission, now time.Time) store.Decision {
				d := reported(s, now, allFour("accepted", true))
				edit(d.Evidence)
				return d
			})
			chain, err := f.tenant.Evidence(ctx, s.ID)
			kit.Must(t, err)
			ids = append(ids, chain[len(chain)-1].ID)
		}
		got, err := view.Of(f.tenant).EvidenceBodies(ctx, ids)
		if err != nil || len(got) != 1 || string(got[ids[0]]) != `{"messages":[]}` {
			t.Errorf("%d bodies, the first %q: %v", len(got), got[ids[0]], err)
		}
		if none, err := view.Of(f.tenant).EvidenceBodies(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("of none: %v, %v", none, err)
		}
		if others, err := view.Of(f.decoy.tenant).EvidenceBodies(ctx, ids); err != nil || len(others) != 0 {
			t.Errorf("of another company: %v, %v", others, err)
		}
	})
}

// TestSearchCreditNotes: credit notes are found by their text, by the text of the invoice that they credit, and by
// whether they are void. Those of another company are never found.
func TestSearchCreditNotes(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		invoices := map[string]store.ID{}
		for _, number := range []string{"INV-100%", "INV-200"} {
			invoices[number] = f.create(t, number).ID
		}
		first := f.credit(t, invoices["INV-100%"], byQuantity(0, "1"))
		second := f.credit(t, invoices["INV-200"], byQuantity(0, "1"))
		_, err := f.tenant.VoidCreditNote(ctx, second.ID)
		kit.Must(t, err)
		one := invoices["INV-200"]
		for name, c := range map[string]struct {
			search view.CreditNoteFilter
			want   []store.ID
		}{
			"everything": {view.CreditNoteFilter{}, []store.ID{second.ID, first.ID}},
			// all have the same one
			"its number":              {view.CreditNoteFilter{Text: first.Number}, []store.ID{second.ID, first.ID}},
			"the invoice's number":    {view.CreditNoteFilter{Text: "inv-2"}, []store.ID{second.ID}},
			"a sign of patterns":      {view.CreditNoteFilter{Text: "100%"}, []store.ID{first.ID}},
			"another sign":            {view.CreditNoteFilter{Text: "INV_200"}, nil},
			"the recipient":           {view.CreditNoteFilter{Text: "buyer & S"}, []store.ID{second.ID, first.ID}},
			"nothing":                 {view.CreditNoteFilter{Text: "of nobody"}, nil},
			"void":                    {view.CreditNoteFilter{Void: new(true)}, []store.ID{second.ID}},
			"live":                    {view.CreditNoteFilter{Void: new(false)}, []store.ID{first.ID}},
			"live of a void one's":    {view.CreditNoteFilter{Invoice: &one, Void: new(false)}, nil},
			"of an invoice, by text":  {view.CreditNoteFilter{Invoice: &one, Text: "200"}, []store.ID{second.ID}},
			"of an invoice, in vain":  {view.CreditNoteFilter{Invoice: &one, Text: "100"}, nil},
			"what stands in a reason": {view.CreditNoteFilter{Text: first.Reason[1:]}, []store.ID{second.ID, first.ID}},
		} {
			found, err := view.Of(f.tenant).CreditNotes(ctx, c.search, 1, 10)
			kit.Must(t, err)
			var got []store.ID
			for _, n := range found.Entries {
				got = append(got, n.ID)
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) || found.Total != len(c.want) {
				t.Errorf("%s: %v of %d, want %v", name, got, found.Total, c.want)
			}
		}
		second2, err := view.Of(f.tenant).CreditNotes(ctx, view.CreditNoteFilter{Text: "INV-"}, 2, 1)
		if err != nil || len(second2.Entries) != 1 || second2.Entries[0].ID != first.ID || second2.Total != 2 {
			t.Errorf("the second page: %+v, %v", second2, err)
		}
	})
}
