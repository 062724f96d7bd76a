package invoices

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/ledger/base"
)

// summaryText is the content of the column summary, as JSON.
type summaryText struct {
	api.Draft               // without items and other lists
	Missing      []string   `json:"missing"`
	MissingCount int        `json:"missing_count"`
	Warnings     api.Faults `json:"warnings"`
	WarningCount int        `json:"warning_count"`
}

// Summary is a row of invoice_summaries without its key.
type Summary struct {
	ExternalID *string
	IssueDate  string
	Total      []byte
	Recipient  string
	Terms      string
	Items      int
	Text       string
}

// Summarize returns the summary of a draft. [proof.Verify] compares those of submitted invoices with it. A version
// that changes the summaries sets summarized to 0 in a migration, so that they are created again.
func Summarize(d *api.Draft) (Summary, error) {
	missing, warnings := []string{}, draftWarnings(d)
	for _, need := range invoice.Needs(d) {
		missing = append(missing, need.Path)
	}
	text := summaryText{Draft: *d, Missing: missing[:min(len(missing), api.MaxSummaryPaths)], MissingCount: len(missing),
		Warnings: firstPaths(warnings, api.MaxSummaryPaths), WarningCount: len(warnings)}
	text.Items, text.Allowances, text.Charges = nil, nil, nil
	written, err := jsonv2.Marshal(&text, jsonv2.OmitZeroStructFields(true), jsonv2.Deterministic(true),
		jsontext.AllowDuplicateNames(true))
	if err != nil {
		return Summary{}, fmt.Errorf("summary: %w", err)
	}
	return Summary{ExternalID: d.ExternalID, IssueDate: textOf(d.IssueDate), Total: AmountKey(d.TotalAmount),
		Recipient: strings.ToLower(textOf(d.RecipientName)),
		Terms:     strings.ToLower(textOf(d.InvoiceNumber) + "\n" + textOf(d.RecipientNetworkID)), Items: len(d.Items),
		Text: string(written)}, nil
}

// SetNeeds replaces what the row says about the completeness of its draft and the advice on it. warnings include the
// advice that depends on the company's profile.
func (r *InvoiceRow) SetNeeds(missing []string, warnings api.Faults) {
	r.Missing, r.MissingCount = missing[:min(len(missing), api.MaxSummaryPaths)], len(missing)
	r.Warnings, r.WarningCount, r.SellerIncluded = firstPaths(warnings, api.MaxSummaryPaths), len(warnings), true
}

// draftWarnings returns the advice on a draft that does not depend on the company's profile.
func draftWarnings(d *api.Draft) api.Faults {
	warnings := invoice.Warnings(d, nil, invoice.Arithmetic{})
	maps.DeleteFunc(warnings, func(path string, _ []api.Fault) bool { return strings.HasPrefix(path, invoice.SellerPath) })
	return warnings
}

// firstPaths returns the faults of at most most paths: those of the invoice itself before those of its items.
func firstPaths(faults api.Faults, most int) api.Faults {
	if len(faults) <= most {
		return faults
	}
	paths := slices.SortedFunc(maps.Keys(faults), func(a, b string) int {
		ofItem := func(path string) int { return strings.Count(path, "[") }
		if order := ofItem(a) - ofItem(b); order != 0 {
			return order
		}
		if order := len(a) - len(b); order != 0 && ofItem(a) > 0 {
			return order // items[9] before items[10]
		}
		return strings.Compare(a, b)
	})
	out := make(api.Faults, most)
	for _, path := range paths[:most] {
		out[path] = faults[path]
	}
	return out
}

// AmountKey returns a form of an amount whose bytes sort in the order of the numbers: the difference from the smallest
// amount in millionths, the smallest unit of an [api.Decimal].
func AmountKey(amount *api.Decimal) []byte {
	value := millionths(amount)
	value.Add(value, smallestAmount())
	return value.FillBytes(make([]byte, amountKeyBits/8))
}

// amountKeyBits is the size of an [AmountKey]: 10^18 · 10^6 and its negative take 81.
const amountKeyBits = 88

// smallestAmount returns the distance of the smallest amount from zero, in millionths.
func smallestAmount() *big.Int { return new(big.Int).Lsh(big.NewInt(1), amountKeyBits-1) }

// amountOfKey returns the amount of an [AmountKey] in millionths.
func amountOfKey(key []byte) *big.Int {
	value := new(big.Int).SetBytes(key)
	return value.Sub(value, smallestAmount())
}

// summaryCurrency returns the currency of the column summary, "" if the draft has none.
func summaryCurrency(text string) (string, error) {
	var given struct {
		Currency string `json:"currency"`
	}
	if err := jsonv2.Unmarshal([]byte(text), &given); err != nil {
		return "", fmt.Errorf("stored summary: %w", err)
	}
	return given.Currency, nil
}

