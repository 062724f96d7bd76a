package people

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

func secondFactorRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: console.SecondFactorPath, Needs: access.OwnLogin, Enrols: true,
			Serve: func(req *console.Request) error { return respondSecondFactor(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: console.SecondFactorPath + "/begin", Needs: access.OwnLogin, Enrols: true,
			Serve: beginSecondFactor},
		{Method: http.MethodGet, Path: console.SecondFactorPath + "/confirm", Needs: access.OwnLogin, Enrols: true,
			Serve: func(req *console.Request) error { return respondEnrollment(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: console.SecondFactorPath + "/confirm", Needs: access.OwnLogin, Enrols: true,
			Serve: confirmSecondFactor},
		{Method: http.MethodPost, Path: console.SecondFactorPath + "/recovery-codes", Needs: access.OwnLogin,
			Serve: replaceRecoveryCodes},
		{Method: http.MethodPost, Path: console.SecondFactorPath + "/disable", Needs: access.OwnLogin,
			Serve: disableSecondFactor},
	}
}

// The longest code that is compared, in bytes.
const maxCode = 64

// code returns a code from the form; "" for one that is too long to be right.
func code(req *console.Request, field string) string {
	code := strings.TrimSpace(req.Form.Get(field))
	if len(code) > maxCode {
		return ""
	}
	return code
}

// secondFactorPage is the view model of the page of the second factor.
type secondFactorPage struct {
	api.SecondFactor
	Email string
	// App reports that the user has an authenticator app.
	App      bool
	Passkeys []identity.Passkey
	// Possible reports that the service can have passkeys at this address, and Full that the user may have no more.
	Possible, Full bool
	// Codes, Disable and Add are the fields of the forms.
	Codes, Disable, Add factorField
	// Password reports that the first second factor needs the password.
	Password bool
	// Required reports that the company requires a second factor.
	Required bool
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func respondSecondFactor(req *console.Request, status int, fault string) error {
	state, err := identity.ReadSecondFactorState(req.R.Context(), req.Session.Tenant, req.Session.User)
	if err != nil {
		return err
	}
	title, err := req.Text("factor.title")
	if err != nil {
		return err
	}
	_, possible := relyingParty(req)
	p := secondFactorPage{SecondFactor: view.SecondFactor(state), Email: req.Session.Email, App: state.AppSince != nil,
		Passkeys: state.Passkeys, Possible: possible, Full: len(state.Passkeys) >= identity.MaxPasskeys,
		Codes: present(req, "codes", &state), Disable: present(req, "disable", &state), Add: present(req, "add", &state),
		Password: state.EnrolledAt() == nil && req.Session.Means != identity.LoginBySingleSignOn,
		Required: req.Session.Account.LoginPolicy == base.LoginSecondFactor, Fault: fault}
	if req.Session.FactorRequired {
		return req.Show(status, "second_factor_required", "", page.Layout{Title: title, Body: p})
	}
	return req.Show(status, "second_factor", "", page.Layout{Title: title, Section: "account", Body: p})
}

func beginSecondFactor(req *console.Request) error {
	if _, err := req.Accounts.BeginEnrollment(req.R.Context(), req.Session); err != nil {
		return err
	}
	return req.Redirect(console.SecondFactorPath + "/confirm")
}

// enrollmentPage is the view model of the page with the QR code. It shows the secret to the session of its user alone,
// until the app is confirmed or an hour has passed.
type enrollmentPage struct {
	Secret  string
	Picture template.URL
	// Present is the field of the present second factor, if there is one, and Password reports that the first one needs
	// the password.
	Present  *factorField
	Password bool
	// Held reports that the session is good for nothing but to set up a second factor.
	Held bool
	// Fault is the key of an error message below "factor.fault.", or "".
	Fault string
}

func respondEnrollment(req *console.Request, status int, fault string) error {
	ctx := req.R.Context()
	pending, err := req.Accounts.PendingEnrollment(ctx, req.Session)
	if errors.Is(err, base.ErrNotFound) {
		return req.Redirect(console.SecondFactorPath)
	}
	if err != nil {
		return err
	}
	state, err := identity.ReadSecondFactorState(ctx, req.Session.Tenant, req.Session.User)
	if err != nil {
		return err
	}
	picture, err := page.QRCode(pending.Address)
	if err != nil {
		return err
	}
	p := enrollmentPage{Secret: grouped4(pending.Secret.Reveal()), Picture: picture, Held: req.Session.FactorRequired,
		Fault: fault}
	if state.EnrolledAt() != nil {
		p.Present = new(present(req, "present", &state))
	} else {
		p.Password = req.Session.Means != identity.LoginBySingleSignOn
	}
	return req.Show(status, "second_factor_confirm", "factor.begin", page.Layout{Section: "account", Body: p})
}

// grouped4 separates groups of four characters, so that people can type a secret.
func grouped4(text string) string {
	var groups []string
	for ; len(text) > 4; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return strings.Join(append(groups, text), " ")
}

// recoveryCodesPage is the view model of the page of new recovery codes. It is the only page that ever contains them.
type recoveryCodesPage struct{ Codes []string }

func respondRecoveryCodes(req *console.Request, codes []secret.Text) error {
	var p recoveryCodesPage
	for _, code := range codes {
		p.Codes = append(p.Codes, code.Reveal())
	}
	return req.Show(http.StatusOK, "recovery_codes", "factor.codes", page.Layout{Section: "account", Body: p})
}

func confirmSecondFactor(req *console.Request) error {
	codes, err := req.Accounts.ConfirmEnrollment(req.R.Context(), req.Session, req.Source, code(req, "code"),
		factor(req, "otp"))
	if errors.Is(err, account.ErrWrongCode) {
		return respondEnrollment(req, http.StatusUnprocessableEntity, "code")
	}
	if fault := factorFault(req, err); fault != "" {
		return respondEnrollment(req, http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	req.Session.FactorRequired = false
	return respondRecoveryCodes(req, codes)
}

// factorFault returns the key of the error message about a password, code or passkey; "" for another error.
func factorFault(req *console.Request, err error) string {
	switch {
	case errors.Is(err, account.ErrWrongPassword), errors.Is(err, account.ErrPasswordRequired):
		return "password"
	case errors.Is(err, account.ErrStaleSignOn):
		return "stale"
	case errors.Is(err, account.ErrOTPRequired) && req.Form.Get("assertion") != "":
		return "assertion"
	case errors.Is(err, account.ErrOTPRequired):
		return "otp"
	case errors.Is(err, identity.ErrFactorRequired):
		return "required"
	}
	return ""
}

func replaceRecoveryCodes(req *console.Request) error {
	codes, _, err := req.Accounts.ReplaceRecoveryCodes(req.R.Context(), req.Session, req.Source, req.Form.Get("current"),
		factor(req, "otp"))
	if fault := factorFault(req, err); fault != "" {
		return respondSecondFactor(req, http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return respondRecoveryCodes(req, codes)
}

func disableSecondFactor(req *console.Request) error {
	_, err := req.Accounts.DisableSecondFactor(req.R.Context(), req.Session, req.Source, req.Form.Get("current"),
		factor(req, "otp"))
	if fault := factorFault(req, err); fault != "" {
		return respondSecondFactor(req, http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(console.SecondFactorPath, "good.factor_disabled"))
}
