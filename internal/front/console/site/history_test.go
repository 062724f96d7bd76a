package site_test

import (
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/html"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// TestInvoiceHistoryIsPaged checks that the page of an invoice and its live part show the newest hundred answers and
// link to older ones.
func TestInvoiceHistoryIsPaged(t *testing.T) {
	t.Parallel()
	const responses = 130
	s := start(t, first(), true, time.Second)
	v := s.loggedIn(t)
	created, err := invoices.Create(t.Context(), s.tenant(t), draft("INV-1", "1"))
	kit.Must(t, err)
	call, _, err := invoices.BeginSubmission(t.Context(), s.tenant(t), created.ID,
		invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
			Render: func(source invoices.Source) ([]byte, api.Faults, error) { return sentDocument(source.Draft) }})
	kit.Must(t, err)
	for n := range responses {
		_, err := call.Record(t.Context(), func(s invoices.Submission, _ bool, _ time.Time) (invoices.Decision, error) {
			return invoices.Decision{Outcome: api.OutcomeAcknowledged, States: s.States, Responded: true,
				Evidence: &invoices.NewEvidence{Call: "status", HTTPStatus: http.StatusOK, MediaType: "application/json",
					Body: fmt.Append(nil, n), StateValues: map[string]string{}}}, nil
		})
		kit.Must(t, err)
	}
	path := "/invoices/" + created.ID.String()
	for _, asked := range []struct {
		page, on       string
		newest, oldest int
	}{{"?tab=evidence", path + "?page=2&tab=evidence", responses, 31},
		{"?page=2&tab=evidence", path + "?page=1&tab=evidence", 30, 1}} {
		for _, headers := range [][]string{nil, {"HX-Request", "true"}} {
			got := v.get(path+asked.page, headers...)
			var shown []string
			links := map[string]bool{}
			elements(parse(t, got.body), func(node *html.Node) {
				if id := attribute(node, "id"); strings.HasPrefix(id, "evidence-") {
					shown = append(shown, id)
				}
				links[attribute(node, "href")] = true
			})
			if len(shown) != asked.newest-asked.oldest+1 || shown[0] != fmt.Sprintf("evidence-%d", asked.oldest) ||
				shown[len(shown)-1] != fmt.Sprintf("evidence-%d", asked.newest) {
				t.Errorf("page %q %v shows %v", asked.page, headers, shown)
			}
			if !strings.Contains(got.body, `id="history"`) || !links[asked.on] {
				t.Errorf("page %q %v has no link to %s", asked.page, headers, asked.on)
			}
		}
	}
}

// TestAccountShowsQuotas checks that the account page shows the same quotas as the API, and where there is no limit.
func TestAccountShowsQuotas(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v := s.loggedIn(t)
	_, err := invoices.Create(t.Context(), s.tenant(t), draft("INV-1", "1"))
	kit.Must(t, err)
	var account api.Account
	token := s.token(t, s.email, s.password)
	if status := s.api(t, token, http.MethodGet, "/api/v1/client/account", nil, &account); status != http.StatusOK {
		t.Fatalf("account: %d", status)
	}
	rows := map[string]string{}
	elements(parse(t, v.get("/account").body), func(node *html.Node) {
		if name, ok := strings.CutPrefix(attribute(node, "id"), "quota-"); ok {
			var cells []string
			elements(node, func(cell *html.Node) { cells = append(cells, strings.ReplaceAll(textOf(cell), ",", "")) })
			rows[name] = strings.Join(cells[1:], " of ")
		}
	})
	for name, quota := range map[string]api.Quota{"stored_bytes": account.Quotas.StoredBytes,
		"drafts": account.Quotas.Drafts, "tokens": account.Quotas.Tokens, "subscriptions": account.Quotas.Subscriptions,
		"subscriptions_created": account.Quotas.SubscriptionsCreated, "customers": account.Quotas.Customers,
		"items": account.Quotas.Items} {
		want := fmt.Sprintf("%d of No limit", quota.Used)
		if quota.Limit != nil {
			want = fmt.Sprintf("%d of %d", quota.Used, *quota.Limit)
		}
		if name == "stored_bytes" {
			if !regexp.MustCompile(`^[0-9.]+ (bytes|KB|MB) of (No limit|20 GB)$`).MatchString(rows[name]) {
				t.Errorf("stored bytes: %q", rows[name])
			}
		} else if rows[name] != want {
			t.Errorf("%s: %q, want %q", name, rows[name], want)
		}
	}
	if account.Quotas.Drafts.Used != 1 || len(rows) != 7 {
		t.Errorf("%d drafts, rows %v", account.Quotas.Drafts.Used, rows)
	}
}
