package simulation

// bug is a plausible mistake that the simulation must find. The statement that keeps the promise carries the marker
// //planted:NAME in the product's source, at the end of its first line; the marker moves with the statement. The bug
// changes what this statement does, while the bug is switched on. Exactly one of the ways to change it is set.
type bug struct {
	name string
	// before and after are statements that run before or after the marked one.
	before, after string
	// or is a condition that makes the condition of the marked statement true. The condition is that of an if or a case,
	// or the assigned value.
	or string
	// never makes the condition of the marked statement false.
	never bool
}

// bugs returns the bugs, one for each marker.
func bugs() []bug {
	return []bug{
		{name: "resend-without-status-query", or: `true`},
		{name: "broken-response-not-sent", or: `true`},
		{name: "state-from-http-status", after: `if r.HTTPStatus/100 == 2 {
				d.Outcome = api.OutcomeAcknowledged
			}`},
		{name: "unknown-reference-not-sent",
			before: `if r.Kind == provider.UnknownReference && d.Outcome == api.OutcomeUnknown {
				d.Outcome = invoices.OutcomeNotSent
			}`},
		{name: "report-on-another-document", or: `true`},
		{name: "polling-stops-after-an-error", or: `r.Kind.String() == "unclear"`},
		{name: "older-report-overwrites", never: true},
		{name: "dimension-inferred", after: `if merged.TaxAuthority.terminal && !merged.Receiver.terminal {
				merged.Receiver.value = merged.TaxAuthority.value
				change.Changed = append(change.Changed, DimensionReceiver)
			}`},
		{name: "terminal-event-twice", or: `len(change.Changed) > 1`},
		{name: "event-outside-the-transaction", after: `type inner struct{}
			if ctx.Value(inner{}) == nil {
				var late []api.EventKind
				s, err := l.Record(context.WithValue(ctx, inner{}, true), func(s Submission, held bool, now time.Time) (Decision, error) {
					d, err := decide(s, held, now)
					late, d.Events = d.Events, nil
					return d, err
				})
				if err != nil {
					return s, err
				}
				return s, t.Write(ctx, "late events", func(ctx context.Context, tx *base.Tx) error {
					emitted, err := events.Prepare(ctx, tx, t, tx.Now(), late, api.ResourceSubmission, s.ID, s.Payload(s.States))
					if err != nil {
						return err
					}
					return emitted.Write(ctx, tx)
				})
			}`},
		{name: "number-checked-across-tenants",
			after: `if err := q.QueryRowContext(ctx, "select invoice_id from submissions where number = $1 and outcome in ('in_progress', 'acknowledged', 'unknown')",
				d.storedNumber()).Scan(&p.numberHolder); err != nil && !errors.Is(err, sql.ErrNoRows) {
				return p, err
			}`},
		{name: "no-poll-after-a-crash", after: `s.DueAt = new(now.Add(1000 * time.Hour))`},
		{name: "late-worker-overwrites", before: `for _, r := range records {
				if err := tx.QueryRowContext(ctx, "select lease from deliveries where tenant_id = $1 and id = $2", r.Tenant.ID(), r.ID).Scan(&r.fencingToken); err != nil {
					return err
				}
			}`},
		{name: "delivered-before-it-is-sent", after: `for _, d := range claimed {
				if _, err := tx.Exec(ctx, "update deliveries set state = 'delivered', due_at = null where tenant_id = $1 and id = $2", t.ID(), d.ID); err != nil {
					return err
				}
			}`},
		{name: "one-subscription-notified", after: `break`},
		{name: "request-differs-per-attempt", after: `timestamp = FormatTimestamp(d.Now())`},
		{name: "redirect-keeps-the-subscription",
			before: `return events.DeliveryUpdate{State: events.DeliveryBlocked, Reason: result.Reason}`},
		{name: "private-address-allowed", never: true},
		{name: "cursor-before-documents", before: `early := step
			early.Hold, early.After = true, r.leaseDuration()
			if err := r.commit(ctx, nil, early); err != nil {
				return false, err
			}`},
		{name: "credit-notes-ignore-each-other", before: `live = nil`},
		{name: "key-outside-the-transaction",
			before: `if stored, err := FindIdempotentResponse(ctx, t, key, fingerprint); stored == nil && err == nil {
				first, err := act(ctx, t)
				if err != nil {
					return first, false, err
				}
				act = func(context.Context, *base.Tenant) (IdempotentResponse, error) { return first, nil }
			}`},
		{name: "chain-not-continued", after: `if s.Evidence > 0 {
				e.Previous = [32]byte{}
			}`},
		{name: "secret-in-the-log", before: `d.Log.DebugContext(ctx, "signing", "key", lease.Secret.Reveal())`},
		{name: "submitted-invoice-changed", never: true},
	}
}
