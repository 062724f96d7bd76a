package ledger_test

import (
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// fillStore writes rows directly, because the store would take long: companies with the given number of subscriptions
// and one delivery due now for each subscription, one more company with waiting deliveries and submissions, and idle
// companies with subscriptions and no work.
func fillStore(t testing.TB, s *ledgertest.Store, companies, subscriptions, waiting, idle int) {
	t.Helper()
	raw := fixture.OpenRaw(t, s) // the store's own connections end a statement that takes long
	random := "randomblob(16)"
	if s.Engine() == ledgertest.Postgres {
		random = "uuid_send(gen_random_uuid())"
	}
	account, err := identity.CreateAccount(t.Context(), s.DB, "Crowd", identity.NewUser{Email: "crowd@example.com",
		PasswordHash: "-"})
	kit.Must(t, err)
	tenant, err := s.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	model, err := events.CreateSubscription(t.Context(), tenant,
		events.NewSubscription{URL: fixture.HookURL, Events: api.EventKinds[:], Secret: secret.New(fixture.SigningSecret)})
	kit.Must(t, err)
	now := s.Clock.Now().UnixMicro()
	for _, fill := range []string{
		// Accounts and their tenants share an identifier here.
		numbers(companies+idle) + ` insert into accounts (id, company, status, profile, created_at) select ` + random +
			`, 'Crowd', 'active', '{}', n.i from n`,
		`insert into tenants (id, account_id, created_at) select a.id, a.id, a.created_at from accounts a where a.created_at <= ` + fmt.Sprint(companies+idle),
		numbers(subscriptions) +
			`, s(tenant_id, url, events, secret) as (select t.id, m.url, m.events, m.secret from tenants t, subscriptions m where t.created_at <= ` +
			fmt.Sprint(companies+idle) + `) insert into subscriptions (tenant_id, id, url, events, secret, active, created_at)
			select s.tenant_id, ` + random + `, s.url, s.events, s.secret, 1, 0 from s, n`,
		`insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body)
			select t.id, t.id, 1, 'einvoice.terminal', 'submission', t.id, 0, t.id from tenants t where t.created_at <= ` + fmt.Sprint(companies),
		`insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, created_at, updated_at, due_at)
			select s.tenant_id, ` + random + `, e.id, s.id, e.kind, 'pending', 0, 0, ` + fmt.Sprint(now) + ` from events e join subscriptions s on s.tenant_id = e.tenant_id`,
	} {
		_, err := raw.ExecContext(t.Context(), fill)
		kit.Must(t, err)
	}
	if waiting > 0 {
		_, err = raw.ExecContext(t.Context(), numbers(waiting)+
			` insert into events (tenant_id, id, position, kind, resource_type, resource_id, occurred_at, body)
			select $1, `+random+`, n.i, 'einvoice.terminal', 'submission', $1, 0, $1 from n`, tenant.ID())
		kit.Must(t, err)
		_, err = raw.ExecContext(t.Context(),
			`insert into deliveries (tenant_id, id, event_id, subscription_id, kind, state, created_at, updated_at, due_at)
			select e.tenant_id, `+random+`, e.id, $2, e.kind, 'pending', 0, 0, $3 from events e where e.tenant_id = $1`, tenant.ID(), model.ID, now)
		kit.Must(t, err)
		connection, err := invoices.AddConnection(t.Context(), s.DB, account.ID, fixture.SandboxConnection())
		kit.Must(t, err)
		_, err = raw.ExecContext(t.Context(),
			`insert into invoices (tenant_id, id, position, number, document, version, created_at, updated_at)
			select e.tenant_id, e.id, e.position, 'C-' || e.position, '{}', 1, 0, 0 from events e where e.tenant_id = $1`, tenant.ID())
		kit.Must(t, err)
		_, err = raw.ExecContext(t.Context(),
			`insert into submissions (tenant_id, id, account_id, connection_id, invoice_id, ordinal, current, number, document,
			outcome, attempted_at, sent_at, poll_wait, due_at, next_check_at)
			select i.tenant_id, i.id, $2, $3, i.id, 1, 1, i.number, i.document, 'unknown', 0, 0, 0, $4, $4 from invoices i where i.tenant_id = $1`,
			tenant.ID(), account.ID, connection.ID, now)
		kit.Must(t, err)
	}
}

// TestScanPlans: the scans for deliveries and submissions jump through the indexes of due work, entry by entry. They
// read no table rows and no other index, so their cost does not grow with the work that waits for one destination.
func TestScanPlans(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		s := ledgertest.Open(t, engine)
		fillStore(t, s, 50, 3, 20_000, 50)
		raw := fixture.OpenRaw(t, s)
		if engine == ledgertest.Postgres {
			_, err := raw.ExecContext(t.Context(), "vacuum analyze")
			kit.Must(t, err)
		}
		explain := "explain query plan "
		if engine == ledgertest.Postgres {
			explain = "explain "
		}
		checked := 0
		for _, statement := range statementsOf(t) {
			table := map[string]string{"events.DueDeliveryQueues": "deliveries",
				"invoices.DueSubmissionQueues": "submissions"}[statement.function]
			if table == "" {
				continue
			}
			checked++
			plan := planOf(t, raw, engine, explain+statement.text, make([]byte, 16), 256)
			if faults := readsMore(plan, engine, table); len(faults) > 0 {
				t.Errorf("%s: %s reads more than the index of due work: %q in\n%s", engine, statement.function, faults,
					strings.Join(plan, "\n"))
			}
		}
		if checked != 2 {
			t.Errorf("%d scan statements were found, want 2", checked)
		}
	}
}

