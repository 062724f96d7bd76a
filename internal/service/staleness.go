package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/store"
)

// staleness collects how far reconciliation and deliveries are behind, from the database, whenever metrics are read. It is the same at
// every replica: an alert takes the largest.
type staleness struct {
	db                        *store.DB
	log                       *slog.Logger
	overdue, oldest, troubled *prometheus.Desc

	deliveries, deliveriesOverdue, deliveryOldest, submissions, contradicted *prometheus.Desc
}

// readWithin bounds one reading of the metrics.
const readWithin = 5 * time.Second

func newStaleness(db *store.DB, log *slog.Logger) *staleness {
	return &staleness{db: db, log: log,
		overdue:           prometheus.NewDesc("quittance_lookups_overdue", "Submissions that should have been asked about by now.", nil, nil),
		oldest:            prometheus.NewDesc("quittance_lookup_overdue_seconds", "For how long the first of them should have been asked about.", nil, nil),
		troubled:          prometheus.NewDesc("quittance_connections_in_trouble", "Provider connections that are tried by one look-up at a time.", nil, nil),
		deliveries:        prometheus.NewDesc("quittance_deliveries_pending", "Deliveries that are on their way, those that wait for a retry included; counted up to 100,000.", nil, nil),
		deliveriesOverdue: prometheus.NewDesc("quittance_deliveries_overdue", "Those of them that should have been attempted by now.", nil, nil),
		deliveryOldest:    prometheus.NewDesc("quittance_delivery_overdue_seconds", "For how long the first of them should have been attempted.", nil, nil),
		submissions:       prometheus.NewDesc("quittance_submissions_pending", "Submissions that the provider is still asked about; counted up to 100,000.", nil, nil),
		contradicted:      prometheus.NewDesc("quittance_submissions_contradicted", "Submissions that an administrator resolved by rejecting them and that the provider reported all the same.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (s *staleness) Describe(to chan<- *prometheus.Desc) {
	to <- s.overdue
	to <- s.oldest
	to <- s.troubled
	for _, description := range []*prometheus.Desc{s.deliveries, s.deliveriesOverdue, s.deliveryOldest, s.submissions, s.contradicted} {
		to <- description
	}
}

// Collect implements [prometheus.Collector]. What cannot be read is left out: a number that is missing is no zero.
func (s *staleness) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	gauge := func(description *prometheus.Desc, value float64) {
		to <- prometheus.MustNewConstMetric(description, prometheus.GaugeValue, value)
	}
	now, err := s.db.ReconciliationLag(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read how far reconciliation is behind", "error", err)
		return
	}
	gauge(s.overdue, float64(now.Overdue))
	gauge(s.oldest, now.Oldest.Seconds())
	gauge(s.troubled, float64(now.OpenCircuits))
	deliveries, submissions, err := s.db.Backlogs(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read how much work waits", "error", err)
		return
	}
	gauge(s.deliveries, float64(deliveries.Pending))
	gauge(s.deliveriesOverdue, float64(deliveries.Overdue))
	gauge(s.deliveryOldest, deliveries.Oldest.Seconds())
	gauge(s.submissions, float64(submissions.Pending))
	contradicted, err := s.db.Contradicted(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read how many resolved submissions are contradicted", "error", err)
		return
	}
	gauge(s.contradicted, float64(contradicted))
}
