package lists_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestAllSubmissions: an administrator finds the submissions of unknown outcome without knowing whose they are.
func TestAllSubmissions(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		fixture.Record(t, f.Submit(t, "INV-1"), fixture.AllFour("accepted", true))
		f.Clock.Advance(time.Second)
		unknown := f.Unknown(t, "INV-2").Submission.ID
		f.Clock.Advance(time.Second)
		rejected := f.Unknown(t, "INV-3").Submission.ID
		_, err := invoices.ResolveAnySubmission(ctx, f.DB, rejected, invoices.DecisionReject, fixture.Because)
		kit.Must(t, err)
		other, err := identity.CreateAccount(ctx, f.DB, "Other", identity.NewUser{Email: "other@example.com"})
		kit.Must(t, err)
		for _, c := range []struct {
			account *base.ID
			outcome api.Outcome
			limit   int
			want    []base.ID
		}{
			{nil, api.OutcomeUnknown, 10, []base.ID{unknown}},
			{&f.Account.ID, api.OutcomeResolvedRejected, 10, []base.ID{rejected}},
			{nil, api.OutcomeRejected, 10, nil},
			{nil, "", 2, []base.ID{rejected, unknown}},
			{&other.ID, "", 10, nil},
		} {
			found, err := lists.AllSubmissions(ctx, f.DB, c.account, c.outcome, c.limit)
			kit.Must(t, err)
			if len(found) != len(c.want) {
				t.Errorf("%q: %d submissions, want %d", c.outcome, len(found), len(c.want))
				continue
			}
			for n, s := range found {
				if s.ID != c.want[n] || s.Account != f.Account.ID {
					t.Errorf("%q: %s of %s", c.outcome, s.ID, s.Account)
				}
			}
		}
	})
}

// TestAllDeliveries: an administrator finds the deliveries that failed, and where they went.
func TestAllDeliveries(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 2)
		pending, err := lists.AllDeliveries(ctx, f.DB, &f.Account.ID, api.DeliveryPending, 10)
		kit.Must(t, err)
		if len(pending) == 0 || pending[0].Account != f.Account.ID || pending[0].URL != fixture.HookURL {
			t.Fatalf("pending: %+v", pending)
		}
		failed := pending[0].ID
		f.Exec(t, `update deliveries set state = 'failed', due_at = null where tenant_id = $1 and id = $2`, f.Tenant.ID(),
			failed)
		for state, want := range map[api.DeliveryState]int{api.DeliveryFailed: 1, api.DeliveryBlocked: 0,
			api.DeliveryDelivered: 0, api.DeliveryPending: len(pending) - 1, "": len(pending)} {
			found, err := lists.AllDeliveries(ctx, f.DB, nil, state, 10)
			kit.Must(t, err)
			if len(found) != want || state == api.DeliveryFailed && found[0].ID != failed {
				t.Errorf("%q: %+v", state, found)
			}
		}
		found, err := lists.AllDeliveries(ctx, f.DB, nil, "", 1)
		kit.Must(t, err)
		if len(found) != 1 {
			t.Errorf("%d deliveries with a limit of 1", len(found))
		}
	})
}

// TestBacklogs: what waits is counted, and apart from it what should have been begun.
func TestBacklogs(t *testing.T) {
	fixture.ForEachStore(t, func(t *testing.T, f *fixture.Fixture) {
		f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 3)
		deliveries, submissions, err := lists.Backlogs(t.Context(), f.DB)
		kit.Must(t, err)
		if deliveries.Pending == 0 || submissions.Pending == 0 {
			t.Fatalf("deliveries %+v, submissions %+v", deliveries, submissions)
		}
		_, err = f.Raw.ExecContext(t.Context(), `update deliveries set due_at = due_at + 1000000000000 where tenant_id = $1`,
			f.Tenant.ID())
		kit.Must(t, err)
		f.Exec(t,
			`update deliveries set due_at = $3 where tenant_id = $1 and id = (select id from deliveries where tenant_id = $1 and due_at is not null and id <> $2 limit 1)`,
			f.Tenant.ID(), f.Tenant.ID(), f.Clock.Now().Add(-time.Minute).UnixMicro())
		later, _, err := lists.Backlogs(t.Context(), f.DB)
		kit.Must(t, err)
		if later != (lists.Backlog{Pending: deliveries.Pending, Overdue: 1, Oldest: time.Minute}) {
			t.Errorf("before %+v, after %+v", deliveries, later)
		}
	})
}

// TestDisabledUser: a disabled user has no token and gets none; others are not touched; the last one is kept unless
// forced.
func TestDisabledUser(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := fixture.AsAdministrator(t.Context())
		token := func(user base.User, name byte) error {
			_, err := identity.CreateToken(ctx, f.DB, user, identity.NewToken{Digest: [32]byte{name, 0xd1},
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			return err
		}
		fixture.WantErr(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, false), identity.ErrLastOwner)
		second, err := identity.AddUser(ctx, f.DB, f.Account.ID, identity.NewUser{Role: access.Owner,
			Email: "second@example.com", PasswordHash: "$hash"})
		kit.Must(t, err)
		user := base.User{Account: f.Account.ID, ID: second, PasswordHash: "$hash"}
		kit.Must(t, token(user, 1))
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, second, false))
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, second, false)) // once more changes nothing
		fixture.WantErr(t, token(user, 2), base.ErrNotFound)
		if _, err := f.Authenticate(ctx, [32]byte{1, 0xd1}); err == nil {
			t.Error("a token of a disabled user is alive")
		}
		kit.Must(t, token(f.User, 3))
		fixture.WantErr(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, false), identity.ErrLastOwner)
		kit.Must(t, identity.EnableUser(ctx, f.DB, f.Account.ID, second))
		kit.Must(t, token(user, 4))
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, second, false))
		kit.Must(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.User.ID, true))
		fixture.WantErr(t, token(f.User, 5), base.ErrNotFound)
		fixture.WantErr(t, identity.DisableUser(ctx, f.DB, f.Account.ID, f.Decoy.User.ID, true), base.ErrNotFound)
		fixture.WantErr(t, identity.EnableUser(ctx, f.DB, f.Account.ID, f.Decoy.User.ID), base.ErrNotFound)
		var acts []string
		for _, e := range append(f.Audited(t, "user.disable"), f.Audited(t, "user.enable")...) {
			acts = append(acts, e.Act)
		}
		if len(acts) != 4 {
			t.Errorf("audited %v", acts)
		}
	})
}

// TestRename: the company's new name is shown, and the audit log has the old one.
func TestRename(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		kit.Must(t, identity.RenameAccount(fixture.AsAdministrator(t.Context()), f.DB, f.Account.ID,
			"Palm Trading FZE"))
		found, err := identity.FindAccount(t.Context(), f.DB, f.Account.ID)
		kit.Must(t, err)
		entries := f.Audited(t, "account.rename")
		if found.Company != "Palm Trading FZE" || len(entries) != 1 ||
			entries[0].Details != `{"after":"Palm Trading FZE","before":"Palm Trading LLC"}` {
			t.Errorf("%q, %+v", found.Company, entries)
		}
		fixture.WantErr(t, identity.RenameAccount(t.Context(), f.DB, base.ID{1}, "X"), base.ErrNotFound)
	})
}
