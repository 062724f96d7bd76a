// Package view makes what the API and the console show, once for both. Presenters, such as [Invoice], turn facts of the
// ledger into types of the API. Read models, the methods of [Tenant], select, count and search the facts of a page or a
// list.
//
// Nothing here writes, and every statement is about one tenant: it reaches the database through a [base.Reader] alone,
// which passes the tenant as the parameter $1. An administrator's lists of all accounts are therefore in
// internal/ledger/lists. Most tests of read models are in the ledger, beside a second company whose rows no method of
// [Tenant] may show.
//
// Start reading at [Invoice] and [Tenant.Invoices].
package view

import (
	"context"
	"strconv"
	"strings"
	"time"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// Tenant reads the lists and pages of one tenant.
type Tenant struct {
	tenant *base.Tenant
	// most is how many rows a whole list has at most.
	most int
}

// Of returns the read models of a tenant.
func Of(tenant *base.Tenant) Tenant { return Tenant{tenant, MaxListed} }

// SearchDepth is how many candidates a filtered or sorted list examines at most, which bounds its work. The candidates
// are the newest entries, or for [Tenant.Invoices] those with the number, external identifier or state value of the
// filter, those changed since its time, or those of its issue dates.
const SearchDepth = 20_000

// Page is one page of a list.
type Page[T any] struct {
	Entries []T
	// Total is the length of the list. If the list examines a bounded number of candidates, Total counts those alone.
	Total int
	// Truncated reports that there were more candidates than [SearchDepth].
	Truncated bool
}

// statement collects the arguments of a statement, the parameters from $2.
type statement struct {
	args []any
}

// value adds an argument and returns the name of its parameter.
func (s *statement) value(v any) string {
	s.args = append(s.args, v)
	return "$" + strconv.Itoa(len(s.args)+1)
}

// list adds identifiers, at least one, and returns the names of their parameters.
func (s *statement) list(ids []base.ID) string {
	ids = invoices.Padded(ids)
	names := make([]string, len(ids))
	for n, id := range ids {
		names[n] = s.value(id)
	}
	return strings.Join(names, ", ")
}

// selection reads the facts of one kind that a condition selects; see [base.Reader].
type selection[T any] = func(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]T, error)

// readPage counts rows with the query count and reads one page of them: read gets their condition, and the order with
// the bounds of the page. All have the arguments of s. number and perPage are at least 1; a page past the end is empty.
func readPage[T any](ctx context.Context, r base.Reader, s *statement, number, perPage int, count string,
	read selection[T], condition, order string) (Page[T], error) {
	var out Page[T]
	err := r.Query(ctx, func(row base.Row) error { return row.Scan(&out.Total) }, count, s.args...)
	if err != nil || number-1 > out.Total/perPage {
		return out, err
	}
	order += s.limit(number, perPage)
	out.Entries, err = read(ctx, r, condition, order, s.args...)
	return out, err
}

// limit adds the bounds of a page and returns their clause. number-1 times perPage must not overflow.
func (s *statement) limit(number, perPage int) string {
	return ` limit ` + s.value(perPage) + ` offset ` + s.value((number-1)*perPage)
}

// pageRange returns the ranks of a page, newest first: from high down to, but not including, low. A page past the end
// is empty.
func pageRange(total, number, perPage int) (high, low int64) {
	if number-1 > total/perPage {
		return 0, 0
	}
	high = int64(total) - int64(number-1)*int64(perPage)
	return high, max(0, high-int64(perPage))
}

// byID reads something of the rows with some identifiers: the query selects the identifier and it, and goes on with a
// condition on the column id.
func byID[V any](ctx context.Context, t Tenant, ids []base.ID, query string) (map[base.ID]V, error) {
	out := map[base.ID]V{}
	err := base.ReadRows(t.tenant, func(r base.Reader) error {
		if len(ids) == 0 {
			return nil
		}
		var s statement
		list := s.list(ids)
		return r.Query(ctx, func(row base.Row) error {
			var id base.ID
			var value V
			err := row.Scan(&id, &value)
			out[id] = value
			return err
		}, query+` and id in (`+list+`)`, s.args...)
	})
	return out, err
}

// containing returns the pattern of "like" for texts that contain a text. Its escape character is a backslash.
func containing(text string) string {
	return "%" + strings.NewReplacer(`\`, `\\`, `%`, `\%`, `_`, `\_`).Replace(text) + "%"
}

// instant returns the time of a column, which holds microseconds since 1970.
func instant(us int64) time.Time { return time.UnixMicro(us).UTC() }
