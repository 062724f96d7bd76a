package integration_test

import (
	"cmp"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"quittance/test/ledgertest"
)

// point is a step before and after which a process of a story is killed, at each of the given occurrences.
type point struct {
	command string // as in victim
	step    string
	story   string // one of stories, the shortest that reaches it
	times   []int
	engine  string // the only engine that has it; "" for both
}

// matrix lists all checkpoints. A new commit or network call needs a row here and a story that reaches it: the stories
// first run without a kill and must reach exactly these checkpoints.
var matrix = []point{
	// The checkpoints that a server reaches.
	{"serve", "set environment", "desk", []int{1}, ""},
	{"serve", "announce server", "desk", []int{1}, ""},
	{"serve", "withdraw server", "retention", []int{1}, ""},
	{"serve", "release orphaned leases", "desk", []int{1}, ledgertest.SQLite},
	{"serve", "sweep", "desk", []int{1}, ""},
	{"serve", "record removal", "retention", []int{1}, ""},
	{"serve", "prune history", "retention", []int{1, 2}, ""},
	{"serve", "spend limits", "desk", []int{1, 4}, ""},
	{"serve", "settle limits", "desk", []int{1, 3}, ""},
	{"serve", "rehash password", "desk", []int{1}, ""},
	{"serve", "create token", "desk", []int{1, 3}, ""},
	{"serve", "revoke token", "desk", []int{1}, ""},
	{"serve", "change password", "desk", []int{1}, ""},
	{"serve", "create invoice", "desk", []int{1, 3}, ""},
	{"serve", "update invoice", "desk", []int{1}, ""},
	{"serve", "delete invoice", "desk", []int{1}, ""},
	{"serve", "idempotent call", "desk", []int{1, 2, 3, 4}, ""},
	{"serve", "create credit note", "desk", []int{1}, ""},
	{"serve", "update credit note", "desk", []int{1}, ""},
	{"serve", "void credit note", "desk", []int{1}, ""},
	{"serve", "create book entry", "desk", []int{1}, ""},
	{"serve", "update book entry", "desk", []int{1}, ""},
	{"serve", "delete book entry", "desk", []int{1}, ""},
	{"serve", "create subscription", "desk", []int{1}, ""},
	{"serve", "end session", "desk", []int{1}, ""},
	{"serve", "end other sessions", "desk", []int{1}, ""},
	{"serve", "create API key", "desk", []int{1}, ""},
	{"serve", "record uses", "desk", []int{1}, ""},
	{"serve", "revoke API key", "desk", []int{1}, ""},
	{"serve", "deactivate subscription", "desk", []int{1}, ""},
	{"serve", "begin second factor", "factor", []int{1}, ""},
	{"serve", "confirm second factor", "factor", []int{1}, ""},
	{"serve", "begin login", "factor", []int{1}, ""},
	{"serve", "count code", "factor", []int{1}, ""},
	{"serve", "replace recovery codes", "factor", []int{1}, ""},
	{"serve", "disable second factor", "factor", []int{1}, ""},
	{"account user reset-second-factor", "reset second factor", "factor", []int{1}, ""},
	{"serve", "begin passkey", "passkeys", []int{1}, ""},
	{"serve", "add passkey", "passkeys", []int{1}, ""},
	{"serve", "rename passkey", "passkeys", []int{1}, ""},
	{"serve", "begin passkey login", "passkeys", []int{1}, ""},
	{"serve", "refuse passkey", "passkeys", []int{1}, ""},
	{"serve", "remove passkey", "passkeys", []int{1}, ""},
	{"serve", "invite", "people", []int{1, 2}, ""},
	{"serve", "revoke invitation", "people", []int{1}, ""},
	{"serve", "join", "people", []int{1, 2}, ""},
	{"serve", "change user", "people", []int{1, 2}, ""},
	{"serve", "store upload", "people", []int{1}, ""},
	{"serve", "import drafts", "people", []int{1}, ""},
	{"serve", "record mailer", "mailed", []int{1}, ""},
	{"serve", "request password reset", "mailed", []int{1}, ""},
	{"serve", "answer reset request", "mailed", []int{1}, ""},
	{"serve", "complete password reset", "mailed", []int{1, 2}, ""},
	{"serve", "set mail settings", "mailed", []int{1}, ""},
	{"serve", "change address", "mailed", []int{1}, ""},
	{"serve", "request address proof", "mailed", []int{1}, ""},
	{"serve", "prove address", "mailed", []int{1}, ""},
	{"serve", "remove user", "mailed", []int{1}, ""},
	{"serve", "tell owners", "mailed", []int{1}, ""},
	{"serve", "claim mails", "mailed", []int{1, 4}, ""},
	{"serve", "send mail", "mailed", []int{1, 5}, ""},
	{"serve", "record mail", "mailed", []int{1, 5}, ""},
	{"serve", "enrol operator", "operators", []int{1}, ""},
	{"serve", "begin operator session", "operators", []int{1}, ""},
	{"serve", "end operator session", "operators", []int{1}, ""},
	{"serve", "begin submission", "sale", []int{1, 3}, ""},
	{"serve", "begin credit note submission", "sale", []int{1}, ""},
	{"serve", "provider submit", "sale", []int{1, 3, 4}, ""},
	{"serve", "record answer", "sale", []int{1, 4}, ""},
	{"serve", "claim submissions", "sale", []int{1, 3}, ""},
	{"serve", "provider status", "sale", []int{1, 3}, ""},
	{"serve", "claim deliveries", "sale", []int{1, 4}, ""},
	{"serve", "webhook attempt", "sale", []int{1, 8}, ""},
	{"serve", "record attempt", "sale", []int{1, 8}, ""},
	{"serve", "redeliver", "sale", []int{1}, ""},
	{"serve", "begin submission", "doubt", []int{2, 3}, ""},
	{"serve", "provider submit", "doubt", []int{1, 2, 3, 4}, ""},
	{"serve", "provider status", "doubt", []int{1, 2}, ""},
	{"serve", "record answer", "doubt", []int{1, 2}, ""},
	{"serve", "begin resend", "doubt", []int{1}, ""},
	{"serve", "claim purchases", "purchases", []int{1, 3}, ""},
	{"serve", "provider purchases", "purchases", []int{1, 3}, ""},
	{"serve", "provider purchase documents", "purchases", []int{1, 4}, ""},
	{"serve", "retain purchases", "purchases", []int{1, 2, 4}, ""},
	{"serve", "provider event", "queue", []int{1, 3}, ""},
	{"serve", "record event", "queue", []int{1, 2}, ""},
	{"serve", "provider event document", "queue", []int{1}, ""},
	{"serve", "retain purchases", "queue", []int{2, 4}, ""},
	{"serve", "provider event deletion", "queue", []int{1, 2, 3}, ""},
	{"serve", "retain unrouted event", "queue", []int{1, 2}, ""},
	{"serve", "adopt submission", "restored", []int{1}, ""},
	// The checkpoints that administration commands reach.
	{"account create", "create account", "office", []int{1}, ""},
	{"account profile", "set profile", "office", []int{1}, ""},
	{"account suspend", "suspend account", "office", []int{1}, ""},
	{"account reactivate", "reactivate account", "office", []int{1}, ""},
	{"account user add", "add user", "office", []int{1}, ""},
	{"account user invite", "invite", "people", []int{1}, ""},
	{"account user role", "set role", "people", []int{1}, ""},
	{"account user reset-password", "reset password", "office", []int{1}, ""},
	{"account user reset-password", "send password reset", "mailed", []int{1}, ""},
	{"operator add", "add operator", "operators", []int{1}, ""},
	{"operator reset", "reset operator", "operators", []int{1}, ""},
	{"operator disable", "disable operator", "operators", []int{1}, ""},
	{"account rename", "rename account", "office", []int{1}, ""},
	{"account user disable", "disable user", "office", []int{1}, ""},
	{"account user enable", "enable user", "office", []int{1}, ""},
	{"account login-policy", "set login policy", "office", []int{1}, ""},
	{"account user unlink", "unlink user", "office", []int{1}, ""},
	{"connection add", "add connection", "office", []int{1}, ""},
	{"connection activate", "change connection", "office", []int{1}, ""},
	{"connection disable", "change connection", "queue", []int{1}, ""},
	{"connection confirm-credit-notes", "change connection", "office", []int{1}, ""},
	{"connection replace-credential", "change connection", "office", []int{1}, ""},
	{"recount", "recount invoices", "counts", []int{1}, ""},
	{"recount", "count invoices", "counts", []int{1}, ""},
	{"submission resolve", "resolve submission", "office", []int{1}, ""},
	{"key rotate", "record audit", "office", []int{1, 2}, ""},
	{"key rotate", "record keys", "office", []int{1}, ""},
	{"key rotate", "reseal", "office", []int{1, 3}, ""},
	{"key rotate", "seal rows", "office", []int{1}, ""},
	{"key rotate", "reseal set", "office", []int{1}, ""},
	{"key retire", "retire key", "office", []int{1}, ""},
	{"backup", "identify database", "office", []int{1}, ""},
	{"backup", "record backup", "office", []int{1}, ""},
	{"evidence verify", "record verification", "office", []int{1}, ""},
	{"restored", "record restore", "restored", []int{1}, ""},
	{"sandbox reset", "reset tenant", "reset", []int{1}, ""},
	{"sandbox reset", "create subscription", "reset", []int{1, 2}, ""},
	{"sandbox reset", "create invoice", "reset", []int{1, 13}, ""},
	{"sandbox reset", "create credit note", "reset", []int{5}, ""},
	{"sandbox reset", "seed incoming", "reset", []int{1}, ""},
}

