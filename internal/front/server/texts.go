package server

import (
	"embed"
	"fmt"
	"path"
	"strings"
	"text/template"

	"quittance/client/api"
)

//go:embed texts/*.md
var textFiles embed.FS

// operationTexts returns the descriptions of the operations by their names. Each is a file in texts, a template that
// may contain others; those whose names begin with an underscore are only parts.
func operationTexts() (map[string]string, error) {
	files, err := template.ParseFS(textFiles, "texts/*.md")
	if err != nil {
		return nil, fmt.Errorf("read the texts of the API: %w", err)
	}
	texts := map[string]string{}
	for _, file := range files.Templates() {
		var text strings.Builder
		if err := file.Execute(&text, nil); err != nil {
			return nil, fmt.Errorf("read the texts of the API: %w", err)
		}
		paragraphs := strings.Split(strings.TrimSpace(text.String()), "\n\n")
		for n, paragraph := range paragraphs {
			paragraphs[n] = strings.Join(strings.Fields(paragraph), " ")
		}
		texts[strings.TrimSuffix(path.Base(file.Name()), ".md")] = strings.Join(paragraphs, "\n\n")
	}
	return texts, nil
}

// submitUnknown describes the response to a submission of unknown outcome.
const submitUnknown = "It is not known whether the provider has the document. The service polls the provider; do not create a new one. Read the document, or wait for the webhook."

// The media types of files: UBL documents and pages.
const (
	xmlType = "application/xml"
	pdfType = "application/pdf"
)

// documentCodes are the errors of a document.
var documentCodes = []api.Code{api.CodeValidationFailed, api.CodeInvoiceIncomplete} //nolint:gochecknoglobals // a constant table

// submitCodes are the errors of a submission, in the order in which they are checked.
var submitCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeInvoiceIncomplete, api.CodeProviderConnectionRequired,
	api.CodeProductionNotApproved, api.CodeDuplicateInvoiceNumber, api.CodeProviderError}

// submitCreditCodes are the same for a credit note.
var submitCreditCodes = []api.Code{ //nolint:gochecknoglobals // a constant table
	api.CodeSubmissionInProgress, api.CodeCreditNoteSubmissionDisabled, api.CodeCreditNoteNotEditable,
	api.CodeInvoiceNotAcknowledged, api.CodeInvoiceIncomplete,
	api.CodeProductionNotApproved, api.CodeDuplicateCreditNoteNumber, api.CodeProviderError}
