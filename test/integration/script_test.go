package integration_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/sandbox"
	"quittance/test/kit"
	"quittance/test/pgtest"
	"quittance/test/providertest"
)

// The scenarios in testdata present the product as stories. In addition to the commands of testscript, they use the
// following commands:
//
//	sandbox start [flags...]    run "quittance sandbox" on free ports with its data in $WORK/data, and export the contents of
//	                            its ready file: BASE_URL, PROVIDER_URL, PROVIDER_CREDENTIAL, RECEIVER_URL, RECEIVER_CA,
//	                            ACCOUNT_ID, EMAIL, PASSWORD, DATA_DIR; also RECEIVER, which is RECEIVER_URL without its path;
//	                            and HOOKS, an address there that only the script knows, with its HOOKS_CA
//	sandbox stop|kill9|restart  stop it with SIGTERM and check that it ends cleanly, or kill it; restart keeps the flags
//	launch VAR PATTERN args...  run "quittance args..." until it prints PATTERN, and set VAR to the first group
//	end VAR, kill9 VAR          stop or kill what launch has started (testscript uses "stop" to end a script)
//	receiver STATUS...          run an HTTPS receiver that answers with these statuses in turn, then always with the last;
//	                            export SCRIPTED_URL and SCRIPTED_CA
//	http METHOD URL [STATUS [BODY|@FILE]]
//	                            make one call with $TOKEN; a path is relative to $BASE_URL; $NAMES in URL and body are
//	                            replaced; print the body of the response to stdout and its headers to stderr
//	login [STATUS]              log in with $EMAIL and $PASSWORD; on 200, set TOKEN
//	draft VAR NUMBER [RECIPIENT]
//	                            create a complete draft, and set VAR to its identifier
//	race COUNT URL... STATUS... POST to every URL COUNT times, concurrently; each response must have one of the statuses
//	parse FILE                  use a file, or the stdout of a command, as the last response
//	access-point ...            start or control a stand-in for the access point e-invoice.be: see access_point_test.go
//	storecove ...               start or control a stand-in for the service Storecove: see storecove_test.go
//	save VAR POINTER            set VAR to a value of the last response
//
// and the following checks. A leading "!" negates a check, and a leading "wait-for" repeats it until it holds:
//
//	json POINTER WANT           a value of the last response (JSON pointer; a final /- selects the length of a list)
//	get URL POINTER WANT        the same for a response that is fetched now
//	ledger POINTER WANT         the same for the provider sandbox's ledger
//	access-point-has POINTER WANT
//	                            the same for the documents of the access point
//	storecove-has POINTER WANT  the same for what Storecove counts
//	callbacks COUNT [event=E] [invoice=ID] [resource=ID] [path=P] [answered=STATUS]
//	                            the number of callbacks to $HOOKS, or to another path of its server; 1+ means one or more
//	verify-callbacks SECRET [filters...]
//	                            there are callbacks, and all comply with docs/webhooks.md, signed with SECRET
//	last-callback POINTER WANT [filters...]
//	                            a value in the body of the latest event
//	log PATTERN COUNT           the number of matching lines in the log of the sandbox
//	tamper STATEMENT            run a statement, in which $NAMES are replaced, directly on the sandbox's database
var commands = map[string]func(w *world, args []string) error{
	"sandbox": (*world).sandbox, "launch": (*world).launch, "end": (*world).end, "kill9": (*world).kill9,
	"receiver": (*world).receiver, "http": (*world).http, "login": (*world).login, "draft": (*world).draft,
	"race": (*world).race, "access-point": (*world).accessPoint, "storecove": (*world).storecove, "parse": (*world).parse,
	"save": (*world).save,
}

var checks = map[string]func(w *world, args []string) error{
	"json": (*world).json, "get": (*world).get, "ledger": (*world).ledger, "access-point-has": (*world).accessPointHas,
	"storecove-has": (*world).storecoveHas, "log": (*world).logged, "tamper": (*world).tamper,
	"callbacks": (*world).callbacks, "verify-callbacks": (*world).verifyCallbacks, "last-callback": (*world).lastCallback,
}

