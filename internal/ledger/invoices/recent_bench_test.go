package invoices_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// BenchmarkSubscription reads what the page of a subscription shows, for companies with few and with many deliveries,
// two attempts each: the cost does not grow with them.
func BenchmarkSubscription(b *testing.B) {
	for _, engine := range ledgertest.Engines() {
		for _, size := range []int{1_000, 500_000} {
			s := ledgertest.Open(b, engine)
			tenant, subscription := tenantWithDeliveries(b, s, size)
			now := s.Clock.Now()
			for name, read := range map[string]func() (int, error){
				"newest": func() (int, error) {
					found, err := view.Of(tenant).SubscriptionDeliveries(b.Context(), subscription, "", 1, 50)
					return len(found.Deliveries), err
				},
				"failed": func() (int, error) {
					found, err := view.Of(tenant).SubscriptionDeliveries(b.Context(), subscription, api.DeliveryFailed, 1, 50)
					return len(found.Deliveries), err
				},
				"attempts": func() (int, error) {
					found, err := view.Of(tenant).RecentAttempts(b.Context(), subscription, now.Add(-24*time.Hour))
					return len(found.Attempts), err
				},
				"long ago": func() (int, error) {
					found, err := view.Of(tenant).RecentAttempts(b.Context(), subscription, now.Add(time.Hour))
					return len(found.Attempts) + 1, err
				},
				"strips": func() (int, error) {
					found, err := view.Of(tenant).RecentStates(b.Context(), []base.ID{subscription}, 30)
					return len(found[subscription]), err
				},
			} {
				b.Run(fmt.Sprintf("%s/deliveries=%d/%s", engine, size, name), func(b *testing.B) {
					for b.Loop() {
						if n, err := read(); err != nil || n == 0 {
							b.Fatalf("%d: %v", n, err)
						}
					}
				})
			}
		}
	}
}

// tenantWithDeliveries makes a company with a subscription and many deliveries, past the store, every hundredth of them
// failed; the clock stands at the last of them.
func tenantWithDeliveries(b *testing.B, s *ledgertest.Store, size int) (*base.Tenant, base.ID) {
	b.Helper()
	account, err := identity.CreateAccount(b.Context(), s.DB, "Bench", identity.NewUser{Email: "bench@example.com",
		Name: "Bench", PasswordHash: "-"})
	kit.Must(b, err)
	tenant, err := s.Tenant(b.Context(), account.ID)
	kit.Must(b, err)
	made, err := events.CreateSubscription(b.Context(), tenant,
		events.NewSubscription{URL: fixture.HookURL, Events: api.EventKinds[:], Secret: secret.New(fixture.SigningSecret)})
	kit.Must(b, err)
	id := "cast(printf('%016d', n.i) as blob)" // sixteen bytes that grow with i
	if s.Engine() == ledgertest.Postgres {
		id = "convert_to(lpad(n.i::text, 16, '0'), 'UTF8')"
	}
	begin := s.Clock.Now().Add(-time.Duration(size) * time.Second).UnixMicro()
	for _, statement := range []string{
		`insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body) select $1, %[1]s, n.i, 'einvoice.terminal', 'submission', $2, 0, %[1]s from n`,
		`insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, attempts, created_at, updated_at)
			select $1, %[1]s, %[1]s, $2, 'einvoice.terminal', case n.i %% 100 when 0 then 'failed' else 'delivered' end, 2, n.i * cast(1000000 as bigint) + %[2]d, n.i * cast(1000000 as bigint) + %[2]d from n`,
		`insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer)
			select $1, %[1]s, n.o, n.i * cast(1000000 as bigint) + %[2]d, 20000, 200, '', $2 from (select i, 1 as o from n union all select i, 2 from n) n`,
	} {
		const some = 25_000 // what the database does within the limit of one statement
		for first := 1; first <= size; first += some {
			with := fmt.Sprintf("with recursive n(i) as (select %d union all select i + 1 from n where i < %d) ",
				first, min(size, first+some-1))
			_, err := fixture.OpenRaw(b, s).ExecContext(b.Context(), with+fmt.Sprintf(statement, id, begin), tenant.ID(),
				made.ID)
			kit.Must(b, err)
		}
	}
	if s.Engine() == ledgertest.Postgres {
		_, err := fixture.OpenRaw(b, s).ExecContext(b.Context(), "analyze")
		kit.Must(b, err)
	}
	return tenant, made.ID
}