// everyCheckpoint makes TestKilledAtEveryCheckpoint kill a process before and after every row of the matrix, each time
// that a story reaches it: "make crash".
var everyCheckpoint = flag.Bool("every-checkpoint", false,
	"kill a process at every checkpoint, not once for each row of the matrix")

// kills returns where a process is killed for a row of the matrix, as values of QUITTANCE_KILL_AT; none on an engine
// that lacks it. Without -every-checkpoint that is one point on one engine: the rows alternate between before and after
// the step, and each second of both between the engines.
func (p point) kills(row int, engine string) []string {
	if p.engine != "" && p.engine != engine {
		return nil
	}
	moments := []string{"before", "after"}
	if !*everyCheckpoint {
		if p.engine == "" && (row/2%2 == 0) != (engine == ledgertest.SQLite) && len(ledgertest.Engines()) > 1 {
			return nil
		}
		return []string{fmt.Sprintf("%s %s#%d", moments[row%2], p.step, p.times[0])}
	}
	var places []string
	for _, moment := range moments {
		for _, n := range p.times {
			places = append(places, fmt.Sprintf("%s %s#%d", moment, p.step, n))
		}
	}
	return places
}

// TestKilledAtEveryCheckpoint kills a process at every point where it has just acknowledged something or is about to:
// every commit and every network call. The same command is run again and customers repeat calls without a response.
// Then everything acknowledged must be true, nothing may have happened twice, and everything must be complete. A story
// is told a few times with several kills, one after another, and then once for each kill that was not reached: whether
// a step comes again after an earlier kill depends on the speed of the machine.
func TestKilledAtEveryCheckpoint(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	program := built(t, checkpointProduct)
	for _, engine := range ledgertest.Engines() {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			o := newOriginal(t, program, engine)
			order, reached, all := runWithoutKill(t, o)
			if all {
				compareReached(t, engine, reached)
			}
			done := map[string]map[victim]bool{}
			if !*everyCheckpoint {
				done = runTogether(t, o, order)
			}
			for row, p := range matrix {
				for _, at := range p.kills(row, engine) {
					v := victim{command: p.command, at: at}
					if done[p.story][v] {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s", p.story, v.command, v.at), func(t *testing.T) {
						t.Parallel()
						for left := range runStory(t, o, p.story, "", v) {
							t.Errorf("no process of %s reached %q", left.command, left.at)
						}
					})
				}
			}
		})
	}
}

