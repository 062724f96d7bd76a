package integration_test

import (
	"database/sql"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"quittance/internal/platform/secret"
	"quittance/test/kit"
	"quittance/test/ledgertest"
)

// someID is an identifier that no row has.
const someID = "01890a5d-ac96-774b-bcce-b302099a8057"

// olderDatabase is a SQLite database of a release with an earlier schema, in a directory with its key file.
type olderDatabase struct {
	dir, path string
	version   int64
}

// newOlderDatabase unpacks the database of the earliest release.
func newOlderDatabase(t *testing.T) olderDatabase {
	t.Helper()
	release := ledgertest.Releases(t)[0]
	dir, address, _ := unpack(t, release.Version, ledgertest.SQLite)
	d := olderDatabase{dir: dir, path: strings.TrimPrefix(address, "sqlite:"), version: release.Migration}
	others, err := secret.Generate()
	if err == nil {
		err = others.WriteKeyFile(filepath.Join(dir, "others.json"))
	}
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "text"), []byte("{}"), 0o600)
	}
	kit.Must(t, err)
	d.unchanged(t, "nothing")
	return d
}

// schema returns the version of the schema.
func (d olderDatabase) schema(t *testing.T) (version int64) {
	t.Helper()
	db, err := sql.Open("sqlite", d.path)
	kit.Must(t, err)
	defer func() { kit.Must(t, db.Close()) }()
	kit.Must(t, db.QueryRowContext(t.Context(), `select max(version_id) from goose_db_version`).Scan(&version))
	return version
}

// unchanged checks that the schema is still that of the release.
func (d olderDatabase) unchanged(t *testing.T, after string) {
	t.Helper()
	if version := d.schema(t); version != d.version {
		t.Errorf("after %s the schema has version %d, not %d", after, version, d.version)
	}
}

// run runs a command with an environment and returns what it prints.
func (d olderDatabase) run(t *testing.T, environment []string, args ...string) (printed string, ok bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), built(t, commandProduct), args...)
	command.Dir, command.Env = d.dir, append(bareEnvironment(d.dir), environment...)
	out, err := command.CombinedOutput()
	return string(out), err == nil
}

// settings returns the variables that an operator exports, with a key file.
func (d olderDatabase) settings(keyFile string) []string {
	return []string{"QUITTANCE_DATABASE=sqlite:" + d.path, "QUITTANCE_KEY_FILE=" + keyFile,
		"QUITTANCE_ENVIRONMENT=sandbox", "QUITTANCE_LISTEN=127.0.0.1:0"}
}

// administration returns the arguments of every command that opens a database other than serve and migrate, by its
// words.
func administration() map[string][]string {
	return map[string][]string{
		"account create": {"--company", "Palm", "--email", "a@palm.example"}, "account list": {}, "account show": {someID},
		"account login-policy": {someID, "--require", "any"}, "account suspend": {someID}, "account reactivate": {someID},
		"account rename": {someID, "--company", "Palm"}, "account profile": {someID, "--file", "text"},
		"account key create": {someID, "--name", "k", "--scope", "read"}, "account key list": {someID},
		"account key revoke":               {someID, someID},
		"account user add":                 {someID, "--email", "a@palm.example"},
		"account user invite":              {someID, "--email", "a@palm.example", "--role", "viewer"},
		"account user role":                {someID, "--email", "a@palm.example", "--role", "viewer"},
		"account user disable":             {someID, "--email", "a@palm.example"},
		"account user remove":              {someID, "--email", "a@palm.example"},
		"account user change-address":      {someID, "--email", "a@palm.example", "--new", "b@palm.example"},
		"account user enable":              {someID, "--email", "a@palm.example"},
		"account user unlink":              {someID, "--email", "a@palm.example"},
		"account user reset-second-factor": {someID, "--email", "a@palm.example", "--reason", "lost"},
		"account user reset-password":      {someID, "--email", "a@palm.example"},
		"connection add": {"--account", someID, "--kind", "http", "--base-url", "https://p.example", "--environment",
			"sandbox", "--credential-file", "text"},
		"connection activate": {someID}, "connection approve": {someID, "--contract", "c", "--release", "1.2.0", "--by",
			"CFO"},
		"connection confirm-credit-notes": {someID, "--contract", "c", "--mapping", "m"}, "connection disable": {someID},
		"connection replace-credential": {someID, "--credential-file", "text"}, "connection check": {someID},
		"connection list": {}, "connection unrouted-events": {"--account", someID}, "submission list": {},
		"submission resolve": {someID, "--reject", "--reason", "r"}, "delivery list": {},
		"operator add": {"--email", "o@q.example"}, "operator list": {}, "operator disable": {"--email", "o@q.example"},
		"operator reset": {"--email", "o@q.example"},
		"audit list":     {}, "evidence verify": {}, "evidence export": {someID}, "evidence anchor": {"--anchor", "anchors"},
		"evidence key": {}, "evidence seal": {}, "key add": {}, "key promote": {"1"}, "key reseal": {}, "key rotate": {},
		"key retire": {"7"}, "restored": {},
		"recount": {},
	}
}

