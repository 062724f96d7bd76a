package bench

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/tools/load/rig"
)

// takeSamples takes samples of the server while the load lasts.
func (s *soak) takeSamples(ctx context.Context) error {
	now := s.testbed.config.Now
	began := now()
	count := int(s.options.Duration / s.options.Sample)
	for n := range count {
		if err := rig.Sleep(ctx, time.Duration(n+1)*s.options.Sample-now().Sub(began)); err != nil {
			return err
		}
		if err := s.t.alive(); err != nil {
			return err
		}
		if err := s.sample(ctx, n, count, now().Sub(began)); err != nil {
			return err
		}
		if n+1 < count {
			if err := s.resubscribe(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// sample takes the n-th of count samples, from 0, and writes a line of progress.
func (s *soak) sample(ctx context.Context, n, count int, at time.Duration) error {
	found := s.testbed.config.report()
	found.set("at_seconds", at.Seconds())
	if err := s.readUsage(ctx, &found); err != nil {
		return err
	}
	for company := range roles {
		responded, received := s.loads[company].done.Load(), s.testbed.own.companies[company].inbox.received()
		found.set("visits_"+company.String(), float64(responded-s.responded[company]))
		found.set("events_received_"+company.String(), float64(received-s.received[company]))
		if responded == s.responded[company] && s.options.Rate*s.options.Sample.Seconds() >= 1 {
			s.starved++
		}
		s.responded[company], s.received[company] = responded, received
	}
	latency := s.sampled
	s.sampled = s.testbed.own.companies[healthy].inbox.resetLatency()
	found.set("event_p99_healthy_seconds", latency.Quantile(.99).Seconds())
	s.whole.add(latency)
	if n < quarter(count) {
		s.first.add(latency)
	}
	if n >= count-quarter(count) {
		s.last.add(latency)
	}
	s.samples = append(s.samples, found.Figures)
	if s.testbed.config.Progress != nil {
		var line strings.Builder
		for _, f := range found.Figures {
			fmt.Fprintf(&line, "  %s %s", f.Name, number(f))
		}
		fmt.Fprintf(s.testbed.config.Progress, "%s:%s\n", s.testbed.config.Command, &line)
	}
	return nil
}

// readUsage adds what the server uses now.
func (s *soak) readUsage(ctx context.Context, found *Report) error {
	pid := s.testbed.own.server.command.Process.Pid
	if used, err := usageOf(pid); err != nil {
		found.unknown("rss_bytes", err.Error())
	} else {
		found.set("rss_bytes", float64(used.rss))
	}
	if err := s.metrics(ctx, found); err != nil {
		return err
	}
	if files, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd"); err != nil {
		found.unknown("open_files", errNoProc.Error())
	} else {
		found.set("open_files", float64(len(files)))
	}
	path, isFile := strings.CutPrefix(s.testbed.own.database, "sqlite:")
	if !isFile {
		size, err := s.testbed.own.size(ctx)
		found.set("database_bytes", float64(size.Bytes))
		found.unknown("wal_bytes", "the log is the whole database server's")
		return err
	}
	for _, file := range []struct{ name, path string }{{"database_bytes", path}, {"wal_bytes", path + "-wal"}} {
		info, err := os.Stat(file.path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			found.set(file.name, 0)
		case err != nil:
			return fmt.Errorf("size of the database: %w", err)
		default:
			found.set(file.name, float64(info.Size()))
		}
	}
	return nil
}

// metrics adds what the server reports in its metrics.
func (s *soak) metrics(ctx context.Context, found *Report) (err error) {
	base := s.testbed.own.server.metrics
	w := newClientConn(base, nil, s.testbed.config.Now)
	defer func() { err = errors.Join(err, w.close()) }()
	if err := w.expect(ctx, http.StatusOK, request(http.MethodGet, base, "/metrics", "", nil)); err != nil {
		return fmt.Errorf("metrics of the server: %w", err)
	}
	for _, gauge := range []struct{ name, metric string }{{"heap_in_use_bytes", "go_memstats_heap_inuse_bytes"},
		{"goroutines", "go_goroutines"}} {
		_, after, _ := bytes.Cut(w.body, []byte("\n"+gauge.metric+" "))
		text, _, _ := bytes.Cut(after, []byte("\n"))
		value, err := strconv.ParseFloat(string(text), 64)
		if err != nil {
			return fmt.Errorf("metrics of the server: %s: %w", gauge.metric, err)
		}
		found.set(gauge.name, value)
	}
	return nil
}

// quarter returns the number of samples in a quarter of the run.
func quarter(count int) int { return max(1, count/4) }

// quarters compares the last quarter of the run with the first: the medians of what the server used, and the 99th
// percentile of the latency of the healthy company's events.
func (s *soak) quarters(r *Report) {
	r.Samples = s.samples
	q := quarter(len(s.samples))
	for _, of := range []struct{ name, unit string }{{"rss", "_bytes"}, {"heap_in_use", "_bytes"}, {"goroutines", ""},
		{"open_files", ""}} {
		first, why := median(s.samples[:q], of.name+of.unit)
		last, _ := median(s.samples[len(s.samples)-q:], of.name+of.unit)
		if why != "" {
			r.unknown(of.name+"_last_to_first_quarter_ratio", why)
			continue
		}
		r.compare(of.name, of.unit, first, last)
	}
	r.compare("event_p99_healthy", "_seconds", s.first.Quantile(.99).Seconds(), s.last.Quantile(.99).Seconds())
	r.set("samples_without_a_visit_of_a_company", float64(s.starved))
	r.Latencies = append(r.Latencies, Latency{"event_from_transaction_to_receipt_healthy", s.whole})
	for n := range roles {
		r.Latencies = append(r.Latencies, Latency{latencyName("visit_"+n.String(), s.options.Rate), s.loads[n].latency})
	}
}

// compare adds a figure of the first and of the last quarter, and their ratio.
func (r *Report) compare(name, unit string, first, last float64) {
	r.set(name+"_first_quarter"+unit, first)
	r.set(name+"_last_quarter"+unit, last)
	if ratio := name + "_last_to_first_quarter_ratio"; first > 0 {
		r.set(ratio, last/first)
	} else {
		r.unknown(ratio, "there was nothing in the first quarter")
	}
}

// median returns the median of a figure in samples, or the reason why there is none.
func median(samples []Figures, name string) (value float64, why string) {
	var values []float64
	for _, sample := range samples {
		for _, f := range sample {
			switch {
			case f.Name != name:
			case f.NotMeasured != "":
				return 0, f.NotMeasured
			default:
				values = append(values, f.Value)
			}
		}
	}
	slices.Sort(values)
	return (values[(len(values)-1)/2] + values[len(values)/2]) / 2, ""
}

// logged counts the errors in the log of the server.
func (s *soak) logged(r *Report) error {
	file, err := os.Open(s.log)
	if err != nil {
		return fmt.Errorf("log of the server: %w", err)
	}
	defer file.Close() //nolint:errcheck // it is only read
	var bad int
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, maxResponse)
	for lines.Scan() {
		if bytes.Contains(lines.Bytes(), []byte(`"level":"ERROR"`)) {
			if bad++; bad == 1 {
				r.note("The first error that the server logged: %.500s", lines.Bytes())
			}
		}
	}
	r.set("errors_logged", float64(bad))
	return lines.Err()
}
