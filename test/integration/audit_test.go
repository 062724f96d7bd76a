package integration_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"quittance/client/api"
	"quittance/internal/ledger"
	"quittance/internal/ledger/access"
	"quittance/internal/ledger/base"
	"quittance/internal/ledger/identity"
	"quittance/internal/ledger/invoices"
	"quittance/internal/platform/secret"
	"quittance/test/audittest"
)

// unaudited lists the commands that leave no entry in the audit log, with the reason.
var unaudited = map[string]string{
	"sandbox run": "a server", "serve": "a server", "provider-sandbox": "a server", "healthcheck": "asks a server",
	"account list": "reads", "operator list": "reads", "account show": "reads", "account key list": "reads",
	"connection list": "reads", "connection check": "reads", "connection kinds": "reads nothing",
	"connection unrouted-events": "reads", "submission list": "reads", "delivery list": "reads", "audit list": "reads",
	"evidence verify": "reads", "evidence key": "reads", "evidence anchor": "reads", "key list": "reads the key file",
	"version": "reads nothing", "mail test": "has no database", "readiness": "has no database",
	"key generate": "there is no database yet",
	"backup list":  "reads", "backup verify": "reads",
	"recount":       "records itself if it corrects something",
	"evidence seal": "fails if the evidence is sealed, as in every new database; otherwise, and with --access, it records itself",
}

// administrator is a database with its key file, and an administrator who runs commands on it.
type administrator struct {
	t       *testing.T
	dir, at string
	seen    int
	reader  *base.DB // see recorded
}

// recorded returns the audit log. It reads the database itself, because a command would take longer to start than to
// list.
func (a *administrator) recorded() []base.AuditEntry {
	a.t.Helper()
	if a.reader == nil {
		opened, err := base.OpenUnmigrated(a.t.Context(), a.at, base.Options{})
		if err != nil {
			a.t.Fatal(err)
		}
		a.t.Cleanup(func() {
			if err := opened.Close(); err != nil {
				a.t.Error(err)
			}
		})
		a.reader = opened
	}
	entries, err := a.reader.Audit(a.t.Context(), base.AuditFilter{Limit: 1000})
	if err != nil {
		a.t.Fatal(err)
	}
	return entries
}

func (a *administrator) run(stdin string, args ...string) []byte {
	a.t.Helper()
	command := exec.CommandContext(a.t.Context(), built(a.t, commandProduct),
		append(args, "--database", a.at, "--key-file", "key.json")...)
	command.Dir, command.Stdin = a.dir, strings.NewReader(stdin)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	out, err := command.Output()
	if err != nil {
		a.t.Fatalf("quittance %v: %v\n%s", args, err, &stderr)
	}
	return out
}

// does runs a command and checks that it leaves exactly one new entry of the given act in the audit log, with the right
// actor.
func (a *administrator) does(act, stdin string, args ...string) (out []byte) {
	a.t.Helper()
	out = a.run(stdin, append(args, "--actor", "ada@desk")...)
	entries, found := a.recorded(), 0
	for _, entry := range entries {
		if entry.Act == act && entry.Name == "ada@desk" && entry.Means == base.MeansCommandLine {
			found++
		}
	}
	if found == 0 || len(entries) == a.seen {
		a.t.Errorf("quittance %s leaves no entry %s in the audit log", strings.Join(args[:2], " "), act)
	}
	a.seen = len(entries)
	return out
}

// value returns a text field of the JSON record that a command printed.
func (a *administrator) value(out []byte, name string) string {
	a.t.Helper()
	var record map[string]any
	decoder := json.NewDecoder(bytes.NewReader(out))
	decoder.UseNumber()
	if err := decoder.Decode(&record); err != nil {
		a.t.Fatalf("%v: %s", err, out)
	}
	if number, ok := record[name].(json.Number); ok {
		return number.String()
	}
	text, _ := record[name].(string)
	return text
}

