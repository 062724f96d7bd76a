package drafts

import (
	"slices"
	"strings"
)

// allowanceGroup is the section of the form that has the allowances and charges of the invoice.
const allowanceGroup = "charges"

// formAllowances are the allowances and charges of an invoice or of a line in the form.
type formAllowances struct {
	// Line is the index of the line, or "" for the invoice.
	Line    string
	Entries []formAllowance
	// Notes is the feedback on the lists themselves.
	Notes []fieldNotes
}

// formAllowance is an allowance or a charge in the form.
type formAllowance struct {
	// Line is the index of its line, or "", and Kind is allowance or charge.
	Line, Kind string
	// Path is its JSON path, and Name the end of it: its list and its position there.
	Path, Name string
	Fields     []*FormField
	// Drop is the value of the button that takes it away, which has the focus if Focus is true.
	Drop  string
	Focus bool
}

// allowances returns the allowances and charges of the line with an index, or those of the invoice for "".
func (checked *CheckedForm) allowances(line string, showMissing bool) formAllowances {
	typed, lists, prefix := checked.Form.allowancesAt(line)
	values, _, _ := checked.Values.allowancesAt(line)
	out := formAllowances{Line: line}
	paths := allowancePaths(prefix, *typed)
	for n, a := range *typed {
		fields := checked.Fields(a.List.Fields, paths[n]+".", allowancePrefix, a.Fields, (*values)[n].Fields, showMissing)
		entry := formAllowance{Line: line, Kind: a.List.Kind, Path: paths[n], Name: strings.TrimPrefix(paths[n], prefix),
			Drop: dropButton(line, n)}
		for _, spec := range a.List.Fields {
			entry.Fields = append(entry.Fields, fields[spec.Name])
		}
		out.Entries = append(out.Entries, entry)
	}
	if len(out.Entries) > 0 { // otherwise there is nothing to say
		for _, list := range lists {
			path := prefix + list.Name
			out.Notes = append(out.Notes, newNotes(path, say(checked.Messages, "", checked.Faults[path])))
		}
	}
	return out
}

// shown reports whether there is something to see.
func (f formAllowances) shown() bool { return len(f.Entries) > 0 }

// notes returns the feedback on the fields.
func (f formAllowances) notes() []fieldNotes {
	out := slices.Clone(f.Notes)
	for _, entry := range f.Entries {
		for _, field := range entry.Fields {
			out = append(out, field.Notes)
		}
	}
	return out
}

// focus sets the focus.
func (f formAllowances) focus(at focus) {
	for n := range f.Entries {
		entry := &f.Entries[n]
		entry.Focus = entry.Drop == at.Do
		for _, field := range entry.Fields {
			field.Focus = field.Focus || at.Do == "" && field.Notes.Path == at.Path
		}
	}
}

// hasFocus reports whether a control gets the focus.
func (f formAllowances) hasFocus() bool {
	return slices.ContainsFunc(f.Entries, func(entry formAllowance) bool {
		return entry.Focus || slices.ContainsFunc(entry.Fields, func(field *FormField) bool { return field.Focus })
	})
}
