package invoices

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// This file counts invoices by category, currency and day of submission, so that nobody counts them by reading them.
// After every transaction the table invoice_counters equals a count of the invoices, each as its own row says it is
// counted:
//
//   - Who changes what an invoice is counted as calls [recount] with what its row said before and says now. The
//     counters are written just before the commit, once for all writes that are committed together, in the order of
//     their keys, so that they are locked for a short time. Only the ends of the audit log are locked after them.
//   - An invoice whose call is under way is still counted as a draft: the counters change once its outcome is known, in
//     a transaction that changes counters in the company's row in any case. Readers find these few by an index.
//   - The passing of time changes no counter. Unknown outcomes are counted by the minute of their submission, and
//     readers sum up the minutes that are long ago.
//   - An invoice whose counted_version is not its version is counted anew by [CountMissing], when an administrator asks
//     for it.

// tally is what one invoice is counted as. The zero value is not counted.
type tally struct {
	category invoice.Category
	// period is 0 for a draft, the minute since 1970 of the submission for an unknown outcome, and else its day since
	// 1970, in UTC.
	period   int64
	currency string // "" in a draft without one
	amount   string // in millionths; "0" if there is none
}

// The lengths of the periods of counters.
const (
	UnknownPeriod   = time.Minute
	SubmittedPeriod = 24 * time.Hour
)

// draftTally returns what a draft is counted as.
func draftTally(d *api.Draft) tally {
	out := tally{category: invoice.CategoryDraft, amount: millionths(d.TotalAmount).String()}
	if d.Currency != nil {
		out.currency = *d.Currency
	}
	return out
}

// submitted returns what an invoice that was counted as t is counted as with a current submission.
func (t tally) submitted(outcome api.Outcome, states invoice.States, at time.Time) tally {
	if outcome == api.OutcomeInProgress || outcome == OutcomeNotSent {
		t.category, t.period = invoice.CategoryDraft, 0
		return t
	}
	t.category = invoice.CategoryOf(outcome, states)
	length := SubmittedPeriod
	if t.category == invoice.CategoryUnknown {
		length = UnknownPeriod
	}
	t.period = base.Micros(at) / length.Microseconds()
	return t
}

// text returns the column counted.
func (t tally) text() string {
	if t.category == "" {
		return ""
	}
	return strconv.FormatInt(t.period, 10) + " " + t.amount + " " + t.currency
}

// parseTally returns the tally of the columns category and counted.
func parseTally(category, counted string) (tally, error) {
	if category == "" {
		return tally{}, nil
	}
	period, rest, _ := strings.Cut(counted, " ")
	amount, currency, _ := strings.Cut(rest, " ")
	out := tally{category: invoice.Category(category), currency: currency, amount: amount}
	var err error
	if out.period, err = strconv.ParseInt(period, 10, 64); err != nil {
		return tally{}, fmt.Errorf("stored count %q: %w", counted, err)
	}
	if _, ok := new(big.Int).SetString(amount, 10); !ok {
		return tally{}, fmt.Errorf("stored count %q: it has no amount", counted)
	}
	return out, nil
}

// counted is what the row of an invoice says it is counted as.
type counted struct {
	tally
	// current reports that its latest version is counted.
	current bool
}

// countedColumns are the columns of [counted].
const countedColumns = `category, counted, counted_version = version`

func scanCounted(row base.Row, more ...any) (c counted, err error) {
	var category, text string
	if err := row.Scan(append([]any{&category, &text, &c.current}, more...)...); err != nil {
		return counted{}, err
	}
	c.tally, err = parseTally(category, text)
	return c, err
}

// lockCounted locks an invoice, and with it everything that belongs to it, until the transaction ends. It returns what
// the invoice is counted as.
func lockCounted(ctx context.Context, t *base.Tenant, tx *base.Tx, id base.ID) (counted, error) {
	return scanCounted(tx.QueryRowContext(ctx, `select `+countedColumns+` from invoices where tenant_id = $1 and id = $2`+
		t.DB().Dialect().ForUpdate(), t.ID(), id))
}

// counter is the key of a row of invoice_counters.
type counter struct {
	tenant   base.ID
	category invoice.Category
	period   int64
	currency string
}

// compareCounters orders counters as transactions lock them.
func compareCounters(a, b counter) int {
	return cmp.Or(bytes.Compare(a.tenant[:], b.tenant[:]), cmp.Compare(a.category, b.category),
		cmp.Compare(a.period, b.period), cmp.Compare(a.currency, b.currency))
}

// count is the number of some invoices and the sum of their amounts, in millionths.
type count struct {
	invoices int64
	amount   big.Int
}

func (c *count) isZero() bool { return c.invoices == 0 && c.amount.Sign() == 0 }

