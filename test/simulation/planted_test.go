//go:build planted

package simulation

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"
)

// TestPlanted checks that the simulation finds every planted bug within some hundred seeds, and nothing without one.
// One binary contains all bugs (see [plantBugs]); an environment variable switches one of them on.
func TestPlanted(t *testing.T) {
	overlay, _ := plantBugs(t)
	binary := filepath.Join(t.TempDir(), "planted.test")
	build := exec.CommandContext(t.Context(), "go", "test", "-vet=off", "-c", "-overlay", overlay, "-o", binary, ".")
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	if output, failed := simulate(t, binary, "", "30"); failed {
		t.Fatalf("with no bug switched on: %s", output)
	}
	found := regexp.MustCompile(`seed (\d+): ([^\n]*)`)
	for _, b := range bugs() {
		t.Run(b.name, func(t *testing.T) {
			output, failed := simulate(t, binary, b.name, "400")
			caught := found.FindStringSubmatch(output)
			if !failed || caught == nil {
				t.Fatalf("not found in 400 seeds:\n%.2000s", output)
			}
			t.Logf("found at seed %s: %.160s", caught[1], caught[2])
		})
	}
}

// simulate runs the planted simulation with one bug on.
func simulate(t *testing.T, binary, name, seeds string) (output string, failed bool) {
	t.Helper()
	command := exec.CommandContext(t.Context(), binary, "-test.run", "^TestSeeds$", "-seeds", seeds)
	command.Env = append(os.Environ(), "QUITTANCE_PLANTED="+name)
	text, err := command.CombinedOutput()
	return string(text), err != nil
}
