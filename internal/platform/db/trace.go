package db

import "context"

// tracedEngine is an engine that calls trace with each statement before it runs; see [Options.Trace].
type tracedEngine struct {
	engine
	trace func(statement string, args []any)
}

func (e tracedEngine) reader() Querier { return tracedQuerier{e.engine.reader(), e.trace} }

func (e tracedEngine) snapshot(ctx context.Context, fn func(ctx context.Context, q Querier) error) error {
	return e.engine.snapshot(ctx, func(ctx context.Context, q Querier) error { return fn(ctx, tracedQuerier{q, e.trace}) })
}

func (e tracedEngine) begin(ctx context.Context) (transaction, error) {
	begun, err := e.engine.begin(ctx)
	if err != nil {
		return nil, err
	}
	return tracedTx{begun, tracedQuerier{begun, e.trace}}, nil
}

// tracedQuerier traces queries.
type tracedQuerier struct {
	from  Querier
	trace func(statement string, args []any)
}

// QueryContext implements [Querier].
func (q tracedQuerier) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	q.trace(query, args)
	return q.from.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [Querier].
func (q tracedQuerier) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	q.trace(query, args)
	return q.from.QueryRowContext(ctx, query, args...)
}

// tracedTx traces the statements of a transaction.
type tracedTx struct {
	transaction
	queries tracedQuerier
}

// QueryContext implements [Querier].
func (t tracedTx) QueryContext(ctx context.Context, query string, args ...any) (Rows, error) {
	return t.queries.QueryContext(ctx, query, args...)
}

// QueryRowContext implements [Querier].
func (t tracedTx) QueryRowContext(ctx context.Context, query string, args ...any) Row {
	return t.queries.QueryRowContext(ctx, query, args...)
}

// Exec implements [transaction].
func (t tracedTx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	t.queries.trace(query, args)
	return t.transaction.Exec(ctx, query, args...)
}

// ExecDeferred implements [transaction].
func (t tracedTx) ExecDeferred(ctx context.Context, query string, args ...any) error {
	t.queries.trace(query, args)
	return t.transaction.ExecDeferred(ctx, query, args...)
}
