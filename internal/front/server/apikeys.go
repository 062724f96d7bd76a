package server

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

func (c *call) createAPIKey(ctx context.Context, body api.APIKeyRequest,
	faults api.Faults) (int, api.Data[api.NewAPIKey], error) {
	add, more := account.ReadAPIKeyRequest(body, c.Now())
	if err := problem.For(api.CodeValidationFailed).In(faults.With(more)); err != nil {
		return 0, api.Data[api.NewAPIKey]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.NewAPIKey], error) {
		created, key, err := c.Accounts.CreateAPIKey(ctx, t, c.session, add)
		if err != nil {
			return 0, api.Data[api.NewAPIKey]{}, apiKeyError(err, body)
		}
		return http.StatusCreated, api.Data[api.NewAPIKey]{Data: api.NewAPIKey{APIKey: view.APIKey(created, c.Now()),
			Key: key.Reveal()}}, nil
	})
}

// apiKeyError converts the error about a scope that the caller may not give into a fault of its place in the request.
func apiKeyError(err error, body api.APIKeyRequest) error {
	wide, ok := errors.AsType[*identity.ScopeError](err)
	if !ok {
		return err
	}
	faults := api.Faults{}
	faults.Add(fmt.Sprintf("scopes[%d]", slices.Index(body.Scopes, string(wide.Scope))), "role",
		"must not allow more than your role does")
	return problem.For(api.CodeValidationFailed).In(faults)
}

func (c *call) listAPIKeys(ctx context.Context) (int, api.List[api.APIKey], error) {
	var out api.List[api.APIKey]
	page, perPage, err := c.page(maxPerPage)
	if err != nil {
		return 0, out, err
	}
	keys, err := identity.APIKeys(ctx, c.session.Tenant)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, len(keys))
	first := min(len(keys), (min(page, len(keys)+1)-1)*perPage)
	out.Data = present(keys[first:min(len(keys), first+perPage)],
		func(key identity.APIKey) api.APIKey { return view.APIKey(key, c.Now()) })
	return http.StatusOK, out, nil
}

func (c *call) revokeAPIKey(ctx context.Context) (int, api.Data[api.APIKey], error) {
	id, err := c.id("api_key_id")
	if err != nil {
		return 0, api.Data[api.APIKey]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.APIKey], error) {
		key, err := identity.RevokeAPIKey(ctx, t, id)
		if err != nil {
			return 0, api.Data[api.APIKey]{}, err
		}
		return http.StatusOK, api.Data[api.APIKey]{Data: view.APIKey(key, c.Now())}, nil
	})
}
