package store_test

import (
	"errors"
	"reflect"
	"testing"
	"time"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/test/kit"
)

// TestNoTenant checks that only this package creates a working *Tenant: all operations of the zero value and of nil
// fail, and those of their read models.
func TestNoTenant(t *testing.T) {
	// they name the tenant, its books or its read models and access nothing
	names := map[string]bool{"Key": true, "Account": true, "Customers": true, "Items": true, "AtMost": true}
	for kind, value := range map[string]reflect.Value{
		"nil": reflect.ValueOf((*store.Tenant)(nil)), "zero": reflect.ValueOf(&store.Tenant{}),
		"customers of nil": reflect.ValueOf((*store.Tenant)(nil).Customers()),
		"items of zero":    reflect.ValueOf((&store.Tenant{}).Items()),
		"view of nil":      reflect.ValueOf(view.Of(nil)), "view of zero": reflect.ValueOf(view.Of(&store.Tenant{})),
		"bounded view of nil":  reflect.ValueOf(view.Of(nil).AtMost(1)),
		"bounded view of zero": reflect.ValueOf(view.Of(&store.Tenant{}).AtMost(1)),
	} {
		var tried int
		for n := range value.NumMethod() {
			method, name := value.Method(n), value.Type().Method(n).Name
			results := method.Call(zeroArgs(t, method.Type()))
			if names[name] {
				if id, ok := reflect.TypeAssert[store.ID](results[0]); ok && !id.IsZero() {
					t.Errorf("%s tenant: %s gives %v", kind, name, results[0])
				}
				continue
			}
			tried++
			if err := lastError(results); !errors.Is(err, store.ErrNoTenant) {
				t.Errorf("%s tenant: %s gives the error %v", kind, name, err)
			}
		}
		if tried < 4 {
			t.Errorf("%s tenant: only %d methods were tried", kind, tried)
		}
	}
}

// TestNoWork checks that the zero values of types that contain a tenant fail as well.
func TestNoWork(t *testing.T) {
	ctx := t.Context()
	_, err := store.SubmissionLease{}.Record(ctx, func(store.Submission, bool, time.Time) (store.Decision, error) {
		t.Error("the decision was called")
		return store.Decision{}, nil
	})
	wantErr(t, err, store.ErrNoTenant)
	_, err = store.SubmissionLease{}.BeginResend(ctx, time.Second)
	wantErr(t, err, store.ErrNoTenant)
	wantErr(t, store.DeliveryLease{}.RecordAttempt(ctx, store.Attempt{}, store.DeliveryUpdate{}), store.ErrNoTenant)
	_, err = store.Queue{}.ClaimDeliveries(ctx, 1, time.Second)
	wantErr(t, err, store.ErrNoTenant)
	_, err = store.Queue{}.ClaimSubmissions(ctx, 1, time.Second)
	wantErr(t, err, store.ErrNoTenant)
}

// TestDecoyIsSeen checks that the harness can fail: a change of the decoy appears in its dump.
func TestDecoyIsSeen(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		before := f.dump(t, f.decoy)
		f.exec(t, `update subscriptions set description = 'seen' where tenant_id = $1`, f.decoy.tenant.Key())
		if f.dump(t, f.decoy) == before {
			t.Error("the dump does not show a changed row of the decoy")
		}
		f.exec(t, `update subscriptions set description = null where tenant_id = $1`, f.decoy.tenant.Key())
		if n := len(f.ids(t, f.decoy)); n < 6 {
			t.Errorf("the decoy has rows in only %d tables", n)
		}
	})
}

// TestForeignKeys checks that the engine itself refuses a row of one tenant that refers to a row of another.
func TestForeignKeys(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		call := f.submit(t, "INV-1")
		var foreign store.ID
		kit.Must(t, f.raw.QueryRowContext(t.Context(), `select id from evidence where tenant_id = $1`,
			f.decoy.tenant.Key()).Scan(&foreign))
		conn, err := f.raw.Conn(t.Context())
		kit.Must(t, err)
		defer func() { kit.Must(t, conn.Close()) }()
		if f.Path != "" {
			_, err := conn.ExecContext(t.Context(), "pragma foreign_keys = 1")
			kit.Must(t, err)
		}
		_, err = conn.ExecContext(t.Context(),
			`insert into states (tenant_id, submission_id, dimension, word, terminal, evidence_id, changed_at)
			values ($1, $2, 'receiver_state', 'x', 0, $3, 1)`, f.tenant.Key(), call.Submission.ID, foreign)
		if err == nil {
			t.Error("a state refers to another tenant's evidence")
		}
	})
}
