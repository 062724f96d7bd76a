package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
	"quittance/internal/platform/strictjson"
)

func (c *call) listUsers(ctx context.Context) (int, api.List[api.User], error) {
	var out api.List[api.User]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	users, total, err := identity.Users(ctx, c.session.Tenant, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination, out.Data = pagination(page, perPage, total), present(users, view.User)
	return http.StatusOK, out, nil
}

// userChangeDecoder applies merge patches to users.
var userChangeDecoder = strictjson.For[api.UserChange]() //nolint:gochecknoglobals // a plan of a type, read only

func (c *call) changeUser(ctx context.Context) (int, api.Data[api.User], error) {
	var out api.Data[api.User]
	id, err := c.id("user_id")
	if err != nil {
		return 0, out, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.User], error) {
		var before, after identity.UserChange
		changed, err := c.Accounts.ChangeUser(ctx, t, c.session, id,
			func(now identity.UserChange) (identity.UserChange, error) {
				before = now
				role := api.Role(now.Role)
				target, err := json.Marshal(api.UserChange{Email: &now.Email, Role: &role, Active: &now.Active, Linked: &now.Linked,
					RevokeAPIKeys: new(false)})
				if err != nil {
					return now, fmt.Errorf("user: %w", err)
				}
				wanted, faults, err := userChangeDecoder.Patch(target, c.body)
				if err == nil && len(faults) == 0 && *wanted.Linked && !now.Linked {
					faults.Add("linked", "not_linked", "must be false: a login by single sign-on makes the link")
				}
				if err == nil {
					err = problem.For(api.CodeValidationFailed).In(faults)
				}
				if err == nil {
					after = identity.UserChange{Email: *wanted.Email, Role: access.Role(*wanted.Role), Active: *wanted.Active,
						Linked: *wanted.Linked, RevokeKeys: *wanted.RevokeAPIKeys}
				}
				return after, err
			})
		if errors.Is(err, identity.ErrLastOwner) {
			err = lastOwner(before.Active && !after.Active)
		}
		out.Data = view.User(changed)
		return http.StatusOK, out, addressError(err)
	})
}

// lastOwner is the error of a change after which the company would have no active owner.
func lastOwner(disables bool) error {
	field, faults := "role", api.Faults{}
	if disables {
		field = "active"
	}
	faults.Add(field, "last_owner", "must not change: this is the last active owner")
	return problem.For(api.CodeValidationFailed).In(faults)
}

// addressError converts the errors of a change of an address into faults of their fields.
func addressError(err error) error {
	faults := api.Faults{}
	switch {
	case errors.Is(err, account.ErrOwnAddress):
		faults.Add("email", "own_address", "is your own address, which changeAddress changes, with your password")
	case errors.Is(err, base.ErrExists):
		faults.Add("email", "exists", "is that of another user of the company")
	case errors.Is(err, account.ErrEmail):
		faults.Add("email", "email", "must be an e-mail address")
	default:
		return err
	}
	return problem.For(api.CodeValidationFailed).In(faults)
}

func (c *call) removeUser(ctx context.Context) (int, api.Data[api.User], error) {
	id, err := c.id("user_id")
	if err != nil {
		return 0, api.Data[api.User]{}, err
	}
	removed, err := identity.RemoveUser(ctx, c.session.Tenant, c.session, id)
	if errors.Is(err, identity.ErrLastOwner) {
		faults := api.Faults{}
		faults.Add("role", "last_owner", "is that of the last active owner, who cannot be removed")
		err = problem.For(api.CodeValidationFailed).In(faults)
	}
	return http.StatusOK, api.Data[api.User]{Data: view.User(removed)}, err
}

func (c *call) changeAddress(ctx context.Context, body api.AddressRequest) (int, api.Data[api.User], error) {
	given := account.Factor{}
	if body.OTP != nil {
		given.Code = *body.OTP
	}
	changed, limit, err := c.Accounts.ChangeOwnAddress(ctx, c.session, c.source(c.request), *body.Email,
		*body.CurrentPassword, given)
	c.setLimitHeaders(limit)
	if err != nil {
		return 0, api.Data[api.User]{}, secondFactorError(addressError(err))
	}
	return http.StatusOK, api.Data[api.User]{Data: view.User(changed)}, nil
}

func (c *call) requestAddressProof(ctx context.Context) (int, api.Data[api.AddressProofRequested], error) {
	err := c.Accounts.RequestAddressProof(ctx, c.session)
	requested := err == nil
	if errors.Is(err, identity.ErrNoMail) {
		err = nil
	}
	return http.StatusOK, api.Data[api.AddressProofRequested]{Data: api.AddressProofRequested{Requested: requested}}, err
}

func (c *call) proveAddress(ctx context.Context, body api.AddressProofRequest) (int, api.Data[api.User], error) {
	proved, err := c.Accounts.ProveAddress(ctx, c.session, c.source(c.request), *body.Code)
	faults := api.Faults{}
	switch {
	case errors.Is(err, account.ErrProof):
		faults.Add("code", "unusable", "is not that of the last link that was mailed to you, or the link has expired")
	case errors.Is(err, identity.ErrProvedElsewhere):
		faults.Add("code", "proved_elsewhere",
			"proves an address that a user of another company has proved: leave that company, or change the address there, and use the link again")
	}
	if len(faults) > 0 {
		err = problem.For(api.CodeValidationFailed).In(faults)
	}
	return http.StatusOK, api.Data[api.User]{Data: view.User(proved)}, err
}

func (c *call) inviteUser(ctx context.Context, body api.InvitationRequest) (int, api.Data[api.NewInvitation], error) {
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.NewInvitation], error) {
		made, err := c.Accounts.Invite(ctx, t, &c.session, *body.Email, access.Role(*body.Role))
		if err != nil {
			return 0, api.Data[api.NewInvitation]{}, invitationError(err)
		}
		base := c.PublicURL.Base(c.Secure, c.request.Host)
		return http.StatusCreated,
			api.Data[api.NewInvitation]{Data: api.NewInvitation{Invitation: view.Invitation(made.Invitation),
				URL: made.Link(base)}}, nil
	})
}

// invitationError converts the errors of an invitation that are about its e-mail address into faults.
func invitationError(err error) error {
	faults := api.Faults{}
	switch {
	case errors.Is(err, account.ErrEmail):
		faults.Add("email", "email", "must be an e-mail address")
	case errors.Is(err, base.ErrExists):
		faults.Add("email", "exists", "is the address of a user of this company")
	default:
		return err
	}
	return problem.For(api.CodeValidationFailed).In(faults)
}

func (c *call) listInvitations(ctx context.Context) (int, api.List[api.Invitation], error) {
	var out api.List[api.Invitation]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	all, err := identity.Invitations(ctx, c.session.Tenant)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, len(all))
	if page <= out.Pagination.LastPage {
		first := (page - 1) * perPage
		out.Data = present(all[first:min(first+perPage, len(all))], view.Invitation)
	}
	return http.StatusOK, out, nil
}

func (c *call) revokeInvitation(ctx context.Context) (int, api.Data[api.Invitation], error) {
	id, err := c.id("invitation_id")
	if err != nil {
		return 0, api.Data[api.Invitation]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Invitation], error) {
		revoked, err := identity.RevokeInvitation(ctx, t, c.session, id)
		return http.StatusOK, api.Data[api.Invitation]{Data: view.Invitation(revoked)}, err
	})
}
