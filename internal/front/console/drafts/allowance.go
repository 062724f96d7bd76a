package drafts

import (
	"errors"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/platform/strictjson"
)

// An invoice and each of its lines have a list of allowances and one of charges. A form has one list for all of them,
// because fields are told apart by their position among those of the same name: the hidden fields allowances.line and
// allowances.kind say where each belongs. Those of the invoice come first, and only they have fields of the tax.

// allowancePrefix is the prefix of the names of the fields of an allowance or a charge.
const allowancePrefix = "allowances."

// allowanceList is a list of allowances or of charges in the JSON of an invoice or of a line.
type allowanceList struct {
	// Name is the JSON name of the list, and Kind what the form sends for it.
	Name, Kind string
	Fields     []FieldSpec
	// Max is the largest number of entries (api.Draft, api.Item).
	Max int
}

// The lists of an invoice and those of a line.
//
//nolint:gochecknoglobals // constant tables
var (
	draftLists = allowanceLists[api.Allowance]("", 100)
	lineLists  = allowanceLists[api.LineAllowance]("items[0].", 20)
)

// allowanceLists returns the lists with entries of a type. prefix is that of their paths.
func allowanceLists[T any](prefix string, most int) []*allowanceList {
	specs := specsOf(invoice.FieldsOf[T](), prefix+"allowances[0].", []string{"amount", "percent", "base_amount"})
	for n := range specs {
		specs[n].placed = false // so that nothing says "optional": an amount or a percentage is enough
	}
	charges := slices.Clone(specs)
	for n := range charges {
		if charges[n].codes == "allowance-reasons" { // which the tags of both lists name
			charges[n].codes = "charge-reasons"
		}
	}
	return []*allowanceList{{"allowances", doAllowance, specs, most}, {"charges", doCharge, charges, most}}
}

// allowance is the input for an allowance or a charge.
type allowance struct {
	List *allowanceList
	// Fields holds texts by JSON name.
	Fields map[string]string
}

// equal reports whether two allowances or charges have the same input.
func (a allowance) equal(other allowance) bool {
	return a.List == other.List && maps.Equal(a.Fields, other.Fields)
}

// allowancesAt returns the allowances and charges of the line with an index, or those of the invoice for "", with the
// lists that they belong to and the prefix of their paths. It returns nil if the form has no such line.
func (f *Form) allowancesAt(line string) (of *[]allowance, lists []*allowanceList, prefix string) {
	if line == "" {
		return &f.Allowances, draftLists, ""
	}
	n, err := strconv.Atoi(line)
	if err != nil || n < 0 || n >= len(f.Items) {
		return nil, nil, ""
	}
	return &f.Items[n].Allowances, lineLists, linePrefix(n)
}

// readAllowances reads the allowances and charges of a form, unless they are too many.
func (f *Form) readAllowances(input url.Values) {
	lines := input[allowancePrefix+"line"]
	if f.tooMany = len(lines) > console.MaxAllowances; f.tooMany {
		return
	}
	for n, line := range lines {
		of, lists, _ := f.allowancesAt(line)
		if of == nil {
			continue
		}
		a := allowance{List: lists[0], Fields: map[string]string{}}
		if kinds := input[allowancePrefix+"kind"]; n < len(kinds) && kinds[n] == doCharge {
			a.List = lists[1]
		}
		for _, spec := range a.List.Fields {
			if values := input[allowancePrefix+spec.Name]; n < len(values) {
				a.Fields[spec.Name] = spec.Normalized(values[n])
			}
		}
		*of = append(*of, a)
	}
}

// countAllowances returns the number of allowances and charges of the whole form.
func (f *Form) countAllowances() int {
	count := len(f.Allowances)
	for n := range f.Items {
		count += len(f.Items[n].Allowances)
	}
	return count
}

// listed returns the form of a list of allowances or charges.
func listed[T any](out []allowance, list *allowanceList, entries []T) []allowance {
	fields := invoice.FieldsOf[T]()
	for n := range entries {
		out = append(out, allowance{List: list, Fields: invoice.Texts(fields, &entries[n])})
	}
	return out
}

