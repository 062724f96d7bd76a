package people

import (
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// The pages of a person who has forgotten the password. They exist only if the installation sends e-mails.
const (
	forgotPath     = "/forgot"
	forgotSentPath = forgotPath + "/sent"
)

// passwordResetRoutes are the pages on which somebody asks for a link, and those that the link opens. A link has its
// secret in the fragment, as that of an invitation does; see [joinRoutes]. The address is sent in forms only, so that
// it is in no log.
func passwordResetRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: forgotPath, Needs: access.Public, Serve: showForgot},
		{Method: http.MethodPost, Path: forgotPath, Needs: access.Public, Serve: showForgot},
		{Method: http.MethodPost, Path: forgotPath + "/link", Needs: access.Public, Serve: requestReset},
		{Method: http.MethodGet, Path: forgotSentPath, Needs: access.Public, Serve: func(req *console.Request) error {
			return respondForgot(req, http.StatusOK, forgotPage{Sent: true})
		}},
		{Method: http.MethodGet, Path: account.ResetPath, Needs: access.Public, Serve: func(req *console.Request) error {
			return respondReset(req, http.StatusOK, resetPage{})
		}},
		{Method: http.MethodPost, Path: account.ResetPath, Needs: access.Public, Serve: openReset},
		{Method: http.MethodPost, Path: account.ResetPath + "/password", Needs: access.Public,
			Serve: completeReset},
	}
}

// forgotPage is the view model of the page on which somebody asks for a link.
type forgotPage struct {
	Email string
	// Fault says that the address has not the form of one.
	Fault bool
	// Sent replaces the form by what follows. It says the same whether or not somebody has the address.
	Sent bool
}

// MaxResets is how many links an hour one address gets.
func (forgotPage) MaxResets() int { return account.MaxResets }

// showForgot shows the form, with the address that was typed on the login page.
func showForgot(req *console.Request) error {
	p := forgotPage{Email: req.Form.Get("email")}
	if len(p.Email) > maxEmail {
		p.Email = ""
	}
	return respondForgot(req, http.StatusOK, p)
}

func respondForgot(req *console.Request, status int, p forgotPage) error {
	if err := requireMail(req); err != nil {
		return err
	}
	title, err := req.Text("forgot.title")
	if p.Sent {
		title, err = req.Text("forgot.sent.title")
	}
	if err != nil {
		return err
	}
	return req.Show(status, "forgot", "", page.Layout{Title: title, Body: p})
}

// requireMail returns the error of a page that does not exist unless the installation sends e-mails.
func requireMail(req *console.Request) error {
	sends, err := identity.SendsMail(req.R.Context(), req.DB)
	if err == nil && !sends {
		err = problem.For(api.CodeNotFound)
	}
	return err
}

// requestReset asks for a link. The response does not depend on whether somebody has the address.
func requestReset(req *console.Request) error {
	if err := requireMail(req); err != nil {
		return err
	}
	email := req.Form.Get("email")
	err := account.ErrEmail
	if len(email) <= maxEmail {
		err = req.Accounts.RequestPasswordReset(req.R.Context(), req.Source, email, req.Words.Messages.Tag.String())
	}
	if errors.Is(err, account.ErrEmail) {
		return respondForgot(req, http.StatusUnprocessableEntity, forgotPage{Fault: true})
	}
	if err != nil {
		return err
	}
	return req.Redirect(forgotSentPath)
}

// resetPage is the view model of the page that a link opens: first the form for its secret, then that for the password.
type resetPage struct {
	// Code is the secret of a usable link, and Email the address of its user; empty before that.
	Code, Email string
	// Unusable says that the secret is not that of a usable link.
	Unusable bool
	// Fault is the key of an error message below "account.password.", or "".
	Fault string
}

func respondReset(req *console.Request, status int, p resetPage) error {
	layout := page.Layout{Body: p}
	if p.Code != "" {
		layout.Reopen = []page.Field{{Name: "code", Value: p.Code}}
	}
	return req.Show(status, "reset", "reset.title", layout)
}

// openReset shows the form for the password to somebody who has the secret of a link.
func openReset(req *console.Request) error { return respondOpenReset(req, http.StatusOK, "") }

// respondOpenReset responds with the form for the password, or with an error if the link cannot be used.
func respondOpenReset(req *console.Request, status int, fault string) error {
	code := req.Form.Get("code")
	user, err := req.Accounts.FindPasswordReset(req.R.Context(), req.Source, code)
	if errors.Is(err, account.ErrReset) {
		return respondReset(req, http.StatusUnprocessableEntity, resetPage{Unusable: true})
	}
	if err != nil {
		return err
	}
	return respondReset(req, status, resetPage{Code: code, Email: user.Email, Fault: fault})
}

// completeReset sets the password. The user then logs in with it, and with the second factor if there is one.
func completeReset(req *console.Request) error {
	err := req.Accounts.CompletePasswordReset(req.R.Context(), req.Source, req.Form.Get("code"), req.Form.Get("password"))
	if errors.Is(err, account.ErrReset) {
		return respondReset(req, http.StatusUnprocessableEntity, resetPage{Unusable: true})
	}
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrPasswordLength, "length"}, {account.ErrCommonPassword, "common"},
		{account.ErrSamePassword, "unchanged"}} {
		if errors.Is(err, fault.err) {
			return respondOpenReset(req, http.StatusUnprocessableEntity, fault.key)
		}
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/login", "good.password_reset"))
}
