package site

import (
	"net/http"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/console/documents"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
)

func styleguideRoutes() []console.Route {
	return []console.Route{{Method: http.MethodGet, Path: "/styleguide", Needs: access.OwnLogin, Serve: showStyleguide}}
}

// styleguidePage is the view model of the style guide, which is for the people who build pages. Its texts are therefore
// in its template and not in the messages.
type styleguidePage struct {
	RightToLeft bool
	Stages      []stage
	Icons       []string
}

// stage is one theme, in which every component of the style guide is shown. Its name makes identifiers unique.
type stage struct {
	Name        string
	RightToLeft bool
	Arrived     []documents.StateView
	Failed      []documents.StateView
}

// Say returns the text for the direction of the page.
func (s stage) Say(english, arabic string) string {
	if s.RightToLeft {
		return arabic
	}
	return english
}

// showStyleguide shows every component in every state, in both themes, from left to right or from right to left. It
// does not exist in production.
func showStyleguide(req *console.Request) error {
	if req.Environment == "production" {
		return problem.For(api.CodeNotFound)
	}
	p := styleguidePage{RightToLeft: req.R.URL.Query().Get("dir") == "rtl",
		Icons: []string{"none", "open", "final", "draft", "good", "bad", "wait", "unknown", "blocked", "warn", "info",
			"offline", "empty", "save", "copy", "search", "filter", "more", "up", "down", "remove", "plus"}}
	for _, name := range []string{"light", "dark"} {
		p.Stages = append(p.Stages, stage{Name: name, RightToLeft: p.RightToLeft,
			Arrived: []documents.StateView{{Dimension: "provider_validation_state", Value: "accepted_by_provider", Final: true,
				Meaning: "positive"}, {Dimension: "provider_invoice_state", Value: "processing", Meaning: "waiting"},
				{Dimension: "tax_authority_state", Value: "registered"}, {Dimension: "receiver_state"}},
			Failed: []documents.StateView{{Dimension: "provider_validation_state", Value: "accepted_by_provider", Final: true,
				Meaning: "positive"}, {Dimension: "provider_invoice_state", Value: "accepted", Final: true, Meaning: "positive"},
				{Dimension: "tax_authority_state", Value: "rejected", Final: true, Meaning: "negative"},
				{Dimension: "receiver_state", Value: "archived_by_receiver", Final: true}}})
	}
	return req.Show(http.StatusOK, "styleguide", "", page.Layout{Title: "Style guide", Body: p})
}
