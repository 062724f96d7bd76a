package invoices

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"quittance/internal/ledger/base"
	sqldb "quittance/internal/platform/db"
)

// CountFault is a counter, or an invoice, that is counted wrongly. Only another program that writes to the database, or
// the version before the counters while it runs beside this one, causes one.
type CountFault struct {
	Account base.ID
	What    string
}

// Recount counts all invoices by reading them, and returns where the counters of the overview differ. With
// repair, it corrects them; companies may write meanwhile.
func Recount(ctx context.Context, db *base.DB, repair bool) ([]CountFault, error) {
	ctx = sqldb.WithoutQueryDeadline(ctx)
	tenants, err := db.Tenants(ctx)
	if err != nil {
		return nil, err
	}
	var faults []CountFault
	for _, t := range tenants {
		found, err := recountInvoices(ctx, t, repair)
		if err != nil {
			return nil, err
		}
		for _, what := range found {
			faults = append(faults, CountFault{t.Account(), what})
		}
	}
	if repair {
		if _, err := CountMissing(ctx, db); err != nil {
			return nil, err
		}
	}
	return faults, nil
}

// recountInvoices checks two things separately: that every invoice is counted as what it is, and that the counters are
// the sums of what the invoices say they are counted as. The second difference stays the same, whatever is written
// until it is corrected.
func recountInvoices(ctx context.Context, t *base.Tenant, repair bool) (faults []string, err error) {
	var wrong []base.ID
	differences := counters{}
	err = t.DB().SQL().Snapshot(ctx, func(ctx context.Context, q base.Querier) error {
		_, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
			i, err := scanCountable(row)
			if err == nil && (!i.was.current || i.was.tally != i.is) {
				wrong = append(wrong, i.id)
				faults = append(faults, fmt.Sprintf("invoice %s is counted as %s %q instead of %s %q", i.id, i.was.category,
					i.was.text(), i.is.category, i.is.text()))
			}
			return struct{}{}, err
		}, countableCondition(t.DB()), t.ID())
		if err != nil {
			return err
		}
		return addDifferences(ctx, t, q, differences)
	})
	if err != nil {
		return nil, t.DB().Classify(err)
	}
	for _, key := range slices.SortedFunc(maps.Keys(differences), compareCounters) {
		if d := differences[key]; !d.isZero() {
			faults = append(faults, fmt.Sprintf("the counter %s of period %d in %q lacks %d invoices and %s millionths",
				key.category, key.period, key.currency, d.invoices, d.amount.String()))
		}
	}
	if !repair || len(faults) == 0 {
		return faults, nil
	}
	return faults, t.Write(ctx, "recount invoices", func(ctx context.Context, tx *base.Tx) error {
		for _, id := range wrong {
			if err := tx.ExecDeferred(ctx, `update invoices set counted_version = version - 1 where tenant_id = $1 and id = $2`,
				t.ID(), id); err != nil {
				return err
			}
		}
		tx.Defer(differences)
		return tx.Audit(base.AccountAct("invoices.recount", t.Account(), nil))
	})
}

// addDifferences adds what the invoices say they are counted as, and subtracts the counters.
func addDifferences(ctx context.Context, t *base.Tenant, q base.Querier, differences counters) error {
	_, err := base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		c, err := scanCounted(row)
		differences.add(t.ID(), c.tally, 1)
		return struct{}{}, err
	}, `select `+countedColumns+` from invoices where tenant_id = $1`, t.ID())
	if err != nil {
		return err
	}
	_, err = base.Collect(ctx, q, func(row base.Row) (struct{}, error) {
		key := counter{tenant: t.ID()}
		var invoices, high, middle, low int64
		if err := row.Scan(&key.category, &key.period, &key.currency, &invoices, &high, &middle, &low); err != nil {
			return struct{}{}, err
		}
		sum := joined(high, middle, low)
		differences.addCount(key, -invoices, sum.Neg(sum))
		return struct{}{}, nil
	},
		`select category, period, currency, invoices, amount_high, amount_middle, amount_low from invoice_counters where tenant_id = $1`, t.ID())
	return err
}
