package people

import (
	"net/http"
	"strconv"

	"quittance/client/api"
	"quittance/internal/document/invoice"
	"quittance/internal/front/console"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

func accountRoutes() []console.Route {
	return []console.Route{
		{Method: http.MethodGet, Path: "/account", Needs: access.ReadAccount,
			Serve: func(req *console.Request) error { return respondAccount(req, http.StatusOK, "") }},
		{Method: http.MethodPost, Path: "/account/password", Needs: access.OwnLogin, Serve: changePassword},
		{Method: http.MethodPost, Path: "/account/notices", Needs: access.OwnLogin, Serve: changeNotices},
	}
}

// accountPage is the view model of the account page.
type accountPage struct {
	Account    base.Account
	User       base.User
	Connection *api.Connection
	// Submitted reports that the company has submitted an invoice: without one, nothing is known about the connection.
	Submitted bool
	Profile   []profileField
	Quotas    []quotaRow
	// Fault is the key of an error message below "account.password.", or "".
	Fault string
	// AddressFault is the key of an error message below "account.address.fault.", or "".
	AddressFault string
	// SendsMail says that the installation sends e-mails.
	SendsMail bool
	// Mail is the form about e-mails; nil if the installation sends none.
	Mail *mailForm
}

// NewFault returns the fault of the new password, or "".
func (p accountPage) NewFault() string { return newFault(p.Fault) }

// profileField is one field of the seller by its JSON name. Value is "" when it is absent.
type profileField struct {
	Name, Value string
	// Code is the code whose name Value is, or "".
	Code string
}

// profileCodes are the code lists of fields of the company profile.
var profileCodes = map[string]string{ //nolint:gochecknoglobals // a constant table
	"subdivision": "emirates", "country": "countries", "endpoint_scheme": "endpoint-schemes",
	"legal_registration_type": "registration-types", "currency": "currencies",
}

// profileFields returns the company profile with the names of its codes, in the order of the API and without the logo.
func profileFields(w *console.Words, p *api.Profile) []profileField {
	var out []profileField
	for _, field := range invoice.FieldsOf[api.Profile]() {
		row := profileField{Name: field.Name, Value: field.Text(p)}
		if row.Name == "logo" {
			continue
		}
		if list := profileCodes[row.Name]; list != "" && row.Value != "" {
			row.Code, row.Value = row.Value, w.CodeName(list, row.Value)
		}
		out = append(out, row)
	}
	return out
}

// quotaRow is one quota by its name in the API, with formatted numbers. Limit is "" when there is none.
type quotaRow struct{ Name, Used, Limit string }

// quotaRows returns the quotas of the company and of its user, in the order of the API.
func quotaRows(c console.Catalogue, quotas map[string]api.Quota) (rows []quotaRow, err error) {
	for _, name := range []string{base.QuotaStoredBytes, base.QuotaDrafts, base.QuotaCustomers, base.QuotaItems,
		base.QuotaTokens, base.QuotaSubscriptions, base.QuotaSubscriptionsCreated} {
		format := func(n int64) (string, error) { return page.Grouped(strconv.FormatInt(n, 10)), nil }
		if name == base.QuotaStoredBytes {
			format = c.Size
		}
		row := quotaRow{Name: name}
		if row.Used, err = format(quotas[name].Used); err != nil {
			return nil, err
		}
		if limit := quotas[name].Limit; limit != nil {
			if row.Limit, err = format(*limit); err != nil {
				return nil, err
			}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

func respondAccount(req *console.Request, status int, fault string) error {
	return showAccount(req, status, fault, "")
}

// showAccount responds with the account page; fault is about the password, and addressFault about the new address.
func showAccount(req *console.Request, status int, fault, addressFault string) error {
	ctx := req.R.Context()
	user, err := identity.FindUserOf(ctx, req.DB, req.Session)
	if err != nil {
		return err
	}
	connections, err := invoices.Connections(ctx, req.DB, &req.Session.Account.ID)
	if err != nil {
		return err
	}
	quotas, err := invoices.Quotas(ctx, req.Session.Tenant, req.Session.User)
	if err != nil {
		return err
	}
	counts, err := view.Of(req.Session.Tenant).TabCounts(ctx)
	if err != nil {
		return err
	}
	rows, err := quotaRows(req.Words.Messages, quotas)
	if err != nil {
		return err
	}
	p := accountPage{Account: req.Session.Account, User: user, Profile: profileFields(req.Words, req.Profile()),
		Quotas: rows, Fault: fault, AddressFault: addressFault,
		Submitted: counts[view.TabAll].Invoices > counts[view.TabDrafts].Invoices}
	for _, connection := range connections {
		if p.Connection == nil || connection.State == invoices.ConnectionActive ||
			p.Connection.State != invoices.ConnectionActive {
			p.Connection = new(view.Connection(connection))
			if !view.InTrouble(connection, req.Now()) {
				p.Connection.FailingSince = nil // a single failed call is no news
			}
		}
	}
	if p.Mail, err = newMailForm(req); err != nil {
		return err
	}
	p.SendsMail = p.Mail != nil
	return req.Show(status, "account", "account.title", page.Layout{Section: "account", Body: p})
}

// changePassword changes the password from the account page.
func changePassword(req *console.Request) error {
	return replacePassword(req, respondAccount, page.WithNotice("/account", "good.password_changed"))
}