const summaryColumns = `tenant_id, invoice_id, created_at, external_id, issue_date, total, recipient, terms, item_count, summary`

// summaryRow is the summary of an invoice, with summaryColumns.
type summaryRow struct {
	Tenant     base.ID `db:"tenant_id"`
	Invoice    base.ID `db:"invoice_id"`
	CreatedAt  int64   `db:"created_at"`
	ExternalID *string `db:"external_id"`
	IssueDate  string  `db:"issue_date"`
	Total      []byte  `db:"total"`
	Recipient  string  `db:"recipient"`
	Terms      string  `db:"terms"`
	Items      int     `db:"item_count"`
	Text       string  `db:"summary"`
}

// insertSummary stores the summary of an invoice, or replaces it.
func insertSummary(ctx context.Context, t *base.Tenant, tx *base.Tx, i *Invoice) error {
	s, err := Summarize(&i.Draft)
	if err != nil {
		return err
	}
	statement, args := base.Insert("invoice_summaries", summaryRow{Tenant: t.ID(), Invoice: i.ID,
		CreatedAt: base.Micros(i.CreatedAt), ExternalID: s.ExternalID, IssueDate: s.IssueDate, Total: s.Total,
		Recipient: s.Recipient, Terms: s.Terms, Items: s.Items, Text: s.Text})
	return tx.ExecDeferred(ctx, statement+` on conflict (tenant_id, invoice_id) do update set
		external_id = excluded.external_id, issue_date = excluded.issue_date, total = excluded.total,
		recipient = excluded.recipient, terms = excluded.terms, item_count = excluded.item_count,
		summary = excluded.summary`, args...)
}

// insertSummaries stores the summaries of new invoices with one statement.
func insertSummaries(ctx context.Context, tx *base.Tx, add []*newInvoice) error {
	db := tx.DB
	return tx.ExecDeferred(ctx, `insert into invoice_summaries (`+summaryColumns+`) `+
		db.Dialect().Values("bytea", "bytea", "bigint", "text", "text", "bytea", "text", "text", "bigint", "text"),
		base.RowArgs(db, add, func(a *newInvoice) []any {
			s := &a.summary
			return []any{a.tenant.ID(), a.created.ID, base.Micros(a.created.CreatedAt), s.ExternalID, s.IssueDate, s.Total,
				s.Recipient, s.Terms, int64(s.Items), s.Text}
		})...)
}

// row returns the row of the summary. Its [Invoice] has only the draft.
func (s *Summary) row() (InvoiceRow, error) {
	var text summaryText
	if err := jsonv2.Unmarshal([]byte(s.Text), &text); err != nil {
		return InvoiceRow{}, fmt.Errorf("stored summary: %w", err)
	}
	return InvoiceRow{Invoice: Invoice{Draft: text.Draft}, Items: s.Items, Missing: text.Missing,
		MissingCount: text.MissingCount, Warnings: text.Warnings, WarningCount: text.WarningCount}, nil
}

// summarizeBatch is how many invoices one transaction summarizes, so that it does not delay others for long.
const summarizeBatch = 20

// SummarizeMissing creates the missing summaries, those of invoices that a version without summaries stored or changed.
// It does so in small transactions and returns their number.
func SummarizeMissing(ctx context.Context, db *base.DB) (int, error) {
	done := 0
	for {
		type unsummarized struct{ tenant, id base.ID }
		found, err := base.Collect(ctx, db.Querier(), func(row base.Row) (unsummarized, error) {
			var u unsummarized
			return u, row.Scan(&u.tenant, &u.id)
		}, `select tenant_id, id from invoices where summarized = 0 order by tenant_id, id limit $1`, summarizeBatch)
		if err != nil || len(found) == 0 {
			return done, db.Classify(err)
		}
		err = db.Write(ctx, "summarize", func(ctx context.Context, tx *base.Tx) error {
			for _, u := range found {
				if err := summarizeOne(ctx, db.TenantOf(u.tenant, base.ID{}), tx, u.id); err != nil {
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

func summarizeOne(ctx context.Context, t *base.Tenant, tx *base.Tx, id base.ID) error {
	found, err := scanInvoice(tx.QueryRowContext(ctx,
		`select `+invoiceColumns+` from invoices i where i.tenant_id = $1 and i.id = $2 and i.summarized = 0`+
			t.DB().Dialect().ForUpdate(), t.ID(), id))
	if errors.Is(t.DB().Classify(err), base.ErrNotFound) {
		return nil // another process has summarized it, or it was deleted
	}
	if err != nil {
		return err
	}
	if err := insertSummary(ctx, t, tx, &found); err != nil {
		return err
	}
	return tx.ExecDeferred(ctx, `update invoices set summarized = 1 where tenant_id = $1 and id = $2`, t.ID(), id)
}
