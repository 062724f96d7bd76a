package integration_test

import (
	"fmt"
	"testing"
)

// counts covers invoices that are not counted, and counters that another program has changed: an administrator has both
// counted while the server runs.
func counts(t *testing.T, c *customer) {
	c.login(t)
	for n := range 3 {
		c.create(t, fmt.Sprintf("INV-%d", n+1), ordinary, "")
	}
	c.command(t, "", "recount", "--check")

	c.uncount(t)
	c.exec(t,
		`insert into invoice_counters (tenant_id, category, period, currency, invoices, amount_high, amount_middle, amount_low)
		select distinct tenant_id, 'draft', 0, 'AED', 7, 0, 0, 7 from invoices`)
	if _, _, err := c.attempt(t, "", "recount", "--check"); err == nil {
		t.Error("changed counters are not found")
	}
	c.command(t, "", "recount")
	c.command(t, "", "recount", "--check")
	c.audit(t)
}

// uncount takes the invoices out of the counters.
func (s *site) uncount(t *testing.T) {
	t.Helper()
	s.exec(t, `update invoices set category = '', counted = '', counted_version = version - 1`)
	s.exec(t, `delete from invoice_counters`)
}
