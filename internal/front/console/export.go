package console

import (
	"errors"
	"net/http"
	"net/url"
	"slices"

	"quittance/client/api"
	"quittance/internal/document/tabular"
	"quittance/internal/front/export"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
)

// exportRoutes are the lists as files, with the filters, the tab and the order in the address. They are links, so they
// need no JavaScript.
func exportRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/invoices/export", needs: access.Read, serve: (*request).exportInvoices},
		{method: http.MethodGet, path: "/credit-notes/export", needs: access.Read, serve: (*request).exportCredits},
		{method: http.MethodGet, path: "/incoming/export", needs: access.Read, serve: (*request).exportIncoming},
		{method: http.MethodGet, path: "/customers/export", needs: access.Read, serve: (*request).exportCustomers},
		{method: http.MethodGet, path: "/items/export", needs: access.Read, serve: (*request).exportItems},
		{method: http.MethodGet, path: "/webhooks/export", needs: access.ReadWebhooks, serve: (*request).exportSubscriptions},
		{method: http.MethodGet, path: undeliveredPath + "/export", needs: access.ReadWebhooks,
			serve: (*request).exportUndelivered},
		{method: http.MethodGet, path: "/webhooks/{subscription}/export", needs: access.ReadWebhooks,
			serve: (*request).exportDeliveries},
		{method: http.MethodGet, path: apiKeysPath + "/export", needs: access.ManageKeys, serve: (*request).exportAPIKeys},
		{method: http.MethodGet, path: usersPath + "/export", needs: access.ManageUsers, serve: (*request).exportUsers},
		{method: http.MethodGet, path: auditPath + "/export", needs: access.ReadAudit, serve: (*request).exportAudit},
	}
}

// The parameters of an export in its address, beside those of the list.
const (
	formatParameter = "format"
	rowsParameter   = "rows"
	rowsOfItems     = "items"
)

// exportMenu is the control above a list that offers it as a file.
type exportMenu struct {
	path   string
	values map[string]string
	// Items reports that the file can also have a row for each item.
	Items bool
}

// newExportMenu returns the control of a list with the address path and the filters values.
func newExportMenu(path string, values map[string]string) *exportMenu {
	return &exportMenu{path: path + "/export", values: values}
}

// Link returns the address of the file in a format. rows is "items" for a row for each item, or "".
func (m exportMenu) Link(format, rows string) string {
	query := url.Values{}
	for name, value := range m.values {
		if value != "" {
			query.Set(name, value)
		}
	}
	query.Set(formatParameter, format)
	if rows != "" {
		query.Set(rowsParameter, rows)
	}
	return m.path + "?" + query.Encode()
}

// sendExport responds with a list as a file. A file must not have other rows than its reader asked for, so parameters
// that are not valid are an error here. If the file cannot be finished, the connection ends.
func (req *request) sendExport(list export.List, ignored []string) error {
	format := tabular.Format(req.R.URL.Query().Get(formatParameter))
	ignored = slices.DeleteFunc(ignored,
		func(parameter string) bool { return parameter == formatParameter+"="+string(format) })
	if !slices.Contains(tabular.Formats[:], format) || len(ignored) > 0 {
		return errExport
	}
	file, err := req.Exporter.Open(req.R.Context(), req.session.Account.ID, list, format)
	if err != nil {
		return err
	}
	header := req.W.Header()
	header.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	header.Set("Content-Disposition", file.Disposition())
	header.Set("Content-Type", file.MediaType)
	req.W.WriteHeader(http.StatusOK)
	_, err = file.WriteTo(req.W)
	if err = errors.Join(err, file.Close()); err != nil {
		req.logged, req.broken = errors.Join(req.logged, err), true
	}
	return nil
}

// exportInvoices exports the filtered list, or the invoices that were selected.
func (req *request) exportInvoices() error {
	tenant, query := req.session.Tenant, req.R.URL.Query()
	filters := req.invoiceFilters()
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
			parameter == rowsParameter+"="+rowsOfItems
	})
	if query.Get(rowsParameter) == rowsOfItems {
		return req.sendExport(req.Exporter.InvoiceItems(tenant, ids), ignored)
	}
	return req.sendExport(req.Exporter.Invoices(tenant, ids), ignored)
}

