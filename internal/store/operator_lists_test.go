package store_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/store"
	"quittance/test/kit"
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
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		for n := range 3 {
			f.Clock.Advance(time.Hour)
			kit.Must(t, second(f.CreateAccount(ctx, fmt.Sprintf("Zed 100%% %d_Ünal", n),
				store.NewUser{Email: fmt.Sprintf("zed-%d@example.com", n)})))
		}
		decide(t, f.submit(t, "INV-1"), func(s store.Submission,
			_ time.Time) store.Decision {
			return outcome(s, api.OutcomeRejected)
		})
		f.unknown(t, "INV-2")
		list := func(search string) []store.AccountRow {
			t.Helper()
			return wholeList(t, func(after store.ListPosition) ([]store.AccountRow, error) {
				return f.AccountList(ctx, search, after, 2)
			}, store.AccountRow.Position)
		}
		all, err := f.Accounts(ctx, 100)
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
			"ZED-2@example.com": 1, "zed@": 0, f.account.ID.String(): 1, store.ID{1}.String(): 0,
			`'; drop table accounts; --`: 0,
		} {
			if found := list(search); len(found) != want {
				t.Errorf("%q finds %d accounts, want %d", search, len(found), want)
			}
		}
		for _, want := range []int64{1, 2} {
			row := list(f.account.ID.String())[0]
			if row.Active == nil || row.Active.ID != f.connection.ID || row.LastSubmitted == nil || row.Attention != want {
				t.Errorf("%d invoices need a person, want %d: %+v", row.Attention, want, row)
			}
			f.Clock.Advance(12 * time.Minute)
		}
		names, err := f.Companies(ctx, []store.ID{f.account.ID, all[0].ID, {9}})
		kit.Must(t, err)
		if len(names) != 2 || names[all[0].ID] != all[0].Company {
			t.Errorf("companies %v", names)
		}
		if none, err := f.Companies(ctx, nil); err != nil || len(none) != 0 {
			t.Errorf("companies of no account: %v, %v", none, err)
		}
	})
}

// TestConnectionLists checks that operators find all connections, and those in trouble first.
func TestConnectionLists(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		all, err := f.Connections(ctx, nil)
		kit.Must(t, err)
		slices.Reverse(all)
		listed := wholeList(t, func(after store.ListPosition) ([]store.Connection,
			error) {
			return f.ConnectionList(ctx, after, 2)
		}, store.Connection.Position)
		if len(listed) != len(all) || len(all) < 2 {
			t.Fatalf("%d connections, want %d", len(listed), len(all))
		}
		failing := func() []store.Connection {
			found, err := f.FailingConnections(ctx, 10)
			kit.Must(t, err)
			return found
		}
		if found := failing(); len(found) != 0 {
			t.Errorf("failing %+v", found)
		}
		decide(t, f.submit(t, "INV-1"), func(s store.Submission, _ time.Time) store.Decision {
			d := outcome(s, api.OutcomeUnknown)
			d.FailureReason = "no response"
			return d
		})
		if found := failing(); len(found) != 1 || found[0].ID != f.connection.ID || found[0].FailureReason != "no response" {
			t.Errorf("failing %+v", found)
		}
	})
}

// TestUnknownAges checks that submissions of unknown outcome are counted by age, those of every company and no others.
func TestUnknownAges(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		want := func(want store.UnknownAges) {
			t.Helper()
			got, err := f.UnknownAges(t.Context())
			kit.Must(t, err)
			wantEqual(t, "the ages", got, want)
		}
		want(store.UnknownAges{})
		f.submit(t, "INV-1")
		f.unknown(t, "INV-2")
		f.Clock.Advance(time.Hour)
		f.unknown(t, "INV-3")
		want(store.UnknownAges{Minutes: 1, Hours: 1, Oldest: time.Hour})
		f.Clock.Advance(23 * time.Hour)
		want(store.UnknownAges{Hours: 1, Days: 1, Oldest: 24 * time.Hour})
	})
}

