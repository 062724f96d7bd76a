package base_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// The operations that share their statements.
var (
	creation   = base.SharedOperation{Name: "create invoice", Groups: 4}
	attempting = base.SharedOperation{Name: "record attempt", Groups: 1}
)

// grouped is a store whose shared operations have one group each.
type grouped struct {
	*ledgertest.Store
	waiting map[base.SharedOperation]func() int
}

// forEachGroup runs a test on SQLite, whose group has savepoints, and on PostgreSQL, whose groups have none.
func forEachGroup(t *testing.T, test func(t *testing.T, g grouped)) {
	t.Helper()
	t.Parallel()
	ledgertest.EachEngine(t, func(t *testing.T, engine string) {
		g := grouped{ledgertest.Open(t, engine), map[base.SharedOperation]func() int{}}
		for _, operation := range []base.SharedOperation{creation, attempting} {
			g.waiting[operation] = g.ShareInOne(operation)
		}
		test(t, g)
	})
}

// exec runs a statement in a write of its own.
func (g grouped) exec(ctx context.Context, query string, args ...any) error {
	return g.Write(ctx, "test", func(ctx context.Context, t *base.Tx) error {
		_, err := t.Exec(ctx, query, args...)
		return err
	})
}

// batch makes n writes of a shared operation that wait, in the order of their numbers, until another write of the
// operation ends.
func (g grouped) batch(t *testing.T, operation base.SharedOperation, n int, write func(n int)) {
	t.Helper()
	var running sync.WaitGroup
	begun, end := make(chan struct{}), make(chan struct{})
	running.Go(func() {
		if err := base.WriteShared(t.Context(), g.TenantOf(base.ID{}, base.ID{}), base.ID{}, operation, 0, 0,
			func(context.Context, *base.Tx, []int) error {
				close(begun)
				<-end
				return nil
			}); err != nil {
			t.Error(err)
		}
	})
	<-begun
	for k := range n {
		running.Go(func() { write(k) })
		kit.Must(t, kit.Poll(func() error {
			if waiting := g.waiting[operation](); waiting <= k {
				return fmt.Errorf("%d writes wait, and not %d", waiting, k+1)
			}
			return nil
		}))
	}
	close(end)
	running.Wait()
}

// tenantNamed returns the tenant of a new account.
func (g grouped) tenantNamed(t *testing.T, name string) *base.Tenant {
	t.Helper()
	account, err := identity.CreateAccount(t.Context(), g.DB, name,
		identity.NewUser{Email: name + "@example.com", Name: name, PasswordHash: "none"})
	if err != nil {
		t.Fatal(err)
	}
	tenant, err := g.Tenant(t.Context(), account.ID)
	if err != nil {
		t.Fatal(err)
	}
	return tenant
}

// wantOneTransaction fails the test if the rows of a table were not written by one transaction.
func (g grouped) wantOneTransaction(t *testing.T, table string) {
	t.Helper()
	if g.SingleServer() {
		return // SQLite does not record it
	}
	var transactions int
	if err := g.Querier().QueryRowContext(t.Context(),
		"select count(distinct xmin::text) from "+table).Scan(&transactions); err != nil || transactions != 1 {
		t.Errorf("the %s were written by %d transactions, error %v", table, transactions, err)
	}
}

// TestDraftsTogether checks that the drafts of several companies in one commit get consecutive positions of their
// companies, in the order of the requests, and that only the drafts of a company that was reset meanwhile fail.
func TestDraftsTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		tenants := []*base.Tenant{g.tenantNamed(t, "one"), g.tenantNamed(t, "two"), g.tenantNamed(t, "reset")}
		for round := range 2 {
			ends := make([]error, 12)
			g.batch(t, creation, len(ends), func(n int) {
				_, ends[n] = invoices.Create(t.Context(), tenants[n%3],
					&api.Draft{InvoiceNumber: new(fmt.Sprintf("%d-%02d", round, n))})
			})
			for n, err := range ends {
				if gone := round == 1 && n%3 == 2; gone != errors.Is(err, base.ErrNotFound) || !gone && err != nil {
					t.Errorf("round %d, draft %d: error %v", round, n, err)
				}
			}
			if round == 0 {
				g.wantOneTransaction(t, "invoices")
			}
			if err := g.exec(t.Context(), "update tenants set frozen_at = 1 where id = $1", tenants[2].ID()); err != nil {
				t.Fatal(err)
			}
		}
		for k, tenant := range tenants {
			var want []string
			for round := range 2 {
				for n := k; n < 12 && (round == 0 || k != 2); n += 3 {
					want = append(want, fmt.Sprintf("%d %d-%02d", len(want)+1, round, n))
				}
			}
			got, err := base.Collect(t.Context(), g.Querier(), func(row base.Row) (string, error) {
				var position int64
				var number string
				err := row.Scan(&position, &number)
				return fmt.Sprintf("%d %s", position, number), err
			}, "select position, number from invoices where tenant_id = $1 order by position", tenant.ID())
			var counted int
			err = errors.Join(err, g.Querier().QueryRowContext(t.Context(), "select invoices from tenants where id = $1",
				tenant.ID()).Scan(&counted))
			if err != nil || !slices.Equal(got, want) || counted != len(want) {
				t.Errorf("company %d has %d drafts, %v, want %v, error %v", k, counted, got, want, err)
			}
		}
	})
}