// atATime is the number of kills of the server, and of each other command, in one story.
const atATime = 4

// oneKill lists the stories that allow only one kill, because more of them have more effects than the story checks: an
// e-mail whose sending is not recorded is sent again.
var oneKill = []string{"mailed"}

// runTogether tells each story with several of its kills at a time, in the order in which the stories reached the
// checkpoints without a kill, and returns the kills that were reached, by story.
func runTogether(t *testing.T, o original, order map[string]map[victim]int) (reached map[string]map[victim]bool) {
	t.Helper()
	var mu sync.Mutex
	reached = map[string]map[victim]bool{}
	t.Run("together", func(t *testing.T) {
		for name := range stories() {
			if slices.Contains(oneKill, name) {
				continue
			}
			reached[name] = map[victim]bool{}
			for n, group := range together(name, o.engine, order[name]) {
				t.Run(fmt.Sprintf("%s-%d", name, n+1), func(t *testing.T) {
					t.Parallel()
					left := runStory(t, o, name, "", group...)
					mu.Lock()
					defer mu.Unlock()
					for _, v := range group {
						if left[v] {
							t.Logf("to be killed alone: %s, %s", v.command, v.at)
							continue
						}
						reached[name][v] = true
					}
				})
			}
		}
	})
	return reached
}

