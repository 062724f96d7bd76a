package events

import (
	"context"

	"quittance/internal/ledger/base"
)

// SelectSubscriptions returns webhook subscriptions.
func SelectSubscriptions(ctx context.Context, r base.Reader, condition, order string,
	args ...any) ([]Subscription, error) {
	return base.Collect(ctx, r.Rows, ScanSubscription, `select `+SubscriptionColumns+
		` from subscriptions where tenant_id = $1 and (`+condition+`) `+order, r.Args(args)...)
}

// Select returns events with the exact bytes of their deliveries.
func Select(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Event, error) {
	return base.Collect(ctx, r.Rows, Scan, `select `+Columns+` from events where tenant_id = $1 and (`+condition+
		`) `+order, r.Args(args)...)
}

// SelectDeliveries returns webhook deliveries without their attempts.
func SelectDeliveries(ctx context.Context, r base.Reader, condition, order string, args ...any) ([]Delivery, error) {
	return base.Collect(ctx, r.Rows, ScanDelivery, `select `+DeliveryColumns+` from deliveries where tenant_id = $1 and (`+
		condition+`) `+order, r.Args(args)...)
}
