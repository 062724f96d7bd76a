package service

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"quittance/client/api"
	"quittance/internal/exchange/queue"
	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/connlimit"
)

// metrics are the Prometheus metrics of one process. Label values come from small, closed sets, so clients cannot add
// series.
type metrics struct {
	registry  *prometheus.Registry
	requests  *prometheus.HistogramVec
	calls     *prometheus.HistogramVec
	attempts  *prometheus.HistogramVec
	eventAges prometheus.Histogram
	workers   *prometheus.GaugeVec
	waiting   *prometheus.GaugeVec
	contacts  *prometheus.GaugeVec
	tasks     *prometheus.CounterVec
	outcomes  *prometheus.CounterVec
	closed    *prometheus.CounterVec
	mails     *prometheus.CounterVec
	refusals  *prometheus.CounterVec // of mails
}

func newMetrics() *metrics {
	buckets := prometheus.ExponentialBuckets(0.001, 2.5, 12) // 1 ms to about 24 s
	m := &metrics{
		registry: prometheus.NewRegistry(),
		requests: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "quittance_http_request_seconds",
			Help: "Requests to the API by route, method and status.", Buckets: buckets}, []string{"route", "method", "status"}),
		calls: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "quittance_provider_call_seconds",
			Help: "Calls to providers by call and kind of response.", Buckets: buckets}, []string{"call", "kind"}),
		attempts: prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: "quittance_webhook_attempt_seconds",
			Help: "Webhook attempts by verdict.", Buckets: buckets}, []string{"verdict"}),
		eventAges: prometheus.NewHistogram(prometheus.HistogramOpts{Name: "quittance_webhook_event_age_seconds",
			Help: "Age of an event when an attempt to deliver it ended.", Buckets: prometheus.ExponentialBuckets(0.001, 4, 14)}),
	}
	m.workers = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "quittance_workers_busy",
		Help: "Busy workers, by work and by pace of the queue: quick or slow."}, []string{"work", "pace"})
	m.waiting = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "quittance_lanes_waiting",
		Help: "Queues (destinations and provider connections) with due work that wait for a worker, by work."},
		[]string{"work"})
	m.contacts = prometheus.NewGaugeVec(prometheus.GaugeOpts{Name: "quittance_worker_contact_timestamp_seconds",
		Help: "When the workers of this process last got an answer of the database to the question for due work, in Unix time, by work."}, []string{"work"})
	m.tasks = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_worker_tasks_total",
		Help: "Tasks of the workers that have ended, by work and by end: done, lease_lost or panic."},
		[]string{"work", "end"})
	m.outcomes = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_submission_outcomes_total",
		Help: "Responses of providers that changed the outcome of a submission, by new outcome."}, []string{"outcome"})
	for _, outcome := range []api.Outcome{api.OutcomeAcknowledged, api.OutcomeRejected, api.OutcomeUnknown,
		invoices.OutcomeNotSent} {
		m.outcomes.WithLabelValues(string(outcome)) // so that a rate has a beginning
	}
	m.closed = prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_http_connections_closed_total",
		Help: "Connections to the API that were closed because of a limit, by reason: new ones that were refused, and idle ones that were closed for new ones."}, []string{"reason"})
	for _, reason := range []connlimit.Reason{connlimit.Refused, connlimit.Idle} {
		m.closed.WithLabelValues(string(reason))
	}
	m.mails, m.refusals = newMailCounter(), newRefusalCounter()
	m.registry.MustRegister(m.requests, m.closed, m.calls, m.attempts, m.eventAges, m.workers, m.waiting, m.contacts,
		m.tasks, m.outcomes, m.mails, m.refusals, collectors.NewGoCollector(),
		collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// handler responds with the metrics.
func (m *metrics) handler() http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(m.registry, promhttp.HandlerOpts{}))
	return mux
}

// connectionClosed counts a connection that was closed because of a limit.
func (m *metrics) connectionClosed(reason connlimit.Reason) {
	m.closed.WithLabelValues(string(reason)).Inc()
}

