package people

import (
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

const loginPolicyPath = UsersPath + "/login-policy"

func loginPolicyRoutes() []console.Route {
	return []console.Route{{Method: http.MethodPost, Path: loginPolicyPath, Needs: access.ManageUsers,
		Serve: setLoginPolicy}}
}

// loginPolicyForm is the part of the page of people that says how they have to log in.
type loginPolicyForm struct {
	Policy string
	// SignOn reports that there is single sign-on, BySignOn that the caller has logged in by it, and so may require it.
	SignOn, BySignOn bool
	// Factor reports that the caller has a second factor, and so may require one.
	Factor bool
}

// Now returns the key of the present policy below "users.policy." in the messages.
func (f loginPolicyForm) Now() string {
	if f.Policy == string(base.LoginAny) && !f.SignOn {
		return "password"
	}
	return f.Policy
}

// loginPolicy returns the form for a caller who has a second factor, or has none.
func loginPolicy(req *console.Request, factor bool) loginPolicyForm {
	return loginPolicyForm{Policy: string(req.Session.Account.LoginPolicy), SignOn: req.SignOn != nil,
		BySignOn: req.Session.Means == identity.LoginBySingleSignOn, Factor: factor}
}

// setLoginPolicy requires a second factor or single sign-on, or allows passwords alone again.
func setLoginPolicy(req *console.Request) error {
	policy, done := base.LoginAny, "good.sso_not_required"
	switch req.Form.Get("policy") {
	case string(base.LoginAny):
		if req.Session.Account.LoginPolicy == base.LoginSecondFactor {
			done = "good.factor_not_required"
		}
	case string(base.LoginSecondFactor):
		policy, done = base.LoginSecondFactor, "good.factor_required"
	case string(base.LoginSingleSignOn):
		policy, done = base.LoginSingleSignOn, "good.sso_required"
	default:
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	err := identity.SetLoginPolicy(req.R.Context(), req.Session.Tenant, req.Session, policy)
	if errors.Is(err, identity.ErrNotSignOn) {
		return req.Redirect(page.WithNotice(UsersPath, "bad.not_sso"))
	}
	if errors.Is(err, identity.ErrNoFactor) {
		return req.Redirect(page.WithNotice(UsersPath, "bad.no_factor"))
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(UsersPath, done))
}
