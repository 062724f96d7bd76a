package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"quittance/api"
	"quittance/internal/invoice"
	"quittance/internal/store"
)

func draftRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/invoices/new", serve: (*visit).newDraft},
		{method: http.MethodPost, path: "/invoices/new", serve: (*visit).createDraft, large: true},
		{method: http.MethodPost, path: "/invoices/check", serve: (*visit).checkDraft, large: true},
		{method: http.MethodGet, path: "/invoices/{invoice}/edit", serve: (*visit).editDraft},
		{method: http.MethodPost, path: "/invoices/{invoice}/edit", serve: (*visit).changeDraft, large: true},
		{method: http.MethodGet, path: "/invoices/{invoice}/duplicate", serve: (*visit).duplicateDraft},
		{method: http.MethodGet, path: "/invoices/{invoice}/print", serve: (*visit).printInvoice},
		{method: http.MethodGet, path: "/codes/{list}", serve: (*visit).showCodes},
	}
}

// The form of a new draft goes to newPath; what stands in any form is looked at by checkPath.
const newPath = "/invoices/new"

// newDraft shows an empty form.
func (v *visit) newDraft() error {
	form := draftForm{Fields: map[string]string{"issue_date": v.today().Format(time.DateOnly)}, Items: []map[string]string{{}}}
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	j.typed()
	return v.answerDraft(http.StatusOK, j, draftPage{Action: newPath, Back: "/invoices"}, focus{Path: "invoice_number"}, nil)
}

// today is the date, in UTC.
func (v *visit) today() time.Time { return v.Now().UTC().Truncate(24 * time.Hour) }

// duplicateDraft shows the form of a new draft with what stands in another one.
func (v *visit) duplicateDraft() error {
	found, err := v.named("invoice")
	if err != nil {
		return err
	}
	form, err := formOf(&found.Draft)
	if err != nil {
		return err
	}
	form.copied(v.today())
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	j.typed()
	p := draftPage{Action: newPath, Back: "/invoices/" + found.ID.String(), Of: optional(found.Draft.InvoiceNumber)}
	return v.answerDraft(http.StatusOK, j, p, focus{Path: "invoice_number"}, nil)
}

// named is the invoice that a parameter of the path names.
func (v *visit) named(parameter string) (store.Invoice, error) {
	id, err := v.id(parameter)
	if err != nil {
		return store.Invoice{}, err
	}
	if err := v.admitInvoice(id); err != nil {
		return store.Invoice{}, err
	}
	return v.session.Tenant.Invoice(v.r.Context(), id)
}

// createDraft stores what was typed as a new draft, or does what a button of the form does.
func (v *visit) createDraft() error {
	form := readDraftForm(v.form)
	p := draftPage{Action: newPath, Back: "/invoices", Of: v.form.Get("of"), Told: v.form.Get("told") != ""}
	if at, acted := form.act(v.form.Get("do")); acted {
		return v.answerAct(form, p, at)
	}
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	if len(j.faults) > 0 {
		return v.answerFaults(j, p)
	}
	created, err := v.session.Tenant.CreateInvoice(v.r.Context(), &j.draft)
	if err != nil {
		return err
	}
	return v.redirect(said("/invoices/"+created.ID.String(), "good.created"))
}

// editDraft shows the form of a draft, or of an invoice that the provider has rejected.
func (v *visit) editDraft() error {
	id, err := v.id("invoice")
	if err != nil {
		return err
	}
	found, live, err := v.credited(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		return v.answerInvoice(http.StatusConflict, id, v.pages.notice("bad.not_editable"))
	}
	form, err := formOf(&found.Draft)
	if err != nil {
		return err
	}
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.Told = true
	return v.answerDraft(http.StatusOK, j, p, focus{}, nil)
}

// editable tells whether the API's PATCH would change an invoice.
func editable(found store.Invoice, live []invoice.Credit) bool {
	return len(live) == 0 && (found.Submission == nil || found.Submission.Correctable())
}

// editPage is the page of an edit, of the version that was read.
func editPage(found store.Invoice, version int64) draftPage {
	path := "/invoices/" + found.ID.String()
	return draftPage{Action: path + "/edit", Back: path, Saved: optional(found.Draft.InvoiceNumber), Version: version, Rejected: api.Outcome(outcomeOf(found)).Rejected()}
}

// errFaults says that a form has faults.
var errFaults = errors.New("form has faults")

