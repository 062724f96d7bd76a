package server

import (
	"context"
	"net/http"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/problem"
)

// sessionUser returns the user whose sessions a list has: the caller, or the one that the query names.
func (c *call) sessionUser() (base.ID, error) {
	values := c.request.URL.Query()
	if !values.Has("user_id") {
		return c.session.User, nil
	}
	id, err := base.ParseID(values.Get("user_id"))
	if err != nil {
		return id, malformedQuery("user_id", "uuid", "must be the identifier of a user")
	}
	if id != c.session.User && !c.session.Permissions.Has(access.ManageUsers) {
		return id, problem.For(api.CodeForbidden)
	}
	return id, nil
}

func (c *call) listSessions(ctx context.Context) (int, api.List[api.Session], error) {
	var out api.List[api.Session]
	page, perPage, err := c.page(defaultPerPage)
	if err != nil {
		return 0, out, err
	}
	user, err := c.sessionUser()
	if err != nil {
		return 0, out, err
	}
	records, total, err := identity.SessionRecords(ctx, c.session.Tenant, user, page, perPage)
	if err != nil {
		return 0, out, err
	}
	out.Pagination = pagination(page, perPage, total)
	out.Data = present(records, func(r identity.SessionRecord) api.Session { return view.Session(r, c.session) })
	return http.StatusOK, out, nil
}

func (c *call) endSession(ctx context.Context) (int, api.Data[api.Session], error) {
	id, err := c.id("session_id")
	if err != nil {
		return 0, api.Data[api.Session]{}, err
	}
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.Session], error) {
		ended, err := identity.EndSession(ctx, t, c.session, id)
		return http.StatusOK, api.Data[api.Session]{Data: view.Session(ended, c.session)}, err
	})
}

func (c *call) endOtherSessions(ctx context.Context) (int, api.Data[api.SessionsEnded], error) {
	return perform(ctx, c, func(ctx context.Context, t *base.Tenant) (int, api.Data[api.SessionsEnded], error) {
		ended, err := identity.EndOtherSessions(ctx, t, c.session)
		return http.StatusOK, api.Data[api.SessionsEnded]{Data: api.SessionsEnded{Ended: ended}}, err
	})
}
