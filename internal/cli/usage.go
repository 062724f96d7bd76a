package cli

import (
	"encoding/json"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
)

// usageOf returns how much of each quota an account uses, by quota name. For tokens it is the largest number that one
// user has. The limits themselves are flags of the server.
func usageOf(env environment, db *base.DB, id base.ID, users []base.User) (usageRecord, error) {
	tenant, err := db.Tenant(env.ctx, id)
	if err != nil {
		return nil, err
	}
	used := usageRecord{}
	for _, user := range users {
		quotas, err := invoices.Quotas(env.ctx, tenant, user.ID)
		if err != nil {
			return nil, err
		}
		for name, quota := range quotas {
			used[name] = max(used[name], quota.Used)
		}
	}
	return used, nil
}

// usageRecord prints as JSON in both output formats.
type usageRecord map[string]int64

func (u usageRecord) String() string {
	text, err := json.Marshal(map[string]int64(u))
	if err != nil {
		return err.Error()
	}
	return string(text)
}
