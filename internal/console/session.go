package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"

	"quittance/internal/account"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// The names of the session's cookie. The first binds it to this host and to TLS (RFC 6265bis, section 4.1.3.2); browsers
// refuse that name over plain HTTP, which leaves loopback only.
const (
	secureCookie = "__Host-quittance"
	plainCookie  = "quittance"
)

func sessionRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/login", public: true, serve: (*request).showLogin},
		{method: http.MethodPost, path: "/login", public: true, serve: (*request).login},
		{method: http.MethodPost, path: "/logout", always: true, serve: (*request).logout},
	}
}

func (c *Console) cookieName() string {
	if c.Secure {
		return secureCookie
	}
	return plainCookie
}

// cookie is the session's cookie; it ends when the session does.
func (c *Console) cookie(value string, expires time.Time) *http.Cookie {
	//nolint:gosec // Secure wherever browsers speak TLS; otherwise the server is on loopback alone
	cookie := &http.Cookie{Name: c.cookieName(), Value: value, Path: "/", Secure: c.Secure, HttpOnly: true, SameSite: http.SameSiteLaxMode, Expires: expires}
	if value == "" {
		cookie.MaxAge = -1
	}
	return cookie
}

// Session returns the digest of the session that a request presents; false when it presents none.
func (c *Console) Session(r *http.Request) (digest [32]byte, presented bool) {
	given, err := r.Cookie(c.cookieName())
	if err != nil {
		return digest, false
	}
	return secret.SessionDigest(secret.New(given.Value)), true
}

// authenticate finds out who is logged in; nobody is no error.
func (req *request) authenticate() error {
	digest, presented := req.Session(req.r)
	if !presented {
		return nil
	}
	session, err := req.admission.Authenticate(req.r.Context(), digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	req.session = session
	return err
}

// toLogin sends somebody to the login, and from there back to where they wanted to go.
func (req *request) redirectToLogin() error {
	if req.isFragment() {
		req.w.Header().Set("HX-Redirect", "/login") // the whole page goes there, not the part that asked
		req.w.WriteHeader(http.StatusOK)
		return nil
	}
	to := "/login"
	if wanted := req.r.URL.RequestURI(); req.r.Method == http.MethodGet && wanted != "/" {
		to += "?" + url.Values{"next": {wanted}}.Encode()
	}
	return req.redirect(to)
}

// loginPage is what the login shows.
type loginPage struct {
	Email, Next string
	// Fault is the key of what went wrong below "login.", "" for nothing.
	Fault string
}

// wanted is where somebody wanted to go before the login, as it was sent: with the form of a login, or in the address of its
// page.
func (req *request) requestedPath() string {
	if req.r.Method == http.MethodPost {
		return req.form.Get("next")
	}
	return req.r.URL.Query().Get("next")
}

// next is where a login leads: a page of ours, whatever the address bar said.
func (req *request) next() string {
	wanted, err := url.Parse(req.requestedPath())
	if err != nil || wanted.IsAbs() || wanted.Host != "" || !strings.HasPrefix(wanted.Path, "/") || strings.HasPrefix(wanted.Path, "//") {
		return "/invoices"
	}
	if found, _, _ := match(req.routes, http.MethodGet, wanted.EscapedPath()); found == nil || found.public {
		return "/invoices"
	}
	return wanted.RequestURI()
}

func (req *request) showLogin() error {
	if req.session.Tenant != nil {
		return req.redirect(req.next())
	}
	return req.answerLogin(http.StatusOK, loginPage{Next: req.requestedPath()})
}

func (req *request) answerLogin(status int, p loginPage) error {
	title, _ := req.pages.messages.lookup("login.title")
	return req.page(status, "login", pageData{Title: title, Body: p})
}

func (req *request) login() error {
	email := req.form.Get("email")
	err := req.start(email, req.form.Get("password"))
	if err == nil {
		return req.redirect(req.next())
	}
	p := loginPage{Email: email, Next: req.requestedPath()}
	if len(p.Email) > maxEmail {
		p.Email = ""
	}
	switch _, limited := errors.AsType[*account.LimitedError](err); {
	case limited:
		return err
	case errors.Is(err, account.ErrInvalidCredentials):
		p.Fault = "wrong"
		return req.answerLogin(http.StatusUnauthorized, p)
	case errors.Is(err, store.ErrSuspended):
		p.Fault = "suspended"
		return req.answerLogin(http.StatusForbidden, p)
	}
	return err
}

// The longest e-mail address and password that are looked at, in bytes.
const (
	maxEmail    = 1024
	maxPassword = 4096
)

// start checks a password and begins a session, always a new one: what the browser held before ends.
func (req *request) start(email, password string) error {
	if len(email) > maxEmail || len(password) > maxPassword || strings.ContainsRune(email+password, 0) {
		return account.ErrInvalidCredentials
	}
	started, _, err := req.Accounts.StartSession(req.r.Context(), req.source, email, password)
	if err != nil {
		return err
	}
	if req.session.Tenant != nil {
		if err := req.DB.RevokeToken(req.r.Context(), req.session.Digest); err != nil {
			return err
		}
	}
	req.admission.Remember(secret.SessionDigest(started.Token), started.Account.ID)
	http.SetCookie(req.w, req.cookie(started.Token.Reveal(), started.Expires))
	return nil
}

func (req *request) logout() error {
	if err := req.DB.RevokeToken(req.r.Context(), req.session.Digest); err != nil {
		return err
	}
	http.SetCookie(req.w, req.cookie("", time.Time{}))
	req.w.Header().Set("Clear-Site-Data", `"cache"`)
	return req.redirect(withFlash("/login", "good.logged_out"))
}
