package store

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// queryTimeout bounds the wait for a connection to PostgreSQL, and each query that has no deadline by itself. A database that
// neither answers nor hangs up (a stalled disk, a network that swallows packets) is unavailable after that, and its
// connection is given up. Transactions have [writeTimeout].
const queryTimeout = 10 * time.Second

// queryLimit sets that deadline. pgx asks its tracer for the context of every step, and tells it when the step has ended,
// with its rows.
type queryLimit struct{}

// stepKey is where the context of a step keeps its end; unlimitedKey marks one without limit.
type (
	stepKey      struct{}
	unlimitedKey struct{}
)

// unlimited lets queries take as long as they need: those that go through everything there is.
func unlimited(ctx context.Context) context.Context {
	return context.WithValue(ctx, unlimitedKey{}, true)
}

func startStep(ctx context.Context) context.Context {
	if ctx.Value(unlimitedKey{}) != nil {
		return ctx
	}
	bounded, cancel := context.WithTimeout(ctx, queryTimeout)
	return context.WithValue(bounded, stepKey{}, cancel)
}

func endStep(ctx context.Context) {
	if cancel, ok := ctx.Value(stepKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (queryLimit) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx
	}
	return startStep(ctx)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (queryLimit) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	endStep(ctx)
}

// TraceAcquireStart implements [pgxpool.AcquireTracer].
func (queryLimit) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireStartData) context.Context {
	return startStep(ctx)
}

// TraceAcquireEnd implements [pgxpool.AcquireTracer].
func (queryLimit) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	endStep(ctx)
}
