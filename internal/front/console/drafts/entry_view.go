package drafts

import (
	"slices"
	"strings"
)

// formEntries are the entries of the lists of a section of an invoice, or of those of a line, in the form.
type formEntries struct {
	// Line is the index of the line, or "" for the invoice.
	Line string
	// Lists are those that a button adds an entry to.
	Lists   []*entryList
	Entries []formEntry
	// Notes is the feedback on the lists themselves.
	Notes []fieldNotes
}

// formEntry is an entry in the form.
type formEntry struct {
	// Line is the index of its line, or "", and Kind is that of its list.
	Line, Kind string
	// Path is its JSON path, and Name the end of it: its list and its position there.
	Path, Name string
	Fields     []*FormField
	// Drop is the value of the button that takes it away, which has the focus if Focus is true.
	Drop  string
	Focus bool
}

// entries returns the entries of the line with an index, or those of the invoice for "", by section in the order of the
// form.
func (checked *CheckedForm) entries(line string, showMissing bool) (out []formEntries) {
	typed, lists, prefix := checked.Form.entriesAt(line)
	values, _, _ := checked.Values.entriesAt(line)
	at := map[string]int{}
	for _, list := range lists {
		n, known := at[list.Group]
		if !known {
			n = len(out)
			at[list.Group], out = n, append(out, formEntries{Line: line})
		}
		out[n].Lists = append(out[n].Lists, list)
	}
	paths := entryPaths(prefix, *typed)
	for n, e := range *typed {
		fields := checked.Fields(e.List.Fields, paths[n]+".", entryPrefix, e.Fields, (*values)[n].Fields, showMissing)
		shown := formEntry{Line: line, Kind: e.List.Kind, Path: paths[n], Name: strings.TrimPrefix(paths[n], prefix),
			Drop: doDrop + ":" + paths[n]}
		for _, spec := range e.List.Fields {
			shown.Fields = append(shown.Fields, fields[spec.Name])
		}
		of := &out[at[e.List.Group]]
		of.Entries = append(of.Entries, shown)
	}
	for n := range out {
		of := &out[n]
		for _, list := range of.Lists {
			if path := prefix + list.Name; len(of.Entries) > 0 { // otherwise there is nothing to say
				of.Notes = append(of.Notes, newNotes(path, say(checked.Messages, "", checked.Faults[path])))
			}
		}
	}
	return out
}

// group is the section of the form that has the entries.
func (f formEntries) group() string { return f.Lists[0].Group }

// notes returns the feedback on the fields.
func (f formEntries) notes() []fieldNotes {
	out := slices.Clone(f.Notes)
	for _, entry := range f.Entries {
		for _, field := range entry.Fields {
			out = append(out, field.Notes)
		}
	}
	return out
}

// focus sets the focus.
func (f formEntries) focus(at focus) {
	for n := range f.Entries {
		entry := &f.Entries[n]
		entry.Focus = entry.Drop == at.Do
		for _, field := range entry.Fields {
			field.Focus = field.Focus || at.Do == "" && field.Notes.Path == at.Path
		}
	}
}

// hasFocus reports whether a control gets the focus.
func (f formEntries) hasFocus() bool {
	return slices.ContainsFunc(f.Entries, func(entry formEntry) bool {
		return entry.Focus || slices.ContainsFunc(entry.Fields, func(field *FormField) bool { return field.Focus })
	})
}
