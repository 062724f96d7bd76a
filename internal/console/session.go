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
		{method: http.MethodGet, path: "/login", public: true, serve: (*visit).showLogin},
		{method: http.MethodPost, path: "/login", public: true, serve: (*visit).login},
		{method: http.MethodPost, path: "/logout", always: true, serve: (*visit).logout},
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
func (v *visit) authenticate() error {
	digest, presented := v.Session(v.r)
	if !presented {
		return nil
	}
	session, err := v.admission.Authenticate(v.r.Context(), digest)
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	v.session = session
	return err
}

// toLogin sends somebody to the login, and from there back to where they wanted to go.
func (v *visit) toLogin() error {
	if v.fragment() {
		v.w.Header().Set("HX-Redirect", "/login") // the whole page goes there, not the part that asked
		v.w.WriteHeader(http.StatusOK)
		return nil
	}
	to := "/login"
	if wanted := v.r.URL.RequestURI(); v.r.Method == http.MethodGet && wanted != "/" {
		to += "?" + url.Values{"next": {wanted}}.Encode()
	}
	return v.redirect(to)
}

// loginPage is what the login shows.
type loginPage struct {
	Email, Next string
	// Fault is the key of what went wrong below "login.", "" for nothing.
	Fault string
}

// wanted is where somebody wanted to go before the login, as it was sent: with the form of a login, or in the address of its
// page.
func (v *visit) wanted() string {
	if v.r.Method == http.MethodPost {
		return v.form.Get("next")
	}
	return v.r.URL.Query().Get("next")
}

// next is where a login leads: a page of ours, whatever the address bar said.
func (v *visit) next() string {
	wanted, err := url.Parse(v.wanted())
	if err != nil || wanted.IsAbs() || wanted.Host != "" || !strings.HasPrefix(wanted.Path, "/") || strings.HasPrefix(wanted.Path, "//") {
		return "/invoices"
	}
	if found, _, _ := match(v.routes, http.MethodGet, wanted.EscapedPath()); found == nil || found.public {
		return "/invoices"
	}
	return wanted.RequestURI()
}

func (v *visit) showLogin() error {
	if v.session.Tenant != nil {
		return v.redirect(v.next())
	}
	return v.answerLogin(http.StatusOK, loginPage{Next: v.wanted()})
}

func (v *visit) answerLogin(status int, p loginPage) error {
	title, _ := v.pages.words.find("login.title")
	return v.page(status, "login", shown{Title: title, Body: p})
}

func (v *visit) login() error {
	email := v.form.Get("email")
	err := v.start(email, v.form.Get("password"))
	if err == nil {
		return v.redirect(v.next())
	}
	p := loginPage{Email: email, Next: v.wanted()}
	if len(p.Email) > maxEmail {
		p.Email = ""
	}
	switch _, limited := errors.AsType[*account.LimitedError](err); {
	case limited:
		return err
	case errors.Is(err, account.ErrInvalidCredentials):
		p.Fault = "wrong"
		return v.answerLogin(http.StatusUnauthorized, p)
	case errors.Is(err, store.ErrSuspended):
		p.Fault = "suspended"
		return v.answerLogin(http.StatusForbidden, p)
	}
	return err
}

// The longest e-mail address and password that are looked at, in bytes.
const (
	maxEmail    = 1024
	maxPassword = 4096
)

// start checks a password and begins a session, always a new one: what the browser held before ends.
func (v *visit) start(email, password string) error {
	if len(email) > maxEmail || len(password) > maxPassword || strings.ContainsRune(email+password, 0) {
		return account.ErrInvalidCredentials
	}
	started, _, err := v.Accounts.StartSession(v.r.Context(), v.source, email, password)
	if err != nil {
		return err
	}
	if v.session.Tenant != nil {
		if err := v.DB.RevokeToken(v.r.Context(), v.session.Digest); err != nil {
			return err
		}
	}
	v.admission.Remember(secret.SessionDigest(started.Token), started.Account.ID)
	http.SetCookie(v.w, v.cookie(started.Token.Reveal(), started.Expires))
	return nil
}

func (v *visit) logout() error {
	if err := v.DB.RevokeToken(v.r.Context(), v.session.Digest); err != nil {
		return err
	}
	http.SetCookie(v.w, v.cookie("", time.Time{}))
	v.w.Header().Set("Clear-Site-Data", `"cache"`)
	return v.redirect(said("/login", "good.logged_out"))
}
