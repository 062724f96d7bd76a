package integration_test

import (
	"fmt"
	"testing"

	"quittance/test/kit"
)

// counts covers invoices that a version without counters has stored, and counters that another program has changed: the
// server counts the former when it starts, and an administrator has both counted.
func counts(t *testing.T, c *customer) {
	c.login(t)
	for n := range 3 {
		c.create(t, fmt.Sprintf("INV-%d", n+1), ordinary, "")
	}
	c.command(t, "", "recount", "--check")

	c.stop(t)
	c.uncount(t)
	kit.Eventually(t, func() error {
		c.running(t)
		var left int
		if err := c.raw.QueryRowContext(t.Context(),
			`select count(*) from invoices where counted_version <> version`).Scan(&left); err != nil || left > 0 {
			return fmt.Errorf("%d invoices are not counted: %w", left, err)
		}
		return nil
	})
	c.command(t, "", "recount", "--check")

	c.stop(t) // or it would count them itself, in its first removal of expired rows
	c.uncount(t)
	c.exec(t,
		`insert into invoice_counters (tenant_id, category, period, currency, invoices, amount_high, amount_middle, amount_low)
		select distinct tenant_id, 'draft', 0, 'AED', 7, 0, 0, 7 from invoices`)
	if _, _, err := c.attempt(t, "", "recount", "--check"); err == nil {
		t.Error("changed counters are not found")
	}
	c.command(t, "", "recount")
	c.command(t, "", "recount", "--check")
	c.running(t)
	c.audit(t)
}

// uncount leaves the database as a version without counters would have written it.
func (s *site) uncount(t *testing.T) {
	t.Helper()
	s.exec(t, `update invoices set category = '', counted = '', counted_version = version - 1`)
	s.exec(t, `delete from invoice_counters`)
}
