package lists_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// wholeList reads a list page by page, two rows at a time.
func wholeList[R, P any](t *testing.T, page func(after P) ([]R, error), position func(R) P) (all []R) {
	t.Helper()
	var after P
	for {
		rows, err := page(after)
		kit.Must(t, err)
		if len(rows) == 0 {
			return all
		}
		if all, after = append(all, rows...), position(rows[len(rows)-1]); len(all) > 1000 {
			t.Fatal("the list does not end")
		}
	}
}

// TestAccountList checks that operators find the accounts of all companies, with their connections and what needs a
// person.
func TestAccountList(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		for n := range 3 {
			f.Clock.Advance(time.Hour)
			kit.Must(t, fixture.Second(identity.CreateAccount(ctx, f.DB, fmt.Sprintf("Zed 100%% %d_Ünal", n),
				identity.NewUser{Email: fmt.Sprintf("zed-%d@example.com", n)})))
		}
		fixture.Decide(t, f.Submit(t, "INV-1"), func(s invoices.Submission,
			_ time.Time) invoices.Decision {
			return fixture.Outcome(s, api.OutcomeRejected)
		})
		f.Unknown(t, "INV-2")
		list := func(search string) []lists.AccountRow {
			t.Helper()
			return wholeList(t, func(after lists.ListPosition) ([]lists.AccountRow, error) {
				return lists.AccountList(ctx, f.DB, search, after, 2)
			}, lists.AccountRow.Position)
		}
		all, err := identity.Accounts(ctx, f.DB, 100)
		kit.Must(t, err)
		listed := list("")
		slices.Reverse(all)
		for n, a := range listed {
			if len(listed) != len(all) || a.ID != all[n].ID || a.Company != all[n].Company {
				t.Fatalf("%d accounts, want %d, newest first", len(listed), len(all))
			}
		}
		for search, want := range map[string]int{
			"zed": 3, "ZED 100% 1": 1, "100%": 3, "%": 3, "_": 3, "%zed": 0, "nobody": 0, "Ünal": 3, "zed-2@example.com": 1,
			"ZED-2@example.com": 1, "zed@": 0, f.Account.ID.String(): 1, base.ID{1}.String(): 0,
			`'; drop table accounts; --`: 0,
		} {
			if found := list(search); len(found) != want {
				t.Errorf("%q finds %d accounts, want %d", search, len(found), want)
			}
		}
		for _, want := range []int64{1, 2} {
			row := list(f.Account.ID.String())[0]
			if row.Active == nil || row.Active.ID != f.Connection.ID || row.LastSubmitted == nil || row.Attention != want {
				t.Errorf("%d invoices need a person, want %d: %+v", row.Attention, want, row)
			}
			f.Clock.Advance(12 * time.Minute)
		}
		names, err := lists.Companies(ctx, f.DB, []base.ID{f.Account.ID, all[0].ID, {9}})
		kit.Must(t, err)
		if len(names) != 2 || names[all[0].ID] != all[0].Company {
			t.Errorf("companies %v", names)
		}
		if none, err := lists.Companies(ctx, f.DB, nil); err != nil || len(none) != 0 {
			t.Errorf("companies of no account: %v, %v", none, err)
		}
	})
}

// TestConnectionLists checks that operators find all connections, and those in trouble first.
func TestConnectionLists(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		all, err := invoices.Connections(ctx, f.DB, nil)
		kit.Must(t, err)
		slices.Reverse(all)
		listed := wholeList(t, func(after lists.ListPosition) ([]invoices.Connection,
			error) {
			return lists.ConnectionList(ctx, f.DB, after, 2)
		}, lists.ConnectionPosition)
		if len(listed) != len(all) || len(all) < 2 {
			t.Fatalf("%d connections, want %d", len(listed), len(all))
		}
		failing := func() []invoices.Connection {
			found, err := lists.FailingConnections(ctx, f.DB, 10)
			kit.Must(t, err)
			return found
		}
		if found := failing(); len(found) != 0 {
			t.Errorf("failing %+v", found)
		}
		fixture.Decide(t, f.Submit(t, "INV-1"), func(s invoices.Submission, _ time.Time) invoices.Decision {
			d := fixture.Outcome(s, api.OutcomeUnknown)
			d.FailureReason = "no response"
			return d
		})
		if found := failing(); len(found) != 1 || found[0].ID != f.Connection.ID || found[0].FailureReason != "no response" {
			t.Errorf("failing %+v", found)
		}
	})
}

// TestUnknownAges checks that submissions of unknown outcome are counted by age, those of every company and no others.
func TestUnknownAges(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		want := func(want lists.UnknownAges) {
			t.Helper()
			got, err := lists.ReadUnknownAges(t.Context(), f.DB)
			kit.Must(t, err)
			fixture.WantEqual(t, "the ages", got, want)
		}
		want(lists.UnknownAges{})
		f.Submit(t, "INV-1")
		f.Unknown(t, "INV-2")
		f.Clock.Advance(time.Hour)
		f.Unknown(t, "INV-3")
		want(lists.UnknownAges{Minutes: 1, Hours: 1, Oldest: time.Hour})
		f.Clock.Advance(23 * time.Hour)
		want(lists.UnknownAges{Hours: 1, Days: 1, Oldest: 24 * time.Hour})
	})
}

