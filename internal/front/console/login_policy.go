package console

import (
	"errors"
	"net/http"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

const loginPolicyPath = usersPath + "/login-policy"

func loginPolicyRoutes() []route {
	return []route{{method: http.MethodPost, path: loginPolicyPath, needs: access.ManageUsers,
		serve: (*request).setLoginPolicy}}
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
func (req *request) loginPolicy(factor bool) loginPolicyForm {
	return loginPolicyForm{Policy: string(req.session.Account.LoginPolicy), SignOn: req.SignOn != nil,
		BySignOn: req.session.Means == identity.LoginBySingleSignOn, Factor: factor}
}

// setLoginPolicy requires a second factor or single sign-on, or allows passwords alone again.
func (req *request) setLoginPolicy() error {
	policy, done := base.LoginAny, "good.sso_not_required"
	switch req.Form.Get("policy") {
	case string(base.LoginAny):
		if req.session.Account.LoginPolicy == base.LoginSecondFactor {
			done = "good.factor_not_required"
		}
	case string(base.LoginSecondFactor):
		policy, done = base.LoginSecondFactor, "good.factor_required"
	case string(base.LoginSingleSignOn):
		policy, done = base.LoginSingleSignOn, "good.sso_required"
	default:
		return problem.For(api.CodeMalformedRequest).Because(page.ErrForm)
	}
	err := identity.SetLoginPolicy(req.R.Context(), req.session.Tenant, req.session, policy)
	if errors.Is(err, identity.ErrNotSignOn) {
		return req.Redirect(page.WithNotice(usersPath, "bad.not_sso"))
	}
	if errors.Is(err, identity.ErrNoFactor) {
		return req.Redirect(page.WithNotice(usersPath, "bad.no_factor"))
	}
	if err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(usersPath, done))
}
