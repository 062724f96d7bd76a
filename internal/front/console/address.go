package console

import (
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// companyPath is the page on which somebody whom the OpenID provider has logged in chooses the company.
const companyPath = "/login/company"

// addressRoutes are what people do with e-mail addresses: prove and change their own, change those of colleagues, and
// remove people. The link that proves an address has its secret in the fragment; see [joinRoutes].
func addressRoutes() []route {
	return []route{
		{method: http.MethodGet, path: account.ProvePath, needs: access.Public,
			serve: func(req *request) error { return req.respondProve(http.StatusOK, "") }},
		{method: http.MethodPost, path: account.ProvePath, needs: access.OwnLogin, serve: (*request).proveAddress},
		{method: http.MethodPost, path: "/account/address", needs: access.OwnLogin, serve: (*request).changeOwnAddress},
		{method: http.MethodPost, path: "/account/address/proof", needs: access.OwnLogin,
			serve: (*request).requestAddressProof},
		{method: http.MethodPost, path: "/account/leave", needs: access.OwnLogin, serve: (*request).leave},
		{method: http.MethodPost, path: usersPath + "/{user}/address", needs: access.ManageUsers,
			serve: (*request).changeAddress},
		{method: http.MethodPost, path: usersPath + "/{user}/remove", needs: access.ManageUsers,
			serve: (*request).removeUser},
		{method: http.MethodGet, path: companyPath, needs: access.Public, serve: (*request).showCompanies},
		{method: http.MethodPost, path: companyPath, needs: access.Public, serve: (*request).chooseCompany},
	}
}

// provePage is the view model of the page that the link opens.
type provePage struct {
	// LoggedIn says that somebody is logged in: only the user who has asked for the link can use it.
	LoggedIn bool
	Email    string
	// Fault is the key of an error message below "prove.", or "".
	Fault string
}

func (req *request) respondProve(status int, fault string) error {
	return req.Show(status, "prove", "prove.title", page.Layout{
		Body: provePage{LoggedIn: req.session.Tenant != nil, Email: req.session.Email, Fault: fault}})
}

func (req *request) proveAddress() error {
	_, err := req.Accounts.ProveAddress(req.R.Context(), req.session, req.Source, req.Form.Get("code"))
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrProof, "unusable"}, {identity.ErrProvedElsewhere, "elsewhere"}} {
		if errors.Is(err, fault.err) {
			return req.respondProve(http.StatusUnprocessableEntity, fault.key)
		}
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.address_proved"))
}

func (req *request) requestAddressProof() error {
	err := req.Accounts.RequestAddressProof(req.R.Context(), req.session)
	if errors.Is(err, identity.ErrNoMail) {
		return problem.For(api.CodeNotFound).Because(err)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.proof_sent"))
}

// addressFault returns the key of the error message about a new address below "account.address.fault.", or "".
func addressFault(err error) string {
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrEmail, "email"}, {base.ErrExists, "exists"}, {account.ErrWrongPassword, "password"},
		{account.ErrOTPRequired, "otp"}} {
		if errors.Is(err, fault.err) {
			return fault.key
		}
	}
	return ""
}

func (req *request) changeOwnAddress() error {
	email := req.Form.Get("email")
	err := account.ErrEmail
	if len(email) <= maxEmail {
		_, _, err = req.Accounts.ChangeOwnAddress(req.R.Context(), req.session, req.Source, email, req.Form.Get("current"),
			account.Factor{Code: req.code("otp")})
	}
	if fault := addressFault(err); fault != "" {
		return req.showAccount(http.StatusUnprocessableEntity, "", fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.address_changed"))
}

// leave removes the user who is logged in.
func (req *request) leave() error {
	_, err := identity.RemoveUser(req.R.Context(), req.session.Tenant, req.session, req.session.User)
	if errors.Is(err, identity.ErrLastOwner) {
		return req.Redirect(page.WithNotice("/account", "bad.last_owner"))
	}
	if err != nil {
		return err
	}
	http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "good.left"))
}

func (req *request) changeAddress() error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	email := req.Form.Get("email")
	err = account.ErrEmail
	if len(email) <= maxEmail {
		_, err = req.Accounts.ChangeAddress(req.R.Context(), req.session.Tenant, req.session, id, email)
	}
	if fault := addressFault(err); fault != "" {
		return req.Redirect(page.WithNotice(usersPath, "bad.address_"+fault))
	}
	if errors.Is(err, account.ErrOwnAddress) {
		return req.Redirect("/account")
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(usersPath, "good.address_changed"))
}

func (req *request) removeUser() error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	if id == req.session.User {
		return req.leave()
	}
	if _, err := identity.RemoveUser(req.R.Context(), req.session.Tenant, req.session, id); errors.Is(err,
		identity.ErrLastOwner) {
		return req.Redirect(page.WithNotice(usersPath, "bad.last_owner"))
	} else if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(usersPath, "good.user_removed"))
}

// choiceCookie returns the cookie that binds the choice of a company to this browser.
func (c *Console) choiceCookie(value string, expires time.Time) *http.Cookie {
	return c.kit.NewCookie("-choice", value, expires)
}

// choice returns the secret of the choice that this browser has to make.
func (req *request) choice() (secret.Text, bool) {
	given, err := req.R.Cookie(req.choiceCookie("", time.Time{}).Name)
	if err != nil {
		return secret.Text{}, false
	}
	return secret.New(given.Value), true
}

// companyPage is the view model of the page on which somebody chooses the company.
type companyPage struct {
	Email     string
	Companies []identity.AddressCompany
}

func (req *request) showCompanies() error {
	pending, found := req.choice()
	if !found {
		return req.Redirect("/login")
	}
	email, companies, err := req.Accounts.FindChoice(req.R.Context(), req.Source, pending)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return req.endChoice()
	}
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, "company", "company.title", page.Layout{
		Body: companyPage{Email: email, Companies: companies}})
}

// endChoice leads to the login page, because the choice was made before or has expired.
func (req *request) endChoice() error {
	http.SetCookie(req.W, req.choiceCookie("", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "bad.login_expired"))
}

// chooseCompany starts the session of a person who has chosen a company.
func (req *request) chooseCompany() error {
	pending, found := req.choice()
	if !found {
		return req.Redirect("/login")
	}
	of, err := base.ParseID(req.Form.Get("company"))
	if err != nil {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	started, err := req.Accounts.CompleteChoice(req.R.Context(), req.Source, req.R.UserAgent(), pending, of)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return req.endChoice()
	}
	if err != nil {
		return req.refuseSignOn(err)
	}
	http.SetCookie(req.W, req.choiceCookie("", time.Time{}))
	if err := req.adopt(started); err != nil {
		return err
	}
	return req.Redirect("/")
}