// together distributes the kills of a story to groups, each in order. Kills of one command that follow each other are
// in different groups, because they may be at one moment.
func together(story, engine string, order map[victim]int) [][]victim {
	byCommand := map[string][]victim{}
	most := 0
	for row, p := range matrix {
		if p.story == story {
			for _, at := range p.kills(row, engine) {
				byCommand[p.command] = append(byCommand[p.command], victim{command: p.command, at: at})
				most = max(most, len(byCommand[p.command]))
			}
		}
	}
	groups := make([][]victim, (most+atATime-1)/atATime)
	for _, command := range slices.Sorted(maps.Keys(byCommand)) {
		all := byCommand[command]
		slices.SortStableFunc(all, func(a, b victim) int { return cmp.Compare(order[a.place()], order[b.place()]) })
		for n, v := range all {
			groups[n%len(groups)] = append(groups[n%len(groups)], v)
		}
	}
	return groups
}

// place returns the checkpoint of a victim, whichever time it is reached.
func (v victim) place() victim {
	v.at, _, _ = strings.Cut(v.at, "#")
	return v
}

// runStory runs a story during which a process is killed at each of the victims, and returns those that no process has
// reached.
func runStory(t *testing.T, o original, name, trace string, victims ...victim) (left map[victim]bool) {
	t.Helper()
	spec := stories()[name]
	s := newSite(t, o, spec.flags, victims...)
	s.trace = trace
	spec.tell(t, newCustomer(s))
	left = map[victim]bool{}
	for _, v := range s.victims {
		left[v] = true
	}
	return left
}

// runWithoutKill runs every story without a kill and returns the checkpoints that they reached, by command, and for
// each story in which order it reached them first. all reports that -run has excluded none.
func runWithoutKill(t *testing.T,
	o original) (order map[string]map[victim]int, reached map[string]map[string]int, all bool) {
	t.Helper()
	var mu sync.Mutex
	order, reached = map[string]map[victim]int{}, map[string]map[string]int{}
	t.Run("untouched", func(t *testing.T) {
		for name := range stories() {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				trace := t.TempDir()
				runStory(t, o, name, trace)
				more, first, err := traced(trace)
				if err != nil {
					t.Fatal(err)
				}
				mu.Lock()
				defer mu.Unlock()
				addTraced(reached, more)
				order[name] = first
			})
		}
	})
	return order, reached, len(order) == len(stories())
}

