package console

import (
	"html/template"
	"io/fs"

	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/router"
)

// Route is one page, or one thing that a page does.
type Route struct {
	Method, Path string
	Serve        func(req *Request) error
	// Needs is the permission that a caller needs. [access.Public] routes require no login.
	Needs access.Permission
	// ChangesPassword routes are open also to a session whose user has to change the password first, and Enrols routes to
	// one whose user has to set up a second factor first.
	ChangesPassword, Enrols bool
	// TakesFile routes take a form with a file.
	TakesFile bool
	// Large routes take forms with many fields. Their input is kept when a session ends.
	Large bool
}

// Subject is a group of pages: their routes, their templates, and the functions that these call in a language.
type Subject struct {
	Routes []Route
	// Templates are in the files templates/*.html. Those in parts*.html are part of every page. Nil means none.
	Templates fs.FS
	// Funcs is nil if there are none.
	Funcs func(*Words) template.FuncMap
}

// newRouter returns the router of some pages.
func newRouter(routes []Route) *router.Router[Route] {
	return router.New(routes, func(rt *Route) (method, path string) { return rt.Method, rt.Path })
}

// Section is an entry of the navigation; see [page.Section]. Those with a permission see it; zero means everybody.
type Section struct {
	Name, Path string
	Needs      access.Permission
}

// SectionGroup is a group of the navigation; see [page.SectionGroup].
type SectionGroup struct {
	Name     string
	Sections []Section
}

// sectionsFor returns the navigation of somebody with some permissions, without groups that would be empty.
func sectionsFor(all []SectionGroup, permissions access.Permissions) (groups []page.SectionGroup) {
	for _, group := range all {
		var shown []page.Section
		for _, s := range group.Sections {
			if s.Needs == 0 || permissions.Has(s.Needs) {
				shown = append(shown, page.Section{Name: s.Name, Path: s.Path})
			}
		}
		if len(shown) > 0 {
			groups = append(groups, page.SectionGroup{Name: group.Name, Sections: shown})
		}
	}
	return groups
}
