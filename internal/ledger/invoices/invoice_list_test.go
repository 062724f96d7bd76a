package invoices_test

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// listed is what the test of filters knows of an invoice.
type listed struct {
	number, external, recipient, issued, total, currency string
	created                                              time.Time
	id                                                   base.ID
	updated                                              time.Time
	outcome                                              api.Outcome // "" for a draft
	attempted                                            time.Time
	negative                                             bool
}

// fillList makes invoices of every kind, at different times.
func fillList(t *testing.T, f *fixture.Fixture) []listed {
	t.Helper()
	names := []string{"Palm Trading LLC", "palm & Sons", "ÖZGÜR Gıda", "zürich AG", "Ärzte 100%", "plain_name"}
	totals := []string{"10.00", "9.99", "-5.00", "999999999999999999", "100", "100.00", "0", "-999999999999999999", "0.01"}
	var out []listed
	for n := range 36 {
		f.Clock.Advance(time.Minute)
		l := listed{number: fmt.Sprintf("N-%d", n%30), recipient: names[n%len(names)],
			issued: fmt.Sprintf("2026-0%d-1%d", 1+n%4, n%7), total: totals[n%len(totals)]}
		d := fixture.Draft(l.number)
		d.RecipientName, d.IssueDate, d.TotalAmount = &l.recipient, &l.issued, fixture.Dec(l.total)
		if l.currency = "AED"; n%5 == 0 {
			l.currency = "USD"
		}
		d.Currency, d.Note = &l.currency, new(`"currency":"EUR"`)
		if n%3 == 0 {
			l.external = fmt.Sprintf("erp-%d", n%9)
			d.ExternalID = &l.external
		}
		created, err := invoices.Create(t.Context(), f.Tenant, d)
		kit.Must(t, err)
		l.id, l.created = created.ID, created.CreatedAt
		if n < 12 {
			f.Clock.Advance(time.Minute)
			call := f.Begin(t, created.ID)
			l.outcome, l.attempted = call.Submission.Outcome, call.Submission.AttemptedAt
			switch n % 4 {
			case 0:
				fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
					return fixture.Outcome(s, api.OutcomeUnknown)
				})
				l.outcome = api.OutcomeUnknown
			case 1:
				fixture.Decide(t, call, func(s invoices.Submission, _ time.Time) invoices.Decision {
					return fixture.Outcome(s, api.OutcomeRejected)
				})
				l.outcome = api.OutcomeRejected
			case 2:
				l.negative = n > 4
				word := invoice.StoredState{Value: "refused", Terminal: true, Meaning: api.MeaningPositive}
				if l.negative {
					word.Meaning = api.MeaningNegative
				}
				fixture.Record(t, call, fixture.Words{invoice.DimensionTaxAuthority: word})
				l.outcome = api.OutcomeAcknowledged
			}
		}
		found, err := invoices.Find(t.Context(), f.Tenant, created.ID)
		kit.Must(t, err)
		l.updated = found.UpdatedAt
		out = append(out, l)
	}
	return out
}

// attends tells what the filter "attention" has to.
func (l listed) attends(now time.Time) bool {
	return l.outcome == api.OutcomeRejected || l.outcome == api.OutcomeUnknown &&
		!l.attempted.After(now.Add(-10*time.Minute)) || l.negative
}

func amountOf(text string) *big.Rat {
	r, _ := new(big.Rat).SetString(text)
	return r
}

