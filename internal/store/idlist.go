package store

import "strings"

// idList returns the parameters $2, $3, … for [Padded] identifiers, at least one, and the arguments with the tenant as $1.
func (t *Tenant) idList(ids []ID) (list string, args []any) {
	ids = Padded(ids)
	names := make([]string, len(ids))
	args = []any{t.id}
	for n, id := range ids {
		args = append(args, id)
		names[n] = parameter(len(args))
	}
	return strings.Join(names, ", "), args
}

// Padded repeats the last of at least one identifier until there is a power of two of them, so that few statements differ in the
// length of a list alone.
func Padded(ids []ID) []ID {
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
