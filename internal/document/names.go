package document

import (
	"strings"

	"quittance/internal/document/invoice"
)

// pairing is the texts that a type of a draft and a type of a statement have by one name. A new field of a draft, an
// item or the company profile is in the statement by its name.
type pairing[A, B any] []struct {
	from invoice.Field[A]
	to   invoice.Field[B]
}

// pairs returns the texts of A whose names are those of B, after a prefix and a suffix were taken off. The field of a
// group has the names of both: buyer_contact_name is that of the name in the group buyer_contact.
func pairs[A, B any](prefix, suffix string) pairing[A, B] {
	known := map[string]invoice.Field[B]{}
	for _, field := range invoice.FieldsOf[B]() {
		if !field.Number {
			known[invoice.FlatName(field.Name)] = field
		}
	}
	out := pairing[A, B]{}
	for _, from := range invoice.FieldsOf[A]() {
		name, prefixed := strings.CutPrefix(invoice.FlatName(from.Name), prefix)
		name, suffixed := strings.CutSuffix(name, suffix)
		if to, ok := known[name]; ok && prefixed && suffixed && !from.Number {
			out = append(out, struct {
				from invoice.Field[A]
				to   invoice.Field[B]
			}{from, to})
		}
	}
	return out
}

// list returns the entries of a list as a statement has them, without those that say nothing.
func (p pairing[A, B]) list(entries []A) []B {
	out := []B{}
	for n := range entries {
		var entry B
		if p.give(&entries[n], &entry) {
			out = append(out, entry)
		}
	}
	return out
}

// give gives the texts of a to b, without the white space around them, and reports whether there are any.
func (p pairing[A, B]) give(a *A, b *B) (given bool) {
	for _, pair := range p {
		if from, ok := pair.from.Pointer(a).(**string); ok {
			if value := trimmed(*from); value != nil {
				pair.to.Set(b, value)
				given = true
			}
		}
	}
	return given
}
