package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
)

// passwordPath is the only page that is open to users who logged in with a password from an administrator.
const passwordPath = "/password"

func passwordRoutes() []route {
	return []route{
		{method: http.MethodGet, path: passwordPath, needs: access.OwnLogin, changesPassword: true,
			serve: (*request).showFirstPassword},
		{method: http.MethodPost, path: passwordPath, needs: access.OwnLogin, changesPassword: true,
			serve: (*request).changeFirstPassword},
	}
}

// passwordPage is the view model of the page on which users choose their first own password.
type passwordPage struct {
	Email, Next string
	// Fault is the key of an error message below "account.password.", or "".
	Fault string
}

// NewFault returns the fault of the new password, or "".
func (p passwordPage) NewFault() string { return newFault(p.Fault) }

// newFault returns a fault unless it concerns the current password.
func newFault(fault string) string {
	if fault == "wrong" {
		return ""
	}
	return fault
}

// redirectToPassword redirects to the page for changing the password, which then leads back to the requested page.
func (req *request) redirectToPassword() error {
	to := passwordPath
	if requested := req.R.URL.RequestURI(); req.R.Method == http.MethodGet && requested != "/" && !req.IsFragment() {
		to += "?" + url.Values{"next": {requested}}.Encode()
	}
	return req.redirectHeld(to)
}

// redirectHeld redirects a session that is good for one page only to this page.
func (req *request) redirectHeld(to string) error {
	if req.IsFragment() {
		req.W.Header().Set("HX-Redirect", to)
		req.W.WriteHeader(http.StatusOK)
		return nil
	}
	return req.Redirect(to)
}

func (req *request) showFirstPassword() error {
	if !req.session.PasswordChangeRequired {
		return req.Redirect("/account")
	}
	return req.respondFirstPassword(http.StatusOK, "")
}

func (req *request) respondFirstPassword(status int, fault string) error {
	user, err := identity.FindUserOf(req.R.Context(), req.DB, req.session)
	if err != nil {
		return err
	}
	return req.Show(status, "password", "password.title", page.Layout{
		Body: passwordPage{Email: user.Email, Next: req.next(), Fault: fault}})
}

func (req *request) changeFirstPassword() error {
	path, query, asked := strings.Cut(req.next(), "?")
	to := page.WithNotice(path, "good.password_changed")
	if asked {
		to += "&" + query
	}
	return req.replacePassword(req.respondFirstPassword, to)
}

// replacePassword changes the password, which ends all sessions and tokens of the user, starts a new session and
// redirects. refused responds with an error message about the input.
func (req *request) replacePassword(refused func(status int, fault string) error, to string) error {
	current, chosen := req.Form.Get("current"), req.Form.Get("new")
	if length := utf8.RuneCountInString(chosen); length < account.MinPassword || length > account.MaxPassword ||
		!utf8.ValidString(chosen) {
		return refused(http.StatusUnprocessableEntity, "length")
	}
	ctx := req.R.Context()
	user, err := identity.FindUserOf(ctx, req.DB, req.session)
	if err != nil {
		return err
	}
	_, err = req.Accounts.ChangePassword(ctx, req.session, req.Source, current, chosen)
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrWrongPassword, "wrong"}, {account.ErrCommonPassword, "common"}, {account.ErrSamePassword, "unchanged"}} {
		if errors.Is(err, fault.err) {
			return refused(http.StatusUnprocessableEntity, fault.key)
		}
	}
	if errors.Is(err, identity.ErrSessionEnded) {
		return req.redirectToLogin()
	}
	if err != nil {
		return err
	}
	err = req.start(account.Credentials{Email: user.Email, Password: chosen, Account: user.Account})
	if errors.Is(err, account.ErrOTPRequired) {
		return req.Redirect(to) // this session goes on: a new one would need another code
	}
	if err != nil {
		// The password was changed, but there is no new session. This one ends, so the user has to log in again.
		if revoked := identity.RevokeToken(ctx, req.DB, req.session.Digest); revoked != nil {
			return revoked
		}
		return req.Redirect(page.WithNotice("/login", "good.password_changed"))
	}
	return req.Redirect(to)
}
