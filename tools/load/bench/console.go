package bench

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"sync/atomic"
)

// consolePage is a page of the console, with the name of its figure.
type consolePage struct{ name, path string }

// consolePages returns the pages that [Lists] reads: what a user of a company sees first.
func consolePages() []consolePage {
	return []consolePage{{"console_overview", "/"}, {"console_invoices", "/invoices"},
		{"console_credit_notes", "/credit-notes"}}
}

// readConsole reads pages of the console, one after another, as the browser of a user who is logged in.
func readConsole(ctx context.Context, c Config, t *target, of *company, count int, r *Report) error {
	cookie, err := t.consoleCookie(ctx, of)
	if err != nil {
		return fmt.Errorf("log in to the console: %w", err)
	}
	for _, page := range consolePages() {
		get := fmt.Appendf(nil, "GET %s HTTP/1.1\r\nHost: %s\r\nUser-Agent: quittance-bench\r\nCookie: %s\r\n\r\n",
			t.base.EscapedPath()+page.path, t.base.Host, cookie)
		if _, err := readConsolePage(ctx, c, t, page, get, 10, r); err != nil { // as for the pages of the API
			return err
		}
		latency, err := readConsolePage(ctx, c, t, page, get, count, r)
		if err != nil {
			return err
		}
		r.set(page.name+"_p50_seconds", latency.Quantile(.5).Seconds())
		r.Latencies = append(r.Latencies, Latency{page.name + "_from_send", latency})
	}
	return nil
}

// readConsolePage reads a page count times.
func readConsolePage(ctx context.Context, c Config, t *target, page consolePage, get []byte, count int,
	r *Report) (_ *Histogram, err error) {
	conns, closeConns := t.conns(1)
	defer func() { err = errors.Join(err, closeConns()) }()
	l := load{clients: 1, count: count, now: c.Now, latency: NewHistogram(), done: new(atomic.Int64)}
	defer c.progress(ctx, page.name, l.done.Load)()
	result := l.run(ctx, func(ctx context.Context, _ int, n int64) error {
		if err := conns[0].expect(ctx, http.StatusOK, get); err != nil {
			return err
		}
		if n == 0 && !bytes.Contains(conns[0].body, []byte("/logout")) {
			return errPage
		}
		return nil
	})
	r.count(result, 0)
	return l.latency, errors.Join(ctx.Err(), t.alive())
}
