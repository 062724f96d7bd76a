package console

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

func draftRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/invoices/new", needs: access.Write, serve: (*request).newDraft},
		{method: http.MethodPost, path: "/invoices/new", needs: access.Write, serve: (*request).createDraft, large: true},
		{method: http.MethodPost, path: "/invoices/check", needs: access.Write, serve: (*request).checkDraft, large: true},
		{method: http.MethodGet, path: "/invoices/recipients", needs: access.Write, serve: (*request).listRecipients},
		{method: http.MethodGet, path: "/invoices/items", needs: access.Write, serve: (*request).listItems},
		{method: http.MethodPost, path: "/invoices/recipient", needs: access.Write, serve: (*request).lookUpRecipient},
		{method: http.MethodGet, path: "/invoices/{invoice}/edit", needs: access.Write, serve: (*request).editDraft},
		{method: http.MethodPost, path: "/invoices/{invoice}/edit", needs: access.Write, serve: (*request).changeDraft,
			large: true},
		{method: http.MethodGet, path: "/invoices/{invoice}/duplicate", needs: access.Write,
			serve: (*request).duplicateDraft},
		{method: http.MethodPost, path: "/invoices/{invoice}/customer", needs: access.Write, serve: (*request).saveRecipient},
		{method: http.MethodGet, path: "/invoices/{invoice}/replace", needs: access.Write, serve: (*request).replaceDraft},
		{method: http.MethodGet, path: "/invoices/{invoice}/print", needs: access.Read, serve: (*request).printInvoice},
		{method: http.MethodGet, path: "/invoices/{invoice}/document.pdf", needs: access.Read,
			serve: (*request).downloadInvoicePDF},
		{method: http.MethodGet, path: "/codes/{list}", needs: access.Read, serve: (*request).showCodes},
	}
}

// newPath is the page of a new draft and the target of its form.
const newPath = "/invoices/new"

