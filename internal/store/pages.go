package store

import (
	"context"
	"database/sql"
	"slices"
	"strings"
)

// idList returns the parameters $2, $3, … for identifiers, at least one, and the arguments with the tenant as $1. The last
// identifier is repeated until there is a power of two of them, so that few statements differ in the length of a list alone.
func (t *Tenant) idList(ids []ID) (list string, args []any) {
	ids = padded(ids)
	names := make([]string, len(ids))
	args = []any{t.id}
	for n, id := range ids {
		args = append(args, id)
		names[n] = parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// padded repeats the last identifier until there is a power of two of them.
func padded(ids []ID) []ID {
	size := 1
	for size < len(ids) {
		size *= 2
	}
	out := make([]ID, size)
	for n := range out {
		out[n] = ids[min(n, len(ids)-1)]
	}
	return out
}

// byID reads something of the rows with some identifiers: query selects the identifier and it, and its condition goes on.
func byID[V any](ctx context.Context, t *Tenant, ids []ID, query string) (map[ID]V, error) {
	out := map[ID]V{}
	err := t.read(func(q querier) error {
		if len(ids) == 0 {
			return nil
		}
		list, args := t.idList(ids)
		_, err := collect(ctx, q, func(row scanner) (struct{}, error) {
			var id ID
			var value V
			err := row.Scan(&id, &value)
			out[id] = value
			return struct{}{}, err
		}, query+` and id in (`+list+`)`, args...)
		return err
	})
	return out, err
}

// bounds are those of a page: the clause, and the arguments of the statement that it ends.
type bounds struct {
	clause string
	args   []any
}

// page counts rows and returns the bounds of a page of them; ok is false past the end.
func page(ctx context.Context, q querier, number, perPage int, count string, args ...any) (total int, limit bounds, ok bool, err error) {
	var n sql.Null[int]
	if err := q.QueryRowContext(ctx, count, args...).Scan(&n); err != nil {
		return 0, bounds{}, false, err
	}
	if number-1 > n.V/perPage {
		return n.V, bounds{}, false, nil
	}
	limit.clause, limit.args = limited(0, args, number, perPage)
	return n.V, limit, true, nil
}

// limited returns the clause that bounds a statement to a page, and its arguments with those of the clause. The statement
// has used as many parameters before args.
func limited(used int, args []any, number, perPage int) (clause string, all []any) {
	all = append(slices.Clip(args), perPage, (number-1)*perPage)
	return " limit " + parameter(used+len(all)-1) + " offset " + parameter(used+len(all)), all
}
