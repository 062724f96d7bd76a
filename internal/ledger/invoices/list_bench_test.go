package invoices_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/front/view"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/ledgertest/fixture"
)

// envBenchDrafts overrides the sizes of BenchmarkListPage, for instance "1000,10000000".
const envBenchDrafts = "QUITTANCE_BENCH_DRAFTS"

// BenchmarkListPage reads the first and the last page of the unfiltered list at different numbers of drafts: the cost
// grows neither with the page number nor with the number of drafts.
func BenchmarkListPage(b *testing.B) {
	sizes := "1000,100000"
	if chosen := os.Getenv(envBenchDrafts); chosen != "" {
		sizes = chosen
	}
	for _, engine := range ledgertest.Engines() {
		for size := range strings.SplitSeq(sizes, ",") {
			drafts, err := strconv.Atoi(size)
			kit.Must(b, err)
			s := ledgertest.Open(b, engine)
			tenant := tenantWithDrafts(b, s, drafts)
			for _, page := range []int{1, max(1, drafts/25)} {
				b.Run(fmt.Sprintf("%s/drafts=%d/page=%d", engine, drafts, page), func(b *testing.B) {
					b.ReportAllocs()
					for b.Loop() {
						found, err := view.Of(tenant).Invoices(b.Context(), view.InvoiceFilter{}, page, 25)
						if err != nil || len(found.Entries) != 25 || found.Total != drafts {
							b.Fatalf("%d invoices of %d: %v", len(found.Entries), found.Total, err)
						}
					}
				})
			}
		}
	}
}

// tenantWithDrafts makes a company with many small drafts.
func tenantWithDrafts(b *testing.B, s *ledgertest.Store, drafts int) *base.Tenant {
	b.Helper()
	account, err := identity.CreateAccount(b.Context(), s.DB, "Bench", identity.NewUser{Email: "bench@example.com",
		Name: "Bench", PasswordHash: "-"})
	kit.Must(b, err)
	tenant, err := s.Tenant(b.Context(), account.ID)
	kit.Must(b, err)
	draft := api.Draft{Currency: new("AED"), Items: []api.Item{{Name: new("Bench"), Quantity: new(api.MustDecimal("1")),
		NetUnitPrice: new(api.MustDecimal("1"))}}}
	fixture.FillDrafts(b, s, tenant, draft, drafts)
	return tenant
}

// BenchmarkOverview reads what the first page shows, and the first page of a tab, at different numbers of drafts:
// neither counts them.
func BenchmarkOverview(b *testing.B) {
	sizes := "1000,100000"
	if chosen := os.Getenv(envBenchDrafts); chosen != "" {
		sizes = chosen
	}
	for _, engine := range ledgertest.Engines() {
		for size := range strings.SplitSeq(sizes, ",") {
			drafts, err := strconv.Atoi(size)
			kit.Must(b, err)
			of := view.Of(tenantWithDrafts(b, ledgertest.Open(b, engine), drafts))
			b.Run(fmt.Sprintf("%s/drafts=%d/overview", engine, drafts), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					found, err := of.Overview(b.Context())
					if err != nil || found.Tabs[view.TabDrafts].Invoices != drafts {
						b.Fatalf("%+v: %v", found.Tabs, err)
					}
					if _, err := of.Invoices(b.Context(), view.InvoiceFilter{Tab: view.TabAttention}, 1, 10); err != nil {
						b.Fatal(err)
					}
					if _, err := of.AttentionCreditNotes(b.Context(), 5); err != nil {
						b.Fatal(err)
					}
					if _, err := of.TroubledSubscriptions(b.Context()); err != nil {
						b.Fatal(err)
					}
				}
			})
			b.Run(fmt.Sprintf("%s/drafts=%d/tab", engine, drafts), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					found, err := of.Invoices(b.Context(), view.InvoiceFilter{Tab: view.TabDrafts}, 1, 25)
					if err != nil || len(found.Entries) != 25 {
						b.Fatalf("%d invoices of %d: %v", len(found.Entries), found.Total, err)
					}
				}
			})
		}
	}
}
