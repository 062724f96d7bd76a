package service

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/store"
)

// staleness collects how far reconciliation is behind, from the database, whenever metrics are read. It is the same at
// every replica: an alert takes the largest.
type staleness struct {
	db                        *store.DB
	log                       *slog.Logger
	overdue, oldest, troubled *prometheus.Desc
}

// readWithin bounds one reading of the metrics.
const readWithin = 5 * time.Second

func newStaleness(db *store.DB, log *slog.Logger) *staleness {
	return &staleness{db: db, log: log,
		overdue:  prometheus.NewDesc("quittance_lookups_overdue", "Submissions that should have been asked about by now.", nil, nil),
		oldest:   prometheus.NewDesc("quittance_lookup_overdue_seconds", "For how long the first of them should have been asked about.", nil, nil),
		troubled: prometheus.NewDesc("quittance_connections_in_trouble", "Provider connections that are tried by one look-up at a time.", nil, nil)}
}

// Describe implements [prometheus.Collector].
func (s *staleness) Describe(to chan<- *prometheus.Desc) {
	to <- s.overdue
	to <- s.oldest
	to <- s.troubled
}

// Collect implements [prometheus.Collector]. What cannot be read is left out: a number that is missing is no zero.
func (s *staleness) Collect(to chan<- prometheus.Metric) {
	ctx, cancel := context.WithTimeout(context.Background(), readWithin)
	defer cancel()
	now, err := s.db.Staleness(ctx)
	if err != nil {
		s.log.WarnContext(ctx, "cannot read how far reconciliation is behind", "error", err)
		return
	}
	to <- prometheus.MustNewConstMetric(s.overdue, prometheus.GaugeValue, float64(now.Overdue))
	to <- prometheus.MustNewConstMetric(s.oldest, prometheus.GaugeValue, now.Oldest.Seconds())
	to <- prometheus.MustNewConstMetric(s.troubled, prometheus.GaugeValue, float64(now.Troubled))
}
