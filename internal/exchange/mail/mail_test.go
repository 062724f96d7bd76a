package mail_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	netmail "net/mail"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/emersion/go-smtp"

	"quittance/internal/exchange/mail"
	"quittance/internal/exchange/queue"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/mailtest"
)

// office is an installation that sends mails, with one company.
type office struct {
	*ledgertest.Store
	server *mailtest.Server
	relay  mail.Relay
	tenant *base.Tenant
	owner  base.User
	log    *lockedBuffer
}

// lockedBuffer is a buffer for a log.
type lockedBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write implements [io.Writer].
func (b *lockedBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

func (b *lockedBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

func openOffice(t *testing.T, engine, company string, implicit bool) *office {
	t.Helper()
	o := &office{Store: ledgertest.Open(t, engine), server: mailtest.Start(t, implicit), log: &lockedBuffer{}}
	account, err := identity.CreateAccount(t.Context(), o.Store.DB, company,
		identity.NewUser{Email: "owner@example.com", Name: "Owner", PasswordHash: "$", Proved: true})
	kit.Must(t, err)
	o.tenant, err = o.Tenant(t.Context(), account.ID)
	kit.Must(t, err)
	o.owner, err = o.UserByEmail(t.Context(), "owner@example.com")
	kit.Must(t, err)
	kit.Must(t, identity.RecordMailer(t.Context(), o.Store.DB, true))
	o.relay, err = mail.ParseRelay(o.server.URL)
	kit.Must(t, err)
	authority, err := os.ReadFile(o.server.CAFile)
	kit.Must(t, err)
	kit.Must(t, o.relay.Trust(authority))
	o.relay.Password = secret.New(mailtest.Password)
	o.relay.From, err = mail.ParseFrom("Quittance <invoices@example.com>")
	kit.Must(t, err)
	return o
}

// work runs workers on a store until the test ends.
func (o *office) work(t *testing.T, db *base.DB) {
	t.Helper()
	mailer := &mail.Mailer{DB: db, Relay: o.relay, PublicURL: "https://invoices.example", Now: o.Clock.Now,
		Log: slog.New(slog.NewTextHandler(o.log, nil)), Observe: func(identity.MailKind, identity.MailResult) {}}
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		for ctx.Err() == nil {
			_, err := identity.TellOwners(ctx, db)
			if err != nil && ctx.Err() == nil {
				t.Error(err)
			}
			time.Sleep(20 * time.Millisecond)
		}
	})
	running.Go(func() {
		queue.Run(ctx, db, mailer.Work(), queue.Options{Workers: 4, SlowWorkers: 2, MaxPerCompany: 2, MaxPerQueue: 2,
			MaxPerSlowQueue: 2, SlowAfter: time.Second, PollInterval: 20 * time.Millisecond, Now: o.Clock.Now, Log: mailer.Log})
	})
	t.Cleanup(func() {
		stop()
		running.Wait()
	})
}

// invite invites a person by mail in a language, and returns the secret.
func (o *office) invite(t *testing.T, email, language string) string {
	t.Helper()
	sum := sha256.Sum256([]byte(email))
	code, err := secret.NewInvitation(bytes.NewReader(sum[:]))
	kit.Must(t, err)
	_, err = identity.Invite(t.Context(), o.tenant, nil, identity.NewInvitation{Email: email, Role: access.Viewer,
		Digest: secret.InvitationDigest(code), ExpiresAt: o.Clock.Now().Add(72 * time.Hour), Secret: code,
		Language: language})
	kit.Must(t, err)
	return code.Reveal()
}

func (o *office) arrived(t *testing.T, n int) []mailtest.Message {
	t.Helper()
	kit.Eventually(t, func() error {
		if got := len(o.server.Messages()); got < n {
			return fmt.Errorf("%d mails have arrived, want %d; log:\n%s", got, n, o.log)
		}
		return nil
	})
	return o.server.Messages()
}

// parts returns the header of a message, and its text and HTML parts.
func parts(t *testing.T, raw string) (header netmail.Header, text, html string) {
	t.Helper()
	message, err := netmail.ReadMessage(strings.NewReader(raw))
	kit.Must(t, err)
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	kit.Must(t, err)
	reader := multipart.NewReader(message.Body, parameters["boundary"])
	for {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return message.Header, text, html
		}
		kit.Must(t, err)
		body, err := io.ReadAll(quotedprintable.NewReader(part))
		kit.Must(t, err)
		if strings.HasPrefix(part.Header.Get("Content-Type"), "text/html") {
			html = string(body)
		} else {
			text = string(body)
		}
	}
}

