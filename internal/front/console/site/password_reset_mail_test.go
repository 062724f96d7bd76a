package site_test

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"mime/quotedprintable"
	"net/http"
	netmail "net/mail"
	"net/url"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"quittance/internal/exchange/mail"
	"quittance/internal/ops/service"
	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/mailtest"
)

// withRelay makes a system send its e-mails to a relay.
func withRelay(t testing.TB, relay *mailtest.Server) func(*service.Config) {
	t.Helper()
	to, err := mail.ParseRelay(relay.URL)
	kit.Must(t, err)
	authority, err := os.ReadFile(relay.CAFile)
	kit.Must(t, err)
	kit.Must(t, to.Trust(authority))
	to.Password = secret.New(mailtest.Password)
	to.From, err = mail.ParseFrom("Quittance <invoices@example.com>")
	kit.Must(t, err)
	return func(c *service.Config) { c.Mail, c.PublicURL = to, "https://invoices.example" }
}

// textsOf returns the texts of the parts of a message.
func textsOf(t testing.TB, raw string) string {
	t.Helper()
	message, err := netmail.ReadMessage(strings.NewReader(raw))
	kit.Must(t, err)
	_, parameters, err := mime.ParseMediaType(message.Header.Get("Content-Type"))
	kit.Must(t, err)
	var texts strings.Builder
	for reader := multipart.NewReader(message.Body, parameters["boundary"]); ; {
		part, err := reader.NextRawPart()
		if errors.Is(err, io.EOF) {
			return texts.String()
		}
		kit.Must(t, err)
		text, err := io.ReadAll(quotedprintable.NewReader(part))
		kit.Must(t, err)
		texts.Write(text)
	}
}

// TestForgottenPasswordByMail checks the way of a user over a real relay: the link in the message is that of the public
// address, whatever host the request names, and sets the password; a second message tells the user of it. The secret is
// in that message alone.
func TestForgottenPasswordByMail(t *testing.T) {
	t.Parallel()
	relay := mailtest.Start(t, false)
	var log lines
	s := start(t, first(), true, time.Hour, withRelay(t, relay), func(c *service.Config) {
		c.Log = slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug}))
	})
	message := func(n int) string {
		t.Helper()
		kit.Until(t, fmt.Sprintf("message %d arrives", n), func() bool { return len(relay.Messages()) > n })
		got := relay.Messages()[n]
		if got.To != s.email || strings.Contains(got.Raw, "evil.example") {
			t.Errorf("message %d to %s: %s", n, got.To, got.Raw)
		}
		return textsOf(t, got.Raw)
	}
	v := s.visitor(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/forgot/link",
		strings.NewReader(url.Values{"email": {s.email}}.Encode()))
	kit.Must(t, err)
	request.Host = "evil.example"
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	request.Header.Set("Origin", "http://evil.example")
	request.Header.Set("X-Forwarded-Host", "evil.example")
	received, err := v.client.Do(request)
	kit.Must(t, err)
	kit.Must(t, received.Body.Close())
	if received.StatusCode != http.StatusSeeOther || received.Header.Get("Location") != "/forgot/sent" {
		t.Fatalf("the request: %d to %s", received.StatusCode, received.Header.Get("Location"))
	}
	text := message(0)
	links := regexp.MustCompile(`https://invoices\.example/reset#(qr_[\w-]{43})`).FindAllStringSubmatch(text, -1)
	if len(links) == 0 || strings.Count(text, "https://") != strings.Count(text, "https://invoices.example/") {
		t.Fatalf("the links of the message: %s", text)
	}
	code := links[0][1]
	v.post("/reset/password", "code", code, "password", strong).wantTo(t, "/login?notice=good.password_reset")
	if text := message(1); strings.Contains(text, "qr_") || strings.Contains(text, strong) ||
		!strings.Contains(text, "https://invoices.example/") {
		t.Errorf("the second message: %s", text)
	}
	v.login(s.email, strong)
	v.post("/account/password", "current", strong, "new", strong+" again").wantTo(t,
		"/account?notice=good.password_changed")
	if text := message(2); strings.Contains(text, strong) || !strings.Contains(text, "changed") {
		t.Errorf("the message after another change: %s", text)
	}
	shown := fmt.Sprint(v.get("/audit").body, v.get("/users").body, v.get("/account").body)
	if strings.Contains(shown, code[3:20]) || log.contains(code[3:20]) || log.contains(s.email) {
		t.Error("the secret is on a page or in the log, or the address in the log")
	}
}