// counters are counts, or changes of counts.
type counters map[counter]*count

// add counts an invoice times n.
func (c counters) add(tenant base.ID, t tally, n int64) {
	if t.category == "" {
		return
	}
	periods := []int64{0}
	switch t.category {
	case invoice.CategoryUnknown:
		periods = []int64{t.period}
	case invoice.CategoryWaiting, invoice.CategoryAttention, invoice.CategoryAccepted:
		periods = []int64{0, t.period}
	case invoice.CategoryDraft:
	}
	amount, _ := new(big.Int).SetString(t.amount, 10)
	amount.Mul(amount, big.NewInt(n))
	for _, period := range periods {
		c.addCount(counter{tenant, t.category, period, t.currency}, n, amount)
	}
}

func (c counters) addCount(key counter, invoices int64, amount *big.Int) {
	sum := c[key]
	if sum == nil {
		sum = &count{}
		c[key] = sum
	}
	sum.invoices += invoices
	sum.amount.Add(&sum.amount, amount)
}

func (c counters) merge(more counters) {
	for key, change := range more {
		c.addCount(key, change.invoices, &change.amount)
	}
}

// recounted says that an invoice is counted as after instead of as before.
type recounted struct {
	tenant        base.ID
	before, after tally
}

// recount counts an invoice, whose row is locked, as after instead of as before.
func recount(t *base.Tx, tenant base.ID, before, after tally) {
	if before != after {
		t.Defer(recounted{tenant, before, after})
	}
}

// Rank returns [base.RankCounters].
func (recounted) Rank() base.Rank { return base.RankCounters }

// WriteAll writes the counters.
func (recounted) WriteAll(ctx context.Context, t *base.Tx, all []base.Deferred) error {
	return writeCounters(ctx, t, all)
}

// Rank returns [base.RankCounters].
func (counters) Rank() base.Rank { return base.RankCounters }

// WriteAll writes the counters.
func (counters) WriteAll(ctx context.Context, t *base.Tx, all []base.Deferred) error {
	return writeCounters(ctx, t, all)
}

// writeCounters writes the sum of all changes.
func writeCounters(ctx context.Context, t *base.Tx, all []base.Deferred) error {
	changes := counters{}
	for _, d := range all {
		switch d := d.(type) {
		case recounted:
			changes.add(d.tenant, d.before, -1)
			changes.add(d.tenant, d.after, 1)
		case counters:
			changes.merge(d)
		}
	}
	return writeCounts(ctx, t, changes)
}

// writeCounts writes changes of counters, in the order of their keys.
func writeCounts(ctx context.Context, t *base.Tx, changes counters) error {
	var rows [][]any
	var emptied []counter
	for _, key := range slices.SortedFunc(maps.Keys(changes), compareCounters) {
		change := changes[key]
		if change.isZero() {
			continue
		}
		high, middle, low := limbs(&change.amount)
		rows = append(rows, []any{key.tenant, key.category, key.period, key.currency, change.invoices, high, middle, low})
		if key.category == invoice.CategoryUnknown && change.invoices < 0 {
			emptied = append(emptied, key)
		}
	}
	if err := t.Insert(ctx,
		`insert into invoice_counters (tenant_id, category, period, currency, invoices, amount_high, amount_middle, amount_low) values`, rows,
		` on conflict (tenant_id, category, period, currency) do update set invoices = invoice_counters.invoices + excluded.invoices,
			amount_high = invoice_counters.amount_high + excluded.amount_high, amount_middle = invoice_counters.amount_middle + excluded.amount_middle,
			amount_low = invoice_counters.amount_low + excluded.amount_low`); err != nil {
		return err
	}
	for _, key := range emptied { // a row for every minute would stay otherwise
		if err := t.ExecDeferred(ctx,
			`delete from invoice_counters where tenant_id = $1 and category = $2 and period = $3 and currency = $4 and invoices = 0`,
			key.tenant, key.category, key.period, key.currency); err != nil {
			return err
		}
	}
	return nil
}

// limbBase is the value of each of the three parts of a sum relative to the next lower part. An amount has at most
// 10^24 millionths, so the parts of a sum overflow after 10^9 invoices at the earliest.
const limbBase = 1_000_000_000

// limbs returns an amount in millionths in three parts with the same sign.
func limbs(amount *big.Int) (high, middle, low int64) {
	rest, part := new(big.Int), new(big.Int)
	rest.QuoRem(amount, big.NewInt(limbBase), part)
	low = part.Int64()
	rest.QuoRem(rest, big.NewInt(limbBase), part)
	return rest.Int64(), part.Int64(), low
}

