package documents

import (
	"net/http"
	"slices"

	"quittance/internal/front/console"
	"quittance/internal/front/export"
	"quittance/internal/ledger/access"
)

// exportRoutes are the lists of these pages as files, with the filters, the tab and the order in the address. They are
// links, so they need no JavaScript.
func exportRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/invoices/export", Needs: access.Read, Serve: exportInvoices},
		{Method: http.MethodGet, Path: "/credit-notes/export", Needs: access.Read, Serve: exportCredits},
		{Method: http.MethodGet, Path: "/incoming/export", Needs: access.Read, Serve: exportIncoming},
	}
}

// exportInvoices exports the filtered list, or the invoices that were selected.
func exportInvoices(req *console.Request) error {
	tenant, query := req.Session.Tenant, req.R.URL.Query()
	filters := readInvoiceFilters(req)
	ids := req.Exporter.InvoiceIDs(tenant, filters.query)
	if query.Has(bulkInvoiceParameter) {
		selected, err := invoiceIDs(query[bulkInvoiceParameter])
		if err != nil {
			return err
		}
		ids = export.Selected(selected)
	}
	ignored := slices.DeleteFunc(filters.Ignored, func(parameter string) bool {
		return parameter == bulkInvoiceParameter+"="+query.Get(bulkInvoiceParameter) ||
			parameter == console.RowsParameter+"="+console.RowsOfItems
	})
	if query.Get(console.RowsParameter) == console.RowsOfItems {
		return req.SendExport(req.Exporter.InvoiceItems(tenant, ids), ignored)
	}
	return req.SendExport(req.Exporter.Invoices(tenant, ids), ignored)
}

// exportCredits exports the filtered list, or the credit notes that were selected.
func exportCredits(req *console.Request) error {
	tenant, query := req.Session.Tenant, req.R.URL.Query()
	filters := readCreditFilters(req)
	filter, _, err := creditFilter(req, filters)
	if err != nil {
		return err
	}
	ids := req.Exporter.CreditNoteIDs(tenant, filter)
	if query.Has(selectedCreditParameter) {
		selected, err := invoiceIDs(query[selectedCreditParameter])
		if err != nil {
			return err
		}
		ids = export.Selected(selected)
	}
	ignored := slices.DeleteFunc(filters.Ignored, func(parameter string) bool {
		return parameter == selectedCreditParameter+"="+query.Get(selectedCreditParameter)
	})
	return req.SendExport(req.Exporter.CreditNotes(tenant, ids), ignored)
}

// selectedCreditParameter names the credit notes that were selected.
const selectedCreditParameter = "credit_note"

func exportIncoming(req *console.Request) error {
	filters := readIncomingFilters(req)
	return req.SendExport(req.Exporter.Incoming(req.Session.Tenant, filters.query), filters.Ignored)
}
