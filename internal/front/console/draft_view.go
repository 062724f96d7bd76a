package console

import (
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
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
	// More opens the less common fields of the invoice.
	More       bool
	Fields     map[string]*formField
	Lines      []formLine
	ItemsNotes fieldNotes
	Sums       draftSums
	// Recipients and Items are what the form offers, from the customer book, the item catalogue and earlier invoices.
	Recipients, Items []codeOption
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
	id := fieldID(path)
	return fieldNotes{Path: path, ControlID: id, ID: "n" + strings.TrimPrefix(id, "f"), Faults: faults}
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
	return l.Focus != ""
}

// NoteID returns the element identifier of the line's amount.
func (l formLine) NoteID() string { return "net-" + strconv.Itoa(l.Number-1) }

// Index returns the position of the line, from 0.
func (l formLine) Index() int { return l.Number - 1 }

// draftSums is the feedback on the whole form.
type draftSums struct {
	Totals   invoice.Totals
	Currency string
	// Format is the document format whose rules were checked, "" if the connection has none.
	Format string
	// IncompleteLine is the first line that prevents calculating the totals, from 1, or 0.
	IncompleteLine int
	// Missing and Advice concern the submission. Unsavable reports that a draft cannot be saved without one of the missing
	// fields.
	Missing, Advice []advice
	Unsavable       bool
	// ProfileMissing is the number of missing fields of the company's profile, and ProfileAdvice that of recommendations
	// about it. The profile has its own page.
	ProfileMissing, ProfileAdvice int
	// Announcement is a text for screen readers. AnnouncementDigest identifies it, and Announce reports that it has
	// changed.
	Announcement       string
	AnnouncementDigest string
	Announce           bool
	// Shown has the digests of the feedback that the form shows with the sums.
	Shown string
}

// maxListedMissing is the number of missing fields up to which they are listed without a click.
const maxListedMissing = 8

// Count returns the number of missing fields, those of the company's profile included.
func (s draftSums) Count() int { return len(s.Missing) + s.ProfileMissing }

// Few reports that the list of missing fields is short.
func (s draftSums) Few() bool { return len(s.Missing) <= maxListedMissing }

// checkedForm is a validated form.
type checkedForm struct {
	// form has the texts as they were typed, and values those that the API takes.
	form, values draftForm

	messages  catalogue
	codes     map[string]*codeNames
	draft     api.Draft
	faults    api.Faults
	missing   []string
	isMissing map[string]bool
	advice    api.Faults
}

// check reads a form and validates it like the API. An empty total is the calculated one, and an empty rate that of a
// category in which no tax is charged.
func (req *request) check(form draftForm) (checkedForm, error) {
	values, unread, err := req.words.readInput(form)
	if err != nil {
		return checkedForm{}, err
	}
	req.fillRates(values, unread)
	draft, faults, err := values.draft()
	if err != nil {
		return checkedForm{}, err
	}
	if total := invoice.Compute(&draft).Total; total != nil && values.Fields["total_amount"] == "" &&
		!unread.Has("total_amount") {
		values.Fields["total_amount"] = total.String() // the page shows it
		if draft, faults, err = values.draft(); err != nil {
			return checkedForm{}, err
		}
	}
	maps.Copy(faults, unread) // they say more than the rules of the API about the same field
	checked := checkedForm{form: form, values: values, messages: req.words.messages, codes: req.words.codes, draft: draft,
		faults: faults, isMissing: map[string]bool{}, advice: invoice.Warnings(&draft, req.profile())}
	checked.missing = req.seller().Needs(&draft, checked.advice)
	for _, path := range checked.missing {
		checked.isMissing[path] = true
	}
	return checked, nil
}

// dropMissing removes the faults of empty fields, which are not faults while the user types.
func (checked *checkedForm) dropMissing() { checked.drop("required", "min_items") }

// dropChoices removes the faults of ambiguous names: the user is still typing, and sees the choices.
func (checked *checkedForm) dropChoices() { checked.drop(typedRule + "choices") }

// drop removes the faults of some rules.
func (checked *checkedForm) drop(rules ...string) {
	kept := api.Faults{}
	for path, faults := range checked.faults {
		for _, fault := range faults {
			if !slices.Contains(rules, fault.Rule) {
				kept.Add(path, fault.Rule, fault.Message)
			}
		}
	}
	checked.faults = kept
}

// notes returns the feedback on a field with a code list, or "". showMissing includes whether a submission needs it.
func (checked *checkedForm) notes(path, list string, showMissing bool) fieldNotes {
	n := newNotes(path, checked.messages.say(list, checked.faults[path]))
	isMissing := checked.isMissing[path] && len(n.Faults) == 0
	var others []api.Fault // a missing field has its own text
	for _, fault := range checked.advice[path] {
		if !isMissing || fault.Rule != "required" {
			others = append(others, fault)
		}
	}
	n.Advice = checked.messages.say(list, others)
	n.Missing = showMissing && isMissing && len(n.Advice) == 0
	return n
}

