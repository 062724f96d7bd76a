package view_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// wholeList is a list in the two ways in which it can be read.
type wholeList struct {
	name string
	// ids returns the identifiers of the whole list, rows those of the rows with some identifiers, and page those of a
	// page.
	ids  func(v view.Tenant) ([]base.ID, error)
	rows func(v view.Tenant, ids []base.ID) ([]base.ID, error)
	page func(v view.Tenant, number, perPage int) ([]base.ID, error)
}

func idsOf[R any](rows []R, err error, id func(R) base.ID) ([]base.ID, error) {
	var ids []base.ID
	for _, row := range rows {
		ids = append(ids, id(row))
	}
	return ids, err
}

func wholeLists(ctx context.Context) []wholeList {
	march := view.IssueDates{IssuedFrom: "2026-03-01", IssuedTo: "2026-03-31"}
	invoiceID := func(i invoices.InvoiceRow) base.ID { return i.ID }
	creditID := func(n invoices.CreditNoteRow) base.ID { return n.ID }
	incomingID := func(i incoming.Incoming) base.ID { return i.ID }
	deliveryID := func(d events.Delivery) base.ID { return d.ID }
	subscriptionID := func(s events.Subscription) base.ID { return s.ID }
	auditID := func(e base.AuditEntry) base.ID { return e.ID }
	var lists []wholeList
	for _, filter := range []view.InvoiceFilter{
		{}, {Ascending: true}, {Tab: view.TabDrafts}, {Tab: view.TabDrafts, Ascending: true},
		{Tab: view.TabAll, Order: view.OrderTotal}, {Order: view.OrderNumber, Ascending: true},
		{Order: view.OrderUpdated}, {Search: "inv"}, {Submitted: new(true)},
		{States: map[invoice.Dimension]string{invoice.DimensionReceiver: "delivered"}},
		{IssueDates: view.IssueDates{IssuedFrom: "2026-01-01"}},
		{Number: new("INV-1")}, {Recipient: "nobody"},
	} {
		lists = append(lists, wholeList{name: fmt.Sprintf("invoices %+v", filter),
			ids: func(v view.Tenant) ([]base.ID, error) { return v.InvoiceIDs(ctx, filter) },
			rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
				found, err := v.InvoicesByID(ctx, ids)
				return idsOf(found, err, invoiceID)
			},
			page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
				found, err := v.Invoices(ctx, filter, number, perPage)
				return idsOf(found.Entries, err, invoiceID)
			}})
	}
	for _, filter := range []view.CreditNoteFilter{{}, {Text: "cn"}, {Void: new(true)}, {Void: new(false)},
		{IssueDates: march}, {IssueDates: march, Void: new(false), Text: "cn"},
		{IssueDates: view.IssueDates{IssuedTo: "2000-01-01"}}} {
		lists = append(lists, wholeList{name: fmt.Sprintf("credit notes %+v", filter),
			ids: func(v view.Tenant) ([]base.ID, error) { return v.CreditNoteIDs(ctx, filter) },
			rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
				found, err := v.CreditNotesByID(ctx, ids)
				return idsOf(found, err, creditID)
			},
			page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
				found, err := v.CreditNotes(ctx, filter, number, perPage)
				return idsOf(found.Entries, err, creditID)
			}})
	}
	for _, filter := range []view.IncomingFilter{{}, {Text: "sup"}, {IssueDates: march}, {UpdatedSince: time.Unix(1, 0)},
		{UpdatedSince: time.Unix(1, 0), Text: "sup"}} {
		lists = append(lists, wholeList{name: fmt.Sprintf("incoming %+v", filter),
			ids: func(v view.Tenant) ([]base.ID, error) { return v.IncomingIDs(ctx, filter) },
			rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
				found, err := v.IncomingByID(ctx, ids)
				return idsOf(found, err, incomingID)
			},
			page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
				found, err := v.IncomingInvoices(ctx, filter, number, perPage)
				return idsOf(found.Entries, err, incomingID)
			}})
	}
	for _, filter := range []view.DeliveryFilter{{}, {State: api.DeliveryPending}, {Kind: api.EventStatusChanged},
		{Undelivered: true}} {
		lists = append(lists, wholeList{name: fmt.Sprintf("deliveries %+v", filter),
			ids: func(v view.Tenant) ([]base.ID, error) { return v.DeliveryIDs(ctx, filter) },
			rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
				found, err := v.DeliveriesByID(ctx, ids)
				return idsOf(found, err, deliveryID)
			},
			page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
				found, err := v.Deliveries(ctx, filter, number, perPage)
				return idsOf(found.Entries, err, deliveryID)
			}})
	}
	lists = append(lists, wholeList{name: "subscriptions",
		ids: func(v view.Tenant) ([]base.ID, error) { return v.SubscriptionIDs(ctx) },
		rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
			found, err := v.SubscriptionsByID(ctx, ids)
			return idsOf(found, err, subscriptionID)
		},
		page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
			found, err := v.Subscriptions(ctx, number, perPage)
			return idsOf(found.Entries, err, subscriptionID)
		}})
	for _, filter := range []view.AuditFilter{{}, {Act: "draft"}} {
		lists = append(lists, wholeList{name: fmt.Sprintf("audit log %+v", filter),
			ids: func(v view.Tenant) ([]base.ID, error) { return v.AuditIDs(ctx, filter) },
			rows: func(v view.Tenant, ids []base.ID) ([]base.ID, error) {
				found, err := v.AuditByID(ctx, ids)
				return idsOf(found, err, auditID)
			},
			page: func(v view.Tenant, number, perPage int) ([]base.ID, error) {
				found, err := v.AuditLog(ctx, filter, number, perPage)
				return idsOf(found.Entries, err, auditID)
			}})
	}
	return lists
}

