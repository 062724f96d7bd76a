package sandbox

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	"quittance/internal/exchange/webhook"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
)

// ResetResult is the result of a reset.
type ResetResult struct {
	Account base.ID
	// Drafts, CreditNotes, Incoming and Subscriptions count the synthetic data.
	Drafts, CreditNotes, Incoming, Subscriptions int
	// Pending counts the pending deliveries; a running server makes them.
	Pending int
}

// ErrAccountNotUnique reports that a reset without an account cannot choose one.
var ErrAccountNotUnique = errors.New("specify --account ID: the database does not contain exactly one account")

// Reset gives an account a fresh tenant with synthetic data and freezes the old one. It works while a server is
// running, which delivers the events. account may be nil when there is only one. timeout is how long to wait for the
// deliveries.
func Reset(ctx context.Context, db *base.DB, account *base.ID, receiver string, now time.Time,
	timeout time.Duration) (ResetResult, error) {
	// The server's policy decides where it may deliver to; this checks only the form of the destination.
	anywhere := webhook.Policy{AllowCIDRs: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0"),
		netip.MustParsePrefix("::/0")}}
	if _, err := anywhere.ParseDestination(receiver); err != nil {
		return ResetResult{}, fmt.Errorf("--receiver: %w", err)
	}
	if account == nil {
		accounts, err := identity.Accounts(ctx, db, 2)
		if err != nil {
			return ResetResult{}, err
		}
		if len(accounts) != 1 {
			return ResetResult{}, ErrAccountNotUnique
		}
		account = &accounts[0].ID
	}
	tenant, err := invoices.ResetTenant(ctx, db, *account)
	if err != nil {
		return ResetResult{}, err
	}
	if err := Seed(ctx, tenant, receiver, now, func(string) {}); err != nil {
		return ResetResult{}, err
	}
	if err := awaitDeliveries(ctx, tenant, timeout); err != nil {
		return ResetResult{}, err
	}
	pending, err := invoices.PendingDeliveries(ctx, tenant)
	return ResetResult{Account: *account, Drafts: seededDrafts, CreditNotes: seededCreditNotes, Incoming: seededIncoming,
		Subscriptions: seededSubscriptions, Pending: pending}, err
}

// Defaults returns the account and the receiver of a data directory's sandbox.
func (l Layout) Defaults() (account *base.ID, receiver string, err error) {
	saved, err := l.load()
	if err != nil || saved == nil {
		return nil, "", err
	}
	id, err := base.ParseID(saved.AccountID)
	if err != nil {
		return nil, "", fmt.Errorf("account of the sandbox: %w", err)
	}
	return &id, receiverURL(saved.ReceiverListen), nil
}

func receiverURL(listen string) string { return "https://" + listen + "/hooks" }
