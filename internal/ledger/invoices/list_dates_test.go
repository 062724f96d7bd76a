package invoices_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestCreditNotesByIssueDate: both bounds are inclusive, other filters apply as well, and each page has its part of the
// list, newest first.
func TestCreditNotesByIssueDate(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		var notes []invoices.CreditNote
		one := f.Create(t, "INV-1").ID
		for n, day := range []string{"2026-03-02", "2026-03-01", "2026-02-28", "2026-03-31", "2026-04-01"} {
			made, err := invoices.CreateCreditNote(t.Context(), f.Tenant, one,
				func(draft *api.Draft, live []invoice.Credit) (invoices.NewCreditNote, error) {
					note, err := fixture.CreditBy("CN-"+string(rune('a'+n)), fixture.ByQuantity(0, "1"))(draft, live)
					note.IssueDate = day
					return note, err
				})
			kit.Must(t, err)
			notes = append(notes, made)
		}
		voidCredit(t, f, notes[1].ID)
		other := f.Create(t, "INV-2").ID
		march := view.IssueDates{IssuedFrom: "2026-03-01", IssuedTo: "2026-03-31"}
		for name, test := range map[string]struct {
			filter view.CreditNoteFilter
			want   string
		}{
			"month": {view.CreditNoteFilter{IssueDates: march}, "CN-d CN-b CN-a "},
			"from": {view.CreditNoteFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-03-02"}},
				"CN-e CN-d CN-a "},
			"to":            {view.CreditNoteFilter{IssueDates: view.IssueDates{IssuedTo: "2026-03-01"}}, "CN-c CN-b "},
			"nothing":       {view.CreditNoteFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-04-02"}}, ""},
			"live":          {view.CreditNoteFilter{IssueDates: march, Void: new(false)}, "CN-d CN-a "},
			"void":          {view.CreditNoteFilter{IssueDates: march, Void: new(true)}, "CN-b "},
			"text":          {view.CreditNoteFilter{IssueDates: march, Text: "cn-A"}, "CN-a "},
			"of an invoice": {view.CreditNoteFilter{IssueDates: march, Invoice: &one}, "CN-d CN-b CN-a "},
			"of another":    {view.CreditNoteFilter{IssueDates: march, Invoice: &other}, ""},
			"text of one, live": {view.CreditNoteFilter{IssueDates: march, Invoice: &one, Text: "N-", Void: new(false)},
				"CN-d CN-a "},
		} {
			got, total := "", 0
			for number := 1; number <= 3; number++ {
				page, err := view.Of(f.Tenant).CreditNotes(t.Context(), test.filter, number, 2)
				kit.Must(t, err)
				for _, note := range page.Entries {
					got += note.Number + " "
				}
				total = page.Total
			}
			if got != test.want || total != len(test.want)/len("CN-a ") {
				t.Errorf("%s: %q of %d, want %q", name, got, total, test.want)
			}
		}
	})
}

// TestIncomingByDates: the latest revision of an e-invoice counts, and one without an issue date has none.
func TestIncomingByDates(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		arrive := func(id, body string, day *string) time.Time {
			document := fixture.Incoming(id, body)
			document.IssueDate = day
			kit.Must(t, incoming.Seed(t.Context(), f.Tenant, []incoming.NewIncoming{document}))
			at := f.Clock.Now()
			f.Clock.Advance(time.Hour)
			return at
		}
		arrive("a", "A", new("2026-03-01"))
		second := arrive("b", "B", new("2026-03-31"))
		arrive("c", "C", new("2026-04-01"))
		arrive("d", "D", nil)
		moved := arrive("a", "A2", new("2026-02-27")) // the revision replaces the date
		march := view.IssueDates{IssuedFrom: "2026-03-01", IssuedTo: "2026-03-31"}
		for name, test := range map[string]struct {
			filter view.IncomingFilter
			want   string
		}{
			"month":              {view.IncomingFilter{IssueDates: march}, "b"},
			"from":               {view.IncomingFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-03-31"}}, "cb"},
			"to":                 {view.IncomingFilter{IssueDates: view.IssueDates{IssuedTo: "2026-03-31"}}, "ba"},
			"change":             {view.IncomingFilter{UpdatedSince: second}, "dcba"},
			"last change":        {view.IncomingFilter{UpdatedSince: moved}, "a"},
			"no change":          {view.IncomingFilter{UpdatedSince: moved.Add(time.Microsecond)}, ""},
			"change and date":    {view.IncomingFilter{UpdatedSince: second, IssueDates: fixture.Year()}, "cba"},
			"date and text":      {view.IncomingFilter{IssueDates: fixture.Year(), Text: "sup-C"}, "c"},
			"dates without text": {view.IncomingFilter{IssueDates: fixture.Year(), Text: "nothing"}, ""},
		} {
			got, total := "", 0
			for number := 1; number <= 3; number++ {
				page, err := view.Of(f.Tenant).IncomingInvoices(t.Context(), test.filter, number, 2)
				kit.Must(t, err)
				for _, one := range page.Entries {
					got += one.ProviderDocumentID
				}
				total = page.Total
			}
			if got != test.want || total != len(test.want) {
				t.Errorf("%s: %q of %d, want %q", name, got, total, test.want)
			}
		}
	})
}
