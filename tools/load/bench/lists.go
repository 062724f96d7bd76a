package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/test/benchdb"
	"quittance/tools/load/rig"
)

// ListsOptions are the options of [Lists].
type ListsOptions struct {
	// Drafts is the number of drafts of the company of an own deployment, at least 1.
	Drafts int
	// Count is how often each page is read, from 1.
	Count int
}

// perPage is the number of drafts on a page.
const perPage = 25

// Lists reads the first and the last page of a company's invoices over HTTP, in turn, one call at a time, and in an own
// deployment pages of the console.
func Lists(ctx context.Context, c Config, o ListsOptions) (_ Report, err error) {
	r := c.report()
	r.loop(0)
	r.setting("reads_of_each_page", float64(o.Count))
	r.setting("invoices_per_page", perPage)
	p, err := prepare(ctx, c, &r, 1, 0)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	if p.own != nil {
		if err := p.own.fillDrafts(ctx, p.own.companies[0], o.Drafts); err != nil {
			return r, err
		}
	}
	t, err := p.serve(ctx)
	if err != nil {
		return r, err
	}
	total, err := t.users[0].invoices(ctx)
	if err != nil {
		return r, err
	}
	r.setting("invoices", float64(total))
	last := max(1, (total+perPage-1)/perPage)
	var latencies [2]*Histogram
	for n, page := range []int{1, last} {
		// The first reads of a page are not measured: reading it from disk once is not a cost of the list.
		if _, err := readPage(ctx, c, t, page, total, 10, &r); err != nil {
			return r, err
		}
		if latencies[n], err = readPage(ctx, c, t, page, total, o.Count, &r); err != nil {
			return r, err
		}
	}
	first, end := latencies[0].Quantile(.5).Seconds(), latencies[1].Quantile(.5).Seconds()
	r.set("first_page_p50_seconds", first)
	r.set("last_page_p50_seconds", end)
	r.set("last_to_first_ratio", end/first)
	r.setting("last_page", float64(last))
	r.Latencies = append(r.Latencies, Latency{"first_page_from_send", latencies[0]},
		Latency{"last_page_from_send", latencies[1]})
	if p.own != nil {
		if err := readConsole(ctx, c, t, p.own.companies[0], o.Count, &r); err != nil {
			return r, err
		}
	}
	if err := p.stop(); err != nil {
		return r, err
	}
	return r, r.limitHTTP(ctx, c, 1, 0)
}

// fillDrafts gives a company complete drafts without going through calls.
func (d *deployment) fillDrafts(ctx context.Context, of *company, drafts int) error {
	var made atomic.Int64
	defer d.config.progress(ctx, "drafts made", made.Load)()
	now := d.config.Now()
	return d.withTenant(ctx, of, func(tenant *base.Tenant) error {
		return d.withData(func(data *benchdb.DB) error {
			return data.FillDrafts(ctx, tenant, rig.Draft("", rig.Ordinary, 1, now), draftPrefix(now), drafts,
				func(total int) { made.Store(int64(total)) })
		})
	})
}

// errPage reports that a page does not contain the expected invoices.
var errPage = errors.New("the page does not hold its invoices")

// readPage reads a page count times.
func readPage(ctx context.Context, c Config, t *target, page, total, count int, r *Report) (_ *Histogram, err error) {
	conns, closeConns := t.conns(1)
	defer func() { err = errors.Join(err, closeConns()) }()
	want := min(perPage, total-(page-1)*perPage)
	get := t.request(0, http.MethodGet, fmt.Sprintf("%s?page=%d&per_page=%d", invoicesPath, page, perPage), nil)
	l := load{clients: 1, count: count, now: c.Now, latency: NewHistogram(), done: new(atomic.Int64)}
	defer c.progress(ctx, fmt.Sprintf("page %d", page), l.done.Load)()
	result := l.run(ctx, func(ctx context.Context, _ int, n int64) error {
		if err := conns[0].expect(ctx, http.StatusOK, get); err != nil {
			return err
		}
		if n > 0 {
			return nil // checking the first response is enough
		}
		var list api.List[json.RawMessage]
		if err := json.Unmarshal(conns[0].body, &list); err != nil || len(list.Data) != want ||
			list.Pagination.Total < total {
			return errPage
		}
		return nil
	})
	r.count(result, 0)
	return l.latency, errors.Join(ctx.Err(), t.alive())
}
