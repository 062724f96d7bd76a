package service

import (
	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/store"
)

// poolCollector collects the numbers of the pools of connections to the database.
type poolCollector struct{ db *store.DB }

// The metrics of [poolCollector].
var (
	poolLimit  = prometheus.NewDesc("quittance_database_connections_limit", "Largest number of connections to the database, by pool.", []string{"pool"}, nil)
	poolInUse  = prometheus.NewDesc("quittance_database_connections_in_use", "Connections to the database that are in use, by pool.", []string{"pool"}, nil)
	poolWaits  = prometheus.NewDesc("quittance_database_connection_waits_total", "How many times somebody has waited for a connection to the database, by pool.", []string{"pool"}, nil)
	poolWaited = prometheus.NewDesc("quittance_database_connection_wait_seconds_total", "How long these waits have taken altogether, by pool.", []string{"pool"}, nil)
)

// Describe implements [prometheus.Collector].
func (poolCollector) Describe(to chan<- *prometheus.Desc) {
	for _, description := range []*prometheus.Desc{poolLimit, poolInUse, poolWaits, poolWaited} {
		to <- description
	}
}

// Collect implements [prometheus.Collector].
func (c poolCollector) Collect(to chan<- prometheus.Metric) {
	for _, pool := range c.db.Pools() {
		to <- prometheus.MustNewConstMetric(poolLimit, prometheus.GaugeValue, float64(pool.Limit), pool.Name)
		to <- prometheus.MustNewConstMetric(poolInUse, prometheus.GaugeValue, float64(pool.InUse), pool.Name)
		to <- prometheus.MustNewConstMetric(poolWaits, prometheus.CounterValue, float64(pool.Waits), pool.Name)
		to <- prometheus.MustNewConstMetric(poolWaited, prometheus.CounterValue, pool.Waited.Seconds(), pool.Name)
	}
}