// TestUnknownSubmissions checks that operators find the submissions of unknown outcome of all companies, oldest first,
// and that only the company of a submission resolves it.
func TestUnknownSubmissions(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		record(t, f.submit(t, "INV-0"), allFour("accepted", true))
		var want []store.ID
		for n := range 5 {
			if n > 2 {
				f.Clock.Advance(time.Second) // three have the same time
			}
			want = append(want, f.unknown(t, fmt.Sprintf("INV-%d", n+1)).Submission.ID)
		}
		list := func() []store.ID {
			var ids []store.ID
			for _, s := range wholeList(t, func(after store.ListPosition) ([]store.AccountSubmission, error) {
				return f.UnknownSubmissions(ctx, after, 2)
			}, store.AccountSubmission.Position) {
				if ids = append(ids, s.ID); s.Account != f.account.ID {
					t.Errorf("submission of %s", s.Account)
				}
			}
			return ids
		}
		slices.SortFunc(want[:3], func(a, b store.ID) int { return strings.Compare(string(a[:]), string(b[:])) })
		wantEqual(t, "submissions", list(), want)
		wantErr(t, second(f.decoy.tenant.ResolveSubmission(ctx, want[0], store.DecisionReject, because)), store.ErrNotFound)
		if s, err := f.tenant.ResolveSubmission(ctx, want[0], store.DecisionReject, because); err != nil ||
			s.Outcome != api.OutcomeResolvedRejected {
			t.Errorf("resolved: %q, %v", s.Outcome, err)
		}
		wantErr(t, second(f.tenant.ResolveSubmission(ctx, want[0], store.DecisionReject, because)), store.ErrOutcomeKnown)
		wantEqual(t, "submissions", list(), want[1:])
	})
}

// TestUndeliveredOfAll checks that operators find the deliveries that did not arrive, and the subscriptions they were
// for.
func TestUndeliveredOfAll(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := t.Context()
		f.subscribe(t, api.EventSubmissionUpdated)
		f.tell(t, 5)
		pending, err := f.AllDeliveries(ctx, &f.account.ID, api.DeliveryPending, 10)
		kit.Must(t, err)
		for n, d := range pending[:4] {
			f.exec(t, `update deliveries set state = $3, due_at = null where tenant_id = $1 and id = $2`, f.tenant.Key(),
				d.ID, []string{"failed", "blocked"}[n%2])
		}
		var got, want []store.ID
		for _, d := range wholeList(t, func(after store.ID) ([]store.AccountDelivery,
			error) {
			return f.UndeliveredDeliveries(ctx, after, 2)
		}, func(d store.AccountDelivery) store.ID { return d.ID }) {
			if got = append(got, d.ID); d.Account != f.account.ID || d.URL != hookURL {
				t.Errorf("delivery %+v", d)
			}
		}
		for _, d := range pending[:4] {
			want = append(want, d.ID)
		}
		slices.SortFunc(want, func(a, b store.ID) int { return strings.Compare(string(b[:]), string(a[:])) })
		wantEqual(t, "deliveries", got, want)
		failing, err := f.FailingSubscriptions(ctx)
		kit.Must(t, err)
		if len(failing) != 1 || failing[0].Account != f.account.ID || failing[0].ID != pending[0].Subscription ||
			failing[0].Undelivered != 4 || !failing[0].Active || failing[0].URL != hookURL {
			t.Errorf("failing %+v", failing)
		}
	})
}

// TestAuditPage checks that the pages of the audit log of all companies have every entry once, with and without
// filters.
func TestAuditPage(t *testing.T) {
	forEachEngine(t, func(t *testing.T, f *fixture) {
		ctx := store.WithActor(t.Context(), ann)
		other, err := f.CreateAccount(ctx, "Other", store.NewUser{Email: "other@example.com"})
		kit.Must(t, err)
		tenant, err := f.DB.Tenant(ctx, other.ID)
		kit.Must(t, err)
		for n := range 5 {
			f.Clock.Advance(time.Duration(n%2) * time.Second)
			kit.Must(t, second(f.tenant.CreateInvoice(ctx, draft(fmt.Sprintf("INV-%d", n)))))
			kit.Must(t, second(tenant.CreateInvoice(ctx, draft(fmt.Sprintf("INV-A%d", n)))))
		}
		for name, filter := range map[string]store.AuditFilter{
			"all": {}, "account": {Account: &f.account.ID}, "actor": {Actor: ann.Name}, "act": {Act: "draft.create"},
			"family of acts": {Act: "draft"}, "nothing": {Act: "dra"},
			"account and act": {Account: &f.account.ID, Act: "draft.create"}, "since": {Since: f.Clock.Now()},
			"until": {Until: f.Clock.Now()},
		} {
			filter.Limit = 1000
			want, err := f.Audit(ctx, filter)
			kit.Must(t, err)
			slices.Reverse(want)
			filter.Limit = 2
			got := wholeList(t, func(after store.AuditPosition) ([]store.AuditEntry,
				error) {
				return f.AuditPage(ctx, filter, after)
			},
				func(e store.AuditEntry) store.AuditPosition { return e.Position() })
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