// exportCredits exports the filtered list, or the credit notes that were selected.
func (req *request) exportCredits() error {
	tenant, query := req.session.Tenant, req.R.URL.Query()
	filters := req.creditFilters()
	filter, _, err := req.creditFilter(filters)
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
	return req.sendExport(req.Exporter.CreditNotes(tenant, ids), ignored)
}

// selectedCreditParameter names the credit notes that were selected.
const selectedCreditParameter = "credit_note"

// searched reads the search text of a list that has no other filter.
func (req *request) searched() (search string, ignored []string) {
	valid, ignored := req.readFilters(func(name, value string) bool {
		return name == searchParameter &&
			len(value) <= maxSearch
	})
	return valid[searchParameter], ignored
}

func (req *request) exportIncoming() error {
	filters := req.incomingFilters()
	return req.sendExport(req.Exporter.Incoming(req.session.Tenant, filters.query), filters.Ignored)
}

func (req *request) exportCustomers() error {
	search, ignored := req.searched()
	return req.sendExport(req.Exporter.Customers(req.session.Tenant, search), ignored)
}

func (req *request) exportItems() error {
	search, ignored := req.searched()
	return req.sendExport(req.Exporter.CatalogueItems(req.session.Tenant, search), ignored)
}

// unfiltered returns the parameters of a list that has no filters.
func (req *request) unfiltered() (ignored []string) {
	_, ignored = req.readFilters(func(string, string) bool { return false })
	return ignored
}

func (req *request) exportSubscriptions() error {
	return req.sendExport(req.Exporter.Subscriptions(req.session.Tenant), req.unfiltered())
}

func (req *request) exportAPIKeys() error {
	return req.sendExport(req.Exporter.APIKeys(req.session.Tenant, req.Now()), req.unfiltered())
}

func (req *request) exportUsers() error {
	return req.sendExport(req.Exporter.Users(req.session.Tenant), req.unfiltered())
}

// exportUndelivered exports all deliveries that failed or were blocked, or those of one of these states. The page has
// the newest.
func (req *request) exportUndelivered() error {
	filter := view.DeliveryFilter{Undelivered: true}
	_, ignored := req.readFilters(func(name, value string) bool {
		return name == creditStateParameter && assign(&filter.State, api.DeliveryState(value),
			value == string(api.DeliveryFailed) || value == string(api.DeliveryBlocked))
	})
	return req.sendExport(req.Exporter.Deliveries(req.session.Tenant, filter), ignored)
}

// exportDeliveries exports all deliveries of a subscription, or those of one state. The page has the newest.
func (req *request) exportDeliveries() error {
	id, err := req.ID("subscription")
	if err != nil {
		return err
	}
	if _, err := events.FindSubscription(req.R.Context(), req.session.Tenant, id); err != nil {
		return err
	}
	filter := view.DeliveryFilter{Subscription: id}
	_, ignored := req.readFilters(func(name, value string) bool {
		return name == creditStateParameter && assign(&filter.State, api.DeliveryState(value),
			slices.Contains(deliveryStates, api.DeliveryState(value)))
	})
	return req.sendExport(req.Exporter.Deliveries(req.session.Tenant, filter), ignored)
}

// auditColumns are the columns of the file, by their keys below "activity.csv.".
var auditColumns = [...]string{"at", "who", "kind", "what", "act", "subject_type", "subject", "subject_id", "source", "means", "request_id", "details"} //nolint:gochecknoglobals // a constant list

// exportAudit exports the audit log. Its columns are named for people, because its acts are shown in words.
func (req *request) exportAudit() error {
	filters := req.auditFilters()
	authors, err := req.auditAuthors(req.R.Context())
	if err != nil {
		return err
	}
	messages := req.words.messages
	columns := make([]tabular.Column, len(auditColumns))
	for n, column := range auditColumns {
		if columns[n].Name, err = messages.Text("activity.csv." + column); err != nil {
			return err
		}
	}
	columns[0].Kind = tabular.Time
	return req.sendExport(req.Exporter.Audit(req.session.Tenant, filters.query, columns,
		func(entries []base.AuditEntry) [][]string {
			var cells [][]string
			for _, row := range auditRows(entries, authors) {
				cells = append(cells, messages.auditRecord(&row))
			}
			return cells
		}), filters.Ignored)
}
