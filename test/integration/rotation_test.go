package integration_test

import (
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"quittance/test/kit"
	"quittance/test/pgtest"
)

// TestRotationOverMachines takes two servers on two machines, each with its own key file, through a rotation in three
// steps and retires the old key, while clients submit at both. No call may fail. A step that comes too early must fail
// with an error that names the server it waits for.
func TestRotationOverMachines(t *testing.T) {
	if !pgtest.Enabled() {
		return // one process serves a file
	}
	t.Parallel()
	f := newFleet(t, product, pgtest.URL(t), "--provider-timeout", "20s")
	first, err := f.world.running["first"].says(listening)
	if err != nil {
		t.Fatal(err)
	}
	f.distribute(t)
	f.flags[slices.Index(f.flags, "key.json")] = "other.json"
	other := f.start(t, "second")
	loads := []*load{startLoad(f, "http://"+first, 4, 20*time.Millisecond), startLoad(f, other, 4, 20*time.Millisecond)}
	loads[1].numbers.Store(500_000) // so that no two submit the same number
	at := []string{"--database", f.database, "--key-file", "key.json", "--json"}
	key := func(args ...string) []byte {
		t.Helper()
		return f.command(t, "", append(append([]string{"key"}, args...), at...)...)
	}
	old := at0(t, f.command(t, "", "key", "list", "--key-file", "key.json", "--json"), "/0/id")

	added := at0(t, key("add"), "/key_id")
	second := fmt.Sprintf(":%d", f.world.running["second"].command.Process.Pid)
	f.refused(t, second, append([]string{"key", "promote", added, "--wait", "2s"}, at...)...)
	f.distribute(t)
	key("promote", added)
	// The second server still seals under the old key and opens what the first one seals under the new one.
	f.refused(t, "in use", append([]string{"key", "retire", old}, at...)...)
	f.distribute(t)
	if behind := at0(t, key("reseal"), "/servers_behind"); behind != "0" {
		t.Errorf("%s servers have not loaded the key file", behind)
	}
	kit.Eventually(t, func() error {
		_, err := f.try("key", append([]string{"retire", old}, at...)...)
		if err != nil {
			key("reseal") // a submission may have begun under the old key before the reseal and ended behind it
		}
		return err
	})
	f.distribute(t)
	after := loads[0].submitted.Load() + loads[1].submitted.Load()
	kit.Eventually(t, func() error {
		if now := loads[0].submitted.Load() + loads[1].submitted.Load(); now < after+50 {
			return fmt.Errorf("%d submissions since", now-after)
		}
		return nil
	})
	submitted := 0
	for _, l := range loads {
		_, n, failures := l.end()
		submitted += n
		if failures != nil {
			t.Errorf("calls failed: %v", failures)
		}
	}
	for _, base := range []string{"http://" + first, other} {
		if got, err := f.caller.call(http.MethodGet, base+"/readyz", "", ""); err != nil || got.status != http.StatusOK {
			t.Errorf("after the rotation /readyz is %d, %v", got.status, err)
		}
	}
	f.settled(t, other)
	f.checkDocuments(t, submitted, 1)
	f.command(t, "", "evidence", "verify", "--database", f.database, "--key-file", "other.json")
	t.Logf("%d submissions", submitted)
}

// distribute copies the key file of the first machine to the second, in one step.
func (f *fleet) distribute(t *testing.T) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(f.dir, "key.json"))
	if err == nil {
		err = os.WriteFile(filepath.Join(f.dir, "other.new"), text, 0o600)
	}
	if err == nil {
		err = os.Rename(filepath.Join(f.dir, "other.new"), filepath.Join(f.dir, "other.json"))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// try runs a command and returns its output, and its error output as an error.
func (f *fleet) try(name string, args ...string) ([]byte, error) {
	command := exec.Command(f.program, append([]string{name}, args...)...)
	command.Dir, command.Env = f.dir, bareEnvironment(f.dir)
	var problem strings.Builder
	command.Stderr = &problem
	out, err := command.Output()
	if err != nil {
		err = fmt.Errorf("%w: %s", err, &problem)
	}
	return out, err
}

// refused checks that a command fails with the expected error.
func (f *fleet) refused(t *testing.T, why string, args ...string) {
	t.Helper()
	if out, err := f.try(args[0], args[1:]...); err == nil || !strings.Contains(err.Error(), why) {
		t.Errorf("quittance %s: %s, error %v, want one with %q", strings.Join(args, " "), out, err, why)
	}
}
