package invoices

import (
	"context"
	"math/big"
	"time"

	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// InvoiceCount is the number of some invoices of a category with one currency.
type InvoiceCount struct {
	Category invoice.Category
	// From is when the period of their submission begins: a day, in UTC, or a minute in the category
	// [invoice.CategoryUnknown]. It is zero for all of a category.
	From     time.Time
	Currency string // "" for drafts without one
	Invoices int64
	// Millionths is the exact sum of their total amounts.
	Millionths *big.Int
}

// Calling is a query for the invoices whose call is under way, which are counted as drafts: their tenant_id, id,
// position, category and counted. It returns at most 10,000, more than servers call at the same time.
const Calling = `select i.tenant_id, i.id, i.position, i.category, i.counted
	from (select tenant_id, invoice_id from submissions where tenant_id = $1 and outcome = 'in_progress' and credit_note_id is null and current > 0 order by id limit 10000) calls
	cross join invoices i where i.tenant_id = $1 and i.tenant_id = calls.tenant_id and i.id = calls.invoice_id and i.category = 'draft'`

// ReadCounts returns what the counters say, and the same by the day of the submission from the day of since on. An
// invoice whose call is under way is counted among those that wait, not as a draft. Its cost does not depend on the
// number of invoices.
func ReadCounts(ctx context.Context, r base.Reader, since time.Time) ([]InvoiceCount, error) {
	var out []InvoiceCount
	err := r.Query(ctx, func(row base.Row) error {
		var kind, counted string
		var period, high, middle, low int64
		var c InvoiceCount
		if err := row.Scan(&kind, &c.Category, &period, &c.Currency, &counted, &c.Invoices, &high, &middle,
			&low); err != nil {
			return err
		}
		if kind == "calling" {
			draft, err := parseTally(string(c.Category), counted)
			if err != nil {
				return err
			}
			out = append(out, callingCounts(draft)...)
			return nil
		}
		if period > 0 {
			c.From = time.UnixMicro(period * periodLength(c.Category).Microseconds()).UTC()
		}
		c.Millionths = joined(high, middle, low)
		out = append(out, c)
		return nil
	}, `select 'counter', category, period, currency, '', invoices, amount_high, amount_middle, amount_low from invoice_counters
			where tenant_id = $1 and category in ('draft', 'waiting', 'attention', 'accepted') and period = 0
		union all select 'counter', category, period, currency, '', invoices, amount_high, amount_middle, amount_low from invoice_counters
			where tenant_id = $1 and category = 'unknown'
		union all select 'counter', category, period, currency, '', invoices, amount_high, amount_middle, amount_low from invoice_counters
			where tenant_id = $1 and category in ('waiting', 'attention', 'accepted') and period >= $2
		union all select 'calling', category, 0, '', counted, 1, 0, 0, 0 from (`+Calling+`) calling`,
		base.Micros(since)/SubmittedPeriod.Microseconds())
	return out, err
}

// periodLength returns the length of the periods of the counters of a category.
func periodLength(category invoice.Category) time.Duration {
	if category == invoice.CategoryUnknown {
		return UnknownPeriod
	}
	return SubmittedPeriod
}

// callingCounts moves an invoice whose call is under way from the drafts to those that wait.
func callingCounts(draft tally) []InvoiceCount {
	amount, _ := new(big.Int).SetString(draft.amount, 10)
	return []InvoiceCount{
		{Category: invoice.CategoryDraft, Currency: draft.currency, Invoices: -1, Millionths: new(big.Int).Neg(amount)},
		{Category: invoice.CategoryWaiting, Currency: draft.currency, Invoices: 1, Millionths: amount},
	}
}