// TestInvitationByMail checks the mail of an invitation in both languages: its header, its two parts, its link, what it
// looks like to somebody who names a company like a link or a header, and that no log has the address or the secret.
func TestInvitationByMail(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		engine, company, shown, language string
		implicit                         bool
	}{
		"English":    {ledgertest.SQLite, "Palm & Söhne <L.L.C.>", "Palm & Söhne <L.L.C.>", "", false},
		"Arabic":     {ledgertest.SQLite, "Palm Trading", "\u2068Palm Trading\u2069", "ar", true},
		"link":       {ledgertest.SQLite, "Your account is locked: bank.example/login", "A company", "en", false},
		"header":     {ledgertest.SQLite, "Palm\r\nBcc: everybody@example.com", "A company", "en", false},
		"other dots": {ledgertest.SQLite, "Visit bank。example now", "A company", "en", false},
		"Hindi link": {ledgertest.SQLite, "Visit bank.भारत now", "A company", "en", false},
		"invisible":  {ledgertest.SQLite, "Pa\u202elm\x00 \u200bTrading", "Palm Trading", "en", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, test.engine, test.company, test.implicit)
			o.work(t, o.DB)
			code := o.invite(t, "ann@example.com", test.language)
			got := o.arrived(t, 1)[0]
			if got.From != "invoices@example.com" || got.To != "ann@example.com" {
				t.Errorf("from %s to %s", got.From, got.To)
			}
			header, text, html := parts(t, got.Raw)
			id, date := header.Get("Message-Id"), header.Get("Date")
			if !strings.HasSuffix(id, "@example.com>") || header.Get("Auto-Submitted") != "auto-generated" ||
				!strings.Contains(date, "1 Mar 2026 09:00:00") || len(header["Bcc"])+len(header["Cc"]) != 0 {
				t.Errorf("header %v", header)
			}
			link := "https://invoices.example/join#" + code
			if !strings.Contains(text, link) || !strings.Contains(html, `href="`+link+`"`) || strings.Count(html, "href") != 1 ||
				strings.Count(text, "://") != 1 {
				t.Errorf("links in\n%s\n%s", text, html)
			}
			escaped := strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(test.shown)
			if !strings.Contains(text, test.shown) || !strings.Contains(html, escaped) {
				t.Errorf("%q is not in\n%s\n%s", test.shown, text, html)
			}
			if arabic := test.language == "ar"; strings.Contains(html, `dir="rtl"`) != arabic ||
				strings.Contains(text, "دعوة") != arabic && strings.Contains(text, "تدعوك") != arabic {
				t.Errorf("in %q:\n%s", test.language, html)
			}
			kit.Eventually(t, func() error {
				if !strings.Contains(o.log.String(), "state=sent") {
					return errors.New("no line says that it was sent")
				}
				return nil
			})
			for _, hidden := range []string{"ann@example.com", code, mailtest.Password, "bank"} {
				if strings.Contains(o.log.String(), hidden) {
					t.Errorf("the log has %q:\n%s", hidden, o.log)
				}
			}
		})
	}
}

// TestMailIsRetried checks on every engine that a mail which the relay defers is sent later with the same Message-ID,
// that one whose recipient does not exist ends at once, and that one which a policy refuses is tried again, too.
func TestMailIsRetried(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, engine, "Palm", false)
			o.server.Refuse(func(to string) error {
				if strings.HasPrefix(to, "nobody") {
					return &smtp.SMTPError{Code: 550, EnhancedCode: smtp.EnhancedCode{5, 1, 1}, Message: "no such user " + to}
				}
				if strings.HasPrefix(to, "relayed") {
					return &smtp.SMTPError{Code: 554, EnhancedCode: smtp.EnhancedCode{5, 7, 1}, Message: "relay access denied " + to}
				}
				return &smtp.SMTPError{Code: 450, Message: "later " + to}
			})
			o.work(t, o.DB)
			o.invite(t, "nobody@example.com", "")
			o.invite(t, "ann@example.com", "")
			o.invite(t, "relayed@example.com", "")
			kit.Eventually(t, func() error {
				listed, err := identity.Invitations(t.Context(), o.tenant)
				kit.Must(t, err)
				got := map[string]identity.InvitationMail{}
				for _, i := range listed {
					got[i.Email] = i.Mail
				}
				if got["nobody@example.com"] != (identity.InvitationMail{State: identity.MailFailed,
					Reason: "recipient_refused"}) ||
					got["ann@example.com"] != (identity.InvitationMail{State: identity.MailPending, Reason: "deferred"}) ||
					got["relayed@example.com"] != (identity.InvitationMail{State: identity.MailPending, Reason: "relay_denied"}) {
					return fmt.Errorf("%+v", got)
				}
				return nil
			})
			trouble, err := identity.MailTroubles(t.Context(), o.Store.DB)
			kit.Must(t, err)
			if len(trouble) != 2 || trouble[0].Reason != "deferred" || trouble[1].Reason != "relay_denied" ||
				trouble[1].Count != 1 || trouble[1].Since.IsZero() {
				t.Errorf("trouble %+v", trouble)
			}
			o.server.Refuse(nil)
			o.Clock.Advance(time.Minute)
			to := []string{}
			for _, m := range o.arrived(t, 2) {
				to = append(to, m.To)
			}
			if slices.Sort(to); !slices.Equal(to, []string{"ann@example.com", "relayed@example.com"}) {
				t.Errorf("mails to %q", to)
			}
			if log := o.log.String(); strings.Contains(log, "@") {
				t.Errorf("the log has an address:\n%s", log)
			}
		})
	}
}

// TestReplicasSendOnce checks that two replicas send each mail once.
func TestReplicasSendOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := openOffice(t, engine, "Palm", false)
			o.work(t, o.DB)
			second := o.DB // SQLite has one process, here with two sets of workers
			if engine == ledgertest.Postgres {
				second = o.Again(t)
			}
			o.work(t, second)
			const mails = 20
			want := make([]string, mails)
			for n := range want {
				want[n] = fmt.Sprintf("p%02d@example.com", n)
				o.invite(t, want[n], "")
			}
			o.arrived(t, mails)
			kit.Eventually(t, func() error {
				pending, _, err := identity.MailBacklog(t.Context(), o.Store.DB)
				if kit.Must(t, err); pending > 0 {
					return fmt.Errorf("%d are pending", pending)
				}
				return nil
			})
			var got []string
			for _, m := range o.server.Messages() {
				got = append(got, m.To)
			}
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("mails to %q", got)
			}
		})
	}
}
