package book

import (
	"net/http"

	"quittance/internal/front/console"
	"quittance/internal/ledger/access"
)

// exportRoutes are the lists of these pages as files, with the filters, the tab and the order in the address. They are
// links, so they need no JavaScript.
func exportRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/customers/export", Needs: access.Read, Serve: exportCustomers},
		{Method: http.MethodGet, Path: "/items/export", Needs: access.Read, Serve: exportItems},
	}
}

// searched reads the search text of a list that has no other filter.
func searched(req *console.Request) (search string, ignored []string) {
	valid, ignored := req.ReadFilters(func(name, value string) bool {
		return name == console.SearchParameter &&
			len(value) <= console.MaxSearch
	})
	return valid[console.SearchParameter], ignored
}

func exportCustomers(req *console.Request) error {
	search, ignored := searched(req)
	return req.SendExport(req.Exporter.Customers(req.Session.Tenant, search), ignored)
}

func exportItems(req *console.Request) error {
	search, ignored := searched(req)
	return req.SendExport(req.Exporter.CatalogueItems(req.Session.Tenant, search), ignored)
}
