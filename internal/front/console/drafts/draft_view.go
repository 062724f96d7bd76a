package drafts

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
)

// draftPage is the view model of a draft's form.
type draftPage struct {
	// ID is the identifier of the stored invoice, or "". Action is the target of the form, and Back the page to which
	// Cancel leads.
	ID, Action, Back string
	// Key identifies the form of a new draft, and MaySubmit reports that the user may submit invoices.
	Key       string
	MaySubmit bool
	// Needs are the paths of what prevented the submission that the user asked for.
	Needs []string
	// Saved is the number of the stored invoice, or "" for a new one. Version is the version that was read.
	Saved   string
	Version int64
	// Rejected reports that the provider rejected the invoice.
	Rejected bool
	// CopyOf is the number of the invoice that this one was copied from, or "".
	CopyOf string
	// Replaces is the number of the invoice that this one replaces, or "".
	Replaces string
	// Stale reports that somebody else has changed the invoice in the meantime. Differs lists the fields in which the
	// stored invoice differs from the input.
	Stale   bool
	Differs []string
	// ShowMissing reports that fields show what a submission still needs.
	ShowMissing bool
	// More are the fields that the layout does not place.
	More       []section
	Fields     map[string]*FormField
	Lines      []formLine
	ItemsNotes fieldNotes
	Sums       draftSums
	// Recipients and Items are what the form offers, from the customer book, the item catalogue and earlier invoices.
	Recipients, Items []console.CodeOption
	// Customer is the identifier of the customer that the recipient was filled in from, or "". SaveCustomer says that the
	// box is checked.
	Customer     string
	SaveCustomer bool
	// Faults lists the paths of the fields with faults, in the order of the form.
	Faults []string
	// Rates are the rates that the tax categories set, such as "S=5 Z=0 O=".
	Rates string
	// AtMaxLines reports that no line can be added.
	AtMaxLines bool
	// Gone are the lines that the form in the browser has and this one has not, from 0.
	Gone []int
	// FocusAdd sets the focus on the button that adds a line.
	FocusAdd bool
}

// FormField is one field of a form.
type FormField struct {
	Notes fieldNotes
	// Name is the name of the control, and Key that of its label below "field.".
	Name, Key, Value string
	// Type is the type of the input element: text, date or time.
	Type string
	// Multiline reports that the control is a textarea, and AutoDirection that its text may run in either direction.
	Multiline, AutoDirection bool
	Decimal                  bool
	// List is the name of the list of choices. Search is the address at which it is searched while the user types, and
	// Choose the button that is pressed when the user has chosen, or "".
	List, Search, Choose string
	Required, Optional   bool
	Focus                bool
}

// fieldNotes is the feedback on a field.
type fieldNotes struct {
	// Path is the JSON path of the field, ControlID the element identifier of its control, and ID that of the notes.
	Path, ControlID, ID string

	Faults []api.Fault
	Advice []api.Fault
	// Missing reports that a submission needs the field.
	Missing bool
	// List is the name of the field's code list, or "".
	List string
	// Meaning is the code for the name in the field, or the name of the code in it.
	Meaning string
	// Label is the label of the field, for notes that are not beside it, or "".
	Label string
}

// MeaningID returns the element identifier of what is shown beside the text of the field.
func (n fieldNotes) MeaningID() string { return "m" + strings.TrimPrefix(n.ID, "n") }

// newNotes returns the notes of the field at a path.
func newNotes(path string, faults []api.Fault) fieldNotes {
	id := console.FieldID(path)
	return fieldNotes{Path: path, ControlID: id, ID: "n" + strings.TrimPrefix(id, "f"), Faults: faults}
}

// formLine is one line of the form.
type formLine struct {
	Number int
	Fields map[string]*FormField
	// Net is the amount of the line, or "" when it cannot be calculated.
	Net string
	// More are the fields that the layout does not place.
	More        section
	First, Last bool
	// Save says that the box that saves the line as an item is checked.
	Save bool
	// Focus is the button that gets the focus.
	Focus string
	// Changed reports that the form in the browser does not have the line as it is.
	Changed bool
}

