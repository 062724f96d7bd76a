package console

import (
	"quittance/client/api"
	"quittance/internal/platform/problem"
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
