package integration_test

import (
	"bytes"
	"fmt"
	netmail "net/mail"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/mailtest"
)

// TestMailSurvivesKill checks on each engine that the e-mail of an invitation that an administrator makes is sent by a
// server that is killed before it has recorded this, that the next server sends it again with the same Message-ID, and
// that no log has the address, the secret of the link or the password of the relay. It tries the settings out with the
// command first.
func TestMailSurvivesKill(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	program := built(t, checkpointProduct)
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			relay, dir, database := mailtest.Start(t, false), t.TempDir(), ledgertest.Database(t, engine)
			smtp := []string{"--smtp-url", relay.URL, "--smtp-password-file", relay.PasswordFile, "--smtp-ca", relay.CAFile,
				"--smtp-from", "Quittance <invoices@example.com>"}
			run := func(args ...string) string {
				t.Helper()
				command := exec.CommandContext(t.Context(), program, args...)
				command.Dir, command.Env = dir, bareEnvironment(dir)
				out, err := command.CombinedOutput()
				if err != nil {
					t.Fatalf("%v: %v\n%s", args, err, out)
				}
				return string(out)
			}
			arrived := func(n int) func() error {
				return func() error {
					if got := len(relay.Messages()); got < n {
						return fmt.Errorf("%d e-mails have arrived, want %d", got, n)
					}
					return nil
				}
			}
			run(append([]string{"mail", "test", "--to", "me@example.com"}, smtp...)...)
			run("key", "generate", "--out", "key.json")
			serve := func(name, killAt string) *process {
				t.Helper()
				command := exec.Command(program, append([]string{"serve", "--environment", "sandbox", "--database", database,
					"--key-file", "key.json", "--listen", "127.0.0.1:0", "--public-url", "https://invoices.example"}, smtp...)...)
				if killAt != "" {
					command.Env = []string{"QUITTANCE_KILL_AT=" + killAt}
				}
				p, err := startCommand(dir, name, command)
				if err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() { _ = p.kill() })
				if err := p.await(func() error {
					_, err := p.says(listenPattern)
					return err
				}); err != nil {
					t.Fatal(err)
				}
				return p
			}
			first := serve("first", "after send mail")
			account := regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f-]{27}`).FindString(run("account", "create", "--company", "Palm",
				"--email", "owner@example.com", "--database", database, "--key-file", "key.json"))
			invited := run("account", "user", "invite", account, "--email", "ann@example.com", "--role", "viewer",
				"--database", database, "--key-file", "key.json")
			if !strings.Contains(invited, "will be sent") {
				t.Errorf("the command does not say that the link is mailed:\n%s", invited)
			}
			<-first.ended
			if !first.killed() {
				t.Fatalf("the first server was not killed: %v", first.err)
			}
			if err := arrived(2)(); err != nil {
				t.Fatal(err)
			}
			second := serve("second", "")
			kit.Eventually(t, arrived(3))
			if err := second.stop(); err != nil {
				t.Fatal(err)
			}
			secret := regexp.MustCompile(`qi_[\w-]{43}`)
			mailed := secret.FindString(strings.ReplaceAll(relay.Messages()[1].Raw, "=\r\n", ""))
			if mailed == secret.FindString(invited) {
				t.Error("the link that an administrator saw is the one that proves the address")
			}
			checkRepeated(t, relay.Messages()[1:], mailed, dir)
		})
	}
}

// checkRepeated checks that messages are one, and that no log in a directory has what must not be in a log.
func checkRepeated(t *testing.T, messages []mailtest.Message, code, dir string) {
	t.Helper()
	ids := map[string]bool{}
	for _, m := range messages {
		read, err := netmail.ReadMessage(strings.NewReader(m.Raw))
		if err != nil {
			t.Fatal(err)
		}
		ids[read.Header.Get("Message-Id")] = true
		if m.To != "ann@example.com" || code == "" || !strings.Contains(strings.ReplaceAll(m.Raw, "=\r\n", ""),
			"/join#"+code) {
			t.Errorf("to %s:\n%s", m.To, m.Raw)
		}
	}
	if len(ids) != 1 {
		t.Errorf("the repeated e-mail has another Message-ID: %v", ids)
	}
	logs, err := filepath.Glob(dir + "/*.log")
	if err != nil || len(logs) != 2 {
		t.Fatalf("logs %v, %v", logs, err)
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for _, hidden := range []string{"ann@example.com", code, mailtest.Password} {
			if bytes.Contains(text, []byte(hidden)) {
				t.Errorf("%s has %q", path, hidden)
			}
		}
	}
}