// TestInvoiceFilters: every filter and order shows what a look through all invoices would, page by page.
func TestInvoiceFilters(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		all := fillList(t, f)
		now := f.Clock.Now()
		since := all[20].updated
		contains := func(part string) func(listed) bool {
			return func(l listed) bool { return strings.Contains(strings.ToLower(l.recipient), strings.ToLower(part)) }
		}
		between := func(from, to string) func(listed) bool {
			return func(l listed) bool {
				return amountOf(l.total).Cmp(amountOf(from)) >= 0 && amountOf(l.total).Cmp(amountOf(to)) <= 0
			}
		}
		filters := []struct {
			name   string
			filter view.InvoiceFilter
			lets   func(listed) bool
		}{
			{"all", view.InvoiceFilter{}, func(listed) bool { return true }},
			{"number", view.InvoiceFilter{Number: new("N-3")}, func(l listed) bool { return l.number == "N-3" }},
			{"external", view.InvoiceFilter{ExternalID: new("erp-3")}, func(l listed) bool { return l.external == "erp-3" }},
			{"no external", view.InvoiceFilter{ExternalID: new("")}, func(listed) bool { return false }},
			{"recipient", view.InvoiceFilter{Recipient: "PALM"}, contains("palm")},
			{"recipient beyond Latin letters", view.InvoiceFilter{Recipient: "ärz"}, contains("ärz")},
			{"a per cent sign is text", view.InvoiceFilter{Recipient: "0%"}, contains("0%")},
			{"an underscore is text", view.InvoiceFilter{Recipient: "n_n"}, contains("n_n")},
			{"from", view.InvoiceFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-02-13"}},
				func(l listed) bool { return l.issued >= "2026-02-13" }},
			{"to", view.InvoiceFilter{IssueDates: view.IssueDates{IssuedTo: "2026-02-13"}},
				func(l listed) bool { return l.issued <= "2026-02-13" }},
			{"between", view.InvoiceFilter{IssueDates: view.IssueDates{IssuedFrom: "2026-02-11", IssuedTo: "2026-03-14"}},
				func(l listed) bool { return l.issued >= "2026-02-11" && l.issued <= "2026-03-14" }},
			{"updated", view.InvoiceFilter{UpdatedSince: &since}, func(l listed) bool { return !l.updated.Before(since) }},
			{"submitted", view.InvoiceFilter{Submitted: new(true)}, func(l listed) bool { return l.outcome != "" }},
			{"drafts", view.InvoiceFilter{Submitted: new(false)}, func(l listed) bool { return l.outcome == "" }},
			{"attention", view.InvoiceFilter{Attention: new(true)}, func(l listed) bool { return l.attends(now) }},
			{"no attention", view.InvoiceFilter{Attention: new(false)}, func(l listed) bool { return !l.attends(now) }},
			{"word", view.InvoiceFilter{States: map[invoice.Dimension]string{invoice.DimensionTaxAuthority: "refused"}},
				func(l listed) bool { return l.outcome == api.OutcomeAcknowledged }},
			{"amount from", view.InvoiceFilter{AmountFrom: fixture.Dec("9.990")}, between("9.99", "999999999999999999")},
			{"amount to", view.InvoiceFilter{AmountTo: fixture.Dec("0.01")}, between("-999999999999999999", "0.01")},
			{"amounts", view.InvoiceFilter{AmountFrom: fixture.Dec("-5"), AmountTo: fixture.Dec("10")}, between("-5", "10")},
			{"currency", view.InvoiceFilter{Currency: "USD"}, func(l listed) bool { return l.currency == "USD" }},
			{"the currency of a note is text", view.InvoiceFilter{Currency: "EUR"}, func(listed) bool { return false }},
			{"amounts in a currency of drafts", view.InvoiceFilter{AmountFrom: fixture.Dec("10"), Currency: "AED",
				Submitted: new(false)},
				func(l listed) bool {
					return between("10", "999999999999999999")(l) && l.currency == "AED" && l.outcome == ""
				}},
			{"recipient, dates and submitted", view.InvoiceFilter{Recipient: "palm",
				IssueDates: view.IssueDates{IssuedTo: "2026-03-01"}, Submitted: new(true)},
				func(l listed) bool { return contains("palm")(l) && l.issued <= "2026-03-01" && l.outcome != "" }},
			{"attention since", view.InvoiceFilter{Attention: new(true), UpdatedSince: &all[4].updated},
				func(l listed) bool { return l.attends(now) && !l.updated.Before(all[4].updated) }},
		}
		for _, order := range []view.InvoiceOrder{view.OrderCreated, view.OrderIssueDate, view.OrderTotal,
			view.OrderRecipient, view.OrderNumber, view.OrderUpdated} {
			for _, ascending := range []bool{false, true} {
				for _, test := range filters {
					test.filter.Order, test.filter.Ascending = order, ascending
					var want []base.ID
					for _, l := range sortedList(all, order, ascending) {
						if test.lets(l) {
							want = append(want, l.id)
						}
					}
					if got := pagesOf(t, f, test.filter, len(want)); !slices.Equal(got, want) {
						t.Errorf("%s by %q, ascending %t: %d invoices %v\nwant %d: %v", test.name, order, ascending, len(got), got,
							len(want), want)
					}
				}
			}
		}
	})
}

