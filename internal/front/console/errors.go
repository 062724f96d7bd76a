package console

import (
	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// The errors that only pages report.
var (
	errPreserved        = problem.Named("preserved", api.CodePayloadTooLarge, "the form is too large to be kept")
	ErrEntries          = problem.Named("entries", api.CodePayloadTooLarge, "too many entries of lists for a form")
	ErrBulk             = problem.Named("bulk", api.CodeMalformedRequest, "too many invoices at once")
	ErrProfile          = problem.Named("profile", api.CodeMalformedRequest, "unknown document format")
	errExport           = problem.Named("export", api.CodeMalformedRequest, "unknown filter or format of a file")
	ErrUpload           = problem.Named("upload", api.CodePayloadTooLarge, "the file is too large")
	ErrUploadGone       = problem.Named("upload_gone", api.CodeNotFound, "the file is not kept any more")
	ErrWithheld         = problem.Named("withheld", api.CodeForbidden, "the body contains a credential")
	ErrWithheldDocument = problem.Named("withheld_document", api.CodeForbidden, "the document contains a credential")
	ErrNotRetained      = problem.Named("not_retained", api.CodeNotFound, "the document was not stored")
)
