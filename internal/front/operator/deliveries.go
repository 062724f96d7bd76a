package operator

import (
	"net/http"

	"quittance/internal/front/page"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/events"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/lists"
)

func deliveryRoutes() []route {
	return []route{
		{method: http.MethodGet, path: deliveriesPath, serve: (*request).listDeliveries},
		{method: http.MethodPost, path: deliveriesPath + "/{account}/{delivery}/resend", serve: (*request).redeliver},
	}
}

// deliveriesPage is the view model of the deliveries that did not arrive, newest first, and of the subscriptions that
// they were for.
type deliveriesPage struct {
	Mails         []identity.MailTrouble
	Subscriptions []failingRow
	Rows          []deliveryRow
	Next          string
}

// failingRow is a subscription with its company.
type failingRow struct {
	lists.FailingSubscription
	Company string
}

// deliveryRow is a delivery with its company.
type deliveryRow struct {
	lists.AccountDelivery
	Company string
	// Resend starts the delivery again; nil if its subscription is not active any more.
	Resend *act
}

func (req *request) listDeliveries() error {
	query := req.R.URL.Query()
	after, err := base.ParseID(query.Get("after"))
	if err != nil {
		after = base.ID{} // the first page
	}
	found, err := lists.UndeliveredDeliveries(req.R.Context(), req.DB, after, maxPerPage+1)
	if err != nil {
		return err
	}
	p := deliveriesPage{}
	var failing []lists.FailingSubscription
	if after.IsZero() {
		if p.Mails, err = identity.MailTroubles(req.R.Context(), req.DB); err != nil {
			return err
		}
		if failing, err = lists.FailingSubscriptions(req.R.Context(), req.DB); err != nil {
			return err
		}
	}
	if more := len(found) > maxPerPage; more {
		found = found[:maxPerPage]
		p.Next = next(deliveriesPath, query, more, found[maxPerPage-1].ID.String())
	}
	var accounts []base.ID
	for _, d := range found {
		accounts = append(accounts, d.Account)
	}
	for _, s := range failing {
		accounts = append(accounts, s.Account)
	}
	companies, err := lists.Companies(req.R.Context(), req.DB, accounts)
	if err != nil {
		return err
	}
	for _, d := range found {
		row := deliveryRow{AccountDelivery: d, Company: companies[d.Account]}
		if d.Active {
			row.Resend = &act{ID: "resend-" + d.ID.String(), Path: deliveriesPath + "/" + d.Account.String() + "/" +
				d.ID.String() + "/resend", Key: "redeliver", Of: row.Company}
		}
		p.Rows = append(p.Rows, row)
	}
	for _, s := range failing {
		p.Subscriptions = append(p.Subscriptions, failingRow{s, companies[s.Account]})
	}
	return req.Show(http.StatusOK, "deliveries", "op.deliveries.title", page.Layout{Section: "deliveries", Body: p})
}

// redeliver starts a delivery again, as its company can.
func (req *request) redeliver() error {
	account, err := req.ID("account")
	if err != nil {
		return err
	}
	delivery, err := req.ID("delivery")
	if err != nil {
		return err
	}
	ctx, _, err := req.actContext()
	if err != nil {
		return err
	}
	tenant, err := req.DB.Tenant(ctx, account)
	if err != nil {
		return err
	}
	if _, err := events.Redeliver(ctx, tenant, delivery); err != nil {
		return err
	}
	return req.Redirect(page.WithNotice(deliveriesPath, "good.redelivered"))
}
