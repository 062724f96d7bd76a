package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/api"
	"quittance/internal/invoice"
)

// draftPage is what the form of a draft shows.
type draftPage struct {
	// Action is where the form goes, Back where somebody goes who saves nothing.
	Action, Back string
	// Saved names the invoice that is changed, "" for a new one; Version is the one that was read.
	Saved   string
	Version int64
	// Rejected tells that the provider has rejected what is changed.
	Rejected bool
	// Of is the number of the invoice that this one was copied from.
	CopyOf string
	// Stale tells that somebody else has changed it meanwhile, and Differs the fields in which what is stored is not what
	// was typed.
	Stale   bool
	Differs []string
	// Told tells that the fields say what they still need.
	ShowMissing bool
	// More tells that the fields of an invoice which few need are shown.
	More       bool
	Fields     map[string]*formField
	Lines      []formLine
	ItemsNotes fieldNotes
	Sums       draftSums
	// Faults are the paths of the fields at fault, in the order of the form.
	Faults []string
	// Full tells that there is no room for another line.
	AtMaxLines bool
	// Acted tells that this form takes the place of another one in the page, about which an answer may still come.
	Swapped bool
	// FocusAdd tells that the button which adds a line is to be used next.
	FocusAdd bool
}

// formField is one field of a form.
type formField struct {
	Notes fieldNotes
	// Name is the control's, Key the message of its label below "field.".
	Name, Key, Value string
	// Type is that of the input element: text, date or time.
	Type string
	// Multiline tells that the control is a textarea, and AutoDirection that its text may run in either direction.
	Multiline, AutoDirection bool
	Decimal                  bool
	// List names the code list; Search tells that it is asked for what is typed.
	List               string
	Search             bool
	Required, Optional bool
	Focus              bool
}

// fieldNotes is what is said at a field.
type fieldNotes struct {
	// Path is the JSON path of the field, ControlID the identifier of its control, and ID that of the notes.
	Path, ControlID, ID string

	Faults []api.Fault
	Advice []api.Fault
	// Missing tells that submission needs it.
	Missing bool
	// Comma tells that a number was typed with a comma, which is no decimal point here.
	Comma bool
	// Meaning is the name of the code that was typed.
	Meaning string
	// Apart tells that the notes are sent by themselves, to stand in place of the ones in the page.
	OutOfBand bool
	// Short tells that there is little room for text.
	Short bool
}

// newNotes returns the notes of the field at a path.
func newNotes(path string, faults []api.Fault) fieldNotes {
	id := fieldID(path)
	return fieldNotes{Path: path, ControlID: id, ID: "n" + strings.TrimPrefix(id, "f"), Faults: faults, Short: strings.HasPrefix(path, "items[")}
}

// formLine is one line of the form.
type formLine struct {
	Number int
	Fields map[string]*formField
	// Net is the line's amount, "" when it cannot be computed.
	Net string
	// Open tells that the fields which few need are shown.
	Open        bool
	First, Last bool
	// Action is where the form goes, Focus the button that is to be used next.
	Action, Focus string
	OutOfBand     bool
}

// NoteID is the identifier of the line's amount.
func (l formLine) NoteID() string { return "net-" + strconv.Itoa(l.Number-1) }

// Index is the place of the line from 0.
func (l formLine) Index() int { return l.Number - 1 }

// draftSums is what the server says of a draft as it stands in the form.
type draftSums struct {
	Totals   invoice.Totals
	Currency string
	// Gap is the first line that keeps the totals from being computed, from 1; 0 when it is not a line.
	IncompleteLine int
	// Missing and Advice are for submission.
	Missing []string
	Advice  []advice
	// Gaps is how much advice there is about the company's profile, which stands on another page.
	ProfileAdvice int
	Announcement  string
	// Heard is the mark of what a screen reader was told, Fresh that it is something else now.
	AnnouncementDigest string
	Announce           bool
}

