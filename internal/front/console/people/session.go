package people

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

func sessionRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/login", Needs: access.Public, Serve: showLogin},
		{Method: http.MethodPost, Path: "/login", Needs: access.Public, Serve: login},
		{Method: http.MethodPost, Path: "/logout", Needs: access.OwnLogin, ChangesPassword: true, Enrols: true,
			Serve: logout},
	}
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
func requestedPath(req *console.Request) string {
	if req.R.Method == http.MethodPost {
		return req.Form.Get("next")
	}
	return req.R.URL.Query().Get("next")
}

// next returns the path that a login leads to. It is always a page of the console.
func next(req *console.Request) string { return ownPage(req, requestedPath(req)) }

// ownPage returns a path if it is that of a page of the console for users, and otherwise "/".
func ownPage(req *console.Request, path string) string {
	path, found := req.PageAt(path)
	if found == nil || found.Needs == access.Public {
		return "/"
	}
	return path
}

func showLogin(req *console.Request) error {
	if link := req.R.URL.Query().Get("once"); link != "" && req.R.Method == http.MethodGet {
		return followLink(req, link)
	}
	if req.Session.Tenant != nil {
		return req.Redirect(next(req))
	}
	return respondLogin(req, http.StatusOK, loginPage{Next: requestedPath(req), Company: req.R.URL.Query().Get("company")})
}

// followLink logs in with a link that works once. The redirect removes it from the address.
func followLink(req *console.Request, link string) error {
	email, password, found := req.Links.Take(link)
	if !found {
		return req.Redirect(page.WithNotice("/login", "bad.link"))
	}
	err := start(req, account.Credentials{Email: email, Password: password.Reveal(), Means: identity.LoginByLink})
	if errors.Is(err, account.ErrOTPRequired) {
		return redirectToCode(req, "/")
	}
	if errors.Is(err, identity.ErrSignOnRequired) {
		return req.Redirect(page.WithNotice("/login", "bad.sso_required"))
	}
	if err != nil {
		return err
	}
	return req.Redirect("/")
}

func respondLogin(req *console.Request, status int, p loginPage) error {
	title, _ := req.Words.Messages.Lookup("login.title")
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

func login(req *console.Request) error {
	email := req.Form.Get("email")
	company := req.Form.Get("company")
	of, _ := base.ParseID(company) // without one, as any other text
	err := start(req, account.Credentials{Email: email, Password: req.Form.Get("password"), Account: of})
	if err == nil {
		return req.Redirect(next(req))
	}
	if errors.Is(err, account.ErrOTPRequired) {
		return redirectToCode(req, next(req))
	}
	p := loginPage{Email: email, Next: requestedPath(req), Company: company}
	if len(p.Email) > maxEmail {
		p.Email = ""
	}
	switch _, limited := errors.AsType[*account.LimitedError](err); {
	case limited:
		return err
	case errors.Is(err, account.ErrInvalidCredentials):
		p.Fault = "wrong"
		return respondLogin(req, http.StatusUnauthorized, p)
	case errors.Is(err, identity.ErrSuspended):
		p.Fault = "suspended"
		return respondLogin(req, http.StatusForbidden, p)
	case errors.Is(err, identity.ErrSignOnRequired):
		p.Fault = "sso_required"
		return respondLogin(req, http.StatusForbidden, p)
	}
	return err
}

// The longest accepted e-mail address and password, in bytes.
const (
	maxEmail    = 1024
	maxPassword = 4096
)

// holdPending gives the browser the cookie of a pending login.
func holdPending(req *console.Request, pending account.Login, site http.SameSite) {
	cookie := pendingCookie(req, pending.Pending.Reveal(), pending.Expires) //nolint:gosec // the kit makes it secure
	cookie.SameSite = site
	http.SetCookie(req.W, cookie)
}

// start checks a password and starts a new session. It ends the session that the browser had before. With
// [account.ErrOTPRequired] the browser gets the cookie of a pending login instead.
func start(req *console.Request, given account.Credentials) error {
	if len(given.Email) > maxEmail || len(given.Password) > maxPassword || strings.ContainsRune(given.Email+given.Password,
		0) {
		return account.ErrInvalidCredentials
	}
	given.UserAgent = req.R.UserAgent()
	started, _, err := req.Accounts.StartSession(req.R.Context(), req.Source, given)
	if errors.Is(err, account.ErrOTPRequired) && !started.Pending.IsZero() {
		holdPending(req, started, http.SameSiteStrictMode)
	}
	if err != nil {
		return err
	}
	return adopt(req, started)
}

// adopt makes a new session that of the browser. It ends the session that the browser had before.
func adopt(req *console.Request, started account.Login) error {
	if req.Session.Tenant != nil {
		if err := identity.RevokeToken(req.R.Context(), req.DB, req.Session.Digest); err != nil {
			return err
		}
	}
	req.Admission.Remember(secret.SessionDigest(started.Token), started.Account.ID)
	http.SetCookie(req.W, req.NewCookie("", started.Token.Reveal(), started.Expires))
	return nil
}

func logout(req *console.Request) error {
	if err := identity.RevokeToken(req.R.Context(), req.DB, req.Session.Digest); err != nil {
		return err
	}
	http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
	req.W.Header().Set("Clear-Site-Data", `"cache"`)
	return req.Redirect(page.WithNotice("/login", "good.logged_out"))
}
