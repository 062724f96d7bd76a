package view

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math/big"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/fairlimit"
)

// The limits of reading files with drafts.
const (
	// importers is how many files are read and imported at a time. The limits of [tabular.Read] bound what one takes: at
	// most about 130 MiB of memory, whatever is in it. So a turn reserves that memory too, of which a company can have no
	// more.
	importers = 3
	// importWait is how long a file waits for its turn.
	importWait = 10 * time.Second
)

// ruleTime is the rule that a file breaks which takes longer.
const ruleTime = "file_time"

// Importer reads and imports files with drafts: three at a time, one for each company, and companies take turns.
type Importer struct {
	turns *fairlimit.Limiter[base.ID]
	// wait is how long a file waits for its turn, and timeout how long it is read at most.
	wait, timeout time.Duration
}

// NewImporter returns an importer whose files are read for at most that long each.
func NewImporter(timeout time.Duration) *Importer {
	turns := fairlimit.New[base.ID](importers, fairlimit.Policy{Divisor: 1, Max: 1})
	return &Importer{turns: turns, wait: importWait, timeout: timeout}
}

// ImportFile is a file with drafts that was read.
type ImportFile struct {
	*tabular.Import
	// SHA256 is the digest of the file.
	SHA256 [32]byte
}

// Turn waits for a turn of the company. The error is [fairlimit.ErrFull] if it takes too long.
func (i *Importer) Turn(ctx context.Context, company base.ID) (end func(), err error) {
	waiting, stop := context.WithTimeout(ctx, i.wait)
	defer stop()
	if !i.turns.Acquire(waiting, company) {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("wait to import: %w", err)
		}
		return nil, fairlimit.ErrFull
	}
	return func() { i.turns.Release(company, 1) }, nil
}

// Read reads a file within a turn of the company. sheet is the name of a worksheet, "" for the first that is visible. A
// file that is not usable, or takes too long, has a fault of row 0. The error is that of the context if it ends first,
// or one of read.
func (i *Importer) Read(ctx context.Context, file []byte, sheet string, read tabular.Reader) (*ImportFile, error) {
	limited, stop := context.WithTimeout(ctx, i.timeout)
	defer stop()
	out := &ImportFile{SHA256: sha256.Sum256(file)}
	table, err := tabular.Read(limited, file, sheet)
	if err == nil {
		out.Import, err = tabular.Drafts(limited, table, read)
	}
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		err = &tabular.Error{Rule: ruleTime, Message: "takes too long to read: try again, or import it in several parts"}
	}
	if refused, ok := errors.AsType[*tabular.Error](err); ok {
		fault := tabular.Fault{Fault: api.Fault{Rule: refused.Rule, Message: "The file " + refused.Message}, Row: refused.Row}
		out.Import = &tabular.Import{Faults: []tabular.Fault{fault}}
		return out, nil
	}
	return out, err
}

// Source returns what the audit log has of the file.
func (f *ImportFile) Source(upload invoices.UploadKey) invoices.ImportSource {
	return invoices.ImportSource{SHA256: f.SHA256, Rows: f.Rows, Upload: upload}
}

// Payloads returns the drafts.
func (f *ImportFile) Payloads() []*api.Draft {
	out := make([]*api.Draft, len(f.Drafts))
	for n := range f.Drafts {
		out[n] = &f.Drafts[n].Draft
	}
	return out
}

// Describe returns what people and programs learn about the file before its drafts are imported.
func (f *ImportFile) Describe(ctx context.Context, t *base.Tenant, seller Seller) (api.Import, error) {
	out := api.Import{Valid: len(f.Faults) == 0, Rows: f.Rows, Drafts: len(f.Drafts), Totals: importTotals(f.Drafts),
		Faults: make([]api.ImportFault, len(f.Faults)), MoreFaults: f.MoreFaults, Invoices: []api.ImportedInvoice{}}
	for n, fault := range f.Faults {
		out.Faults[n] = api.ImportFault{Fault: fault.Fault, Row: fault.Row, Column: fault.Column, Value: fault.Value}
	}
	if !out.Valid {
		return out, nil
	}
	numbers := make([]string, len(f.Drafts))
	for n := range f.Drafts {
		d := &f.Drafts[n].Draft
		numbers[n] = *d.InvoiceNumber
		if len(seller.Needs(d, api.Faults{})) > 0 {
			out.Incomplete++
		}
	}
	used, err := invoices.UsedNumbers(ctx, t, numbers)
	if err != nil {
		return api.Import{}, err
	}
	for _, number := range numbers {
		if used[number] {
			out.UsedNumbers++
		}
	}
	return out, nil
}

// importTotals adds up the totals of drafts by currency.
func importTotals(drafts []tabular.Draft) []api.ImportTotal {
	out, at, sums, scales := []api.ImportTotal{}, map[string]int{}, []*big.Rat(nil), []int(nil)
	for n := range drafts {
		d := &drafts[n].Draft
		if d.Currency == nil || d.TotalAmount == nil {
			continue
		}
		place, known := at[*d.Currency]
		if !known {
			place = len(out)
			at[*d.Currency] = place
			out, sums, scales = append(out, api.ImportTotal{Currency: *d.Currency}), append(sums, new(big.Rat)),
				append(scales, 0)
		}
		text := d.TotalAmount.String()
		if value, ok := new(big.Rat).SetString(text); ok { // a decimal always is a number
			sums[place].Add(sums[place], value)
		}
		_, fraction, _ := strings.Cut(text, ".")
		scales[place] = max(scales[place], len(fraction))
		out[place].Drafts++
	}
	for place := range out {
		out[place].TotalAmount = api.Amount(sums[place].FloatString(scales[place]))
	}
	return out
}

// ImportFaults returns the faults of a file by path: rows[17].issue_date, rows[17] for a row as a whole, and body for
// the file.
func ImportFaults(i *api.Import) api.Faults {
	faults := api.Faults{}
	for _, f := range i.Faults {
		path := "body"
		if f.Row > 0 {
			path = "rows[" + strconv.Itoa(f.Row) + "]"
		}
		if f.Column != "" {
			path += "." + f.Column
		}
		if f.Value != "" {
			f.Message += fmt.Sprintf("; the cell has %q", f.Value)
		}
		faults[path] = append(faults[path], f.Fault)
	}
	if i.MoreFaults > 0 {
		faults.Add("body", "more_faults", "has "+strconv.Itoa(i.MoreFaults)+" further faults, which are not listed")
	}
	return faults
}