// fewMissing is how many missing fields are listed without being asked for.
const maxListedMissing = 8

// Few tells that what is missing is a short list.
func (s draftSums) Few() bool { return len(s.Missing) <= maxListedMissing }

// judged is a form with what is to be said of it.
type checkedForm struct {
	form      draftForm
	draft     api.Draft
	faults    api.Faults
	missing   []string
	isMissing map[string]bool // missing
	advice    api.Faults
}

// judge checks a form as the API checks a draft.
func (req *request) check(form draftForm) (checkedForm, error) {
	draft, faults, err := form.draft()
	if err != nil {
		return checkedForm{}, err
	}
	checked := checkedForm{form: form, draft: draft, faults: faults, missing: invoice.Missing(&draft), isMissing: map[string]bool{}, advice: invoice.Warnings(&draft, req.profile())}
	for _, path := range checked.missing {
		checked.isMissing[path] = true
	}
	return checked, nil
}

// typed leaves the faults of what was typed: while somebody types, what is not there yet is no fault.
func (checked *checkedForm) dropMissing() {
	kept := api.Faults{}
	for path, faults := range checked.faults {
		for _, fault := range faults {
			if fault.Rule != "required" && fault.Rule != "min_items" {
				kept.Add(path, fault.Rule, fault.Message)
			}
		}
	}
	checked.faults = kept
}

// notes are what is to be said at a field; told tells whether what is missing is said, too.
func (checked *checkedForm) notes(path string, showMissing bool) fieldNotes {
	n := newNotes(path, checked.faults[path])
	n.Advice = checked.advice[path]
	n.Missing = showMissing && len(n.Faults) == 0 && checked.isMissing[path]
	return n
}

// field makes a field of the form.
func (checked *checkedForm) field(spec fieldSpec, path, name, value string, showMissing bool) *formField {
	f := &formField{Notes: checked.notes(path, showMissing), Name: name, Key: spec.name, Value: value, Type: "text", List: spec.codes, Search: spec.codes == unitCodes,
		Decimal: spec.kind == numberField, Required: spec.required, Optional: spec.optional}
	f.Notes.Comma = f.Decimal && len(f.Notes.Faults) > 0 && strings.Contains(value, ",")
	if spec.codes != "" && value != "" {
		f.Notes.Meaning = codeLists[spec.codes].name(value)
	}
	// The browser's own control shows nothing of what is no date, so that what was typed would be lost.
	switch {
	case spec.kind == multilineField:
		f.Multiline = true
	case spec.kind == dateField && len(f.Notes.Faults) == 0:
		f.Type = "date"
	case spec.kind == timeField && len(f.Notes.Faults) == 0:
		f.Type = "time"
	case !f.Decimal:
		f.AutoDirection = true
	}
	return f
}

// fields makes the fields of a table.
func (checked *checkedForm) fields(specs []fieldSpec, prefix, names string, typed map[string]string, showMissing bool) map[string]*formField {
	out := make(map[string]*formField, len(specs))
	for _, spec := range specs {
		out[spec.name] = checked.field(spec, prefix+spec.name, names+spec.name, typed[spec.name], showMissing)
	}
	return out
}

// lines makes the lines of the form.
func (checked *checkedForm) lines(showMissing bool) []formLine {
	out := make([]formLine, len(checked.form.Items))
	for n, item := range checked.form.Items {
		l := formLine{Number: n + 1, First: n == 0, Last: n == len(checked.form.Items)-1, Net: checked.lineNet(n)}
		l.Fields = checked.fields(itemFields, "items["+strconv.Itoa(n)+"].", itemPrefix, item, showMissing)
		for _, spec := range itemFields[mainItemFields:] {
			f := l.Fields[spec.name]
			l.Open = l.Open || f.Value != "" || len(f.Notes.Faults)+len(f.Notes.Advice) > 0
		}
		out[n] = l
	}
	return out
}

