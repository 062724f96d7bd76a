package site_test

import (
	"crypto/rand"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"quittance/client/api"
	"quittance/internal/account"
	"quittance/internal/front/console/site"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/ledger/lists"
	"quittance/internal/ops/service"
	"quittance/test/kit"
)

// withOperators serves the pages of operators too.
func withOperators(config *service.Config) { config.OperatorListen = "127.0.0.1:0" }

// enrolmentLink adds an operator and returns the path of the link.
func (s *system) enrolmentLink(t *testing.T, email string) string {
	t.Helper()
	accounts := &account.Service{DB: s.DB(), Random: rand.Reader, Now: s.DB().Now}
	made, err := accounts.AddOperator(t.Context(), email)
	kit.Must(t, err)
	return made.Link("")
}

// retained waits for a submission with an outcome and a response of the provider.
func (s *system) retained(t *testing.T, outcome api.Outcome) (found invoices.Submission) {
	t.Helper()
	kit.Until(t, "a submission has the outcome "+string(outcome), func() bool {
		all, err := lists.AllSubmissions(t.Context(), s.DB(), nil, outcome, 1)
		kit.Must(t, err)
		if len(all) == 1 && all[0].Evidence > 0 {
			found = all[0]
		}
		return found.Evidence > 0
	})
	return found
}

// TestCustomersHaveNoOperatorRoute checks that no page of operators is at the address of the customers, and that a
// session of an operator is none there.
func TestCustomersHaveNoOperatorRoute(t *testing.T) {
	s := start(t, first(), true, 50*time.Millisecond, withOperators)
	if s.Info.OperatorURL == "" || strings.HasPrefix(s.Info.OperatorURL, s.base) {
		t.Fatalf("operators at %q, customers at %q", s.Info.OperatorURL, s.base)
	}
	for _, route := range site.Routes() {
		for _, prefix := range []string{account.EnrolPath, "/accounts", "/connections", "/unknown", "/deliveries", "/keys"} {
			if route.Path == prefix || strings.HasPrefix(route.Path, prefix+"/") {
				t.Errorf("the console has %s", route.Path)
			}
		}
	}
	v := s.loggedIn(t)
	for _, path := range []string{account.EnrolPath, "/accounts", "/connections", "/unknown", "/deliveries", "/keys"} {
		if got := v.get(path); got.status != http.StatusNotFound {
			t.Errorf("%s at the customers' address: %d", path, got.status)
		}
	}
	// with the cookie of the user, which the host has
	operators := &visitor{t: t, base: s.Info.OperatorURL, client: v.client}
	if got := operators.get("/accounts"); got.status != http.StatusSeeOther || got.header.Get("Location") != "/login" {
		t.Errorf("a user at the operators' address: %d", got.status)
	}
}

// TestOperatorInBrowser enrols an operator, who logs in with the password and a code, opens a submission of unknown
// outcome, reads the evidence, and decides with a reason that the activity then shows. The responses for a submission
// that needs no decision are not shown. No page has a violation that axe finds.
func TestOperatorInBrowser(t *testing.T) {
	inChromium(t, func(t *testing.T) {
		s := start(t, first(), false, 50*time.Millisecond, withOperators)
		s.submitted(t, s.token(t, s.email, s.password), "2026-2001", "sandbox-lost") // the outcome stays unknown
		s.submitted(t, s.token(t, s.email, s.password), "2026-2002", "sandbox-accepted")
		b := newBrowser(t, s.Info.OperatorURL)
		const email, password = "ada@owner.example", "a quiet harbour at noon"
		b.open(s.enrolmentLink(t, email))
		b.until(`document.querySelector("#enrol") && !location.hash`)
		b.inspect("operator-enrol")
		shared := b.text("code.shared")
		b.fill("#password", password)
		b.fill("#shown", newAuthenticator(shared).code(t, 0))
		b.click("#enrol button.primary")
		b.until(`document.querySelectorAll(".recovery li").length === 10`)
		b.inspect("operator-recovery")
		b.open("/accounts")
		b.until(`location.pathname === "/login"`)
		b.inspect("operator-login")
		b.fill("#email", email)
		b.fill("#password", password)
		b.fill("#code", newAuthenticator(shared).code(t, 1))
		b.click("button.primary")
		b.until(`location.pathname === "/accounts" && document.querySelector("a.row")`)

		ids, err := identity.Accounts(t.Context(), s.DB(), 100)
		kit.Must(t, err)
		connections, err := invoices.Connections(t.Context(), s.DB(), nil)
		kit.Must(t, err)
		for _, page := range [][2]string{{"accounts", "/accounts"}, {"accounts-none", "/accounts?q=nobody"},
			{"account", "/accounts/" + ids[0].ID.String()}, {"connections", "/connections"},
			{"connection", "/connections/" + connections[0].ID.String()}, {"deliveries", "/deliveries"}, {"keys", "/keys"},
			{"audit", "/audit"}} {
			b.open(page[1])
			b.until(`document.querySelector("h1")`)
			b.inspect("operator-" + page[0])
		}
		b.open("/accounts/" + ids[0].ID.String())
		b.click("#suspend")
		b.until(`document.querySelector(":popover-open textarea")`)
		b.inspect("operator-dialog")

		known := s.retained(t, api.OutcomeAcknowledged)
		b.open(fmt.Sprintf("/unknown/%s/%s", known.Account, known.ID))
		// it needs no decision
		b.until(`document.querySelector("#h-decision") && !document.querySelector("#h-evidence, .answer")`)
		unknown := s.retained(t, api.OutcomeUnknown)
		b.open("/unknown")
		b.until(`document.querySelector("a.row")`)
		b.inspect("operator-unknown")
		b.click(fmt.Sprintf(`a.row[href="/unknown/%s/%s"]`, unknown.Account, unknown.ID))
		b.until(`document.querySelector("#evidence-1 .answer") || document.querySelector("#evidence-1")`)
		b.inspect("operator-submission")
		b.click("#reject")
		b.until(`document.querySelector("#dialog-reject:popover-open")`)
		b.do(chromedp.SendKeys("#reason-reject", "The provider confirmed by telephone.", chromedp.ByQuery))
		b.click("#dialog-reject form button.danger")
		b.until(`document.querySelector(".notice.good") && document.querySelector("#h-decision")`)
		if text := b.text("main"); !strings.Contains(text, "The provider confirmed by telephone.") ||
			!strings.Contains(text, email) {
			t.Errorf("the page of the submission: %s", text)
		}
		b.open("/audit?act=submission.resolve")
		b.until(`document.querySelector("table")`)
		if text := b.text("table"); !strings.Contains(text, "The provider confirmed by telephone.") ||
			!strings.Contains(text, email) {
			t.Errorf("the activity: %s", text)
		}
		b.click("form.leave button")
		b.until(`location.pathname === "/login"`)
		b.open("/audit")
		b.until(`location.pathname === "/login"`)
		b.wantQuiet("the end")
	})
}