// elsewhere are the commands that open no existing database, or copy one as it is, and serve and migrate.
func elsewhere() []string {
	return []string{"sandbox run", "sandbox reset", "serve", "healthcheck", "provider-sandbox", "connection kinds",
		"mail test", "key generate", "key list", "backup run", "backup list", "backup verify", "restore", "migrate",
		"readiness", "version"}
}

// TestOnlyServeAndMigrateChangeTheSchema walks over all commands of the command line on a database of an earlier
// release. Commands that use the database refuse it and say what to run; none changes its schema.
func TestOnlyServeAndMigrateChangeTheSchema(t *testing.T) {
	t.Parallel()
	d := newOlderDatabase(t)
	text, ok := d.run(t, nil, "--help")
	if !ok {
		t.Fatal(text)
	}
	commands, _, _ := strings.Cut(text, "\nCommands for developers")
	_, commands, _ = strings.Cut(commands, "\nCommands:\n")
	var known []string
	for _, match := range regexp.MustCompile(`(?m)^  ([a-z][a-z-]*(?: [a-z][a-z-]*)*)(?:  |$)`).FindAllStringSubmatch(
		commands, -1) {
		known = append(known, match[1])
	}
	if want := slices.Sorted(slices.Values(append(elsewhere(),
		slices.Collect(maps.Keys(administration()))...))); !slices.Equal(slices.Sorted(slices.Values(known)), want) {
		t.Errorf("the commands are %q,\nthe test knows %q", known, want)
	}
	for _, command := range slices.Sorted(maps.Keys(administration())) {
		args := append(strings.Fields(command), administration()[command]...)
		printed, ok := d.run(t, d.settings("key.json"), args...)
		if ok || !strings.Contains(printed, "this database has the schema of an earlier release") ||
			!strings.Contains(printed, "run quittance migrate") {
			t.Errorf("%s: %s", command, printed)
		}
		if command == "restored" && !strings.Contains(printed, "start no server before") {
			t.Errorf("%s: %s", command, printed)
		}
		d.unchanged(t, command)
	}
	for _, args := range [][]string{{"backup", "run", "--to", "backups"}, {"backup", "run", "--out", "copy.db"},
		{"key", "list"},
		{"restore", "--from", "backups"}, {"sandbox", "reset", "--receiver", "https://r.example"},
		{"mail", "test", "--to", "a@palm.example"}} {
		printed, ok := d.run(t, d.settings("key.json"), args...)
		if want := args[0] == "backup" || args[0] == "key"; ok != want {
			t.Errorf("%v: %s", args, printed)
		}
		d.unchanged(t, strings.Join(args, " "))
	}
}

