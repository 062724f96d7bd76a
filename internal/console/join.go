package console

import (
	"errors"
	"net/http"

	"quittance/internal/access"
	"quittance/internal/account"
	"quittance/internal/store"
)

// joinRoutes are the page of an invitation. The link has the secret in its fragment, which browsers do not send; the script puts it into
// the form, so that no address on a server contains it.
func joinRoutes() []route {
	return []route{
		{method: http.MethodGet, path: account.JoinPath, needs: access.Public, serve: func(req *request) error { return req.respondJoin(http.StatusOK, joinPage{}) }},
		{method: http.MethodPost, path: account.JoinPath, needs: access.Public, serve: (*request).openInvitation},
		{method: http.MethodPost, path: account.JoinPath + "/password", needs: access.Public, serve: (*request).join},
	}
}

// joinPage is the view model of the page of an invitation: first the form for its secret, then that for the password.
type joinPage struct {
	// Code is the secret of a usable invitation, and Invitation the invitation itself; empty before that.
	Code, InvitingCompany string
	Invitation            *store.Invitation
	Name                  string
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

func (req *request) respondJoin(status int, p joinPage) error {
	title, err := req.pages.messages.text("join.title")
	if p.Invitation != nil {
		title, err = req.pages.messages.text("join.company", p.InvitingCompany)
	}
	if err != nil {
		return err
	}
	page := pageData{Title: title, Body: p}
	if p.Code != "" {
		page.Reopen = []preservedField{{"code", p.Code}, {"name", p.Name}}
	}
	return req.page(status, "join", page)
}

// openInvitation shows the form for the password to somebody who has the secret of an invitation.
func (req *request) openInvitation() error { return req.respondInvitation(http.StatusOK, "") }

// respondInvitation responds with the form for the password, or with an error if the invitation cannot be used.
func (req *request) respondInvitation(status int, fault string) error {
	p := joinPage{Code: req.form.Get("code"), Name: req.form.Get("name"), Fault: fault}
	found, company, err := req.Accounts.FindInvitation(req.r.Context(), req.source, p.Code)
	if errors.Is(err, account.ErrInvitation) {
		return req.respondJoin(http.StatusUnprocessableEntity, joinPage{Fault: "unusable"})
	}
	p.Invitation, p.InvitingCompany = &found, company
	if err != nil {
		return err
	}
	return req.respondJoin(status, p)
}

// join makes the invited person a user and logs in.
func (req *request) join() error {
	password := req.form.Get("password")
	user, err := req.Accounts.Join(req.r.Context(), req.source, req.form.Get("code"), req.form.Get("name"), password)
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrInvitation, "unusable"}, {account.ErrName, "name"}, {account.ErrPasswordLength, "length"}, {account.ErrCommonPassword, "common"}} {
		switch {
		case !errors.Is(err, fault.err):
		case fault.key == "unusable":
			return req.respondJoin(http.StatusUnprocessableEntity, joinPage{Fault: fault.key})
		default:
			return req.respondInvitation(http.StatusUnprocessableEntity, fault.key)
		}
	}
	if err != nil {
		return err
	}
	err = req.start(account.Credentials{Email: user.Email, Password: password})
	if errors.Is(err, store.ErrSignOnRequired) {
		return req.redirect(withFlash("/login", "good.joined_sso"))
	}
	if err != nil { // the user can log in later
		return req.redirect(withFlash("/login", "good.joined"))
	}
	return req.redirect(withFlash("/invoices", "good.joined"))
}