// field returns a field of the form with the typed text and the value that it stands for.
func (checked *checkedForm) field(spec fieldSpec, path, name, typed, value string, showMissing bool) *formField {
	list := spec.codesOf(checked.values.Fields["buyer_country"])
	f := &formField{Notes: checked.notes(path, list, showMissing), Name: name, Key: spec.name, Value: typed, Type: "text",
		List: list, Decimal: spec.kind == numberField, Required: spec.required, Optional: spec.optional}
	if list == unitCodes {
		f.Search = "/codes/" + unitCodes
	}
	f.Notes.List = spec.codes
	if list != "" && value != "" {
		f.Notes.Meaning = checked.codes[list].beside(typed, value)
	}
	if spec.kind == dateField || spec.kind == timeField {
		f.Value = cmp.Or(value, typed)
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

// fields returns the fields of a table, with the typed texts and the values that they stand for.
func (checked *checkedForm) fields(specs []fieldSpec, prefix, names string, typed, values map[string]string,
	showMissing bool) map[string]*formField {
	out := make(map[string]*formField, len(specs))
	for _, spec := range specs {
		out[spec.name] = checked.field(spec, prefix+spec.name, names+spec.name, typed[spec.name], values[spec.name],
			showMissing)
	}
	return out
}

// lines returns the lines of the form.
func (checked *checkedForm) lines(showMissing bool) []formLine {
	out := make([]formLine, len(checked.form.Items))
	for n, item := range checked.form.Items {
		l := formLine{Number: n + 1, First: n == 0, Last: n == len(checked.form.Items)-1, Net: checked.lineNet(n)}
		l.Fields = checked.fields(itemFields, "items["+strconv.Itoa(n)+"].", itemPrefix, item, checked.values.Items[n],
			showMissing)
		for _, spec := range itemFields[:mainItemFields] { // their notes are below the row
			l.Fields[spec.name].Notes.Label = checked.messages.keyLabel(spec.name)
		}
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
		return page.Grouped(net.String())
	}
	return ""
}

// sayAdvice replaces the messages of advice with those for people. A field that is only missing needs none.
func (checked *checkedForm) sayAdvice(list []advice) {
	for n := range list {
		faults := slices.DeleteFunc(slices.Clone(list[n].Faults),
			func(fault api.Fault) bool { return fault.Rule == "required" })
		list[n].Faults = checked.messages.say(specAt(list[n].Path).codesOf(checked.values.Fields["buyer_country"]), faults)
	}
}

// specAt returns the description of the field at a path, which is zero for other paths.
func specAt(path string) fieldSpec {
	specs := draftFields
	if item, name, nested := strings.Cut(path, "]."); nested && strings.HasPrefix(item, "items[") {
		specs, path = itemFields, name
	}
	return specNamed(specs, path)
}

// sums calculates the totals and the feedback on the whole form.
func (req *request) sums(checked *checkedForm) (draftSums, error) {
	s := draftSums{Totals: invoice.Compute(&checked.draft), Currency: deref(checked.draft.Currency),
		Format: req.session.Account.Format}
	ofProfile := func(a advice) bool { return strings.HasPrefix(a.Path, sellerPath) }
	needs, others := divideAdvice(checked.missing, checked.advice)
	checked.sayAdvice(needs)
	checked.sayAdvice(others)
	s.Missing, s.Advice = slices.DeleteFunc(slices.Clone(needs), ofProfile),
		slices.DeleteFunc(slices.Clone(others), ofProfile)
	s.Unsavable = slices.ContainsFunc(s.Missing, func(a advice) bool { return specAt(a.Path).required })
	s.ProfileMissing, s.ProfileAdvice = len(needs)-len(s.Missing), len(others)-len(s.Advice)
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
		s.Announcement, err = req.Text("draft.announcement", page.Grouped(s.Totals.Total.String()), s.Currency)
	}
	s.AnnouncementDigest = page.Digest([]byte(s.Announcement))
	s.Announce = s.Announcement != "" && s.AnnouncementDigest != req.Form.Get("announced")
	return s, err
}

// buildDraftPage returns the view model of a validated form.
func (req *request) buildDraftPage(checked *checkedForm, p draftPage, at focus) (draftPage, error) {
	if err := req.warnUsedNumber(checked, p.ID); err != nil {
		return p, err
	}
	checked.warnOtherCurrency()
	known := view.Of(req.session.Tenant)
	recipients, err := known.Recipients(req.R.Context(), "")
	if err != nil {
		return p, err
	}
	items, err := known.Items(req.R.Context(), "")
	if err != nil {
		return p, err
	}
	p.Recipients, p.Items = choiceOptions(recipients), choiceOptions(items)
	p.Customer, p.SaveCustomer = checked.form.Customer, checked.form.SaveCustomer
	p.Fields = checked.fields(draftFields, "", "", checked.form.Fields, checked.values.Fields, p.ShowMissing)
	name := p.Fields["recipient_name"]
	name.List, name.Search, name.Choose = "recipients", "/invoices/recipients", doFill
	for _, spec := range draftFields[mainDraftFields : len(draftFields)-1] {
		f := p.Fields[spec.name]
		p.More = p.More || f.Value != "" || len(f.Notes.Faults)+len(f.Notes.Advice) > 0
	}
	p.Lines, p.Rates = checked.lines(p.ShowMissing), formatRates(req.rates(checked.values))
	for n := range p.Lines {
		p.Lines[n].Save = checked.form.Items[n][saveItem] != ""
		name := p.Lines[n].Fields["name"]
		name.List, name.Search, name.Choose = "items", "/invoices/items", doItem+":"+strconv.Itoa(n)
	}
	p.ItemsNotes = newNotes("items", checked.messages.say("", checked.faults["items"]))
	p.AtMaxLines = len(checked.form.Items) >= maxItems
	p.Faults = checked.faultPaths()
	if p.Sums, err = req.sums(checked); err != nil {
		return p, err
	}
	p.Sums.Shown = digests(draftGroups(p.Fields, p.Lines))
	p.MaySubmit = req.session.Permissions.Has(access.Submit)
	if p.Key = req.Form.Get("key"); p.Key == "" && p.ID == "" {
		if p.Key, err = req.newKey(); err != nil {
			return p, err
		}
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
