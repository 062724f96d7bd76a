package console

import (
	"bytes"
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

const passkeysPath = secondFactorPath + "/passkeys"

func passkeyRoutes() []route {
	return []route{
		{method: http.MethodPost, path: passkeysPath, needs: access.OwnLogin, enrols: true, serve: (*request).addPasskey},
		{method: http.MethodPost, path: passkeysPath + "/options", needs: access.OwnLogin, enrols: true,
			serve: (*request).registrationOptions},
		{method: http.MethodPost, path: passkeysPath + "/challenge", needs: access.OwnLogin,
			serve: (*request).confirmationOptions},
		{method: http.MethodGet, path: passkeysPath + "/{passkey}", needs: access.OwnLogin,
			serve: func(req *request) error { return req.respondPasskey(http.StatusOK, "") }},
		{method: http.MethodPost, path: passkeysPath + "/{passkey}/name", needs: access.OwnLogin,
			serve: (*request).renamePasskey},
		{method: http.MethodPost, path: passkeysPath + "/{passkey}/remove", needs: access.OwnLogin,
			serve: (*request).removePasskey},
		{method: http.MethodPost, path: loginCodePath + "/passkey", needs: access.Public, serve: (*request).loginOptions},
	}
}

// relyingParty returns the site that passkeys belong to, and false if there can be none.
func (req *request) relyingParty() (account.RelyingParty, bool) {
	return req.PublicURL.RelyingParty(req.Environment, req.Secure, req.R.Host)
}

// factor returns what the form has of a second factor: the assertion of a passkey in the field assertion, or a code in
// the field of the given name; or the password, which the first second factor needs.
func (req *request) factor(code string) account.Factor {
	if assertion := req.Form.Get("assertion"); assertion != "" {
		if site, possible := req.relyingParty(); possible {
			return account.Factor{Assertion: []byte(assertion), Site: site}
		}
	}
	return account.Factor{Code: req.code(code), Password: req.Form.Get("current")}
}

// factorField is the field of a code of the present second factor, beside which a passkey can be used.
type factorField struct {
	// ID begins the identifiers of its elements.
	ID string
	// App reports that the user has an authenticator app, and Passkeys that the user has passkeys that can be used here.
	App, Passkeys bool
}

// present returns the field for the user of a state.
func (req *request) present(id string, state *identity.SecondFactorState) factorField {
	_, possible := req.relyingParty()
	return factorField{ID: id, App: state.AppSince != nil, Passkeys: possible && len(state.Passkeys) > 0}
}

// options responds with the options of a call of an authenticator, which are for the script of the page.
func (req *request) options(ask func(site account.RelyingParty) ([]byte, error)) error {
	site, possible := req.relyingParty()
	if !possible {
		return problem.For(api.CodeNotFound)
	}
	options, err := ask(site)
	if err != nil {
		return err
	}
	return req.Send(http.StatusOK, "application/json", bytes.NewBuffer(options))
}

func (req *request) registrationOptions() error {
	return req.options(func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginPasskey(req.R.Context(), req.session, site)
	})
}

func (req *request) confirmationOptions() error {
	return req.options(func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginConfirmation(req.R.Context(), req.session, site)
	})
}

// loginOptions responds with the options for the passkey that completes the pending login of the browser.
func (req *request) loginOptions() error {
	pending, found := req.pendingLogin()
	if !found {
		return base.ErrNotFound
	}
	err := req.options(func(site account.RelyingParty) ([]byte, error) {
		return req.Accounts.BeginPasskeyLogin(req.R.Context(), req.Source, pending, site)
	})
	if errors.Is(err, account.ErrNoPendingLogin) {
		return base.ErrNotFound
	}
	return err
}

// pendingLogin returns the secret of the pending login of the browser.
func (req *request) pendingLogin() (secret.Text, bool) {
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
func (req *request) addPasskey() error {
	site, possible := req.relyingParty()
	if !possible {
		return problem.For(api.CodeNotFound)
	}
	codes, err := req.Accounts.AddPasskey(req.R.Context(), req.session, req.Source,
		account.NewPasskey{Name: req.Form.Get("name"),
			Response: []byte(req.Form.Get("registration")), Site: site, Present: req.factor("otp")})
	fault := passkeyFault(err)
	if fault == "" {
		fault = req.factorFault(err)
	}
	switch {
	case fault != "":
		return req.respondSecondFactor(http.StatusUnprocessableEntity, fault)
	case err != nil:
		return err
	case codes == nil:
		return req.Redirect(page.WithNotice(secondFactorPath, "good.passkey_added"))
	}
	req.session.FactorRequired = false
	return req.respondRecoveryCodes(codes)
}

// passkeyPage is the view model of the page of a passkey.
type passkeyPage struct {
	identity.Passkey
	Present factorField
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func (req *request) respondPasskey(status int, fault string) error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	state, err := identity.ReadSecondFactorState(req.R.Context(), req.session.Tenant, req.session.User)
	if err != nil {
		return err
	}
	for _, p := range state.Passkeys {
		if p.ID == id {
			return req.Show(status, "passkey", "passkeys.one", page.Layout{Section: "account",
				Body: passkeyPage{Passkey: p, Present: req.present("remove", &state), Fault: fault}})
		}
	}
	return base.ErrNotFound
}

func (req *request) renamePasskey() error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	err = req.Accounts.RenamePasskey(req.R.Context(), req.session, id, req.Form.Get("name"))
	if fault := passkeyFault(err); fault != "" {
		return req.respondPasskey(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(secondFactorPath, "good.passkey_renamed"))
}

func (req *request) removePasskey() error {
	id, err := req.ID("passkey")
	if err != nil {
		return err
	}
	err = req.Accounts.RemovePasskey(req.R.Context(), req.session, req.Source, req.Form.Get("current"), req.factor("otp"),
		id)
	if fault := req.factorFault(err); fault != "" {
		return req.respondPasskey(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(secondFactorPath, "good.passkey_removed"))
}
