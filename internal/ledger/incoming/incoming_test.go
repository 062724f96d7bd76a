package incoming_test

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/incoming"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// incomingEvents returns kind, id, revision and digest of every event about an incoming e-invoice.
func incomingEvents(t *testing.T, c fixture.Company) (out []string) {
	t.Helper()
	events, err := ledgertest.Events(t.Context(), c.Tenant, 0, 100)
	kit.Must(t, err)
	for _, e := range events {
		var body api.Event[api.IncomingPayload]
		kit.Must(t, json.Unmarshal(e.Body, &body))
		if body.ResourceType != api.ResourceIncomingInvoice || body.ResourceID != body.Payload.IncomingInvoiceID ||
			body.Event != e.Kind {
			t.Errorf("event %s", e.Body)
		}
		out = append(out, fmt.Sprintf("%s %s %d %.8s", body.Event, body.Payload.ProviderDocumentID, body.Payload.Revision,
			body.Payload.SHA256))
	}
	return out
}

func hashed(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// TestRetainPurchases: documents, revisions, events, deliveries and the cursor are one transaction; a changed digest is
// a new revision, the same digest is nothing new.
func TestRetainPurchases(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		s := f.Subscribe(t, api.EventIncomingRevised)
		lease := f.MustClaim(t)
		if lease.Cursor != "" || lease.Failures != 0 || lease.Connection.ID != f.Connection.ID ||
			lease.Tenant.ID() != f.Tenant.ID() {
			t.Errorf("the first lease is %+v", lease)
		}
		lease, stored := fixture.Retain(t, lease, fixture.Onward("c-1"), fixture.Incoming("a", "A"), fixture.Incoming("b",
			"B"), fixture.Incoming("a", "A"))
		if stored != 2 {
			t.Errorf("%d documents are new, want 2", stored)
		}
		f.Clock.Advance(time.Second)
		lease, stored = fixture.Retain(t, lease, fixture.Onward("c-2"), fixture.Incoming("a", "A"), fixture.Incoming("b",
			"B2"), fixture.Incoming("c", "C"))
		if stored != 2 {
			t.Errorf("%d of the second page are new, want 2", stored)
		}
		fixture.Retain(t, lease, incoming.SyncStep{Cursor: "c-3", After: time.Minute, Complete: true},
			fixture.Incoming("b", "B"))
		want := []string{"received a 1 " + hashed("A")[:8], "received b 1 " + hashed("B")[:8],
			"revised b 2 " + hashed("B2")[:8], "received c 1 " + hashed("C")[:8], "revised b 3 " + hashed("B")[:8]}
		if got := incomingEvents(t, f.Company); strings.Join(got, "\n") != "einvoice.incoming."+strings.Join(want,
			"\neinvoice.incoming.") {
			t.Errorf("events\n%s", strings.Join(got, "\n"))
		}
		if n := len(f.ClaimDeliveries(t, s.ID, 10)); n != 2 {
			t.Errorf("%d deliveries, want one for each revision", n)
		}
		list, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 1, 2)
		kit.Must(t, err)
		if list.Total != 3 || len(list.Entries) != 2 || list.Entries[0].ProviderDocumentID != "c" ||
			list.Entries[1].ProviderDocumentID != "b" {
			t.Fatalf("list %+v", list)
		}
		last, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 2, 2)
		kit.Must(t, err)
		beyond, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, int(^uint(0)>>1), 100)
		kit.Must(t, err)
		if len(last.Entries) != 1 || last.Entries[0].ProviderDocumentID != "a" || len(beyond.Entries) != 0 ||
			beyond.Total != 3 {
			t.Errorf("second page %+v, and far beyond %+v", last, beyond)
		}
		b, err := incoming.Find(ctx, f.Tenant, list.Entries[1].ID)
		kit.Must(t, err)
		fixture.WantEqual(t, "the incoming e-invoice", b, list.Entries[1])
		if b.Revision.Revision != 3 {
			t.Errorf("revision %d, want 3", b.Revision.Revision)
		}
	})
}