// TestWholeListIsItsPages compares the identifiers of each whole list with its pages, and reads its rows by them: in
// the order in which they are asked for, and never those of another company. A list of more rows than a whole list may
// have is refused.
func TestWholeListIsItsPages(t *testing.T) {
	forEachEngine(t, func(t *testing.T, s *ledgertest.Store) {
		ctx, first, second := t.Context(), newCompany(t, s, "first@example.com"), newCompany(t, s, "second@example.com")
		for _, c := range []company{first, second} {
			for n := range 5 {
				d := draft(fmt.Sprintf("INV-%d", 10+n))
				d.TotalAmount = new(api.MustDecimal(fmt.Sprint(100 - n)))
				_, err := invoices.Create(ctx, c.tenant, d)
				kit.Must(t, err)
			}
		}
		for _, list := range wholeLists(ctx) {
			got, err := list.ids(first.view)
			kit.Must(t, err)
			var want []base.ID
			for page := 1; ; page++ {
				ids, err := list.page(first.view, page, 2)
				kit.Must(t, err)
				if want = append(want, ids...); len(ids) < 2 {
					break
				}
			}
			if !slices.Equal(got, want) {
				t.Errorf("%s: the whole list is %v, and its pages %v", list.name, got, want)
			}
			strangers, err := list.ids(second.view)
			kit.Must(t, err)
			asked := slices.Concat(strangers, got)
			slices.Reverse(asked)
			rows, err := list.rows(first.view, asked)
			kit.Must(t, err)
			slices.Reverse(got)
			if !slices.Equal(rows, got) {
				t.Errorf("%s: asked for %v among others, and got %v", list.name, got, rows)
			}
			if rows, err := list.rows(first.view, nil); err != nil || len(rows) > 0 {
				t.Errorf("%s: asked for nothing, and got %v: %v", list.name, rows, err)
			}
			if len(got) > 0 {
				// some lists have more candidates than rows, but no more than 20
				if _, err := list.ids(first.view.AtMost(20)); err != nil {
					t.Errorf("%s: %d of at most 20 rows: %v", list.name, len(got), err)
				}
				_, err := list.ids(first.view.AtMost(len(got) - 1))
				if tooMany, ok := errors.AsType[*view.TooManyRowsError](err); !ok || tooMany.Limit != len(got)-1 {
					t.Errorf("%s: %d rows of at most one fewer: %v", list.name, len(got), err)
				}
			}
		}
		drafts, err := first.view.InvoiceIDs(ctx, view.InvoiceFilter{})
		kit.Must(t, err)
		if items, err := first.view.ItemCount(ctx, append(drafts, second.submission.Invoice)); err != nil ||
			items != len(drafts) {
			t.Errorf("%d items of %d drafts with one each: %v", items, len(drafts), err)
		}
	})
}
