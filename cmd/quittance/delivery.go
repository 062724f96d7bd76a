package main

import (
	"time"

	"quittance/api"
	"quittance/internal/store"
)

type deliveryCmd struct {
	List deliveryListCmd `cmd:"" help:"List webhook deliveries, for example those that failed."`
}

// Help is shown by --help.
func (deliveryCmd) Help() string {
	return `Example:
  quittance delivery list --state failed --data ./sandbox`
}

type deliveryListCmd struct {
	admin
	State   choice `choices:"pending,delivered,failed,blocked" placeholder:"STATE" help:"Show only this state: pending, delivered, failed or blocked."`
	Account string `placeholder:"ID" help:"Show only this account."`
	Limit   int    `default:"100" help:"Maximum number of deliveries, latest first."`
}

// Help is shown by --help.
func (deliveryListCmd) Help() string {
	return `Example:
  quittance delivery list --state failed --data ./sandbox`
}

// Run lists deliveries.
func (c deliveryListCmd) Run(env environment) error {
	account, err := optionalID(c.Account)
	if err != nil {
		return err
	}
	if c.Limit < 1 {
		return errLimit
	}
	return c.with(env, func(db *store.DB) error {
		found, err := db.AllDeliveries(env.ctx, account, api.DeliveryState(c.State), c.Limit)
		if err != nil {
			return err
		}
		records := make([][]field, len(found))
		for n, d := range found {
			records[n] = deliveryRecord(d)
		}
		return c.printAll(env, deliveryRecord(store.AccountDelivery{}), records)
	})
}

func deliveryRecord(d store.AccountDelivery) []field {
	return []field{{"delivery_id", d.ID}, {"account_id", d.Account}, {"event", d.Kind}, {"state", d.State}, {"reason", textOrNil(d.Reason)},
		{"attempts", d.Attempts}, {"created_at", d.CreatedAt.Format(time.RFC3339)}, {"next_attempt_at", timeOrNil(d.NextAt)}, {"url", d.URL},
		{"subscription_id", d.Subscription}, {"event_id", d.Event}}
}