// TestRevisionChain: a revision comes back as it was retained, each covers the one before, the head stands outside, and
// nothing can be altered unseen.
func TestRevisionChain(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		lease, bare := f.MustClaim(t), fixture.Unfetched("a", `{"id":"a","x":1}`)
		fixture.Retain(t, lease, fixture.Onward("c"), fixture.Incoming("a", "A"), bare, fixture.Incoming("a", "A2"))
		list, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 1, 10)
		kit.Must(t, err)
		id := list.Entries[0].ID
		page, err := view.Of(f.Tenant).Revisions(ctx, id, 1, 10)
		kit.Must(t, err)
		if page.Total != 3 || len(page.Entries) != 3 {
			t.Fatalf("%d revisions of %d", len(page.Entries), page.Total)
		}
		var previous [32]byte
		for n := range page.Entries {
			r := &page.Entries[n]
			if r.Revision != int64(n+1) || r.Previous != previous || !r.Intact() || !r.RetainedAt.Equal(f.Clock.Now()) {
				t.Errorf("revision %d is %+v", n+1, r)
			}
			previous = r.Digest
		}
		if n := f.Number(t, `select count(*) from incoming where tenant_id = $1 and head = $2`, f.Tenant.ID(),
			previous[:]); n != 1 {
			t.Error("the head is not the digest of the last revision")
		}
		wire, want := view.IncomingRevision(page.Entries[0]), fixture.Incoming("a", "A")
		if *wire.DocumentType != "invoice" || *wire.InvoiceNumber != "SUP-a" || *wire.SupplierName != "Söhne & Co" ||
			*wire.SupplierNetworkID != "1234567890" ||
			*wire.IssueDate != "2026-02-27" || *wire.DueDate != "2026-03-27" || *wire.Currency != "AED" ||
			wire.TotalAmount.String() != "1050.00" ||
			!wire.ReceivedAt.Equal(*want.ReceivedAt) || wire.SHA256 != hashed("A") ||
			wire.Evidence.MetadataSHA256 != hashed(string(want.Metadata)) ||
			wire.Evidence.MediaType != "application/xml" || *wire.Evidence.Size != 1 || !wire.Evidence.DocumentRetained ||
			*wire.Evidence.ClaimedSHA256 != hashed("A") {
			t.Errorf("the first revision is shown as %+v", wire)
		}
		if got := view.IncomingRevision(page.Entries[1]); *got.DocumentType != "unreadable" ||
			got.SHA256 != hashed(string(bare.Metadata)) || got.Evidence.Size != nil ||
			got.Evidence.DocumentRetained || got.InvoiceNumber != nil || got.TotalAmount != nil || got.ReceivedAt != nil {
			t.Errorf("the second revision is shown as %+v", got)
		}
		second, err := view.Of(f.Tenant).Revisions(ctx, id, 2, 2)
		kit.Must(t, err)
		beyond, err := view.Of(f.Tenant).Revisions(ctx, id, int(^uint(0)>>1), 100)
		kit.Must(t, err)
		if len(second.Entries) != 1 || second.Entries[0].Revision != 3 || len(beyond.Entries) != 0 || beyond.Total != 3 {
			t.Errorf("second page %+v, and far beyond %+v", second, beyond)
		}
		f.Disarm(t)
		f.Exec(t, `update revisions set total_amount = '1.00' where tenant_id = $1 and revision = 1`, f.Tenant.ID())
		altered, err := incoming.RevisionDocument(ctx, f.Tenant, id, 1)
		kit.Must(t, err)
		if altered.Intact() {
			t.Error("an altered amount is not seen")
		}
	})
}

