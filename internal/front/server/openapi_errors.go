package server

import (
	"github.com/danielgtaylor/huma/v2"

	"quittance/client/api"
	"quittance/internal/platform/problem"
)

// errorsPath is the page of the API reference that describes every error code, each at an anchor with its name.
const errorsPath = "/docs/reference/errors"

// exampleDetails are the details of the example of a code; those of the other codes are {}.
var exampleDetails = map[api.Code]map[string]any{ //nolint:gochecknoglobals // a constant table
	api.CodeMalformedRequest:          {"line": 1, "column": 22},
	api.CodeDuplicateInvoiceNumber:    {"invoice_id": "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"},
	api.CodeDuplicateCreditNoteNumber: {"credit_note_id": "0195b1f0-4c00-7a3e-9d2b-6f1c2a7e8b90"},
	api.CodeLimitReached:              {"quota": "drafts", "limit": 200000},
	api.CodeValidationFailed: {
		"currency": []api.Fault{{Rule: "currency",
			Message: "must be a currency code of ISO 4217, in capital letters"}},
		"items[0].net_unit_price": []api.Fault{{Rule: "type", Message: "must be a number"}}},
	api.CodeInvoiceIncomplete:  {"due_date": []api.Fault{{Rule: "required", Message: "is required for submission"}}},
	api.CodeDocumentUnreadable: {"document": []api.Fault{{Rule: "not_retained", Message: "the bytes were not retained"}}},
	api.CodeTooManyRows:        {"rows": []api.Fault{{Rule: "max_rows", Message: "a file has at most 100000 rows"}}},
	api.CodeUnsafeDestination:  {"url": []api.Fault{{Rule: "scheme", Message: "must be https"}}},
}

// errorExamples returns an example of the response body for every error code: what errorBody makes of it.
func errorExamples() map[string]*huma.Example {
	examples := map[string]*huma.Example{}
	for _, code := range problem.Codes() {
		kind := problem.For(code)
		examples[string(code)] = &huma.Example{Summary: kind.Error(), Value: errorBody(kind.With(exampleDetails[code]), "")}
	}
	return examples
}
