package export

import (
	"context"
	"iter"
	"strconv"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// field is a column of a list of R: what the API calls the field, and its text in a row.
type field[R any] struct {
	name string
	kind tabular.Kind
	text func(row *R) string
}

func columns[R any](fields []field[R]) []tabular.Column {
	out := make([]tabular.Column, len(fields))
	for n, f := range fields {
		out[n] = tabular.Column{Name: f.name, Kind: f.kind}
	}
	return out
}

// cells returns the cells of rows.
func cells[R any](fields []field[R], rows []R) [][]string {
	out := make([][]string, len(rows))
	for at := range rows {
		out[at] = make([]string, len(fields))
		for n, f := range fields {
			out[at][n] = f.text(&rows[at])
		}
	}
	return out
}

// whole returns a list of few rows, which are read at once.
func whole[R any](name string, fields []field[R], read func(ctx context.Context) ([]R, error)) List {
	return List{Name: name, Columns: columns(fields), Rows: func(ctx context.Context) (iter.Seq2[[]string, error], error) {
		rows, err := read(ctx)
		if err != nil {
			return nil, err
		}
		return func(yield func([]string, error) bool) {
			for _, row := range cells(fields, rows) {
				if !yield(row, nil) {
					return
				}
			}
		}, nil
	}}
}

// byID returns a list whose rows are read by their identifiers, which ids selects.
func byID[R any](name string, fields []field[R], ids func(ctx context.Context) ([]base.ID, error),
	read func(ctx context.Context, ids []base.ID) ([]R, error)) List {
	return List{Name: name, Columns: columns(fields), Rows: func(ctx context.Context) (iter.Seq2[[]string, error], error) {
		selected, err := ids(ctx)
		if err != nil {
			return nil, err
		}
		return batches(ctx, selected, func(ctx context.Context, ids []base.ID) ([][]string, error) {
			rows, err := read(ctx, ids)
			return cells(fields, rows), err
		}), nil
	}}
}

// present turns the facts of a batch into types of the API.
func present[F, R any](as func(F) R, read func(ctx context.Context, ids []base.ID) ([]F,
	error)) func(ctx context.Context, ids []base.ID) ([]R, error) {
	return func(ctx context.Context, ids []base.ID) ([]R, error) {
		facts, err := read(ctx, ids)
		return presentAll(as, facts), err
	}
}

func presentAll[F, R any](as func(F) R, facts []F) []R {
	out := make([]R, len(facts))
	for n, fact := range facts {
		out[n] = as(fact)
	}
	return out
}

// These functions return the text of a value, "" for an absent one.

func optional[T ~string](text *T) string {
	if text == nil {
		return ""
	}
	return string(*text)
}

func decimal(d *api.Decimal) string {
	if d == nil {
		return ""
	}
	return d.String()
}

// moment returns a time as the API writes it.
func moment(at time.Time) string { return at.UTC().Format(events.TimestampLayout) }

func optionalMoment(at *time.Time) string {
	if at == nil {
		return ""
	}
	return moment(*at)
}

func list(texts []string) string { return strings.Join(texts, ", ") }

// outcome is that of a submission, "" if there is none.
func outcome(s *api.Submission) string {
	if s == nil {
		return ""
	}
	return string(s.Outcome)
}

// stateFields are the four states: for each the provider's word, whether it is final, and the meaning that the provider
// publishes.
func stateFields[R any](details func(row *R) api.StateDetails) []field[R] {
	var out []field[R]
	for _, dimension := range [...]struct {
		name   string
		detail func(d api.StateDetails) *api.StateDetail
	}{
		{"submission_state", func(d api.StateDetails) *api.StateDetail { return d.SubmissionState }},
		{"provider_invoice_state", func(d api.StateDetails) *api.StateDetail { return d.ProviderInvoiceState }},
		{"tax_authority_state", func(d api.StateDetails) *api.StateDetail { return d.TaxAuthorityState }},
		{"receiver_state", func(d api.StateDetails) *api.StateDetail { return d.ReceiverState }},
	} {
		reported := func(text func(d *api.StateDetail) string) func(row *R) string {
			return func(row *R) string {
				if d := dimension.detail(details(row)); d != nil {
					return text(d)
				}
				return ""
			}
		}
		out = append(out,
			field[R]{dimension.name, tabular.Text, reported(func(d *api.StateDetail) string { return d.Value })},
			field[R]{dimension.name + "_final", tabular.Text,
				reported(func(d *api.StateDetail) string { return strconv.FormatBool(d.Final) })},
			field[R]{dimension.name + "_meaning", tabular.Text,
				reported(func(d *api.StateDetail) string { return optional(d.Meaning) })})
	}
	return out
}
