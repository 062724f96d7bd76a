package drill

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
)

// reported are the kinds of facts in the order of a report, with what people call them.
var reported = []struct { //nolint:gochecknoglobals // a constant
	kind Kind
	text string
}{
	{kindDraft, "drafts"}, {kindChange, "changes of drafts"}, {kindSubmission, "submissions"},
	{kindCredit, "credit notes"}, {kindCreditSent, "submissions of credit notes"}, {kindHook, "subscriptions"},
	{kindEvent, "events read"},
	{kindReceipt, "webhooks received"},
	{kindPurchase, "incoming e-invoices"},
}

// Print writes the report for people. Incoming e-invoices count as found when every company has them.
func (r *Report) Print(w io.Writer) error {
	var text strings.Builder
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	// A builder does not fail, and neither does a table on it.
	_, _ = fmt.Fprintln(table, "acknowledged\tfound\tafter the backup\t")
	for _, row := range reported {
		_, _ = fmt.Fprintf(table, "%d\t%d\t%d\t  %s\n", r.Acknowledged[row.kind], r.Found[row.kind], r.AfterBackup[row.kind],
			row.text)
	}
	_ = table.Flush()
	fmt.Fprintf(&text,
		"documents at the provider: %d; repeated calls that returned the same: %d; submitted again and found at the provider: %d\n",
		r.Documents, r.Repeated, r.Resubmitted)
	fmt.Fprintf(&text, "longest time without an acknowledged call: %.1f s\n", r.WithoutService)
	fmt.Fprintf(&text, "broken promises: %d\n", r.Losses)
	for _, lost := range r.Lost {
		fmt.Fprintln(&text, "  LOST", lost)
	}
	if hidden := r.Losses - len(r.Lost); hidden > 0 {
		fmt.Fprintf(&text, "  and %d more\n", hidden)
	}
	_, err := io.WriteString(w, text.String())
	return err
}
