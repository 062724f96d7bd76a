package book

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/console/drafts"
	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

// bookFormPage is the view model of the form of an entry.
type bookFormPage struct {
	Name, Action, Back string
	// Saved is the name of the stored entry, or "" for a new one. Version is the version that was read, and Key identifies
	// the form of a new entry.
	Saved   string
	Version int64
	Key     string
	// Stale reports that somebody else has changed the entry in the meantime, Known that the form has the fields of an
	// invoice to a customer that was there already, and Differs lists the fields that differ.
	Stale, Known bool
	Differs      []string
	// Faults lists the fields with faults, in the order of the form.
	Faults []string
	Groups []bookFieldGroup
}

// bookFieldGroup is some fields of the form under a heading.
type bookFieldGroup struct {
	Name   string
	Fields []*drafts.FormField
}

// checkedEntry is a validated form of an entry.
type checkedEntry[F invoices.BookFields] struct {
	drafts.CheckedForm
	entry F
}

// check reads a form and validates it like the API.
func (b *book[F]) check(req *console.Request, typed map[string]string) (checkedEntry[F], error) {
	specs, unread := b.specs(), api.Faults{}
	currency, _ := req.Words.Codes["currencies"].Resolve(typed["currency"])
	values, err := drafts.ReadFields(req.Words, specs, "", typed, currency, unread)
	if err != nil {
		return checkedEntry[F]{}, err
	}
	var text strictjson.Object
	drafts.AppendFields(&text, specs, values)
	body, err := strictjson.Parse(text.Append(nil))
	if err != nil {
		return checkedEntry[F]{}, problem.For(api.CodeMalformedRequest).Because(err)
	}
	entry, faults := b.decoder.Decode(body)
	draft, prefix := b.draft(&entry)
	faults = faults.With(invoice.Faults(&api.Draft{Currency: draft.Currency}))
	maps.Copy(faults, unread)
	advice := api.Faults{}
	for path, list := range invoice.Warnings(&draft, nil, invoice.Arithmetic{}) {
		if name, ours := strings.CutPrefix(path, prefix); ours && drafts.SpecNamed(specs, name).Name != "" {
			advice[name] = slices.DeleteFunc(list, func(f api.Fault) bool { return f.Rule == "required" })
		}
	}
	return checkedEntry[F]{entry: entry, CheckedForm: drafts.CheckedForm{Form: drafts.Form{Fields: typed},
		Values: drafts.Form{Fields: values}, Messages: req.Words.Messages, Codes: req.Words.Codes,
		Draft: draft, Faults: faults, IsMissing: map[string]bool{}, Advice: advice}}, nil
}

// readForm reads the input of the form.
func (b *book[F]) readForm(req *console.Request) map[string]string {
	typed := map[string]string{}
	for _, spec := range b.specs() {
		typed[spec.Name] = spec.Normalized(req.Form.Get(spec.Name))
	}
	return typed
}

// respondForm responds with the form.
func (b *book[F]) respondForm(req *console.Request, status int, checked *checkedEntry[F], p bookFormPage,
	flash *page.Notice) error {
	fields := checked.Fields(b.specs(), "", "", checked.Form.Fields, checked.Values.Fields, false)
	for _, group := range b.groups {
		out := bookFieldGroup{Name: group.name}
		for _, spec := range group.specs {
			if out.Fields = append(out.Fields, fields[spec.Name]); checked.Faults.Has(spec.Name) {
				p.Faults = append(p.Faults, spec.Name)
			}
		}
		p.Groups = append(p.Groups, out)
	}
	if p.Name = b.name; len(p.Faults) > 0 {
		fields[p.Faults[0]].Focus = true
	} else if p.Saved == "" {
		p.Groups[0].Fields[0].Focus = true
	}
	key, values := "book."+b.name+".new", []any(nil)
	if p.Saved != "" {
		key, values = "book."+b.name+".edit", []any{p.Saved}
	} else if p.Key = req.Form.Get("key"); p.Key == "" {
		var err error
		if p.Key, err = req.NewKey(); err != nil {
			return err
		}
	}
	return req.Show(status, "book_form", key, page.Layout{Section: b.name, Notice: flash, Body: p}, values...)
}

func (b *book[F]) newEntry(req *console.Request) error {
	checked, err := b.check(req, map[string]string{})
	if err != nil {
		return err
	}
	checked.DropMissing()
	return b.respondForm(req, http.StatusOK, &checked, bookFormPage{Action: b.path + "/new", Back: b.path}, nil)
}

