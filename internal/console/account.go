package console

import (
	"net/http"
	"strconv"

	"quittance/internal/store"
	"quittance/internal/view"
	"quittance/sdk/go/api"
)

func accountRoutes() []route {
	return []route{
		{method: http.MethodGet, path: "/account", serve: func(req *request) error { return req.respondAccount(http.StatusOK, "") }},
		{method: http.MethodPost, path: "/account/password", serve: (*request).changePassword},
	}
}

// accountPage is the view model of the account page.
type accountPage struct {
	Account    store.Account
	User       store.User
	Connection *api.Connection
	Profile    []profileField
	Quotas     []quotaRow
	// Fault is the key of an error message below "account.password.", or "".
	Fault string
}

// OfNew reports whether the fault concerns the new password.
func (p accountPage) OfNew() bool { return p.Fault != "" && p.Fault != "wrong" }

// profileField is one field of the seller by its JSON name. Value is "" when it is absent.
type profileField struct{ Name, Value string }

func profileFields(p *api.Profile) []profileField {
	out := make([]profileField, 0, 14)
	for _, field := range []struct {
		name  string
		value *string
	}{
		{"legal_name", p.LegalName}, {"street", p.Street}, {"city", p.City}, {"subdivision", p.Subdivision}, {"country", p.Country},
		{"endpoint_scheme", p.EndpointScheme}, {"endpoint_id", p.EndpointID}, {"tax_registration_number", p.TaxRegistrationNumber},
		{"legal_registration_number", p.LegalRegistration}, {"legal_registration_type", p.LegalRegistrationType}, {"legal_registration_authority", p.LegalRegistrationAuthority},
		{"currency", p.Currency},
		{"payee_account", p.PayeeAccount}, {"buyer_reference", p.BuyerReference},
	} {
		row := profileField{Name: field.name}
		if field.value != nil {
			row.Value = *field.value
		}
		out = append(out, row)
	}
	return out
}

// quotaRow is one quota by its name in the API, with formatted numbers. Limit is "" when there is none.
type quotaRow struct{ Name, Used, Limit string }

// quotaRows returns the quotas of the company and of its user, in the order of the API.
func quotaRows(quotas map[string]api.Quota) []quotaRow {
	var rows []quotaRow
	for _, name := range []string{store.QuotaStoredBytes, store.QuotaDrafts, store.QuotaTokens, store.QuotaSubscriptions, store.QuotaSubscriptionsCreated} {
		row := quotaRow{Name: name, Used: grouped(strconv.FormatInt(quotas[name].Used, 10))}
		if limit := quotas[name].Limit; limit != nil {
			row.Limit = grouped(strconv.FormatInt(*limit, 10))
		}
		rows = append(rows, row)
	}
	return rows
}

func (req *request) respondAccount(status int, fault string) error {
	ctx := req.r.Context()
	user, err := req.DB.User(ctx, req.session)
	if err != nil {
		return err
	}
	connections, err := req.DB.Connections(ctx, &req.session.Account.ID)
	if err != nil {
		return err
	}
	quotas, err := req.session.Tenant.Quotas(ctx, req.session.User)
	if err != nil {
		return err
	}
	p := accountPage{Account: req.session.Account, User: user, Profile: profileFields(req.profile()), Quotas: quotaRows(quotas), Fault: fault}
	for _, connection := range connections {
		if p.Connection == nil || connection.State == store.ConnectionActive || p.Connection.State != store.ConnectionActive {
			p.Connection = new(view.Connection(connection))
		}
	}
	title, err := req.pages.messages.text("account.title")
	if err != nil {
		return err
	}
	return req.page(status, "account", pageData{Title: title, Section: "account", Body: p})
}

// changePassword changes the password from the account page.
func (req *request) changePassword() error {
	return req.replacePassword(req.respondAccount, withFlash("/account", "good.password_changed"))
}
