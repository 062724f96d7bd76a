package server

import (
	"context"
	"errors"
	"net/http"

	"quittance/api"
	"quittance/internal/account"
	"quittance/internal/store"
)

func (c *call) logout(ctx context.Context) (int, api.Data[api.LoggedOut], error) {
	if err := c.DB.RevokeToken(ctx, c.session.Digest); err != nil {
		return 0, api.Data[api.LoggedOut]{}, err
	}
	return http.StatusOK, api.Data[api.LoggedOut]{Data: api.LoggedOut{LoggedOut: true}}, nil
}

func (c *call) changePassword(ctx context.Context, in func() (api.PasswordRequest, error)) (int, api.Data[api.PasswordChanged], error) {
	var out api.Data[api.PasswordChanged]
	body, err := in()
	if err != nil {
		return 0, out, err
	}
	limit, err := c.Accounts.ChangePassword(ctx, c.session, c.source(c.request), *body.CurrentPassword, *body.NewPassword)
	if limit.Max > 0 {
		c.limitHeaders(limit)
	}
	if err != nil {
		return 0, out, passwordFault(err)
	}
	out.Data.PasswordChanged = true
	return http.StatusOK, out, nil
}

// passwordFault turns the refusals of a password into faults of their fields.
func passwordFault(err error) error {
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
	return invalid(api.CodeValidationFailed, faults)
}

func (c *call) readAccount(ctx context.Context) (int, api.Data[api.Account], error) {
	var out api.Data[api.Account]
	connections, err := c.DB.Connections(ctx, &c.session.Account.ID)
	if err != nil {
		return 0, out, err
	}
	a := c.session.Account
	out.Data = api.Account{ID: a.ID.String(), CompanyName: a.Company, Status: a.Status, Profile: a.Profile, CreatedAt: a.CreatedAt}
	if out.Data.Profile.Logo, err = c.session.Tenant.Logo(ctx); err != nil {
		return 0, out, err
	}
	for _, connection := range connections {
		if connection.State == store.ConnectionActive { // there is one at most
			out.Data.Connection = new(connection.Wire())
		}
	}
	quotas, err := c.session.Tenant.Quotas(ctx, c.session.User)
	if err != nil {
		return 0, out, err
	}
	out.Data.Quotas = wireQuotas(quotas)
	return http.StatusOK, out, nil
}

// wireQuotas are quotas as the API shows them.
func wireQuotas(quotas map[string]store.QuotaUse) api.Quotas {
	shown := func(name string) api.Quota {
		q := api.Quota{Used: max(quotas[name].Used, 0)}
		if limit := quotas[name].Limit; limit > 0 {
			q.Limit = &limit
		}
		return q
	}
	return api.Quotas{StoredBytes: shown(store.QuotaStoredBytes), Drafts: shown(store.QuotaDrafts), Tokens: shown(store.QuotaTokens),
		Subscriptions: shown(store.QuotaSubscriptions), SubscriptionsCreated: shown(store.QuotaSubscriptionsCreated)}
}