// TestRevisionDocument: the bytes come back as they were; what was not retained has none; another revision is unknown.
func TestRevisionDocument(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		large := fixture.Incoming("a", "")
		large.Body, large.Retained, large.SHA256, large.Size = nil, false, new(sha256.Sum256([]byte("large"))),
			new(int64(11<<20))
		fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), fixture.Incoming("a", "\x00\xff<a/>"),
			fixture.Incoming("a", ""), large)
		list, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 1, 10)
		kit.Must(t, err)
		id := list.Entries[0].ID
		for n, want := range []string{"\x00\xff<a/>", "", ""} {
			r, err := incoming.RevisionDocument(ctx, f.Tenant, id, int64(n+1))
			kit.Must(t, err)
			if string(r.Body) != want || r.Retained != (n < 2) || !r.Intact() {
				t.Errorf("revision %d has %q, retained %v", n+1, r.Body, r.Retained)
			}
		}
		if latest := list.Entries[0]; hex.EncodeToString(latest.SHA256[:]) != hashed("large") || *latest.Size != 11<<20 {
			t.Errorf("the large document is %+v", latest)
		}
		for _, n := range []int64{0, 4, -1} {
			_, err := incoming.RevisionDocument(ctx, f.Tenant, id, n)
			fixture.WantErr(t, err, base.ErrNotFound)
		}
	})
}

// TestNothingNew: whose bytes were not seen is new only when the provider says something else than before.
func TestNothingNew(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		lease := f.MustClaim(t)
		claims := func(doc incoming.NewIncoming, sum string) incoming.NewIncoming {
			doc.ClaimedSHA256 = &sum
			return doc
		}
		sameMetadata := fixture.Incoming("a", "A")
		sameMetadata.Body, sameMetadata.Retained, sameMetadata.ClaimedSHA256 = nil, false, nil
		for n, step := range []struct {
			doc    incoming.NewIncoming
			stored int
		}{
			{fixture.Incoming("a", "A"), 1},
			{sameMetadata, 0},
			{claims(fixture.Unfetched("a", "m1"), hashed("A")), 0},
			{claims(fixture.Unfetched("a", "m2"), hashed("other")), 1},
			{fixture.Unfetched("a", "m2"), 0},
			{fixture.Unfetched("a", "m3"), 1},
			{fixture.Incoming("a", "A"), 1},
			{fixture.Unfetched("b", "m3"), 1},
		} {
			var stored int
			if lease, stored = fixture.Retain(t, lease, fixture.Onward("c"), step.doc); stored != step.stored {
				t.Errorf("step %d: %d are new, want %d", n, stored, step.stored)
			}
		}
		known, err := lease.Known(t.Context(), []string{"a", "b", "c"})
		kit.Must(t, err)
		if len(known) != 2 || known["a"] != sha256.Sum256(fixture.Incoming("a", "A").Metadata) ||
			known["b"] != sha256.Sum256([]byte("m3")) {
			t.Errorf("known are %x", known)
		}
	})
}

