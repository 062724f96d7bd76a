package drafts

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"

	"golang.org/x/text/language"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

func draftRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/invoices/new", Needs: access.Write, Serve: newDraft},
		{Method: http.MethodPost, Path: "/invoices/new", Needs: access.Write, Serve: createDraft, Large: true},
		{Method: http.MethodPost, Path: "/invoices/check", Needs: access.Write, Serve: checkDraft, Large: true},
		{Method: http.MethodGet, Path: "/invoices/recipients", Needs: access.Write, Serve: listRecipients},
		{Method: http.MethodGet, Path: "/invoices/items", Needs: access.Write, Serve: listItems},
		{Method: http.MethodPost, Path: "/invoices/recipient", Needs: access.Write, Serve: lookUpRecipient},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/edit", Needs: access.Write, Serve: editDraft},
		{Method: http.MethodPost, Path: "/invoices/{invoice}/edit", Needs: access.Write, Serve: changeDraft,
			Large: true},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/duplicate", Needs: access.Write,
			Serve: duplicateDraft},
		{Method: http.MethodGet, Path: "/invoices/{invoice}/replace", Needs: access.Write, Serve: replaceDraft},
		{Method: http.MethodGet, Path: "/codes/{list}", Needs: access.Read, Serve: showCodes},
	}
}

// newPath is the page of a new draft and the target of its form.
const newPath = "/invoices/new"

// newDraft shows the form of a new draft.
func newDraft(req *console.Request) error {
	values, err := suggestedDraft(req)
	if err != nil {
		return err
	}
	form := showInput(req.Words, values)
	if err := fillCustomer(req, &form); err != nil {
		return err
	}
	checked, err := check(req, form)
	if err != nil {
		return err
	}
	checked.DropMissing()
	return respondDraft(req, http.StatusOK, checked, draftPage{Action: newPath, Back: "/invoices"},
		focus{Path: "invoice_number"}, nil)
}

// duplicateDraft shows the form of a new draft, filled with a copy of an invoice.
func duplicateDraft(req *console.Request) error {
	return respondCopy(req, func(*Form, *draftPage) error { return nil })
}

// replaceDraft shows the form of a new draft that replaces an invoice, such as one that the tax authority rejected: a
// copy whose note names that invoice.
func replaceDraft(req *console.Request) error {
	return respondCopy(req, func(values *Form, p *draftPage) error {
		p.Replaces, p.CopyOf = p.CopyOf, ""
		// a part of the document, whatever language the page has
		note, err := req.Console.Words[language.English].Messages.Text("draft.replaces.note", p.Replaces)
		if known := values.Fields["note"]; known != "" {
			note = known + "\n" + note
		}
		values.Fields["note"] = note
		return err
	})
}

// respondCopy responds with the form of a new draft, filled with a copy of an invoice and the next number, which edit
// has changed.
func respondCopy(req *console.Request, edit func(*Form, *draftPage) error) error {
	found, err := documents.InvoiceOfPath(req)
	if err != nil {
		return err
	}
	values := draftFormOf(&found.Draft)
	today, err := req.Today()
	if err != nil {
		return err
	}
	values.prepareCopy(today)
	suggested, err := view.Of(req.Session.Tenant).Suggest(req.R.Context())
	if err != nil {
		return err
	}
	values.Fields["invoice_number"] = suggested.Number
	p := draftPage{Action: newPath, Back: "/invoices/" + found.ID.String(),
		CopyOf: console.Deref(found.Draft.InvoiceNumber)}
	if err := edit(&values, &p); err != nil {
		return err
	}
	checked, err := check(req, showInput(req.Words, values))
	if err != nil {
		return err
	}
	checked.DropMissing()
	return respondDraft(req, http.StatusOK, checked, p, focus{Path: "invoice_number"}, nil)
}

// createDraft creates a draft from the form, or executes a button of the form.
func createDraft(req *console.Request) error {
	form := readDraftForm(req.Form)
	p := draftPage{Action: newPath, Back: "/invoices", CopyOf: req.Form.Get("copy_of"), Replaces: req.Form.Get("replaces"),
		ShowMissing: req.Form.Get("show_missing") != ""}
	if at, acted, err := press(req, &form); acted || err != nil {
		if err != nil {
			return err
		}
		return respondButton(req, form, p, at)
	}
	checked, err := check(req, form)
	if err != nil {
		return err
	}
	if done, err := preview(req, &checked, p.Action); done || err != nil {
		return err
	}
	submit, err := mayProceed(req, &checked, &p)
	if err != nil {
		return err
	}
	if len(checked.Faults)+len(p.Needs) > 0 {
		return respondFaults(req, checked, p)
	}
	id, err := saveOnce(req, &checked.Draft)
	if err != nil {
		return err
	}
	full, err := saveToBook(req, &checked)
	switch {
	case err != nil:
		return err
	case full:
		return req.Redirect(page.WithNotice("/invoices/"+id.String(), "bad.book_full"))
	case submit:
		return submitSaved(req, id)
	}
	return req.Redirect(page.WithNotice("/invoices/"+id.String(), "good.created"))
}

