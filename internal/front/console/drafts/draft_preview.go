package drafts

import (
	"errors"
	"maps"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/document"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
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

// preview shows the document that a form would become. done is false for any other button.
func preview(req *console.Request, checked *CheckedForm, action string) (done bool, err error) {
	do := req.Form.Get("do")
	if do != doPreview && do != doPreviewPDF && do != doPreviewXML {
		return false, nil
	}
	if do == doPreview {
		return true, respondPreview(req, checked, action)
	}
	if len(checked.Faults) > 0 {
		return true, document.ErrIncomplete.Because(errFormFaults)
	}
	o, err := view.Preview(&req.Session, &checked.Draft, previewID, document.Profile(req.Session.Account.Format))
	if _, incomplete := errors.AsType[*document.IncompleteError](err); incomplete && do == doPreviewPDF {
		o, err = view.Preview(&req.Session, &checked.Draft, previewID, "") // the pages need no document
	}
	switch {
	case err != nil:
		return true, err
	case do == doPreviewPDF:
		return true, req.SendMade(req.Printer.Outgoing(req.R.Context(), &req.Session, &o))
	case o.XML == nil:
		return true, problem.For(api.CodeNotFound)
	}
	file := view.XMLFile(o.Number(), o.XML)
	return true, req.SendFile(&file)
}

// respondPreview responds with the page of a document that is not stored.
func respondPreview(req *console.Request, checked *CheckedForm, action string) error {
	fields := documents.PreviewForm{Action: action, Format: req.Session.Account.Format, Faults: checked.faultPaths(),
		Needs: checked.missing}
	for _, name := range slices.Sorted(maps.Keys(req.Form)) {
		for _, value := range req.Form[name] {
			if name != "do" {
				fields.Fields = append(fields.Fields, page.Field{Name: name, Value: value})
			}
		}
	}
	d := &checked.Draft
	p := documents.PrintPage{Invoice: api.Invoice{Draft: *d}, Seller: *req.Profile(),
		Document: documents.NewShownDocument(req.Words, d, req.Arithmetic()), Outcome: "draft", At: req.Now(),
		Preview: &fields}
	return req.Show(http.StatusOK, "print", "preview.title", page.Layout{Section: "invoices", Body: p})
}