// TestPurchaseLeases: a sync is due at activation, is claimed by one, keeps its lease while it renews it, and is due
// again at its time; a disabled connection is not asked, and an active one at once again, from where it stood.
func TestPurchaseLeases(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		lease := f.MustClaim(t)
		if _, due := f.ClaimPurchases(t, f.Company); due {
			t.Error("a claimed sync is due")
		}
		f.Clock.Advance(fixture.LeaseDuration - time.Second)
		cursor := "\x00 " + strings.Repeat("ü", 1020)
		lease, _ = fixture.Retain(t, lease, incoming.SyncStep{Cursor: cursor, Failures: 2, Wait: time.Hour,
			After: fixture.LeaseDuration, Hold: true})
		f.Clock.Advance(fixture.LeaseDuration - time.Second)
		if _, due := f.ClaimPurchases(t, f.Company); due {
			t.Error("a sync is due although its lease was renewed")
		}
		f.Clock.Advance(time.Second)
		second := f.MustClaim(t)
		if second.Cursor != cursor || second.Failures != 2 || second.Wait != time.Hour {
			t.Errorf("claimed again as %+v", second)
		}
		before := f.Dump(t, f.Company)
		_, _, err := lease.RetainPurchases(ctx, []incoming.NewIncoming{fixture.Incoming("a", "A")}, fixture.Onward("late"))
		fixture.WantErr(t, err, base.ErrLeaseLost)
		if f.Dump(t, f.Company) != before {
			t.Error("a late step has written something")
		}
		fixture.Retain(t, second, incoming.SyncStep{Cursor: "done", After: time.Minute, Complete: true})
		_, _, err = second.RetainPurchases(ctx, nil, fixture.Onward("twice"))
		fixture.WantErr(t, err, base.ErrLeaseLost)
		if n := f.Number(t, `select synced_at from purchase_syncs where connection_id = $1`,
			f.Connection.ID); n != f.Clock.Now().UnixMicro() {
			t.Errorf("synced at %d", n)
		}
		scan, err := incoming.DuePurchaseQueues(ctx, f.DB, base.ScanCursor{})
		kit.Must(t, err)
		if want := f.Clock.Now().Add(time.Minute); !scan.NextDue.Equal(want) {
			t.Errorf("the next sync is due at %s, want %s", scan.NextDue, want)
		}
		f.Clock.Advance(time.Minute)
		flying := f.MustClaim(t)
		_, err = invoices.DisableConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		_, _, err = flying.RetainPurchases(ctx, nil, fixture.Onward("disabled"))
		fixture.WantErr(t, err, base.ErrLeaseLost)
		f.Clock.Advance(24 * time.Hour)
		if _, due := f.ClaimPurchases(t, f.Company); due {
			t.Error("a disabled connection is due")
		}
		_, err = invoices.ActivateConnection(ctx, f.DB, f.Connection.ID)
		kit.Must(t, err)
		if again := f.MustClaim(t); again.Cursor != "done" {
			t.Errorf("after the break it goes on at %q", again.Cursor)
		}
	})
}

// TestClaimSyncOnce: of many that claim at once, one gets it.
func TestClaimSyncOnce(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		scan, err := incoming.DuePurchaseQueues(t.Context(), f.DB, base.ScanCursor{})
		kit.Must(t, err)
		queue, _ := fixture.FindQueue(scan.Queues, f.Connection.ID)
		var claimed atomic.Int32
		fixture.Race(16, func(int) {
			claims, err := incoming.ClaimPurchases(t.Context(), queue, fixture.LeaseDuration)
			fixture.Must2(t, err)
			claimed.Add(int32(len(claims)))
		})
		if claimed.Load() != 1 {
			t.Errorf("%d have claimed the sync", claimed.Load())
		}
	})
}

// TestFrozenTenantGetsNothing: a tenant that was frozen under a sync gets nothing more, and the cursor stays.
func TestFrozenTenantGetsNothing(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		lease := f.MustClaim(t)
		f.Exec(t, `update tenants set frozen_at = 1 where id = $1`, f.Tenant.ID())
		before := f.Dump(t, f.Company)
		_, _, err := lease.RetainPurchases(t.Context(), []incoming.NewIncoming{fixture.Incoming("a", "A")},
			fixture.Onward("c"))
		fixture.WantErr(t, err, base.ErrLeaseLost)
		fixture.WantErr(t, incoming.Seed(t.Context(), f.Tenant, []incoming.NewIncoming{fixture.Incoming("a", "A")}),
			base.ErrNotFound)
		if f.Dump(t, f.Company) != before {
			t.Error("something was written")
		}
		f.Exec(t, `update tenants set frozen_at = null where id = $1`, f.Tenant.ID())
	})
}

