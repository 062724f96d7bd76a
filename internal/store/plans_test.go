package store_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

// plan returns the steps of SQLite's plan for a statement.
func (f *fixture) plan(t *testing.T, query string, args []any) []string {
	t.Helper()
	rows, err := f.raw.QueryContext(t.Context(), "explain query plan "+query, args...)
	must(t, err)
	defer func() { must(t, rows.Close()) }()
	var steps []string
	for rows.Next() {
		var id, parent, unused int64
		var step string
		must(t, rows.Scan(&id, &parent, &unused, &step))
		steps = append(steps, step)
	}
	must(t, rows.Err())
	return steps
}

// wholeTable is a step that reads every row of a table of the database, by whichever way; what a statement made itself may be.
var wholeTable = regexp.MustCompile(`^SCAN (\w+)`)

// made are the tables that the statements of lists make themselves.
var made = map[string]bool{"examined": true, "matched": true, "p": true, "one": true, "newest": true, "numbered": true, "undecided": true, "w": true, "CONSTANT": true}

// wantIndexed fails the test when a plan reads every row of a table.
func wantIndexed(t *testing.T, query string, steps []string) {
	t.Helper()
	for _, step := range steps {
		if found := wholeTable.FindStringSubmatch(step); found != nil && !made[found[1]] {
			t.Errorf("%s: %s\nin %s", step, strings.Join(strings.Fields(query), " "), strings.Join(steps, "\n"))
		}
	}
}

// TestDeliveryPlans: deliveries are listed by the index of their identifiers or of what is asked for, and never sorted.
func TestDeliveryPlans(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		s := f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 2)
		if !f.SingleServer() {
			return // PostgreSQL chooses by its statistics
		}
		all, err := view.Of(f.tenant).Deliveries(t.Context(), view.DeliveryFilter{}, 1, 25)
		must(t, err)
		statements := 0
		for _, filter := range []view.DeliveryFilter{
			{}, {State: store.DeliveryPending}, {State: store.DeliveryFailed}, {State: store.DeliveryBlocked}, {Kind: api.EventTerminal}, {Subscription: s.ID},
			{Subscription: s.ID, State: store.DeliveryFailed, Kind: api.EventTerminal}, {Event: all.Entries[0].Event}, {Event: all.Entries[0].Event, Subscription: s.ID},
		} {
			watched := store.WatchReads(f.tenant, func(query string, args []any) {
				statements++
				steps := f.plan(t, query, args)
				wantIndexed(t, query, steps)
				// The few deliveries of one event may be sorted.
				if plan := strings.Join(steps, "\n"); strings.Contains(plan, "TEMP B-TREE") && filter.Event.IsZero() {
					t.Errorf("%+v sorts: %s\n%s", filter, query, plan)
				}
			})
			_, err := view.Of(watched).Deliveries(t.Context(), filter, 1, 25)
			must(t, err)
		}
		if statements < 18 {
			t.Errorf("only %d statements were looked at", statements)
		}
	})
}

// TestInvoicePlans: no filter or order of invoices reads a whole table, or a document.
func TestInvoicePlans(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		f.create(t, "INV-1")
		if !f.SingleServer() {
			return // PostgreSQL chooses by its statistics
		}
		now := time.Now()
		statements := 0
		for _, filter := range []view.InvoiceFilter{
			{Order: view.OrderIssueDate}, {Order: view.OrderTotal, Ascending: true}, {Order: view.OrderRecipient}, {Number: new("x")}, {ExternalID: new("x")}, {Submitted: new(true)},
			{States: map[invoice.Dimension]string{invoice.DimensionReceiver: "x"}}, {Unreported: []invoice.Dimension{invoice.DimensionReceiver}}, {Outcome: new(api.OutcomeRejected)},
			{Attention: new(true)}, {Attention: new(false)}, {IssuedFrom: "2026-01-01"}, {IssuedTo: "2026-01-01", Order: view.OrderIssueDate, Ascending: true},
			{UpdatedSince: &now, Submitted: new(false)}, {Recipient: "x"}, {Search: "x"},
		} {
			watched := store.WatchReads(f.tenant, func(query string, args []any) {
				statements++
				wantIndexed(t, query, f.plan(t, query, args))
				if strings.Contains(query, "document") {
					t.Errorf("a search reads documents: %s", query)
				}
			})
			_, err := view.Of(watched).Invoices(t.Context(), filter, 1, 25)
			must(t, err)
		}
		if statements < 16 {
			t.Errorf("only %d statements were looked at", statements)
		}
	})
}
