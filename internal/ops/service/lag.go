package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/ledger"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
)

// lagCollector collects how far polling and deliveries are behind. It reads the database whenever metrics are
// collected. All replicas report the same numbers, so an alert should take the maximum.
type lagCollector struct {
	db                        *base.DB
	log                       *slog.Logger
	outage                    *outage
	overdue, oldest, troubled *prometheus.Desc

	active, deliveries, deliveriesOverdue, deliveryOldest                *prometheus.Desc
	submissions, unknown, unknownOldest, contradicted, mails, mailOldest *prometheus.Desc

	lastBackup, lastVerification, evidenceFaults, oldestSync *prometheus.Desc
}

// collectTimeout bounds one collection.
const collectTimeout = 5 * time.Second

func newLagCollector(db *base.DB, log *slog.Logger, outage *outage) *lagCollector {
	return &lagCollector{db: db, log: log, outage: outage,
		overdue: prometheus.NewDesc("quittance_lookups_overdue", "Submissions whose status query is overdue.",
			nil, nil),
		oldest: prometheus.NewDesc("quittance_lookup_overdue_seconds",
			"How long the status query that is overdue longest has been overdue.", nil, nil),
		troubled: prometheus.NewDesc("quittance_connections_in_trouble",
			"Active provider connections whose circuit breaker is open, by kind of connection: only one status query at a time is made.", []string{"kind"}, nil),
		active: prometheus.NewDesc("quittance_connections_active",
			"Active provider connections, by kind of connection.", []string{"kind"}, nil),
		deliveries: prometheus.NewDesc("quittance_deliveries_pending",
			"Deliveries that have not ended, including those that wait for a retry; counted up to 100,000.", nil, nil),
		deliveriesOverdue: prometheus.NewDesc("quittance_deliveries_overdue", "Pending deliveries whose attempt is overdue.",
			nil, nil),
		deliveryOldest: prometheus.NewDesc("quittance_delivery_overdue_seconds",
			"How long the attempt that is overdue longest has been overdue.", nil, nil),
		submissions: prometheus.NewDesc("quittance_submissions_pending",
			"Submissions that are still reconciled with the provider; counted up to 100,000.", nil, nil),
		unknown: prometheus.NewDesc("quittance_submissions_unknown",
			"Submissions of unknown outcome, by how long ago they were attempted: within an hour, within a day (and not within an hour), or earlier.", []string{"age"}, nil),
		unknownOldest: prometheus.NewDesc("quittance_submission_unknown_seconds",
			"How long ago the oldest submission of unknown outcome was attempted.", nil, nil),
		mails: prometheus.NewDesc("quittance_mails_pending",
			"E-mails that were not sent yet, including those that wait for another attempt.", nil, nil),
		mailOldest: prometheus.NewDesc("quittance_mail_pending_seconds",
			"How long the oldest e-mail that was not sent yet has waited.", nil, nil),
		contradicted: prometheus.NewDesc("quittance_submissions_contradicted",
			"Submissions that an administrator resolved as rejected although the provider has since reported them.", nil, nil),
		lastBackup: prometheus.NewDesc("quittance_last_backup_timestamp_seconds",
			"The moment that the last successful backup shows, in Unix time; 0 if quittance backup has made none.", nil, nil),
		lastVerification: prometheus.NewDesc("quittance_last_evidence_verify_timestamp_seconds",
			"When quittance evidence verify has last verified the whole database, in Unix time; 0 if it never has.", nil, nil),
		evidenceFaults: prometheus.NewDesc("quittance_evidence_faults", "The faults that this verification has found.",
			nil, nil),
		oldestSync: prometheus.NewDesc("quittance_purchase_sync_oldest_timestamp_seconds",
			"The last complete purchase sync of the active connection that has waited longest for one, in Unix time, or when the connection was added if it had none; 0 without active connections.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (s *lagCollector) Describe(to chan<- *prometheus.Desc) {
	to <- s.overdue
	to <- s.oldest
	to <- s.troubled
	for _, description := range []*prometheus.Desc{s.active, s.deliveries, s.deliveriesOverdue, s.deliveryOldest,
		s.submissions, s.unknown, s.unknownOldest, s.contradicted, s.mails, s.mailOldest, s.lastBackup, s.lastVerification,
		s.evidenceFaults, s.oldestSync} {
		to <- description
	}
}

// Collect implements [prometheus.Collector]. It omits numbers that it cannot read; it does not report zero for them.
func (s *lagCollector) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), collectTimeout)
	defer cancel()
	gauge := func(description *prometheus.Desc, value float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value, labels...)
	}
	now, err := invoices.ReadPollLag(ctx, s.db)
	if err != nil {
		s.warn(ctx, "lag of polling", err)
		return
	}
	gauge(s.overdue, float64(now.Overdue))
	gauge(s.oldest, now.Oldest.Seconds())
	for _, connections := range now.Connections {
		gauge(s.active, float64(connections.Active), connections.Kind)
		gauge(s.troubled, float64(connections.OpenCircuits), connections.Kind)
	}
	deliveries, submissions, err := lists.Backlogs(ctx, s.db)
	if err != nil {
		s.warn(ctx, "backlog of work", err)
		return
	}
	gauge(s.deliveries, float64(deliveries.Pending))
	gauge(s.deliveriesOverdue, float64(deliveries.Overdue))
	gauge(s.deliveryOldest, deliveries.Oldest.Seconds())
	gauge(s.submissions, float64(submissions.Pending))
	mails, oldest, err := identity.MailBacklog(ctx, s.db)
	if err != nil {
		s.warn(ctx, "e-mails that wait", err)
		return
	}
	gauge(s.mails, float64(mails))
	waited := 0.0
	if mails > 0 {
		waited = max(0, s.db.Now().Sub(oldest).Seconds())
	}
	gauge(s.mailOldest, waited)
	unknown, err := lists.ReadUnknownAges(ctx, s.db)
	if err != nil {
		s.warn(ctx, "submissions of unknown outcome", err)
		return
	}
	gauge(s.unknown, float64(unknown.Minutes), "hour")
	gauge(s.unknown, float64(unknown.Hours), "day")
	gauge(s.unknown, float64(unknown.Days), "older")
	gauge(s.unknownOldest, unknown.Oldest.Seconds())
	contradicted, err := invoices.Contradicted(ctx, s.db)
	if err != nil {
		s.warn(ctx, "contradicted submissions", err)
		return
	}
	gauge(s.contradicted, float64(contradicted))
	s.collectTimes(ctx, gauge)
}

