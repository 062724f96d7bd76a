package people

import (
	"bytes"
	"errors"
	"net/http"

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

const passkeysPath = console.SecondFactorPath + "/passkeys"

func passkeyRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodPost, Path: passkeysPath, Needs: access.OwnLogin, Enrols: true, Serve: addPasskey},
		{Method: http.MethodPost, Path: passkeysPath + "/options", Needs: access.OwnLogin, Enrols: true,
			Serve: registrationOptions},
		{Method: http.MethodPost, Path: passkeysPath + "/challenge", Needs: access.OwnLogin,
			Serve: confirmationOptions},
		{Method: http.MethodGet, Path: passkeysPath + "/{passkey}", Needs: access.OwnLogin,
			Serve: func(req *console.Request) error { return respondPasskey(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: passkeysPath + "/{passkey}/name", Needs: access.OwnLogin,
			Serve: renamePasskey},
		{Method: http.MethodPost, Path: passkeysPath + "/{passkey}/remove", Needs: access.OwnLogin,
			Serve: removePasskey},
		{Method: http.MethodPost, Path: loginCodePath + "/passkey", Needs: access.Public, Serve: loginOptions},
	}
}

// relyingParty returns the site that passkeys belong to, and false if there can be none.
func relyingParty(req *console.Request) (account.RelyingParty, bool) {
	return req.PublicURL.RelyingParty(req.Environment, req.Secure, req.R.Host)
}

// factor returns what the form has of a second factor: the assertion of a passkey in the field assertion, or a code in
// the field of the given name; or the password, which the first second factor needs.
func factor(req *console.Request, field string) account.Factor {
	if assertion := req.Form.Get("assertion"); assertion != "" {
		if site, possible := relyingParty(req); possible {
			return account.Factor{Assertion: []byte(assertion), Site: site}
		}
	}
	return account.Factor{Code: code(req, field), Password: req.Form.Get("current")}
}

// factorField is the field of a code of the present second factor, beside which a passkey can be used.
type factorField struct {
	// ID begins the identifiers of its elements.
	ID string
	// App reports that the user has an authenticator app, and Passkeys that the user has passkeys that can be used here.
	App, Passkeys bool
}

// present returns the field for the user of a state.
func present(req *console.Request, id string, state *identity.SecondFactorState) factorField {
	_, possible := relyingParty(req)
	return factorField{ID: id, App: state.AppSince != nil, Passkeys: possible && len(state.Passkeys) > 0}
}

// options responds with the options of a call of an authenticator, which are for the script of the page.
func options(req *console.Request, ask func(site account.RelyingParty) ([]byte, error)) error {
	site, possible := relyingParty(req)
	if !possible {
		return problem.For(api.CodeNotFound)
	}
	options, err := ask(site)
	if err != nil {
		return err
	}
	return req.Send(http.StatusOK, "application/json", bytes.NewBuffer(options))
}

func registrationOptions(req *console.Request) error {
	return options(req, func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginPasskey(req.R.Context(), req.Session, site)
	})
}

func confirmationOptions(req *console.Request) error {
	return options(req, func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginConfirmation(req.R.Context(), req.Session, site)
	})
}

// loginOptions responds with the options for the passkey that completes the pending login of the browser.
func loginOptions(req *console.Request) error {
	pending, found := pendingLogin(req)
	if !found {
		return base.ErrNotFound
	}
	err := options(req, func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginPasskeyLogin(req.R.Context(), req.Source, pending, site)
	})
	if errors.Is(err, account.ErrNoPendingLogin) {
		return base.ErrNotFound
	}
	return err
}

// pendingLogin returns the secret of the pending login of the browser.
func pendingLogin(req *console.Request) (secret.Text, bool) {
	cookie, err := req.R.Cookie(req.CookieName(pendingSuffix))
	if err != nil {
		return secret.Text{}, false
	}
	return secret.New(cookie.Value), true
}

// passkeyFault returns the key of the error message about a new passkey or the name of one; "" for another error.
func passkeyFault(err error) string {
	for _, known := range [...]struct {
		err error
		key string
	}{
		{account.ErrPasskey, "passkey"}, {account.ErrPasskeyName, "passkey_name"}, {base.ErrExists, "passkey_exists"},
		{identity.ErrPasskeyLimit, "passkey_limit"},
	} {
		if errors.Is(err, known.err) {
			return known.key
		}
	}
	return ""
}

// addPasskey adds a passkey, and shows the recovery codes if it is the first second factor.
func addPasskey(req *console.Request) error {
	site, possible := relyingParty(req)
	if !possible {
		return problem.For(api.CodeNotFound)
	}
	codes, err := req.Accounts.AddPasskey(req.R.Context(), req.Session, req.Source,
		account.NewPasskey{Name: req.Form.Get("name"),
			Response: []byte(req.Form.Get("registration")), Site: site, Present: factor(req, "otp")})
	fault := passkeyFault(err)
	if fault == "" {
		fault = factorFault(req, err)
	}
	switch {
	case fault != "":
		return respondSecondFactor(req, http.StatusUnprocessableEntity, fault)
	case err != nil:
		return err
	case codes == nil:
		return req.Redirect(page.WithNotice(console.SecondFactorPath, "good.passkey_added"))
	}
	req.Session.FactorRequired = false
	return respondRecoveryCodes(req, codes)
}

// passkeyPage is the view model of the page of a passkey.
type passkeyPage struct {
	identity.Passkey
	Present factorField
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func respondPasskey(req *console.Request, status int, fault string) error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	state, err := identity.ReadSecondFactorState(req.R.Context(), req.Session.Tenant, req.Session.User)
	if err != nil {
		return err
	}
	for _, p := range state.Passkeys {
		if p.ID == id {
			return req.Show(status, "passkey", "passkeys.one", page.Layout{Section: "account",
				Body: passkeyPage{Passkey: p, Present: present(req, "remove", &state), Fault: fault}})
		}
	}
	return base.ErrNotFound
}

func renamePasskey(req *console.Request) error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	err = req.Accounts.RenamePasskey(req.R.Context(), req.Session, id, req.Form.Get("name"))
	if fault := passkeyFault(err); fault != "" {
		return respondPasskey(req, http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(console.SecondFactorPath, "good.passkey_renamed"))
}

func removePasskey(req *console.Request) error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	err = req.Accounts.RemovePasskey(req.R.Context(), req.Session, req.Source, req.Form.Get("current"), factor(req, "otp"),
		id)
	if fault := factorFault(req, err); fault != "" {
		return respondPasskey(req, http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(console.SecondFactorPath, "good.passkey_removed"))
}
