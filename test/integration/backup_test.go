//go:build unix

package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
	"quittance/test/s3test"
)

// newDatabase returns the address of an empty database, or of a file that does not exist.
func newDatabase(t *testing.T, engine string) string {
	t.Helper()
	if engine == ledgertest.Postgres {
		return pgtest.URL(t)
	}
	return "sqlite:" + filepath.Join(t.TempDir(), "quittance.db")
}

// submitted returns the submitted invoices by number, with the references of their submissions.
func (f *fleet) submitted(t *testing.T, base string) map[string]api.Invoice {
	t.Helper()
	found := map[string]api.Invoice{}
	for page := 1; ; page++ {
		var list api.List[api.Invoice]
		f.must(t, http.MethodGet, fmt.Sprintf("%s/api/v1/client/invoices?submitted=true&per_page=100&page=%d", base, page),
			"", &list)
		for _, invoice := range list.Data {
			found[*invoice.InvoiceNumber] = invoice
		}
		if !list.Pagination.HasMore {
			return found
		}
	}
}

// login replaces the token, which a restore has revoked.
func (f *fleet) login(t *testing.T, base string) {
	t.Helper()
	var login api.Data[api.Login]
	f.must(t, http.MethodPost, base+"/api/v1/client/auth/login",
		fmt.Sprintf(`{"email":"owner@palm.example","password":%q}`, f.password), &login)
	f.token = login.Data.Token
}

// TestBackupUnderLoad backs up a server under load to a bucket, kills the server, and restores the backup into another
// database: everything that was committed before the backup is there, the evidence is intact, and when everything is
// submitted again, nothing is sent twice.
func TestBackupUnderLoad(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			bucket := s3test.Start(t)
			f := newFleet(t, product, newDatabase(t, engine))
			listen, err := f.world.running["first"].says(listening)
			if err != nil {
				t.Fatal(err)
			}
			base := "http://" + listen
			l := startLoad(f, base, 4, 10*time.Millisecond)
			reach := func(count int64) {
				t.Helper()
				kit.Eventually(t, func() error {
					if done := l.submitted.Load(); done < count {
						return fmt.Errorf("%d submissions", done)
					}
					return nil
				})
			}
			reach(20)
			before := f.submitted(t, base)
			place := []string{"s3://" + s3test.Bucket + "/quittance", "--s3-endpoint", bucket.Endpoint, "--s3-ca", bucket.CA,
				"--key-file", "key.json", "--json"}
			made := f.store(t, append([]string{"backup", "--database", f.database, "--keep", "2", "--to"}, place...)...)
			reach(l.submitted.Load() + 10)
			if err := f.world.running["first"].kill(); err != nil {
				t.Fatal(err)
			}
			delete(f.world.running, "first")
			_, _, _ = l.end() // calls fail when the server is killed

			f.store(t, append([]string{"backup", "verify", "--from"}, place...)...)
			lost := f.database
			f.database = newDatabase(t, engine)
			f.flags[slices.Index(f.flags, lost)] = f.database
			record := f.store(t, append([]string{"restore", "--database", f.database, "--from"}, place...)...)
			if record["backup"] != made["backup"] || record["rows"] != made["rows"] {
				t.Errorf("restored %v of %v", record, made)
			}
			at := []string{"--database", f.database, "--key-file", "key.json"}
			f.command(t, "", append([]string{"evidence", "verify"}, at...)...)

			base = f.start(t, "restored")
			if got, err := f.caller.call(http.MethodGet, base+"/api/v1/client/invoices", f.token, ""); err != nil ||
				got.status != http.StatusUnauthorized {
				t.Errorf("with a token of before the restore: %d, %v", got.status, err)
			}
			f.login(t, base)
			f.submitAgain(t, base)
			after := f.submitted(t, base)
			for number, invoice := range before {
				if again, found := after[number]; !found || again.Submission.ID != invoice.Submission.ID {
					t.Errorf("the invoice %s of before the backup has the submission %+v", number, again.Submission)
				}
			}
			if len(before) < 20 || len(after) <= len(before) {
				t.Errorf("%d submissions before the backup, %d after the restore: too little was tested", len(before), len(after))
			}
			for _, document := range f.provider.server.Ledger().Documents() {
				if document.Received != 1 || document.Accepted != 1 || document.Conflicts != 0 {
					t.Errorf("a document was sent again: %+v", document)
				}
			}
			f.command(t, "", append([]string{"evidence", "verify"}, at...)...)
		})
	}
}

