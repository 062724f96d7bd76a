package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"

	"quittance/internal/ledger/base"
	"quittance/internal/platform/secret"
)

// Session returns the digest of the session token in a request, and false when there is none.
func (c *Console) Session(r *http.Request) (digest [32]byte, presented bool) {
	given, err := r.Cookie(c.kit.CookieName(""))
	if err != nil {
		return digest, false
	}
	return secret.SessionDigest(secret.New(given.Value)), true
}

// authenticate loads the session of the caller. It is not an error when the caller is not logged in.
func (req *Request) authenticate() error {
	digest, presented := req.Console.Session(req.R)
	if !presented {
		return nil
	}
	session, err := req.Admission.Authenticate(req.R.Context(), digest)
	if errors.Is(err, base.ErrNotFound) {
		return nil
	}
	req.Session = session
	return err
}

// RedirectToLogin redirects to the login page, which then leads back to the requested page.
func (req *Request) RedirectToLogin() error {
	if req.IsFragment() {
		req.W.Header().Set("HX-Redirect", "/login") // redirect the whole page, not only the part that polls
		req.W.WriteHeader(http.StatusOK)
		return nil
	}
	to := "/login"
	if requested := req.R.URL.RequestURI(); req.R.Method == http.MethodGet && requested != "/" {
		to += "?" + url.Values{"next": {requested}}.Encode()
	}
	return req.Redirect(to)
}

// PageAt returns the path and query of an address, which comes from a request, and the route of its page, or nil if it
// is no page of the console.
func (c *Console) PageAt(address string) (string, *Route) {
	requested, err := url.Parse(address)
	if err != nil || requested.IsAbs() || requested.Host != "" || !strings.HasPrefix(requested.Path, "/") ||
		strings.HasPrefix(requested.Path, "//") {
		return "", nil
	}
	found, _, _ := c.router.Find(http.MethodGet, requested.EscapedPath())
	return requested.RequestURI(), found
}

// PasswordPath is the only page that is open to users who logged in with a password from an administrator.
const PasswordPath = "/password"

// redirectToPassword redirects to the page for changing the password, which then leads back to the requested page.
func (req *Request) redirectToPassword() error {
	to := PasswordPath
	if requested := req.R.URL.RequestURI(); req.R.Method == http.MethodGet && requested != "/" && !req.IsFragment() {
		to += "?" + url.Values{"next": {requested}}.Encode()
	}
	return req.redirectHeld(to)
}

// redirectHeld redirects a session that is good for one page only to this page.
func (req *Request) redirectHeld(to string) error {
	if req.IsFragment() {
		req.W.Header().Set("HX-Redirect", to)
		req.W.WriteHeader(http.StatusOK)
		return nil
	}
	return req.Redirect(to)
}

// SecondFactorPath is the page of second factors.
const SecondFactorPath = "/second-factor"
