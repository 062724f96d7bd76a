package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"time"

	"quittance/internal/invoice"
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

func draftRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/invoices/new", serve: (*request).newDraft},
		{method: http.MethodPost, path: "/invoices/new", serve: (*request).createDraft, large: true},
		{method: http.MethodPost, path: "/invoices/check", serve: (*request).checkDraft, large: true},
		{method: http.MethodGet, path: "/invoices/{invoice}/edit", serve: (*request).editDraft},
		{method: http.MethodPost, path: "/invoices/{invoice}/edit", serve: (*request).changeDraft, large: true},
		{method: http.MethodGet, path: "/invoices/{invoice}/duplicate", serve: (*request).duplicateDraft},
		{method: http.MethodGet, path: "/invoices/{invoice}/print", serve: (*request).printInvoice},
		{method: http.MethodGet, path: "/codes/{list}", serve: (*request).showCodes},
	}
}

// newPath is the page of a new draft and the target of its form.
const newPath = "/invoices/new"

// newDraft shows the form of a new draft.
func (req *request) newDraft() error {
	form := draftForm{Fields: map[string]string{"issue_date": req.today().Format(time.DateOnly)}, Items: []map[string]string{{}}}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	checked.dropMissing()
	return req.respondDraft(http.StatusOK, checked, draftPage{Action: newPath, Back: "/invoices"}, focus{Path: "invoice_number"}, nil)
}

// today returns the current date in UTC.
func (req *request) today() time.Time { return req.Now().UTC().Truncate(24 * time.Hour) }

// duplicateDraft shows the form of a new draft, filled with a copy of an invoice.
func (req *request) duplicateDraft() error {
	found, err := req.invoiceOfPath("invoice")
	if err != nil {
		return err
	}
	form, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	form.prepareCopy(req.today())
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	checked.dropMissing()
	p := draftPage{Action: newPath, Back: "/invoices/" + found.ID.String(), CopyOf: deref(found.Draft.InvoiceNumber)}
	return req.respondDraft(http.StatusOK, checked, p, focus{Path: "invoice_number"}, nil)
}

// invoiceOfPath reads the invoice that a path parameter identifies.
func (req *request) invoiceOfPath(parameter string) (store.Invoice, error) {
	id, err := req.id(parameter)
	if err != nil {
		return store.Invoice{}, err
	}
	if err := req.acquireForInvoice(id); err != nil {
		return store.Invoice{}, err
	}
	return req.session.Tenant.Invoice(req.r.Context(), id)
}