// errUsage reports that a script uses a command wrongly.
var errUsage = errors.New("wrong arguments")

// slow lists the scenarios that -short skips, because they take long.
var slow = []string{"partial-states.txtar", "restart-keeps.txtar", "retry-on-503.txtar", "redirect-deactivates.txtar",
	"two-companies.txtar", "killed.txtar", "evidence-tampered.txtar", "evidence-anchored.txtar", "exit-status.txtar",
	"flag-errors.txtar", "key-retire.txtar", "suspended-account.txtar", "unknown-outcome.txtar"}

// TestScripts runs the scenarios on the embedded database.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", func(*testscript.Env) error { return nil })
}

// TestScriptsOnPostgres runs the scenarios of replicas that share a database.
func TestScriptsOnPostgres(t *testing.T) {
	if !pgtest.Enabled() {
		return // left out on purpose: see pgtest.EnvEngines
	}
	t.Parallel()
	runScripts(t, "testdata/postgres", func(env *testscript.Env) error {
		env.Setenv("DATABASE", pgtest.URL(t))
		return nil
	})
}

func runScripts(t *testing.T, dir string, prepare func(*testscript.Env) error) {
	files, err := filepath.Glob(dir + "/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scenarios in %s: %v", dir, err)
	}
	if testing.Short() {
		files = slices.DeleteFunc(files, func(path string) bool { return slices.Contains(slow, filepath.Base(path)) })
	}
	commands := filepath.Dir(built(t, commandProduct))
	testscript.Run(t, testscript.Params{
		Files: files, RequireUniqueNames: true, Cmds: scriptCommands(),
		Condition: func(name string) (bool, error) {
			if name != "root" {
				return false, fmt.Errorf("%w: unknown condition %s", errUsage, name)
			}
			return os.Geteuid() == 0, nil
		},
		Setup: func(env *testscript.Env) error {
			w := &world{dir: env.WorkDir, running: map[string]*process{}}
			env.Values[worldKey{}] = w
			env.Setenv(raceOptions, os.Getenv(raceOptions))
			env.Setenv("PATH", commands+string(os.PathListSeparator)+env.Getenv("PATH"))
			env.Defer(func() {
				// Do not use the script's Fatal, because that would hide the script's own error.
				if err := w.close(); err != nil {
					t.Errorf("%s: %v", filepath.Base(env.WorkDir), err)
				}
			})
			return prepare(env)
		},
	})
}

// worldKey is the key under which a script stores its world.
type worldKey struct{}

// world holds everything that a script has started and learnt.
type world struct {
	ts      *testscript.TestScript
	dir     string
	running map[string]*process
	flags   []string // of the sandbox
	last    []byte   // body of the last answer
	ap      *providertest.EInvoiceBE
	sc      *storecoveWorld
	closers []func()
}

func scriptCommands() map[string]func(*testscript.TestScript, bool, []string) {
	in := func(ts *testscript.TestScript) *world {
		w := ts.Value(worldKey{}).(*world)
		w.ts = ts
		return w
	}
	all := map[string]func(*testscript.TestScript, bool, []string){}
	for name, do := range commands {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			if neg {
				ts.Fatalf("! %s is not a check", name)
			}
			ts.Check(do(in(ts), args))
		}
	}
	for name, check := range checks {
		all[name] = func(ts *testscript.TestScript, neg bool, args []string) {
			err := check(in(ts), args)
			if neg && err == nil {
				ts.Fatalf("the check holds: %s %s", name, strings.Join(args, " "))
			}
			if !neg || errors.Is(err, errUsage) {
				ts.Check(err)
			}
		}
	}
	all["wait-for"] = func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) == 0 || checks[args[0]] == nil {
			ts.Fatalf("usage: wait-for %s ...", strings.Join(slices.Sorted(maps.Keys(checks)), "|"))
		}
		ts.Check(kit.Poll(func() error { return checks[args[0]](in(ts), args[1:]) }))
	}
	return all
}

