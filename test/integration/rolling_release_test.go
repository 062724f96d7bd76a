package integration_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"quittance/test/kit"
	"quittance/test/ledgertest"
	"quittance/test/pgtest"
)

// envNoHistory is the variable that says that this copy of the repository lacks the commits of releases on purpose.
// Without it, the tests that build a release fail there, because a check that is left out silently looks like one that
// has succeeded.
const envNoHistory = "QUITTANCE_TEST_NO_HISTORY"

// lastRelease returns the binary of the latest release, built from the history of the repository once and kept in the
// user's cache.
func lastRelease(t *testing.T) (program string) {
	t.Helper()
	releases := ledgertest.Releases(t)
	release := releases[len(releases)-1]
	if out, err := exec.CommandContext(t.Context(), "git", "cat-file",
		"-e", release.Commit+"^{commit}").CombinedOutput(); err != nil {
		if os.Getenv(envNoHistory) != "" {
			t.Skipf("%s is set, and the commit of %s is not there", envNoHistory, release.Version)
		}
		t.Fatalf(
			"this copy of the repository does not have the commit of %s, so that release cannot be built: fetch the history, or set %s to skip this test: %v %s",
			release.Version, envNoHistory, err, out)
	}
	cache, err := os.UserCacheDir()
	if err != nil {
		cache = os.TempDir()
	}
	program = filepath.Join(cache, "quittance-released", release.Commit, "quittance")
	if _, err := os.Stat(program); err == nil {
		return program
	}
	source := t.TempDir()
	archived, err := exec.CommandContext(t.Context(), "git", "-C", "../..", "archive", release.Commit).Output()
	if err == nil {
		err = extract(source, archived)
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(program), 0o700)
	}
	if err != nil {
		t.Fatal(err)
	}
	// Another process may build it too: each renames its own file.
	own := filepath.Join(filepath.Dir(program), filepath.Base(source)+fmt.Sprint(os.Getpid()))
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-trimpath", "-ldflags",
		"-X main.release="+release.Version, "-o", own, "./cmd/quittance")
	build.Dir, build.Env = source, append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build %s: %v\n%s", release.Version, err, out)
	}
	if err := os.Rename(own, program); err != nil {
		t.Fatal(err)
	}
	return program
}

// extract writes the files of a tar archive below a directory.
func extract(dir string, archived []byte) error {
	files := tar.NewReader(bytes.NewReader(archived))
	for {
		header, err := files.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		path := filepath.Join(dir, filepath.FromSlash(header.Name))
		switch header.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o700)
		case tar.TypeReg:
			var text []byte
			if text, err = io.ReadAll(files); err == nil {
				err = os.WriteFile(path, text, 0o600)
			}
		}
		if err != nil {
			return err
		}
	}
}

// TestRollingRelease upgrades three replicas of the last release to this version, one after another, and then installs
// the release again on the schema of this version, while many clients create, submit and read. No call may fail, every
// submission must be completed with one document, every event must arrive, and both versions must find the evidence
// intact.
func TestRollingRelease(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	old := lastRelease(t)
	f := startFleet(t, old, pgtest.URL(t), "", "--shutdown-delay", drainFor.String(), "--provider-timeout", "20s")
	b := newBalancer(t)
	names := []string{"1", "2", "3"}
	bases := map[string]string{"1": f.listens(t, "first"), "2": f.start(t, "2"), "3": f.start(t, "3")}
	f.world.running["1"] = f.world.running["first"]
	delete(f.world.running, "first")
	for _, base := range bases {
		b.add(base)
	}
	f.awaitReady(t, b, 3)
	l := startLoad(f, b.url, racingClients, 60*time.Millisecond)
	for _, program := range []string{product, old} {
		before := l.submitted.Load()
		for n, name := range names {
			f.leave(t, b, name, bases[name])
			f.program, names[n] = program, name+"+"
			bases[names[n]] = f.start(t, names[n])
			b.add(bases[names[n]])
			f.awaitReady(t, b, 3)
		}
		t.Logf("all replicas run %s; %d submissions meanwhile", program, l.submitted.Load()-before)
	}
	calls, submitted, failures := l.end()
	if failures != nil {
		t.Errorf("calls failed: %v", failures)
	}
	if submitted < 3*racingClients {
		t.Errorf("only %d submissions: too little was tested", submitted)
	}
	f.openTenant(t)
	events, repeats := f.settled(t, b.url)
	t.Logf("%d calls, %d submissions, %d events, %d repeated callbacks", calls, submitted, events, repeats)
	f.checkDocuments(t, submitted, 1)
	f.bothVerify(t, old)
}