// hasFocus reports whether a control of the line gets the focus.
func (l formLine) hasFocus() bool {
	for _, field := range l.Fields {
		if field.Focus {
			return true
		}
	}
	return l.Focus != "" || l.More.Entries.hasFocus()
}

// NoteID returns the element identifier of the line's amount.
func (l formLine) NoteID() string { return "net-" + strconv.Itoa(l.Number-1) }

// Index returns the position of the line, from 0.
func (l formLine) Index() int { return l.Number - 1 }

// CheckedForm is a validated form.
type CheckedForm struct {
	// Form has the texts as they were typed, and values those that the API takes.
	Form, Values Form

	Messages console.Catalogue
	Codes    map[string]*console.CodeNames
	Draft    api.Draft
	Faults   api.Faults
	missing  []string
	// arithmetic is that of the format of the company's connection.
	arithmetic invoice.Arithmetic
	IsMissing  map[string]bool
	Advice     api.Faults
}

// check reads a form and validates it like the API. An empty total is the calculated one, and an empty rate that of a
// category in which no tax is charged.
func check(req *console.Request, form Form) (CheckedForm, error) {
	if form.tooMany {
		return CheckedForm{}, console.ErrEntries
	}
	values, unread, err := readInput(req.Words, form)
	if err != nil {
		return CheckedForm{}, err
	}
	fillRates(req, values, unread)
	draft, faults, err := values.draft()
	if err != nil {
		return CheckedForm{}, err
	}
	arithmetic := req.Arithmetic()
	if total := arithmetic.Compute(&draft).Total; total != nil && values.Fields["total_amount"] == "" &&
		!unread.Has("total_amount") {
		values.Fields["total_amount"] = total.String() // the page shows it
		if draft, faults, err = values.draft(); err != nil {
			return CheckedForm{}, err
		}
	}
	maps.Copy(faults, unread) // they say more than the rules of the API about the same field
	checked := CheckedForm{Form: form, Values: values, Messages: req.Words.Messages, Codes: req.Words.Codes, Draft: draft,
		Faults: faults, IsMissing: map[string]bool{}, Advice: invoice.Warnings(&draft, req.Profile(), arithmetic),
		arithmetic: arithmetic}
	checked.missing = req.Seller().Needs(&draft, checked.Advice)
	for _, path := range checked.missing {
		checked.IsMissing[path] = true
	}
	return checked, nil
}

// DropMissing removes the faults of empty fields, which are not faults while the user types.
func (checked *CheckedForm) DropMissing() { checked.drop("required", "min_items") }

// dropChoices removes the faults of ambiguous names: the user is still typing, and sees the choices.
func (checked *CheckedForm) dropChoices() { checked.drop(console.TypedRule + "choices") }

// drop removes the faults of some rules.
func (checked *CheckedForm) drop(rules ...string) {
	kept := api.Faults{}
	for path, faults := range checked.Faults {
		for _, fault := range faults {
			if !slices.Contains(rules, fault.Rule) {
				kept.Add(path, fault.Rule, fault.Message)
			}
		}
	}
	checked.Faults = kept
}

// notes returns the feedback on a field with a code list, or "". showMissing includes whether a submission needs it.
func (checked *CheckedForm) notes(path, list string, showMissing bool) fieldNotes {
	n := newNotes(path, say(checked.Messages, list, checked.Faults[path]))
	isMissing := checked.IsMissing[path] && len(n.Faults) == 0
	var others []api.Fault // a missing field has its own text
	for _, fault := range checked.Advice[path] {
		if !isMissing || fault.Rule != "required" {
			others = append(others, fault)
		}
	}
	n.Advice = say(checked.Messages, list, others)
	n.Missing = showMissing && isMissing && len(n.Advice) == 0
	return n
}

