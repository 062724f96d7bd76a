package view

import (
	"context"
	"math/big"
	"slices"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Tab is a tab of the list of invoices and a tile of the overview. An invoice is in [TabAll] and in exactly one other
// tab.
type Tab string

// The tabs.
const (
	TabAll Tab = ""
	// TabAttention has the invoices that need a person: they were rejected, by the provider or by an administrator's
	// decision, or one of their state values has the published meaning negative, or their outcome is unknown for longer
	// than [AttentionAfter].
	TabAttention Tab = "attention"
	// TabInProgress has the submitted invoices that are in no other tab.
	TabInProgress Tab = "in_progress"
	// TabAccepted has the invoices of [invoice.CategoryAccepted]: each reported state value has the published meaning
	// positive, and the tax authority's or the provider invoice's is among them.
	TabAccepted Tab = "accepted"
	// TabDrafts has the invoices that were not submitted, and those that the provider certainly did not receive.
	TabDrafts Tab = "drafts"
)

// Tabs lists the tabs in the order in which people see them.
var Tabs = [...]Tab{TabAll, TabAttention, TabInProgress, TabAccepted, TabDrafts} //nolint:gochecknoglobals // a constant list

// Sum is the exact sum of the total amounts of some invoices in one currency.
type Sum struct {
	// Currency is the ISO 4217 code; "" for drafts without a currency.
	Currency string
	// Amount is a decimal number without needless zeros, of any length.
	Amount string
}

// TabCount says how many invoices are in a tab, and what they sum up to, by currency in alphabetical order.
type TabCount struct {
	Invoices int
	Sums     []Sum
}

// TabCounts returns the number and the sums of the invoices in each tab. It reads counters that are written together
// with what they count, so its cost does not depend on the number of invoices. An outcome counts as unknown for longer
// than [AttentionAfter] from the next full minute on, in the counts as in the list of the tab.
func (t Tenant) TabCounts(ctx context.Context) (map[Tab]TabCount, error) {
	counts, err := t.counts(ctx, func(time.Time) time.Time { return farFuture() })
	if err != nil {
		return nil, err
	}
	return counts.tabs(), nil
}

// farFuture is a time without submissions from it on.
func farFuture() time.Time { return time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC) }

// invoiceCounts are counts as of a time.
type invoiceCounts struct {
	counts []invoices.InvoiceCount
	at     time.Time
}

// counts reads the counters, with those of the days from since on, which gets the current time.
func (t Tenant) counts(ctx context.Context, since func(now time.Time) time.Time) (out invoiceCounts, err error) {
	err = base.ReadRows(t.tenant, func(r base.Reader) (err error) {
		out.at = r.Now()
		out.counts, err = invoices.ReadCounts(ctx, r, since(out.at))
		return err
	})
	return out, err
}

// unknownSince returns the time before which the submissions began whose outcomes count as unknown for longer than
// [AttentionAfter].
func unknownSince(now time.Time) time.Time {
	return now.Add(-AttentionAfter).Truncate(invoices.UnknownPeriod)
}

// tabOf returns the tab of counted invoices.
func (c invoiceCounts) tabOf(counted invoices.InvoiceCount) Tab {
	switch counted.Category {
	case invoice.CategoryDraft:
		return TabDrafts
	case invoice.CategoryAttention:
		return TabAttention
	case invoice.CategoryAccepted:
		return TabAccepted
	case invoice.CategoryUnknown:
		if counted.From.Before(unknownSince(c.at)) {
			return TabAttention
		}
	case invoice.CategoryWaiting:
	}
	return TabInProgress
}

// tabs sums up the counts of all submissions and drafts.
func (c invoiceCounts) tabs() map[Tab]TabCount {
	sums := map[Tab]map[string]*big.Int{}
	out := map[Tab]TabCount{}
	for _, counted := range c.counts {
		if counted.Category != invoice.CategoryUnknown && !counted.From.IsZero() {
			continue // a part of the count of all
		}
		for _, tab := range []Tab{TabAll, c.tabOf(counted)} {
			count := out[tab]
			count.Invoices += int(counted.Invoices)
			out[tab] = count
			if sums[tab] == nil {
				sums[tab] = map[string]*big.Int{}
			}
			if sums[tab][counted.Currency] == nil {
				sums[tab][counted.Currency] = new(big.Int)
			}
			sums[tab][counted.Currency].Add(sums[tab][counted.Currency], counted.Millionths)
		}
	}
	for tab, count := range out {
		for currency, sum := range sums[tab] {
			if sum.Sign() != 0 {
				count.Sums = append(count.Sums, Sum{currency, decimalOf(sum)})
			}
		}
		slices.SortFunc(count.Sums, func(a, b Sum) int { return strings.Compare(a.Currency, b.Currency) })
		out[tab] = count
	}
	return out
}

// decimalOf returns a sum of millionths as a decimal number without needless zeros.
func decimalOf(millionths *big.Int) string {
	digits := new(big.Int).Abs(millionths).String()
	digits = strings.Repeat("0", max(0, api.MaxScale+1-len(digits))) + digits
	whole, fraction := digits[:len(digits)-api.MaxScale], strings.TrimRight(digits[len(digits)-api.MaxScale:], "0")
	if fraction != "" {
		whole += "." + fraction
	}
	if millionths.Sign() < 0 {
		return "-" + whole
	}
	return whole
}
