package people

import (
	"errors"
	"net/http"
	"net/url"

	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
)

// joinRoutes are the page of an invitation. The link has the secret in its fragment, which browsers do not send; the
// script puts it into the form, so that no address on a server contains it.
func joinRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: account.JoinPath, Needs: access.Public,
			Serve: func(req *console.Request) error { return respondJoin(req, http.StatusOK, joinPage{}) }},
		{Method: http.MethodPost, Path: account.JoinPath, Needs: access.Public, Serve: openInvitation},
		{Method: http.MethodPost, Path: account.JoinPath + "/password", Needs: access.Public, Serve: join},
	}
}

// joinPage is the view model of the page of an invitation: first the form for its secret, then that for the password.
type joinPage struct {
	// Code is the secret of a usable invitation, and Invitation the invitation itself; empty before that.
	Code       string
	Invitation *identity.UsableInvitation
	Name       string
	// Fault is the key of an error message below "join.", or "".
	Fault string
}

// PasswordFault returns the fault of the password, or "".
func (p joinPage) PasswordFault() string {
	if p.Fault == "length" || p.Fault == "common" {
		return p.Fault
	}
	return ""
}

func respondJoin(req *console.Request, status int, p joinPage) error {
	title, err := req.Text("join.title")
	if p.Invitation != nil {
		title, err = req.Text("join.company", p.Invitation.Company)
	}
	if err != nil {
		return err
	}
	layout := page.Layout{Title: title, Body: p}
	if p.Code != "" {
		layout.Reopen = []page.Field{{Name: "code", Value: p.Code}, {Name: "name", Value: p.Name}}
	}
	return req.Show(status, "join", "", layout)
}

// openInvitation shows the form for the password to somebody who has the secret of an invitation.
func openInvitation(req *console.Request) error { return respondInvitation(req, http.StatusOK, "") }

// respondInvitation responds with the form for the password, or with an error if the invitation cannot be used.
func respondInvitation(req *console.Request, status int, fault string) error {
	p := joinPage{Code: req.Form.Get("code"), Name: req.Form.Get("name"), Fault: fault}
	found, err := req.Accounts.FindInvitation(req.R.Context(), req.Source, p.Code)
	if refused := joinRefusal(err); refused != "" {
		return respondJoin(req, http.StatusUnprocessableEntity, joinPage{Fault: refused})
	}
	if err != nil {
		return err
	}
	p.Invitation = &found
	return respondJoin(req, status, p)
}

// joinRefusal returns the key of the error message below "join.fault." for an invitation that cannot be used, or "".
func joinRefusal(err error) string {
	switch {
	case errors.Is(err, account.ErrInvitation):
		return "unusable"
	case errors.Is(err, identity.ErrProvedElsewhere):
		return "elsewhere"
	}
	return ""
}

// join makes the invited person a user and logs in.
func join(req *console.Request) error {
	password := req.Form.Get("password")
	user, err := req.Accounts.Join(req.R.Context(), req.Source, req.Form.Get("code"), req.Form.Get("name"), password)
	if refused := joinRefusal(err); refused != "" {
		return respondJoin(req, http.StatusUnprocessableEntity, joinPage{Fault: refused})
	}
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrName, "name"}, {account.ErrPasswordLength, "length"}, {account.ErrCommonPassword, "common"}} {
		if errors.Is(err, fault.err) {
			return respondInvitation(req, http.StatusUnprocessableEntity, fault.key)
		}
	}
	if err != nil {
		return err
	}
	err = start(req, account.Credentials{Email: user.Email, Password: password, Account: user.Account})
	if errors.Is(err, identity.ErrSignOnRequired) {
		return req.Redirect(page.WithNotice("/login", "good.joined_sso"))
	}
	if err != nil { // the user can log in later
		return req.Redirect(page.WithNotice("/login", "good.joined") + "&" +
			url.Values{"company": {user.Account.String()}}.Encode())
	}
	return req.Redirect(page.WithNotice("/invoices", "good.joined"))
}
