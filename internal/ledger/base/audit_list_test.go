package base_test

import (
	"fmt"
	"testing"
	"time"

	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
	"quittance/test/ledgertest/fixture"
)

// TestAuditLog checks the pages and filters of a company's audit log, and that it shows nothing of another company.
func TestAuditLog(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		_, before := f.ActsSince(t, 0)
		by := func(name string) base.Actor {
			return base.Actor{Kind: base.ActorUser, Name: name, Means: base.MeansConsole, Source: "192.0.2.1"}
		}
		began := f.Clock.Advance(time.Minute)
		var last invoices.Invoice
		for n := range 6 {
			f.Clock.Advance(time.Minute)
			var err error
			last, err = invoices.Create(base.WithActor(t.Context(),
				by([]string{"ann@example.com", "bob@example.com"}[n%2])), f.Tenant, fixture.Draft(fmt.Sprintf("INV-%d", n)))
			kit.Must(t, err)
		}
		call := f.Begin(t, last.ID)
		lists := func(filter view.AuditFilter, want ...string) {
			t.Helper()
			for _, size := range []int{1, 2, 100} {
				var got []string
				for page := 1; ; page++ {
					found, err := view.Of(f.Tenant).AuditLog(t.Context(), filter, page, size)
					kit.Must(t, err)
					if found.Total != len(want) || found.Truncated {
						t.Errorf("%+v: total %d, want %d", filter, found.Total, len(want))
					}
					if len(found.Entries) == 0 {
						break
					}
					for _, e := range found.Entries {
						got = append(got, e.Act+" "+e.Name)
					}
				}
				fixture.WantEqual(t, fmt.Sprintf("%+v by %d", filter, size), got, want)
			}
		}
		ann, bob, submit := "draft.create ann@example.com", "draft.create bob@example.com", "invoice.submit quittance"
		lists(view.AuditFilter{From: began}, submit, bob, ann, bob, ann, bob, ann)
		lists(view.AuditFilter{Actor: "ann@example.com"}, ann, ann, ann)
		lists(view.AuditFilter{Actor: "system", Act: "invoice"}, submit)
		lists(view.AuditFilter{Actor: "system", Act: "invoic"})
		lists(view.AuditFilter{Actor: "quittance"})
		lists(view.AuditFilter{Act: "draft.create", From: began.Add(2 * time.Minute), To: began.Add(4 * time.Minute)},
			ann, bob)
		lists(view.AuditFilter{Subject: last.ID.String()}, submit, bob)
		lists(view.AuditFilter{Subject: last.ID.String(), Actor: "bob@example.com"}, bob)
		lists(view.AuditFilter{Subject: f.Decoy.Connection.ID.String()})
		whole, err := view.Of(f.Tenant).AuditLog(t.Context(), view.AuditFilter{}, 1, 100)
		kit.Must(t, err)
		if whole.Total != len(before)+7 || len(whole.Entries) != whole.Total || whole.Entries[0].Act != "invoice.submit" {
			t.Errorf("the whole log: %d of %d", len(whole.Entries), whole.Total)
		}
		activity, err := view.Of(f.Tenant).Activity(t.Context(), []base.ID{last.ID, call.Submission.ID}, 10)
		kit.Must(t, err)
		if len(activity) != 2 || activity[0].Act != "invoice.submit" {
			t.Errorf("activity %+v", activity)
		}
		if none, err := view.Of(f.Tenant).Activity(t.Context(), nil, 10); err != nil || len(none) > 0 {
			t.Errorf("activity of nothing: %v, %v", none, err)
		}
	})
}

// TestShownAudit checks that a company sees what an administrator did, but not who it was, from where and why.
func TestShownAudit(t *testing.T) {
	t.Parallel()
	e := base.AuditEntry{Actor: base.Actor{Kind: base.ActorAdministrator, Name: "ada@desk",
		Means: base.MeansCommandLine, Source: "10.0.0.1", RequestID: "r", Reason: "ticket 7"},
		Act: "user.add", SubjectType: "user", Subject: "u", Details: `{"email":"a@example.com","fingerprint":"secret"}`}
	shown := view.AuditEntry(e)
	if shown.Actor.Name != nil || shown.Source != nil || shown.RequestID != nil || len(shown.Details) != 1 ||
		shown.Details["email"] == "" || shown.Means != "command_line" {
		t.Errorf("an administrator: %+v", shown)
	}
	e.Kind, e.Means = base.ActorUser, base.MeansAPI
	if shown = view.AuditEntry(e); *shown.Actor.Name != "ada@desk" || *shown.Source != "10.0.0.1" ||
		*shown.RequestID != "r" || len(shown.Details) != 2 || shown.Means != "api" {
		t.Errorf("a user: %+v", shown)
	}
}