// planOf returns the lines of a plan.
func planOf(t *testing.T, raw *sql.DB, engine, explain string, args ...any) (plan []string) {
	t.Helper()
	rows, err := raw.QueryContext(t.Context(), explain, args...)
	kit.Must(t, err)
	defer rows.Close()
	for rows.Next() {
		var id, parent, unused int64
		var line string
		into := []any{&id, &parent, &unused, &line}
		if engine == ledgertest.Postgres {
			into = into[3:]
		}
		kit.Must(t, rows.Scan(into...))
		plan = append(plan, line)
	}
	kit.Must(t, rows.Err())
	return plan
}

// readsMore returns the lines of a plan that read a table in any way but by jumping through its index of due work.
func readsMore(plan []string, engine, table string) (faults []string) {
	uses := 0
	for _, line := range plan {
		line = strings.TrimSpace(line)
		access := strings.Contains(line, " on "+table) || strings.Contains(line, " using "+table)
		wanted := strings.Contains(line, "Index Only Scan using "+table+"_due on "+table)
		if engine == ledgertest.SQLite {
			// The statements call the table by its first letter, or by its name.
			_, what, _ := strings.Cut(line, " ")
			access = (strings.HasPrefix(line, "SCAN ") || strings.HasPrefix(line, "SEARCH ")) &&
				slices.Contains([]string{table, table[:1]}, strings.Fields(what)[0])
			wanted = strings.HasPrefix(line, "SEARCH ") && strings.Contains(line, "USING COVERING INDEX "+table+"_due (")
		}
		if access && !wanted {
			faults = append(faults, line)
		}
		if access && wanted {
			uses++
		}
	}
	if uses < 3 { // PostgreSQL does not show the plans of all sub-selects
		faults = append(faults, fmt.Sprintf("only %d uses of the index", uses))
	}
	return faults
}

