package console

import (
	"errors"
	"net/http"
	"net/url"
	"strings"
	"unicode/utf8"

	"quittance/internal/account"
	"quittance/internal/store"
)

// passwordPath is the only page of a session that began with a password of an administrator's.
const passwordPath = "/password"

func passwordRoutes() []route {
	return []route{
		{method: http.MethodGet, path: passwordPath, always: true, serve: (*visit).showFirstPassword},
		{method: http.MethodPost, path: passwordPath, always: true, serve: (*visit).changeFirstPassword},
	}
}

// passwordPage is what the page of a first password shows.
type passwordPage struct {
	Email, Next string
	// Fault is the key of what is wrong with a password below "account.password.", "" for nothing.
	Fault string
}

// OfNew tells whether the fault is one of the new password.
func (p passwordPage) OfNew() bool { return p.Fault != "" && p.Fault != "wrong" }

// toPassword sends somebody who has to change the password to where that is done, and from there back to where they
// wanted to go.
func (v *visit) toPassword() error {
	if v.fragment() {
		v.w.Header().Set("HX-Redirect", passwordPath)
		v.w.WriteHeader(http.StatusOK)
		return nil
	}
	to := passwordPath
	if wanted := v.r.URL.RequestURI(); v.r.Method == http.MethodGet && wanted != "/" {
		to += "?" + url.Values{"next": {wanted}}.Encode()
	}
	return v.redirect(to)
}

func (v *visit) showFirstPassword() error {
	if !v.session.PasswordChangeRequired {
		return v.redirect("/account")
	}
	return v.answerFirstPassword(http.StatusOK, "")
}

func (v *visit) answerFirstPassword(status int, fault string) error {
	user, err := v.DB.User(v.r.Context(), v.session)
	if err != nil {
		return err
	}
	title, err := v.pages.words.say("password.title")
	if err != nil {
		return err
	}
	return v.page(status, "password", shown{Title: title, Body: passwordPage{Email: user.Email, Next: v.next(), Fault: fault}})
}

func (v *visit) changeFirstPassword() error {
	path, query, asked := strings.Cut(v.next(), "?")
	to := said(path, "good.password_changed")
	if asked {
		to += "&" + query
	}
	return v.replacePassword(v.answerFirstPassword, to)
}

// The length of a new password in characters (contract, section 3).
const (
	leastPassword = 15
	mostPassword  = 256
)

// replacePassword changes the password, which ends every other session and token of the user, and goes on to a page in a
// new session. refused answers what is wrong with what was typed.
func (v *visit) replacePassword(refused func(status int, fault string) error, to string) error {
	current, chosen := v.form.Get("current"), v.form.Get("new")
	if length := utf8.RuneCountInString(chosen); length < leastPassword || length > mostPassword || !utf8.ValidString(chosen) {
		return refused(http.StatusUnprocessableEntity, "length")
	}
	ctx := v.r.Context()
	user, err := v.DB.User(ctx, v.session)
	if err != nil {
		return err
	}
	_, err = v.Accounts.ChangePassword(ctx, v.session, v.source, current, chosen)
	for _, fault := range [...]struct {
		err error
		key string
	}{{account.ErrWrongPassword, "wrong"}, {account.ErrCommonPassword, "common"}, {account.ErrSamePassword, "unchanged"}} {
		if errors.Is(err, fault.err) {
			return refused(http.StatusUnprocessableEntity, fault.key)
		}
	}
	if errors.Is(err, store.ErrSessionEnded) {
		return v.toLogin()
	}
	if err != nil {
		return err
	}
	if err := v.start(user.Email, chosen); err != nil {
		// The password is changed, whatever became of the new session: this one ends, and its owner logs in again.
		if revoked := v.DB.RevokeToken(ctx, v.session.Digest); revoked != nil {
			return revoked
		}
		return v.redirect(said("/login", "good.password_changed"))
	}
	return v.redirect(to)
}
