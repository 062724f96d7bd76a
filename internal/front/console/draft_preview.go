package console

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/platform/problem"
)

// The buttons that show the document that a form would become. They save nothing.
const (
	doPreview    = "preview"
	doPreviewPDF = "preview-pdf"
	doPreviewXML = "preview-xml"
)

// previewID is the identifier in the XML of a preview. No invoice has it.
const previewID = "00000000-0000-0000-0000-000000000000"

// previewForm repeats the form of a preview, so that its buttons can show the same document in other formats.
type previewForm struct {
	Action string
	Fields []page.Field
	// Format is the document format of the company's connection, or "".
	Format string
	// Faults and Needs are the paths of the fields that must be corrected or are required to submit.
	Faults, Needs []string
}

// preview shows the document that a form would become. done is false for any other button.
func (req *request) preview(checked *checkedForm, action string) (done bool, err error) {
	do := req.Form.Get("do")
	if do != doPreview && do != doPreviewPDF && do != doPreviewXML {
		return false, nil
	}
	if do == doPreview {
		return true, req.respondPreview(checked, action)
	}
	if len(checked.faults) > 0 {
		return true, document.ErrIncomplete.Because(errFormFaults)
	}
	o, err := view.Preview(&req.session, &checked.draft, previewID, document.Profile(req.session.Account.Format))
	if _, incomplete := errors.AsType[*document.IncompleteError](err); incomplete && do == doPreviewPDF {
		o, err = view.Preview(&req.session, &checked.draft, previewID, "") // the pages need no document
	}
	switch {
	case err != nil:
		return true, err
	case do == doPreviewPDF:
		return true, req.sendPDF(req.Printer.Outgoing(req.R.Context(), &req.session, &o))
	case o.XML == nil:
		return true, problem.For(api.CodeNotFound)
	}
	file := view.XMLFile(o.Number(), o.XML)
	return true, req.sendFile(&file)
}

// respondPreview responds with the page of a document that is not stored.
func (req *request) respondPreview(checked *checkedForm, action string) error {
	fields := previewForm{Action: action, Format: req.session.Account.Format, Faults: checked.faultPaths(),
		Needs: checked.missing}
	for _, name := range slices.Sorted(maps.Keys(req.Form)) {
		for _, value := range req.Form[name] {
			if name != "do" {
				fields.Fields = append(fields.Fields, page.Field{Name: name, Value: value})
			}
		}
	}
	d := &checked.draft
	p := printPage{Invoice: api.Invoice{Draft: *d}, Seller: *req.profile(), Document: req.words.newShownDocument(d),
		Outcome: "draft", At: req.Now(), Preview: &fields}
	return req.Show(http.StatusOK, "print", "preview.title", page.Layout{Section: "invoices", Body: p})
}
