package operator

import (
	"net/http"
	"slices"

	"quittance/internal/account"
	"quittance/internal/front/page"
)

// route is one page, or one thing that a page does.
type route struct {
	method, path string
	serve        func(req *request) error
	// public routes need no login.
	public bool
}

// The paths of the pages.
const (
	loginPath       = "/login"
	accountsPath    = "/accounts"
	connectionsPath = "/connections"
	unknownPath     = "/unknown"
	deliveriesPath  = "/deliveries"
	sealingPath     = "/keys"
	auditPath       = "/audit"
)

func routes() []route {
	return slices.Concat([]route{
		{method: http.MethodGet, path: "/", serve: func(req *request) error { return req.Redirect(accountsPath) }},
		{method: http.MethodGet, path: loginPath, serve: (*request).showLogin, public: true},
		{method: http.MethodPost, path: loginPath, serve: (*request).login, public: true},
		{method: http.MethodPost, path: "/logout", serve: (*request).logout},
		{method: http.MethodGet, path: account.EnrolPath, serve: (*request).showEnrol, public: true},
		{method: http.MethodPost, path: account.EnrolPath, serve: (*request).openEnrolment, public: true},
		{method: http.MethodPost, path: account.EnrolPath + "/confirm", serve: (*request).enrol, public: true},
		{method: http.MethodGet, path: sealingPath, serve: (*request).listKeys},
		{method: http.MethodGet, path: auditPath, serve: (*request).listAudit},
	}, accountRoutes(), connectionRoutes(), unknownRoutes(), deliveryRoutes())
}

// sections is the navigation.
var sections = []page.SectionGroup{ //nolint:gochecknoglobals // a constant table
	{Sections: []page.Section{{Name: "accounts", Path: accountsPath}, {Name: "connections", Path: connectionsPath},
		{Name: "unknown", Path: unknownPath}, {Name: "deliveries", Path: deliveriesPath}}},
	{Sections: []page.Section{{Name: "sealing", Path: sealingPath}, {Name: "audit", Path: auditPath}}},
}
