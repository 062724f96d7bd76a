package store_test

import (
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/access"
	"quittance/internal/store"
	"quittance/test/kit"
)

// TestAllSubmissions: an administrator finds the submissions of unknown outcome without knowing whose they are.
func TestAllSubmissions(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		record(t, f.submit(t, "INV-1"), allFour("accepted", true))
		f.Clock.Advance(time.Second)
		unknown := f.unknown(t, "INV-2").Submission.ID
		f.Clock.Advance(time.Second)
		rejected := f.unknown(t, "INV-3").Submission.ID
		_, err := f.ResolveSubmission(ctx, rejected, store.DecisionReject, because)
		kit.Must(t, err)
		other, err := f.CreateAccount(ctx, "Other", store.NewUser{Email: "other@example.com"})
		kit.Must(t, err)
		for _, c := range []struct {
			account *store.ID
			outcome api.Outcome
			limit   int
			want    []store.ID
		}{
			{nil, api.OutcomeUnknown, 10, []store.ID{unknown}},
			{&f.account.ID, api.OutcomeResolvedRejected, 10, []store.ID{rejected}},
			{nil, api.OutcomeRejected, 10, nil},
			{nil, "", 2, []store.ID{rejected, unknown}},
			{&other.ID, "", 10, nil},
		} {
			found, err := f.AllSubmissions(ctx, c.account, c.outcome, c.limit)
			kit.Must(t, err)
			if len(found) != len(c.want) {
				t.Errorf("%q: %d submissions, want %d", c.outcome, len(found), len(c.want))
				continue
			}
			for n, s := range found {
				if s.ID != c.want[n] || s.Account != f.account.ID {
					t.Errorf("%q: %s of %s", c.outcome, s.ID, s.Account)
				}
			}
		}
	})
}

// TestAllDeliveries: an administrator finds the deliveries that failed, and where they went.
func TestAllDeliveries(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 2)
		pending, err := f.AllDeliveries(ctx, &f.account.ID, api.DeliveryPending, 10)
		kit.Must(t, err)
		if len(pending) == 0 || pending[0].Account != f.account.ID || pending[0].URL != hookURL {
			t.Fatalf("pending: %+v", pending)
		}
		failed := pending[0].ID
		f.exec(t, `update deliveries set state = 'failed', due_at = null where tenant_id = $1 and id = $2`, f.tenant.Key(),
			failed)
		for state, want := range map[api.DeliveryState]int{api.DeliveryFailed: 1, api.DeliveryBlocked: 0,
			api.DeliveryDelivered: 0, api.DeliveryPending: len(pending) - 1, "": len(pending)} {
			found, err := f.AllDeliveries(ctx, nil, state, 10)
			kit.Must(t, err)
			if len(found) != want || state == api.DeliveryFailed && found[0].ID != failed {
				t.Errorf("%q: %+v", state, found)
			}
		}
		found, err := f.AllDeliveries(ctx, nil, "", 1)
		kit.Must(t, err)
		if len(found) != 1 {
			t.Errorf("%d deliveries with a limit of 1", len(found))
		}
	})
}

// TestBacklogs: what waits is counted, and apart from it what should have been begun.
func TestBacklogs(t *testing.T) {
	forEachStore(t, func(t *testing.T, f *fixture) {
		f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 3)
		deliveries, submissions, err := f.Backlogs(t.Context())
		kit.Must(t, err)
		if deliveries.Pending == 0 || submissions.Pending == 0 {
			t.Fatalf("deliveries %+v, submissions %+v", deliveries, submissions)
		}
		_, err = f.raw.ExecContext(t.Context(), `update deliveries set due_at = due_at + 1000000000000 where tenant_id = $1`,
			f.tenant.Key())
		kit.Must(t, err)
		f.exec(t,
			`update deliveries set due_at = $3 where tenant_id = $1 and id = (select id from deliveries where tenant_id = $1 and due_at is not null and id <> $2 limit 1)`,
			f.tenant.Key(), f.tenant.Key(), f.Clock.Now().Add(-time.Minute).UnixMicro())
		later, _, err := f.Backlogs(t.Context())
		kit.Must(t, err)
		if later != (store.Backlog{Pending: deliveries.Pending, Overdue: 1, Oldest: time.Minute}) {
			t.Errorf("before %+v, after %+v", deliveries, later)
		}
	})
}

// TestDisabledUser: a disabled user has no token and gets none; others are not touched; the last one is kept unless
// forced.
func TestDisabledUser(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := asAdministrator(t.Context())
		token := func(user store.User, name byte) error {
			_, err := f.CreateToken(ctx, user, store.NewToken{Digest: [32]byte{name, 0xd1},
				ExpiresAt: f.Clock.Now().Add(time.Hour)})
			return err
		}
		wantErr(t, f.DisableUser(ctx, f.account.ID, f.user.ID, false), store.ErrLastOwner)
		second, err := f.AddUser(ctx, f.account.ID, store.NewUser{Role: access.Owner, Email: "second@example.com",
			PasswordHash: "$hash"})
		kit.Must(t, err)
		user := store.User{Account: f.account.ID, ID: second, PasswordHash: "$hash"}
		kit.Must(t, token(user, 1))
		kit.Must(t, f.DisableUser(ctx, f.account.ID, second, false))
		kit.Must(t, f.DisableUser(ctx, f.account.ID, second, false)) // once more changes nothing
		wantErr(t, token(user, 2), store.ErrNotFound)
		if _, err := f.Authenticate(ctx, [32]byte{1, 0xd1}); err == nil {
			t.Error("a token of a disabled user is alive")
		}
		kit.Must(t, token(f.user, 3))
		wantErr(t, f.DisableUser(ctx, f.account.ID, f.user.ID, false), store.ErrLastOwner)
		kit.Must(t, f.EnableUser(ctx, f.account.ID, second))
		kit.Must(t, token(user, 4))
		kit.Must(t, f.DisableUser(ctx, f.account.ID, second, false))
		kit.Must(t, f.DisableUser(ctx, f.account.ID, f.user.ID, true))
		wantErr(t, token(f.user, 5), store.ErrNotFound)
		wantErr(t, f.DisableUser(ctx, f.account.ID, f.decoy.user.ID, true), store.ErrNotFound)
		wantErr(t, f.EnableUser(ctx, f.account.ID, f.decoy.user.ID), store.ErrNotFound)
		var acts []string
		for _, e := range append(f.audited(t, "user.disable"), f.audited(t, "user.enable")...) {
			acts = append(acts, e.Act)
		}
		if len(acts) != 4 {
			t.Errorf("audited %v", acts)
		}
	})
}

// TestRename: the company's new name is shown, and the audit log has the old one.
func TestRename(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		kit.Must(t, f.RenameAccount(asAdministrator(t.Context()), f.account.ID, "Palm Trading FZE"))
		found, err := f.Account(t.Context(), f.account.ID)
		kit.Must(t, err)
		entries := f.audited(t, "account.rename")
		if found.Company != "Palm Trading FZE" || len(entries) != 1 ||
			entries[0].Details != `{"after":"Palm Trading FZE","before":"Palm Trading LLC"}` {
			t.Errorf("%q, %+v", found.Company, entries)
		}
		wantErr(t, f.RenameAccount(t.Context(), store.ID{1}, "X"), store.ErrNotFound)
	})
}
