package site_test

import (
	"errors"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"quittance/internal/exchange/mail"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/mailtest"
)

// TestMailPages checks that the page of an invitation says that it is mailed, that the list of people says what became
// of the e-mail and sends it again, and that an owner chooses the language of e-mails and the notices on the page of
// the account, which no installation without a relay shows.
func TestMailPages(t *testing.T) {
	t.Parallel()
	if silent := start(t, first(), true, time.Hour).loggedIn(t); strings.Contains(silent.get("/account").body,
		"/account/notices") {
		t.Error("a server without a relay offers notices")
	}
	relay := mailtest.Start(t, false)
	s := start(t, first(), true, time.Hour, func(c *service.Config) {
		var err error
		if c.Mail, err = mail.ParseRelay(relay.URL); err != nil {
			t.Fatal(err)
		}
		authority, err := os.ReadFile(relay.CAFile)
		if err := errors.Join(err, c.Mail.Trust(authority)); err != nil {
			t.Fatal(err)
		}
		c.Mail.Password, c.Mail.From.Address, c.PublicURL = secret.New(mailtest.Password), "invoices@example.com",
			"http://invoices.example"
	})
	owner := s.loggedIn(t)
	if page := owner.get("/account").body; strings.Count(page, `name="notice"`) != 3 ||
		strings.Count(page, " checked") != 3 {
		t.Fatal("the page does not offer three notices, which are on")
	}
	if got := owner.post("/account/notices", "notice", "notice_failing", "language",
		"ar"); got.status != http.StatusSeeOther {
		t.Fatalf("choice: %d %s", got.status, got.body)
	}
	page := owner.get("/account").body
	if strings.Count(page, " checked") != 1 || !strings.Contains(page, `value="notice_failing" checked`) ||
		!strings.Contains(page, `value="ar" lang="ar" selected`) {
		t.Error("the choice is not shown")
	}
	if got := owner.post("/account/notices", "language", "xx"); got.status != http.StatusBadRequest {
		t.Errorf("an unknown language: %d", got.status)
	}
	for n := range 2 { // the second time, as the button of the list does
		if made := owner.post("/users/invitations", "email", "books@example.com", "role",
			"accountant"); made.status != http.StatusCreated || !strings.Contains(made.body, "also on its way by e-mail") {
			t.Fatalf("invite: %d", made.status)
		}
		kit.Until(t, "the mail arrives, and the list says so", func() bool {
			return len(relay.Messages()) > n && strings.Contains(owner.get("/users").body, "E-mail sent")
		})
	}
	if !strings.Contains(owner.get("/users").body, "Send again") {
		t.Error("the list offers no other e-mail")
	}
	for _, m := range relay.Messages() {
		if m.To != "books@example.com" || !strings.Contains(m.Raw, "Content-Language: ar") {
			t.Errorf("to %s:\n%s", m.To, m.Raw)
		}
	}
}
