package people

import (
	"net/http"

	"quittance/internal/document/tabular"
	"quittance/internal/front/console"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
)

// exportRoutes are the lists of these pages as files, with the filters, the tab and the order in the address. They are
// links, so they need no JavaScript.
func exportRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: APIKeysPath + "/export", Needs: access.ManageKeys, Serve: exportAPIKeys},
		{Method: http.MethodGet, Path: UsersPath + "/export", Needs: access.ManageUsers, Serve: exportUsers},
		{Method: http.MethodGet, Path: AuditPath + "/export", Needs: access.ReadAudit, Serve: exportAudit},
	}
}

func exportAPIKeys(req *console.Request) error {
	return req.SendExport(req.Exporter.APIKeys(req.Session.Tenant, req.Now()), req.Unfiltered())
}

func exportUsers(req *console.Request) error {
	return req.SendExport(req.Exporter.Users(req.Session.Tenant), req.Unfiltered())
}

// auditColumns are the columns of the file, by their keys below "activity.csv.".
var auditColumns = [...]string{"at", "who", "kind", "what", "act", "subject_type", "subject", "subject_id", "source", "means", "request_id", "details"} //nolint:gochecknoglobals // a constant list

// exportAudit exports the audit log. Its columns are named for people, because its acts are shown in words.
func exportAudit(req *console.Request) error {
	filters := readAuditFilters(req)
	authors, err := auditAuthors(req.R.Context(), req)
	if err != nil {
		return err
	}
	messages := req.Words.Messages
	columns := make([]tabular.Column, len(auditColumns))
	for n, column := range auditColumns {
		if columns[n].Name, err = messages.Text("activity.csv." + column); err != nil {
			return err
		}
	}
	columns[0].Kind = tabular.Time
	return req.SendExport(req.Exporter.Audit(req.Session.Tenant, filters.query, columns,
		func(entries []base.AuditEntry) [][]string {
			var cells [][]string
			for _, row := range auditRows(entries, authors) {
				cells = append(cells, auditRecord(messages, &row))
			}
			return cells
		}), filters.Ignored)
}
