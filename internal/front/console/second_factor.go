package console

import (
	"errors"
	"html/template"
	"net/http"
	"strings"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
)

const secondFactorPath = "/second-factor"

func secondFactorRoutes() []route {
	return []route{
		{method: http.MethodGet, path: secondFactorPath, needs: access.OwnLogin, enrols: true,
			serve: func(req *request) error { return req.respondSecondFactor(http.StatusOK, "") }},
		{method: http.MethodPost, path: secondFactorPath + "/begin", needs: access.OwnLogin, enrols: true,
			serve: (*request).beginSecondFactor},
		{method: http.MethodGet, path: secondFactorPath + "/confirm", needs: access.OwnLogin, enrols: true,
			serve: func(req *request) error { return req.respondEnrollment(http.StatusOK, "") }},
		{method: http.MethodPost, path: secondFactorPath + "/confirm", needs: access.OwnLogin, enrols: true,
			serve: (*request).confirmSecondFactor},
		{method: http.MethodPost, path: secondFactorPath + "/recovery-codes", needs: access.OwnLogin,
			serve: (*request).replaceRecoveryCodes},
		{method: http.MethodPost, path: secondFactorPath + "/disable", needs: access.OwnLogin,
			serve: (*request).disableSecondFactor},
	}
}

// The longest code that is compared, in bytes.
const maxCode = 64

// code returns a code from the form; "" for one that is too long to be right.
func (req *request) code(field string) string {
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

func (req *request) respondSecondFactor(status int, fault string) error {
	state, err := identity.ReadSecondFactorState(req.R.Context(), req.session.Tenant, req.session.User)
	if err != nil {
		return err
	}
	title, err := req.Text("factor.title")
	if err != nil {
		return err
	}
	_, possible := req.relyingParty()
	p := secondFactorPage{SecondFactor: view.SecondFactor(state), Email: req.session.Email, App: state.AppSince != nil,
		Passkeys: state.Passkeys, Possible: possible, Full: len(state.Passkeys) >= identity.MaxPasskeys,
		Codes: req.present("codes", &state), Disable: req.present("disable", &state), Add: req.present("add", &state),
		Password: state.EnrolledAt() == nil && req.session.Means != identity.LoginBySingleSignOn,
		Required: req.session.Account.LoginPolicy == base.LoginSecondFactor, Fault: fault}
	if req.session.FactorRequired {
		return req.Show(status, "second_factor_required", "", page.Layout{Title: title, Body: p})
	}
	return req.Show(status, "second_factor", "", page.Layout{Title: title, Section: "account", Body: p})
}

func (req *request) beginSecondFactor() error {
	if _, err := req.Accounts.BeginEnrollment(req.R.Context(), req.session); err != nil {
		return err
	}
	return req.Redirect(secondFactorPath + "/confirm")
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

func (req *request) respondEnrollment(status int, fault string) error {
	ctx := req.R.Context()
	pending, err := req.Accounts.PendingEnrollment(ctx, req.session)
	if errors.Is(err, base.ErrNotFound) {
		return req.Redirect(secondFactorPath)
	}
	if err != nil {
		return err
	}
	state, err := identity.ReadSecondFactorState(ctx, req.session.Tenant, req.session.User)
	if err != nil {
		return err
	}
	picture, err := page.QRCode(pending.Address)
	if err != nil {
		return err
	}
	p := enrollmentPage{Secret: grouped4(pending.Secret.Reveal()), Picture: picture, Held: req.session.FactorRequired,
		Fault: fault}
	if state.EnrolledAt() != nil {
		p.Present = new(req.present("present", &state))
	} else {
		p.Password = req.session.Means != identity.LoginBySingleSignOn
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

func (req *request) respondRecoveryCodes(codes []secret.Text) error {
	var p recoveryCodesPage
	for _, code := range codes {
		p.Codes = append(p.Codes, code.Reveal())
	}
	return req.Show(http.StatusOK, "recovery_codes", "factor.codes", page.Layout{Section: "account", Body: p})
}

func (req *request) confirmSecondFactor() error {
	codes, err := req.Accounts.ConfirmEnrollment(req.R.Context(), req.session, req.Source, req.code("code"),
		req.factor("otp"))
	if errors.Is(err, account.ErrWrongCode) {
		return req.respondEnrollment(http.StatusUnprocessableEntity, "code")
	}
	if fault := req.factorFault(err); fault != "" {
		return req.respondEnrollment(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	req.session.FactorRequired = false
	return req.respondRecoveryCodes(codes)
}

// factorFault returns the key of the error message about a password, code or passkey; "" for another error.
func (req *request) factorFault(err error) string {
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

func (req *request) replaceRecoveryCodes() error {
	codes, _, err := req.Accounts.ReplaceRecoveryCodes(req.R.Context(), req.session, req.Source, req.Form.Get("current"),
		req.factor("otp"))
	if fault := req.factorFault(err); fault != "" {
		return req.respondSecondFactor(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.respondRecoveryCodes(codes)
}

func (req *request) disableSecondFactor() error {
	_, err := req.Accounts.DisableSecondFactor(req.R.Context(), req.session, req.Source, req.Form.Get("current"),
		req.factor("otp"))
	if fault := req.factorFault(err); fault != "" {
		return req.respondSecondFactor(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(secondFactorPath, "good.factor_disabled"))
}