// addAllowances adds the lists of allowances and charges that are not empty to the JSON of what they belong to.
func addAllowances(out *strictjson.Object, lists []*allowanceList, all []allowance) {
	for _, list := range lists {
		var entries []strictjson.Object
		for _, a := range all {
			if a.List == list {
				entries = append(entries, strictjson.Object{})
				AppendFields(&entries[len(entries)-1], list.Fields, a.Fields)
			}
		}
		if len(entries) > 0 {
			out.Add(list.Name, strictjson.Array(entries))
		}
	}
}

// allowancePaths returns the JSON path of each allowance and charge.
func allowancePaths(prefix string, all []allowance) []string {
	counts, paths := map[*allowanceList]int{}, make([]string, len(all))
	for n, a := range all {
		paths[n] = prefix + a.List.Name + "[" + strconv.Itoa(counts[a.List]) + "]"
		counts[a.List]++
	}
	return paths
}

// readAllowanceInput returns allowances and charges with texts as the API takes them; see [ReadFields].
func readAllowanceInput(w *console.Words, prefix string, all []allowance, currency string,
	faults api.Faults) (out []allowance, err error) {
	paths := allowancePaths(prefix, all)
	for n, a := range all {
		fields, failed := ReadFields(w, a.List.Fields, paths[n]+".", a.Fields, currency, faults)
		out, err = append(out, allowance{List: a.List, Fields: fields}), errors.Join(err, failed)
	}
	return out, err
}

// showAllowances returns allowances and charges with texts as people read them.
func showAllowances(w *console.Words, all []allowance) (out []allowance) {
	for _, a := range all {
		out = append(out, allowance{List: a.List, Fields: ShowFields(w, a.List.Fields, a.Fields)})
	}
	return out
}

// The actions of buttons for allowances and charges: two add one to the line whose number follows the colon, or to the
// invoice without a number, and one takes one away: 3.1 is the second of the fourth line.
const (
	doAllowance = "allowance"
	doCharge    = "charge"
	doDrop      = "drop"
)

// dropButton returns the value of the button that takes an allowance or a charge away.
func dropButton(line string, n int) string { return doDrop + ":" + line + "." + strconv.Itoa(n) }

// applyAllowance executes the action of a button for allowances and charges. known is false for any other button.
func (f *Form) applyAllowance(do, number string) (at focus, known bool) {
	if do != doAllowance && do != doCharge && do != doDrop {
		return focus{}, false
	}
	line, position, _ := strings.Cut(number, ".")
	of, lists, prefix := f.allowancesAt(line)
	switch {
	case of == nil:
		return focus{}, true
	case do == doDrop:
		return drop(of, line, position), true
	}
	list := lists[slices.IndexFunc(lists, func(list *allowanceList) bool { return list.Kind == do })]
	count := 0
	for _, a := range *of {
		if a.List == list {
			count++
		}
	}
	if count < list.Max && f.countAllowances() < console.MaxAllowances {
		added := map[string]string{}
		if line == "" {
			added = f.nextTax()
		}
		*of, count = append(*of, allowance{List: list, Fields: added}), count+1
	}
	return focus{Path: prefix + list.Name + "[" + strconv.Itoa(count-1) + "].amount"}, true
}

// drop takes an allowance or a charge away. The focus goes to the button of the one that is there now, so that it can
// be pressed again, or to the field above.
func drop(of *[]allowance, line, position string) focus {
	n, err := strconv.Atoi(position)
	if err != nil || n < 0 || n >= len(*of) {
		return focus{}
	}
	*of = slices.Delete(*of, n, n+1)
	switch {
	case len(*of) > 0:
		return focus{Do: dropButton(line, min(n, len(*of)-1))}
	case line == "":
		return focus{Path: "prepaid_amount"}
	}
	return focus{Path: "items[" + line + "].name"}
}

// differentAllowances returns the paths at which allowances and charges differ, in the order of the form.
func differentAllowances(prefix string, lists []*allowanceList, mine, theirs []allowance) (paths []string) {
	for _, list := range lists {
		others := func(a allowance) bool { return a.List != list }
		mine, theirs := slices.DeleteFunc(slices.Clone(mine), others), slices.DeleteFunc(slices.Clone(theirs), others)
		if len(mine) != len(theirs) {
			paths = append(paths, prefix+list.Name)
			continue
		}
		at := allowancePaths(prefix, mine)
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
