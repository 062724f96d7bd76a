package people

import (
	"errors"
	"net/http"
	"strings"
	"unicode/utf8"

	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
)

func passwordRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: console.PasswordPath, Needs: access.OwnLogin, ChangesPassword: true,
			Serve: showFirstPassword},
		{Method: http.MethodPost, Path: console.PasswordPath, Needs: access.OwnLogin, ChangesPassword: true,
			Serve: changeFirstPassword},
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

func showFirstPassword(req *console.Request) error {
	if !req.Session.PasswordChangeRequired {
		return req.Redirect("/account")
	}
	return respondFirstPassword(req, http.StatusOK, "")
}

func respondFirstPassword(req *console.Request, status int, fault string) error {
	user, err := identity.FindUserOf(req.R.Context(), req.DB, req.Session)
	if err != nil {
		return err
	}
	return req.Show(status, "password", "password.title", page.Layout{
		Body: passwordPage{Email: user.Email, Next: next(req), Fault: fault}})
}

func changeFirstPassword(req *console.Request) error {
	path, query, asked := strings.Cut(next(req), "?")
	to := page.WithNotice(path, "good.password_changed")
	if asked {
		to += "&" + query
	}
	return replacePassword(req, respondFirstPassword, to)
}

// replacePassword changes the password, which ends all sessions and tokens of the user, starts a new session and
// redirects. refused responds with an error message about the input.
func replacePassword(req *console.Request, refused func(*console.Request, int, string) error, to string) error {
	current, chosen := req.Form.Get("current"), req.Form.Get("new")
	if length := utf8.RuneCountInString(chosen); length < account.MinPassword || length > account.MaxPassword ||
		!utf8.ValidString(chosen) {
		return refused(req, http.StatusUnprocessableEntity, "length")
	}
	ctx := req.R.Context()
	user, err := identity.FindUserOf(ctx, req.DB, req.Session)
	if err != nil {
		return err
	}
	_, err = req.Accounts.ChangePassword(ctx, req.Session, req.Source, current, chosen)
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrWrongPassword, "wrong"}, {account.ErrCommonPassword, "common"}, {account.ErrSamePassword, "unchanged"}} {
		if errors.Is(err, fault.err) {
			return refused(req, http.StatusUnprocessableEntity, fault.key)
		}
	}
	if errors.Is(err, identity.ErrSessionEnded) {
		return req.RedirectToLogin()
	}
	if err != nil {
		return err
	}
	err = start(req, account.Credentials{Email: user.Email, Password: chosen, Account: user.Account})
	if errors.Is(err, account.ErrOTPRequired) {
		return req.Redirect(to) // this session goes on: a new one would need another code
	}
	if err != nil {
		// The password was changed, but there is no new session. This one ends, so the user has to log in again.
		if revoked := identity.RevokeToken(ctx, req.DB, req.Session.Digest); revoked != nil {
			return revoked
		}
		return req.Redirect(page.WithNotice("/login", "good.password_changed"))
	}
	return req.Redirect(to)
}