// asServer does something in the database, as a server would.
func (a *administrator) asServer(do func(ctx context.Context, db *base.DB) error) {
	a.t.Helper()
	keys, err := secret.ReadKeyFile(filepath.Join(a.dir, "key.json"))
	if err != nil {
		a.t.Fatal(err)
	}
	db, err := ledger.Open(a.t.Context(), a.at, base.Options{Keys: keys})
	if err != nil {
		a.t.Fatal(err)
	}
	if err := errors.Join(do(a.t.Context(), db), db.Close()); err != nil {
		a.t.Fatal(err)
	}
}

// serveOnce records an environment.
func (a *administrator) serveOnce() {
	a.t.Helper()
	a.asServer(func(ctx context.Context, db *base.DB) error { return invoices.RecordEnvironment(ctx, db, "sandbox") })
}

// signOn logs a user in by single sign-on.
func (a *administrator) signOn(email string) {
	a.t.Helper()
	a.asServer(func(ctx context.Context, db *base.DB) error {
		user, err := db.UserByEmail(ctx, email)
		if err != nil {
			return err
		}
		if err := identity.StoreSignOnChoice(ctx, db, [32]byte{2},
			identity.SignOn{Issuer: "https://login.example", Subject: "1", Email: email}); err != nil {
			return err
		}
		_, _, err = identity.CompleteSignOnChoice(ctx, db, [32]byte{2}, user.Account,
			identity.NewToken{Digest: [32]byte{1}, ExpiresAt: time.Now().Add(time.Hour)})
		return err
	})
}

// sendsMail makes the installation one that sends e-mails.
func (a *administrator) sendsMail() {
	a.t.Helper()
	a.asServer(func(ctx context.Context, db *base.DB) error { return identity.RecordMailer(ctx, db, true) })
}