// claimedOf emits n events to a new subscription of a tenant and claims their deliveries.
func (g grouped) claimedOf(t *testing.T, tenant *base.Tenant, n int) []events.DeliveryLease {
	t.Helper()
	s, err := events.CreateSubscription(t.Context(), tenant, events.NewSubscription{URL: "https://example.com/hook",
		Events: []api.EventKind{api.EventTerminal}, Secret: secret.New("whsec_test")})
	if err != nil {
		t.Fatal(err)
	}
	if err := tenant.Write(t.Context(), "emit", func(ctx context.Context, tx *base.Tx) error {
		emitted, err := events.Prepare(ctx, tx, tenant, g.Now(), slices.Repeat([]api.EventKind{api.EventTerminal}, n),
			api.ResourceSubmission, tenant.ID(), "payload")
		if err != nil {
			return err
		}
		return emitted.Write(ctx, tx)
	}); err != nil {
		t.Fatal(err)
	}
	claimed, err := events.ClaimDeliveries(t.Context(), tenant.Queue(s.ID), n, time.Hour)
	if err != nil || len(claimed) != n {
		t.Fatalf("%d claimed, error %v", len(claimed), err)
	}
	return claimed
}

// TestAttemptsTogether checks that each of several attempts in one commit is recorded and updates its delivery, and
// that only those fail whose lease is lost, also if the lease is taken over in the same commit.
func TestAttemptsTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		ctx, tenant := t.Context(), g.tenantNamed(t, "one")
		ended := g.claimedOf(t, tenant, 2)
		if _, err := events.DeactivateSubscription(ctx, tenant, ended[0].Subscription); err != nil {
			t.Fatal(err)
		}
		mine, other := g.claimedOf(t, tenant, 5), g.claimedOf(t, g.tenantNamed(t, "two"), 1)
		if err := g.exec(ctx, "update deliveries set lease = lease + 1 where id = $1", mine[3].ID); err != nil {
			t.Fatal(err)
		}
		due := g.Now().Add(time.Hour)
		delivered, retry := events.DeliveryUpdate{State: events.DeliveryDelivered},
			events.DeliveryUpdate{State: events.DeliveryPending, DueAt: due}
		pending := fmt.Sprintf("pending  %d", base.Micros(due))
		writes := []struct {
			events.DeliveryLease
			events.DeliveryUpdate
			lost  bool
			after string // state, reason and due time after all of them
			count int    // of attempts
		}{
			{mine[4], delivered, false, "delivered  0", 2},
			{mine[0], delivered, false, "delivered  0", 1},
			{mine[1], retry, false, pending, 1},
			{ended[0], retry, false, "failed subscription_inactive 0", 1},
			{mine[2], events.DeliveryUpdate{State: events.DeliveryFailed, Reason: "refused"}, false, "failed refused 0", 1},
			{mine[3], delivered, true, "", 1},
			{mine[4], retry, true, "delivered  0", 2},
			{ended[1], delivered, false, "delivered  0", 1},
			{other[0], delivered, false, "delivered  0", 1},
		}
		ends := make([]error, len(writes))
		g.batch(t, attempting, len(writes), func(n int) {
			ends[n] = writes[n].RecordAttempt(ctx, events.Attempt{StartedAt: g.Now(), HTTPStatus: 200 + n},
				writes[n].DeliveryUpdate)
		})
		g.wantOneTransaction(t, "attempts")
		for n, w := range writes {
			if w.lost != errors.Is(ends[n], base.ErrLeaseLost) || !w.lost && ends[n] != nil {
				t.Errorf("attempt %d: error %v", n, ends[n])
			}
			record, err := events.FindDelivery(ctx, w.Tenant, w.ID)
			if err != nil {
				t.Fatal(err)
			}
			var reason string
			var at int64
			if record.Reason != nil {
				reason = *record.Reason
			}
			if record.NextAt != nil {
				at = base.Micros(*record.NextAt)
			}
			kept := slices.ContainsFunc(record.History, func(a events.Attempt) bool { return a.HTTPStatus == 200+n })
			if got := fmt.Sprintf("%s %s %d", record.State, reason, at); w.after != "" && got != w.after ||
				record.Attempts != w.count || len(record.History) != w.count || !kept {
				t.Errorf("attempt %d: the delivery is %q, want %q, after %d attempts of which %d are kept, want %d, this one %v", n,
					got, w.after, record.Attempts, len(record.History), w.count, kept)
			}
		}
	})
}
