package console

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/internal/invoice"
	"quittance/sdk/go/api"
)

// draftPage is the view model of a draft's form.
type draftPage struct {
	// Action is the target of the form, and Back the page to which Cancel leads.
	Action, Back string
	// Saved is the number of the stored invoice, or "" for a new one. Version is the version that was read.
	Saved   string
	Version int64
	// Rejected reports that the provider rejected the invoice.
	Rejected bool
	// CopyOf is the number of the invoice that this one was copied from, or "".
	CopyOf string
	// Stale reports that somebody else has changed the invoice in the meantime. Differs lists the fields in which the
	// stored invoice differs from the input.
	Stale   bool
	Differs []string
	// ShowMissing reports that fields show what a submission still needs.
	ShowMissing bool
	// More opens the less common fields of the invoice.
	More       bool
	Fields     map[string]*formField
	Lines      []formLine
	ItemsNotes fieldNotes
	Sums       draftSums
	// Faults lists the paths of the fields with faults, in the order of the form.
	Faults []string
	// AtMaxLines reports that no line can be added.
	AtMaxLines bool
	// Swapped reports that this form replaces another one in the page. Feedback about the old form may still arrive.
	Swapped bool
	// FocusAdd sets the focus on the button that adds a line.
	FocusAdd bool
}

// formField is one field of a form.
type formField struct {
	Notes fieldNotes
	// Name is the name of the control, and Key that of its label below "field.".
	Name, Key, Value string
	// Type is the type of the input element: text, date or time.
	Type string
	// Multiline reports that the control is a textarea, and AutoDirection that its text may run in either direction.
	Multiline, AutoDirection bool
	Decimal                  bool
	// List is the name of the code list. Search reports that the list is searched while the user types.
	List               string
	Search             bool
	Required, Optional bool
	Focus              bool
}

// fieldNotes is the feedback on a field.
type fieldNotes struct {
	// Path is the JSON path of the field, ControlID the element identifier of its control, and ID that of the notes.
	Path, ControlID, ID string

	Faults []api.Fault
	Advice []api.Fault
	// Missing reports that a submission needs the field.
	Missing bool
	// Comma reports that a number contains a comma, which is not a decimal point here.
	Comma bool
	// Meaning is the name of the code in the field.
	Meaning string
	// OutOfBand reports that the notes are sent on their own and replace those in the page.
	OutOfBand bool
	// Short reports that there is little space for text.
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
	// Net is the amount of the line, or "" when it cannot be calculated.
	Net string
	// Open opens the less common fields of the line.
	Open        bool
	First, Last bool
	// Action is the target of the form, and Focus the button that gets the focus.
	Action, Focus string
	OutOfBand     bool
}

// NoteID returns the element identifier of the line's amount.
func (l formLine) NoteID() string { return "net-" + strconv.Itoa(l.Number-1) }

// Index returns the position of the line, from 0.
func (l formLine) Index() int { return l.Number - 1 }

// draftSums is the feedback on the whole form.
type draftSums struct {
	Totals   invoice.Totals
	Currency string
	// IncompleteLine is the first line that prevents calculating the totals, from 1, or 0.
	IncompleteLine int
	// Missing and Advice concern the submission.
	Missing []string
	Advice  []advice
	// ProfileAdvice is the number of recommendations about the company's profile, which has its own page.
	ProfileAdvice int
	// Announcement is a text for screen readers. AnnouncementDigest identifies it, and Announce reports that it has
	// changed.
	Announcement       string
	AnnouncementDigest string
	Announce           bool
}

// maxListedMissing is the number of missing fields up to which they are listed without a click.
const maxListedMissing = 8

// Few reports that the list of missing fields is short.
func (s draftSums) Few() bool { return len(s.Missing) <= maxListedMissing }

// checkedForm is a validated form.
type checkedForm struct {
	form      draftForm
	draft     api.Draft
	faults    api.Faults
	missing   []string
	isMissing map[string]bool
	advice    api.Faults
}

// check validates a form like the API.
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

// dropMissing removes the faults of empty fields, which are not faults while the user types.
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

// notes returns the feedback on a field. showMissing includes whether a submission needs it.
func (checked *checkedForm) notes(path string, showMissing bool) fieldNotes {
	n := newNotes(path, checked.faults[path])
	n.Advice = checked.advice[path]
	n.Missing = showMissing && len(n.Faults) == 0 && checked.isMissing[path]
	return n
}

// field returns a field of the form.
func (checked *checkedForm) field(spec fieldSpec, path, name, value string, showMissing bool) *formField {
	f := &formField{Notes: checked.notes(path, showMissing), Name: name, Key: spec.name, Value: value, Type: "text", List: spec.codes, Search: spec.codes == unitCodes,
		Decimal: spec.kind == numberField, Required: spec.required, Optional: spec.optional}
	f.Notes.Comma = f.Decimal && len(f.Notes.Faults) > 0 && strings.Contains(value, ",")
	if spec.codes != "" && value != "" {
		f.Notes.Meaning = codeLists[spec.codes].name(value)
	}
	// The browser's own control does not show an invalid date, so the input would be lost.
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

// fields returns the fields of a table.
func (checked *checkedForm) fields(specs []fieldSpec, prefix, names string, input map[string]string, showMissing bool) map[string]*formField {
	out := make(map[string]*formField, len(specs))
	for _, spec := range specs {
		out[spec.name] = checked.field(spec, prefix+spec.name, names+spec.name, input[spec.name], showMissing)
	}
	return out
}

// lines returns the lines of the form.
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

// mainDraftFields is the number of draftFields that are always visible, besides the last one.
const mainDraftFields = 13

// mainItemFields is the number of itemFields that are always visible.
const mainItemFields = 6

// lineNet returns the amount of a line: that of a draft with this line alone.
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

// sums calculates the totals and the feedback on the whole form.
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
	s.Announce = s.Announcement != "" && s.AnnouncementDigest != req.form.Get("announced")
	return s, err
}

// buildDraftPage returns the view model of a validated form.
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

// faultPaths returns the paths with faults, in the order of the form.
func (checked *checkedForm) faultPaths() []string {
	var out []string
	add := func(path string) {
		if checked.faults.Has(path) {
			out = append(out, path)
		}
	}
	last := len(draftFields) - 1 // the total, which is below the lines
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

// focus sets the focus.
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
