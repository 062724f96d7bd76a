package site_test

import (
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger/invoices"
	"quittance/test/kit"
)

// TestOverview checks that the first page counts invoices where they are, quotes the provider, and offers one next step
// for each thing that needs a person.
func TestOverview(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Millisecond)
	v, token := s.loggedIn(t), s.token(t, s.email, s.password)
	page := v.get("/").body
	for _, want := range []string{"No invoices yet", `href="/invoices/new"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page of a new company without %q", want)
		}
	}
	var made api.Invoice
	s.api(t, token, http.MethodPost, "/api/v1/client/invoices", draft("DRAFT-1", "1"), &made)
	accepted, rejected, refused := s.submitted(t, token, "OK-1", "1234567890"), s.submitted(t, token, "NO-1",
		"sandbox-rejected-validation"), s.submitted(t, token, "TAX-1", "sandbox-rejected-authority")
	kit.Until(t, "the states arrive", func() bool {
		page = v.get("/").body
		return strings.Contains(page, "Tax authority: rejected") && tileFigure(page, "accepted") == "1" &&
			tileFigure(page, "attention") == "2"
	})
	for tab, want := range map[string]string{"attention": "2", "in_progress": "0", "accepted": "1", "drafts": "1"} {
		if got := tileFigure(page, tab); got != want {
			t.Errorf("tile %s shows %q, want %q", tab, got, want)
		}
	}
	for _, want := range []string{"2,100.00", "The provider says:", `href="/invoices/` + rejected +
		`/edit">Correct and resend`, `href="/invoices/` + refused + `">Review`, `aria-current="page"`} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(page, accepted) {
		t.Error("an accepted invoice is in the queue")
	}
	if got := v.get("/", "HX-Request", "true"); got.status != http.StatusOK || strings.Contains(got.body, "<html") ||
		!strings.Contains(got.body, "Needs attention") {
		t.Errorf("the live part: %d %s", got.status, got.body)
	}
}

// tileFigure returns the number that a tile shows.
func tileFigure(page, tab string) string {
	found := regexp.MustCompile(`(?s)id="tile-` + tab + `".*?<span class="figure">([^<]*)<`).FindStringSubmatch(page)
	if found == nil {
		return ""
	}
	return found[1]
}

// TestOverviewOfTrouble checks where an invoice is while its call is under way and its outcome unknown, and that one
// failed call of the provider is no alarm: only several, or those of some time, are a notice, which says what it means
// for invoices and is not counted.
func TestOverviewOfTrouble(t *testing.T) {
	t.Parallel()
	s := start(t, first(), true, time.Second)
	v, tenant := s.loggedIn(t), s.tenant(t)
	fail := func(number string) {
		t.Helper()
		created, err := invoices.Create(t.Context(), tenant, draft(number, "1"))
		kit.Must(t, err)
		call, _, err := invoices.BeginSubmission(t.Context(), tenant, created.ID,
			invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
				Render: func(invoices.Source) ([]byte, api.Faults, error) { return []byte("{}"), nil, nil }})
		kit.Must(t, err)
		if page := v.get("/").body; tileFigure(page, "drafts") != "0" ||
			!strings.Contains(page, "No invoice needs your attention.") {
			t.Errorf("while the call is under way: %s", page)
		}
		_, err = call.Record(t.Context(), func(s invoices.Submission, _ bool, _ time.Time) (invoices.Decision, error) {
			return invoices.Decision{Outcome: api.OutcomeUnknown, States: s.States, FailureReason: "time-out <of> the provider",
				KeepUntil: s.DueAt}, nil
		})
		kit.Must(t, err)
	}
	const notice = "Invoices that you submit now stay drafts"
	for n, number := range []string{"UNKNOWN-1", "UNKNOWN-2", "UNKNOWN-3", "UNKNOWN-4", "UNKNOWN-5"} {
		fail(number)
		page := v.get("/").body
		if strings.Contains(page, notice) != (n == 4) || !strings.Contains(page, "No invoice needs your attention.") {
			t.Errorf("after %d failed calls: %s", n+1, page)
		}
		if got := tileFigure(page, "in_progress"); got != strconv.Itoa(n+1) {
			t.Errorf("%q invoices are in progress, want the %d of unknown outcome", got, n+1)
		}
	}
}
