package people

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
)

// loginCodePath is the page of the second step of a login. It has no password: the cookie of the pending login binds it
// to the browser.
const loginCodePath = "/login/code"

func loginCodeRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: loginCodePath, Needs: access.Public,
			Serve: func(req *console.Request) error { return respondLoginCode(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: loginCodePath, Needs: access.Public, Serve: completeLogin},
	}
}

// pendingSuffix ends the name of the cookie of a pending login.
const pendingSuffix = "-login"

// pendingCookie returns the cookie of a pending login.
func pendingCookie(req *console.Request, value string, expires time.Time) *http.Cookie {
	cookie := req.NewCookie(pendingSuffix, value, expires) //nolint:gosec // the kit makes it secure, SameSite is stricter
	cookie.SameSite = http.SameSiteStrictMode
	return cookie
}

// redirectToCode redirects to the second step of a login, which then leads to the page next.
func redirectToCode(req *console.Request, next string) error {
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

func respondLoginCode(req *console.Request, status int, fault string) error {
	pending, found := pendingLogin(req)
	if !found {
		return req.Redirect("/login")
	}
	factor, err := req.Accounts.LoginFactors(req.R.Context(), pending)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return endPendingLogin(req)
	}
	if err != nil {
		return err
	}
	_, possible := relyingParty(req)
	return req.Show(status, "login_code", "login.code.title", page.Layout{Body: loginCodePage{Next: requestedPath(req),
		App: factor.HasApp(), Passkeys: possible && len(factor.Passkeys) > 0, Fault: fault}})
}

// endPendingLogin leads to the login page, because the pending login was completed before or has expired.
func endPendingLogin(req *console.Request) error {
	http.SetCookie(req.W, pendingCookie(req, "", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "bad.login_expired"))
}

// completeLogin starts the session of a pending login. It ends the session that the browser had before.
func completeLogin(req *console.Request) error {
	pending, found := pendingLogin(req)
	if !found {
		return req.Redirect("/login")
	}
	started, err := req.Accounts.CompleteSession(req.R.Context(), req.Source, pending, factor(req, "code"),
		req.R.UserAgent())
	switch {
	case errors.Is(err, account.ErrNoPendingLogin):
		return endPendingLogin(req)
	case errors.Is(err, account.ErrOTPRequired):
		return respondLoginCode(req, http.StatusUnauthorized, factorFault(req, err))
	case errors.Is(err, identity.ErrOtherSubject): // linked meanwhile
		return refuseSignOn(req, err)
	case errors.Is(err, identity.ErrSuspended):
		return respondLogin(req, http.StatusForbidden, loginPage{Next: requestedPath(req), Fault: "suspended"})
	case err != nil:
		return err
	}
	http.SetCookie(req.W, pendingCookie(req, "", time.Time{}))
	if err := adopt(req, started); err != nil {
		return err
	}
	return req.Redirect(next(req))
}
