package people

import (
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console"
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
func addressRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: account.ProvePath, Needs: access.Public,
			Serve: func(req *console.Request) error { return respondProve(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: account.ProvePath, Needs: access.OwnLogin, Serve: proveAddress},
		{Method: http.MethodPost, Path: "/account/address", Needs: access.OwnLogin, Serve: changeOwnAddress},
		{Method: http.MethodPost, Path: "/account/address/proof", Needs: access.OwnLogin,
			Serve: requestAddressProof},
		{Method: http.MethodPost, Path: "/account/leave", Needs: access.OwnLogin, Serve: leave},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/address", Needs: access.ManageUsers,
			Serve: changeAddress},
		{Method: http.MethodPost, Path: UsersPath + "/{user}/remove", Needs: access.ManageUsers,
			Serve: removeUser},
		{Method: http.MethodGet, Path: companyPath, Needs: access.Public, Serve: showCompanies},
		{Method: http.MethodPost, Path: companyPath, Needs: access.Public, Serve: chooseCompany},
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

func respondProve(req *console.Request, status int, fault string) error {
	return req.Show(status, "prove", "prove.title", page.Layout{
		Body: provePage{LoggedIn: req.Session.Tenant != nil, Email: req.Session.Email, Fault: fault}})
}

func proveAddress(req *console.Request) error {
	_, err := req.Accounts.ProveAddress(req.R.Context(), req.Session, req.Source, req.Form.Get("code"))
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrProof, "unusable"}, {identity.ErrProvedElsewhere, "elsewhere"}} {
		if errors.Is(err, fault.err) {
			return respondProve(req, http.StatusUnprocessableEntity, fault.key)
		}
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.address_proved"))
}

func requestAddressProof(req *console.Request) error {
	err := req.Accounts.RequestAddressProof(req.R.Context(), req.Session)
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

func changeOwnAddress(req *console.Request) error {
	email := req.Form.Get("email")
	err := account.ErrEmail
	if len(email) <= maxEmail {
		_, _, err = req.Accounts.ChangeOwnAddress(req.R.Context(), req.Session, req.Source, email, req.Form.Get("current"),
			account.Factor{Code: code(req, "otp")})
	}
	if fault := addressFault(err); fault != "" {
		return showAccount(req, http.StatusUnprocessableEntity, "", fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice("/account", "good.address_changed"))
}

// leave removes the user who is logged in.
func leave(req *console.Request) error {
	_, err := identity.RemoveUser(req.R.Context(), req.Session.Tenant, req.Session, req.Session.User)
	if errors.Is(err, identity.ErrLastOwner) {
		return req.Redirect(page.WithNotice("/account", "bad.last_owner"))
	}
	if err != nil {
		return err
	}
	http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "good.left"))
}

func changeAddress(req *console.Request) error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	email := req.Form.Get("email")
	err = account.ErrEmail
	if len(email) <= maxEmail {
		_, err = req.Accounts.ChangeAddress(req.R.Context(), req.Session.Tenant, req.Session, id, email)
	}
	if fault := addressFault(err); fault != "" {
		return req.Redirect(page.WithNotice(UsersPath, "bad.address_"+fault))
	}
	if errors.Is(err, account.ErrOwnAddress) {
		return req.Redirect("/account")
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(UsersPath, "good.address_changed"))
}

func removeUser(req *console.Request) error {
	id, err := req.ID("user")
	if err != nil {
		return err
	}
	if id == req.Session.User {
		return leave(req)
	}
	if _, err := identity.RemoveUser(req.R.Context(), req.Session.Tenant, req.Session, id); errors.Is(err,
		identity.ErrLastOwner) {
		return req.Redirect(page.WithNotice(UsersPath, "bad.last_owner"))
	} else if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(UsersPath, "good.user_removed"))
}

// choiceCookie returns the cookie that binds the choice of a company to this browser.
func choiceCookie(req *console.Request, value string, expires time.Time) *http.Cookie {
	return req.NewCookie("-choice", value, expires)
}

// choice returns the secret of the choice that this browser has to make.
func choice(req *console.Request) (secret.Text, bool) {
	given, err := req.R.Cookie(choiceCookie(req, "", time.Time{}).Name)
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

func showCompanies(req *console.Request) error {
	pending, found := choice(req)
	if !found {
		return req.Redirect("/login")
	}
	email, companies, err := req.Accounts.FindChoice(req.R.Context(), req.Source, pending)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return endChoice(req)
	}
	if err != nil {
		return err
	}
	return req.Show(http.StatusOK, "company", "company.title", page.Layout{
		Body: companyPage{Email: email, Companies: companies}})
}

// endChoice leads to the login page, because the choice was made before or has expired.
func endChoice(req *console.Request) error {
	http.SetCookie(req.W, choiceCookie(req, "", time.Time{}))
	return req.Redirect(page.WithNotice("/login", "bad.login_expired"))
}

// chooseCompany starts the session of a person who has chosen a company.
func chooseCompany(req *console.Request) error {
	pending, found := choice(req)
	if !found {
		return req.Redirect("/login")
	}
	of, err := base.ParseID(req.Form.Get("company"))
	if err != nil {
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	started, err := req.Accounts.CompleteChoice(req.R.Context(), req.Source, req.R.UserAgent(), pending, of)
	if errors.Is(err, account.ErrNoPendingLogin) {
		return endChoice(req)
	}
	if err != nil {
		return refuseSignOn(req, err)
	}
	http.SetCookie(req.W, choiceCookie(req, "", time.Time{}))
	if err := adopt(req, started); err != nil {
		return err
	}
	return req.Redirect("/")
}
