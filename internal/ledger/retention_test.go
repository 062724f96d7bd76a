package ledger_test

import (
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// TestRetentionPlans checks that old rows are found as a range of a primary key, regardless of the amount of younger
// ones.
func TestRetentionPlans(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		s := ledgertest.Open(t, engine)
		fillStore(t, s, 50, 3, 20_000, 50)
		raw := fixture.OpenRaw(t, s)
		_, err := raw.ExecContext(t.Context(),
			`insert into attempts (tenant_id, delivery_id, ordinal, started_at, duration, http_status, error_class, answer)
			select tenant_id, id, 1, created_at, 0, 200, '', id from deliveries`)
		kit.Must(t, err)
		explain := "explain query plan "
		if engine == ledgertest.Postgres {
			explain = "explain "
			_, err := raw.ExecContext(t.Context(), "vacuum analyze")
			kit.Must(t, err)
		}
		at, looked := s.Clock.Now().UnixMicro(), 0
		for _, statement := range statementsOf(t) {
			args := map[string][]any{
				"invoices.ApplyRetention": {make([]byte, 16), make([]byte, 16), 256},
				"invoices.pruneAttempts":  {make([]byte, 16), make([]byte, 16), make([]byte, 16), 256, at},
				"invoices.pruneEvents":    {make([]byte, 16), make([]byte, 16), make([]byte, 16), 256},
			}[statement.function]
			if args == nil || strings.Contains(statement.text, "delete") {
				continue
			}
			looked++
			plan := strings.Join(planOf(t, raw, engine, explain+statement.text, args...), "\n")
			for _, table := range []string{"attempts", "events", "deliveries", "a", "e", "d"} {
				if strings.Contains(plan, "SCAN "+table) || strings.Contains(plan, "Seq Scan on "+table) {
					t.Errorf("%s: %s reads a table as a whole:\n%s", engine, statement.function, plan)
				}
			}
			if !strings.Contains(plan, "INDEX") && !strings.Contains(plan, "Index") && !strings.Contains(plan, "PRIMARY KEY") {
				t.Errorf("%s: %s has an unexpected plan:\n%s", engine, statement.function, plan)
			}
		}
		if looked != 4 {
			t.Errorf("%d statements were found, want 4", looked)
		}
	}
}
