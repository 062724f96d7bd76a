package incoming

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
)

// ProviderEvent is an event of a provider's queue. It is retained before it is deleted there, in the transaction of
// everything that follows from it, so that an event that is handed out again changes nothing.
type ProviderEvent struct {
	// ID is the provider's identifier of the event: at most 64 characters.
	ID string
	// Body is the provider's response that contains the event.
	Body []byte
	// Reference is the submission that the event names, and ProviderReference the provider's identifier of its document. A
	// zero value means absent.
	Reference         base.ID
	ProviderReference string
}

// ErrNoSubmission says that an event is about no submission of the company that the provider can have.
var ErrNoSubmission = errors.New("the event is about no submission of the company")

// ProviderEventBinding is where the sealed body of an event stands.
func ProviderEventBinding(account, id base.ID) secret.Binding {
	return secret.Binding{Tenant: account[:], Table: "provider_events", Column: "body", Row: id[:]}
}

// EventReleased reports whether an event was retained earlier and may be deleted at the provider.
func (l PurchaseLease) EventReleased(ctx context.Context, id string) (bool, error) {
	released, err := base.ReadValue(l.Tenant, func(q base.Querier) (sql.Null[int64], error) {
		var at sql.Null[int64]
		err := q.QueryRowContext(ctx,
			`select released_at from provider_events where account_id = $1 and connection_id = $2 and provider_event_id = $3`,
			l.Connection.Account, l.Connection.ID, id).Scan(&at)
		return at, err
	})
	if errors.Is(err, base.ErrNotFound) {
		return false, nil
	}
	return released.Valid, err
}

// RecordEvent retains an event about a submission of the company, as evidence with everything that decide derives from
// it, and moves the sync, in one transaction. It returns the lease as it is then. decide is that of
// [invoices.SubmissionLease.Record]: held is false, because an event changes no schedule. [ErrNoSubmission] says that
// there is no such submission. [base.ErrLeaseLost] is as in [PurchaseLease.RetainPurchases].
func (l PurchaseLease) RecordEvent(ctx context.Context, event ProviderEvent, step SyncStep,
	decide func(s invoices.Submission,
		held bool, now time.Time) (invoices.Decision, error)) (after PurchaseLease, recorded invoices.Submission, err error) {
	t := l.Tenant
	err = t.Write(ctx, "record event", func(ctx context.Context, tx *base.Tx) error {
		named := invoices.SubmissionLease{Tenant: t, Connection: l.Connection}
		var err error
		if named.Submission, err = submissionOfEvent(ctx, t, tx, &l.Connection, event); err != nil {
			return err
		}
		s, _, err := named.Lock(ctx, tx)
		switch {
		case err != nil:
			return err
		case !concernedBy(&s, event):
			return ErrNoSubmission
		}
		step.Event = event.ID
		if after, err = l.move(ctx, tx, step); err != nil {
			return err
		}
		decision, err := decide(s, false, tx.Now())
		if err != nil {
			return err
		}
		if err := invoices.WriteDecision(ctx, t, tx, &s, decision, false); err != nil {
			return err
		}
		recorded = s
		return nil
	})
	return after, recorded, err
}

// submissionOfEvent returns the submission of the company that an event is about, without a lock. It may have been
// submitted over an earlier connection to the same provider. submissionOfEvent returns [ErrNoSubmission] if there is
// none.
func submissionOfEvent(ctx context.Context, t *base.Tenant, q base.Querier, c *invoices.Connection,
	event ProviderEvent) (invoices.Submission, error) {
	const overSameProvider = ` and exists (select 1 from connections c where c.account_id = submissions.account_id and c.id = submissions.connection_id
		and c.kind = $3 and c.base_url = $4)`
	query, name := `select `+invoices.SubmissionColumns(t.DB())+` from submissions where tenant_id = $1 and id = $2`+
		overSameProvider, any(event.Reference)
	if event.Reference.IsZero() {
		query, name = `select `+invoices.SubmissionColumns(t.DB())+` from submissions where tenant_id = $1 and provider_reference = $2`+
			overSameProvider+` limit 2`, event.ProviderReference
	}
	found, err := base.Collect(ctx, q,
		func(row base.Row) (invoices.Submission, error) { return invoices.ScanSubmission(row) }, query, t.ID(),
		name, c.Kind, c.BaseURL)
	switch {
	case err != nil:
		return invoices.Submission{}, err
	case len(found) != 1 || !concernedBy(&found[0], event):
		return invoices.Submission{}, ErrNoSubmission
	}
	return found[0], nil
}

// concernedBy reports whether an event that names the submission is about it: both names must be its own. The provider
// has nothing to say about a submission that it did not receive.
func concernedBy(s *invoices.Submission, event ProviderEvent) bool {
	return s.Outcome != invoices.OutcomeNotSent && (s.ProviderReference == nil ||
		event.ProviderReference == *s.ProviderReference)
}

