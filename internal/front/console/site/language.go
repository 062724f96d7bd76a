package site

import (
	"net/http"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
)

func languageRoutes() []console.Route {
	return []console.Route{{Method: http.MethodPost, Path: "/language", Needs: access.Public, Serve: chooseLanguage}}
}

// chooseLanguage remembers a language in the browser and shows the page in it from which it was chosen.
func chooseLanguage(req *console.Request) error {
	chosen := req.Form.Get("language")
	pages := req.Named(chosen)
	if pages == nil {
		return problem.For(api.CodeMalformedRequest)
	}
	req.Choose(pages)
	to, found := req.PageAt(req.Form.Get("page"))
	if found == nil {
		to = "/"
	}
	if req.Form.Get("code") != "" && opensWithCode(to) {
		// the browser sends the form there, and the code in no address
		http.Redirect(req.W, req.R, to, http.StatusTemporaryRedirect)
		return nil
	}
	return req.Redirect(to)
}

// opensWithCode reports whether the page at a path is opened by the form with the secret of a link. Such a form changes
// nothing.
func opensWithCode(path string) bool { return path == account.JoinPath || path == account.ResetPath }
