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

	"quittance/internal/mail/mailtest"
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

// answering returns a server that answers each command by its first word, and closes the connection after a command without an answer.
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

// TestHostileRelays checks that no relay holds an attempt longer than its time or makes it read without bound, what is tried again, and that
// nothing is sent without TLS to a relay elsewhere.
func TestHostileRelays(t *testing.T) {
	t.Parallel()
	good := func(change map[string]string) map[string]string {
		all := map[string]string{"EHLO": "250 relay.example", "MAIL": "250 ok", "RCPT": "250 ok", "DATA": "354 go on", ".": "250 ok", "QUIT": "221 bye", "RSET": "250 ok"}
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
		"silent":                          {talk: silent, timeout: time.Second, reason: reasonUnreachable},
		"late at every step":              {talk: slowly(time.Second, answering(good(nil))), timeout: 3 * time.Second, reason: reasonUnreachable},
		"late, which is no failure":       {talk: slowly(100*time.Millisecond, answering(good(nil)))},
		"endless line":                    {talk: endless(strings.Repeat("x", 8<<10)), reason: reasonUnreachable},
		"endless banner":                  {talk: endless("220-more\r\n"), reason: reasonUnreachable},
		"closed":                          {talk: func(net.Conn) {}, reason: reasonUnreachable},
		"drops after DATA":                {talk: answering(good(map[string]string{".": ""})), reason: reasonUnreachable},
		"busy":                            {talk: answering(good(map[string]string{"MAIL": "451 later"})), reason: reasonDeferred},
		"greylisted":                      {talk: answering(good(map[string]string{"RCPT": "450 later"})), reason: reasonDeferred},
		"unknown recipient":               {talk: answering(good(map[string]string{"RCPT": "550 nobody"})), reason: reasonRecipientRefused, final: true},
		"refused message":                 {talk: answering(good(map[string]string{".": "554 spam"})), reason: reasonMessageRefused, final: true},
		"refused sender":                  {talk: answering(good(map[string]string{"MAIL": "550 not you"})), reason: reasonRelayRefused},
		"no STARTTLS":                     {talk: answering(good(nil)), change: needsTLS, reason: reasonNoTLS},
		"another's certificate":           {talk: answeringTLS(other), change: needsTLS, reason: reasonNoTLS},
		"no login":                        {talk: answering(good(nil)), change: func(r *Relay) { r.User = "u" }, reason: reasonRelayRefused},
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
			_ = tls.Server(c, &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12}).Handshake()
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

// TestRecipientIsTheWholeAddress checks that nothing is written to an address that the header or the dialogue would have in another form: the
// limits of mails count the addresses as they are stored.
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
