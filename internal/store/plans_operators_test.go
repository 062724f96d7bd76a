package store_test

import (
	"context"
	"errors"

	"quittance/internal/store"
)

// operatorOperations are the lists of operators, which cover all companies, and the look-up of their sessions.
func (f *fixture) operatorOperations(db *store.DB) []operation {
	return []operation{
		{name: "AuthenticateOperator", run: func(ctx context.Context) error {
			_, err := db.AuthenticateOperator(ctx, [32]byte{9})
			return ignoreNotFound(err)
		}},
		{name: "OperatorByEmail", run: func(ctx context.Context) error {
			_, err := db.OperatorByEmail(ctx, "nobody@owner.example")
			return ignoreNotFound(err)
		}},
		{name: "EnrollingOperator", run: func(ctx context.Context) error {
			_, err := db.EnrollingOperator(ctx, [32]byte{9})
			return ignoreNotFound(err)
		}},
		{name: "AccountList", uses: "accounts_newest", depth: 100, run: func(ctx context.Context) error {
			_, err := db.AccountList(ctx, "", store.ListPosition{}, 50)
			return err
		}},
		{name: "AccountList by name", whole: []string{"accounts"}, depth: store.ListDepth,
			run: func(ctx context.Context) error {
				_, err := db.AccountList(ctx, "x", store.ListPosition{}, 50)
				return err
			}},
		{name: "AccountList by user", run: func(ctx context.Context) error {
			_, err := db.AccountList(ctx, f.user.Email, store.ListPosition{}, 50)
			return err
		}},
		{name: "Companies", run: func(ctx context.Context) error {
			_, err := db.Companies(ctx, []store.ID{f.account.ID})
			return err
		}},
		{name: "ConnectionList", uses: "connections_newest", depth: 100, run: func(ctx context.Context) error {
			_, err := db.ConnectionList(ctx, store.ListPosition{}, 50)
			return err
		}},
		{name: "FailingConnections", uses: "connections_failing", depth: 100, run: func(ctx context.Context) error {
			_, err := db.FailingConnections(ctx, 50)
			return err
		}},
		{name: "UnknownSubmissions", uses: "submissions_unknown_oldest", depth: 100, run: func(ctx context.Context) error {
			_, err := db.UnknownSubmissions(ctx, store.ListPosition{}, 50)
			return err
		}},
		{name: "UndeliveredDeliveries", uses: "deliveries_undelivered", depth: 100, run: func(ctx context.Context) error {
			_, err := db.UndeliveredDeliveries(ctx, store.ID{}, 50)
			return err
		}},
		{name: "FailingSubscriptions", uses: "deliveries_undelivered subscriptions_failing",
			whole: []string{"deliveries_undelivered", "subscriptions"}, list: true, depth: 2 * store.FailingDepth,
			run: func(ctx context.Context) error {
				_, err := db.FailingSubscriptions(ctx)
				return err
			}},
		{name: "AuditPage", uses: "audit_at", depth: 100, run: func(ctx context.Context) error {
			_, err := db.AuditPage(ctx, store.AuditFilter{Limit: 50}, store.AuditPosition{})
			return err
		}},
		{name: "AuditPage of an account", uses: "audit_chain_at", depth: 100, run: func(ctx context.Context) error {
			_, err := db.AuditPage(ctx, store.AuditFilter{Account: &f.account.ID, Limit: 50}, store.AuditPosition{})
			return err
		}},
		{name: "AuditPage by act", uses: "audit_at", depth: store.ListDepth, run: func(ctx context.Context) error {
			_, err := db.AuditPage(ctx, store.AuditFilter{Act: "draft", Limit: 50}, store.AuditPosition{})
			return err
		}},
	}
}

// ignoreNotFound returns err unless it is [store.ErrNotFound]: the statement has run.
func ignoreNotFound(err error) error {
	if errors.Is(err, store.ErrNotFound) {
		return nil
	}
	return err
}
