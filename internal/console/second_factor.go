package console

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"html/template"
	"image"
	"image/color"
	"image/png"
	"net/http"
	"strings"

	"github.com/boombuler/barcode/qr"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/account"
	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/internal/view"
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
	code := strings.TrimSpace(req.form.Get(field))
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
	Passkeys []store.Passkey
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
	state, err := req.session.Tenant.SecondFactorState(req.r.Context(), req.session.User)
	if err != nil {
		return err
	}
	title, err := req.pages.messages.text("factor.title")
	if err != nil {
		return err
	}
	_, possible := req.relyingParty()
	p := secondFactorPage{SecondFactor: view.SecondFactor(state), Email: req.session.Email, App: state.AppSince != nil,
		Passkeys: state.Passkeys, Possible: possible, Full: len(state.Passkeys) >= store.MaxPasskeys,
		Codes: req.present("codes", &state), Disable: req.present("disable", &state), Add: req.present("add", &state),
		Password: state.EnrolledAt() == nil && req.session.Means != store.LoginBySingleSignOn,
		Required: req.session.Account.LoginPolicy == store.LoginSecondFactor, Fault: fault}
	if req.session.FactorRequired {
		return req.page(status, "second_factor_required", pageData{Title: title, Body: p})
	}
	return req.page(status, "second_factor", pageData{Title: title, Section: "account", Body: p})
}

func (req *request) beginSecondFactor() error {
	if _, err := req.Accounts.BeginEnrollment(req.r.Context(), req.session); err != nil {
		return err
	}
	return req.redirect(secondFactorPath + "/confirm")
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
	ctx := req.r.Context()
	pending, err := req.Accounts.PendingEnrollment(ctx, req.session)
	if errors.Is(err, store.ErrNotFound) {
		return req.redirect(secondFactorPath)
	}
	if err != nil {
		return err
	}
	state, err := req.session.Tenant.SecondFactorState(ctx, req.session.User)
	if err != nil {
		return err
	}
	picture, err := qrCode(pending.Address)
	if err != nil {
		return err
	}
	title, err := req.pages.messages.text("factor.begin")
	if err != nil {
		return err
	}
	p := enrollmentPage{Secret: grouped4(pending.Secret.Reveal()), Picture: picture, Held: req.session.FactorRequired,
		Fault: fault}
	if state.EnrolledAt() != nil {
		p.Present = new(req.present("present", &state))
	} else {
		p.Password = req.session.Means != store.LoginBySingleSignOn
	}
	return req.page(status, "second_factor_confirm", pageData{Title: title, Section: "account", Body: p})
}

// grouped4 separates groups of four characters, so that people can type a secret.
func grouped4(text string) string {
	var groups []string
	for ; len(text) > 4; text = text[4:] {
		groups = append(groups, text[:4])
	}
	return strings.Join(append(groups, text), " ")
}

// qrCode returns a QR code (ISO/IEC 18004) as a data URL, dark on light with the quiet zone of four modules that
// scanners need.
func qrCode(text secret.Text) (template.URL, error) {
	const scale, quiet = 5, 4
	modules, err := qr.Encode(text.Reveal(), qr.M, qr.Auto)
	if err != nil {
		return "", errors.New("the address of an authenticator app has no QR code") // the cause might have the secret
	}
	side := modules.Bounds().Dx()
	picture := image.NewGray(image.Rect(0, 0, (side+2*quiet)*scale, (side+2*quiet)*scale))
	for y := range picture.Rect.Dy() {
		for x := range picture.Rect.Dx() {
			at := image.Pt(x/scale-quiet, y/scale-quiet)
			if !at.In(modules.Bounds()) || modules.At(at.X, at.Y) != color.Color(color.Black) {
				picture.SetGray(x, y, color.Gray{Y: 0xff})
			}
		}
	}
	var out bytes.Buffer
	if err := png.Encode(&out, picture); err != nil {
		return "", fmt.Errorf("console: QR code: %w", err)
	}
	return template.URL("data:image/png;base64," + base64.StdEncoding.EncodeToString(out.Bytes())), nil //nolint:gosec // base64 of our own picture
}

// recoveryCodesPage is the view model of the page of new recovery codes. It is the only page that ever contains them.
type recoveryCodesPage struct{ Codes []string }

func (req *request) respondRecoveryCodes(codes []secret.Text) error {
	var p recoveryCodesPage
	for _, code := range codes {
		p.Codes = append(p.Codes, code.Reveal())
	}
	title, err := req.pages.messages.text("factor.codes")
	if err != nil {
		return err
	}
	return req.page(http.StatusOK, "recovery_codes", pageData{Title: title, Section: "account", Body: p})
}

func (req *request) confirmSecondFactor() error {
	codes, err := req.Accounts.ConfirmEnrollment(req.r.Context(), req.session, req.source, req.code("code"),
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
	case errors.Is(err, account.ErrOTPRequired) && req.form.Get("assertion") != "":
		return "assertion"
	case errors.Is(err, account.ErrOTPRequired):
		return "otp"
	case errors.Is(err, store.ErrFactorRequired):
		return "required"
	}
	return ""
}

func (req *request) replaceRecoveryCodes() error {
	codes, _, err := req.Accounts.ReplaceRecoveryCodes(req.r.Context(), req.session, req.source, req.form.Get("current"),
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
	_, err := req.Accounts.DisableSecondFactor(req.r.Context(), req.session, req.source, req.form.Get("current"),
		req.factor("otp"))
	if fault := req.factorFault(err); fault != "" {
		return req.respondSecondFactor(http.StatusUnprocessableEntity, fault)
	}
	if err != nil {
		return err
	}
	return req.redirect(withFlash(secondFactorPath, "good.factor_disabled"))
}
