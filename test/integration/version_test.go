package integration_test

import (
	"bytes"
	"fmt"
	"os/exec"
	"runtime"
	"testing"

	"quittance/internal/platform/buildinfo"
)

// output runs quittance and returns its standard output. The command must succeed and print nothing to standard error.
func output(t *testing.T, args ...string) string {
	t.Helper()
	command := exec.CommandContext(t.Context(), built(t, commandProduct), args...)
	var stderr bytes.Buffer
	command.Stderr = &stderr
	text, err := command.Output()
	if err != nil || stderr.Len() > 0 {
		t.Fatalf("quittance %v: %v\n%s", args, err, &stderr)
	}
	return string(text)
}

// TestVersion checks that the commands version and --version print one line, and version --json a record.
func TestVersion(t *testing.T) {
	t.Parallel()
	want := buildinfo.Current("").Line("quittance") + "\n"
	for _, args := range []string{"version", "--version"} {
		if got := output(t, args); got != want {
			t.Errorf("%s: %q, want %q", args, got, want)
		}
	}
	// The go command records no commit in the binary of a test, so the truth is that it is unknown.
	got := output(t, "version", "--json")
	if want := fmt.Sprintf(`{"version":"devel","commit":null,"date":null,"modified":null,"go":%q,"platform":"%s/%s"}`,
		runtime.Version(), runtime.GOOS, runtime.GOARCH); got != want+"\n" {
		t.Errorf("%s, want %s", got, want)
	}
}