// enroll gives a user a second factor.
func (a *administrator) enroll(email string) {
	a.t.Helper()
	a.asServer(func(ctx context.Context, db *base.DB) error {
		user, err := db.UserByEmail(ctx, email)
		if err != nil {
			return err
		}
		digest, shared := [32]byte{7}, secret.New("GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ")
		if _, err := identity.CreateToken(ctx, db, user, identity.NewToken{Digest: digest,
			ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
			return err
		}
		session, err := db.Authenticate(ctx, digest)
		if err != nil {
			return err
		}
		if err := identity.BeginTOTP(ctx, session.Tenant, session, shared); err != nil {
			return err
		}
		return identity.ConfirmTOTP(ctx, session.Tenant, session, shared, 1, nil, nil)
	})
	a.seen += 2 // the login and the enrollment
}

// makeKey creates an API key on behalf of a user who may do so, as a server would.
func (a *administrator) makeKey(email string) {
	a.t.Helper()
	a.asServer(func(ctx context.Context, db *base.DB) error {
		user, err := db.UserByEmail(ctx, email)
		if err != nil {
			return err
		}
		digest := secret.Digest(secret.New("session of " + email + strconv.Itoa(a.seen)))
		if _, err := identity.CreateToken(ctx, db, user, identity.NewToken{Digest: digest,
			ExpiresAt: time.Now().Add(time.Hour)}); err != nil {
			return err
		}
		session, err := db.Authenticate(ctx, digest)
		if err != nil {
			return err
		}
		key, err := secret.NewAPIKey(secret.APIKeySandbox, rand.Reader)
		if err != nil {
			return err
		}
		_, err = identity.CreateAPIKey(ctx, session.Tenant, identity.NewAPIKey{Key: key, Name: "ERP",
			Scopes: []access.Scope{access.ScopeRead}, Creator: session})
		return err
	})
	a.seen += 2 // the login and the key
}

// unknownSubmission creates a submission with an unknown outcome, as a server would, and returns it.
func (a *administrator) unknownSubmission(account string) invoices.Submission {
	a.t.Helper()
	ctx := a.t.Context()
	check := func(err error) {
		a.t.Helper()
		if err != nil {
			a.t.Fatal(err)
		}
	}
	keys, err := secret.ReadKeyFile(filepath.Join(a.dir, "key.json"))
	check(err)
	db, err := ledger.Open(ctx, a.at, base.Options{Keys: keys})
	check(err)
	defer func() { check(db.Close()) }()
	id, err := base.ParseID(account)
	check(err)
	tenant, err := db.Tenant(ctx, id)
	check(err)
	invoice, err := invoices.Create(ctx, tenant, &api.Draft{InvoiceNumber: new("INV-1")})
	check(err)
	call, _, err := invoices.BeginSubmission(ctx, tenant, invoice.ID,
		invoices.Intent{Environment: "sandbox", LeaseDuration: time.Hour,
			Render: func(invoices.Source) ([]byte, api.Faults, error) {
				return []byte(`{"invoice":{"invoice_number":"INV-1"}}`), nil, nil
			}})
	check(err)
	recorded, err := call.Record(context.WithoutCancel(ctx),
		func(invoices.Submission, bool, time.Time) (invoices.Decision, error) {
			return invoices.Decision{Outcome: api.OutcomeUnknown}, nil
		})
	check(err)
	return recorded
}

// TestEveryChangeIsAudited checks that every command that changes something leaves an entry in the audit log with the
// name of the actor. It takes the commands from the help, which lists them all, so that a new one cannot be forgotten.
func TestEveryChangeIsAudited(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	a := &administrator{t: t, dir: dir, at: "sqlite:" + filepath.Join(dir, "q.db")}
	generate := exec.CommandContext(t.Context(), built(t, commandProduct), "key", "generate", "--out", "key.json")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := map[string][]string{}
	does := func(path, act, stdin string, args ...string) []byte {
		t.Helper()
		if !slices.Contains(done[path], act) {
			done[path] = append(done[path], act)
		}
		return a.does(act, stdin, append(strings.Fields(path), args...)...)
	}
	does("migrate", "database.migrate", "", "--create")
	account := a.value(does("account create", "account.create", "", "--company", "Palm", "--email", "owner@palm.example",
		"--json"), "account_id")
	does("account rename", "account.rename", "", account, "--company", "Palm Trading")
	does("account profile", "account.profile", `{"legal_name":"Palm Trading LLC"}`, account, "--file", "-")
	does("account user add", "user.add", "", account, "--email", "books@palm.example")
	does("account user invite", "user.invite", "", account, "--email", "new@palm.example", "--role", "viewer")
	does("account user role", "user.role", "", account, "--email", "books@palm.example", "--role", "viewer")
	does("account user role", "user.role", "", account, "--email", "books@palm.example", "--role", "developer")
	a.makeKey("books@palm.example")
	does("account user role", "api_key.revoke", "", account, "--email", "books@palm.example", "--role", "viewer",
		"--revoke-keys")
	a.sendsMail()
	does("account user reset-password", "user.request-password-reset", "", account, "--email", "books@palm.example",
		"--send")
	does("account user reset-password", "user.reset-password", "", account, "--email", "books@palm.example")
	does("account user disable", "user.disable", "", account, "--email", "books@palm.example")
	does("account user enable", "user.enable", "", account, "--email", "books@palm.example")
	does("account user role", "user.role", "", account, "--email", "books@palm.example", "--role", "developer")
	a.makeKey("books@palm.example")
	does("account user disable", "api_key.revoke", "", account, "--email", "books@palm.example", "--revoke-keys")
	does("account user enable", "user.enable", "", account, "--email", "books@palm.example")
	a.enroll("books@palm.example")
	does("account user reset-second-factor", "user.reset-second-factor", "", account, "--email", "books@palm.example")
	does("account login-policy", "account.login-policy", "", account, "--require", "single_sign_on")
	a.signOn("books@palm.example")
	does("account user unlink", "user.unlink", "", account, "--email", "books@palm.example")
	does("account user change-address", "user.change-address", "", account, "--email", "books@palm.example", "--new",
		"ledger@palm.example")
	does("account user remove", "user.remove", "", account, "--email", "ledger@palm.example")
	does("operator add", "operator.add", "", "--email", "ada@owner.example")
	does("operator reset", "operator.reset", "", "--email", "ada@owner.example")
	does("operator disable", "operator.disable", "", "--email", "ada@owner.example")
	a.serveOnce()
	key := a.value(does("account key create", "api_key.create", "", account, "--name", "ERP", "--scope", "read", "--json"),
		"key_id")
	does("account key revoke", "api_key.revoke", "", account, key)
	does("account suspend", "account.suspend", "", account)
	does("account reactivate", "account.reactivate", "", account)
	add := func(environment string) string {
		return a.value(does("connection add", "connection.add", "credential", "--account", account, "--base-url",
			"https://gateway.example", "--environment", environment, "--credential-file", "-", "--json"), "connection_id")
	}
	connection := add("sandbox")
	does("connection activate", "connection.activate", "", connection)
	does("connection confirm-credit-notes", "connection.confirm-credit-notes", "", connection, "--contract", "C-1",
		"--mapping", "M-1")
	does("connection replace-credential", "connection.replace-credential", "another", connection, "--credential-file", "-")
	unknown := a.unknownSubmission(account)
	does("submission resolve", "submission.resolve", "", unknown.ID.String(), "--reject", "--reason",
		"the provider said so")
	does("evidence export", "evidence.export", "", unknown.Invoice.String())
	does("connection disable", "connection.disable", "", connection)
	does("sandbox reset", "sandbox.reset", "", "--receiver", "https://hooks.example.com/x")
	does("connection approve", "connection.approve", "", add("production"), "--by", "Ada", "--contract", "C-1")

	first := a.keys()[0]
	added := a.value(does("key add", "key.add", "", "--json"), "key_id")
	does("key promote", "key.promote", "", added)
	does("key reseal", "key.reseal", "")
	does("key retire", "key.retire", "", first)
	does("key rotate", "key.promote", "")
	does("backup run", "database.backup", "", "--to", filepath.Join(a.dir, "backups"))
	restored := *a
	restored.at, restored.seen, restored.reader = "sqlite:"+filepath.Join(a.dir, "restored.db"), 0, nil
	restored.does("database.restored", "", "restore", "--from", filepath.Join(a.dir, "backups"))
	done["restore"] = append(done["restore"], "database.restored")
	does("restored", "database.restored", "")

	table := audittest.Read(t)
	for _, path := range administrationCommands(t) {
		if (len(done[path]) > 0) == (unaudited[path] != "") {
			t.Errorf("quittance %s: tested %v, exempt because of %q", path, done[path], unaudited[path])
		}
		slices.Sort(table.Acts["quittance "+path]) // some commands leave entries of two acts
		slices.Sort(done[path])
		if documented := table.Acts["quittance "+path]; unaudited[path] == "" && !slices.Equal(documented, done[path]) {
			t.Errorf("quittance %s leaves %v, and docs/audit.md says %v", path, done[path], documented)
		}
	}
	a.run("", "evidence", "verify")
}

// administrationCommands returns the words of every command in the help, such as "account user add", except those for
// developers, which act over the API: the server records their acts.
func administrationCommands(t *testing.T) (paths []string) {
	t.Helper()
	help, _, _ := strings.Cut(output(t, "--help"), "\nCommands for developers")
	_, help, _ = strings.Cut(help, "\nCommands:\n")
	for _, line := range regexp.MustCompile(`(?m)^  ([a-z]\S*(?: \S+)*)`).FindAllStringSubmatch(help, -1) {
		paths = append(paths, line[1])
	}
	if len(paths) < 40 {
		t.Fatalf("only %d commands are in the help: %v", len(paths), paths)
	}
	return paths
}

// keys returns the numbers of the keys in the key file.
func (a *administrator) keys() []string {
	a.t.Helper()
	command := exec.CommandContext(a.t.Context(), built(a.t, commandProduct), "key", "list", "--key-file", "key.json",
		"--json")
	command.Dir = a.dir
	out, err := command.Output()
	if err != nil {
		a.t.Fatal(err)
	}
	var records []struct{ ID json.Number }
	if err := json.Unmarshal(out, &records); err != nil {
		a.t.Fatal(err)
	}
	var ids []string
	for _, record := range records {
		ids = append(ids, record.ID.String())
	}
	return slices.Clip(ids)
}