// RetainUnrouted notes when an event that is about nothing of the connection was first seen. At least wait later it
// retains and releases the event: until then another reader of the queue may take it. The event is sealed, because it
// may be another company's. The sync moves by the step released or by waiting. The error is that of
// [PurchaseLease.RetainPurchases].
func (l PurchaseLease) RetainUnrouted(ctx context.Context, event ProviderEvent, wait time.Duration, released,
	waiting SyncStep) (after PurchaseLease, isReleased bool, err error) {
	t := l.Tenant
	err = t.Write(ctx, "retain unrouted event", func(ctx context.Context, tx *base.Tx) error {
		now := tx.Now()
		id, err := base.NewID(now, t.DB().Random())
		if err != nil {
			return err
		}
		var seen int64
		if err := tx.QueryRowContext(ctx,
			`insert into provider_events (account_id, id, connection_id, provider_event_id, seen_at) values ($1, $2, $3, $4, $5)
			on conflict (account_id, connection_id, provider_event_id) do update set provider_event_id = excluded.provider_event_id returning id, seen_at`,
			l.Connection.Account, id, l.Connection.ID, event.ID, base.Micros(now)).Scan(&id, &seen); err != nil {
			return err
		}
		step := waiting
		if isReleased = !now.Before(base.Instant(seen).Add(wait)); isReleased {
			step = released
			sealed, err := t.DB().Sealer().Seal(event.Body, ProviderEventBinding(l.Connection.Account, id))
			if err != nil {
				return err
			}
			if _, err := tx.Exec(ctx, `update provider_events set body = $3, released_at = $4 where account_id = $1 and id = $2`,
				l.Connection.Account, id, sealed, base.Micros(now)); err != nil {
				return err
			}
		}
		after, err = l.move(ctx, tx, step)
		return err
	})
	return after, isReleased, err
}

// UnroutedEvent is an event of a connection's queue that was about nothing of the connection, and was retained and
// released.
type UnroutedEvent struct {
	Connection base.ID
	ID         string // the provider's identifier
	// Body is the provider's response. It is nil and Withheld is set if it contains the connection's credential.
	Body     []byte
	Withheld bool
	// SeenAt is when it was first handed out, and ReleasedAt since when it may be deleted at the provider.
	SeenAt, ReleasedAt time.Time

	id base.ID
}

// UnroutedEvents returns the latest unrouted events of an account, newest first.
func UnroutedEvents(ctx context.Context, db *base.DB, account base.ID, limit int) ([]UnroutedEvent, error) {
	events, err := base.Collect(ctx, db.Querier(), func(row base.Row) (UnroutedEvent, error) {
		var e UnroutedEvent
		var seen, released int64
		err := row.Scan(&e.id, &e.Connection, &e.ID, &e.Body, &seen, &released)
		e.SeenAt, e.ReleasedAt = base.Instant(seen), base.Instant(released)
		return e, err
	},
		`select id, connection_id, provider_event_id, body, seen_at, released_at from provider_events where account_id = $1 and body is not null order by id desc limit $2`, account, limit)
	if err != nil {
		return nil, db.Classify(err)
	}
	for i := range events {
		if err := openUnrouted(ctx, db, account, &events[i]); err != nil {
			return nil, err
		}
	}
	return events, nil
}

// openUnrouted opens the sealed body of an event.
func openUnrouted(ctx context.Context, db *base.DB, account base.ID, e *UnroutedEvent) error {
	body, err := db.Sealer().Open(e.Body, ProviderEventBinding(account, e.id))
	if err != nil {
		return fmt.Errorf("event %s: %w", e.ID, err)
	}
	connection, err := invoices.FindConnection(ctx, db, e.Connection)
	if err != nil {
		return err
	}
	credential, err := invoices.Credential(db, connection)
	if err != nil {
		return fmt.Errorf("credential of connection %s: %w", e.Connection, err)
	}
	if e.Body = body; secret.NewEcho(credential)(body, false) {
		e.Body, e.Withheld = nil, true
	}
	return nil
}

// insertProviderEvent notes that an event is retained, which may have been about nothing before. It returns
// [base.ErrLeaseLost] if it was retained before.
func insertProviderEvent(ctx context.Context, t *base.Tx, l *PurchaseLease, event string) error {
	now := t.Now()
	id, err := base.NewID(now, t.DB.Random())
	if err != nil {
		return err
	}
	changed, err := t.Exec(ctx,
		`insert into provider_events (account_id, id, connection_id, provider_event_id, seen_at, released_at) values ($1, $2, $3, $4, $5, $5)
		on conflict (account_id, connection_id, provider_event_id) do update set released_at = excluded.released_at where provider_events.released_at is null`,
		l.Connection.Account, id, l.Connection.ID, event, base.Micros(now))
	if err == nil && changed == 0 {
		return base.ErrLeaseLost
	}
	return err
}