// TestUnknownSubmissions checks that operators find the submissions of unknown outcome of all companies, oldest first,
// and that only the company of a submission resolves it.
func TestUnknownSubmissions(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		fixture.Record(t, f.Submit(t, "INV-0"), fixture.AllFour("accepted", true))
		var want []base.ID
		for n := range 5 {
			if n > 2 {
				f.Clock.Advance(time.Second) // three have the same time
			}
			want = append(want, f.Unknown(t, fmt.Sprintf("INV-%d", n+1)).Submission.ID)
		}
		list := func() []base.ID {
			var ids []base.ID
			for _, s := range wholeList(t, func(after lists.ListPosition) ([]invoices.Submission, error) {
				return lists.UnknownSubmissions(ctx, f.DB, after, 2)
			}, lists.SubmissionPosition) {
				if ids = append(ids, s.ID); s.Account != f.Account.ID {
					t.Errorf("submission of %s", s.Account)
				}
			}
			return ids
		}
		slices.SortFunc(want[:3], func(a, b base.ID) int { return strings.Compare(string(a[:]), string(b[:])) })
		fixture.WantEqual(t, "submissions", list(), want)
		fixture.WantErr(t, fixture.Second(invoices.ResolveSubmission(ctx, f.Decoy.Tenant, want[0],
			invoices.DecisionReject, fixture.Because)), base.ErrNotFound)
		if s, err := invoices.ResolveSubmission(ctx, f.Tenant, want[0], invoices.DecisionReject,
			fixture.Because); err != nil ||
			s.Outcome != api.OutcomeResolvedRejected {
			t.Errorf("resolved: %q, %v", s.Outcome, err)
		}
		fixture.WantErr(t, fixture.Second(invoices.ResolveSubmission(ctx, f.Tenant, want[0], invoices.DecisionReject,
			fixture.Because)), invoices.ErrOutcomeKnown)
		fixture.WantEqual(t, "submissions", list(), want[1:])
	})
}

// TestUndeliveredOfAll checks that operators find the deliveries that did not arrive, and the subscriptions they were
// for.
func TestUndeliveredOfAll(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		f.Subscribe(t, api.EventSubmissionUpdated)
		f.Tell(t, 5)
		pending, err := lists.AllDeliveries(ctx, f.DB, &f.Account.ID, api.DeliveryPending, 10)
		kit.Must(t, err)
		for n, d := range pending[:4] {
			f.Exec(t, `update deliveries set state = $3, due_at = null where tenant_id = $1 and id = $2`, f.Tenant.ID(),
				d.ID, []string{"failed", "blocked"}[n%2])
		}
		var got, want []base.ID
		for _, d := range wholeList(t, func(after base.ID) ([]lists.AccountDelivery,
			error) {
			return lists.UndeliveredDeliveries(ctx, f.DB, after, 2)
		}, func(d lists.AccountDelivery) base.ID { return d.ID }) {
			if got = append(got, d.ID); d.Account != f.Account.ID || d.URL != fixture.HookURL {
				t.Errorf("delivery %+v", d)
			}
		}
		for _, d := range pending[:4] {
			want = append(want, d.ID)
		}
		slices.SortFunc(want, func(a, b base.ID) int { return strings.Compare(string(b[:]), string(a[:])) })
		fixture.WantEqual(t, "deliveries", got, want)
		failing, err := lists.FailingSubscriptions(ctx, f.DB)
		kit.Must(t, err)
		if len(failing) != 1 || failing[0].Account != f.Account.ID || failing[0].ID != pending[0].Subscription ||
			failing[0].Undelivered != 4 || !failing[0].Active || failing[0].URL != fixture.HookURL {
			t.Errorf("failing %+v", failing)
		}
	})
}

// TestAuditPage checks that the pages of the audit log of all companies have every entry once, with and without
// filters.
func TestAuditPage(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := base.WithActor(t.Context(), fixture.Ann)
		other, err := identity.CreateAccount(ctx, f.DB, "Other", identity.NewUser{Email: "other@example.com"})
		kit.Must(t, err)
		tenant, err := f.DB.Tenant(ctx, other.ID)
		kit.Must(t, err)
		for n := range 5 {
			f.Clock.Advance(time.Duration(n%2) * time.Second)
			kit.Must(t, fixture.Second(invoices.Create(ctx, f.Tenant, fixture.Draft(fmt.Sprintf("INV-%d", n)))))
			kit.Must(t, fixture.Second(invoices.Create(ctx, tenant, fixture.Draft(fmt.Sprintf("INV-A%d", n)))))
		}
		for name, filter := range map[string]base.AuditFilter{
			"all": {}, "account": {Account: &f.Account.ID}, "actor": {Actor: fixture.Ann.Name}, "act": {Act: "draft.create"},
			"family of acts": {Act: "draft"}, "nothing": {Act: "dra"},
			"account and act": {Account: &f.Account.ID, Act: "draft.create"}, "since": {Since: f.Clock.Now()},
			"until": {Until: f.Clock.Now()},
		} {
			filter.Limit = 1000
			want, err := f.Audit(ctx, filter)
			kit.Must(t, err)
			slices.Reverse(want)
			filter.Limit = 2
			got := wholeList(t, func(after lists.AuditPosition) ([]base.AuditEntry,
				error) {
				return lists.AuditPage(ctx, f.DB, filter, after)
			},
				func(e base.AuditEntry) lists.AuditPosition { return lists.EntryPosition(&e) })
			if len(got) != len(want) || len(want) == 0 != (name == "nothing") {
				t.Errorf("%s: %d entries, want %d", name, len(got), len(want))
				continue
			}
			for n := range got {
				if got[n].ID != want[n].ID {
					t.Errorf("%s: entry %d is %s %s", name, n, got[n].Act, got[n].ID)
				}
			}
		}
	})
}
