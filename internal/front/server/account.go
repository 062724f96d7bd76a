package server

import (
	"context"
	"errors"
	"net/http"
	"strconv"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/secret"
)

func (c *call) login(ctx context.Context, body api.LoginRequest) (int, api.Data[api.Login], error) {
	var out api.Data[api.Login]
	given := account.Credentials{Email: *body.Email, Password: *body.Password, UserAgent: c.request.UserAgent()}
	if body.AccountID != nil {
		id, err := base.ParseID(*body.AccountID)
		if err != nil {
			faults := api.Faults{}
			faults.Add("account_id", "uuid", "must be the identifier of an account")
			return 0, out, problem.For(api.CodeValidationFailed).In(faults)
		}
		given.Account = id
	}
	if body.OTP != nil {
		given.OTP = *body.OTP
	}
	login, limit, err := c.Accounts.Login(ctx, c.source(c.request), given)
	c.setLimitHeaders(limit)
	if err != nil {
		return 0, out, err
	}
	c.admission.credentials.add(secret.Digest(login.Token), login.Account.ID)
	c.session.Account.ID, c.session.User = login.Account.ID, login.User.ID // for the log line of this request
	out.Data = api.Login{Token: login.Token.Reveal(), ExpiresAt: login.Expires,
		User: api.LoginUser{Name: login.User.Name, Email: login.User.Email,
			EmailProved: login.User.ProvedAt != nil},
		Account:                api.LoginAccount{CompanyName: login.Account.Company, Status: login.Account.Status},
		PasswordChangeRequired: login.User.PasswordChangeRequired}
	return http.StatusOK, out, nil
}

func (c *call) logout(ctx context.Context) (int, api.Data[api.LoggedOut], error) {
	if err := identity.RevokeToken(ctx, c.DB, c.session.Digest); err != nil {
		return 0, api.Data[api.LoggedOut]{}, err
	}
	return http.StatusOK, api.Data[api.LoggedOut]{Data: api.LoggedOut{LoggedOut: true}}, nil
}

func (c *call) changePassword(ctx context.Context,
	body api.PasswordRequest) (int, api.Data[api.PasswordChanged], error) {
	var out api.Data[api.PasswordChanged]
	limit, err := c.Accounts.ChangePassword(ctx, c.session, c.source(c.request), *body.CurrentPassword, *body.NewPassword)
	if limit.Max > 0 {
		c.setLimitHeaders(limit)
	}
	if err != nil {
		return 0, out, passwordError(err)
	}
	out.Data.PasswordChanged = true
	return http.StatusOK, out, nil
}

// setLimitHeaders reports the state of a limit to the caller (IETF draft-ietf-httpapi-ratelimit-headers).
func (c *call) setLimitHeaders(limit account.Limit) {
	if limit.Max == 0 {
		return
	}
	c.header.Set("RateLimit-Limit", strconv.FormatInt(limit.Max, 10))
	c.header.Set("RateLimit-Remaining", strconv.FormatInt(limit.Remaining, 10))
	c.header.Set("RateLimit-Reset", problem.WholeSeconds(limit.Reset))
}

// passwordError converts the errors of a password change into faults of their fields.
func passwordError(err error) error {
	faults := api.Faults{}
	switch {
	case errors.Is(err, account.ErrWrongPassword):
		faults.Add("current_password", "wrong", "is not the current password")
	case errors.Is(err, account.ErrCommonPassword):
		faults.Add("new_password", "common", "is on the list of common passwords")
	case errors.Is(err, account.ErrSamePassword):
		faults.Add("new_password", "unchanged", "is the old password")
	default:
		return err
	}
	return problem.For(api.CodeValidationFailed).In(faults)
}

func (c *call) readAccount(ctx context.Context) (int, api.Data[api.Account], error) {
	var out api.Data[api.Account]
	connections, err := invoices.Connections(ctx, c.DB, &c.session.Account.ID)
	if err != nil {
		return 0, out, err
	}
	a := c.session.Account
	out.Data = api.Account{ID: a.ID.String(), CompanyName: a.Company, Status: a.Status, LoginPolicy: string(a.LoginPolicy),
		Profile: a.Profile, CreatedAt: a.CreatedAt, Caller: view.Caller(&c.session)}
	if out.Data.Profile.Logo, err = identity.Logo(ctx, c.session.Tenant); err != nil {
		return 0, out, err
	}
	for _, connection := range connections {
		if connection.State == invoices.ConnectionActive { // at most one is active
			out.Data.Connection = new(view.Connection(connection))
		}
	}
	quotas, err := invoices.Quotas(ctx, c.session.Tenant, c.session.User)
	if err != nil {
		return 0, out, err
	}
	out.Data.Quotas = api.Quotas{StoredBytes: quotas[base.QuotaStoredBytes], Drafts: quotas[base.QuotaDrafts],
		Tokens: quotas[base.QuotaTokens], Subscriptions: quotas[base.QuotaSubscriptions],
		SubscriptionsCreated: quotas[base.QuotaSubscriptionsCreated], Customers: quotas[base.QuotaCustomers],
		Items: quotas[base.QuotaItems], APIKeys: quotas[base.QuotaAPIKeys]}
	return http.StatusOK, out, nil
}
