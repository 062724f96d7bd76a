package server

import (
	"context"
	"net/http"
	"strconv"

	"github.com/go-json-experiment/json/jsontext"

	"quittance/api"
	"quittance/internal/account"
	"quittance/internal/invoice"
	"quittance/internal/secret"
	"quittance/internal/store"
)

// The bounds of a page (contract, section 4).
const (
	defaultPerPage = 25
	maxPerPage     = 100
)

func (c *call) login(ctx context.Context, in func() (api.LoginRequest, error)) (int, api.Data[api.Login], error) {
	var out api.Data[api.Login]
	body, err := in()
	if err != nil {
		return 0, out, err
	}
	login, limit, err := c.Accounts.Login(ctx, c.source(c.request), *body.Email, *body.Password)
	c.limitHeaders(limit)
	if err != nil {
		return 0, out, err
	}
	c.admission.credentials.add(secret.Digest(login.Token), login.Account.ID)
	out.Data = api.Login{Token: login.Token.Reveal(), ExpiresAt: login.Expires,
		User:                   api.LoginUser{Name: login.User.Name, Email: login.User.Email},
		Account:                api.LoginAccount{CompanyName: login.Account.Company, Status: login.Account.Status},
		PasswordChangeRequired: login.User.PasswordChangeRequired}
	return http.StatusOK, out, nil
}

// limitHeaders tells a caller how it stands with a limit (IETF draft-ietf-httpapi-ratelimit-headers).
func (c *call) limitHeaders(limit account.Limit) {
	if limit.Max == 0 {
		return
	}
	c.header.Set("RateLimit-Limit", strconv.FormatInt(limit.Max, 10))
	c.header.Set("RateLimit-Remaining", strconv.FormatInt(limit.Remaining, 10))
	c.header.Set("RateLimit-Reset", wholeSeconds(limit.Reset))
}

func (c *call) createInvoice(ctx context.Context, in func() (api.Draft, error)) (int, api.Data[api.Invoice], error) {
	draft, err := c.draft(in)
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	return act(ctx, c, func(ctx context.Context, t *store.Tenant) (int, api.Data[api.Invoice], error) {
		created, err := t.CreateInvoice(ctx, &draft)
		if err != nil {
			return 0, api.Data[api.Invoice]{}, err
		}
		return http.StatusCreated, c.invoice(created), nil
	})
}

// draft reads a draft and adds the faults that only the domain knows.
func (c *call) draft(in func() (api.Draft, error)) (api.Draft, error) {
	draft, err := in()
	return draft, withFaults(err, invoice.Faults(&draft))
}

// withFaults adds faults to what was found wrong with a payload already.
func withFaults(err error, faults api.Faults) error {
	form, ok := formFaults(err)
	if !ok {
		return err
	}
	return invalid(api.CodeValidationFailed, form.With(faults))
}

// formFaults returns the faults of a payload's form that an error holds, none of nil; ok is false for any other error.
func formFaults(err error) (faults api.Faults, ok bool) {
	if err == nil {
		return api.Faults{}, true
	}
	found := failures(err)
	if found.code != api.CodeValidationFailed {
		return nil, false
	}
	faults = make(api.Faults, len(found.details))
	for path, list := range found.details {
		if faults[path], ok = list.([]api.Fault); !ok {
			return nil, false
		}
	}
	return faults, true
}

// invoice is an invoice as it is answered, with its entity tag.
func (c *call) invoice(i store.Invoice) api.Data[api.Invoice] {
	c.header.Set("ETag", entityTag(i.Version))
	return api.Data[api.Invoice]{Data: i.Wire(&c.session.Account.Profile)}
}

// entityTag is the tag of a version.
func entityTag(version int64) string { return `"` + strconv.FormatInt(version, 10) + `"` }

// page returns the page that the query asks for.
func (c *call) page(absent int) (page, perPage int, err error) {
	if page, err = c.positive("page", 1); err != nil {
		return 0, 0, err
	}
	if perPage, err = c.positive("per_page", absent); err != nil {
		return 0, 0, err
	}
	return page, min(perPage, maxPerPage), nil
}

// paginated is the pagination of a list of total entries.
func paginated(page, perPage, total int) api.Pagination {
	last := max(1, (total+perPage-1)/perPage)
	return api.Pagination{CurrentPage: page, PerPage: perPage, LastPage: last, HasMore: page < last, Total: total}
}

func (c *call) readInvoice(ctx context.Context) (int, api.Data[api.Invoice], error) {
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	found, err := c.session.Tenant.InvoiceWithin(ctx, id, func(bytes int) error { return c.answerBytes(parsedFactor * bytes) })
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	return http.StatusOK, c.invoice(found), nil
}

func (c *call) submit(ctx context.Context) (int, api.Data[api.Invoice], error) {
	id, err := c.id("invoice_id")
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	submitted, err := c.Submissions.Submit(ctx, c.session.Tenant, id)
	if err != nil {
		return 0, api.Data[api.Invoice]{}, err
	}
	status := http.StatusOK
	if s := submitted.Submission; s == nil || s.Outcome == api.OutcomeUnknown || s.Outcome == api.OutcomeInProgress {
		status = http.StatusAccepted // we do not know, and say so
	}
	return status, c.invoice(submitted), nil
}

func (c *call) createSubscription(ctx context.Context, in func() (api.SubscriptionRequest, error)) (int, api.Data[api.NewSubscription], error) {
	body, err := in()
	if err != nil {
		return 0, api.Data[api.NewSubscription]{}, err
	}
	return act(ctx, c, func(ctx context.Context, t *store.Tenant) (int, api.Data[api.NewSubscription], error) {
		created, key, err := c.Destinations.Subscribe(ctx, t, c.Random, body)
		if err != nil {
			return 0, api.Data[api.NewSubscription]{}, err
		}
		return http.StatusCreated, api.Data[api.NewSubscription]{Data: api.NewSubscription{Subscription: created.Wire(), Secret: key}}, nil
	})
}

// alive is the answer of the health checks.
type alive struct {
	Status string `json:"status" doc:"ok"`
}

func (c *call) health(context.Context) (int, api.Data[alive], error) {
	return http.StatusOK, api.Data[alive]{Data: alive{Status: "ok"}}, nil
}

func (c *call) ready(ctx context.Context) (int, api.Data[alive], error) {
	if err := c.Ready(ctx); err != nil {
		return 0, api.Data[alive]{}, &refusal{code: api.CodeUnavailable, cause: err, header: map[string]string{"Retry-After": "5"}}
	}
	return http.StatusOK, api.Data[alive]{Data: alive{Status: "ready"}}, nil
}

func (c *call) serveDocument(context.Context) (int, jsontext.Value, error) {
	return http.StatusOK, c.openapi, nil
}