// editDraft shows the form of a draft or of a rejected invoice.
func editDraft(req *console.Request) error {
	id, err := req.ID("invoice")
	if err != nil {
		return err
	}
	found, live, err := documents.CreditedInvoice(req, id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		return documents.RespondInvoice(req, http.StatusConflict, id, req.Pages.Texts.Notice("bad.not_editable"))
	}
	values := draftFormOf(&found.Draft)
	checked, err := check(req, showInput(req.Words, values))
	if err != nil {
		return err
	}
	p := editPage(found, found.Version)
	p.ShowMissing = true
	return respondDraft(req, http.StatusOK, checked, p, focus{}, nil)
}

// editable reports whether the API's PATCH would accept a change of the invoice.
func editable(found invoices.Invoice, live []invoice.Credit) bool {
	return len(live) == 0 && (found.Submission == nil || found.Submission.Correctable())
}

// editPage returns the view model for editing a version of an invoice.
func editPage(found invoices.Invoice, version int64) draftPage {
	path := "/invoices/" + found.ID.String()
	return draftPage{ID: found.ID.String(), Action: path + "/edit", Back: path,
		Saved:   console.Deref(found.Draft.InvoiceNumber),
		Version: version, Rejected: api.Outcome(documents.OutcomeOf(found)).Rejected()}
}

// errFormFaults reports that a form has faults.
var errFormFaults = errors.New("form has faults")

// changeDraft updates a draft under the rules of the API's PATCH with If-Match, or executes a button of the form. The
// input stays in the form in every case.
func changeDraft(req *console.Request) error {
	found, err := documents.InvoiceOfPath(req)
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
	if at, acted, err := press(req, &form); acted || err != nil {
		if err != nil {
			return err
		}
		return respondButton(req, form, p, at)
	}
	checked, err := check(req, form)
	if err != nil {
		return err
	}
	if done, err := preview(req, &checked, p.Action); done || err != nil {
		return err
	}
	submit, err := mayProceed(req, &checked, &p)
	if err != nil {
		return err
	}
	_, err = invoices.Update(req.R.Context(), req.Session.Tenant, found.ID,
		func(current int64) bool { return current == version }, func(current []byte) (api.Draft, error) {
			if len(checked.Faults)+len(p.Needs) > 0 {
				return api.Draft{}, errFormFaults
			}
			var before api.Draft
			if err := json.Unmarshal(current, &before); err != nil {
				return api.Draft{}, fmt.Errorf("stored draft: %w", err)
			}
			restoreLineBreaks(&checked.Draft, &before)
			return checked.Draft, nil
		})
	switch {
	case errors.Is(err, errFormFaults):
		return respondFaults(req, checked, p)
	case errUnsaved(err):
		return respondUnsaved(req, checked, found.ID, submit)
	case err != nil:
		return err
	}
	full, err := saveToBook(req, &checked)
	switch {
	case err != nil:
		return err
	case full:
		return req.Redirect(page.WithNotice("/invoices/"+found.ID.String(), "bad.book_full"))
	case submit:
		return submitSaved(req, found.ID)
	}
	return req.Redirect(page.WithNotice("/invoices/"+found.ID.String(), "good.saved"))
}

// respondUnsaved responds to an edit that did not apply to the stored version.
func respondUnsaved(req *console.Request, checked CheckedForm, id base.ID, submit bool) error {
	if submit {
		if done, err := submitStale(req, &checked, id); done || err != nil {
			return err
		}
	}
	return respondStale(req, checked, id)
}

// respondStale responds to an edit of an outdated version. Nothing was stored. The page lists the fields in which the
// stored invoice differs, and sending the form again overwrites them. If the invoice can no longer be changed, the
// input can become a new draft.
func respondStale(req *console.Request, checked CheckedForm, id base.ID) error {
	found, live, err := documents.CreditedInvoice(req, id)
	if err != nil {
		return err
	}
	if !editable(found, live) {
		p := draftPage{Action: newPath, Back: "/invoices/" + id.String(), CopyOf: console.Deref(found.Draft.InvoiceNumber),
			ShowMissing: true}
		return respondDraft(req, http.StatusConflict, checked, p, focus{}, req.Pages.Texts.Notice("bad.fixed"))
	}
	stored := draftFormOf(&found.Draft)
	p := editPage(found, found.Version)
	p.ShowMissing, p.Stale, p.Differs = true, true, checked.Values.withoutEmptyLines().differences(stored)
	return respondDraft(req, http.StatusConflict, checked, p, focus{}, nil)
}