// TestSchemaChangesAfterChecks: serve and migrate with another key, another environment, an occupied database or a
// database that must not be served change nothing; and then each leaves an entry in the audit log, and serve a line in
// its log.
func TestSchemaChangesAfterChecks(t *testing.T) {
	t.Parallel()
	serve := []string{"serve", "--provider-timeout", "1s"}
	for name, change := range map[string]func(d olderDatabase) string{
		"migrate": func(d olderDatabase) string {
			printed, ok := d.run(t, d.settings("key.json"), "migrate")
			if !ok || !strings.Contains(printed, "updated the schema from version 49") {
				t.Errorf("migrate: %s", printed)
			}
			return printed
		},
		"serve": func(d olderDatabase) string {
			command := exec.Command(built(t, commandProduct), serve...)
			command.Env = d.settings("key.json")
			server, err := startCommand(d.dir, "serve", command)
			kit.Must(t, err)
			_, err = server.says(regexp.MustCompile(`msg=(serving) `))
			kit.Must(t, err)
			kit.Must(t, server.stop())
			text, err := os.ReadFile(server.log)
			kit.Must(t, err)
			return string(text)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newOlderDatabase(t)
			production := append(d.settings("key.json"), "QUITTANCE_ENVIRONMENT=production", "QUITTANCE_BEHIND_PROXY=true",
				"QUITTANCE_TRUSTED_PROXY=127.0.0.1/32")
			for reason, refused := range map[string]struct {
				environment []string
				args        []string
				want        string
			}{
				"another key":         {d.settings("others.json"), serve, "does not fit this database"},
				"another key, too":    {d.settings("others.json"), []string{"migrate"}, "does not fit this database"},
				"another environment": {production, serve, "was served in the environment sandbox"},
			} {
				if printed, ok := d.run(t, refused.environment, refused.args...); ok || !strings.Contains(printed, refused.want) {
					t.Errorf("%s: %s", reason, printed)
				}
				d.unchanged(t, reason)
			}
			if log := change(d); !strings.Contains(log, "the schema of the database is up to date") ||
				!strings.Contains(log, "from=49") {
				t.Errorf("the log says %s", log)
			}
			if d.schema(t) <= d.version {
				t.Errorf("the schema has version %d", d.schema(t))
			}
			printed, ok := d.run(t, d.settings("key.json"), "audit", "list", "--act", "database.migrate", "--json")
			if latest := printed[strings.LastIndex(printed, `"at":`)+1:]; !ok || !strings.Contains(printed, `\"from\":\"49\"`) &&
				!strings.Contains(latest, `"from":"49"`) {
				t.Errorf("the audit log has %s", printed)
			}
		})
	}
}

// TestSandboxIgnoresTheOperatorsShell: a sandbox that is started where the settings of a server are exported keeps to
// its own places.
func TestSandboxIgnoresTheOperatorsShell(t *testing.T) {
	t.Parallel()
	d := newOlderDatabase(t)
	before, err := os.ReadFile(d.path)
	kit.Must(t, err)
	command := exec.Command(built(t, commandProduct), "sandbox", "--listen", "127.0.0.1:0", "--ready-file", "ready.json",
		"--output", "log")
	command.Env = append(d.settings("others.json"), "QUITTANCE_DATA="+filepath.Join(d.dir, "elsewhere"),
		"QUITTANCE_READY_FILE="+d.path, "QUITTANCE_ENV_FILE="+filepath.Join(d.dir, "env"))
	kit.Must(t, os.WriteFile(filepath.Join(d.dir, "env"),
		[]byte("QUITTANCE_CONFIG_DIR="+filepath.Join(d.dir, "elsewhere")+"\n"), 0o600))
	sandbox, err := startCommand(d.dir, "sandbox", command)
	kit.Must(t, err)
	_, err = sandbox.ready(filepath.Join(d.dir, "ready.json"))
	kit.Must(t, err)
	kit.Must(t, sandbox.stop())
	if after, err := os.ReadFile(d.path); err != nil || string(after) != string(before) {
		t.Errorf("the sandbox has changed the database of the server: %v", err)
	}
	if _, err := os.Stat(filepath.Join(d.dir, "elsewhere")); err == nil {
		t.Error("the sandbox has written to a directory that only the environment names")
	}
}
