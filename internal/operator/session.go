package operator

import (
	"errors"
	"html/template"
	"net/http"
	"strings"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/console"
	"quittance/internal/problem"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// The names of the session cookie, as for the console, but others: a browser can be logged in to both.
const (
	secureCookie = "__Host-quittance-operator"
	plainCookie  = "quittance-operator"
)

func (p *Pages) cookieName() string {
	if p.Secure {
		return secureCookie
	}
	return plainCookie
}

// setCookie sets the session cookie; an empty value removes it.
func (req *request) setCookie(value string, expires time.Time) {
	//nolint:gosec // Secure wherever browsers use TLS; otherwise the server listens on loopback only
	cookie := &http.Cookie{Name: req.cookieName(), Value: value, Path: "/", Secure: req.Secure, HttpOnly: true,
		SameSite: http.SameSiteLaxMode, Expires: expires}
	if value == "" {
		cookie.MaxAge = -1
	}
	http.SetCookie(req.w, cookie)
}

// authenticate reads the session of the caller. It is no error if there is none.
func (req *request) authenticate() error {
	given, err := req.r.Cookie(req.cookieName())
	if err != nil {
		return nil //nolint:nilerr // the only error is that there is no cookie
	}
	session, err := req.DB.AuthenticateOperator(req.r.Context(), secret.OperatorSessionDigest(secret.New(given.Value)))
	if errors.Is(err, store.ErrNotFound) {
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
		return req.redirect(accountsPath)
	}
	return req.show(http.StatusOK, "login", "op.login.title", page{Body: loginPage{}})
}

// The longest accepted e-mail address, and the longest password and code, in bytes.
const (
	maxEmail  = 1024
	maxSecret = 4096
)

func (req *request) login() error {
	form := req.r.PostForm
	email, password, code := form.Get("email"), form.Get("password"), form.Get("code")
	var err error = account.ErrInvalidCredentials
	var session secret.Text
	var expires time.Time
	if len(email) <= maxEmail && len(password) <= maxSecret && len(code) <= maxSecret &&
		!strings.ContainsRune(email+password+code, 0) {
		session, expires, err = req.Accounts.StartOperatorSession(req.r.Context(), req.source, email, password, code)
	}
	if errors.Is(err, account.ErrInvalidCredentials) {
		if len(email) > maxEmail {
			email = ""
		}
		return req.show(http.StatusUnauthorized, "login",
			"op.login.title", page{Body: loginPage{Email: email, Fault: "wrong"}})
	}
	if err != nil {
		return err
	}
	if req.loggedIn() {
		if err := req.DB.EndOperatorSession(req.r.Context(), req.session); err != nil {
			return err
		}
	}
	req.setCookie(session.Reveal(), expires)
	return req.redirect(accountsPath)
}

func (req *request) logout() error {
	if err := req.DB.EndOperatorSession(req.r.Context(), req.session); err != nil {
		return err
	}
	req.setCookie("", time.Time{})
	req.w.Header().Set("Clear-Site-Data", `"cache"`)
	return req.redirectWith(loginPath, "good.logged_out")
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
	return req.show(http.StatusOK, "enrol", "op.enrol.title", page{Body: enrolPage{}})
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
	p := enrolPage{Code: req.r.PostForm.Get("code"), Fault: fault}
	operator, err := req.Accounts.EnrollingOperator(req.r.Context(), req.source, p.Code)
	if errors.Is(err, account.ErrEnrolment) {
		return req.show(http.StatusUnprocessableEntity, "enrol", "op.enrol.title", page{Body: enrolPage{Fault: "unusable"}})
	}
	if err != nil {
		return err
	}
	if p.Picture, err = console.QRCode(account.TOTPAddress(shared, operator.Email)); err != nil {
		return err
	}
	p.Email, p.Shared = operator.Email, shared.Reveal()
	return req.show(status, "enrol", "op.enrol.title", page{Body: p})
}

// enrol stores the password and the authenticator, and shows the recovery codes.
func (req *request) enrol() error {
	form := req.r.PostForm
	shared := secret.New(form.Get("shared"))
	if !account.IsTOTPSecret(shared) || len(form.Get("password")) > maxSecret {
		return problem.For(api.CodeMalformedRequest)
	}
	codes, err := req.Accounts.Enrol(req.r.Context(), req.source, form.Get("code"), form.Get("password"), shared,
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
	return req.show(http.StatusOK, "enrol", "op.enrol.recovery", page{Body: p})
}