// joined is the reverse of [limbs].
func joined(high, middle, low int64) *big.Int {
	sum := big.NewInt(high)
	sum.Mul(sum, big.NewInt(limbBase)).Add(sum, big.NewInt(middle))
	return sum.Mul(sum, big.NewInt(limbBase)).Add(sum, big.NewInt(low))
}

// millionths returns an amount in millionths, the smallest unit of an [api.Decimal]; 0 for nil.
func millionths(amount *api.Decimal) *big.Int {
	value := new(big.Int)
	if amount != nil {
		whole, fraction, _ := strings.Cut(amount.String(), ".")
		value.SetString(whole+fraction+strings.Repeat("0", api.MaxScale-len(fraction)), 10)
	}
	return value
}

// countBatch is how many invoices one transaction counts, so that it does not delay others for long.
const countBatch = 250

// CountMissing counts the invoices whose latest version is not counted, those that [Recount] has found wrong. It does
// so in small transactions and returns their number. Invoices without a summary are left for the next time.
func CountMissing(ctx context.Context, db *base.DB) (int, error) {
	done := 0
	for {
		type uncounted struct{ tenant, id base.ID }
		found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (u uncounted, err error) {
			return u, row.Scan(&u.tenant, &u.id)
		},
			`select tenant_id, id from invoices where counted_version <> version and summarized <> 0 order by tenant_id, id limit $1`, countBatch)
		if err != nil || len(found) == 0 {
			return done, db.Classify(err)
		}
		err = db.Write(ctx, "count invoices", func(ctx context.Context, tx *base.Tx) error {
			byTenant := map[base.ID][]base.ID{}
			for _, u := range found {
				byTenant[u.tenant] = append(byTenant[u.tenant], u.id)
			}
			for _, id := range slices.SortedFunc(maps.Keys(byTenant), func(a, b base.ID) int {
				return bytes.Compare(a[:],
					b[:])
			}) {
				if err := countAgain(ctx, db.TenantOf(id, base.ID{}), tx, byTenant[id]); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			return done, err
		}
		done += len(found)
	}
}

// countAgain counts those of the given invoices whose latest version is not counted.
func countAgain(ctx context.Context, t *base.Tenant, tx *base.Tx, ids []base.ID) error {
	list, args := idList(t, ids)
	// The rows are locked by a statement of its own, so that the next one reads what follows from them as of then.
	if _, err := base.Collect(ctx, tx, base.ScanValue[base.ID], `select id from invoices where tenant_id = $1 and id in (`+
		list+`) order by id`+t.DB().Dialect().ForUpdate(), args...); err != nil {
		return err
	}
	found, err := base.Collect(ctx, tx, scanCountable, countableCondition(t.DB())+` and invoices.id in (`+
		list+`) and counted_version <> version and summarized <> 0`, args...)
	if err != nil {
		return err
	}
	for _, i := range found {
		recount(tx, t.ID(), i.was.tally, i.is)
		if err := tx.ExecDeferred(ctx,
			`update invoices set category = $3, counted = $4, counted_version = version where tenant_id = $1 and id = $2`,
			t.ID(), i.id, i.is.category, i.is.text()); err != nil {
			return err
		}
	}
	return nil
}

// countable is an invoice with what its row says it is counted as, and what it is to be counted as.
type countable struct {
	id  base.ID
	was counted
	is  tally
}

// countableCondition returns the query for [scanCountable], which goes on with a condition. Its parameter $1 is the
// tenant.
func countableCondition(db *base.DB) string {
	return `select ` + countedColumns +
		`, invoices.id, invoice_summaries.total, invoice_summaries.summary, submissions.outcome, submissions.attempted_at, ` +
		statesColumn(db) + `
		from invoices join invoice_summaries on invoice_summaries.tenant_id = invoices.tenant_id and invoice_summaries.invoice_id = invoices.id
		left join submissions on submissions.tenant_id = invoices.tenant_id and submissions.invoice_id = invoices.id and submissions.current = 1
		where invoices.tenant_id = $1`
}

func scanCountable(row base.Row) (countable, error) {
	var out countable
	var total, states []byte
	var summary string
	var outcome *string
	var attempted *int64
	var err error
	if out.was, err = scanCounted(row, &out.id, &total, &summary, &outcome, &attempted, &states); err != nil {
		return countable{}, err
	}
	currency, err := summaryCurrency(summary)
	if err != nil {
		return countable{}, err
	}
	out.is = tally{category: invoice.CategoryDraft, currency: currency, amount: amountOfKey(total).String()}
	if outcome == nil {
		return out, nil
	}
	if attempted == nil {
		return countable{}, errors.New("stored submission: it has no time")
	}
	read, _, err := restoreStates(states)
	out.is = out.is.submitted(api.Outcome(*outcome), read, base.Instant(*attempted))
	return out, err
}
