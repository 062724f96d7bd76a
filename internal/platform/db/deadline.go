package db

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// QueryTimeout bounds the wait for a connection to PostgreSQL, and each query whose context has no deadline. If the
// database neither responds nor closes the connection (a stalled disk, a network that drops packets), the query then
// fails as unavailable and its connection is closed. Transactions have WriteTimeout instead.
const QueryTimeout = 10 * time.Second

// queryDeadline sets that deadline. It is a tracer of pgx: pgx gets the context of each step from it, and reports the
// end of the step, including its rows, to it.
type queryDeadline struct{}

// stepKey is the context key of the cancel function of a step; noDeadlineKey marks contexts without a deadline.
type (
	stepKey       struct{}
	noDeadlineKey struct{}
)

// WithoutQueryDeadline returns a context for queries that may take as long as they need, because they read whole
// tables.
func WithoutQueryDeadline(ctx context.Context) context.Context {
	return context.WithValue(ctx, noDeadlineKey{}, true)
}

func startStep(ctx context.Context) context.Context {
	if ctx.Value(noDeadlineKey{}) != nil {
		return ctx
	}
	bounded, cancel := context.WithTimeout(ctx, QueryTimeout)
	return context.WithValue(bounded, stepKey{}, cancel)
}

func endStep(ctx context.Context) {
	if cancel, ok := ctx.Value(stepKey{}).(context.CancelFunc); ok {
		cancel()
	}
}

// TraceQueryStart implements [pgx.QueryTracer].
func (queryDeadline) TraceQueryStart(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryStartData) context.Context {
	if _, bounded := ctx.Deadline(); bounded {
		return ctx
	}
	return startStep(ctx)
}

// TraceQueryEnd implements [pgx.QueryTracer].
func (queryDeadline) TraceQueryEnd(ctx context.Context, _ *pgx.Conn, _ pgx.TraceQueryEndData) {
	endStep(ctx)
}

// TraceAcquireStart implements [pgxpool.AcquireTracer].
func (queryDeadline) TraceAcquireStart(ctx context.Context, _ *pgxpool.Pool,
	_ pgxpool.TraceAcquireStartData) context.Context {
	return startStep(ctx)
}

// TraceAcquireEnd implements [pgxpool.AcquireTracer].
func (queryDeadline) TraceAcquireEnd(ctx context.Context, _ *pgxpool.Pool, _ pgxpool.TraceAcquireEndData) {
	endStep(ctx)
}