// newDraft shows the form of a new draft.
func (req *request) newDraft() error {
	values, err := req.suggestedDraft()
	if err != nil {
		return err
	}
	form := req.words.showInput(values)
	if err := req.fillCustomer(&form); err != nil {
		return err
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	checked.dropMissing()
	return req.respondDraft(http.StatusOK, checked, draftPage{Action: newPath, Back: "/invoices"},
		focus{Path: "invoice_number"}, nil)
}

// duplicateDraft shows the form of a new draft, filled with a copy of an invoice.
func (req *request) duplicateDraft() error {
	return req.respondCopy(func(*draftForm, *draftPage) error { return nil })
}

// replaceDraft shows the form of a new draft that replaces an invoice, such as one that the tax authority rejected: a
// copy whose note names that invoice.
func (req *request) replaceDraft() error {
	return req.respondCopy(func(values *draftForm, p *draftPage) error {
		p.Replaces, p.CopyOf = p.CopyOf, ""
		// a part of the document, whatever language the page has
		note, err := req.Console.words[language.English].messages.Text("draft.replaces.note", p.Replaces)
		if known := values.Fields["note"]; known != "" {
			note = known + "\n" + note
		}
		values.Fields["note"] = note
		return err
	})
}

// respondCopy responds with the form of a new draft, filled with a copy of an invoice and the next number, which edit
// has changed.
func (req *request) respondCopy(edit func(*draftForm, *draftPage) error) error {
	found, err := req.invoiceOfPath()
	if err != nil {
		return err
	}
	values, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	today, err := req.today()
	if err != nil {
		return err
	}
	values.prepareCopy(today)
	suggested, err := view.Of(req.session.Tenant).Suggest(req.R.Context())
	if err != nil {
		return err
	}
	values.Fields["invoice_number"] = suggested.Number
	p := draftPage{Action: newPath, Back: "/invoices/" + found.ID.String(), CopyOf: deref(found.Draft.InvoiceNumber)}
	if err := edit(&values, &p); err != nil {
		return err
	}
	checked, err := req.check(req.words.showInput(values))
	if err != nil {
		return err
	}
	checked.dropMissing()
	return req.respondDraft(http.StatusOK, checked, p, focus{Path: "invoice_number"}, nil)
}

// invoiceOfPath reads the invoice that the path identifies.
func (req *request) invoiceOfPath() (invoices.Invoice, error) {
	id, err := req.ID("invoice")
	if err != nil {
		return invoices.Invoice{}, err
	}
	if err := req.acquireForInvoice(id); err != nil {
		return invoices.Invoice{}, err
	}
	return invoices.Find(req.R.Context(), req.session.Tenant, id)
}

// createDraft creates a draft from the form, or executes a button of the form.
func (req *request) createDraft() error {
	form := readDraftForm(req.Form)
	p := draftPage{Action: newPath, Back: "/invoices", CopyOf: req.Form.Get("copy_of"), Replaces: req.Form.Get("replaces"),
		ShowMissing: req.Form.Get("show_missing") != ""}
	if at, acted, err := req.press(&form); acted || err != nil {
		if err != nil {
			return err
		}
		return req.respondButton(form, p, at)
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	if done, err := req.preview(&checked, p.Action); done || err != nil {
		return err
	}
	submit, err := req.mayProceed(&checked, &p)
	if err != nil {
		return err
	}
	if len(checked.faults)+len(p.Needs) > 0 {
		return req.respondFaults(checked, p)
	}
	id, err := req.saveOnce(&checked.draft)
	if err != nil {
		return err
	}
	full, err := req.saveToBook(&checked)
	switch {
	case err != nil:
		return err
	case full:
		return req.Redirect(page.WithNotice("/invoices/"+id.String(), "bad.book_full"))
	case submit:
		return req.submitSaved(id)
	}
	return req.Redirect(page.WithNotice("/invoices/"+id.String(), "good.created"))
}

// editDraft shows the form of a draft or of a rejected invoice.
func (req *request) editDraft() error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, live, err := req.creditedInvoice(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		return req.respondInvoice(http.StatusConflict, id, req.Pages.Texts.Notice("bad.not_editable"))
	}
	values, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	checked, err := req.check(req.words.showInput(values))
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.ShowMissing = true
	return req.respondDraft(http.StatusOK, checked, p, focus{}, nil)
}

// editable reports whether the API's PATCH would accept a change of the invoice.
func editable(found invoices.Invoice, live []invoice.Credit) bool {
	return len(live) == 0 && (found.Submission == nil || found.Submission.Correctable())
}

// editPage returns the view model for editing a version of an invoice.
func editPage(found invoices.Invoice, version int64) draftPage {
	path := "/invoices/" + found.ID.String()
	return draftPage{ID: found.ID.String(), Action: path + "/edit", Back: path, Saved: deref(found.Draft.InvoiceNumber),
		Version: version, Rejected: api.Outcome(outcomeOf(found)).Rejected()}
}

// errFormFaults reports that a form has faults.
var errFormFaults = errors.New("form has faults")

// changeDraft updates a draft under the rules of the API's PATCH with If-Match, or executes a button of the form. The
// input stays in the form in every case.
func (req *request) changeDraft() error {
	found, err := req.invoiceOfPath()
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(req.Form.Get("version"), 10, 64)
	if err != nil {
		version = 0 // no invoice has this version
	}
	form := readDraftForm(req.Form)
	p := editPage(found, version)
	p.ShowMissing = true
	if at, acted, err := req.press(&form); acted || err != nil {
		if err != nil {
			return err
		}
		return req.respondButton(form, p, at)
	}
	checked, err := req.check(form)
	if err != nil {
		return err
	}
	if done, err := req.preview(&checked, p.Action); done || err != nil {
		return err
	}
	submit, err := req.mayProceed(&checked, &p)
	if err != nil {
		return err
	}
	_, err = invoices.Update(req.R.Context(), req.session.Tenant, found.ID,
		func(current int64) bool { return current == version }, func(current []byte) (api.Draft, error) {
			if len(checked.faults)+len(p.Needs) > 0 {
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
	case errors.Is(err, errFormFaults):
		return req.respondFaults(checked, p)
	case errUnsaved(err):
		return req.respondUnsaved(checked, found.ID, submit)
	case err != nil:
		return err
	}
	full, err := req.saveToBook(&checked)
	switch {
	case err != nil:
		return err
	case full:
		return req.Redirect(page.WithNotice("/invoices/"+found.ID.String(), "bad.book_full"))
	case submit:
		return req.submitSaved(found.ID)
	}
	return req.Redirect(page.WithNotice("/invoices/"+found.ID.String(), "good.saved"))
}

// respondUnsaved responds to an edit that did not apply to the stored version.
func (req *request) respondUnsaved(checked checkedForm, id base.ID, submit bool) error {
	if submit {
		if done, err := req.submitStale(&checked, id); done || err != nil {
			return err
		}
	}
	return req.respondStale(checked, id)
}

// respondStale responds to an edit of an outdated version. Nothing was stored. The page lists the fields in which the
// stored invoice differs, and sending the form again overwrites them. If the invoice can no longer be changed, the
// input can become a new draft.
func (req *request) respondStale(checked checkedForm, id base.ID) error {
	found, live, err := req.creditedInvoice(id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		p := draftPage{Action: newPath, Back: "/invoices/" + id.String(), CopyOf: deref(found.Draft.InvoiceNumber),
			ShowMissing: true}
		return req.respondDraft(http.StatusConflict, checked, p, focus{}, req.Pages.Texts.Notice("bad.fixed"))
	}
	stored, err := draftFormOf(&found.Draft)
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.ShowMissing, p.Stale, p.Differs = true, true, checked.values.withoutEmptyLines().differences(stored)
	return req.respondDraft(http.StatusConflict, checked, p, focus{}, nil)
}

// press executes the action of a button that saves nothing. acted is false for any other button.
func (req *request) press(form *draftForm) (at focus, acted bool, err error) {
	do := req.Form.Get("do")
	switch do {
	case doTotal:
		checked, err := req.check(*form)
		if err != nil {
			return focus{}, true, err
		}
		if total := invoice.Compute(&checked.draft).Total; total != nil {
			form.Fields["total_amount"] = page.Grouped(total.String())
		}
	case doFill:
		if err := req.fillRecipient(form); err != nil {
			return focus{}, true, err
		}
	}
	if line, err := strconv.Atoi(strings.TrimPrefix(do, doItem+":")); err == nil && strings.HasPrefix(do, doItem+":") &&
		0 <= line && line < len(form.Items) {
		if err := req.fillItem(form, line); err != nil {
			return focus{}, true, err
		}
	}
	if at, acted = form.apply(do); do == doAdd {
		err = req.settleRate(form, len(form.Items)-1)
	}
	return at, acted, err
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
	if paths := append(checked.faultPaths(), p.Needs...); len(paths) > 0 {
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
	if !req.IsFragment() {
		return req.respondDraft(http.StatusOK, checked, p, at, nil)
	}
	page, err := req.buildDraftPage(&checked, p, at)
	if err != nil {
		return err
	}
	req.markChanged(&page, &checked.form)
	return req.part("draft", "form-parts", page)
}

// markChanged marks the lines of a page that the form in the browser does not have as they are, and those that it has
// no more.
func (req *request) markChanged(p *draftPage, form *draftForm) {
	before, notes := readDraftForm(req.Form).Items, req.changedGroups(p.Sums.Shown)
	for n := range p.Lines {
		l := &p.Lines[n]
		l.Changed = n >= len(before) || notes[n+1] || !maps.Equal(before[n], form.Items[n]) ||
			l.Last != (n == len(before)-1) || l.hasFocus()
	}
	for n := len(p.Lines); n < len(before); n++ {
		p.Gone = append(p.Gone, n)
	}
}

// respondDraft responds with the whole page.
func (req *request) respondDraft(status int, checked checkedForm, p draftPage, at focus, flash *page.Notice) error {
	p, err := req.buildDraftPage(&checked, p, at)
	if err != nil {
		return err
	}
	var title string
	switch {
	case p.Saved != "":
		title, err = req.Text("draft.edit", p.Saved)
	default:
		title, err = req.Text("draft.new")
	}
	if err != nil {
		return err
	}
	return req.Show(status, "draft", "", page.Layout{Title: title, Section: "invoices", Notice: flash, Body: p})
}

// part responds with one template of a page's file.
func (req *request) part(page, name string, data any) error {
	return req.Render(http.StatusOK, page, name, data)
}

// checkPage is the feedback on a form while the user types.
type checkPage struct {
	Sums   draftSums
	Groups []noteGroup
}

// checkDraft responds with the feedback on a form that has changed. It stores nothing.
func (req *request) checkDraft() error {
	checked, err := req.check(readDraftForm(req.Form))
	if err != nil {
		return err
	}
	checked.dropMissing()
	checked.dropChoices()
	if err := req.warnUsedNumber(&checked, req.Form.Get("invoice")); err != nil {
		return err
	}
	showMissing := req.Form.Get("show_missing") != ""
	sums, err := req.sums(&checked)
	if err != nil {
		return err
	}
	groups := draftGroups(checked.fields(draftFields, "", "", checked.form.Fields, checked.values.Fields, showMissing),
		checked.lines(showMissing))
	sums.Shown = digests(groups)
	return req.part("draft", "check", checkPage{Sums: sums, Groups: req.changedNotes(groups, sums.Shown)})
}