// changeDraft stores what was typed in place of what was read, under the rules of the API's PATCH with If-Match, or does
// what a button of the form does. Whatever comes of it, what was typed stays in the form.
func (v *visit) changeDraft() error {
	found, err := v.named("invoice")
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(v.form.Get("version"), 10, 64)
	if err != nil {
		version = 0 // none has it
	}
	form := readDraftForm(v.form)
	p := editPage(found, version)
	p.Told = true
	if at, acted := form.act(v.form.Get("do")); acted {
		return v.answerAct(form, p, at)
	}
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	_, err = v.session.Tenant.UpdateInvoice(v.r.Context(), found.ID, func(current int64) bool { return current == version }, func(current []byte) (api.Draft, error) {
		if len(j.faults) > 0 {
			return api.Draft{}, errFaults
		}
		var before api.Draft
		if err := json.Unmarshal(current, &before); err != nil {
			return api.Draft{}, fmt.Errorf("stored draft: %w", err)
		}
		keepBreaks(&j.draft, &before)
		return j.draft, nil
	})
	switch {
	case err == nil:
		return v.redirect(said("/invoices/"+found.ID.String(), "good.saved"))
	case errors.Is(err, errFaults):
		return v.answerFaults(j, p)
	case errors.Is(err, store.ErrVersion), errors.Is(err, store.ErrNotEditable):
		return v.answerStale(j, found.ID)
	}
	return err
}

// answerStale answers an edit of a version that is no longer the current one: nothing was stored, the page says in which
// fields what is stored differs, and only a second, deliberate press replaces it. When the invoice can be changed no more,
// what was typed can become a new draft.
func (v *visit) answerStale(j judged, id store.ID) error {
	found, live, err := v.credited(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		p := draftPage{Action: newPath, Back: "/invoices/" + id.String(), Of: optional(found.Draft.InvoiceNumber), Told: true}
		return v.answerDraft(http.StatusConflict, j, p, focus{}, v.pages.notice("bad.fixed"))
	}
	stored, err := formOf(&found.Draft)
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.Told, p.Stale, p.Differs = true, true, j.form.filled().differences(stored)
	return v.answerDraft(http.StatusConflict, j, p, focus{}, nil)
}

// differences are the paths in which two forms differ, in the order of the form.
func (f draftForm) differences(other draftForm) []string {
	var paths []string
	compare := func(specs []fieldSpec, prefix string, mine, theirs map[string]string) {
		for _, spec := range specs {
			if mine[spec.name] != theirs[spec.name] {
				paths = append(paths, prefix+spec.name)
			}
		}
	}
	compare(draftFields, "", f.Fields, other.Fields)
	for n := range max(len(f.Items), len(other.Items)) {
		prefix := "items[" + strconv.Itoa(n) + "]."
		switch {
		case n >= len(f.Items) || n >= len(other.Items):
			paths = append(paths, prefix+"name")
		default:
			compare(itemFields, prefix, f.Items[n], other.Items[n])
		}
	}
	return paths
}

// answerFaults answers what was typed with what is wrong with it.
func (v *visit) answerFaults(j judged, p draftPage) error {
	p.Told = true
	first := focus{}
	if paths := j.order(); len(paths) > 0 {
		first.Path = paths[0]
	}
	return v.answerDraft(http.StatusUnprocessableEntity, j, p, first, nil)
}

// answerAct answers a button of the form that saves nothing.
func (v *visit) answerAct(form draftForm, p draftPage, at focus) error {
	j, err := v.judge(form)
	if err != nil {
		return err
	}
	j.typed()
	if !v.fragment() {
		return v.answerDraft(http.StatusOK, j, p, at, nil)
	}
	p.Acted = true
	page, err := v.show(&j, p, at)
	if err != nil {
		return err
	}
	return v.part("draft", "acted", page)
}

// answerDraft answers with the whole page.
func (v *visit) answerDraft(status int, j judged, p draftPage, at focus, said *notice) error {
	p, err := v.show(&j, p, at)
	if err != nil {
		return err
	}
	var title string
	switch {
	case p.Saved != "":
		title, err = v.pages.words.say("draft.edit", p.Saved)
	default:
		title, err = v.pages.words.say("draft.new")
	}
	if err != nil {
		return err
	}
	return v.page(status, "draft", shown{Title: title, Section: "invoices", Notice: said, Body: p})
}

// part answers with a template of a page alone.
func (v *visit) part(page, name string, data any) error {
	return v.render(http.StatusOK, page, name, data)
}

// maxNoted is how many lines of a draft are told about while somebody types; the totals are those of all.
const maxNoted = 100

// checkPage is what is said of a form while somebody types.
type checkPage struct {
	Sums  draftSums
	Notes []fieldNotes
	Lines []formLine
}

// checkDraft says what the server makes of what was typed; nothing is stored.
func (v *visit) checkDraft() error {
	j, err := v.judge(readDraftForm(v.form))
	if err != nil {
		return err
	}
	j.typed()
	told := v.form.Get("told") != ""
	sums, err := v.sums(&j)
	if err != nil {
		return err
	}
	p := checkPage{Sums: sums}
	add := func(fields map[string]*formField, specs []fieldSpec) {
		for _, spec := range specs {
			notes := fields[spec.name].Notes
			notes.Apart = true
			p.Notes = append(p.Notes, notes)
		}
	}
	add(j.fields(draftFields, "", "", j.form.Fields, told), draftFields)
	for _, line := range slices.Clip(j.lines(told))[:min(len(j.form.Items), maxNoted)] {
		line.Apart = true
		p.Lines = append(p.Lines, line)
		add(line.Fields, itemFields)
	}
	return v.part("draft", "check", p)
}
