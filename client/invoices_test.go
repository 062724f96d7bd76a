package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"quittance/api"
	"quittance/client"
)

// list is an invoice list, newest first.
type list struct {
	ids     []string
	size    int                // bytes that each invoice takes on the wire, about
	between func(requests int) // called after each page
	asked   []string           // the queries
}

func (l *list) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	number := func(name string, absent int) int {
		if n, err := strconv.Atoi(r.URL.Query().Get(name)); err == nil {
			return n
		}
		return absent
	}
	page, perPage := number("page", 1), min(number("per_page", 25), 100)
	first, last := min((page-1)*perPage, len(l.ids)), min(page*perPage, len(l.ids))
	out := api.List[api.Invoice]{Data: []api.Invoice{}, Pagination: api.Pagination{CurrentPage: page, PerPage: perPage,
		LastPage: max(1, (len(l.ids)+perPage-1)/perPage), HasMore: last < len(l.ids), Total: len(l.ids)}}
	for _, id := range l.ids[first:last] {
		out.Data = append(out.Data, api.Invoice{ID: id, Missing: []string{strings.Repeat("m", l.size)}})
	}
	l.asked = append(l.asked, r.URL.RawQuery)
	answer(w, 200, out)
	if l.between != nil {
		l.between(len(l.asked))
	}
}

func numbered(n int) (ids []string) {
	for ; n > 0; n-- {
		ids = append(ids, fmt.Sprint("invoice-", n))
	}
	return ids
}

func TestInvoices(t *testing.T) {
	s, c, _ := start(t)
	s.fallback = (&list{ids: numbered(30)}).ServeHTTP
	page, err := c.Invoices(t.Context(), client.InvoiceQuery{Page: 3, PerPage: 10})
	if err != nil || len(page.Data) != 10 || page.Data[0].ID != "invoice-10" || page.Pagination.LastPage != 3 || page.Pagination.Total != 30 {
		t.Errorf("%+v, %v", page, err)
	}
	// An empty list has data, an empty list.
	if page, err = c.Invoices(t.Context(), client.InvoiceQuery{Page: 9}); err != nil || len(page.Data) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

// Every invoice that was there at the beginning comes, once and newest first, although new ones push the others on from
// page to page, and whatever the size of a page.
func TestAllInvoicesComeOnce(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := newService(t)
		want := numbered(rapid.IntRange(0, 60).Draw(t, "invoices"))
		arrivals := rapid.SliceOfN(rapid.IntRange(0, 30), 0, 8).Draw(t, "arrivals")
		l := &list{ids: slices.Clone(want)}
		l.between = func(requests int) {
			if requests <= len(arrivals) {
				for n := range arrivals[requests-1] {
					l.ids = slices.Insert(l.ids, 0, fmt.Sprint("new-", requests, "-", n))
				}
			}
		}
		s.fallback = l.ServeHTTP
		c, err := client.New(s.configure(&sleeps{}))
		if err != nil {
			t.Fatal(err)
		}
		var got []string
		for invoice, err := range c.AllInvoices(t.Context(), client.InvoiceQuery{PerPage: rapid.IntRange(0, 120).Draw(t, "per page")}) {
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasPrefix(invoice.ID, "invoice-") {
				got = append(got, invoice.ID)
			}
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%v came of %v", got, want)
		}
	})
}

// Invoices of 1,000 lines fill an answer long before a page is full: the page is asked for in halves.
func TestAllInvoicesHalvesPagesThatAreTooLarge(t *testing.T) {
	s, c, _ := start(t)
	l := &list{ids: numbered(10), size: client.MaxResponse * 2 / 7}
	s.fallback = l.ServeHTTP
	var got []string
	for invoice, err := range c.AllInvoices(t.Context(), client.InvoiceQuery{Page: 2, PerPage: 5}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, invoice.ID)
	}
	// Page 2 of 5 begins with the sixth invoice, which is on page 3 of 2 together with the fifth.
	want := []string{"page=2&per_page=5", "page=3&per_page=2", "page=4&per_page=2", "page=5&per_page=2"}
	if !slices.Equal(got, numbered(5)) || !slices.Equal(l.asked, want) {
		t.Errorf("%v, asked %v", got, l.asked)
	}
	l.ids, l.size, l.asked = numbered(1), client.MaxResponse, nil
	for _, err := range c.AllInvoices(t.Context(), client.InvoiceQuery{PerPage: 4}) {
		if !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("an invoice that is too large by itself: %v", err)
		}
	}
	if want := []string{"page=1&per_page=4", "page=1&per_page=2", "page=1&per_page=1"}; !slices.Equal(l.asked, want) {
		t.Errorf("asked %v", l.asked)
	}
}

func TestAllInvoicesStops(t *testing.T) {
	s, c, _ := start(t)
	l := &list{ids: numbered(30)}
	s.fallback = l.ServeHTTP
	sequence := c.AllInvoices(t.Context(), client.InvoiceQuery{PerPage: 10})
	if len(l.asked) != 0 {
		t.Fatal("read before it is needed")
	}
	for range 2 { // a sequence begins anew each time
		l.asked = nil
		count := 0
		for _, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			if count++; count == 11 {
				break
			}
		}
		if !slices.Equal(l.asked, []string{"page=1&per_page=10", "page=2&per_page=10"}) {
			t.Errorf("asked %v", l.asked)
		}
	}
	s.script = []http.HandlerFunc{nil, refuse(500, api.CodeInternal)}
	s.script[0] = l.ServeHTTP
	var got, failed int
	for _, err := range sequence {
		if err == nil {
			got++
			continue
		}
		failed++
		if status, _ := refusalOf(err); status != 500 {
			t.Error(err)
		}
	}
	if got != 10 || failed != 1 {
		t.Errorf("%d invoices and %d errors", got, failed)
	}
	// A service that always promises more and never delivers.
	s.fallback = write(200, `{"data":[],"pagination":{"has_more":true}}`)
	for range sequence {
		t.Error("something came")
	}
}
