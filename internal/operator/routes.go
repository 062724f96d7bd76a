package operator

import (
	"net/http"
	"slices"

	"quittance/internal/account"
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
		{method: http.MethodGet, path: "/", serve: func(req *request) error { return req.redirect(accountsPath) }},
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

// section is an entry of the navigation, with the fields that the layout shows.
type section struct {
	// Name is its key below "nav." in the messages, and its icon n-NAME in the sprite.
	Name, Path string
}

// sectionGroup is a group of the navigation. The layout puts the last one at the bottom. None has a name.
type sectionGroup struct {
	Name     string
	Sections []section
}

// sections is the navigation.
var sections = []sectionGroup{ //nolint:gochecknoglobals // a constant table
	{Sections: []section{{"accounts", accountsPath}, {"connections", connectionsPath}, {"unknown", unknownPath},
		{"deliveries", deliveriesPath}}},
	{Sections: []section{{"sealing", sealingPath}, {"audit", auditPath}}},
}
