package client_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"quittance/client"
	"quittance/client/api"
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
	if err != nil || len(page.Data) != 10 || page.Data[0].ID != "invoice-10" || page.Pagination.LastPage != 3 ||
		page.Pagination.Total != 30 {
		t.Errorf("%+v, %v", page, err)
	}
	// The data of an empty list is not null.
	if page, err = c.Invoices(t.Context(), client.InvoiceQuery{Paging: client.Paging{Page: 9}}); err != nil ||
		len(page.Data) != 0 {
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

// TestEveryListIsRead checks that each iterator reads its pages with the filters of its query, and stops where the list
// ends.
func TestEveryListIsRead(t *testing.T) {
	for path, test := range map[string]struct {
		read func(*client.Client) iter.Seq2[string, error]
		want []string // queries
	}{
		"/client/credit-notes": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllCreditNotes(t.Context(), client.CreditNoteQuery{Paging: client.Paging{PerPage: 2}, InvoiceID: "x",
				IssueDateTo: "2026-03-31"}), func(n api.CreditNoteSummary) string { return n.ID })
		}, []string{"invoice_id=x&issue_date_to=2026-03-31&page=1&per_page=2",
			"invoice_id=x&issue_date_to=2026-03-31&page=2&per_page=2"}},
		"/client/incoming-invoices": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllIncomingInvoices(t.Context(), client.IncomingInvoiceQuery{Paging: client.Paging{PerPage: 2},
				IssueDateFrom: "2026-03-01"}), func(n api.IncomingInvoice) string { return n.ID })
		}, []string{"issue_date_from=2026-03-01&page=1&per_page=2", "issue_date_from=2026-03-01&page=2&per_page=2"}},
		"/webhooks/subscriptions": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllSubscriptions(t.Context(), 2), func(n api.Subscription) string { return n.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/webhooks/deliveries": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllDeliveries(t.Context(), client.DeliveryQuery{Paging: client.Paging{PerPage: 2}, EventID: "e"}),
				func(n api.Delivery) string { return n.ID })
		}, []string{"event_id=e&page=1&per_page=2", "event_id=e&page=2&per_page=2"}},
		"/client/invoices/x/submissions": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllSubmissions(t.Context(), "x", 2), func(one api.SubmissionRecord) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/invoices/x/evidence": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllEvidence(t.Context(), "x", 2), func(one api.Evidence) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/credit-notes/x/submissions": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllCreditNoteSubmissions(t.Context(), "x", 2), func(one api.SubmissionRecord) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/credit-notes/x/evidence": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllCreditNoteEvidence(t.Context(), "x", 2), func(one api.Evidence) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/incoming-invoices/x/revisions": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllIncomingRevisions(t.Context(), "x", 2),
				func(one api.IncomingRevision) string { return strconv.Itoa(one.Revision) })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/users": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllUsers(t.Context(), 2), func(one api.User) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/users/invitations": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllInvitations(t.Context(), 2), func(one api.Invitation) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/api-keys": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllAPIKeys(t.Context(), 2), func(one api.APIKey) string { return one.ID })
		}, []string{"page=1&per_page=2", "page=2&per_page=2"}},
		"/client/sessions": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllSessions(t.Context(), "u", 2), func(one api.Session) string { return one.ID })
		}, []string{"page=1&per_page=2&user_id=u", "page=2&per_page=2&user_id=u"}},
		"/client/audit": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllAuditEntries(t.Context(), client.AuditQuery{Paging: client.Paging{PerPage: 2}, Act: "draft"}),
				func(one api.AuditEntry) string { return one.ID })
		}, []string{"act=draft&page=1&per_page=2", "act=draft&page=2&per_page=2"}},
		"/webhooks/events": {func(c *client.Client) iter.Seq2[string, error] {
			return ids(c.AllEvents(t.Context(), "3", 2), func(e api.Event[json.RawMessage]) string { return e.ID })
		}, []string{"after=3&limit=2", "after=5&limit=2"}},
	} {
		t.Run(path, func(t *testing.T) {
			s, c, _ := start(t)
			s.script = []http.HandlerFunc{write(200,
				`{"data":[{"id":"1","revision":1},{"id":"2","revision":2}],"pagination":{"has_more":true,"next_cursor":"5"}}`),
				write(200, `{"data":[{"id":"3","revision":3}],"pagination":{"has_more":false,"next_cursor":"6"}}`)}
			var got, queries []string
			for id, err := range test.read(c) {
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, id)
			}
			for _, r := range s.requests() {
				if r.path != "/api/v1"+path {
					t.Errorf("asked %s", r.path)
				}
				queries = append(queries, r.query)
			}
			if !slices.Equal(got, []string{"1", "2", "3"}) || !slices.Equal(queries, test.want) {
				t.Errorf("%v, asked %v", got, queries)
			}
			s.script = []http.HandlerFunc{refuse(500, api.CodeInternal)}
			for id, err := range test.read(c) {
				if status, _ := refusalOf(err); status != 500 {
					t.Errorf("%s, %v", id, err)
				}
			}
		})
	}
}

// ids returns the identifiers of the entries of a list.
func ids[T any](list iter.Seq2[T, error], id func(T) string) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		for one, err := range list {
			if !yield(id(one), err) {
				return
			}
		}
	}
}
