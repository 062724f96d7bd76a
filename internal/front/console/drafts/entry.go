package drafts

import (
	"errors"
	"maps"
	"net/url"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/platform/strictjson"
)

// An invoice and each of its lines have lists, such as those of allowances and of charges. A form has one list for all
// entries of all of them, because fields are told apart by their position among those of the same name: the hidden
// fields entries.line and entries.kind say where each belongs, and so which fields follow.

// entryPrefix is the prefix of the names of the fields of an entry.
const entryPrefix = "entries."

// entryList is a list in the JSON of an invoice or of a line.
type entryList struct {
	// Name is the JSON name of the list, and Kind what the form sends for it.
	Name, Kind string
	// Group is the section of the form that has the list of an invoice.
	Group  string
	Fields []FieldSpec
	// Max is the largest number of entries.
	Max int
	// texts returns the texts of the entries of an invoice, or of its line with an index.
	texts func(d *api.Draft, line int) []map[string]string
}

// The lists of an invoice and those of a line, in the order of the form.
//
//nolint:gochecknoglobals // constant tables
var (
	draftLists = []*entryList{
		listOf[api.Draft]("preceding_invoices", "references",
			func(d *api.Draft, _ int) []api.PrecedingInvoice { return d.PrecedingInvoices }),
		listOf[api.Draft]("allowances", "charges", func(d *api.Draft, _ int) []api.Allowance { return d.Allowances }),
		listOf[api.Draft]("charges", "charges", func(d *api.Draft, _ int) []api.Allowance { return d.Charges }),
	}
	lineLists = []*entryList{
		listOf[api.Item]("allowances", "", func(d *api.Draft, n int) []api.LineAllowance { return d.Items[n].Allowances }),
		listOf[api.Item]("charges", "", func(d *api.Draft, n int) []api.LineAllowance { return d.Items[n].Charges }),
		listOf[api.Item]("attributes", "", func(d *api.Draft, n int) []api.Attribute { return d.Items[n].Attributes }),
	}
)

// listOf returns a list of an Owner, which has its tags, with its entries.
func listOf[Owner, T any](name, group string, entries func(d *api.Draft, line int) []T) *entryList {
	fields := invoice.FieldsOf[T]()
	specs := specsOf(fields, name+"[0].", []string{"amount", "percent", "base_amount"})
	for n := range specs {
		specs[n].placed = false // so that nothing says "optional": an amount or a percentage is enough
		if name == "charges" && specs[n].codes == "allowance-reasons" {
			specs[n].codes = "charge-reasons" // the tags name those of allowances
		}
	}
	return &entryList{Name: name, Kind: strings.TrimSuffix(name, "s"), Group: group, Fields: specs,
		Max: largest[Owner](name), texts: func(d *api.Draft, line int) (out []map[string]string) {
			all := entries(d, line)
			for n := range all {
				out = append(out, invoice.Texts(fields, &all[n]))
			}
			return out
		}}
}

// largest is the largest number of entries that the API takes in a list of an Owner.
func largest[Owner any](name string) int {
	for field := range reflect.TypeFor[Owner]().Fields() {
		if field.Tag.Get("json") == name {
			if most, err := strconv.Atoi(field.Tag.Get("maxItems")); err == nil {
				return most
			}
		}
	}
	panic("drafts: no list " + name)
}

// listNamed returns the list with a JSON name, or nil.
func listNamed(lists []*entryList, name string) *entryList {
	if n := slices.IndexFunc(lists, func(list *entryList) bool { return list.Name == name }); n >= 0 {
		return lists[n]
	}
	return nil
}

// entry is the input for an entry of a list.
type entry struct {
	List *entryList
	// Fields holds texts by JSON name.
	Fields map[string]string
}

// equal reports whether two entries have the same input.
func (e entry) equal(other entry) bool {
	return e.List == other.List && maps.Equal(e.Fields, other.Fields)
}

