package main

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
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"quittance/internal/pgtest"
	"quittance/internal/sandbox"
)

// The scenarios in testdata are the specification as stories. Besides what testscript has, they use these commands.
//
//	sandbox start [flags...]    run "quittance sandbox" on free ports with its data in $WORK/data; export what its ready
//	                            file says: BASE_URL, PROVIDER_URL, PROVIDER_CREDENTIAL, RECEIVER_URL, RECEIVER_CA,
//	                            ACCOUNT_ID, EMAIL, PASSWORD, DATA_DIR; RECEIVER, which is RECEIVER_URL without its path;
//	                            and HOOKS, an address there that nothing but the script knows, with its HOOKS_CA
//	sandbox stop|kill9|restart  end it with SIGTERM and wait for a clean end, or with SIGKILL; restart keeps the flags
//	launch VAR PATTERN args...  run "quittance args..." until it has printed PATTERN; VAR is the first group of it
//	end VAR, kill9 VAR          end what launch has started ("stop" is a word of testscript: it ends the script)
//	receiver STATUS...          run an HTTPS receiver that answers with these statuses in turn, then always the last;
//	                            export SCRIPTED_URL and SCRIPTED_CA
//	http METHOD URL [STATUS [BODY|@FILE]]
//	                            one call with $TOKEN; a path is below $BASE_URL; $NAMES in URL and body are replaced;
//	                            the answer's body goes to stdout, its headers to stderr
//	login [STATUS]              log in with $EMAIL and $PASSWORD; on 200 the token becomes TOKEN
//	draft VAR NUMBER [RECIPIENT]
//	                            create a complete draft; VAR becomes its identifier
//	race COUNT URL... STATUS... POST to every URL COUNT times, all at once; each answer has one of the statuses
//	parse FILE                  take a file, or the stdout of a command, for the last answer
//	save VAR POINTER            VAR is a value of the last answer
//
// and these checks, which "!" turns round and "wait-for" in front repeats until they hold:
//
//	json POINTER WANT           a value of the last answer (JSON pointer; a final /- is the length of a list)
//	get URL POINTER WANT        the same of an answer that is fetched now
//	ledger POINTER WANT         the same of the provider sandbox's ledger
//	callbacks COUNT [event=E] [invoice=ID] [path=P] [answered=STATUS]
//	                            how many callbacks have reached $HOOKS, or another path of its server; 1+ is one or more
//	verify-callbacks SECRET [filters...]
//	                            there are callbacks, and all are what part 6 of the specification says, signed with SECRET
//	last-callback POINTER WANT [filters...]
//	                            a value in the body of the latest event
//	log PATTERN COUNT           how many lines in the log of the sandbox match
//	tamper STATEMENT            a statement past the service, in which $NAMES are replaced, changes the sandbox's database
var commands = map[string]func(w *world, args []string) error{
	"sandbox": (*world).sandbox, "launch": (*world).launch, "end": (*world).end, "kill9": (*world).kill9, "receiver": (*world).receiver,
	"http": (*world).http, "login": (*world).login, "draft": (*world).draft, "race": (*world).race, "parse": (*world).parse, "save": (*world).save,
}

var checks = map[string]func(w *world, args []string) error{
	"json": (*world).json, "get": (*world).get, "ledger": (*world).ledger, "log": (*world).logged, "tamper": (*world).tamper,
	"callbacks": (*world).callbacks, "verify-callbacks": (*world).verifyCallbacks, "last-callback": (*world).lastCallback,
}

// errUsage says that a script uses a command wrongly.
var errUsage = errors.New("wrong arguments")

// scriptDeadline ends a script that hangs. It counts for all of them together, which take turns with everything else.
const scriptDeadline = 25 * time.Minute

// slow names the scenarios that -short leaves out, because they wait for schedules counted in seconds.
var slow = []string{"partial-states.txtar", "restart-keeps.txtar", "retry-on-503.txtar", "redirect-deactivates.txtar", "two-companies.txtar", "killed.txtar"}

// TestScripts tells the scenarios on the embedded database.
func TestScripts(t *testing.T) {
	t.Parallel()
	runScripts(t, "testdata/script", func(*testscript.Env) error { return nil })
}

// TestScriptsOnPostgres tells the scenarios of replicas that share a database.
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
	testscript.Run(t, testscript.Params{
		Files: files, Deadline: time.Now().Add(scriptDeadline), RequireUniqueNames: true, Cmds: scriptCommands(),
		Setup: func(env *testscript.Env) error {
			w := &world{dir: env.WorkDir, running: map[string]*process{}}
			env.Values[worldKey{}] = w
			env.Defer(func() {
				// Not a Fatal of the script: that would swallow what the script itself has to say.
				if err := w.close(); err != nil {
					t.Errorf("%s: %v", filepath.Base(env.WorkDir), err)
				}
			})
			return prepare(env)
		},
	})
}

// worldKey is where a script keeps its world.
type worldKey struct{}

// world is everything a script has started and learnt.
type world struct {
	ts      *testscript.TestScript
	dir     string
	running map[string]*process
	flags   []string // of the sandbox
	last    []byte   // body of the last answer
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
				ts.Fatalf("it is so: %s %s", name, strings.Join(args, " "))
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
		ts.Check(eventually(patience, func() error { return checks[args[0]](in(ts), args[1:]) }))
	}
	return all
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
	for name, value := range map[string]string{"BASE_URL": info.BaseURL, "PROVIDER_URL": info.ProviderURL, "PROVIDER_CREDENTIAL": info.ProviderCredential,
		"RECEIVER_URL": info.ReceiverURL, "RECEIVER": receiver, "RECEIVER_CA": info.ReceiverCA,
		"HOOKS": receiver + "/customer", "HOOKS_CA": info.ReceiverCA, "ACCOUNT_ID": info.AccountID, "EMAIL": info.Email,
		"PASSWORD": info.Password, "DATA_DIR": info.DataDir} {
		w.ts.Setenv(name, value)
	}
	return nil
}

// runSandbox starts the sandbox whose data are in dir and waits until it is ready.
func (w *world) runSandbox(dir string, flags []string) (info sandbox.Info, err error) {
	ready := filepath.Join(dir, "ready.json")
	if err := os.RemoveAll(ready); err != nil {
		return info, err
	}
	p, err := start(dir, sandboxName, append([]string{"sandbox", "--chaos", "off", "--listen", "127.0.0.1:0", "--data", filepath.Join(dir, "data"), "--ready-file", ready}, flags...)...)
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
		return fmt.Errorf("%w: a pattern with one group", errUsage)
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
		return fmt.Errorf("%w: what runs is %v", errUsage, slices.Sorted(maps.Keys(w.running)))
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
