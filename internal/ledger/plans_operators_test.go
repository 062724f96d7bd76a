package ledger_test

import (
	"context"
	"errors"

	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/lists"
	"quittance/test/ledgertest/fixture"
)

// operatorOperations are the lists of operators, which cover all companies, and the look-up of their sessions.
func operatorOperations(f *fixture.Fixture, db *base.DB) []operation {
	return []operation{
		{name: "AuthenticateOperator", run: func(ctx context.Context) error {
			_, err := identity.AuthenticateOperator(ctx, db, [32]byte{9})
			return ignoreNotFound(err)
		}},
		{name: "OperatorByEmail", run: func(ctx context.Context) error {
			_, err := identity.FindOperator(ctx, db, "nobody@owner.example")
			return ignoreNotFound(err)
		}},
		{name: "EnrollingOperator", run: func(ctx context.Context) error {
			_, err := identity.EnrollingOperator(ctx, db, [32]byte{9})
			return ignoreNotFound(err)
		}},
		{name: "AccountList", uses: "accounts_newest", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.AccountList(ctx, db, "", lists.ListPosition{}, 50)
			return err
		}},
		{name: "AccountList by name", whole: []string{"accounts"}, depth: lists.ListDepth,
			run: func(ctx context.Context) error {
				_, err := lists.AccountList(ctx, db, "x", lists.ListPosition{}, 50)
				return err
			}},
		{name: "AccountList by user", run: func(ctx context.Context) error {
			_, err := lists.AccountList(ctx, db, f.User.Email, lists.ListPosition{}, 50)
			return err
		}},
		{name: "Companies", run: func(ctx context.Context) error {
			_, err := lists.Companies(ctx, db, []base.ID{f.Account.ID})
			return err
		}},
		{name: "ConnectionList", uses: "connections_newest", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.ConnectionList(ctx, db, lists.ListPosition{}, 50)
			return err
		}},
		{name: "FailingConnections", uses: "connections_failing", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.FailingConnections(ctx, db, 50)
			return err
		}},
		{name: "UnknownSubmissions", uses: "submissions_unknown_oldest", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.UnknownSubmissions(ctx, db, lists.ListPosition{}, 50)
			return err
		}},
		{name: "UndeliveredDeliveries", uses: "deliveries_undelivered", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.UndeliveredDeliveries(ctx, db, base.ID{}, 50)
			return err
		}},
		{name: "FailingSubscriptions", uses: "deliveries_undelivered subscriptions_failing",
			whole: []string{"deliveries_undelivered", "subscriptions"}, list: true, depth: 2 * lists.FailingDepth,
			run: func(ctx context.Context) error {
				_, err := lists.FailingSubscriptions(ctx, db)
				return err
			}},
		{name: "AuditPage", uses: "audit_at", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.AuditPage(ctx, db, base.AuditFilter{Limit: 50}, lists.AuditPosition{})
			return err
		}},
		{name: "AuditPage of an account", uses: "audit_chain_at", depth: 100, run: func(ctx context.Context) error {
			_, err := lists.AuditPage(ctx, db, base.AuditFilter{Account: &f.Account.ID, Limit: 50}, lists.AuditPosition{})
			return err
		}},
		{name: "AuditPage by act", uses: "audit_at", depth: lists.ListDepth, run: func(ctx context.Context) error {
			_, err := lists.AuditPage(ctx, db, base.AuditFilter{Act: "draft", Limit: 50}, lists.AuditPosition{})
			return err
		}},
	}
}

// ignoreNotFound returns err unless it is [base.ErrNotFound]: the statement has run.
func ignoreNotFound(err error) error {
	if errors.Is(err, base.ErrNotFound) {
		return nil
	}
	return err
}