// submitAgain submits every draft, until every submission has an outcome.
func (f *fleet) submitAgain(t *testing.T, base string) {
	t.Helper()
	var drafts api.List[api.Invoice]
	f.must(t, http.MethodGet, base+"/api/v1/client/invoices?submitted=false&per_page=100", "", &drafts)
	for _, draft := range drafts.Data {
		got, err := f.caller.call(http.MethodPost, base+"/api/v1/client/invoices/"+draft.ID+"/submit", f.token, "")
		if err != nil || got.status != http.StatusOK && got.status != http.StatusAccepted {
			t.Errorf("submit %s again: %d, %v: %s", *draft.InvoiceNumber, got.status, err, got.body)
		}
	}
	kit.Eventually(t, func() error {
		for number, invoice := range f.submitted(t, base) {
			if invoice.Submission.Outcome != api.OutcomeAcknowledged {
				return fmt.Errorf("%s is %s", number, invoice.Submission.Outcome)
			}
		}
		return nil
	})
}

// store runs a command with the credentials of the bucket, and returns the record that it prints.
func (f *fleet) store(t *testing.T, args ...string) (record map[string]any) {
	t.Helper()
	command := exec.CommandContext(t.Context(), f.program, args...)
	command.Dir, command.Env = f.dir, append(bareEnvironment(f.dir), s3test.Environment()...)
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		t.Fatalf("quittance %s: %v\n%s", strings.Join(args, " "), err, &problem)
	}
	if strings.Contains(string(out)+problem.String(), s3test.SecretKey) {
		t.Errorf("quittance %s prints a secret", args[0])
	}
	if err := json.Unmarshal(out, &record); err != nil {
		t.Fatal(err)
	}
	return record
}

// TestKilledRestore kills a restore while it loads, when it waits for a part: no server and no command uses the
// database, and a second restore completes it.
func TestKilledRestore(t *testing.T) {
	t.Parallel()
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			bucket := s3test.Start(t)
			place := []string{"s3://" + s3test.Bucket + "/quittance", "--s3-endpoint", bucket.Endpoint, "--s3-ca", bucket.CA,
				"--json"}
			f := &fleet{program: product, dir: t.TempDir(), database: newDatabase(t, engine)}
			at := []string{"--database", f.database, "--key-file", "key.json"}
			f.command(t, "", "key", "generate", "--out", "key.json")
			f.command(t, "", append([]string{"migrate", "--create"}, at...)...)
			f.command(t, "", append([]string{"account", "create", "--company", "Palm Trading LLC", "--email",
				"owner@palm.example"}, at...)...)
			f.store(t, slices.Concat([]string{"backup", "--to"}, place, at)...)

			reached := make(chan struct{}, 100)
			bucket.Misbehave(func(w http.ResponseWriter, r *http.Request, forward http.Handler) {
				if !strings.HasSuffix(r.URL.Path, "/part-000001") {
					forward.ServeHTTP(w, r)
					return
				}
				reached <- struct{}{}
				<-r.Context().Done()
				panic(http.ErrAbortHandler)
			})
			target := newDatabase(t, engine)
			at = []string{"--database", target, "--key-file", "key.json"}
			restore := slices.Concat([]string{"restore", "--from"}, place, at)
			command := exec.Command(f.program, restore...)
			command.Env = s3test.Environment()
			p, err := startCommand(f.dir, "killed", command)
			if err != nil {
				t.Fatal(err)
			}
			kit.Eventually(t, func() error {
				if len(reached) == 0 {
					return errors.Join(errors.New("the restore has not asked for the part"), p.alive())
				}
				return nil
			})
			if err := p.kill(); err != nil {
				t.Fatal(err)
			}
			bucket.Misbehave(nil)
			refused := func(args ...string) string {
				t.Helper()
				command := exec.CommandContext(t.Context(), f.program, args...)
				command.Dir, command.Env = f.dir, append(bareEnvironment(f.dir), s3test.Environment()...)
				out, err := command.CombinedOutput()
				if err == nil {
					t.Errorf("quittance %s uses the database: %s", args[0], out)
				}
				return string(out)
			}
			serve := append([]string{"serve", "--environment", "sandbox", "--listen", "127.0.0.1:0"}, at...)
			for _, said := range []string{refused(serve...), refused(append([]string{"migrate", "--create"}, at...)...)} {
				if !strings.Contains(said, "run quittance restore again") {
					t.Errorf("the refusal says %q", said)
				}
			}
			refused(append([]string{"account", "list"}, at...)...)
			f.store(t, restore...)
			if out := f.command(t, "", append([]string{"account", "list", "--json"}, at...)...); !strings.Contains(string(out),
				"Palm Trading LLC") {
				t.Errorf("the accounts are %s", out)
			}
			if said := refused(restore...); !strings.Contains(said, "never overwrites") {
				t.Errorf("a restore over the database says %q", said)
			}
		})
	}
}

