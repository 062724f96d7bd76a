package service

import (
	"context"
	"errors"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/tracing"
)

// startTracing creates the tracer, if there is an endpoint for traces. From then on log lines name their trace.
func (s *Service) startTracing() (err error) {
	config := s.config.Traces
	config.RequireTLS, config.Version, config.Environment = s.config.Environment == Production, s.config.Version,
		s.config.Environment
	config.Log, config.Now = s.config.Log, time.Now
	exported := prometheus.NewCounter(prometheus.CounterOpts{Name: "quittance_trace_spans_exported_total",
		Help: "Spans that the receiver of traces has accepted."})
	dropped := prometheus.NewCounterVec(prometheus.CounterOpts{Name: "quittance_trace_spans_dropped_total",
		Help: "Spans that were dropped, by reason: too many were waiting (queue), or the receiver did not accept them (export)."}, []string{"reason"})
	for _, reason := range []tracing.Reason{tracing.DroppedQueue, tracing.DroppedExport} {
		dropped.WithLabelValues(string(reason)) // so that a rate has a beginning
	}
	config.Exported = func(spans int) { exported.Add(float64(spans)) }
	config.Dropped = func(reason tracing.Reason, spans int) { dropped.WithLabelValues(string(reason)).Add(float64(spans)) }
	if s.tracer, err = tracing.New(config); err != nil || s.tracer == nil {
		return err
	}
	s.metrics.registry.MustRegister(exported, dropped)
	s.config.Log = slog.New(tracing.LogHandler(s.config.Log.Handler()))
	return nil
}

// observeWrite returns the function that traces the writes of the database, nil without traces.
func (s *Service) observeWrite() func(context.Context, string) func(error) {
	if s.tracer == nil {
		return nil
	}
	return func(ctx context.Context, operation string) func(error) {
		span := s.tracer.Write(ctx, operation)
		return func(err error) { span.EndWrite(err == nil, errors.Is(err, base.ErrUnavailable)) }
	}
}