// entriesAt returns the entries of the line with an index, or those of the invoice for "", with the lists that they
// belong to and the prefix of their paths. It returns no entries if the form has no such line.
func (f *Form) entriesAt(line string) (of *[]entry, lists []*entryList, prefix string) {
	if line == "" {
		return &f.Entries, draftLists, ""
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 0 || n >= len(f.Items) {
		return nil, lineLists, ""
	}
	return &f.Items[n].Entries, lineLists, linePrefix(n)
}

// readEntries reads the entries of a form, unless they are too many.
func (f *Form) readEntries(input url.Values) {
	lines, kinds := input[entryPrefix+"line"], input[entryPrefix+"kind"]
	if f.tooMany = len(lines) > console.MaxEntries; f.tooMany {
		return
	}
	read := map[string]int{} // how many fields of a name belong to the entries before
	for n, line := range lines[:min(len(lines), len(kinds))] {
		of, lists, _ := f.entriesAt(line)
		list := listNamed(lists, kinds[n]+"s")
		if list == nil {
			continue
		}
		e := entry{List: list, Fields: map[string]string{}}
		for _, spec := range list.Fields {
			name := entryPrefix + spec.Name
			if at := read[name]; at < len(input[name]) {
				e.Fields[spec.Name] = spec.Normalized(input[name][at])
			}
			read[name]++
		}
		if of != nil {
			*of = append(*of, e)
		}
	}
}

// countEntries returns the number of entries of the whole form.
func (f *Form) countEntries() int {
	count := len(f.Entries)
	for n := range f.Items {
		count += len(f.Items[n].Entries)
	}
	return count
}

// listed returns the entries of some lists of an invoice, or of its line with an index.
func listed(lists []*entryList, d *api.Draft, line int) (out []entry) {
	for _, list := range lists {
		for _, texts := range list.texts(d, line) {
			out = append(out, entry{List: list, Fields: texts})
		}
	}
	return out
}

// addEntries adds the lists that are not empty to the JSON of what they belong to.
func addEntries(out *strictjson.Object, lists []*entryList, all []entry) {
	for _, list := range lists {
		var entries []strictjson.Object
		for _, e := range all {
			if e.List == list {
				entries = append(entries, strictjson.Object{})
				AppendFields(&entries[len(entries)-1], list.Fields, e.Fields)
			}
		}
		if len(entries) > 0 {
			out.Add(list.Name, strictjson.Array(entries))
		}
	}
}

// entryPaths returns the JSON path of each entry.
func entryPaths(prefix string, all []entry) []string {
	counts, paths := map[*entryList]int{}, make([]string, len(all))
	for n, e := range all {
		paths[n] = prefix + e.List.Name + "[" + strconv.Itoa(counts[e.List]) + "]"
		counts[e.List]++
	}
	return paths
}

// readEntryInput returns entries with texts as the API takes them; see [ReadFields].
func readEntryInput(w *console.Words, prefix string, all []entry, currency string,
	faults api.Faults) (out []entry, err error) {
	paths := entryPaths(prefix, all)
	for n, e := range all {
		fields, failed := ReadFields(w, e.List.Fields, paths[n]+".", e.Fields, currency, faults)
		out, err = append(out, entry{List: e.List, Fields: fields}), errors.Join(err, failed)
	}
	return out, err
}

// showEntries returns entries with texts as people read them.
func showEntries(w *console.Words, all []entry) (out []entry) {
	for _, e := range all {
		out = append(out, entry{List: e.List, Fields: ShowFields(w, e.List.Fields, e.Fields)})
	}
	return out
}

// doDrop is the action of the button that takes away the entry whose path follows the colon. The action of one that
// adds an entry is the kind of its list, followed by the number of the line, or by none for the invoice.
const doDrop = "drop"

// applyEntry executes the action of a button for entries. known is false for any other button.
func (f *Form) applyEntry(do, at string) (_ focus, known bool) {
	if do == doDrop {
		return f.drop(at), true
	}
	if listNamed(draftLists, do+"s") == nil && listNamed(lineLists, do+"s") == nil {
		return focus{}, false
	}
	of, lists, prefix := f.entriesAt(at)
	list := listNamed(lists, do+"s")
	if of == nil || list == nil {
		return focus{}, true
	}
	count := 0
	for _, e := range *of {
		if e.List == list {
			count++
		}
	}
	if count < list.Max && f.countEntries() < console.MaxEntries {
		added := map[string]string{}
		if SpecNamed(list.Fields, "vat_category").Name != "" {
			added = f.nextTax()
		}
		*of, count = append(*of, entry{List: list, Fields: added}), count+1
	}
	return focus{Path: prefix + list.Name + "[" + strconv.Itoa(count-1) + "]." + list.Fields[0].Name}, true
}

// drop takes the entry at a path away. The focus goes to the button of the next one in its section, so that it can be
// pressed again, or to that of the one before, or to the first field of the section or the line.
func (f *Form) drop(path string) focus {
	above := ""
	if within, nested := strings.CutPrefix(path, "items["); nested {
		above, _, _ = strings.Cut(within, "]")
	}
	of, _, prefix := f.entriesAt(above)
	if of == nil {
		return focus{}
	}
	n := slices.Index(entryPaths(prefix, *of), path)
	if n < 0 {
		return focus{}
	}
	group, next := (*of)[n].List.Group, -1
	*of = slices.Delete(*of, n, n+1)
	for at, e := range *of {
		if e.List.Group == group && next < n {
			next = at
		}
	}
	switch {
	case next >= 0:
		return focus{Do: doDrop + ":" + entryPaths(prefix, *of)[next]}
	case above != "":
		return focus{Path: prefix + "name"}
	}
	first := slices.IndexFunc(Fields, func(spec FieldSpec) bool { return spec.group == group })
	return focus{Path: Fields[first].Name}
}

// differentEntries returns the paths at which the entries of some lists differ, in the order of the form.
func differentEntries(prefix string, lists []*entryList, mine, theirs []entry) (paths []string) {
	for _, list := range lists {
		others := func(e entry) bool { return e.List != list }
		mine, theirs := slices.DeleteFunc(slices.Clone(mine), others), slices.DeleteFunc(slices.Clone(theirs), others)
		if len(mine) != len(theirs) {
			paths = append(paths, prefix+list.Name)
			continue
		}
		at := entryPaths(prefix, mine)
		for n := range mine {
			for _, spec := range list.Fields {
				if mine[n].Fields[spec.Name] != theirs[n].Fields[spec.Name] {
					paths = append(paths, at[n]+"."+spec.Name)
				}
			}
		}
	}
	return paths
}
