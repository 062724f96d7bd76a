package service

import (
	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/ledger/base"
)

// poolCollector collects the numbers of the pools of connections to the database.
type poolCollector struct {
	db                          *base.DB
	limit, inUse, waits, waited *prometheus.Desc
}

func newPoolCollector(db *base.DB) *poolCollector {
	pool := []string{"pool"}
	return &poolCollector{db: db,
		limit: prometheus.NewDesc("quittance_database_connections_limit",
			"Largest number of connections to the database, by pool.", pool, nil),
		inUse: prometheus.NewDesc("quittance_database_connections_in_use",
			"Connections to the database that are in use, by pool.", pool, nil),
		waits: prometheus.NewDesc("quittance_database_connection_waits_total",
			"How many times somebody has waited for a connection to the database, by pool.", pool, nil),
		waited: prometheus.NewDesc("quittance_database_connection_wait_seconds_total",
			"How long these waits have taken altogether, by pool.", pool, nil)}
}

// Describe implements [prometheus.Collector].
func (c *poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{c.limit, c.inUse, c.waits, c.waited} {
		to <- description
	}
}

// Collect implements [prometheus.Collector].
func (c *poolCollector) Collect(to chan<- prometheus.Metric) {
	for _, pool := range c.db.Pools() {
		to <- prometheus.MustNewConstMetric(c.limit, prometheus.GaugeValue, float64(pool.Limit), pool.Name)
		to <- prometheus.MustNewConstMetric(c.inUse, prometheus.GaugeValue, float64(pool.InUse), pool.Name)
		to <- prometheus.MustNewConstMetric(c.waits, prometheus.CounterValue, float64(pool.Waits), pool.Name)
		to <- prometheus.MustNewConstMetric(c.waited, prometheus.CounterValue, pool.Waited.Seconds(), pool.Name)
	}
}