// field returns a field of the form with the typed text and the value that it stands for.
func (checked *CheckedForm) field(spec FieldSpec, path, name, typed, value string, showMissing bool) *FormField {
	list := spec.codesOf(checked.Values.Fields)
	f := &FormField{Notes: checked.notes(path, list, showMissing), Name: name, Key: spec.Name, Value: typed, Type: "text",
		List: list, Decimal: spec.Kind == NumberField, Required: spec.Required, Optional: spec.Optional && spec.placed}
	if list == console.UnitCodes {
		f.Search = "/codes/" + console.UnitCodes
	}
	f.Notes.List = spec.codes
	if list != "" && value != "" {
		f.Notes.Meaning = checked.Codes[list].Beside(typed, value)
	}
	if spec.Kind == dateField || spec.Kind == timeField {
		f.Value = cmp.Or(value, typed)
	}
	// The browser's own control does not show an invalid date, so the input would be lost.
	switch {
	case spec.Kind == multilineField:
		f.Multiline = true
	case spec.Kind == dateField && len(f.Notes.Faults) == 0:
		f.Type = "date"
	case spec.Kind == timeField && len(f.Notes.Faults) == 0:
		f.Type = "time"
	case !f.Decimal:
		f.AutoDirection = true
	}
	return f
}

// Fields returns the fields of a table, with the typed texts and the values that they stand for.
func (checked *CheckedForm) Fields(specs []FieldSpec, prefix, names string, typed, values map[string]string,
	showMissing bool) map[string]*FormField {
	out := make(map[string]*FormField, len(specs))
	for _, spec := range specs {
		out[spec.Name] = checked.field(spec, prefix+spec.Name, names+spec.Name, typed[spec.Name], values[spec.Name],
			showMissing)
	}
	return out
}

// lines returns the lines of the form.
func (checked *CheckedForm) lines(showMissing bool) []formLine {
	out := make([]formLine, len(checked.Form.Items))
	for n, item := range checked.Form.Items {
		l := formLine{Number: n + 1, First: n == 0, Last: n == len(checked.Form.Items)-1, Net: checked.lineNet(n)}
		l.Fields = checked.Fields(ItemFields, linePrefix(n), itemPrefix, item.Fields, checked.Values.Items[n].Fields,
			showMissing)
		for _, name := range layout["line"] { // their notes are below the row
			l.Fields[name].Notes.Label = keyLabel(checked.Messages, name)
		}
		l.More = sections(ItemFields, l.Fields)[0]
		l.More.Entries = checked.entries(strconv.Itoa(n), showMissing)[0]
		out[n] = l
	}
	return out
}

// lineNet returns the amount of a line: that of a draft with this line alone.
func (checked *CheckedForm) lineNet(line int) string {
	if line >= len(checked.Draft.Items) {
		return ""
	}
	if net := checked.arithmetic.LineNet(&checked.Draft, line); net != nil {
		return page.Grouped(net.String())
	}
	return ""
}

// sayAdvice replaces the messages of advice with those for people. A field that is only missing needs none.
func (checked *CheckedForm) sayAdvice(list []documents.Advice) {
	for n := range list {
		faults := slices.DeleteFunc(slices.Clone(list[n].Faults),
			func(fault api.Fault) bool { return fault.Rule == "required" })
		list[n].Faults = say(checked.Messages, specAt(list[n].Path).codesOf(checked.Values.Fields), faults)
	}
}

// specAt returns the description of the field at a path, which is zero for other paths.
func specAt(path string) FieldSpec {
	specs, lists := Fields, draftLists
	for {
		entry, name, nested := strings.Cut(path, "].")
		if !nested {
			return SpecNamed(specs, path)
		}
		of, _, _ := strings.Cut(entry, "[")
		specs, path = nil, name
		if of == "items" {
			specs, lists = ItemFields, lineLists
		}
		if list := listNamed(lists, of); list != nil {
			specs = list.Fields
		}
	}
}