// warn logs that numbers are missing from a scrape, unless the line about the outage of the database says so.
func (s *lagCollector) warn(ctx context.Context, numbers string, err error) {
	if !s.outage.covers(err) {
		s.log.WarnContext(ctx, "cannot read numbers of the database for the metrics", "numbers", numbers, "error", err)
	}
}

// collectTimes collects when something was done last.
func (s *lagCollector) collectTimes(ctx context.Context,
	gauge func(description *prometheus.Desc, value float64, labels ...string)) {
	seconds := func(at time.Time) float64 { return float64(at.UnixMicro()) / 1e6 }
	switch at, err := incoming.OldestPurchaseSync(ctx, s.db); {
	case errors.Is(err, base.ErrNotFound):
		gauge(s.oldestSync, 0)
	case err != nil:
		s.warn(ctx, "oldest purchase sync", err)
	default:
		gauge(s.oldestSync, seconds(at))
	}
	switch at, err := ledger.LastBackup(ctx, s.db); {
	case errors.Is(err, base.ErrNotFound):
		gauge(s.lastBackup, 0)
	case err != nil:
		s.warn(ctx, "last backup", err)
	default:
		gauge(s.lastBackup, seconds(at))
	}
	switch last, err := identity.LastVerification(ctx, s.db); {
	case errors.Is(err, base.ErrNotFound):
		gauge(s.lastVerification, 0)
		gauge(s.evidenceFaults, 0)
	case err != nil:
		s.warn(ctx, "last verification", err)
	default:
		gauge(s.lastVerification, seconds(last.At))
		gauge(s.evidenceFaults, float64(last.Faults))
	}
}
