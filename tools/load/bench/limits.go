package bench

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"sync/atomic"
	"time"

	"quittance/client/api"
	"quittance/client/receiver"
	"quittance/tools/load/rig"
)

// pageSize is the number of bytes of each write that measures the disk.
const pageSize = 4096

// bareDisk appends to a file in dir and waits each time until the data is on the disk: the most commits that one after
// another can do, without a database.
func bareDisk(ctx context.Context, c Config, dir string, latency *Histogram) (perSecond float64, err error) {
	file, err := os.CreateTemp(dir, "fsync-")
	if err != nil {
		return 0, fmt.Errorf("bare disk: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close(), os.Remove(file.Name())) }()
	var failed error
	page := make([]byte, pageSize)
	result := load{clients: 1, duration: c.LimitDuration, now: c.Now, latency: latency, done: new(atomic.Int64)}.run(ctx,
		func(context.Context, int, int64) error {
			if _, err := file.Write(page); err != nil {
				failed = err
				return err
			}
			if err := file.Sync(); err != nil {
				failed = err
			}
			return failed
		})
	return perSecondOf(result.done, result.elapsed), failed
}

// perSecondOf returns a rate; it is 0 if no time has passed.
func perSecondOf(done int64, elapsed time.Duration) float64 {
	if elapsed <= 0 {
		return 0
	}
	return float64(done) / elapsed.Seconds()
}

// bareHTTP sends a request with a number of clients to a handler that reads it and does nothing.
func bareHTTP(ctx context.Context, c Config, clients int, body []byte) (perSecond float64, err error) {
	handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := io.Copy(io.Discard, r.Body); err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusCreated)
	})
	server, err := rig.Listen(ctx, rig.Loopback, handler, nil)
	if err != nil {
		return 0, fmt.Errorf("bare HTTP: %w", err)
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	t := &target{base: &url.URL{Scheme: "http", Host: server.Address().String()}, now: c.Now}
	conns, closeConns := t.conns(clients)
	defer func() { err = errors.Join(err, closeConns()) }()
	post := request(http.MethodPost, t.base, "/", "", body)
	result := load{clients: clients, duration: c.LimitDuration, now: c.Now, latency: NewHistogram(),
		done: new(atomic.Int64)}.
		run(ctx, func(ctx context.Context, client int, _ int64) error {
			return conns[client].expect(ctx, http.StatusCreated, post)
		})
	if result.failures() > 0 {
		return 0, fmt.Errorf("bare HTTP: %v", result.failed)
	}
	return perSecondOf(result.done, result.elapsed), nil
}

// bareSender signs callbacks and posts them to the receiver over HTTPS with keep-alive, using Go's own client and no
// database: the most that a sender of webhooks can do on the machine that also runs its receiver.
func bareSender(ctx context.Context, c Config, h *webhookServer, clients int, samples []sample,
	key string) (perSecond float64, err error) {
	in := h.addInbox("bare")
	in.setSecret(key)
	transport := &http.Transport{Proxy: nil, MaxIdleConnsPerHost: clients,
		TLSClientConfig: &tls.Config{RootCAs: h.Roots, MinVersion: tls.VersionTLS12}}
	defer transport.CloseIdleConnections()
	result := load{clients: clients, duration: c.LimitDuration, now: c.Now, latency: NewHistogram(),
		done: new(atomic.Int64)}.
		run(ctx, func(ctx context.Context, _ int, n int64) error {
			s := samples[n%int64(len(samples))]
			post, err := http.NewRequestWithContext(ctx, http.MethodPost, h.URL+"/bare", bytes.NewReader(s.body))
			if err != nil {
				return err
			}
			post.Header = http.Header{"Content-Type": {"application/json"}, api.HeaderEvent: {s.kind},
				api.HeaderDelivery: {s.id}, api.HeaderTimestamp: {s.timestamp},
				api.HeaderSignature: {receiver.Signature([]byte(key), s.timestamp, s.body)}}
			response, err := transport.RoundTrip(post)
			if err != nil {
				return err
			}
			if err := response.Body.Close(); err != nil {
				return err
			}
			if response.StatusCode != http.StatusOK {
				return statusError(response.StatusCode)
			}
			return nil
		})
	if result.failures() > 0 {
		return 0, fmt.Errorf("bare sender: %v", result.failed)
	}
	return perSecondOf(result.done, result.elapsed), nil
}

// Limits measures the limits of the machine: appends to the disk of the configured directory, calls to an empty
// handler, and signed callbacks.
func Limits(ctx context.Context, c Config, clients int) (_ Report, err error) {
	r := c.report()
	r.Deployment, r.Loop = "no", "closed"
	r.setting("clients", float64(clients))
	dir, err := os.MkdirTemp(c.Dir, "quittance-bench-")
	if err != nil {
		return r, fmt.Errorf("directory: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	h, err := startWebhookServer(ctx, c.Receiver, dir, c.Now)
	if err != nil {
		return r, err
	}
	defer func() { err = errors.Join(err, h.close()) }()
	if err := r.limitDisk(ctx, c, dir); err != nil {
		return r, err
	}
	if err := r.limitHTTP(ctx, c, clients, 0); err != nil {
		return r, err
	}
	callback, err := syntheticCallback(c.Now())
	if err != nil {
		return r, err
	}
	return r, r.limitSender(ctx, c, h, clients, tally{secret: "whsec_bare", samples: []sample{callback}}, 0)
}

// limitDisk reports the limits of the disk that holds dir.
func (r *Report) limitDisk(ctx context.Context, c Config, dir string) error {
	if c.LimitDuration == 0 {
		return nil
	}
	latency := NewHistogram()
	perSecond, err := bareDisk(ctx, c, dir, latency)
	if err != nil {
		return err
	}
	r.limit("bare_disk_syncs_per_second", perSecond, 0)
	r.limit("bare_disk_sync_p50_seconds", latency.Quantile(.5).Seconds(), 0)
	r.limit("bare_disk_sync_p99_seconds", latency.Quantile(.99).Seconds(), 0)
	return nil
}

// limitHTTP reports the limit of calls with the body of a draft, and the share of it that a result is.
func (r *Report) limitHTTP(ctx context.Context, c Config, clients int, figure float64) error {
	if c.LimitDuration == 0 {
		return nil
	}
	body, err := draftBody("BARE-", draftItems, c.Now())
	if err != nil {
		return err
	}
	perSecond, err := bareHTTP(ctx, c, clients, body)
	if err != nil {
		return err
	}
	r.limit("bare_http_calls_per_second", perSecond, figure)
	return nil
}

// limitSender reports the limit of callbacks like the received ones, and the share of it that a result is.
func (r *Report) limitSender(ctx context.Context, c Config, h *webhookServer, clients int, came tally,
	figure float64) error {
	if c.LimitDuration == 0 || len(came.samples) == 0 {
		return nil
	}
	perSecond, err := bareSender(ctx, c, h, clients, came.samples, came.secret)
	if err != nil {
		return err
	}
	r.limit("bare_sender_clients", float64(clients), 0)
	r.limit("bare_sender_calls_per_second", perSecond, figure)
	return nil
}