// compareReached checks that the stories reached exactly the checkpoints of the matrix.
func compareReached(t *testing.T, engine string, reached map[string]map[string]int) {
	t.Helper()
	want := map[string]bool{}
	for _, p := range matrix {
		if p.engine == "" || p.engine == engine {
			want[p.command+": before "+p.step], want[p.command+": after "+p.step] = true, true
		}
	}
	got := map[string]bool{}
	for command, checkpoints := range reached {
		for at := range checkpoints {
			got[command+": "+at] = true
		}
	}
	for _, at := range slices.Sorted(maps.Keys(got)) {
		if !want[at] {
			t.Errorf("%s is not in the matrix", at)
		}
	}
	for _, at := range slices.Sorted(maps.Keys(want)) {
		if !got[at] {
			t.Errorf("no story reaches %s", at)
		}
	}
}

// unreached lists the steps that no story reaches, with the reason.
var unreached = map[string]string{
	"try to write":              "it runs only on a database that has refused a write, and has no effect",
	"provider ":                 "the name of the call is appended",
	"begin evidence":            "the stories begin with a database that has an account; one without is sealed when it is next opened, however often that takes",
	"seal evidence":             "only an older database is sealed, batch by batch; an interrupted run starts again and skips sealed rows",
	"seal events":               "as above",
	"record evidence":           "as above",
	"remember evidence":         "as above: the next start records it if it is not recorded yet",
	"seal access":               "as above",
	"end seals":                 "as above",
	"accept access":             "the last step of evidence seal --access, which an administrator repeats",
	"store sign-on choice":      "nothing has happened for the person, who begins the login again",
	"announce migration":        "the next start repeats it; TestMigrationIsRecordedAfterACrash",
	"record migration":          "as above",
	"summarize":                 "only older drafts are summarized, batch by batch; an interrupted run continues with the rest",
	"use operator session":      "it writes at most once a minute when a session was used; a lost record makes the session end earlier",
	"revoke API keys of a user": "one transaction, which an administrator repeats",
	"anchor":                    "it writes nothing and waits for earlier writes",
}

var namedStep = regexp.MustCompile(`(?:\.Write\(ctx, |SharedOperation\{Name: |\bfact\w+ += |Checkpoint\(base\.Before, )"([^"]+)"`)

// TestEveryNamedStepIsInTheMatrix checks that every step with a name in the source is in the matrix, even one that no
// story reaches.
func TestEveryNamedStepIsInTheMatrix(t *testing.T) {
	t.Parallel()
	var steps []string
	for _, p := range matrix {
		steps = append(steps, p.step)
	}
	found := 0
	if err := filepath.WalkDir("../../internal", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, match := range namedStep.FindAllSubmatch(text, -1) {
			found++
			if step := string(match[1]); !slices.Contains(steps, step) && unreached[step] == "" {
				t.Errorf("%s: %q is not in the matrix", path, step)
			}
		}
		return err
	}); err != nil || found < 30 {
		t.Fatalf("%d steps were found: %v", found, err)
	}
}

// TestReleasedBinaryHasNoCheckpoints checks that only a binary with the tag obeys the checkpoint variables: nothing in
// a release can kill it.
func TestReleasedBinaryHasNoCheckpoints(t *testing.T) {
	t.Parallel()
	o := newOriginal(t, product, ledgertest.SQLite)
	s := newSite(t, o, nil, victim{command: "account suspend", at: "before suspend account"})
	s.trace = t.TempDir()
	s.command(t, "", "account", "suspend", o.account)
	if s.fired {
		t.Error("a binary without the tag has killed itself")
	}
	if reached, _, err := traced(s.trace); err != nil || len(reached) > 0 {
		t.Errorf("a binary without the tag has written %v, %v", reached, err)
	}
}

// TestInvalidKillAt checks that an invalid order to be killed is rejected, because a test that kills nothing would
// prove nothing.
func TestInvalidKillAt(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	s := newSite(t, newOriginal(t, built(t, checkpointProduct), ledgertest.SQLite), nil)
	for _, at := range []string{"during create account", "before", "before ", "before create account#0",
		"before create account#x"} {
		s.victims = []victim{{command: "account list", at: at}}
		if _, _, err := s.attempt(t, "", "account", "list"); err == nil ||
			!strings.Contains(err.Error(), "QUITTANCE_KILL_AT") || s.fired {
			t.Errorf("%q: %v", at, err)
		}
	}
}
