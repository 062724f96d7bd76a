package console

import (
	"bytes"
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/problem"
)

// The errors that only pages report.
var (
	errPreserved        = problem.Named("preserved", api.CodePayloadTooLarge, "the form is too large to be kept")
	errBulk             = problem.Named("bulk", api.CodeMalformedRequest, "too many invoices at once")
	errProfile          = problem.Named("profile", api.CodeMalformedRequest, "unknown document format")
	errExport           = problem.Named("export", api.CodeMalformedRequest, "unknown filter or format of a file")
	errUpload           = problem.Named("upload", api.CodePayloadTooLarge, "the file is too large")
	errUploadGone       = problem.Named("upload_gone", api.CodeNotFound, "the file is not kept any more")
	errWithheld         = problem.Named("withheld", api.CodeForbidden, "the body contains a credential")
	errWithheldDocument = problem.Named("withheld_document", api.CodeForbidden, "the document contains a credential")
	errNotRetained      = problem.Named("not_retained", api.CodeNotFound, "the document was not stored")
)

// problemPage is the view model of an error page. It contains nothing about the cause.
type problemPage struct {
	Status int
	// Text is the advice below the title, or "".
	Text      string
	RequestID string
}

// problemTexts returns the title and the advice of the page about a problem: the texts of its name, else of its code,
// and else those of all problems that are not known.
func (c catalogue) problemTexts(p *problem.Problem) (title, text string) {
	for _, key := range []string{p.Name(), string(p.Code())} {
		if title, known := c.lookup("error." + key + ".title"); known && (key != string(api.CodeInternal) ||
			p.Status() >= http.StatusInternalServerError) {
			return title, c.textOr("error."+key+".text", "")
		}
	}
	return c.textOr("error.other.title", ""), c.textOr("error.other.text", "")
}

// respondError responds with the page of an error. It returns internal errors, for the log.
func (req *request) respondError(err error) error {
	p := problem.Of(err)
	p.SetHeader(req.w.Header())
	title, text := req.pages.messages.problemTexts(p)
	shownErr := req.page(p.Status(), "error", pageData{Title: title,
		Body: problemPage{Status: p.Status(), Text: text, RequestID: req.w.Header().Get(api.HeaderRequestID)}})
	if shownErr != nil { // the layout itself is broken
		shownErr = errors.Join(shownErr, req.send(http.StatusInternalServerError, "text/plain; charset=utf-8",
			bytes.NewBufferString(http.StatusText(http.StatusInternalServerError)+"\n")))
	}
	if p.Status() < http.StatusInternalServerError {
		return shownErr
	}
	return errors.Join(err, shownErr)
}
