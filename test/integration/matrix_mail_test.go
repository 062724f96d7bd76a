package integration_test

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	netmail "net/mail"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/client/api"
	"quittance/internal/ledger/identity"
	"quittance/test/kit"
	"quittance/test/mailtest"
)

// mailbox is a customer of an installation that sends e-mails, and the relay that takes them.
type mailbox struct {
	*customer
	relay *mailtest.Server
	used  string // the secret of the last link for a new password
}

// mailed covers the e-mails: links for a new password that the user and an administrator ask for, invitations by an
// owner and by an administrator, links that prove an address, the choice of notices, and a notice of a rejection.
func mailed(t *testing.T, c *customer) {
	b := &mailbox{customer: c, relay: mailtest.Start(t, false)}
	c.flags = slices.Concat(c.flags, []string{"--public-url", "http://localhost"}, relayFlags(b.relay))
	c.login(t)
	if got := c.form(t, "/forgot/link", url.Values{"email": {c.email}}); got.status != http.StatusSeeOther {
		t.Fatalf("request for a new password: status %d", got.status)
	}
	b.choosePassword(t, "three mild walruses sing")
	c.login(t)
	b.chooseNotices(t)

	books := newCustomer(c.site)
	books.email, books.password = "books@palm.example", "four tidy penguins hum"
	link := valueAt(t, c.do(t, http.MethodPost, atInvitations,
		"", fmt.Sprintf(`{"email":%q,"role":"accountant"}`, books.email), http.StatusCreated), "/data/url")
	mailed := b.invitation(t, books.email)
	if mailed == secretOf(t, link) {
		t.Error("the link that was shown proves the address")
	}
	books.join(t, link[:strings.IndexByte(link, '#')+1]+mailed)
	books.login(t)
	b.move(t, books)
	var made struct{ URL string }
	c.record(t, &made, "", "account", "user", "invite", c.account, "--email", "erp@palm.example", "--role", "viewer")
	if b.invitation(t, "erp@palm.example") == secretOf(t, made.URL) {
		t.Error("the link that an administrator saw proves the address")
	}

	refused := c.create(t, "INV-1", "sandbox-rejected-validation", "invoice-1")
	c.submit(t, refused)
	if outcome := c.ended(t, refused); outcome != api.OutcomeRejected {
		t.Errorf("a rejected invoice ends as %s", outcome)
	}
	b.await(t, c.email, "Documents were rejected")
	c.redirect(t, refused, ordinary, "")
	c.submit(t, refused)
	if outcome := c.ended(t, refused); outcome != api.OutcomeAcknowledged {
		t.Errorf("a corrected invoice ends as %s", outcome)
	}

	c.command(t, "", "account", "user", "reset-password", c.account, "--email", c.email, "--send")
	b.choosePassword(t, "five calm otters nap")
	c.login(t)
	b.auditMails(t)
	c.audit(t)
}

// relayFlags returns the flags of a server that sends its e-mails to a relay.
func relayFlags(relay *mailtest.Server) []string {
	return []string{"--smtp-url", relay.URL, "--smtp-password-file", relay.PasswordFile, "--smtp-ca", relay.CAFile,
		"--smtp-from", "Quittance <invoices@example.com>"}
}

// plainMail returns the text of an e-mail without the breaks and the encoding of its lines.
func plainMail(m mailtest.Message) string {
	return strings.NewReplacer("=\r\n", "", "=3D", "=").Replace(m.Raw)
}

// await waits for an e-mail to an address that has a text.
func (b *mailbox) await(t *testing.T, to, text string) {
	t.Helper()
	kit.Eventually(t, func() error {
		b.running(t)
		if !slices.ContainsFunc(b.relay.Messages(),
			func(m mailtest.Message) bool { return m.To == to && strings.Contains(plainMail(m), text) }) {
			return fmt.Errorf("no e-mail to %s has %q", to, text)
		}
		return nil
	})
}

var joinPattern = regexp.MustCompile(`http://localhost/join#([\w-]+)`)

// invitation waits for an invitation of an address by e-mail that can be used, and returns its secret. If a response
// was lost, another invitation may have replaced the first.
func (b *mailbox) invitation(t *testing.T, to string) (code string) {
	t.Helper()
	kit.Eventually(t, func() error {
		b.running(t)
		for _, m := range b.relay.Messages() {
			if found := joinPattern.FindStringSubmatch(plainMail(m)); found != nil && m.To == to {
				code = found[1]
			}
		}
		if code == "" {
			return fmt.Errorf("no invitation of %s has arrived", to)
		}
		if got := b.form(t, "/join", url.Values{"code": {code}}); got.status != http.StatusOK {
			return fmt.Errorf("the last invitation to %s: status %d", to, got.status)
		}
		return nil
	})
	return code
}