// TestScanSteps: a step of a scan covers a bounded number of companies and returns the cursor of the next step.
// Together the steps return every queue once.
func TestScanSteps(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		s := ledgertest.Open(t, engine)
		const companies, each = 600, 2
		fillStore(t, s, companies, each, 7, 300)
		found, steps := map[base.ID]int{}, 0
		for from := (base.ScanCursor{}); steps == 0 || !from.IsZero(); steps++ {
			scan, err := events.DueDeliveryQueues(t.Context(), s.DB, from)
			kit.Must(t, err)
			if !scan.NextDue.IsZero() || len(scan.Queues) > 2*256+1 {
				t.Errorf("%s: %d queues in one step, the next at %s", engine, len(scan.Queues), scan.NextDue)
			}
			for _, queue := range scan.Queues {
				found[queue.Key()]++
			}
			from = scan.Next
		}
		if steps != 3 || len(found) != companies*each+1 {
			t.Errorf("%s: %d queues were found in %d steps, want %d in 3", engine, len(found), steps, companies*each+1)
		}
		for queue, times := range found {
			if times != 1 {
				t.Errorf("%s: queue %s was found %d times", engine, queue, times)
			}
		}
	}
}

// BenchmarkScan scans for due deliveries: with a few destinations, one of which has very many waiting deliveries, with
// many idle companies, and with as many busy companies as one step covers.
func BenchmarkScan(b *testing.B) {
	for _, engine := range ledgertest.Engines() {
		for _, size := range []struct{ companies, waiting, idle int }{{10, 10_000, 0}, {10, 1_000_000, 0}, {10, 0, 100_000},
			{300, 0, 0}} {
			b.Run(fmt.Sprintf("%s/companies=%d/waiting=%d/idle=%d", engine, size.companies, size.waiting, size.idle),
				func(b *testing.B) {
					s := ledgertest.Open(b, engine)
					fillStore(b, s, size.companies, 1, size.waiting, size.idle)
					if engine == ledgertest.Postgres {
						_, err := fixture.OpenRaw(b, s).ExecContext(b.Context(), "vacuum analyze")
						kit.Must(b, err)
					}
					for b.Loop() {
						scan, err := events.DueDeliveryQueues(b.Context(), s.DB, base.ScanCursor{})
						if err != nil || len(scan.Queues) < min(size.companies, 256) {
							b.Fatalf("%d queues: %v", len(scan.Queues), err)
						}
					}
				})
		}
	}
}

// TestPurchaseScan: a scan for purchase syncs goes in the order of time, step by step, up to the first that is not due.
func TestPurchaseScan(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		s := ledgertest.Open(t, engine)
		raw := fixture.OpenRaw(t, s)
		fillStore(t, s, 0, 1, 0, 700)
		now := s.Clock.Now()
		for _, fill := range []string{
			`insert into connections (account_id, id, kind, environment, base_url, state, credential, fingerprint, created_at, updated_at)
				select a.id, a.id, 'http', 'sandbox', 'https://p.example.com', 'active', a.id, '', a.created_at, 0 from accounts a`,
			// Two at a time, 300 later than now.
			`insert into purchase_syncs (account_id, connection_id, cursor, due_at) select c.account_id, c.id, c.id, ` +
				fmt.Sprint(now.UnixMicro()-400) +
				` + (c.created_at / 2) * 2 from connections c where c.created_at <= 700`,
		} {
			_, err := raw.ExecContext(t.Context(), fill)
			kit.Must(t, err)
		}
		found, steps := map[base.ID]bool{}, 0
		var next time.Time
		for from := (base.ScanCursor{}); steps == 0 || !from.IsZero(); steps++ {
			scan, err := incoming.DuePurchaseQueues(t.Context(), s.DB, from)
			kit.Must(t, err)
			for _, queue := range scan.Queues {
				found[queue.Key()] = true
			}
			from, next = scan.Next, scan.NextDue
		}
		if want := now.Add(2 * time.Microsecond); steps != 2 || len(found) != 401 || !next.Equal(want) {
			t.Errorf("%s: %d syncs were found in %d steps, the next at %s, want 401 in 2 and %s", engine, len(found), steps,
				next, want)
		}
	}
}
