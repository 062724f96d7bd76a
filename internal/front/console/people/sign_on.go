package people

import (
	"context"
	"errors"
	"net/http"
	"time"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/account/sso"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// signOnRoutes are the begin and the end of a login by single sign-on. Its end is a request of the provider's page:
// what it carries counts only with the cookie of the browser that began the attempt.
func signOnRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/login/sso", Needs: access.Public, Serve: beginSignOn},
		{Method: http.MethodGet, Path: sso.CallbackPath, Needs: access.Public, Serve: endSignOn},
	}
}

// signOnCookie returns the cookie of an attempt, with the prefix that binds it to this host; see [page.Kit.CookieName].
// Browsers send it with the navigation back from the provider, which SameSite=Strict would prevent.
func signOnCookie(req *console.Request, value string) *http.Cookie {
	cookie := req.NewCookie("-sso", value, time.Time{}) //nolint:gosec // the kit makes it secure
	if value != "" {
		cookie.MaxAge = int(sso.AttemptTTL / time.Second)
	}
	return cookie
}

// beginSignOn sends the browser to the provider.
func beginSignOn(req *console.Request) error {
	if req.SignOn == nil {
		return problem.For(api.CodeNotFound)
	}
	attempt, err := sso.NewAttempt(req.Random, req.Now(), next(req))
	if err != nil {
		return err
	}
	to, err := req.SignOn.Begin(attempt)
	if err != nil {
		return refuseSignOn(req, err)
	}
	http.SetCookie(req.W, signOnCookie(req, attempt.Cookie()))
	return req.Redirect(to)
}

// endSignOn starts a session for the person whom the provider has logged in, and redirects to the page that was
// requested before.
func endSignOn(req *console.Request) error {
	if req.SignOn == nil {
		return problem.For(api.CodeNotFound)
	}
	answer, err := signOnAnswer(req)
	if err != nil {
		return refuseSignOn(req, err) // and keep the cookie: the request may be a forged one, beside an attempt that goes on
	}
	http.SetCookie(req.W, signOnCookie(req, ""))
	ctx := req.R.Context()
	started, err := req.Accounts.SignOn(ctx, req.Source, req.R.UserAgent(), answer.Digest(),
		func(ctx context.Context) (sso.Identity, error) {
			return req.SignOn.Identify(ctx, answer)
		})
	if errors.Is(err, account.ErrOTPRequired) && !started.Pending.IsZero() {
		holdPending(req, started, http.SameSiteLaxMode) // the next page is still part of the navigation from the provider
		return redirectToCode(req, ownPage(req, answer.Next()))
	}
	if errors.Is(err, identity.ErrChooseCompany) && !started.Pending.IsZero() {
		http.SetCookie(req.W, choiceCookie(req, started.Pending.Reveal(), started.Expires))
		return req.Redirect(companyPath)
	}
	if err != nil {
		return refuseSignOn(req, err)
	}
	if err := adopt(req, started); err != nil {
		return err
	}
	return req.Redirect(ownPage(req, answer.Next()))
}

// signOnAnswer returns the answer that the request has to an attempt of this browser. The error is [sso.ErrState].
func signOnAnswer(req *console.Request) (sso.Answer, error) {
	cookie, err := req.R.Cookie(signOnCookie(req, "").Name)
	if err != nil {
		return sso.Answer{}, sso.ErrState
	}
	attempt, err := sso.ReadAttempt(cookie.Value)
	if err != nil {
		return sso.Answer{}, err
	}
	return attempt.Answer(req.R.URL.Query(), req.Now())
}

// refuseSignOn redirects to the login page, which says why nobody was logged in. The redirect removes what the provider
// sent from the address.
func refuseSignOn(req *console.Request, err error) error {
	for _, known := range [...]struct {
		err error
		key string
	}{
		{sso.ErrUnavailable, "bad.sso_unavailable"}, {sso.ErrDenied, "bad.sso_denied"}, {sso.ErrInvalid, "bad.sso_invalid"},
		{sso.ErrUnverified, "bad.sso_unverified"}, {sso.ErrState, "bad.sso_state"}, {account.ErrNoUser, "bad.sso_no_user"},
		{identity.ErrOtherSubject, "bad.sso_other"},
		{identity.ErrSuspended, "bad.sso_suspended"},
		{identity.ErrSecondFactor, "bad.sso_factor"},
	} {
		if errors.Is(err, known.err) {
			return req.Redirect(page.WithNotice("/login", known.key))
		}
	}
	return err
}
