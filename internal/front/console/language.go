package console

import (
	"net/http"
	"path"
	"strings"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/platform/problem"
)

func languageRoutes() []route {
	return []route{{method: http.MethodPost, path: "/language", needs: access.Public, serve: (*request).chooseLanguage}}
}

// chooseLanguage remembers a language in the browser and shows the page in it from which it was chosen.
func (req *request) chooseLanguage() error {
	chosen := req.Form.Get("language")
	pages := req.Named(chosen)
	if pages == nil {
		return problem.For(api.CodeMalformedRequest)
	}
	req.Choose(pages)
	to, found := req.pageAt(req.Form.Get("page"))
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

// pagePath returns the address of the page that a request shows, which chooseLanguage leads back to. A form that was
// sent leads to the page that it belongs to: the nearest one above its address. The page of an error does not repeat
// the address that it is about.
func (req *request) pagePath(status int) string {
	query, at := req.R.URL.Query(), req.R.URL.EscapedPath()
	query.Del(page.NoticeParameter)
	switch {
	case req.R.Method == http.MethodPost:
		if next := req.Form.Get("next"); next != "" { // a login leads there
			query.Set("next", next)
		}
		for _, found := req.pageAt(at); found == nil && at != "/"; _, found = req.pageAt(at) {
			at = path.Dir(at)
		}
	case status != http.StatusOK:
		return "/"
	}
	return strings.TrimSuffix(at+"?"+query.Encode(), "?")
}
