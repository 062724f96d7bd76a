package drill

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"quittance/client"
	"quittance/client/api"
	"quittance/sandbox/fakeprovider"
	"quittance/tools/load/rig"
)

// CheckOptions configures [Check].
type CheckOptions struct {
	Keys    string  // directory with the API keys of the load
	Servers Servers // file, with the servers after the disaster
	// Journal and Receipts are the journals of [Load], which has ended, and of [Receive], which still runs.
	Journal, Receipts string
	// Provider is the URL of the provider sandbox, and ProviderCredential what it wants to be called with.
	Provider, ProviderCredential string
	// LostAfter is the time of the backup that was restored: what was acknowledged later may be lost. The zero time means
	// that nothing may.
	LostAfter time.Time
	// Patience bounds the wait for submissions and deliveries to end. A document that the provider never received is sent
	// again only after it has been missing there for a minute.
	Patience time.Duration
	Now      func() time.Time
}

// maxLost is how many losses a report describes; it counts all.
const maxLost = 20

// Report is the result of a check.
type Report struct {
	// Acknowledged counts the facts of each kind, and Found those that the service still has.
	Acknowledged map[Kind]int `json:"acknowledged"`
	Found        map[Kind]int `json:"found"`
	// AfterBackup counts the facts of each kind that are missing and may be, because they are younger than the backup.
	AfterBackup map[Kind]int `json:"lost_after_backup"`
	// Documents is the number of documents that the provider has, Repeated that of calls with an idempotency key that were
	// made again, and Resubmitted that of submissions that were younger than the backup and were found again at the
	// provider.
	Documents   int `json:"provider_documents"`
	Repeated    int `json:"repeated_calls"`
	Resubmitted int `json:"found_again_at_provider"`
	// WithoutService is the longest time, in seconds, in which no call of the load was acknowledged.
	WithoutService float64 `json:"longest_time_without_service_seconds"`
	// Losses is the number of promises that were not kept; Lost describes the first of them.
	Losses int      `json:"losses"`
	Lost   []string `json:"lost"`
}

// lose records a promise that was not kept.
func (r *Report) lose(format string, args ...any) {
	if r.Losses++; r.Losses <= maxLost {
		r.Lost = append(r.Lost, fmt.Sprintf(format, args...))
	}
}

// check is a check in progress.
type check struct {
	options CheckOptions
	report  *Report
	facts   []Fact
	missing map[string]bool // identifiers of invoices and credit notes that are lost, and may be
	unknown map[string]bool // numbers of the documents whose draft is lost, and may be
}

// Check compares what the service has with what it has acknowledged, and with what the provider and the receivers have.
// The error is about the check itself; losses are in the report. A report without losses means: every draft and credit
// note exists with the acknowledged contents, and a repeated creation returns it; every submission exists under its
// reference, with every state that was shown or a later one; the positions of events have no gap, and every event that
// was read or received is there unchanged; every event has arrived, every submission has ended, and the provider has
// exactly one document for each; and each purchase of the provider is there.
func Check(ctx context.Context, o CheckOptions) (Report, error) {
	r := Report{Acknowledged: map[Kind]int{}, Found: map[Kind]int{}, AfterBackup: map[Kind]int{}, Lost: []string{}}
	c := &check{options: o, report: &r, missing: map[string]bool{}, unknown: map[string]bool{}}
	all, err := companies(o.Keys, o.Servers)
	if err != nil {
		return r, err
	}
	if c.facts, err = readJournal(o.Journal); err != nil {
		return r, err
	}
	receipts, err := readJournal(o.Receipts)
	if err != nil {
		return r, err
	}
	for _, fact := range append(c.facts, receipts...) {
		r.Acknowledged[fact.Kind]++
	}
	for _, row := range reported {
		if r.Acknowledged[row.kind] == 0 {
			return r, fmt.Errorf("the journals have no %s: let the load run longer", row.text)
		}
	}
	r.WithoutService = longestGap(c.facts).Seconds()
	for _, company := range all {
		if err := c.company(ctx, company, receipts); err != nil {
			return r, fmt.Errorf("company %s: %w", company.name, err)
		}
	}
	if r.Losses > 0 {
		return r, nil // what was lost does not come back by waiting
	}
	return r, c.end(ctx, all)
}

