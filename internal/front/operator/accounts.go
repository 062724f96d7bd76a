package operator

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"quittance/client/api"
	"quittance/internal/front/page"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
)

func accountRoutes() []route {
	return []route{
		{method: http.MethodGet, path: accountsPath, serve: (*request).listAccounts},
		{method: http.MethodGet, path: accountsPath + "/{account}", serve: (*request).showAccount},
		{method: http.MethodPost, path: accountsPath + "/{account}/suspend",
			serve: func(req *request) error { return req.changeAccount(identity.SuspendAccount, "good.suspended") }},
		{method: http.MethodPost, path: accountsPath + "/{account}/reactivate",
			serve: func(req *request) error { return req.changeAccount(identity.ReactivateAccount, "good.reactivated") }},
		{method: http.MethodPost, path: accountsPath + "/{account}/api-keys/{key}/revoke", serve: (*request).revokeKey},
	}
}

// accountsPage is the view model of the list of accounts.
type accountsPage struct {
	Search string
	Rows   []lists.AccountRow
	// Next is the address of the next page, or "".
	Next string
}

func (req *request) listAccounts() error {
	query := req.R.URL.Query()
	p := accountsPage{Search: searched(query.Get("q"))}
	rows, err := lists.AccountList(req.R.Context(), req.DB, p.Search, parsePosition(query.Get("after")), maxPerPage+1)
	if err != nil {
		return err
	}
	p.Rows = rows[:min(len(rows), maxPerPage)]
	if more := len(rows) > maxPerPage; more {
		p.Next = next(accountsPath, query, more, formatPosition(p.Rows[maxPerPage-1].Position()))
	}
	return req.Show(http.StatusOK, "accounts", "op.accounts.title", page.Layout{Section: "accounts", Body: p})
}

// maxSearch is the number of bytes of the longest search.
const maxSearch = 256

// searched returns the text of a search. One that no row can contain finds nothing.
func searched(text string) string {
	text = text[:min(len(text), maxSearch)] // before the next line, because it may cut a character
	return strings.TrimSpace(strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", "\uFFFD"), "\uFFFD"))
}

// accountPage is the view model of one account.
type accountPage struct {
	base.Account
	Users       []base.User
	Keys        []keyRow
	Connections []connectionRow
	// Change suspends or reactivates the account.
	Change act
}

// keyRow is an API key of an account.
type keyRow struct {
	api.APIKey
	// Revoke revokes the key; nil for one that has ended.
	Revoke *act
}

func (req *request) showAccount() error {
	id, err := req.ID("account")
	if err != nil {
		return err
	}
	p := accountPage{}
	if p.Account, err = identity.FindAccount(req.R.Context(), req.DB, id); err != nil {
		return err
	}
	if p.Users, err = identity.UsersOf(req.R.Context(), req.DB, id); err != nil {
		return err
	}
	if p.Keys, err = req.keys(id); err != nil {
		return err
	}
	connections, err := invoices.Connections(req.R.Context(), req.DB, &id)
	if err != nil {
		return err
	}
	for _, c := range slices.Backward(connections) {
		p.Connections = append(p.Connections, connectionRow{Connection: c})
	}
	at := accountsPath + "/" + id.String()
	p.Change = act{ID: "suspend", Path: at + "/suspend", Key: "suspend", Of: p.Company, Danger: true}
	if p.Status != base.AccountActive {
		p.Change = act{ID: "reactivate", Path: at + "/reactivate", Key: "reactivate", Of: p.Company}
	}
	return req.Show(http.StatusOK, "account", "", page.Layout{Title: p.Company, Section: "accounts", Body: p})
}

// keys returns the API keys of an account, without their secrets.
func (req *request) keys(id base.ID) (rows []keyRow, err error) {
	tenant, err := req.DB.Tenant(req.R.Context(), id)
	if err != nil {
		return nil, err
	}
	keys, err := identity.APIKeys(req.R.Context(), tenant)
	if err != nil {
		return nil, err
	}
	for _, key := range keys {
		row := keyRow{APIKey: view.APIKey(key, req.Now())}
		if row.State == api.APIKeyActive {
			row.Revoke = &act{ID: "revoke-" + row.ID, Path: accountsPath + "/" + id.String() + "/api-keys/" + row.ID + "/revoke",
				Key: "revoke", Of: row.Name, Danger: true}
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// changeAccount applies a function that the command line calls too.
func (req *request) changeAccount(change func(context.Context, *base.DB, base.ID) error, notice string) error {
	id, err := req.ID("account")
	if err != nil {
		return err
	}
	ctx, _, err := req.actContext()
	if err != nil {
		return err
	}
	if err := change(ctx, req.DB, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(accountsPath+"/"+id.String(), notice))
}

func (req *request) revokeKey() error {
	id, err := req.ID("account")
	if err != nil {
		return err
	}
	key, err := req.ID("key")
	if err != nil {
		return err
	}
	ctx, _, err := req.actContext()
	if err != nil {
		return err
	}
	tenant, err := req.DB.Tenant(ctx, id)
	if err != nil {
		return err
	}
	if _, err := identity.RevokeAPIKey(ctx, tenant, key); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(accountsPath+"/"+id.String(), "good.revoked"))
}