// createEntry creates an entry. A repeated request, of a double click or a reload, creates no second one.
func (b *book[F]) createEntry(req *console.Request) error {
	checked, err := b.check(req, b.readForm(req))
	if err != nil {
		return err
	}
	if len(checked.Faults) > 0 {
		return b.respondForm(req, http.StatusUnprocessableEntity, &checked,
			bookFormPage{Action: b.path + "/new", Back: b.path}, nil)
	}
	var made string
	again, err := req.Once(checked.entry, func(ctx context.Context, tenant *base.Tenant) (string, error) {
		created, err := b.of(tenant).Create(ctx, checked.entry)
		made = created.ID.String()
		return made, err
	})
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(b.path+"/"+cmp.Or(again, made), "good."+b.name+"_created"))
}

// editPage returns the view model for editing a version of an entry.
func (b *book[F]) editPage(found *invoices.BookEntry[F], version int64) bookFormPage {
	name, _ := b.names(&found.Fields)
	path := b.path + "/" + found.ID.String()
	return bookFormPage{Action: path + "/edit", Back: path, Saved: name, Version: version}
}

func (b *book[F]) editEntry(req *console.Request) error {
	found, err := b.entryOfPath(req)
	if err != nil {
		return err
	}
	typed := b.show(req.Words, &found.Fields)
	checked, err := b.check(req, typed)
	if err != nil {
		return err
	}
	return b.respondForm(req, http.StatusOK, &checked, b.editPage(&found, found.Version), nil)
}

// changeEntry changes an entry under the rules of the API's PATCH with If-Match. The input stays in the form in every
// case.
func (b *book[F]) changeEntry(req *console.Request) error {
	found, err := b.entryOfPath(req)
	if err != nil {
		return err
	}
	version, err := strconv.ParseInt(req.Form.Get("version"), 10, 64)
	if err != nil {
		version = 0 // no entry has this version
	}
	checked, err := b.check(req, b.readForm(req))
	if err != nil {
		return err
	}
	if len(checked.Faults) > 0 {
		return b.respondForm(req, http.StatusUnprocessableEntity, &checked, b.editPage(&found, version), nil)
	}
	_, err = b.of(req.Session.Tenant).Update(req.R.Context(), found.ID,
		func(current int64) bool { return current == version }, func(current []byte) (F, error) {
			before, err := drafts.Unmarshal[F](current)
			if err != nil {
				return before, err
			}
			fields := invoice.FieldsOf[F]()
			drafts.RestoreLineBreaks(drafts.Multiline(fields, &checked.entry), drafts.Multiline(fields, &before))
			return checked.entry, nil
		})
	if errors.Is(err, invoices.ErrVersion) {
		return b.respondStale(req, &checked)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(b.path+"/"+found.ID.String(), "good."+b.name+"_saved"))
}

// respondStale responds to an edit of an outdated version. Nothing was stored. The page lists the fields in which the
// stored entry differs, and sending the form again overwrites them.
func (b *book[F]) respondStale(req *console.Request, checked *checkedEntry[F]) error {
	found, err := b.entryOfPath(req)
	if err != nil {
		return err
	}
	p := b.editPage(&found, found.Version)
	p.Stale = true
	p.Differs = b.differences(&found.Fields, checked)
	return b.respondForm(req, http.StatusConflict, checked, p, nil)
}

// differences returns the names of the fields in which a form differs from the stored entry.
func (b *book[F]) differences(fields *F, checked *checkedEntry[F]) (names []string) {
	stored := b.values(fields)
	for _, spec := range b.specs() {
		if spec.Normalized(stored[spec.Name]) != checked.Values.Fields[spec.Name] {
			names = append(names, spec.Name)
		}
	}
	return names
}

// deleteEntry deletes an entry if it still has the version that the user saw. Otherwise the page shows its current
// state.
func (b *book[F]) deleteEntry(req *console.Request) error {
	id, err := req.ID("entry")
	if err != nil {
		return err
	}
	seen := req.Form.Get("version")
	err = b.of(req.Session.Tenant).Delete(req.R.Context(), id,
		func(version int64) bool { return strconv.FormatInt(version, 10) == seen })
	if errors.Is(err, invoices.ErrVersion) {
		return b.respondEntry(req, http.StatusConflict, req.Pages.Texts.Notice("bad.entry_changed"))
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(b.path, "good."+b.name+"_deleted"))
}