// mainDraftFields is how many of draftFields, the last one aside, every form shows.
const mainDraftFields = 13

// mainItemFields is how many of itemFields every line shows.
const mainItemFields = 6

// net is the amount of a line by the rules of the whole: that of a draft with this line alone.
func (checked *checkedForm) lineNet(line int) string {
	if line >= len(checked.draft.Items) {
		return ""
	}
	alone := api.Draft{Currency: checked.draft.Currency, Items: checked.draft.Items[line : line+1]}
	if net := invoice.Compute(&alone).Net; net != nil {
		return grouped(net.String())
	}
	return ""
}

// sums adds the form up.
func (req *request) sums(checked *checkedForm) (draftSums, error) {
	s := draftSums{Totals: invoice.Compute(&checked.draft), Currency: deref(checked.draft.Currency), Missing: checked.missing}
	for _, path := range slices.Sorted(maps.Keys(checked.advice)) {
		if strings.HasPrefix(path, sellerPath) {
			s.ProfileAdvice++
			continue
		}
		s.Advice = append(s.Advice, advice{Path: path, Faults: checked.advice[path]})
	}
	if s.Totals.Total == nil && s.Currency != "" && !checked.faults.Has("currency") {
		for n := range checked.draft.Items {
			alone := api.Draft{Currency: checked.draft.Currency, Items: checked.draft.Items[n : n+1]}
			if invoice.Compute(&alone).Total == nil {
				s.IncompleteLine = n + 1
				break
			}
		}
	}
	var err error
	if s.Totals.Total != nil {
		s.Announcement, err = req.pages.messages.text("draft.announcement", grouped(s.Totals.Total.String()), s.Currency)
	}
	s.AnnouncementDigest = digest([]byte(s.Announcement))
	s.Announce = s.Announcement != "" && s.AnnouncementDigest != req.form.Get("heard")
	return s, err
}

// show makes the page of a judged form.
func (req *request) buildDraftPage(checked *checkedForm, p draftPage, at focus) (draftPage, error) {
	p.Fields = checked.fields(draftFields, "", "", checked.form.Fields, p.ShowMissing)
	for _, spec := range draftFields[mainDraftFields : len(draftFields)-1] {
		f := p.Fields[spec.name]
		p.More = p.More || f.Value != "" || len(f.Notes.Faults)+len(f.Notes.Advice) > 0
	}
	p.Lines = checked.lines(p.ShowMissing)
	for n := range p.Lines {
		p.Lines[n].Action = p.Action
	}
	p.ItemsNotes = newNotes("items", checked.faults["items"])
	p.AtMaxLines = len(checked.form.Items) >= maxItems
	p.Faults = checked.faultPaths()
	var err error
	if p.Sums, err = req.sums(checked); err != nil {
		return p, err
	}
	p.focus(at)
	return p, nil
}

// order is the paths at fault in the order of the form.
func (checked *checkedForm) faultPaths() []string {
	var out []string
	add := func(path string) {
		if checked.faults.Has(path) {
			out = append(out, path)
		}
	}
	last := len(draftFields) - 1 // the total, which stands below the lines
	for _, spec := range draftFields[:last] {
		add(spec.name)
	}
	add("items")
	for n := range checked.form.Items {
		for _, spec := range itemFields {
			add("items[" + strconv.Itoa(n) + "]." + spec.name)
		}
	}
	add(draftFields[last].name)
	return out
}

// focus marks what is to be used next.
func (p *draftPage) focus(at focus) {
	if at.Do != "" {
		if p.FocusAdd = at.Line < 0 || at.Line >= len(p.Lines); !p.FocusAdd {
			p.Lines[at.Line].Focus = at.Do
		}
		return
	}
	set := func(fields map[string]*formField) {
		for _, field := range fields {
			field.Focus = field.Focus || field.Notes.Path == at.Path
		}
	}
	set(p.Fields)
	for n := range p.Lines {
		set(p.Lines[n].Fields)
	}
}