// TestInterruptedCommandsFail: a backup, a verification and a restore that SIGTERM ends while a store hangs do not end
// with status 0.
func TestInterruptedCommandsFail(t *testing.T) {
	t.Parallel()
	store := s3test.Start(t)
	f := &fleet{program: product, dir: t.TempDir()}
	f.database = "sqlite:" + filepath.Join(f.dir, "quittance.db")
	f.command(t, "", "key", "generate", "--out", "key.json")
	f.command(t, "", "migrate", "--create", "--database", f.database, "--key-file", "key.json")
	place := []string{"s3://" + s3test.Bucket + "/quittance", "--s3-endpoint", store.Endpoint, "--s3-ca", store.CA,
		"--key-file", "key.json", "--json"}
	f.store(t, append([]string{"backup", "--database", f.database, "--to"}, place...)...)
	for _, args := range [][]string{
		{"backup", "--database", f.database, "--to"},
		{"backup", "verify", "--from"},
		{"restore", "--database", "sqlite:" + filepath.Join(f.dir, "restored.db"), "--from"},
	} {
		reached := make(chan struct{}, 100)
		store.Misbehave(func(_ http.ResponseWriter, r *http.Request, _ http.Handler) {
			reached <- struct{}{}
			_, _ = io.Copy(io.Discard, r.Body) // so that the end of the connection is noticed
			<-r.Context().Done()
			panic(http.ErrAbortHandler)
		})
		command := exec.CommandContext(t.Context(), f.program, append(args, place...)...)
		command.Dir, command.Env = f.dir, append(bareEnvironment(f.dir), s3test.Environment()...)
		wantInterrupted(t, command, reached)
		store.Misbehave(nil)
	}
}

// TestScheduleOfTheGuide runs the commands of the section on scheduled backups as written, except for paths: that of
// the systemd service, with the environment that systemd would read, and that of cron. The settings have characters
// that are special in a shell. The service is confined as the server is.
func TestScheduleOfTheGuide(t *testing.T) {
	t.Parallel()
	_, section, found := strings.Cut(readText(t, "../../docs/ops/backup.md"), "## Schedule backups\n")
	section, _, ended := strings.Cut(section, "\n## ")
	service := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(section)
	cron := regexp.MustCompile(`(?m)^30 2 \* \* \* root (.*)$`).FindStringSubmatch(section)
	if !found || !ended || service == nil || cron == nil {
		t.Fatalf("the guide has no such section: %q", section)
	}
	f := &fleet{program: product, dir: filepath.Join(t.TempDir(), "a & b")}
	if err := os.Mkdir(f.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	f.database = "sqlite:" + filepath.Join(f.dir, "quittance.db")
	f.command(t, "", "key", "generate", "--out", "key.json")
	f.command(t, "", "migrate", "--create", "--database", f.database, "--key-file", "key.json")
	settings := "QUITTANCE_DATABASE=" + f.database +
		"\nQUITTANCE_SMTP_FROM=Quittance <a@b.example>\nQUITTANCE_PUBLIC_URL=https://q.example/?a=$(b)&c=d\n"
	if err := os.WriteFile(filepath.Join(f.dir, "quittance.env"), []byte(settings), 0o600); err != nil {
		t.Fatal(err)
	}
	paths := strings.NewReplacer("/usr/bin/quittance", "quittance", "/var/lib/quittance-backup", "backups",
		"/var/backups/quittance", "backups", "/etc/quittance/", "")
	for line, environment := range map[string][]string{service[1]: append(strings.Split(strings.TrimSpace(settings), "\n"),
		"CREDENTIALS_DIRECTORY=."), cron[1]: nil} {
		command := exec.CommandContext(t.Context(), "sh", "-eu", "-c", paths.Replace(line))
		command.Dir, command.Env = f.dir, append(bareEnvironment(f.dir), environment...)
		if out, err := command.CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", line, err, out)
		}
	}
	var backups []struct{ State string }
	if err := json.Unmarshal(f.command(t, "", "backup", "list", "--from", "backups", "--json"), &backups); err != nil ||
		len(backups) != 2 || backups[0].State != "complete" {
		t.Errorf("the backups are %v, %v", backups, err)
	}

	_, confinement, found := strings.Cut(readText(t, "../../tools/dist/files/quittance.service"), "\nTimeoutStopSec=90\n")
	confinement, _, ended = strings.Cut(confinement, "\n[Install]")
	if !found || !ended || !strings.Contains(section, confinement) {
		t.Errorf("the unit of the backup does not have all of\n%s", confinement)
	}
}