// createDraft creates a draft from the form, or executes a button of the form.
func (req *request) createDraft() error {
	form := readDraftForm(req.form)
	p := draftPage{Action: newPath, Back: "/invoices", CopyOf: req.form.Get("copy_of"), ShowMissing: req.form.Get("show_missing") != ""}
	if at, acted := form.apply(req.form.Get("do")); acted {
		return req.respondButton(form, p, at)
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	if len(checked.faults) > 0 {
		return req.respondFaults(checked, p)
	}
	created, err := req.session.Tenant.CreateInvoice(req.r.Context(), &checked.draft)
	if err != nil {
		return err
	}
	return req.redirect(withFlash("/invoices/"+created.ID.String(), "good.created"))
}

// editDraft shows the form of a draft or of a rejected invoice.
func (req *request) editDraft() error {
	id, err := req.id("invoice")
	if err != nil {
		return err
	}
	found, live, err := req.creditedInvoice(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		return req.respondInvoice(http.StatusConflict, id, req.pages.notice("bad.not_editable"))
	}
	form, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.ShowMissing = true
	return req.respondDraft(http.StatusOK, checked, p, focus{}, nil)
}

// editable reports whether the API's PATCH would accept a change of the invoice.
func editable(found store.Invoice, live []invoice.Credit) bool {
	return len(live) == 0 && (found.Submission == nil || found.Submission.Correctable())
}

// editPage returns the view model for editing a version of an invoice.
func editPage(found store.Invoice, version int64) draftPage {
	path := "/invoices/" + found.ID.String()
	return draftPage{Action: path + "/edit", Back: path, Saved: deref(found.Draft.InvoiceNumber), Version: version, Rejected: api.Outcome(outcomeOf(found)).Rejected()}
}

// errFormFaults reports that a form has faults.
var errFormFaults = errors.New("form has faults")

// changeDraft updates a draft under the rules of the API's PATCH with If-Match, or executes a button of the form. The input
// stays in the form in every case.
func (req *request) changeDraft() error {
	found, err := req.invoiceOfPath("invoice")
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(req.form.Get("version"), 10, 64)
	if err != nil {
		version = 0 // no invoice has this version
	}
	form := readDraftForm(req.form)
	p := editPage(found, version)
	p.ShowMissing = true
	if at, acted := form.apply(req.form.Get("do")); acted {
		return req.respondButton(form, p, at)
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	_, err = req.session.Tenant.UpdateInvoice(req.r.Context(), found.ID, func(current int64) bool { return current == version }, func(current []byte) (api.Draft, error) {
		if len(checked.faults) > 0 {
			return api.Draft{}, errFormFaults
		}
		var before api.Draft
		if err := json.Unmarshal(current, &before); err != nil {
			return api.Draft{}, fmt.Errorf("stored draft: %w", err)
		}
		restoreLineBreaks(&checked.draft, &before)
		return checked.draft, nil
	})
	switch {
	case err == nil:
		return req.redirect(withFlash("/invoices/"+found.ID.String(), "good.saved"))
	case errors.Is(err, errFormFaults):
		return req.respondFaults(checked, p)
	case errors.Is(err, store.ErrVersion), errors.Is(err, store.ErrNotEditable):
		return req.respondStale(checked, found.ID)
	}
	return err
}

// respondStale responds to an edit of an outdated version. Nothing was stored. The page lists the fields in which the stored
// invoice differs, and sending the form again overwrites them. If the invoice can no longer be changed, the input can
// become a new draft.
func (req *request) respondStale(checked checkedForm, id store.ID) error {
	found, live, err := req.creditedInvoice(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		p := draftPage{Action: newPath, Back: "/invoices/" + id.String(), CopyOf: deref(found.Draft.InvoiceNumber), ShowMissing: true}
		return req.respondDraft(http.StatusConflict, checked, p, focus{}, req.pages.notice("bad.fixed"))
	}
	stored, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.ShowMissing, p.Stale, p.Differs = true, true, checked.form.withoutEmptyLines().differences(stored)
	return req.respondDraft(http.StatusConflict, checked, p, focus{}, nil)
}

// differences returns the paths of the fields in which two forms differ, in the order of the form.
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

// respondFaults responds with the form and its faults.
func (req *request) respondFaults(checked checkedForm, p draftPage) error {
	p.ShowMissing = true
	first := focus{}
	if paths := checked.faultPaths(); len(paths) > 0 {
		first.Path = paths[0]
	}
	return req.respondDraft(http.StatusUnprocessableEntity, checked, p, first, nil)
}

// respondButton responds to a button of the form that saves nothing.
func (req *request) respondButton(form draftForm, p draftPage, at focus) error {
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	checked.dropMissing()
	if !req.isFragment() {
		return req.respondDraft(http.StatusOK, checked, p, at, nil)
	}
	p.Swapped = true
	page, err := req.buildDraftPage(&checked, p, at)
	if err != nil {
		return err
	}
	return req.part("draft", "swapped-form", page)
}

// respondDraft responds with the whole page.
func (req *request) respondDraft(status int, checked checkedForm, p draftPage, at focus, flash *notice) error {
	p, err := req.buildDraftPage(&checked, p, at)
	if err != nil {
		return err
	}
	var title string
	switch {
	case p.Saved != "":
		title, err = req.pages.messages.text("draft.edit", p.Saved)
	default:
		title, err = req.pages.messages.text("draft.new")
	}
	if err != nil {
		return err
	}
	return req.page(status, "draft", pageData{Title: title, Section: "invoices", Notice: flash, Body: p})
}

// part responds with one template of a page's file.
func (req *request) part(page, name string, data any) error {
	return req.render(http.StatusOK, page, name, data)
}

// maxAnnotatedLines is the number of lines that get notes while the user types. The totals cover all lines.
const maxAnnotatedLines = 100

// checkPage is the feedback on a form while the user types.
type checkPage struct {
	Sums  draftSums
	Notes []fieldNotes
	Lines []formLine
}

// checkDraft responds with the feedback on a form. It stores nothing.
func (req *request) checkDraft() error {
	checked, err := req.check(readDraftForm(req.form))
	if err != nil {
		return err
	}
	checked.dropMissing()
	showMissing := req.form.Get("show_missing") != ""
	sums, err := req.sums(&checked)
	if err != nil {
		return err
	}
	p := checkPage{Sums: sums}
	add := func(fields map[string]*formField, specs []fieldSpec) {
		for _, spec := range specs {
			notes := fields[spec.name].Notes
			notes.OutOfBand = true
			p.Notes = append(p.Notes, notes)
		}
	}
	add(checked.fields(draftFields, "", "", checked.form.Fields, showMissing), draftFields)
	for _, line := range slices.Clip(checked.lines(showMissing))[:min(len(checked.form.Items), maxAnnotatedLines)] {
		line.OutOfBand = true
		p.Lines = append(p.Lines, line)
		add(line.Fields, itemFields)
	}
	return req.part("draft", "check", p)
}