// sortedList is the list in an order, by the values themselves.
func sortedList(all []listed, order view.InvoiceOrder, ascending bool) []listed {
	sorted := slices.Clone(all)
	slices.SortFunc(sorted, func(a, b listed) int {
		n := 0
		switch order {
		case view.OrderCreated: // the order that they come in
		case view.OrderIssueDate:
			n = strings.Compare(a.issued, b.issued)
		case view.OrderTotal:
			n = amountOf(a.total).Cmp(amountOf(b.total))
		case view.OrderNumber:
			n = strings.Compare(strings.ToLower(a.number), strings.ToLower(b.number))
		case view.OrderUpdated:
			n = a.updated.Compare(b.updated)
		case view.OrderRecipient:
			n = strings.Compare(strings.ToLower(a.recipient), strings.ToLower(b.recipient))
		}
		return cmp.Or(n, a.created.Compare(b.created))
	})
	if !ascending {
		slices.Reverse(sorted)
	}
	return sorted
}

// pagesOf puts the pages of a list together.
func pagesOf(t *testing.T, f *fixture.Fixture, filter view.InvoiceFilter, want int) []base.ID {
	t.Helper()
	const perPage = 7
	var out []base.ID
	for page := 1; page <= want/perPage+2; page++ {
		found, err := view.Of(f.Tenant).Invoices(t.Context(), filter, page, perPage)
		kit.Must(t, err)
		if found.Total != want || found.Truncated {
			t.Errorf("page %d of %+v: total %d, truncated %t; want %d", page, filter, found.Total, found.Truncated, want)
		}
		for _, i := range found.Entries {
			out = append(out, i.ID)
		}
	}
	return out
}

// TestChangedSummary: a list shows and finds what a draft was changed to, and no more what it was.
func TestChangedSummary(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		created := f.Create(t, "INV-1")
		_, err := invoices.Update(t.Context(), f.Tenant, created.ID, func(int64) bool { return true },
			func([]byte) (api.Draft, error) {
				d := *fixture.Draft("INV-9")
				d.RecipientName, d.ExternalID, d.IssueDate, d.TotalAmount = new("New Name"), new("key"), new("2027-01-01"),
					fixture.Dec("7.00")
				d.Items = append(d.Items, d.Items...)
				return d, nil
			})
		kit.Must(t, err)
		for _, filter := range []view.InvoiceFilter{{}, {Recipient: "new name"}, {ExternalID: new("key")},
			{IssueDates: view.IssueDates{IssuedFrom: "2027-01-01"}}, {Search: "inv-9"}, {Number: new("INV-9")}} {
			found, err := view.Of(f.Tenant).Invoices(t.Context(), filter, 1, 10)
			kit.Must(t, err)
			if len(found.Entries) != 1 || found.Entries[0].Items != 2 || *found.Entries[0].Draft.RecipientName != "New Name" {
				t.Errorf("%+v finds %+v", filter, found)
			}
		}
		for _, filter := range []view.InvoiceFilter{{Recipient: "Söhne"},
			{IssueDates: view.IssueDates{IssuedTo: "2026-12-31"}}, {Search: "inv-1"}, {Number: new("INV-1")}} {
			if found, err := view.Of(f.Tenant).Invoices(t.Context(), filter, 1, 10); err != nil || found.Total != 0 {
				t.Errorf("%+v still finds %+v, %v", filter, found, err)
			}
		}
	})
}

