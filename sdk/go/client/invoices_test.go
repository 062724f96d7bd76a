package client_test

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quittance/sdk/go/api"
	"quittance/sdk/go/client"
)

// invoiceList is an invoice list, newest first.
type invoiceList struct {
	ids     []string
	fits    int // how many fit into a response; 0 for any number
	queries []string
}

func (l *invoiceList) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
		out.Data = append(out.Data, api.Invoice{ID: id})
	}
	l.queries = append(l.queries, r.URL.RawQuery)
	if l.fits > 0 && len(out.Data) > l.fits {
		write(200, strings.Repeat(" ", client.MaxResponse+1))(w, r)
		return
	}
	response(w, 200, out)
}

func numbered(n int) (ids []string) {
	for ; n > 0; n-- {
		ids = append(ids, fmt.Sprint("invoice-", n))
	}
	return ids
}

func TestInvoices(t *testing.T) {
	s, c, _ := start(t)
	s.fallback = (&invoiceList{ids: numbered(30)}).ServeHTTP
	page, err := c.Invoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{Page: 3, PerPage: 10}})
	if err != nil || len(page.Data) != 10 || page.Data[0].ID != "invoice-10" || page.Pagination.LastPage != 3 || page.Pagination.Total != 30 {
		t.Errorf("%+v, %v", page, err)
	}
	// The data of an empty list is not null.
	if page, err = c.Invoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{Page: 9}}); err != nil || len(page.Data) != 0 {
		t.Errorf("%+v, %v", page, err)
	}
}

// TestAllInvoicesHalvesPagesThatAreTooLarge checks that a page whose response would be too large, such as one of
// invoices with 1,000 lines, is requested in halves.
func TestAllInvoicesHalvesPagesThatAreTooLarge(t *testing.T) {
	s, c, _ := start(t)
	l := &invoiceList{ids: numbered(3), fits: 2}
	s.fallback = l.ServeHTTP
	var got []string
	for invoice, err := range c.AllInvoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{PerPage: 3}}) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, invoice.ID)
	}
	want := []string{"page=1&per_page=3", "page=1&per_page=1", "page=2&per_page=1", "page=3&per_page=1"}
	if !slices.Equal(got, numbered(3)) || !slices.Equal(l.queries, want) {
		t.Errorf("%v, asked %v", got, l.queries)
	}
	l.queries = nil
	s.fallback = func(w http.ResponseWriter, r *http.Request) {
		l.queries = append(l.queries, r.URL.RawQuery)
		write(200, strings.Repeat(" ", client.MaxResponse+1))(w, r)
	}
	for _, err := range c.AllInvoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{PerPage: 4}}) {
		if !errors.Is(err, client.ErrTooLarge) {
			t.Errorf("a single invoice that is too large: %v", err)
		}
	}
	if want := []string{"page=1&per_page=4", "page=1&per_page=2", "page=1&per_page=1"}; !slices.Equal(l.queries, want) {
		t.Errorf("asked %v", l.queries)
	}
}

func TestAllInvoicesStops(t *testing.T) {
	s, c, _ := start(t)
	l := &invoiceList{ids: numbered(30)}
	s.fallback = l.ServeHTTP
	sequence := c.AllInvoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{PerPage: 10}})
	if len(l.queries) != 0 {
		t.Fatal("read before it is needed")
	}
	for range 2 { // each use of the sequence starts at its beginning
		l.queries = nil
		count := 0
		for _, err := range sequence {
			if err != nil {
				t.Fatal(err)
			}
			if count++; count == 11 {
				break
			}
		}
		if !slices.Equal(l.queries, []string{"page=1&per_page=10", "page=2&per_page=10"}) {
			t.Errorf("asked %v", l.queries)
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
	// A service that always announces another page and never has one.
	s.fallback = write(200, `{"data":[],"pagination":{"has_more":true}}`)
	for invoice, err := range sequence {
		t.Errorf("%+v, %v was returned", invoice, err)
	}
}