func (m *metrics) request(route, method string, status int, duration time.Duration) {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodPost, http.MethodPatch, http.MethodPut, http.MethodDelete,
		http.MethodOptions:
	default:
		method = "other"
	}
	m.requests.WithLabelValues(route, method, strconv.Itoa(status)).Observe(duration.Seconds())
}

func (m *metrics) providerCall(call, kind string, duration time.Duration) {
	m.calls.WithLabelValues(call, kind).Observe(duration.Seconds())
}

func (m *metrics) attempt(verdict webhook.Verdict, duration, age time.Duration) {
	m.attempts.WithLabelValues(string(verdict)).Observe(duration.Seconds())
	m.eventAges.Observe(age.Seconds())
}

// observeCertificate registers a gauge for the expiry of the certificate of the API; Unix time 0 without a certificate.
func (m *metrics) observeCertificate(expiry func() time.Time) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "quittance_tls_certificate_expiry_timestamp_seconds",
			Help: "When the first certificate of the chain of --tls-cert expires, in Unix time; 0 without --tls-cert."},
		func() float64 { return float64(expiry().Unix()) }))
}

// observeServer registers gauges for the running requests and the open connections of the API.
func (m *metrics) observeServer(count, connections func() int) {
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quittance_http_connections",
		Help: "Open connections to the API."}, func() float64 { return float64(connections()) }))
	m.registry.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quittance_http_requests_inside",
		Help: "Requests to the API that are being processed."}, func() float64 { return float64(count()) }))
}

// onStats returns the [queue.Options] callback that records the numbers of one kind of work.
func (m *metrics) onStats(work string) func(queue.Stats) {
	quick, slow, waiting := m.workers.WithLabelValues(work, "quick"), m.workers.WithLabelValues(work, "slow"),
		m.waiting.WithLabelValues(work)
	contact := m.contacts.WithLabelValues(work)
	return func(s queue.Stats) {
		quick.Set(float64(s.QuickWorkers))
		slow.Set(float64(s.SlowWorkers))
		waiting.Set(float64(s.WaitingQueues))
		if !s.Contact.IsZero() {
			contact.Set(float64(s.Contact.UnixMilli()) / 1000)
		}
	}
}

// onEnd returns the [queue.Options] callback that counts the tasks of one kind of work.
func (m *metrics) onEnd(work string) func(queue.End) {
	ended := map[queue.End]prometheus.Counter{}
	for _, end := range []queue.End{queue.Done, queue.LeaseLost, queue.Panicked} {
		ended[end] = m.tasks.WithLabelValues(work, string(end))
	}
	return func(end queue.End) { ended[end].Inc() }
}

// outcome counts a changed outcome of a submission.
func (m *metrics) outcome(outcome api.Outcome) { m.outcomes.WithLabelValues(string(outcome)).Inc() }

// observeProcess registers what the process is, whether it is ready, and its connections to the database.
func (m *metrics) observeProcess(c Config, db *base.DB, ready func(context.Context) error) {
	info := prometheus.NewGauge(prometheus.GaugeOpts{Name: "quittance_build_info",
		Help: "1, with the release of the binary and what the process is as labels.",
		ConstLabels: prometheus.Labels{"version": c.Version, "environment": c.Environment, "role": c.role(),
			"engine": db.Engine()}})
	info.Set(1)
	changed := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "quittance_changed_rows_total",
		Help: "Times that a secret did not open, or a row that decides who may act did not, because it was changed outside of the service."}, func() float64 { return float64(db.ChangedRows()) })
	limited := prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "quittance_mails_limited_total",
		Help: "E-mails that were not sent because their recipients had got too many of their kind."},
		func() float64 { return float64(db.LimitedMails()) })
	m.registry.MustRegister(info, changed, limited, newPoolCollector(db),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "quittance_ready",
			Help: "1 if /readyz answers 200, otherwise 0."}, func() float64 {
			ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
			defer cancel()
			if ready(ctx) != nil {
				return 0
			}
			return 1
		}))
}
