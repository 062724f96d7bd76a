package documents

import (
	"context"
	"errors"
	"math/big"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
)

// Drafts are submitted together in three steps: a page that says what will be submitted, the submissions themselves,
// and a page that says of each what happened. Each draft is submitted by [submission.Service.Submit] with the checks
// and guarantees of a single one. That submission is idempotent, so repeating the form sends nothing twice. The last
// page has the results in its address and reads the rest from the ledger, so that it can be loaded again.

// The limits of one form.
const (
	// maxBulk is the number of drafts in a form.
	maxBulk = page.MaxPerPage
	// bulkWorkers is how many of them are submitted at a time.
	bulkWorkers = 8
	// bulkTime is how long submissions may begin. The others stay drafts. It leaves time for the last calls and the
	// response.
	bulkTime = 20 * time.Second
)

// The parameters of the three pages.
const (
	bulkInvoiceParameter = "invoice"
	bulkResultParameter  = "result"
)

// bulkPage is the view model of the page before the submission.
type bulkPage struct {
	// Ready are the drafts that can be submitted, and Others the invoices that cannot.
	Ready, Others []invoiceRow
	// Sums are the totals of the ready drafts, by currency.
	Sums []*page.Money
}

// bulkResult is one invoice on the page after the submission.
type bulkResult struct {
	invoiceRow
	// Notice says why the draft was not submitted; nil if it was.
	Notice *page.Notice
}

// bulkResultPage is the view model of the page after the submission. All of it is live.
type bulkResultPage struct {
	Submitted, Refused []bulkResult
}

// invoiceIDs parses the identifiers of distinct invoices of a form or an address.
func invoiceIDs(values []string) ([]base.ID, error) {
	if len(values) > maxBulk {
		return nil, console.ErrBulk
	}
	var ids []base.ID
	for _, value := range values {
		id, err := base.ParseID(value)
		if err != nil || id.IsZero() {
			return nil, base.ErrNotFound
		}
		if !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// reviewBulk shows the selected drafts before they are submitted. It changes nothing.
func reviewBulk(req *console.Request) error {
	ids, err := invoiceIDs(req.R.URL.Query()[bulkInvoiceParameter])
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return req.Redirect(page.WithNotice("/invoices", "bad.no_drafts"))
	}
	rows, err := rowsByID(req, ids)
	if err != nil {
		return err
	}
	p := bulkPage{}
	for _, row := range rows {
		if row.Draft && row.Missing == 0 {
			p.Ready = append(p.Ready, row)
		} else {
			p.Others = append(p.Others, row)
		}
	}
	p.Sums = sumsOf(p.Ready)
	return req.Show(http.StatusOK, "bulk", "bulk.title", page.Layout{Section: "invoices", Body: p})
}

// rowsByID returns the rows of the invoices that exist, in the given order.
func rowsByID(req *console.Request, ids []base.ID) ([]invoiceRow, error) {
	found, err := view.Of(req.Session.Tenant).InvoicesByID(req.R.Context(), ids)
	if err != nil {
		return nil, err
	}
	return readInvoiceRows(req, found)
}

// sumsOf adds up the totals of invoices by currency, in the order in which the currencies occur.
func sumsOf(rows []invoiceRow) []*page.Money {
	sums, order := map[string]*big.Rat{}, []string(nil)
	for _, row := range rows {
		if row.Total == nil {
			continue
		}
		value, ok := new(big.Rat).SetString(row.Total.String())
		if !ok {
			continue // a decimal always is a number
		}
		if sums[row.Currency] == nil {
			sums[row.Currency] = new(big.Rat)
			order = append(order, row.Currency)
		}
		sums[row.Currency].Add(sums[row.Currency], value)
	}
	var out []*page.Money
	for _, currency := range order {
		out = append(out, page.MoneyOf(sums[currency].FloatString(api.MaxScale), currency))
	}
	return out
}

// submitBulk submits the drafts of the form and redirects to the page of the results.
func submitBulk(req *console.Request) error {
	ids, err := invoiceIDs(req.Form[bulkInvoiceParameter])
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		return req.Redirect(page.WithNotice("/invoices", "bad.no_drafts"))
	}
	keys := submitAll(req, ids)
	query := url.Values{}
	for n, id := range ids {
		value := id.String()
		if keys[n] != "" {
			value += " " + keys[n]
		}
		query.Add(bulkResultParameter, value)
	}
	return req.Redirect("/invoices/submitted?" + query.Encode())
}

// submitAll submits invoices, several at a time. It returns for each the key of the notice that says why it was not
// submitted, or "". Errors that have no notice are internal ones: they are logged and do not keep the others from being
// submitted.
func submitAll(req *console.Request, ids []base.ID) []string {
	keys := make([]string, len(ids))
	until := req.Now().Add(bulkTime)
	var group errgroup.Group
	group.SetLimit(bulkWorkers)
	var mu sync.Mutex
	for n, id := range ids {
		group.Go(func() error {
			if req.Now().After(until) || req.R.Context().Err() != nil {
				keys[n] = "bad.not_begun"
				return nil
			}
			_, err := req.Submissions.Submit(req.R.Context(), req.Session.Tenant, id)
			if err == nil {
				return nil
			}
			if key, _, unknown := SubmitErrorKey(err); unknown == nil {
				keys[n] = key
				return nil
			}
			keys[n] = "bad.unclear"
			if !errors.Is(err, base.ErrNotFound) && !errors.Is(err, context.Canceled) {
				mu.Lock()
				defer mu.Unlock()
				req.Logged = errors.Join(req.Logged, err)
			}
			return nil
		})
	}
	_ = group.Wait() // no function returns an error
	return keys
}

// showBulkResults says of each invoice in the address what happened to it. Its state comes from the ledger.
func showBulkResults(req *console.Request) error {
	values := req.R.URL.Query()[bulkResultParameter]
	names, keys := make([]string, len(values)), map[string]string{}
	for n, value := range values {
		name, key, _ := strings.Cut(value, " ")
		names[n], keys[name] = name, key
	}
	ids, err := invoiceIDs(names)
	if err != nil {
		return err
	}
	rows, err := rowsByID(req, ids)
	if err != nil {
		return err
	}
	p := bulkResultPage{}
	for _, row := range rows {
		switch key := keys[row.ID]; {
		case !row.Draft:
			p.Submitted = append(p.Submitted, bulkResult{invoiceRow: row})
		case strings.HasPrefix(key, "bad."):
			p.Refused = append(p.Refused, bulkResult{invoiceRow: row, Notice: req.Pages.Texts.Notice(key)})
		default:
			p.Refused = append(p.Refused, bulkResult{invoiceRow: row, Notice: req.Pages.Texts.Notice("bad.not_taken")})
		}
	}
	announcement, err := req.Text("bulk.result", strconv.Itoa(len(p.Submitted)), strconv.Itoa(len(rows)))
	if err != nil {
		return err
	}
	part, err := req.LivePart("submitted", "results", p, invoicePollInterval, announcement)
	if err != nil {
		return err
	}
	if req.IsFragment() {
		return req.ShowLive("submitted", part)
	}
	return req.Show(http.StatusOK, "submitted", "bulk.results", page.Layout{Section: "invoices", Body: part})
}
