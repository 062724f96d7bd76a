package console

import (
	"errors"
	"net/http"
	"net/url"
	"time"

	"quittance/internal/access"
	"quittance/internal/account"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// loginCodePath is the page of the second step of a login. It has no password: the cookie of the pending login binds it to the browser.
const loginCodePath = "/login/code"

func loginCodeRoutes() []route {
	return []route{
		{method: http.MethodGet, path: loginCodePath, needs: access.Public, serve: func(req *request) error { return req.respondLoginCode(http.StatusOK, "") }},
		{method: http.MethodPost, path: loginCodePath, needs: access.Public, serve: (*request).completeLogin},
	}
}

// pendingCookie returns the cookie of a pending login.
func (c *Console) pendingCookie(value string, expires time.Time) *http.Cookie {
	cookie := c.cookie(value, expires) //nolint:gosec // Secure and HttpOnly are as in cookie, SameSite is stricter
	cookie.Name += "-login"
	cookie.SameSite = http.SameSiteStrictMode
	return cookie
}

// redirectToCode redirects to the second step of a login, which then leads to the page next.
func (req *request) redirectToCode(next string) error {
	if next == "" || next == "/" {
		return req.redirect(loginCodePath)
	}
	return req.redirect(loginCodePath + "?" + url.Values{"next": {next}}.Encode())
}

// loginCodePage is the view model of the second step of a login.
type loginCodePage struct {
	Next string
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func (req *request) respondLoginCode(status int, fault string) error {
	if _, err := req.r.Cookie(req.pendingCookie("", time.Time{}).Name); err != nil {
		return req.redirect("/login")
	}
	title, err := req.pages.messages.text("login.code.title")
	if err != nil {
		return err
	}
	return req.page(status, "login_code", pageData{Title: title, Body: loginCodePage{Next: req.requestedPath(), Fault: fault}})
}

// completeLogin starts the session of a pending login. It ends the session that the browser had before.
func (req *request) completeLogin() error {
	pending, err := req.r.Cookie(req.pendingCookie("", time.Time{}).Name)
	if err != nil {
		return req.redirect("/login")
	}
	started, err := req.Accounts.CompleteSession(req.r.Context(), req.source, secret.New(pending.Value), req.code("code"), req.r.UserAgent())
	switch {
	case errors.Is(err, account.ErrNoPendingLogin):
		http.SetCookie(req.w, req.pendingCookie("", time.Time{}))
		return req.redirect(withFlash("/login", "bad.login_expired"))
	case errors.Is(err, account.ErrOTPRequired):
		return req.respondLoginCode(http.StatusUnauthorized, "otp")
	case errors.Is(err, store.ErrSuspended):
		return req.respondLogin(http.StatusForbidden, loginPage{Next: req.requestedPath(), Fault: "suspended"})
	case err != nil:
		return err
	}
	http.SetCookie(req.w, req.pendingCookie("", time.Time{}))
	if err := req.adopt(started); err != nil {
		return err
	}
	return req.redirect(req.next())
}
