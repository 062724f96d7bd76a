package mail

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"quittance/test/mailtest"
)

// relayAt returns a relay at an address, without a login.
func relayAt(t *testing.T, address string) Relay {
	t.Helper()
	r, err := ParseRelay("smtp://" + address)
	if err != nil {
		t.Fatal(err)
	}
	r.From.Address = "invoices@example.com"
	return r
}

// hostile starts a server that talks to each connection as the function says.
func hostile(t *testing.T, talk func(c net.Conn)) string {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(func() { // it waits for the end of all dialogues: a connection that the client leaves open would hold one
		_ = listener.Close()
		running.Wait()
	})
	running.Go(func() {
		for {
			c, err := listener.Accept()
			if err != nil {
				return
			}
			running.Go(func() {
				defer func() { _ = c.Close() }()
				talk(c)
			})
		}
	})
	return listener.Addr().String()
}

// silent says nothing until the other side ends the connection.
func silent(c net.Conn) { _, _ = bufio.NewReader(c).ReadString('\x00') }

// slowly returns talk with a pause before everything that it says.
func slowly(pause time.Duration, talk func(c net.Conn)) func(c net.Conn) {
	return func(c net.Conn) { talk(slowConn{c, pause}) }
}

type slowConn struct {
	net.Conn
	pause time.Duration
}

func (c slowConn) Write(text []byte) (int, error) {
	time.Sleep(c.pause)
	return c.Conn.Write(text)
}

// answering returns a server that answers each command by its first word, and closes the connection after a command
// without an answer.
func answering(answers map[string]string) func(c net.Conn) {
	return func(c net.Conn) {
		_, _ = fmt.Fprint(c, "220 relay.example\r\n")
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			word, _, _ := strings.Cut(strings.ToUpper(lines.Text()), " ")
			answer, known := answers[word]
			if !known {
				return
			}
			_, _ = fmt.Fprint(c, answer+"\r\n")
			for word == "DATA" && strings.HasPrefix(answer, "354") && lines.Scan() && lines.Text() != "." {
			}
			if word == "DATA" && strings.HasPrefix(answer, "354") {
				if end, known := answers["."]; known {
					_, _ = fmt.Fprint(c, end+"\r\n")
					continue
				}
				return
			}
		}
	}
}