// newWorld returns a world without a script. What it has started ends with the test.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{running: map[string]*process{}}
	t.Cleanup(func() {
		if err := w.close(); err != nil {
			t.Error(err)
		}
	})
	return w
}

func (w *world) close() error {
	var errs []error
	for name, p := range w.running {
		if err := p.stop(); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
	}
	for _, closer := range w.closers {
		closer()
	}
	return errors.Join(errs...)
}

const sandboxName = "sandbox"

func (w *world) sandbox(args []string) error {
	if len(args) == 0 {
		return errUsage
	}
	switch args[0] {
	case "start":
		w.flags = args[1:]
		return w.startSandbox()
	case "stop":
		return w.end([]string{sandboxName})
	case "kill9":
		return w.kill9([]string{sandboxName})
	case "restart":
		if err := w.end([]string{sandboxName}); err != nil {
			return err
		}
		return w.startSandbox()
	}
	return errUsage
}

func (w *world) startSandbox() error {
	info, err := w.runSandbox(w.dir, w.flags)
	if err != nil {
		return err
	}
	receiver, _ := strings.CutSuffix(info.ReceiverURL, "/hooks")
	for name, value := range map[string]string{"BASE_URL": info.BaseURL, "PROVIDER_URL": info.ProviderURL,
		"PROVIDER_CREDENTIAL": info.ProviderCredential, "RECEIVER_URL": info.ReceiverURL, "RECEIVER": receiver,
		"RECEIVER_CA": info.ReceiverCA, "HOOKS": receiver + "/customer", "HOOKS_CA": info.ReceiverCA,
		"ACCOUNT_ID": info.AccountID, "EMAIL": info.Email, "PASSWORD": info.Password, "DATA_DIR": info.DataDir} {
		w.ts.Setenv(name, value)
	}
	return nil
}

// runSandbox starts the sandbox with its data in dir and waits until it is ready.
func (w *world) runSandbox(dir string, flags []string) (info sandbox.Info, err error) {
	ready := filepath.Join(dir, "ready.json")
	if err := os.RemoveAll(ready); err != nil {
		return info, err
	}
	p, err := start(dir, sandboxName, append([]string{"sandbox", "--chaos", "off", "--no-example", "--listen",
		"127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--ready-file", ready}, flags...)...)
	if err != nil {
		return info, err
	}
	w.running[sandboxName] = p
	text, err := p.ready(ready)
	if err != nil {
		return info, err
	}
	return info, json.Unmarshal(text, &info)
}

func (w *world) launch(args []string) error {
	if len(args) < 3 {
		return errUsage
	}
	pattern, err := regexp.Compile(args[1])
	if err != nil || pattern.NumSubexp() != 1 {
		return fmt.Errorf("%w: want a pattern with one group", errUsage)
	}
	p, err := start(w.dir, args[0], args[2:]...)
	if err != nil {
		return err
	}
	w.running[args[0]] = p
	found, err := p.says(pattern)
	w.ts.Setenv(args[0], found)
	return err
}

func (w *world) end(args []string) error { return w.finish(args, (*process).stop) }

func (w *world) kill9(args []string) error { return w.finish(args, (*process).kill) }

func (w *world) finish(args []string, how func(*process) error) error {
	if len(args) != 1 || w.running[args[0]] == nil {
		return fmt.Errorf("%w: the running processes are %v", errUsage, slices.Sorted(maps.Keys(w.running)))
	}
	err := how(w.running[args[0]])
	delete(w.running, args[0])
	return err
}

func (w *world) logged(args []string) error {
	if len(args) != 2 {
		return errUsage
	}
	pattern, err := regexp.Compile("(?m)" + args[0])
	if err != nil {
		return err
	}
	text, err := os.ReadFile(filepath.Join(w.dir, sandboxName+".log"))
	if err != nil {
		return err
	}
	return wantCount(args[1], len(pattern.FindAll(text, -1)))
}