// awaitReady waits until the balancer has found a number of servers ready.
func (f *fleet) awaitReady(t *testing.T, b *balancer, servers int) {
	t.Helper()
	kit.Eventually(t, func() error { return wantCount(fmt.Sprint(servers), len(b.ready())) })
}

// bothVerify checks that this version and another program find the evidence intact and the counters right.
func (f *fleet) bothVerify(t *testing.T, other string) {
	t.Helper()
	for _, program := range []string{product, other} {
		f.program = program
		for _, args := range [][]string{{"evidence", "verify"}, {"recount", "--check"}} {
			f.command(t, "", append(args, "--database", f.database, "--key-file", "key.json")...)
		}
	}
}

// TestInstalledAgain follows the guide "Upgrades" on a SQLite database: the release, this version, and the release
// again on the database that this version has migrated.
func TestInstalledAgain(t *testing.T) {
	if testing.Short() {
		t.Skip("takes long")
	}
	t.Parallel()
	old := lastRelease(t)
	dir := t.TempDir()
	f := startFleet(t, old, "sqlite:"+filepath.Join(dir, "quittance.db"), "", "--provider-timeout", "20s")
	before, after := upgradeScripts(t)
	submit := func(name string) {
		id := f.draft(t, f.listens(t, name), "INV-"+name, ordinary)
		f.must(t, http.MethodPost, f.listens(t, name)+atInvoices+"/"+id+"/submit", "", &struct{}{})
	}
	submit("first")
	f.shell(t, before)
	for n, program := range []string{product, old} {
		if err := f.world.end([]string{[]string{"first", "upgraded"}[n]}); err != nil {
			t.Fatal(err)
		}
		f.program = program
		name := []string{"upgraded", "again"}[n]
		f.start(t, name)
		submit(name)
		f.shell(t, after)
	}
	f.openTenant(t)
	f.settled(t, f.listens(t, "again"))
	f.checkDocuments(t, 3, 1)
	f.bothVerify(t, old)
}

// shell runs a script with the fleet's program as the command quittance.
func (f *fleet) shell(t *testing.T, script string) {
	t.Helper()
	program, err := exec.LookPath(f.program)
	if err != nil {
		t.Fatal(err)
	}
	bin := t.TempDir()
	if err := os.Symlink(program, filepath.Join(bin, "quittance")); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), kit.Patience())
	defer cancel()
	command := exec.CommandContext(ctx, "sh", "-eu", "-c", script)
	// Not in a file of settings, which the release does not read.
	command.Dir, command.Env = f.dir, append(bareEnvironment(f.dir), "PATH="+bin+":"+os.Getenv("PATH"),
		"QUITTANCE_DATABASE="+f.database, "QUITTANCE_KEY_FILE=key.json")
	if out, err := command.CombinedOutput(); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if err := os.Remove(filepath.Join(f.dir, "before-upgrade.db")); err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Error(err)
	}
}

// upgradeScripts returns the two scripts of the section "Upgrades" of docs/ops/upgrade.md: before the upgrade, and
// after it.
func upgradeScripts(t *testing.T) (before, after string) {
	t.Helper()
	_, section, found := strings.Cut(readText(t, "../../docs/ops/upgrade.md"), "\n## Upgrades\n")
	section, _, ended := strings.Cut(section, "\n## ")
	blocks := strings.Split(section, "```")
	if !found || !ended || len(blocks) != 5 {
		t.Fatalf("the guide has %d scripts there", len(blocks)/2)
	}
	return strings.TrimPrefix(blocks[1], "sh"), strings.TrimPrefix(blocks[3], "sh")
}
