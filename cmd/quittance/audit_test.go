package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/internal/secret"
	"quittance/internal/store"
	"quittance/sdk/go/api"
)

// unaudited lists the commands that leave no entry in the audit log, with the reason.
var unaudited = map[string]string{
	"sandbox run": "a server", "serve": "a server", "provider-sandbox": "a server",
	"account list": "reads", "account show": "reads", "connection list": "reads", "submission list": "reads", "delivery list": "reads", "audit list": "reads",
	"evidence verify": "reads", "evidence key": "reads", "evidence anchor": "reads", "key list": "reads the key file", "version": "reads nothing",
	"key generate":  "there is no database yet",
	"backup":        "copies the database without its keys, which seal the audit log",
	"evidence seal": "fails if the evidence is sealed, as in every new database; otherwise it records itself",
}

// administrator is a database with its key file, and an administrator who runs commands on it.
type administrator struct {
	t       *testing.T
	dir, at string
	seen    int
}

func (a *administrator) run(stdin string, args ...string) []byte {
	a.t.Helper()
	command := exec.CommandContext(a.t.Context(), "quittance", append(args, "--database", a.at, "--key-file", "key.json")...)
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
	var entries []struct{ Act, Actor, Means, Reason string }
	if err := json.Unmarshal(a.run("", "audit", "list", "--json"), &entries); err != nil {
		a.t.Fatal(err)
	}
	found := 0
	for _, entry := range entries {
		if entry.Act == act && entry.Actor == "ada@desk" && entry.Means == store.MeansCommandLine {
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

// unknownSubmission creates a submission with an unknown outcome, as a server would, and returns it.
func (a *administrator) unknownSubmission(account string) store.Submission {
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
	db, err := store.Open(ctx, a.at, store.Options{Keys: keys})
	check(err)
	defer func() { check(db.Close()) }()
	id, err := store.ParseID(account)
	check(err)
	tenant, err := db.Tenant(ctx, id)
	check(err)
	invoice, err := tenant.CreateInvoice(ctx, &api.Draft{InvoiceNumber: new("INV-1")})
	check(err)
	call, _, err := tenant.BeginSubmission(ctx, invoice.ID, store.Intent{Environment: "sandbox", LeaseDuration: time.Hour, QueryFirstLeaseDuration: time.Hour,
		Render: func(*api.Draft, *api.Profile, string) ([]byte, []string, error) {
			return []byte(`{"invoice":{"invoice_number":"INV-1"}}`), nil, nil
		}})
	check(err)
	recorded, err := call.Record(context.WithoutCancel(ctx), func(store.Submission, bool, time.Time) (store.Decision, error) {
		return store.Decision{Outcome: api.OutcomeUnknown}, nil
	})
	check(err)
	return recorded
}

// TestEveryChangeIsAudited checks that every command that changes something leaves an entry in the audit log with the
// name of the actor. It takes the commands from the parser's own model, so that a new one cannot be forgotten.
func TestEveryChangeIsAudited(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	dir := t.TempDir()
	a := &administrator{t: t, dir: dir, at: "sqlite:" + filepath.Join(dir, "q.db")}
	generate := exec.CommandContext(t.Context(), "quittance", "key", "generate", "--out", "key.json")
	generate.Dir = dir
	if out, err := generate.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	done := map[string]bool{}
	does := func(path, act, stdin string, args ...string) []byte {
		t.Helper()
		done[path] = true
		return a.does(act, stdin, append(strings.Fields(path), args...)...)
	}
	does("migrate", "database.migrate", "", "--create")
	account := a.value(does("account create", "account.create", "", "--company", "Palm", "--email", "owner@palm.example", "--json"), "account_id")
	does("account rename", "account.rename", "", account, "--company", "Palm Trading")
	does("account profile", "account.profile", `{"legal_name":"Palm Trading LLC"}`, account, "--file", "-")
	does("account user add", "user.add", "", account, "--email", "books@palm.example")
	does("account user reset-password", "user.reset-password", "", account, "--email", "books@palm.example")
	does("account user disable", "user.disable", "", account, "--email", "books@palm.example")
	does("account user enable", "user.enable", "", account, "--email", "books@palm.example")
	does("account suspend", "account.suspend", "", account)
	does("account reactivate", "account.reactivate", "", account)
	add := func(environment string) string {
		return a.value(does("connection add", "connection.add", "credential", "--account", account, "--base-url", "https://gateway.example",
			"--environment", environment, "--credential-file", "-", "--json"), "connection_id")
	}
	connection := add("sandbox")
	does("connection activate", "connection.activate", "", connection)
	does("connection replace-credential", "connection.replace-credential", "another", connection, "--credential-file", "-")
	unknown := a.unknownSubmission(account)
	does("submission resolve", "submission.resolve", "", unknown.ID.String(), "--reject", "--reason", "the provider said so")
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
	does("restored", "database.restored", "")

	for _, path := range commandPaths(t) {
		if words := strings.Fields(path); done[path] == (unaudited[strings.Join(words, " ")] != "") {
			t.Errorf("quittance %s: tested %v, exempt because of %q", path, done[path], unaudited[path])
		}
	}
	a.run("", "evidence", "verify")
}

// keys returns the numbers of the keys in the key file.
func (a *administrator) keys() []string {
	a.t.Helper()
	command := exec.CommandContext(a.t.Context(), "quittance", "key", "list", "--key-file", "key.json", "--json")
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