// buildDraftPage returns the view model of a validated form.
func buildDraftPage(req *console.Request, checked *CheckedForm, p draftPage, at focus) (draftPage, error) {
	if err := warnUsedNumber(req, checked, p.ID); err != nil {
		return p, err
	}
	checked.warnOtherCurrency()
	known := view.Of(req.Session.Tenant)
	recipients, err := known.Recipients(req.R.Context(), "")
	if err != nil {
		return p, err
	}
	items, err := known.Items(req.R.Context(), "")
	if err != nil {
		return p, err
	}
	p.Recipients, p.Items = choiceOptions(recipients), choiceOptions(items)
	p.Customer, p.SaveCustomer = checked.Form.Customer, checked.Form.SaveCustomer
	p.Fields = checked.Fields(Fields, "", "", checked.Form.Fields, checked.Values.Fields, p.ShowMissing)
	name := p.Fields["recipient_name"]
	name.List, name.Search, name.Choose = "recipients", "/invoices/recipients", doFill
	p.More = sections(Fields, p.Fields)
	entries := checked.entries("", p.ShowMissing)
	for n := range p.More {
		s := &p.More[n]
		if at := slices.IndexFunc(entries, func(f formEntries) bool { return f.group() == s.Name }); at >= 0 {
			s.Entries, s.Open = entries[at], s.Open || len(entries[at].Entries) > 0
		}
	}
	p.Lines, p.Rates = checked.lines(p.ShowMissing), formatRates(rates(req, checked.Values))
	for n := range p.Lines {
		p.Lines[n].Save = checked.Form.Items[n].Fields[saveItem] != ""
		name := p.Lines[n].Fields["name"]
		name.List, name.Search, name.Choose = "items", "/invoices/items", doItem+":"+strconv.Itoa(n)
	}
	p.ItemsNotes = newNotes("items", say(checked.Messages, "", checked.Faults["items"]))
	p.AtMaxLines = len(checked.Form.Items) >= maxItems
	p.Faults = checked.faultPaths()
	if p.Sums, err = sums(req, checked); err != nil {
		return p, err
	}
	p.Sums.Shown = digests(draftGroups(p.Fields, entries, p.Lines))
	p.MaySubmit = req.Session.Permissions.Has(access.Submit)
	if p.Key = req.Form.Get("key"); p.Key == "" && p.ID == "" {
		if p.Key, err = req.NewKey(); err != nil {
			return p, err
		}
	}
	p.focus(at)
	return p, nil
}

// faultPaths returns the paths with faults, in the order of the form.
func (checked *CheckedForm) faultPaths() []string {
	var out []string
	add := func(path string) {
		if checked.Faults.Has(path) {
			out = append(out, path)
		}
	}
	last := len(Fields) - 1 // the total, which is below the lines
	for _, spec := range Fields[:last] {
		add(spec.Name)
	}
	addAll := func(prefix string, lists []*entryList, all []entry) {
		for _, list := range lists {
			add(prefix + list.Name)
		}
		paths := entryPaths(prefix, all)
		for n, e := range all {
			for _, spec := range e.List.Fields {
				add(paths[n] + "." + spec.Name)
			}
		}
	}
	addAll("", draftLists, checked.Form.Entries)
	add("items")
	for n, item := range checked.Form.Items {
		for _, spec := range ItemFields {
			add(linePrefix(n) + spec.Name)
		}
		addAll(linePrefix(n), lineLists, item.Entries)
	}
	add(Fields[last].Name)
	return out
}

// focus sets the focus.
func (p *draftPage) focus(at focus) {
	if at.Do != "" && !strings.HasPrefix(at.Do, doDrop) {
		if p.FocusAdd = at.Line < 0 || at.Line >= len(p.Lines); !p.FocusAdd {
			p.Lines[at.Line].Focus = at.Do
		}
		return
	}
	set := func(fields map[string]*FormField) {
		for _, field := range fields {
			field.Focus = field.Focus || field.Notes.Path == at.Path
		}
	}
	set(p.Fields)
	for n := range p.More {
		p.More[n].Entries.focus(at)
	}
	for n := range p.Lines {
		set(p.Lines[n].Fields)
		p.Lines[n].More.Entries.focus(at)
	}
}
