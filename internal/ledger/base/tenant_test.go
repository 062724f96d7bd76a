package base_test

import (
	"context"
	"errors"
	"reflect"
	"testing"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestNoTenant checks that nothing can be read or written through a tenant that this package did not create: the zero
// value, and nil.
func TestNoTenant(t *testing.T) {
	for kind, tenant := range map[string]*base.Tenant{"nil": nil, "zero": {}} {
		if !tenant.ID().IsZero() || !tenant.Account().IsZero() || tenant.DB() != nil {
			t.Errorf("%s tenant: it is %v of %v", kind, tenant.ID(), tenant.Account())
		}
		of := reflect.ValueOf(tenant)
		for n := range of.NumMethod() {
			name := of.Type().Method(n).Name
			if makesNothing[name] != "" {
				continue
			}
			args := fixture.ZeroArgs(t, of.Method(n).Type(), nil)
			if err := fixture.LastError(of.Method(n).Call(args)); !errors.Is(err, base.ErrNoTenant) {
				t.Errorf("%s tenant: %s gives the error %v", kind, name, err)
			}
		}
		if err := base.WriteShared(t.Context(), tenant, base.ID{}, base.SharedOperation{Name: "test", Groups: 1}, 0, 0,
			func(context.Context, *base.Tx, []int) error { return errors.New("it was called") }); !errors.Is(err,
			base.ErrNoTenant) {
			t.Errorf("%s tenant: WriteShared gives the error %v", kind, err)
		}
	}
}

// makesNothing are the methods of a tenant that access nothing, and what they do.
var makesNothing = map[string]string{"ID": "names it", "Account": "names its account", "DB": "names its database",
	"In": "joins a transaction", "Queue": "names a queue", "Service": "drops the caller", "Actor": "reads the context"}

// TestNoWork checks that the zero values of types that contain a tenant fail as well.
func TestNoWork(t *testing.T) {
	ctx := t.Context()
	_, err := invoices.SubmissionLease{}.Record(ctx,
		func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
			t.Error("the decision was called")
			return invoices.Decision{}, nil
		})
	fixture.WantErr(t, err, base.ErrNoTenant)
	_, err = invoices.SubmissionLease{}.BeginResend(ctx, time.Second)
	fixture.WantErr(t, err, base.ErrNoTenant)
	fixture.WantErr(t, events.DeliveryLease{}.RecordAttempt(ctx, events.Attempt{}, events.DeliveryUpdate{}),
		base.ErrNoTenant)
	_, err = events.ClaimDeliveries(ctx, base.Queue{}, 1, time.Second)
	fixture.WantErr(t, err, base.ErrNoTenant)
	_, err = invoices.ClaimSubmissions(ctx, base.Queue{}, 1, time.Second)
	fixture.WantErr(t, err, base.ErrNoTenant)
}

// TestDecoyIsSeen checks that the harness can fail: a change of the decoy appears in its dump.
func TestDecoyIsSeen(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		before := f.Dump(t, f.Decoy)
		f.Exec(t, `update subscriptions set description = 'seen' where tenant_id = $1`, f.Decoy.Tenant.ID())
		if f.Dump(t, f.Decoy) == before {
			t.Error("the dump does not show a changed row of the decoy")
		}
		f.Exec(t, `update subscriptions set description = null where tenant_id = $1`, f.Decoy.Tenant.ID())
		if n := len(f.Ids(t, f.Decoy)); n < 6 {
			t.Errorf("the decoy has rows in only %d tables", n)
		}
	})
}

// TestForeignKeys checks that the engine itself refuses a row of one tenant that refers to a row of another.
func TestForeignKeys(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		call := f.Submit(t, "INV-1")
		var foreign base.ID
		kit.Must(t, f.Raw.QueryRowContext(t.Context(), `select id from evidence where tenant_id = $1`,
			f.Decoy.Tenant.ID()).Scan(&foreign))
		conn, err := f.Raw.Conn(t.Context())
		kit.Must(t, err)
		defer func() { kit.Must(t, conn.Close()) }()
		if f.Path != "" {
			_, err := conn.ExecContext(t.Context(), "pragma foreign_keys = 1")
			kit.Must(t, err)
		}
		_, err = conn.ExecContext(t.Context(),
			`insert into states (tenant_id, submission_id, dimension, word, terminal, evidence_id, changed_at)
			values ($1, $2, 'receiver_state', 'x', 0, $3, 1)`, f.Tenant.ID(), call.Submission.ID, foreign)
		if err == nil {
			t.Error("a state refers to another tenant's evidence")
		}
	})
}
