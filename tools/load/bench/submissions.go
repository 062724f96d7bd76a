package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
)

// SubmissionsOptions are the options of [Submissions].
type SubmissionsOptions struct {
	// Clients submit, each one invoice at a time. They are distributed over Companies, because the calls that one
	// company can have in progress at its provider are limited. A given deployment has one company.
	Clients, Companies int
	// Rate is the number of submissions per second (open loop); 0 for a closed loop.
	Rate float64
	// Count is the number of invoices to submit, at least 1.
	Count int
	// ProviderLatency is the duration of each call of the benchmark's own provider.
	ProviderLatency time.Duration
}

// Submissions submits invoices: each call commits the intent, passes the document to the provider, and records the
// provider's response before it is answered. The drafts exist before. Status queries of the submitted documents run at
// the same time, as always.
func Submissions(ctx context.Context, c Config, o SubmissionsOptions) (_ Report, err error) {
	r := c.report()
	if c.Given != nil {
		o.Companies = 1
	} else {
		r.setting("provider_latency_seconds", o.ProviderLatency.Seconds())
	}
	r.setting("clients", float64(o.Clients))
	r.setting("companies", float64(o.Companies))
	r.setting("submissions", float64(o.Count))
	p, err := prepare(ctx, c, &r, o.Companies, o.ProviderLatency)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, p.close()) }()
	t, paths, err := p.serveWithDrafts(ctx, o.Companies, o.Count)
	if err != nil {
		return r, err
	}
	meter := p.meter(ctx)
	l := load{clients: o.Clients, rate: o.Rate, count: o.Count, now: c.Now, latency: NewHistogram(),
		done: new(atomic.Int64)}
	result, err := submit(ctx, c, t, l, paths)
	if err != nil {
		return r, err
	}
	perSecond := perSecondOf(result.done, result.elapsed)
	r.loop(o.Rate)
	r.count(result, o.Rate)
	r.set("submissions_answered", float64(result.done))
	r.set("submissions_per_second", perSecond)
	meter.report(ctx, &r, "submissions", result.done)
	r.Latencies = append(r.Latencies, Latency{latencyName("submit", o.Rate), l.latency})
	if err := p.stop(); err != nil {
		return r, err
	}
	if err := r.limitHTTP(ctx, c, o.Clients, perSecond); err != nil {
		return r, err
	}
	return r, p.limitDisk(ctx, &r)
}

// errUnknownOutcome reports a submission that was answered with 202.
var errUnknownOutcome = errors.New("HTTP 202: the outcome is unknown")

// submit submits invoices. The n-th call submits the n-th of paths, whose owner is the user n modulo the number of
// users.
func submit(ctx context.Context, c Config, t *target, l load, paths []string) (_ outcome, err error) {
	conns, closeConns := t.conns(l.clients)
	defer func() { err = errors.Join(err, closeConns()) }()
	defer c.progress(ctx, "submissions", l.done.Load)()
	result := l.run(ctx, func(ctx context.Context, client int, n int64) error {
		err := conns[client].expect(ctx, http.StatusOK, t.request(int(n)%len(t.users), http.MethodPost, paths[n]+"/submit",
			nil))
		if errors.Is(err, statusError(http.StatusAccepted)) {
			return errUnknownOutcome
		}
		return err
	})
	return result, errors.Join(ctx.Err(), t.alive())
}

// serveWithDrafts makes complete drafts and starts the server, or makes them at the given deployment. The n-th path
// belongs to an invoice of the company n modulo the number of companies.
func (p *testbed) serveWithDrafts(ctx context.Context, companies, count int) (t *target, paths []string, err error) {
	if p.own == nil {
		if t, err = p.serve(ctx); err != nil {
			return nil, nil, err
		}
		paths, err = t.createDrafts(ctx, p.config, count)
		return t, paths, err
	}
	owned := make([][]string, companies)
	for n := range companies {
		if owned[n], err = p.own.seedDrafts(ctx, p.own.companies[n], (count+companies-1)/companies); err != nil {
			return nil, nil, err
		}
	}
	for n := range count {
		paths = append(paths, owned[n%companies][n/companies])
	}
	t, err = p.serve(ctx)
	return t, paths, err
}

// seedPage is how many of the drafts are read at a time.
const seedPage = 100

// seedDrafts makes complete drafts of a company and returns their paths.
func (d *deployment) seedDrafts(ctx context.Context, of *company, count int) (paths []string, err error) {
	if err := d.fillDrafts(ctx, of, count); err != nil {
		return nil, err
	}
	err = d.withTenant(ctx, of, func(tenant *base.Tenant) error {
		for page := 1; len(paths) < count; page++ {
			found, err := view.Of(tenant).Invoices(ctx, view.InvoiceFilter{}, page, seedPage)
			if err != nil {
				return err
			}
			for _, draft := range found.Entries {
				paths = append(paths, invoicesPath+"/"+draft.ID.String())
			}
			if len(found.Entries) == 0 {
				return fmt.Errorf("only %d of %d drafts exist", len(paths), count)
			}
		}
		return nil
	})
	return paths, err
}

// draftMakers is how many clients create the drafts of a given deployment.
const draftMakers = 16

// createDrafts creates complete drafts of the first user over HTTP and returns their paths.
func (t *target) createDrafts(ctx context.Context, c Config, count int) (_ []string, err error) {
	prefix := draftPrefix(c.Now())
	clients := min(draftMakers, count)
	templates := make([]template, clients)
	for n := range templates {
		if templates[n], err = draftTemplate(t, 0, 1, prefix, c.Now()); err != nil {
			return nil, err
		}
	}
	conns, closeConns := t.conns(clients)
	defer func() { err = errors.Join(err, closeConns()) }()
	paths := make([]string, count)
	l := load{clients: clients, count: count, now: c.Now, latency: NewHistogram(), done: new(atomic.Int64)}
	defer c.progress(ctx, "drafts made", l.done.Load)()
	result := l.run(ctx, func(ctx context.Context, client int, n int64) error {
		if err := conns[client].expect(ctx, http.StatusCreated, templates[client].with(n)); err != nil {
			return err
		}
		var made api.Data[struct {
			ID string `json:"id"`
		}]
		if err := json.Unmarshal(conns[client].body, &made); err != nil {
			return err
		}
		paths[n] = invoicesPath + "/" + made.Data.ID
		return nil
	})
	if result.failures() > 0 {
		return nil, fmt.Errorf("create the drafts to submit: %v", result.failed)
	}
	return paths, ctx.Err()
}
