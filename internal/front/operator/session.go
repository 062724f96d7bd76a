package operator

import (
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

// authenticate reads the session of the caller. It is no error if there is none.
func (req *request) authenticate() error {
	given, err := req.R.Cookie(req.CookieName(""))
	if err != nil {
		return nil //nolint:nilerr // the only error is that there is no cookie
	}
	session, err := identity.AuthenticateOperator(req.R.Context(), req.DB,
		secret.OperatorSessionDigest(secret.New(given.Value)))
	if errors.Is(err, base.ErrNotFound) {
		return nil
	}
	req.session = session
	return err
}

// loginPage is the view model of the login.
type loginPage struct {
	Email string
	// Fault is the key of an error message below "op.login.", or "".
	Fault string
}

func (req *request) showLogin() error {
	if req.loggedIn() {
		return req.Redirect(accountsPath)
	}
	return req.Show(http.StatusOK, "login", "op.login.title", page.Layout{Body: loginPage{}})
}

// The longest accepted e-mail address, and the longest password and code, in bytes.
const (
	maxEmail  = 1024
	maxSecret = 4096
)

func (req *request) login() error {
	form := req.Form
	email, password, code := form.Get("email"), form.Get("password"), form.Get("code")
	var err error = account.ErrInvalidCredentials
	var session secret.Text
	var expires time.Time
	if len(email) <= maxEmail && len(password) <= maxSecret && len(code) <= maxSecret &&
		!strings.ContainsRune(email+password+code, 0) {
		session, expires, err = req.Accounts.StartOperatorSession(req.R.Context(), req.Source, email, password, code)
	}
	if errors.Is(err, account.ErrInvalidCredentials) {
		if len(email) > maxEmail {
			email = ""
		}
		return req.Show(http.StatusUnauthorized, "login",
			"op.login.title", page.Layout{Body: loginPage{Email: email, Fault: "wrong"}})
	}
	if err != nil {
		return err
	}
	if req.loggedIn() {
		if err := identity.EndOperatorSession(req.R.Context(), req.DB, req.session); err != nil {
			return err
		}
	}
	http.SetCookie(req.W, req.NewCookie("", session.Reveal(), expires))
	return req.Redirect(accountsPath)
}

func (req *request) logout() error {
	if err := identity.EndOperatorSession(req.R.Context(), req.DB, req.session); err != nil {
		return err
	}
	http.SetCookie(req.W, req.NewCookie("", "", time.Time{}))
	req.W.Header().Set("Clear-Site-Data", `"cache"`)
	return req.Redirect(page.WithNotice(loginPath, "good.logged_out"))
}

// enrolPage is the view model of the enrolment: first the form for the secret of the link, then that for the password
// and the authenticator, then the recovery codes.
type enrolPage struct {
	// Code is the secret of a usable link, and Email the address of its operator; empty before that.
	Code, Email string
	// Shared is the secret of the authenticator in groups, and Picture its QR code. It travels with the form, which shows
	// it anyway: nothing is stored before the operator has proved to have it.
	Shared  string
	Picture template.URL
	// Recovery are the recovery codes, once.
	Recovery []string
	// Fault is the key of an error message below "op.enrol.fault.", or "".
	Fault string
}

// Groups returns the secret in groups of four characters, for people who type it.
func (p enrolPage) Groups() []string {
	var groups []string
	for rest := p.Shared; rest != ""; {
		n := min(4, len(rest))
		groups, rest = append(groups, rest[:n]), rest[n:]
	}
	return groups
}

func (req *request) showEnrol() error {
	return req.Show(http.StatusOK, "enrol", "op.enrol.title", page.Layout{Body: enrolPage{}})
}

// openEnrolment shows the form for the password and the authenticator to somebody who has the secret of a link.
func (req *request) openEnrolment() error {
	shared, err := account.NewTOTPSecret(req.Random)
	if err != nil {
		return err
	}
	return req.respondEnrolment(http.StatusOK, shared, "")
}

func (req *request) respondEnrolment(status int, shared secret.Text, fault string) error {
	p := enrolPage{Code: req.Form.Get("code"), Fault: fault}
	operator, err := req.Accounts.EnrollingOperator(req.R.Context(), req.Source, p.Code)
	if errors.Is(err, account.ErrEnrolment) {
		return req.Show(http.StatusUnprocessableEntity, "enrol", "op.enrol.title",
			page.Layout{Body: enrolPage{Fault: "unusable"}})
	}
	if err != nil {
		return err
	}
	if p.Picture, err = page.QRCode(account.TOTPAddress(shared, operator.Email)); err != nil {
		return err
	}
	p.Email, p.Shared = operator.Email, shared.Reveal()
	return req.Show(status, "enrol", "op.enrol.title", page.Layout{Body: p})
}

// enrol stores the password and the authenticator, and shows the recovery codes.
func (req *request) enrol() error {
	form := req.Form
	shared := secret.New(form.Get("shared"))
	if !account.IsTOTPSecret(shared) || len(form.Get("password")) > maxSecret {
		return problem.For(api.CodeMalformedRequest)
	}
	codes, err := req.Accounts.Enrol(req.R.Context(), req.Source, form.Get("code"), form.Get("password"), shared,
		form.Get("shown"))
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrEnrolment, "unusable"}, {account.ErrCode, "code"}, {account.ErrPasswordLength, "length"},
		{account.ErrCommonPassword, "common"}} {
		if errors.Is(err, fault.err) {
			return req.respondEnrolment(http.StatusUnprocessableEntity, shared, fault.key)
		}
	}
	if err != nil {
		return err
	}
	p := enrolPage{}
	for _, code := range codes {
		p.Recovery = append(p.Recovery, code.Reveal())
	}
	return req.Show(http.StatusOK, "enrol", "op.enrol.recovery", page.Layout{Body: p})
}