// TestHostileRelays checks that no relay holds an attempt longer than its time or makes it read without bound, what is
// tried again, and that nothing is sent without TLS to a relay elsewhere.
func TestHostileRelays(t *testing.T) {
	t.Parallel()
	good := func(change map[string]string) map[string]string {
		all := map[string]string{"EHLO": "250 relay.example", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on",
			".": "250 ok", "QUIT": "221 bye", "RSET": "250 ok"}
		for word, answer := range change {
			if all[word] = answer; answer == "" {
				delete(all, word)
			}
		}
		return all
	}
	endless := func(text string) func(net.Conn) {
		return func(c net.Conn) {
			for {
				if _, err := fmt.Fprint(c, text); err != nil {
					return
				}
			}
		}
	}
	needsTLS := func(r *Relay) { r.Plain = false }
	other, _, err := mailtest.Certificate("127.0.0.1")
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		talk    func(net.Conn)
		change  func(*Relay)
		timeout time.Duration // of a relay that uses it up; generous for the others, because a machine can be busy
		reason  string
		final   bool
	}{
		"silent": {talk: silent, timeout: time.Second, reason: reasonUnreachable},
		"late at every step": {talk: slowly(time.Second, answering(good(nil))), timeout: 3 * time.Second,
			reason: reasonUnreachable},
		"late, which is no failure": {talk: slowly(100*time.Millisecond, answering(good(nil)))},
		"endless line":              {talk: endless(strings.Repeat("x", 8<<10)), reason: reasonUnreachable},
		"endless banner":            {talk: endless("220-more\r\n"), reason: reasonUnreachable},
		"closed":                    {talk: func(net.Conn) {}, reason: reasonUnreachable},
		"drops after DATA":          {talk: answering(good(map[string]string{".": ""})), reason: reasonUnreachable},
		"busy": {talk: answering(good(map[string]string{"MAIL": "451 later"})),
			reason: reasonDeferred},
		"greylisted": {talk: answering(good(map[string]string{"RCPT": "450 later"})),
			reason: reasonDeferred},
		"unknown recipient": {talk: answering(good(map[string]string{"RCPT": "550 5.1.1 nobody"})),
			reason: reasonRecipientRefused, final: true},
		"unknown domain": {talk: answering(
			good(map[string]string{"RCPT": "550-5.1.2 no such\r\n550 5.1.2 domain"})), reason: reasonRecipientRefused,
			final: true},
		"unknown recipient after DATA": {talk: answering(good(map[string]string{".": "550 5.1.1 nobody"})),
			reason: reasonRecipientRefused, final: true},
		"refused recipient": {talk: answering(good(map[string]string{"RCPT": "550 relay not permitted"})),
			reason: reasonRecipientRefused},
		"full mailbox": {talk: answering(good(map[string]string{"RCPT": "552 5.2.2 full"})),
			reason: reasonRecipientRefused},
		"refused message": {talk: answering(good(map[string]string{".": "554 spam"})),
			reason: reasonMessageRefused},
		"policy after DATA": {talk: answering(good(map[string]string{".": "554 5.7.1 DMARC"})),
			reason: reasonRelayDenied},
		"name refused at RCPT": {talk: answering(
			good(map[string]string{"RCPT": "504 5.5.2 <vm>: Helo command rejected: need fully-qualified hostname"})),
			reason: reasonHelloRefused},
		"name refused at EHLO": {talk: answering(good(map[string]string{"EHLO": "501 5.5.4 bad name",
			"HELO": "501 5.5.4 bad name"})), reason: reasonHelloRefused},
		"refused at once": {talk: answering(good(map[string]string{"EHLO": "554 no", "HELO": "554 no"})),
			reason: reasonRelayRefused},
		"relay denied at RCPT": {talk: answering(good(
			map[string]string{"RCPT": "554 5.7.1 <ann@example.com>: Relay access denied"})), reason: reasonRelayDenied},
		"sender refused at RCPT": {talk: answering(
			good(map[string]string{"RCPT": "550 5.1.8 <invoices@example.com>: Sender address rejected"})),
			reason: reasonSenderRefused},
		"login required at RCPT": {talk: answering(
			good(map[string]string{"RCPT": "530 5.7.0 Authentication required"})), reason: reasonLoginRefused},
		"wrong login": {talk: answering(good(map[string]string{"EHLO": "250-relay.example\r\n250 AUTH PLAIN",
			"AUTH": "535 5.7.8 wrong"})),
			change: func(r *Relay) { r.User = "u" }, reason: reasonLoginRefused},
		"refused sender": {talk: answering(good(map[string]string{"MAIL": "550 not you"})),
			reason: reasonSenderRefused},
		"no STARTTLS":           {talk: answering(good(nil)), change: needsTLS, reason: reasonNoTLS},
		"another's certificate": {talk: answeringTLS(other), change: needsTLS, reason: reasonNoTLS},
		"no login": {talk: answering(good(nil)), change: func(r *Relay) { r.User = "u" },
			reason: reasonLoginRefused},
		"QUIT fails, which is no failure": {talk: answering(good(map[string]string{"QUIT": ""}))},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := relayAt(t, hostile(t, test.talk))
			r.timeout = test.timeout
			if test.change != nil {
				test.change(&r)
			}
			began := time.Now()
			err := r.Test(t.Context(), "ann@example.com", began)
			if took := time.Since(began); test.timeout > 0 && took > sendTimeout/2 {
				t.Errorf("the attempt took %v", took)
			}
			if test.reason == "" {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("the message was sent")
			}
			if reason, final := reasonOf(err); reason != test.reason || final != test.final {
				t.Errorf("%v: %s, final %v; want %s, %v", err, reason, final, test.reason, test.final)
			}
			if text := Explain(err); text == "" || strings.Contains(text, "@") {
				t.Errorf("explained as %q", text)
			}
		})
	}
}

