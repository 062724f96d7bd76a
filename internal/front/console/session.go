package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

func sessionRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/login", needs: access.Public, serve: (*request).showLogin},
		{method: http.MethodPost, path: "/login", needs: access.Public, serve: (*request).login},
		{method: http.MethodPost, path: "/logout", needs: access.OwnLogin, changesPassword: true, enrols: true,
			serve: (*request).logout},
	}
}

// Session returns the digest of the session token in a request, and false when there is none.
func (c *Console) Session(r *http.Request) (digest [32]byte, presented bool) {
	given, err := r.Cookie(c.kit.CookieName(""))
	if err != nil {
		return digest, false
	}
	return secret.SessionDigest(secret.New(given.Value)), true
}

// authenticate loads the session of the caller. It is not an error when the caller is not logged in.
func (req *request) authenticate() error {
	digest, presented := req.Console.Session(req.R)
	if !presented {
		return nil
	}
	session, err := req.admission.Authenticate(req.R.Context(), digest)
	if errors.Is(err, base.ErrNotFound) {
		return nil
	}
	req.session = session
	return err
}

// redirectToLogin redirects to the login page, which then leads back to the requested page.
func (req *request) redirectToLogin() error {
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

// loginPage is the view model of the login page.
type loginPage struct {
	Email, Next string
	// Company is the account to log in to, or "": of several users with an unproved address, the one of this account is
	// meant.
	Company string
	// Fault is the key of an error message below "login.", or "".
	Fault string
	// SignOn is the address at which a login by single sign-on begins, or "" if there is none. SignOnDown says that the
	// provider does not respond.
	SignOn     string
	SignOnDown bool
	// SendsMail says that somebody who has forgotten the password gets a link by e-mail.
	SendsMail bool
}

// requestedPath returns the page that was requested before the login: from the login form, or from the address of the
// login page.
func (req *request) requestedPath() string {
	if req.R.Method == http.MethodPost {
		return req.Form.Get("next")
	}
	return req.R.URL.Query().Get("next")
}

// next returns the path that a login leads to. It is always a page of the console.
func (req *request) next() string { return req.ownPage(req.requestedPath()) }

// ownPage returns a path if it is that of a page of the console for users, and otherwise "/".
func (req *request) ownPage(path string) string {
	path, found := req.pageAt(path)
	if found == nil || found.needs == access.Public {
		return "/"
	}
	return path
}

// pageAt returns the path and query of an address, which comes from a request, and the route of its page, or nil if it
// is no page of the console.
func (c *Console) pageAt(address string) (string, *route) {
	requested, err := url.Parse(address)
	if err != nil || requested.IsAbs() || requested.Host != "" || !strings.HasPrefix(requested.Path, "/") ||
		strings.HasPrefix(requested.Path, "//") {
		return "", nil
	}
	found, _, _ := c.router.Find(http.MethodGet, requested.EscapedPath())
	return requested.RequestURI(), found
}

func (req *request) showLogin() error {
	if link := req.R.URL.Query().Get("once"); link != "" && req.R.Method == http.MethodGet {
		return req.followLink(link)
	}
	if req.session.Tenant != nil {
		return req.Redirect(req.next())
	}
	return req.respondLogin(http.StatusOK, loginPage{Next: req.requestedPath(), Company: req.R.URL.Query().Get("company")})
}

// followLink logs in with a link that works once. The redirect removes it from the address.
func (req *request) followLink(link string) error {
	email, password, found := req.Links.Take(link)
	if !found {
		return req.Redirect(page.WithNotice("/login", "bad.link"))
	}
	err := req.start(account.Credentials{Email: email, Password: password.Reveal(), Means: identity.LoginByLink})
	if errors.Is(err, account.ErrOTPRequired) {
		return req.redirectToCode("/")
	}
	if errors.Is(err, identity.ErrSignOnRequired) {
		return req.Redirect(page.WithNotice("/login", "bad.sso_required"))
	}
	if err != nil {
		return err
	}
	return req.Redirect("/")
}

func (req *request) respondLogin(status int, p loginPage) error {
	title, _ := req.words.messages.Lookup("login.title")
	var err error
	if p.SendsMail, err = identity.SendsMail(req.R.Context(), req.DB); err != nil {
		return err
	}
	if req.SignOn != nil {
		p.SignOn, p.SignOnDown = "/login/sso", !req.SignOn.Available()
		if p.Next != "" {
			p.SignOn += "?" + url.Values{"next": {p.Next}}.Encode()
		}
	}
	return req.Show(status, "login", "", page.Layout{Title: title, Body: p})
}

func (req *request) login() error {
	email := req.Form.Get("email")
	company := req.Form.Get("company")
	of, _ := base.ParseID(company) // without one, as any other text
	err := req.start(account.Credentials{Email: email, Password: req.Form.Get("password"), Account: of})
	if err == nil {
		return req.Redirect(req.next())
	}
	if errors.Is(err, account.ErrOTPRequired) {
		return req.redirectToCode(req.next())
	}
	p := loginPage{Email: email, Next: req.requestedPath(), Company: company}
	if len(p.Email) > maxEmail {
		p.Email = ""
	}
	switch _, limited := errors.AsType[*account.LimitedError](err); {
	case limited:
		return err
	case errors.Is(err, account.ErrInvalidCredentials):
		p.Fault = "wrong"
		return req.respondLogin(http.StatusUnauthorized, p)
	case errors.Is(err, identity.ErrSuspended):
		p.Fault = "suspended"
		return req.respondLogin(http.StatusForbidden, p)
	case errors.Is(err, identity.ErrSignOnRequired):
		p.Fault = "sso_required"
		return req.respondLogin(http.StatusForbidden, p)
	}
	return err
}

// The longest accepted e-mail address and password, in bytes.
const (
	maxEmail    = 1024
	maxPassword = 4096
)

// holdPending gives the browser the cookie of a pending login.
func (req *request) holdPending(pending account.Login, site http.SameSite) {
	cookie := req.pendingCookie(pending.Pending.Reveal(), pending.Expires) //nolint:gosec // the kit makes it secure
	cookie.SameSite = site
	http.SetCookie(req.W, cookie)
}

// start checks a password and starts a new session. It ends the session that the browser had before. With
// [account.ErrOTPRequired] the browser gets the cookie of a pending login instead.
func (req *request) start(given account.Credentials) error {
	if len(given.Email) > maxEmail || len(given.Password) > maxPassword || strings.ContainsRune(given.Email+given.Password,
		0) {
		return account.ErrInvalidCredentials
	}
	given.UserAgent = req.R.UserAgent()
	started, _, err := req.Accounts.StartSession(req.R.Context(), req.Source, given)
	if errors.Is(err, account.ErrOTPRequired) && !started.Pending.IsZero() {
		req.holdPending(started, http.SameSiteStrictMode)
	}
	if err != nil {
		return err
	}
	return req.adopt(started)
}

// adopt makes a new session that of the browser. It ends the session that the browser had before.
func (req *request) adopt(started account.Login) error {
	if req.session.Tenant != nil {
		if err := identity.RevokeToken(req.R.Context(), req.DB, req.session.Digest); err != nil {
			return err
		}
	}
	req.admission.Remember(secret.SessionDigest(started.Token), started.Account.ID)
	http.SetCookie(req.W, req.NewCookie("", started.Token.Reveal(), started.Expires))
	return nil
}

func (req *request) logout() error {
	if err := identity.RevokeToken(req.R.Context(), req.DB, req.session.Digest); err != nil {
		return err
	}
	http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
	req.W.Header().Set("Clear-Site-Data", `"cache"`)
	return req.Redirect(page.WithNotice("/login", "good.logged_out"))
}