// TestSummarize: invoices that a version without summaries stored or changed are listed as they are, and found by every
// filter once they are summarized, which opening the database does.
func TestSummarize(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		stored := f.Create(t, "INV-1")
		f.Clock.Advance(time.Second)
		changed := f.Create(t, "INV-2")
		// What the version before does.
		f.Exec(t, `delete from invoice_summaries where tenant_id = $1 and invoice_id = $2`, f.Tenant.ID(), stored.ID)
		f.Exec(t, `update invoices set summarized = 0 where tenant_id = $1 and id = $2`, f.Tenant.ID(), stored.ID)
		f.Exec(t,
			`update invoices set document = replace(document, 'Dubai', 'Sharjah'), version = version + 1, counted_version = version + 1 where tenant_id = $1 and id = $2`, f.Tenant.ID(), changed.ID)
		before, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{}, 1, 10)
		kit.Must(t, err)
		if row := before.Entries[1]; row.ID != stored.ID || row.Items != 1 || *row.Draft.InvoiceNumber != "INV-1" ||
			row.Draft.Items != nil {
			t.Errorf("without its summary it is listed as %+v", row)
		}
		f.DB = f.Again(t)
		tenant, err := f.DB.Tenant(t.Context(), f.Account.ID)
		kit.Must(t, err)
		if left := f.Number(t, `select count(*) from invoices where summarized = 0`); left != 0 {
			t.Errorf("%d invoices are not summarized", left)
		}
		after, err := view.Of(tenant).Invoices(t.Context(),
			view.InvoiceFilter{Recipient: "söhne", Order: view.OrderIssueDate, Ascending: true}, 1, 10)
		kit.Must(t, err)
		if len(after.Entries) != 2 || after.Entries[0].ID != stored.ID || *after.Entries[1].Draft.BuyerCity != "Sharjah" {
			t.Errorf("afterwards %+v", after.Entries)
		}
		if again, err := invoices.SummarizeMissing(t.Context(), f.DB); err != nil || again != 0 {
			t.Errorf("summarized again: %d, %v", again, err)
		}
	})
}

// TestSearchDepth: a list that has more candidates than it looks through says so, and is bounded; what an index finds
// is found however old it is; the plain list has everything.
func TestSearchDepth(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		oldest := f.Create(t, "OLDEST")
		f.Clock.Advance(time.Second)
		rejected := f.Submit(t, "REJECTED")
		fixture.Decide(t, rejected, func(s invoices.Submission, _ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeRejected)
		})
		f.Clock.Advance(time.Second)
		f.FillDrafts(t, f.Tenant, view.SearchDepth)
		for _, test := range []struct {
			filter           view.InvoiceFilter
			page, total, len int
			truncated        bool
		}{
			{view.InvoiceFilter{}, (view.SearchDepth + 2) / 25, view.SearchDepth + 2, 25, false},
			{view.InvoiceFilter{Submitted: new(false)}, 1, view.SearchDepth, 25, true},
			{view.InvoiceFilter{Order: view.OrderTotal}, view.SearchDepth / 25, view.SearchDepth, 25, true},
			{view.InvoiceFilter{Order: view.OrderTotal}, view.SearchDepth/25 + 1, view.SearchDepth, 0, true},
			{view.InvoiceFilter{Order: view.OrderTotal}, 1 << 60, view.SearchDepth, 0, true},
			{view.InvoiceFilter{Search: "oldest"}, 1, 0, 0, true},
			{view.InvoiceFilter{Search: "OLDEST"}, 1, 1, 1, true},
			{view.InvoiceFilter{Number: new("OLDEST")}, 1, 1, 1, false},
			{view.InvoiceFilter{Attention: new(true)}, 1, 1, 1, false},
		} {
			found, err := view.Of(f.Tenant).Invoices(t.Context(), test.filter, test.page, 25)
			kit.Must(t, err)
			if found.Total != test.total || len(found.Entries) != test.len || found.Truncated != test.truncated {
				t.Errorf("%+v page %d: %d of %d, truncated %t; want %d of %d, %t", test.filter, test.page, len(found.Entries),
					found.Total, found.Truncated, test.len, test.total, test.truncated)
			}
		}
		first, err := view.Of(f.Tenant).Invoices(t.Context(), view.InvoiceFilter{Ascending: true}, 1, 1)
		kit.Must(t, err)
		if first.Entries[0].ID != oldest.ID {
			t.Errorf("the oldest is %s, want %s", first.Entries[0].ID, oldest.ID)
		}
	})
}