// TestHello checks the name of the service in EHLO: the one that is set, and otherwise one that relays accept.
func TestHello(t *testing.T) {
	t.Parallel()
	names := make(chan string, 10)
	r := relayAt(t, hostile(t, func(c net.Conn) {
		_, _ = fmt.Fprint(c, "220 relay.example\r\n")
		line, _ := bufio.NewReader(c).ReadString('\n')
		names <- strings.TrimSpace(line)
	}))
	r.Hello = "invoices.example.com"
	if err := r.Test(t.Context(), "ann@example.com", time.Now()); err == nil {
		t.Error("a server that says nothing more has taken the message")
	}
	if got := <-names; got != "EHLO invoices.example.com" {
		t.Errorf("the service says %q", got)
	}
	for _, test := range []struct{ machine, sender, want string }{
		{"mail.palm.example", "invoices@example.com", "mail.palm.example"}, {"vm", "invoices@example.com", "example.com"},
		{"quittance-api-7f9", "invoices@bücher.example", "quittance-api-7f9"}, {"", "invoices@localhost", "localhost"},
	} {
		r.From.Address = test.sender
		if got := r.defaultHello(test.machine); got != test.want {
			t.Errorf("on %q, mails of %s: %q, want %q", test.machine, test.sender, got, test.want)
		}
	}
	for name, want := range map[string]bool{"invoices.example.com": true, "[192.0.2.1]": true, "[IPv6:2001:db8::1]": true,
		"vm": false, "": false, "a.example\r\nMAIL": false, "-a.example": false, "a b.example": false} {
		if _, err := ParseHello(name); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
	}
}

// answeringTLS offers STARTTLS with a certificate that nobody trusts.
func answeringTLS(certificate tls.Certificate) func(c net.Conn) {
	return func(c net.Conn) {
		_, _ = fmt.Fprint(c, "220 relay.example\r\n")
		lines := bufio.NewScanner(c)
		for lines.Scan() {
			if !strings.HasPrefix(strings.ToUpper(lines.Text()), "STARTTLS") {
				_, _ = fmt.Fprint(c, "250-relay.example\r\n250 STARTTLS\r\n")
				continue
			}
			_, _ = fmt.Fprint(c, "220 go on\r\n")
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate},
				MinVersion: tls.VersionTLS12}).Handshake()
			return
		}
	}
}

// TestParseRelay checks which addresses of relays are accepted, and that no error repeats one.
func TestParseRelay(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"smtp://mail.example":                  "mail.example:587 starttls ",
		"smtp://u%40x.example@mail.example:25": "mail.example:25 starttls u@x.example",
		"smtps://mail.example":                 "mail.example:465 tls ",
		"smtp://127.0.0.1:2525":                "127.0.0.1:2525 plain ",
		"smtp://localhost":                     "localhost:587 plain ",
		"smtp://127.0.0.1.example.com":         "127.0.0.1.example.com:587 starttls ",
		"smtp://u:canary@mail.example":         "",
		"https://mail.example":                 "",
		"mail.example:25":                      "",
		"smtp://":                              "",
		"smtp://mail.example/path":             "",
		"smtp://mail.example:0":                "",
		"smtp://mail.example?tls=off":          "",
		"smtp://u:canary@mail.example:port%zz": "",
	} {
		r, err := ParseRelay(address)
		if err != nil {
			if want != "" || strings.Contains(err.Error(), "canary") {
				t.Errorf("%s: %v", address, err)
			}
			continue
		}
		security := "starttls"
		if r.ImplicitTLS {
			security = "tls"
		} else if r.Plain {
			security = "plain"
		}
		if got := fmt.Sprintf("%s:%d %s %s", r.Host, r.Port, security, r.User); got != want {
			t.Errorf("%s: %s, want %q", address, got, want)
		}
	}
}

// TestRecipientIsTheWholeAddress checks that nothing is written to an address that the header or the dialogue would
// have in another form: the limits of mails count the addresses as they are stored.
func TestRecipientIsTheWholeAddress(t *testing.T) {
	t.Parallel()
	r := relayAt(t, "127.0.0.1:25")
	for to, want := range map[string]error{
		"ann@example.com":               nil,
		"söhne@example.com":             nil,
		"ann+list@example.com":          nil,
		"someone<ann@example.com>":      errMessage,
		"<ann@example.com>":             errMessage,
		"ann@example.com(comment)":      errMessage,
		"(comment)ann@example.com":      errMessage,
		`"ann"@example.com`:             errMessage,
		"list:ann@example.com;":         errMessage,
		"ann@example.com,b@example.com": errMessage,
		"ann@example.com\r\nBcc: b@x.y": errMessage,
		"ann@example.com>":              errMessage,
	} {
		if _, err := testText.message(&r, to); !errors.Is(err, want) {
			t.Errorf("%q: %v, want %v", to, err, want)
		}
	}
}