var resetPattern = regexp.MustCompile(`http://localhost/reset#([\w-]+)`)

// choosePassword waits for a link for a new password and uses it. If a response was lost, the link may be used up, or
// another one may have replaced it.
func (b *mailbox) choosePassword(t *testing.T, password string) {
	t.Helper()
	tried := b.used
	kit.Eventually(t, func() error {
		b.running(t)
		last := ""
		for _, m := range b.relay.Messages() {
			if found := resetPattern.FindStringSubmatch(plainMail(m)); found != nil && m.To == b.email {
				last = found[1]
			}
		}
		if last == tried {
			return errors.New("no new link has arrived")
		}
		tried = last
		got := b.form(t, "/reset/password", url.Values{"code": {last}, "password": {password}})
		if got.status != http.StatusSeeOther && !b.opens(t, password) {
			b.wantFired(t, got)
			return fmt.Errorf("the last link: status %d", got.status)
		}
		b.used, b.password = last, password
		return nil
	})
	if got := b.form(t, "/reset/password", url.Values{"code": {b.used},
		"password": {"six grey herons wait"}}); got.status != http.StatusUnprocessableEntity {
		t.Errorf("a used link: status %d", got.status)
	}
}

// opens reports whether the user can log in with a password.
func (b *mailbox) opens(t *testing.T, password string) bool {
	t.Helper()
	return b.call(t, http.MethodPost, atAuth+"login", "",
		"", fmt.Sprintf(`{"email":%q,"password":%q}`, b.email, password)).status == http.StatusOK
}

// chooseNotices turns the notices of failing deliveries off, on the page of the user.
func (b *mailbox) chooseNotices(t *testing.T) {
	t.Helper()
	owner := &console{customer: b.customer, cookies: map[string]string{}}
	owner.visit(t, http.MethodPost, "/login", url.Values{"email": {b.email}, "password": {b.password}})
	kinds := []string{string(identity.NoticeRejection), string(identity.NoticeDeactivated)}
	if got := owner.visit(t, http.MethodPost, "/account/notices", url.Values{"language": {"en"},
		"notice": kinds}); got.status != http.StatusSeeOther {
		t.Fatalf("choice of notices: status %d: %s", got.status, got.body)
	}
	var off string
	if err := b.raw.QueryRowContext(t.Context(), `select notices_off from mail_settings`).Scan(&off); err != nil ||
		off != string(identity.NoticeFailing) {
		t.Errorf("the notices that are off are %q: %v", off, err)
	}
}

// auditMails checks that every e-mail was sent, once, except that a killed server repeats one with its Message-ID, and
// an act whose response was lost has caused another; and that none names a document.
func (b *mailbox) auditMails(t *testing.T) {
	t.Helper()
	kit.Eventually(t, func() error {
		b.running(t)
		var pending int
		if err := b.raw.QueryRowContext(t.Context(),
			`select count(*) from mails where due_at is not null`).Scan(&pending); err != nil || pending > 0 {
			return cmp.Or(err, fmt.Errorf("%d e-mails are pending", pending))
		}
		return nil
	})
	copies, subjects := map[string]int{}, map[string]int{}
	for _, m := range b.relay.Messages() {
		read, err := netmail.ReadMessage(strings.NewReader(m.Raw))
		if err != nil {
			t.Fatal(err)
		}
		if id := read.Header.Get("Message-Id"); copies[id] == 0 {
			subjects[read.Header.Get("Subject")]++
		}
		copies[read.Header.Get("Message-Id")]++
		if strings.Contains(plainMail(m), "INV-") {
			t.Errorf("an e-mail names an invoice: %s", m.Raw)
		}
	}
	for id, n := range copies {
		if n > 1 && !(n == 2 && b.fired) {
			t.Errorf("%s was sent %d times", id, n)
		}
	}
	for subject, want := range map[string]struct{ times, repeated int }{"Choose a new password": {2, 1},
		"Your password was changed": {2, 0}, "Invitation to Quittance": {2, 1}, "Documents were rejected": {1, 0},
		"Prove your e-mail address": {2, 1}, "Your e-mail address was changed": {1, 0}} {
		if got := subjects[subject]; got != want.times && !(b.fired && got == want.times+want.repeated) {
			t.Errorf("%d e-mails with the subject %q, want %d", got, subject, want.times)
		}
		delete(subjects, subject)
	}
	if len(subjects) > 0 {
		t.Errorf("other e-mails were sent: %v", subjects)
	}
}
