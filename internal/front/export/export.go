// Package export makes files of lists: all rows that a list of the API or the console has under some filters, as CSV or
// XLSX.
//
// A file is whole or visibly broken. Whatever can be refused is refused before the first byte: a list of too many rows,
// and for XLSX every error of the database. A CSV file is sent while its rows are read, so the sender ends the
// connection if [File.WriteTo] fails. The rows are those of one moment, each as it is when it is read; memory is
// bounded by their identifiers, one batch of rows, and for XLSX what package tabular keeps of a sheet.
//
// Start reading at [Exporter.Open] and [Exporter.Invoices].
package export

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"mime"
	"slices"
	"time"

	"quittance/internal/document/tabular"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/platform/fairlimit"
)

// The limits of exports in one process.
const (
	// maxFiles is how many files are made or sent at a time, and filesPerCompany those of one company.
	maxFiles, filesPerCompany = 16, 2
	// workbooks is how many XLSX files are made at a time, one for each company: each takes a processor and some 20 MiB.
	workbooks = 2
	// workbookWait is how long an XLSX file waits for its turn.
	workbookWait = 30 * time.Second
	// fileTime is how long making and sending a file takes at most.
	fileTime = 15 * time.Minute
)

// List is a list as a table.
type List struct {
	// Name is that of the file without its extension, and that of the sheet.
	Name    string
	Columns []tabular.Column
	// Rows selects the rows and returns their cells: a text for each column. Its error may be a [view.TooManyRowsError].
	Rows func(ctx context.Context) (iter.Seq2[[]string, error], error)
}

// Exporter makes files, a bounded number at a time. It is safe for concurrent use.
type Exporter struct {
	files, workbooks *fairlimit.Limiter[base.ID]
	maxRows          int
}

// New returns an exporter of lists with at most that many rows; 0 for [view.MaxListed].
func New(maxRows int) *Exporter {
	return &Exporter{
		maxRows:   cmp.Or(maxRows, view.MaxListed),
		files:     fairlimit.New[base.ID](maxFiles, fairlimit.Policy{Divisor: 1, Max: filesPerCompany}),
		workbooks: fairlimit.New[base.ID](workbooks, fairlimit.Policy{Divisor: 1, Max: 1}),
	}
}

// of returns the read models of a tenant.
func (x *Exporter) of(t *base.Tenant) view.Tenant { return view.Of(t).AtMost(x.maxRows) }

// bound returns err, or a [view.TooManyRowsError] if a list has too many rows.
func (x *Exporter) bound(rows int, err error) error {
	if err == nil && rows > x.maxRows {
		return &view.TooManyRowsError{Limit: x.maxRows}
	}
	return err
}

// File is a list as a file that is ready to be sent. Its owner closes it.
type File struct {
	// Name is the name under which it is saved.
	Name string
	// MediaType is that of its format.
	MediaType string

	ctx   context.Context //nolint:containedctx // bounds the file, which is made in two calls
	write func(w io.Writer) error
	close []func() error
}

// Open selects the rows of a list for a company. It makes an XLSX file at once, and leaves a CSV file to
// [File.WriteTo]. The error is [fairlimit.ErrFull] if too many files are made, and a [view.TooManyRowsError] if the
// list is too long.
func (x *Exporter) Open(ctx context.Context, company base.ID, list List, format tabular.Format) (*File, error) {
	if !x.files.TryAcquire(company, 1) {
		return nil, fairlimit.ErrFull
	}
	f := &File{Name: list.Name + "." + string(format), MediaType: format.MediaType()}
	f.close = append(f.close, func() error { x.files.Release(company, 1); return nil })
	var stop context.CancelFunc
	f.ctx, stop = context.WithTimeout(ctx, fileTime)
	f.close = append(f.close, func() error { stop(); return nil })
	opened := false
	defer func() {
		if !opened { // an error, or a panic
			_ = f.Close() // the error that is returned is the cause
		}
	}()
	rows, err := list.Rows(f.ctx)
	if err != nil {
		return nil, err
	}
	if format == tabular.XLSX {
		err = x.openWorkbook(f, company, list, rows)
	} else {
		f.write = func(w io.Writer) error { return tabular.WriteCSV(w, list.Columns, rows) }
	}
	opened = err == nil
	return f, err
}

// openWorkbook makes an XLSX file when the company has its turn.
func (x *Exporter) openWorkbook(f *File, company base.ID, list List, rows iter.Seq2[[]string, error]) error {
	waiting, stop := context.WithTimeout(f.ctx, workbookWait)
	defer stop()
	if !x.workbooks.Acquire(waiting, company) {
		if err := f.ctx.Err(); err != nil {
			return fmt.Errorf("wait to export: %w", err)
		}
		return fairlimit.ErrFull
	}
	defer x.workbooks.Release(company, 1)
	book, err := tabular.NewWorkbook(list.Name, list.Columns, rows)
	if errors.Is(err, tabular.ErrManyRows) {
		return &view.TooManyRowsError{Limit: x.maxRows}
	}
	if err != nil {
		return err
	}
	f.close = append(f.close, book.Close)
	f.write = func(w io.Writer) error {
		_, err := book.WriteTo(w)
		return err
	}
	return nil
}

// Disposition returns the value of Content-Disposition with which a browser saves the file and does not show it (RFC
// 6266).
func (f *File) Disposition() string {
	return mime.FormatMediaType("attachment", map[string]string{"filename": f.Name})
}

// WriteTo writes the file. After an error what was written is not the file, and whoever receives it must notice.
func (f *File) WriteTo(w io.Writer) (int64, error) {
	out := &boundedWriter{ctx: f.ctx, to: w}
	if err := f.write(out); err != nil {
		return out.written, fmt.Errorf("export %s: %w", f.Name, err)
	}
	return out.written, nil
}

// Close releases what the file holds.
func (f *File) Close() error {
	var err error
	for _, release := range slices.Backward(f.close) {
		err = errors.Join(err, release())
	}
	f.close = nil
	return err
}

// boundedWriter counts what is written, until the context ends.
type boundedWriter struct {
	ctx     context.Context //nolint:containedctx // of one call
	to      io.Writer
	written int64
}

// Write writes and counts.
func (b *boundedWriter) Write(text []byte) (int, error) {
	if err := b.ctx.Err(); err != nil {
		return 0, err
	}
	n, err := b.to.Write(text)
	b.written += int64(n)
	return n, err
}

// batches returns the rows with some identifiers. read returns the cells of at most [view.MaxBatch] of them.
func batches(ctx context.Context, ids []base.ID,
	read func(ctx context.Context, ids []base.ID) ([][]string, error)) iter.Seq2[[]string, error] {
	return func(yield func([]string, error) bool) {
		for batch := range slices.Chunk(ids, view.MaxBatch) {
			rows, err := read(ctx, batch)
			if err != nil {
				yield(nil, err)
				return
			}
			for _, row := range rows {
				if !yield(row, nil) {
					return
				}
			}
		}
	}
}