// company looks for the facts of a company.
func (c *check) company(ctx context.Context, of *company, receipts []Fact) error {
	if err := c.drafts(ctx, of); err != nil {
		return err
	}
	if err := c.credits(ctx, of); err != nil {
		return err
	}
	if err := c.submissions(ctx, of); err != nil {
		return err
	}
	return c.events(ctx, of, receipts)
}

// of returns the facts of a kind of a company.
func (c *check) of(company *company, kind Kind) []Fact {
	var out []Fact
	for _, fact := range c.facts {
		if fact.Kind == kind && fact.Company == company.name {
			out = append(out, fact)
		}
	}
	return out
}

// tolerated reports whether a fact may be lost, and counts it then.
func (c *check) tolerated(fact Fact) bool {
	if c.options.LostAfter.IsZero() || fact.At.Before(c.options.LostAfter) {
		return false
	}
	c.report.AfterBackup[fact.Kind]++
	return true
}

// longestGap returns the longest time between two acknowledged calls.
func longestGap(facts []Fact) (longest time.Duration) {
	var before time.Time
	for _, fact := range facts {
		switch fact.Kind {
		case kindDraft, kindChange, kindSubmission, kindCredit, kindCreditSent:
		default:
			continue
		}
		if !before.IsZero() {
			longest = max(longest, fact.At.Sub(before))
		}
		before = fact.At
	}
	return longest
}

// end waits until every submission has ended and every event and purchase has arrived, and compares with the provider's
// ledger.
func (c *check) end(ctx context.Context, all []*company) error {
	deadline := c.options.Now().Add(c.options.Patience)
	references := map[string]bool{} // of submissions, and whether the provider must have the document
	for _, company := range all {
		for {
			open, err := c.open(ctx, company, references)
			if err != nil {
				return fmt.Errorf("company %s: %w", company.name, err)
			}
			if len(open) == 0 {
				break
			}
			if c.options.Now().After(deadline) {
				for _, what := range open {
					c.report.lose("company %s: %s within %v", company.name, what, c.options.Patience)
				}
				break
			}
			if err := rig.Sleep(ctx, 5*pause); err != nil {
				return err
			}
		}
	}
	return c.ledger(ctx, references)
}

// ledger compares with the provider: it has exactly one document for each submission that has ended, and no other.
func (c *check) ledger(ctx context.Context, references map[string]bool) error {
	text, err := callProvider(ctx, &http.Client{Timeout: callTimeout}, http.MethodGet,
		c.options.Provider+"/control/ledger", c.options.ProviderCredential, nil, http.StatusOK)
	if err != nil {
		return err
	}
	var ledger struct {
		Documents []fakeprovider.LedgerDocument `json:"documents"`
	}
	if err := json.Unmarshal(text, &ledger); err != nil {
		return fmt.Errorf("provider: %w", err)
	}
	c.report.Documents = len(ledger.Documents)
	has, numbers := map[string]bool{}, map[string]bool{}
	for _, document := range ledger.Documents {
		number := cmp.Or(document.CreditNoteNumber, document.InvoiceNumber)
		if document.Accepted != 1 || document.Conflicts != 0 || numbers[number] {
			c.report.lose("the provider has more than one document of %s: %s was accepted %d times, with %d conflicts", number,
				document.Reference, document.Accepted, document.Conflicts)
		}
		has[document.Reference], numbers[number] = true, true
		if _, known := references[document.Reference]; !known && !c.unknown[number] {
			c.report.lose("the provider has %s under %s, which the service does not know", number, document.Reference)
		}
	}
	for reference, must := range references {
		if must && !has[reference] {
			c.report.lose("the provider does not have the document of the submission %s", reference)
		}
	}
	return nil
}

// notFound reports whether err is the answer that there is no such resource.
func notFound(err error) bool {
	failed, ok := errors.AsType[*client.ResponseError](err)
	return ok && failed.Err != nil && failed.Err.Code == api.CodeNotFound
}
