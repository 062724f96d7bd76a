package operator

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"strings"

	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
)

func connectionRoutes() []route {
	change := func(do func(context.Context, *base.DB, base.ID) (invoices.Connection, error),
		notice string) func(req *request) error {
		return func(req *request) error { return req.changeConnection(do, notice) }
	}
	return []route{
		{method: http.MethodGet, path: connectionsPath, serve: (*request).listConnections},
		{method: http.MethodGet, path: connectionsPath + "/{connection}", serve: (*request).showConnection},
		{method: http.MethodPost, path: connectionsPath + "/{connection}/activate",
			serve: change(invoices.ActivateConnection, "good.activated")},
		{method: http.MethodPost, path: connectionsPath + "/{connection}/disable",
			serve: change(invoices.DisableConnection, "good.disabled")},
		{method: http.MethodPost, path: connectionsPath + "/{connection}/approve", serve: (*request).approve},
	}
}

// connectionRow is a connection with its company.
type connectionRow struct {
	invoices.Connection
	Company string
}

// Health returns the key of the health of a connection below "op.health.": what its last calls say, not what they mean
// for documents.
func (c connectionRow) Health() string {
	switch {
	case c.RetryAt != nil:
		return "open"
	case c.FailingSince != nil:
		return "failing"
	case c.State != invoices.ConnectionActive:
		return "unused"
	}
	return "good"
}

// OptionNames returns the names of the adapter's options in order.
func (c connectionRow) OptionNames() []string { return slices.Sorted(maps.Keys(c.Options)) }

// connectionsPage is the view model of the list of connections: those in trouble, then all.
type connectionsPage struct {
	Failing, Rows []connectionRow
	// Next is the address of the next page, or "". The connections in trouble are on the first page alone.
	Next string
}

// maxFailing is the number of connections in trouble on the page.
const maxFailing = 100

func (req *request) listConnections() error {
	query := req.R.URL.Query()
	after := parsePosition(query.Get("after"))
	found, err := lists.ConnectionList(req.R.Context(), req.DB, after, maxPerPage+1)
	if err != nil {
		return err
	}
	var failing []invoices.Connection
	if after == (lists.ListPosition{}) {
		if failing, err = lists.FailingConnections(req.R.Context(), req.DB, maxFailing); err != nil {
			return err
		}
	}
	p := connectionsPage{}
	if more := len(found) > maxPerPage; more {
		found = found[:maxPerPage]
		p.Next = next(connectionsPath, query, more, formatPosition(lists.ConnectionPosition(found[maxPerPage-1])))
	}
	if p.Rows, err = req.connectionRows(found); err != nil {
		return err
	}
	if p.Failing, err = req.connectionRows(failing); err != nil {
		return err
	}
	return req.Show(http.StatusOK, "connections", "op.connections.title", page.Layout{Section: "connections", Body: p})
}

// connectionRows adds the names of the companies.
func (req *request) connectionRows(found []invoices.Connection) ([]connectionRow, error) {
	rows := make([]connectionRow, len(found))
	accounts := make([]base.ID, len(found))
	for n, c := range found {
		rows[n], accounts[n] = connectionRow{Connection: c}, c.Account
	}
	companies, err := lists.Companies(req.R.Context(), req.DB, accounts)
	for n := range rows {
		rows[n].Company = companies[rows[n].Account]
	}
	return rows, err
}

// connectionPage is the view model of one connection. It never has the credential, only its fingerprint.
type connectionPage struct {
	connectionRow
	Acts []act
}

func (req *request) showConnection() error {
	id, err := req.ID("connection")
	if err != nil {
		return err
	}
	found, err := invoices.FindConnection(req.R.Context(), req.DB, id)
	if err != nil {
		return err
	}
	rows, err := req.connectionRows([]invoices.Connection{found})
	if err != nil {
		return err
	}
	p := connectionPage{connectionRow: rows[0]}
	at := connectionsPath + "/" + id.String()
	if p.Environment == "production" {
		p.Acts = append(p.Acts, act{ID: "approve", Path: at + "/approve", Key: "approve", Of: p.Company,
			Fields: []actField{{Name: "contract"}, {Name: "release", Value: req.Version}}})
	}
	if p.State == invoices.ConnectionActive {
		p.Acts = append(p.Acts, act{ID: "disable", Path: at + "/disable", Key: "disable", Of: p.Company, Danger: true})
	} else {
		p.Acts = append(p.Acts, act{ID: "activate", Path: at + "/activate", Key: "activate", Of: p.Company})
	}
	return req.Show(http.StatusOK, "connection", "op.connection.title", page.Layout{Section: "connections", Body: p},
		p.Company)
}

// changeConnection applies a function that the command line calls too.
func (req *request) changeConnection(change func(context.Context, *base.DB, base.ID) (invoices.Connection, error),
	notice string) error {
	id, err := req.ID("connection")
	if err != nil {
		return err
	}
	ctx, _, err := req.actContext()
	if err != nil {
		return err
	}
	if _, err := change(ctx, req.DB, id); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(connectionsPath+"/"+id.String(), notice))
}

// approve records an approval by the operator, for a contract and releases, which spaces or commas separate.
func (req *request) approve() error {
	contract, err := req.line("contract")
	if err != nil {
		return err
	}
	releases, err := req.line("release")
	if err != nil {
		return err
	}
	releases = strings.Join(strings.FieldsFunc(releases, func(r rune) bool { return r == ' ' || r == ',' }), " ")
	return req.changeConnection(func(ctx context.Context, db *base.DB, id base.ID) (invoices.Connection, error) {
		return invoices.ApproveConnection(ctx, db, id, req.session.Email, contract, releases)
	}, "good.approved")
}
