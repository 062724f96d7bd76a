package view

import (
	"context"
	"strings"

	"quittance/internal/ledger/base"
)

// IssueDates bound the issue date of a list, both inclusive: YYYY-MM-DD. An empty bound has no effect.
type IssueDates struct {
	IssuedFrom, IssuedTo string
}

// narrow reports whether there is a bound.
func (d IssueDates) narrow() bool { return d != IssueDates{} }

// bounds returns the bounds of a column as conditions.
func (d IssueDates) bounds(s *statement, column string) (conditions []string) {
	if d.IssuedFrom != "" {
		conditions = append(conditions, column+` >= `+s.value(d.IssuedFrom))
	}
	if d.IssuedTo != "" {
		conditions = append(conditions, column+` <= `+s.value(d.IssuedTo))
	}
	return conditions
}

// and returns the bounds of a column as the end of a condition, "" without a bound.
func (d IssueDates) and(s *statement, column string) string {
	var end strings.Builder
	for _, bound := range d.bounds(s, column) {
		end.WriteString(` and ` + bound)
	}
	return end.String()
}

// searched is what a search has found.
type searched struct {
	// examined is the number of candidates, and total that of the matches among them.
	examined, total int
	// ids are the matches of a range, in the order of the list.
	ids []base.ID
}

// examinedIDs is a query for the candidates of a search, for its query for the matches.
const examinedIDs = `select id from examined where id is not null`

// search counts candidates and matches, and returns a range of the matches. candidates is a query for the identifiers
// (id, which may be null) of the rows to examine, from one index, and bounded. matched is one for those among
// [examinedIDs] that the filter selects, with the columns of the order. One statement has both, and materialized, so
// that no plan reads a whole company for the sake of the order.
func (s *statement) search(ctx context.Context, r base.Reader, candidates, matched, order string, offset,
	limit int) (found searched, err error) {
	bounds := ` limit ` + s.value(limit) + ` offset ` + s.value(offset)
	// The range is joined to one row, so that the counts come with an empty range too.
	err = r.Query(ctx, func(row base.Row) error {
		var id *base.ID
		err := row.Scan(&found.examined, &found.total, &id)
		if id != nil {
			found.ids = append(found.ids, *id)
		}
		return err
	}, `with examined as materialized (`+candidates+`), matched as materialized (`+matched+`)
		select (select count(*) from examined), (select count(*) from matched), p.id
		from (select 1 as one) one left join (select * from matched`+order+bounds+`) p on one.one = 1`+order, s.args...)
	return found, err
}

// searchPage reads a page of the list that a search finds among [SearchDepth] candidates, and then its rows.
func searchPage[R any](number, perPage int, search func(offset, limit int) (searched, error),
	rows func(ids []base.ID) ([]R, error)) (Page[R], error) {
	offset := SearchDepth // past the end, and no overflow
	if number-1 <= SearchDepth/perPage {
		offset = min(offset, (number-1)*perPage)
	}
	found, err := search(offset, min(perPage, SearchDepth-offset))
	if err != nil {
		return Page[R]{}, err
	}
	out := Page[R]{Total: min(found.total, SearchDepth), Truncated: found.examined > SearchDepth}
	out.Entries, err = rows(found.ids)
	return out, err
}

// rowsByID reads those of some rows that exist, in the order of ids. read gets a condition on the column.
func rowsByID[R any](ctx context.Context, r base.Reader, column string, ids []base.ID, idOf func(*R) base.ID,
	read selection[R]) ([]R, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var s statement
	list := s.list(ids)
	rows, err := read(ctx, r, column+` in (`+list+`)`, ``, s.args...)
	return inOrder(ids, rows, idOf), err
}