// press executes the action of a button that saves nothing. acted is false for any other button.
func press(req *console.Request, form *Form) (at focus, acted bool, err error) {
	do := req.Form.Get("do")
	switch do {
	case doTotal:
		checked, err := check(req, *form)
		if err != nil {
			return focus{}, true, err
		}
		if total := checked.arithmetic.Compute(&checked.Draft).Total; total != nil {
			form.Fields["total_amount"] = page.Grouped(total.String())
		}
	case doFill:
		if err := fillRecipient(req, form); err != nil {
			return focus{}, true, err
		}
	}
	if line, err := strconv.Atoi(strings.TrimPrefix(do, doItem+":")); err == nil && strings.HasPrefix(do, doItem+":") &&
		0 <= line && line < len(form.Items) {
		if err := fillItem(req, form, line); err != nil {
			return focus{}, true, err
		}
	}
	before := len(form.Entries)
	switch at, acted = form.apply(do); {
	case do == doAdd:
		err = settleRate(req, form, form.Items[len(form.Items)-1].Fields)
	case len(form.Entries) > before:
		err = settleRate(req, form, form.Entries[before].Fields)
	}
	return at, acted, err
}

// differences returns the paths of the fields in which two forms differ, in the order of the form.
func (f Form) differences(other Form) []string {
	var paths []string
	compare := func(specs []FieldSpec, prefix string, mine, theirs map[string]string) {
		for _, spec := range specs {
			if mine[spec.Name] != theirs[spec.Name] {
				paths = append(paths, prefix+spec.Name)
			}
		}
	}
	compare(Fields, "", f.Fields, other.Fields)
	paths = append(paths, differentEntries("", draftLists, f.Entries, other.Entries)...)
	for n := range max(len(f.Items), len(other.Items)) {
		prefix := linePrefix(n)
		switch {
		case n >= len(f.Items) || n >= len(other.Items):
			paths = append(paths, prefix+"name")
		default:
			mine, theirs := f.Items[n], other.Items[n]
			compare(ItemFields, prefix, mine.Fields, theirs.Fields)
			paths = append(paths, differentEntries(prefix, lineLists, mine.Entries, theirs.Entries)...)
		}
	}
	return paths
}

// respondFaults responds with the form and its faults.
func respondFaults(req *console.Request, checked CheckedForm, p draftPage) error {
	p.ShowMissing = true
	first := focus{}
	if paths := append(checked.faultPaths(), p.Needs...); len(paths) > 0 {
		first.Path = paths[0]
	}
	return respondDraft(req, http.StatusUnprocessableEntity, checked, p, first, nil)
}

// respondButton responds to a button of the form that saves nothing.
func respondButton(req *console.Request, form Form, p draftPage, at focus) error {
	checked, err := check(req, form)
	if err != nil {
		return err
	}
	checked.DropMissing()
	if !req.IsFragment() {
		return respondDraft(req, http.StatusOK, checked, p, at, nil)
	}
	page, err := buildDraftPage(req, &checked, p, at)
	if err != nil {
		return err
	}
	markChanged(req, &page, &checked.Form)
	return req.Part("draft", "form-parts", page)
}

// markChanged marks the lines of a page that the form in the browser does not have as they are, and those that it has
// no more.
func markChanged(req *console.Request, p *draftPage, form *Form) {
	before, notes := readDraftForm(req.Form).Items, changedGroups(req, p.Sums.Shown)
	for n := range p.Lines {
		l := &p.Lines[n]
		l.Changed = n >= len(before) || notes[n+1] || !before[n].equal(form.Items[n]) ||
			l.Last != (n == len(before)-1) || l.hasFocus()
	}
	for n := len(p.Lines); n < len(before); n++ {
		p.Gone = append(p.Gone, n)
	}
}

// respondDraft responds with the whole page.
func respondDraft(req *console.Request, status int, checked CheckedForm, p draftPage, at focus,
	flash *page.Notice) error {
	p, err := buildDraftPage(req, &checked, p, at)
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

// checkPage is the feedback on a form while the user types.
type checkPage struct {
	Sums   draftSums
	Groups []noteGroup
}

// checkDraft responds with the feedback on a form that has changed. It stores nothing.
func checkDraft(req *console.Request) error {
	checked, err := check(req, readDraftForm(req.Form))
	if err != nil {
		return err
	}
	checked.DropMissing()
	checked.dropChoices()
	if err := warnUsedNumber(req, &checked, req.Form.Get("invoice")); err != nil {
		return err
	}
	showMissing := req.Form.Get("show_missing") != ""
	sums, err := sums(req, &checked)
	if err != nil {
		return err
	}
	groups := draftGroups(checked.Fields(Fields, "", "", checked.Form.Fields, checked.Values.Fields, showMissing),
		checked.entries("", showMissing), checked.lines(showMissing))
	sums.Shown = digests(groups)
	return req.Part("draft", "check", checkPage{Sums: sums, Groups: changedNotes(req, groups, sums.Shown)})
}
