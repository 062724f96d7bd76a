package cli

import (
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/lists"
)

type deliveryCmd struct {
	List deliveryListCmd `cmd:"" help:"List webhook deliveries, for example those that failed."`
}

// Help is shown by --help.
func (deliveryCmd) Help() string { return deliveryListCmd{}.Help() }

type deliveryListCmd struct {
	listing
	State choice `choices:"pending,delivered,failed,blocked" placeholder:"STATE" help:"Show only this state: pending, delivered, failed or blocked."`
}

// Help is shown by --help.
func (deliveryListCmd) Help() string {
	return `Example:
  quittance delivery list --state failed --data ./sandbox`
}

// Run lists deliveries.
func (c deliveryListCmd) Run(env environment) error {
	return listRows(env, c.listing, func(db *base.DB, account *base.ID, limit int) ([]lists.AccountDelivery, error) {
		return lists.AllDeliveries(env.ctx, db, account, api.DeliveryState(c.State), limit)
	}, deliveryRecord)
}

func deliveryRecord(d lists.AccountDelivery) []field {
	return []field{{"delivery_id", d.ID}, {"account_id", d.Account}, {"event", d.Kind}, {"state", d.State},
		{"reason", textOrNil(d.Reason)}, {"attempts", d.Attempts}, {"created_at", d.CreatedAt.Format(time.RFC3339)},
		{"next_attempt_at", timeOrNil(d.NextAt)}, {"url", d.URL}, {"subscription_id", d.Subscription}, {"event_id", d.Event}}
}
