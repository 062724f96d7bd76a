package store

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/secret"
	"quittance/test/pgtest"
)

// grouped is a store whose shared operations have one group each.
type grouped struct{ *DB }

// forEachGroup runs a test on SQLite, whose group has savepoints, and on PostgreSQL, whose groups have none.
func forEachGroup(t *testing.T, test func(t *testing.T, g grouped)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) { test(t, newGrouped(t, "sqlite:"+filepath.Join(t.TempDir(), "group.db"))) })
	if pgtest.Enabled() {
		t.Run("postgres", func(t *testing.T) { test(t, newGrouped(t, pgtest.URL(t))) })
	}
}

func newGrouped(t testing.TB, address string) grouped {
	t.Helper()
	keys, err := secret.Generate()
	if err != nil {
		t.Fatal(err)
	}
	db, err := Open(t.Context(), address, Options{Keys: keys, Log: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	})
	db.shared[opCreateInvoice] = db.database.Share(opCreateInvoice, 1)
	return grouped{db}
}

// exec runs a statement in a write of its own.
func (g grouped) exec(ctx context.Context, query string, args ...any) error {
	return g.write(ctx, "test", func(ctx context.Context, t *tx) error {
		_, err := t.Exec(ctx, query, args...)
		return err
	})
}

// batch makes n writes of a shared operation that wait, in the order of their numbers, until another write of the
// operation ends.
func (g grouped) batch(t *testing.T, operation string, n int, write func(n int)) {
	t.Helper()
	var running sync.WaitGroup
	begun, end := make(chan struct{}), make(chan struct{})
	running.Go(func() {
		if err := writeShared(t.Context(), &Tenant{db: g.DB}, ID{}, operation, 0, 0, func(context.Context, *tx, []int) error {
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
		for g.shared[operation].Waiting() <= k {
			runtime.Gosched()
		}
	}
	close(end)
	running.Wait()
}

// tenantNamed returns the tenant of a new account.
func (g grouped) tenantNamed(t *testing.T, name string) *Tenant {
	t.Helper()
	account, err := g.CreateAccount(t.Context(), name,
		NewUser{Email: name + "@example.com", Name: name, PasswordHash: "none"})
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
	if err := g.reader.QueryRowContext(t.Context(),
		"select count(distinct xmin::text) from "+table).Scan(&transactions); err != nil || transactions != 1 {
		t.Errorf("the %s were written by %d transactions, error %v", table, transactions, err)
	}
}

// TestDraftsTogether checks that the drafts of several companies in one commit get consecutive positions of their
// companies, in the order of the requests, and that only the drafts of a company that was reset meanwhile fail.
func TestDraftsTogether(t *testing.T) {
	forEachGroup(t, func(t *testing.T, g grouped) {
		tenants := []*Tenant{g.tenantNamed(t, "one"), g.tenantNamed(t, "two"), g.tenantNamed(t, "reset")}
		for round := range 2 {
			ends := make([]error, 12)
			g.batch(t, opCreateInvoice, len(ends), func(n int) {
				_, ends[n] = tenants[n%3].CreateInvoice(t.Context(),
					&api.Draft{InvoiceNumber: new(fmt.Sprintf("%d-%02d", round, n))})
			})
			for n, err := range ends {
				if gone := round == 1 && n%3 == 2; gone != errors.Is(err, ErrNotFound) || !gone && err != nil {
					t.Errorf("round %d, draft %d: error %v", round, n, err)
				}
			}
			if round == 0 {
				g.wantOneTransaction(t, "invoices")
			}
			if err := g.exec(t.Context(), "update tenants set frozen_at = 1 where id = $1", tenants[2].id); err != nil {
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
			got, err := collect(t.Context(), g.reader, func(row scanner) (string, error) {
				var position int64
				var number string
				err := row.Scan(&position, &number)
				return fmt.Sprintf("%d %s", position, number), err
			}, "select position, number from invoices where tenant_id = $1 order by position", tenant.id)
			var counted int
			err = errors.Join(err, g.reader.QueryRowContext(t.Context(), "select invoices from tenants where id = $1",
				tenant.id).Scan(&counted))
			if err != nil || !slices.Equal(got, want) || counted != len(want) {
				t.Errorf("company %d has %d drafts, %v, want %v, error %v", k, counted, got, want, err)
			}
		}
	})
}

// claimedOf emits n events to a new subscription of a tenant and claims their deliveries.
func (g grouped) claimedOf(t *testing.T, tenant *Tenant, n int) []DeliveryLease {
	t.Helper()
	s, err := tenant.CreateSubscription(t.Context(), NewSubscription{URL: "https://example.com/hook",
		Events: []api.EventKind{api.EventTerminal}, Secret: secret.New("whsec_test")})
	if err != nil {
		t.Fatal(err)
	}
	if err := tenant.write(t.Context(), "emit", func(ctx context.Context, tx *tx) error {
		emitted, err := prepareEvents(ctx, tx, tenant, g.Now(), slices.Repeat([]api.EventKind{api.EventTerminal}, n),
			api.ResourceSubmission, tenant.id, "payload")
		if err != nil {
			return err
		}
		return emitted.write(ctx, tx)
	}); err != nil {
		t.Fatal(err)
	}
	claimed, err := Queue{tenant: tenant, id: s.ID, db: g.DB}.ClaimDeliveries(t.Context(), n, time.Hour)
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
		if _, err := tenant.DeactivateSubscription(ctx, ended[0].Subscription); err != nil {
			t.Fatal(err)
		}
		mine, other := g.claimedOf(t, tenant, 5), g.claimedOf(t, g.tenantNamed(t, "two"), 1)
		if err := g.exec(ctx, "update deliveries set lease = lease + 1 where id = $1", mine[3].ID); err != nil {
			t.Fatal(err)
		}
		due := g.Now().Add(time.Hour)
		delivered, retry := DeliveryUpdate{State: DeliveryDelivered}, DeliveryUpdate{State: DeliveryPending, DueAt: due}
		pending := fmt.Sprintf("pending  %d", micros(due))
		writes := []struct {
			DeliveryLease
			DeliveryUpdate
			lost  bool
			after string // state, reason and due time after all of them
			count int    // of attempts
		}{
			{mine[4], delivered, false, "delivered  0", 2},
			{mine[0], delivered, false, "delivered  0", 1},
			{mine[1], retry, false, pending, 1},
			{ended[0], retry, false, "failed " + reasonInactive + " 0", 1},
			{mine[2], DeliveryUpdate{State: DeliveryFailed, Reason: "refused"}, false, "failed refused 0", 1},
			{mine[3], delivered, true, "", 1},
			{mine[4], retry, true, "delivered  0", 2},
			{ended[1], delivered, false, "delivered  0", 1},
			{other[0], delivered, false, "delivered  0", 1},
		}
		ends := make([]error, len(writes))
		g.batch(t, opRecordAttempt, len(writes), func(n int) {
			ends[n] = writes[n].RecordAttempt(ctx, Attempt{StartedAt: g.Now(), HTTPStatus: 200 + n}, writes[n].DeliveryUpdate)
		})
		g.wantOneTransaction(t, "attempts")
		for n, w := range writes {
			if w.lost != errors.Is(ends[n], ErrLeaseLost) || !w.lost && ends[n] != nil {
				t.Errorf("attempt %d: error %v", n, ends[n])
			}
			record, err := w.Tenant.Delivery(ctx, w.ID)
			if err != nil {
				t.Fatal(err)
			}
			var reason string
			var at int64
			if record.Reason != nil {
				reason = *record.Reason
			}
			if record.NextAt != nil {
				at = micros(*record.NextAt)
			}
			kept := slices.ContainsFunc(record.History, func(a Attempt) bool { return a.HTTPStatus == 200+n })
			if got := fmt.Sprintf("%s %s %d", record.State, reason, at); w.after != "" && got != w.after ||
				record.Attempts != w.count || len(record.History) != w.count || !kept {
				t.Errorf("attempt %d: the delivery is %q, want %q, after %d attempts of which %d are kept, want %d, this one %v", n,
					got, w.after, record.Attempts, len(record.History), w.count, kept)
			}
		}
	})
}
