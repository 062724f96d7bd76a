package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
)

// loginCodePath is the page of the second step of a login. It has no password: the cookie of the pending login binds it
// to the browser.
const loginCodePath = "/login/code"

func loginCodeRoutes() []route {
	return []route{
		{method: http.MethodGet, path: loginCodePath, needs: access.Public,
			serve: func(req *request) error { return req.respondLoginCode(http.StatusOK, "") }},
		{method: http.MethodPost, path: loginCodePath, needs: access.Public, serve: (*request).completeLogin},
	}
}

// pendingSuffix ends the name of the cookie of a pending login.
const pendingSuffix = "-login"

// pendingCookie returns the cookie of a pending login.
func (c *Console) pendingCookie(value string, expires time.Time) *http.Cookie {
	cookie := c.kit.NewCookie(pendingSuffix, value, expires) //nolint:gosec // the kit makes it secure, SameSite is stricter
	cookie.SameSite = http.SameSiteStrictMode
	return cookie
}

// redirectToCode redirects to the second step of a login, which then leads to the page next.
func (req *request) redirectToCode(next string) error {
	if next == "" || next == "/" {
		return req.Redirect(loginCodePath)
	}
	return req.Redirect(loginCodePath + "?" + url.Values{"next": {next}}.Encode())
}

// loginCodePage is the view model of the second step of a login.
type loginCodePage struct {
	Next string
	// App reports that the user has an authenticator app, and Passkeys that the user has passkeys that can be used here.
	App, Passkeys bool
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func (req *request) respondLoginCode(status int, fault string) error {
	pending, found := req.pendingLogin()
	if !found {
		return req.Redirect("/login")
	}
	factor, err := req.Accounts.LoginFactors(req.R.Context(), pending)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return req.endPendingLogin()
	}
	if err != nil {
		return err
	}
	_, possible := req.relyingParty()
	return req.Show(status, "login_code", "login.code.title", page.Layout{Body: loginCodePage{Next: req.requestedPath(),
		App: factor.HasApp(), Passkeys: possible && len(factor.Passkeys) > 0, Fault: fault}})
}

// endPendingLogin leads to the login page, because the pending login was completed before or has expired.
func (req *request) endPendingLogin() error {
	http.SetCookie(req.W, req.pendingCookie("", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "bad.login_expired"))
}

// completeLogin starts the session of a pending login. It ends the session that the browser had before.
func (req *request) completeLogin() error {
	pending, found := req.pendingLogin()
	if !found {
		return req.Redirect("/login")
	}
	started, err := req.Accounts.CompleteSession(req.R.Context(), req.Source, pending, req.factor("code"),
		req.R.UserAgent())
	switch {
	case errors.Is(err, account.ErrNoPendingLogin):
		return req.endPendingLogin()
	case errors.Is(err, account.ErrOTPRequired):
		return req.respondLoginCode(http.StatusUnauthorized, req.factorFault(err))
	case errors.Is(err, identity.ErrOtherSubject): // linked meanwhile
		return req.refuseSignOn(err)
	case errors.Is(err, identity.ErrSuspended):
		return req.respondLogin(http.StatusForbidden, loginPage{Next: req.requestedPath(), Fault: "suspended"})
	case err != nil:
		return err
	}
	http.SetCookie(req.W, req.pendingCookie("", time.Time{}))
	if err := req.adopt(started); err != nil {
		return err
	}
	return req.Redirect(req.next())
}
