package drafts

import (
	"net/http"

	"quittance/client/api"
	"quittance/internal/document/codelist"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/platform/problem"
)

// The maximum number of codes that a form suggests for some input, and that the page of a list shows.
const (
	maxSuggestedCodes = 40
	maxListedCodes    = 500
)

// codesPage is the view model of the page of a code list.
type codesPage struct {
	List, Search string
	Codes        []codelist.Entry
	// Cut reports that there are more.
	Cut bool
}

// showCodes shows the codes of a list that match a text, or suggests them to the field in which the user types.
func showCodes(req *console.Request) error {
	name := req.Values["list"]
	list, known := req.Words.Codes[name]
	if !known {
		return problem.For(api.CodeNotFound)
	}
	query := req.R.URL.Query()
	p := codesPage{List: name, Search: query.Get("q")}
	if !console.Storable(p.Search) || len(p.Search) > console.MaxSearch {
		p.Search = ""
	}
	if req.IsFragment() {
		return req.Part("codes", "options", list.Options(list.Find(p.Search, maxSuggestedCodes)))
	}
	p.Codes = list.Find(p.Search, maxListedCodes+1)
	if p.Cut = len(p.Codes) > maxListedCodes; p.Cut {
		p.Codes = p.Codes[:maxListedCodes]
	}
	return req.Show(http.StatusOK, "codes", "codes."+name, page.Layout{Section: "invoices", Body: p})
}