// TestFailedRetain: what the engine refuses leaves nothing behind, the cursor and the events included.
func TestFailedRetain(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		lease := f.MustClaim(t)
		before := f.Dump(t, f.Company)
		f.Exec(t,
			`insert into incoming (tenant_id, id, position, provider_document_id, revision, sha256, head, created_at, updated_at)
			values ($1, $2, 2, 'x', 1, $3, $3, 1, 1)`, f.Tenant.ID(), base.ID{9}, []byte{1})
		_, _, err := lease.RetainPurchases(t.Context(), []incoming.NewIncoming{fixture.Incoming("a", "A"),
			fixture.Incoming("b", "B")}, fixture.Onward("c"))
		if err == nil {
			t.Error("a taken position was given out again")
		}
		f.Exec(t, `delete from incoming where id = $1`, base.ID{9})
		if f.Dump(t, f.Company) != before {
			t.Error("a failed step has left something behind")
		}
		if _, stored := fixture.Retain(t, lease, fixture.Onward("c"), fixture.Incoming("a", "A"), fixture.Incoming("b",
			"B")); stored != 2 {
			t.Errorf("%d are new afterwards", stored)
		}
	})
}

// TestSeedIncoming: synthetic documents go the same way, without a cursor; seeded twice at once they are there once.
func TestSeedIncoming(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		docs := []incoming.NewIncoming{fixture.Incoming("a", "A"), fixture.Incoming("b", "B"), fixture.Incoming("b",
			"B2"), fixture.Incoming("c", "C")}
		fixture.Race(4, func(int) { fixture.Must2(t, incoming.Seed(t.Context(), f.Tenant, docs[:2])) })
		kit.Must(t, incoming.Seed(t.Context(), f.Tenant, docs[2:]))
		if got := incomingEvents(t, f.Company); len(got) != 4 {
			t.Errorf("events %v", got)
		}
		list, err := view.Of(f.Tenant).IncomingInvoices(t.Context(), view.IncomingFilter{}, 1, 10)
		kit.Must(t, err)
		if list.Total != 3 || len(list.Entries) != 3 {
			t.Errorf("%d of %d are listed", len(list.Entries), list.Total)
		}
		if lease := f.MustClaim(t); lease.Cursor != "" {
			t.Errorf("seeding has moved the cursor to %q", lease.Cursor)
		}
	})
}

// TestWithheldRevision: what echoes our credential is sealed, document and metadata, and never returned.
func TestWithheldRevision(t *testing.T) {
	fixture.ForEachEngine(t, func(t *testing.T, f *fixture.Fixture) {
		ctx := t.Context()
		echo := fixture.Incoming("a", "you sent withheld-canary-77aa")
		echo.Metadata, echo.Withheld = []byte(`{"id":"a","debug":"metadata-canary-12cd"}`), true
		lease, _ := fixture.Retain(t, f.MustClaim(t), fixture.Onward("c"), echo)
		if _, stored := fixture.Retain(t, lease, fixture.Onward("c"), echo); stored != 0 {
			t.Error("the same digest is something new once it is sealed")
		}
		for _, canary := range []string{"withheld-canary-77aa", "metadata-canary-12cd"} {
			if where := fixture.Search(t, f, canary); where != "" {
				t.Errorf("%q stands in %s", canary, where)
			}
		}
		list, err := view.Of(f.Tenant).IncomingInvoices(ctx, view.IncomingFilter{}, 1, 1)
		kit.Must(t, err)
		r, err := incoming.RevisionDocument(ctx, f.Tenant, list.Entries[0].ID, 1)
		kit.Must(t, err)
		if len(r.Body) != 0 || !r.Withheld || !r.Intact() || hex.EncodeToString(r.SHA256[:]) != hashed(string(echo.Body)) {
			t.Errorf("returned as %+v", r)
		}
		var sealed []byte
		kit.Must(t, f.Raw.QueryRowContext(ctx, `select metadata from revisions where tenant_id = $1`,
			f.Tenant.ID()).Scan(&sealed))
		tenant, row := f.Tenant.ID(), append(list.Entries[0].ID[:], 0, 0, 0, 0, 0, 0, 0, 1)
		opened, err := f.Options.Keys.Open(sealed, secret.Binding{Tenant: tenant[:], Table: "revisions", Column: "metadata",
			Row: row})
		kit.Must(t, err)
		if string(opened) != string(echo.Metadata) {
			t.Errorf("the metadata open as %q", opened)
		}
	})
}
